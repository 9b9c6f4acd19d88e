"""Accountants of noisy training by how batches are drawn: in cycles, by random allocation, truncated, shuffled."""
