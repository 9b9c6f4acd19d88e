"""Draws that several samplers of training share: the steps of one record, and a check of its vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def clipped(vector: float, most: float = 1.0) -> None:
    """Raise ValueError if a record moves a sum by more than ``most`` clipping norms.

    Raises:
        ValueError: for a number outside [-most, most].
    """
    if not -most <= vector <= most:
        raise ValueError(
            f"vector ({vector!r}) must be in [{-most:g}, {most:g}], because vectors are clipped to norm 1"
        )


def drawn_steps(
    n: int, epochs: int, steps: int, chosen: int, fresh: bool, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return in which steps a record takes part: ``chosen`` random ones of the ``steps`` of each epoch.

    The result has shape (n, epochs * steps). Without ``fresh``, the steps are the same in each epoch.

    >>> drawn_steps(1, 2, 3, 1, False, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    places = rng.random((n, epochs if fresh else 1, steps)).argsort(axis=-1) < chosen
    return np.broadcast_to(places, (n, epochs, steps)).reshape(n, epochs * steps)
