"""Neighbouring inputs, and outputs of any kind in a form that can be compared."""
