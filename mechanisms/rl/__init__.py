"""Reinforcement learning mechanisms: the releases of learners over a sequence of users."""
