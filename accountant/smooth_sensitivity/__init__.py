"""Accountants of noise that is scaled by a smooth upper bound on the local sensitivity."""
