"""Audits of noise scaled by a smooth bound."""
