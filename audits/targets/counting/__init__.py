"""Audits of running counts."""
