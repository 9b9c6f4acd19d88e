"""Accountants of private selection: the best of a random number of runs, as in hyper-parameter tuning."""
