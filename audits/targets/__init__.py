"""Ready-made audits of dpproof's mechanisms: which inputs to use, and what to look for in the outputs."""
