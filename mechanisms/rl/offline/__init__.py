"""Private learning from logged episodes, without further interaction."""
