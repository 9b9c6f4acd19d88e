"""Offline reinforcement learning at expert-level privacy, for discrete actions; needs the extra `torch`."""
