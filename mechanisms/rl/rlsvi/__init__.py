"""RLSVI, and its release to the last bit."""
