"""Noise primitives on the command line: mechanisms that know a sensitivity and no users."""
