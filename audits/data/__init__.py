"""Pairs of neighbouring inputs, and outputs of any type in a form that can be compared."""
