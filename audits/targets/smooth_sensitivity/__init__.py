"""Audits of noise whose scale is a smooth bound on the local sensitivity."""
