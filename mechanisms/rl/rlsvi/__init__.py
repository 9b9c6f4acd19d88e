"""RLSVI, and its release that is private to the last bit."""
