"""PRIVATE-UCB with its privatizers."""
