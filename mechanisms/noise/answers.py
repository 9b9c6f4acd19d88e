"""Checks of the true answers to which noise is added.

A sampler of this folder has the form ``sample(parameters, answers, n, rng)``, with the parameters of its
accountant, and returns ``n`` independent releases, one in each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LARGEST = 1 << 62
"""Largest true answer.

Exact noise has scale at most 2^53; it exceeds 2^62 with probability below exp(-500).
"""


def real_answers(answers: ArrayLike, parameters: Any) -> Floats:
    """Return the checked true answers as floating-point numbers, an array ``(compositions,)``.

    ``compositions`` is the number of answers. If each answer is a histogram with ``cells`` counts, return the counts
    of all histograms, an array ``(compositions * cells,)``.

    Raises:
        ValueError: there are more or fewer numbers than that, or one is not finite.
    """
    given = _shaped(np.asarray(answers), parameters)
    true = given.astype(np.float64)
    if not np.isfinite(true).all():
        raise ValueError(f"answers ({given.tolist()}) must be finite numbers")
    return true


def whole_answers(answers: ArrayLike, parameters: Any) -> Ints:
    """Return the checked true answers as integers. They have the shape that `real_answers` describes.

    Raises:
        ValueError: there are more or fewer numbers than that, or one is not a whole number in [-2^62, 2^62].
    """
    given = _shaped(_each_by_itself(answers), parameters)
    if not all(_is_whole(value) for value in given.tolist()):
        rule = "must be whole numbers in [-2^62, 2^62], because 64 bits must also hold the noise"
        raise ValueError(f"answers ({given.tolist()}) {rule}")
    return given.astype(np.int64)


def _shaped(given: NDArray[Any], parameters: Any) -> NDArray[Any]:
    """Return the answers, checked for the number that the parameters require."""
    count = parameters.compositions
    cells = len(given) // count if _histograms(parameters) and given.ndim == 1 and count else 1
    if given.shape != (count * cells,):
        raise ValueError(f"answers (shape {given.shape}) must have the shape ({count * cells},)")
    return given


def _each_by_itself(answers: ArrayLike) -> NDArray[Any]:
    """Return an array unchanged, and a list as an array of objects, so that no entry is rounded."""
    return answers if isinstance(answers, np.ndarray) else np.array(answers, dtype=object)


def _is_whole(value: Any) -> bool:
    """Return whether this is a whole number of size at most 2^62."""
    whole = isinstance(value, (int, np.integer, np.bool_)) or (
        isinstance(value, (float, np.floating)) and value % 1 == 0
    )
    return bool(whole and abs(int(value)) <= _LARGEST)


def _histograms(parameters: Any) -> bool:
    return getattr(parameters, "query", None) == "histogram"


Data = tuple[float, float]
"""The true answer on a data set, and a smooth upper bound on the answer's local sensitivity at this data set."""


def scaled(noise: float, data: Data) -> Data:
    """Return the true answer, and the scale of its noise: ``noise`` times the smooth bound on its sensitivity."""
    answer, bound = data
    if not (np.isfinite(answer) and 0 <= bound < np.inf):
        raise ValueError(
            f"data ({data!r}) must be two finite numbers: the answer, "
            "and a smooth upper bound on its local sensitivity, which must be at least 0"
        )
    return answer, noise * bound
