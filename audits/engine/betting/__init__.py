"""Bets against a privacy claim: which bets an audit places, how much it stakes, and when it checks the result."""
