"""What an audit would have seen, measured and simulated."""
