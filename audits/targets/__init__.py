"""Ready-made audits of dpproof's mechanisms."""
