"""Checks, before and after the bets, that the outputs of a mechanism are independent."""
