"""The audit of noise scaled by a smooth bound on the local sensitivity: which inputs and scores to use."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.primitive import Setting

Answer = tuple[float, float]
"""The true answer on an input, and the smooth bound on its local sensitivity."""


class Smooth(Protocol):
    """The parameters of noise that is scaled by a smooth bound on the local sensitivity."""

    @property
    def noise(self) -> float:
        """The scale of the noise divided by the smooth bound."""
        ...

    @property
    def smoothing(self) -> float:
        """The smooth bounds of two neighbours differ by at most the factor exp(``smoothing``)."""
        ...


S = TypeVar("S", bound=Smooth)


def smooth(log_density: Callable[[Floats, S], Floats]) -> Setting:
    """Return the settings of the audit of noise with log density ``log_density(z, parameters)`` plus a constant."""
    return Setting(smooth_answers, partial(_ratio, log_density=log_density))


def smooth_answers(parameters: Smooth, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring inputs, each with an answer and a smooth bound, that differ as much as allowed.

    The answers differ by the smaller of the two bounds. The bounds differ by the largest allowed factor, rounded down.
    """
    larger = math.exp(min(parameters.smoothing, 700.0))
    for _ in range(4):
        larger = max(1.0, math.nextafter(larger, 0.0))
    check = partial(_smooth, smoothing=parameters.smoothing)
    return Neighbours(
        (0.0, 1.0), (1.0, larger), adjacency, f"answers 0 and 1, bounds 1 and {larger:g}", check
    )


def _smooth(first: Answer, second: Answer, *, smoothing: float) -> None:
    """Raise ValueError unless the answers differ by at most each bound, and the bounds by at most the factor."""
    gap = abs(exact(second[0]) - exact(first[0]))
    if gap > min(exact(first[1]), exact(second[1])):
        raise ValueError(
            f"The answers differ by {float(gap):g}. They may differ by at most the smaller smooth bound."
        )
    low, high = sorted((exact(first[1]), exact(second[1])))
    with precision(128):
        if not arb_of(high) <= arb_of(low) * arb_of(exact(smoothing)).exp() and high != low:
            raise ValueError(f"The bounds differ by more than the factor exp({smoothing!r}).")


def _ratio(
    outputs: Floats,
    parameters: S,
    first: Answer,
    second: Answer,
    *,
    log_density: Callable[[Floats, S], Floats],
) -> Floats:
    """Return the log-likelihood ratio of each output, of the second input over the first."""
    logs = []
    for answer, bound in (first, second):
        z = outputs.reshape(len(outputs), -1).astype(np.float64)
        z[:, 0] -= answer
        z /= parameters.noise * bound
        logs.append(log_density(z, parameters) - z.shape[1] * np.log(bound))
    return np.asarray(logs[1] - logs[0])
