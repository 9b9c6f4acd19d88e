"""The finite-horizon environments the papers' experiments run on."""
