"""Samplers of noisy training by how batches are drawn."""
