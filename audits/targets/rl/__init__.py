"""Ready-made audits of the papers' reinforcement-learning algorithms."""
