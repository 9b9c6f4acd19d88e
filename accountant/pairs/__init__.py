"""Dominating pairs (P, Q) of output distributions, one kind in each module. ``base`` defines their interface."""
