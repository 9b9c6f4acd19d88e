"""Dominating pairs (P, Q) of output distributions, one kind per module; ``base`` defines their interface."""
