"""PRIVATE-UCB and its privatizers."""
