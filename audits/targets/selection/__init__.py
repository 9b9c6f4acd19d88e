"""Audits of private selection: the best of a random number of runs."""
