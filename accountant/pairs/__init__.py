"""Pairs: dominating pairs (P, Q) of output distributions, one kind a module; see ``base`` for what a pair offers."""
