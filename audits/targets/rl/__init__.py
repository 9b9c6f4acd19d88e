"""Ready audits of the papers' algorithms."""
