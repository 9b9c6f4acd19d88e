"""Shuffling: exact privacy of shuffled counts, and amplification of local randomisers by shuffling."""
