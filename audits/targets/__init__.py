"""Ready audits of this project's mechanisms."""
