"""Sweeps: audits of all private mechanisms of an installed package, under every relation that it could mean."""
