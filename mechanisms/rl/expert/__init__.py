"""Expert-level private offline reinforcement learning."""
