"""Checks of a mechanism before and after the bets: repeated rows, dependence."""
