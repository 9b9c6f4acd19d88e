"""Sampling: calls of a mechanism, and the collection of its outputs."""
