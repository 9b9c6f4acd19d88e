"""The power of an audit: the probability that it detects a violation of a given size, measured or simulated."""
