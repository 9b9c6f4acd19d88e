"""The engine of an audit: it draws samples, bets on them against the claim, and draws the conclusion."""
