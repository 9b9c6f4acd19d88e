"""Dominating pairs (P, Q) of output distributions, one kind in each module; ``base`` has their interface."""
