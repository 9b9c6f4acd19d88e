"""Audits of the counts of PRIVATE-UCB."""
