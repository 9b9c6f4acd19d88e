"""Scores: one number per output; tails of a score are the events an audit bets on."""
