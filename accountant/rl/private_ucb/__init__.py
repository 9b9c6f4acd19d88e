"""Accountants of PRIVATE-UCB, for three ways to make its counts private: central, local and in batches."""
