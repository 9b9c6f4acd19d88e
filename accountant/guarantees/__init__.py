"""Notions of differential privacy, each with delta(epsilon), epsilon(delta) and its trade-off function."""
