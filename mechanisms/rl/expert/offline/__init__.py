"""Offline reinforcement learning at expert-level privacy, for discrete actions. Needs the extra `torch`."""
