"""Audits of noise scaled by a smooth bound on the local sensitivity."""
