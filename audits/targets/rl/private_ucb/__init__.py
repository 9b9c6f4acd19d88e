"""Audits of the noisy counts of the learning algorithm PRIVATE-UCB."""
