"""PRIVATE-UCB with its privatizers: central, local and batched counts."""
