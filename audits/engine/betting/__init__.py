"""Bets against the claim: the e-process, its portfolio and its schedule."""
