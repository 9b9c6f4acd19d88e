"""Smooth sensitivity: the guarantee of noise scaled by a smooth upper bound on local sensitivity."""
