"""The interface of scores (functions that return one number per output), and the scores that need no fit.

An audit bets that scores are large, or small, more often on one input. A bad score costs power but never raises a
false alarm, because a score is fixed before the samples on which it is used are drawn. A score with ``training`` 0 is
fixed from the start. Any other score is fitted to its first ``training`` samples, which are then not bet on. It is
fitted again whenever the number of samples has doubled. Each fit is used on later samples only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import wider

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scorer = Callable[[NDArray[Any]], NDArray[Any]]
"""A function from outputs ``(n, ...)`` to scores ``(n,)``: doubles, or integers and objects that numpy can compare."""
View = Callable[[NDArray[Any]], NDArray[Any]]


def whole(outputs: NDArray[np.generic]) -> NDArray[Any]:
    """Return the outputs unchanged. By default, scores use this function as their ``view``."""
    return outputs


class Score(Protocol):
    """The interface of a score, which makes a function from outputs to numbers. An audit bets on these numbers."""

    @property
    def name(self) -> str:
        """The name of the score in the record of an audit."""
        ...

    @property
    def oriented(self) -> bool:
        """Whether high scores always indicate the second input."""
        ...

    @property
    def training(self) -> int:
        """The number of samples for the first fit; 0 for a fixed score."""
        ...

    @property
    def view(self) -> View:
        """The function that converts outputs ``(n, ...)`` to an array ``(n, ...)``, which is the input of `fit`."""
        ...

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return the function from outputs to scores ``(n,)``, fitted to these outputs and labels (0 or 1)."""
        ...


def shares(scores: Sequence[Score]) -> Floats:
    """Return each score's share of the bets, proportional to its weight; a score without a weight has weight 1."""
    weights = np.array([float(getattr(score, "weight", 1.0)) for score in scores])
    return np.asarray(weights / weights.sum())


def viewed(view: View) -> str:
    """Return a text for the ``view`` of a score, as part of the score's name; empty for the whole output."""
    function = getattr(view, "func", view)
    return "" if view is whole else f" of {getattr(function, '__name__', 'a view')}"


def exact_order(numbers: NDArray[np.generic]) -> NDArray[Any]:
    """Return numbers as doubles; 64-bit integers and objects stay the same, so that comparisons are exact."""
    wide = numbers.dtype.kind == "O" or (numbers.dtype.kind in "iu" and numbers.itemsize > 4)
    return numbers if wide else numbers.astype(np.float64, copy=False)


def flattened(outputs: NDArray[Any]) -> Floats:
    """Return one row of finite numbers for each output, ``(n, numbers)``. It may share memory with ``outputs``.

    Raises:
        ValueError: an integer is beyond 2^53; `dpproof.audits.data.exact.Wide` converts such integers.
    """
    flat = outputs.reshape(len(outputs), -1)
    if flat.dtype.kind in "iuO" and flat.itemsize > 4 and wider(flat).any():
        raise ValueError("score: An integer in the outputs is beyond 2^53, too large for an exact double.")
    flat = flat.astype(np.float64, copy=False)
    usual = flat.size and flat.min() >= -1e300 and flat.max() <= 1e300
    return flat if usual else np.clip(flat, -1e300, 1e300)


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The fields and the name of a score that is fitted to numbers.

    Attributes:
        training: the number of samples before the first fit.
        oriented: whether high scores always indicate the second input.
        view: converts outputs to the columns that the score uses.
        weight: the weight of its bets, relative to other scores.
    """

    kind: ClassVar[str]
    training: int = 64
    oriented: bool = True
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The kind of the score, with the name of its ``view``, which converts the outputs."""
        return self.kind + viewed(self.view)


@dataclass(frozen=True)
class Identity:
    """A score that is the output itself, for mechanisms that return one number.

    >>> Identity().fit(np.empty(0), np.empty(0, int))(np.array([[2.0], [3.0]]))
    array([2., 3.])
    """

    name: str = "identity"
    oriented: bool = False
    training: int = 0
    view: View = whole
    weight: float = 1.0

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return the function that returns the outputs; it raises ValueError for more than one number per output."""
        return _only_number


@dataclass(frozen=True)
class Projection:
    """A score that is a fixed linear function of the flattened output: ``output @ direction``."""

    direction: tuple[float, ...]
    name: str = "projection"
    oriented: bool = False
    training: int = 0
    view: View = whole

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return the function from outputs to scores, which is the same for all samples."""
        return self._projected

    def _projected(self, drawn: NDArray[np.generic]) -> NDArray[Any]:
        flat = drawn.reshape(len(drawn), -1)
        if flat.dtype.kind == "f" or not wider(flat).any():
            return np.asarray(flattened(drawn) @ np.asarray(self.direction))
        return np.asarray(
            flat.astype(object) @ np.array([Fraction(weight) for weight in self.direction], object)
        )


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """A score that is the log-likelihood ratio ln p1/p0 of the known output densities on the two inputs."""

    ratio: Callable[[NDArray[Any]], Floats]
    name: str = "log-likelihood-ratio"
    oriented: bool = True
    training: int = 0
    view: View = whole

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return the function from outputs to scores, which is the same for all samples."""
        return self.ratio


def _only_number(outputs: NDArray[np.generic]) -> NDArray[Any]:
    if outputs.size != len(outputs):
        raise ValueError(f"score (identity): The outputs (shape {outputs.shape}) must be one number each.")
    return exact_order(outputs.reshape(-1))
