"""RLSVI, a private reinforcement learner, and its exact release."""
