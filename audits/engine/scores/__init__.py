"""Scores: functions with one number per output. An audit bets on tails of a score."""
