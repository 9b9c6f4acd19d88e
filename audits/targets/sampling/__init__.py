"""Audits of noisy training by how batches are drawn."""
