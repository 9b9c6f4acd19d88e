"""Samplers for releases that keep the privacy claim to the last bit."""
