"""Smooth sensitivity: noise scaled by a smooth upper bound on local sensitivity, and what it guarantees."""
