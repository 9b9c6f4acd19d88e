"""Ready-made audits of the papers' algorithms."""
