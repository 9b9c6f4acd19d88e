"""Noise primitives on the command line: mechanisms that have a sensitivity and name no users."""
