"""Exact audits of noise in floating point: which outputs can one input have, and the other not."""
