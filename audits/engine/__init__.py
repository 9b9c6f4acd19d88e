"""The engine of an audit: samples, bets, the conclusion."""
