"""PRIVATE-UCB with its privatizers: central, local, batched counts."""
