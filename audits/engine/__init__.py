"""The engine of an audit: samples, bets and the conclusion."""
