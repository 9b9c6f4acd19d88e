"""Pairs of data sets that differ in one user: the hardest ones for what is released."""

import numpy as np


def users():
    """One user more."""
    return list(range(41)), list(range(42))


def values():
    """One user more, with a value far outside of what is expected."""
    return np.full(20, 3.0), np.append(np.full(20, 3.0), 1e3)
