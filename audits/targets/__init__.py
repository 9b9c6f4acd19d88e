"""Ready-made audits of this project's mechanisms."""
