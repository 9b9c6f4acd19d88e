"""Thompson sampling with Gaussian draws, for bandits with rewards in [0, 1]."""
