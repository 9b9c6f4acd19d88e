"""Sampling: call a mechanism in a uniform way and collect its outputs."""
