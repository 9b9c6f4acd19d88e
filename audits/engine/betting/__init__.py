"""Bets against the claim: the e-process, its portfolio, its schedule."""
