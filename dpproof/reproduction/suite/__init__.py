"""The private reinforcement learning benchmark: every learner on the same problems, at certified epsilons."""
