"""Dominating pairs (P, Q) of output distributions, one kind a module; ``base`` says what a pair offers."""
