"""The finite-horizon environments of the papers' experiments."""
