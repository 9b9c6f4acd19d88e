"""Continual counting: running counts released with correlated noise."""
