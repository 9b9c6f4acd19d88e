"""Notions of privacy, each with delta(epsilon), epsilon(delta) and its trade-off curve."""
