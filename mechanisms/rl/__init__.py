"""Reinforcement learning mechanisms: what a sequence of users makes them release."""
