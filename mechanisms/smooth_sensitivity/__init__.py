"""Mechanisms that add noise in proportion to a smooth bound on the local sensitivity."""
