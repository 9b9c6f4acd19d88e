"""Accountants of offline reinforcement learning that protects each expert with all of its trajectories."""
