"""Samplers of noise and of selections."""
