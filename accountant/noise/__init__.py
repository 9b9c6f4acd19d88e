"""Noise primitives of the command line: mechanisms that have a sensitivity and do not refer to users."""
