"""Checks of a mechanism before and after the bets, for repeated rows and dependent outputs."""
