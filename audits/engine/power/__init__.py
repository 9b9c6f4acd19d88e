"""The detection power of an audit, measured and simulated."""
