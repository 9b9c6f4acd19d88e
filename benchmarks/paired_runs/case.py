"""A case: a mechanism, two neighbouring data sets, a claim, and the answer that a comparison of runs must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof import Compared, compare_runs
from dpproof.audits.paired.finding import Answer

Mechanism = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """A case of the table.

    Attributes:
        mechanism: the function.
        what: a description of the fault; for a sound mechanism, of the mechanism.
        sound: whether the mechanism keeps the claim.
        first, second: the two data sets.
        epsilon, delta: the claim.
        answer: the answer of `compare_runs`.
        line: a part of the line to which the first finding must point.
    """

    mechanism: Mechanism
    what: str
    sound: bool
    first: Any
    second: Any
    epsilon: float
    delta: float
    answer: Answer
    line: str

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.mechanism.__name__

    def compare(self) -> Compared:
        """Return the answer of `compare_runs`."""
        return compare_runs(self.mechanism, self.first, self.second, epsilon=self.epsilon, delta=self.delta)


class Primitives:
    """The two primitives of the cases. An instrumented copy replaces them for dp-recorder."""

    @staticmethod
    def laplace(values: Any, sensitivity: float, epsilon: float) -> Any:
        """Return values with Laplace noise."""
        return values + np.random.laplace(0, sensitivity / epsilon, np.shape(values))

    @staticmethod
    def gaussian(values: Any, sensitivity: float, multiplier: float) -> Any:
        """Return values with Gaussian noise."""
        return values + np.random.normal(0, sensitivity * multiplier, np.shape(values))

    @staticmethod
    def public(**values: Any) -> None:
        """State that these values must not depend on the data. dpproof ignores it; dp-recorder checks it."""


noise = Primitives()
