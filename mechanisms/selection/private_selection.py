"""Private selection: the number of runs, and the best of them, in floating point.

``number_of_runs`` draws the number of runs for a selection of your own. ``select_best`` makes the selection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.selection.private_selection import runs_of

if TYPE_CHECKING:
    from dpproof.accountant.selection.private_selection import PrivateSelectionParameters, Repeated

Ints = NDArray[np.int64]
Output = TypeVar("Output")


def number_of_runs(parameters: Repeated, n: int, rng: np.random.Generator) -> Ints:
    """Return ``n`` independent numbers of runs.

    A negative binomial number is drawn by inversion of its distribution function, in double precision.

    Raises:
        ValueError: if the law is so wide that the table of its distribution function would be too long.
    """
    if parameters.poisson:
        return np.asarray(rng.poisson(parameters.mean_runs, n), np.int64)
    stop, shape = float(runs_of(parameters).stop), float(parameters.shape)
    if stop == 1:
        return np.ones(n, np.int64)
    return np.asarray(1 + np.searchsorted(_upto(stop, shape), rng.random(n), side="right"), np.int64)


def _upto(stop: float, shape: float) -> NDArray[np.float64]:
    """Return the probabilities of at most 1, 2, ... runs, up to a negligible rest."""
    most = int((shape + 45 + abs(np.log(stop))) / stop * 3 + 100)
    if most > _MOST_RUNS:
        raise ValueError(
            f"The number of runs can exceed {_MOST_RUNS:,} with a probability of stopping of {stop:.3g} after a run, "
            "which is more than can be drawn. Choose a smaller mean_runs."
        )
    k = np.arange(1, most)
    logs = np.concatenate([[0.0], np.cumsum(np.log1p(-stop) + np.log((k + shape) / (k + 1)))])
    masses = np.exp(logs - logs.max())
    upto = np.cumsum(masses)
    return np.asarray(upto / upto[-1])


_MOST_RUNS = 20_000_000


def select_best(
    run: Callable[[np.random.Generator], tuple[float, Output]],
    parameters: Repeated,
    rng: np.random.Generator,
) -> Output | None:
    """Return the output with the largest score among a random number of runs; None if there is no run.

    ``run`` draws its own hyper-parameters, and returns the score and the output of one private run. Keep the number
    of runs and all other outputs secret.

    >>> from dpproof.accountant.selection.private_selection import PrivateSelectionParameters
    >>> asked = PrivateSelectionParameters(base_epsilon=1.0, mean_runs=10.0)
    >>> rates = [0.1, 0.3, 1.0]
    >>> def train(rng):
    ...     rate = rng.choice(rates)
    ...     return float(rng.laplace(-abs(rate - 0.3), 0.1)), rate
    >>> select_best(train, asked, np.random.default_rng(1))
    np.float64(0.1)
    """
    best: tuple[float, Output] | None = None
    for _ in range(int(number_of_runs(parameters, 1, rng)[0])):
        score, output = run(rng)
        if best is None or score > best[0]:
            best = score, output
    return None if best is None else best[1]


def sample(
    parameters: PrivateSelectionParameters, chances: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Return the best outputs of ``n`` selections ``(n, 1)``, as indices of ``chances``; -1 without a run.

    ``chances`` are the probabilities of the outputs of one run, from the worst output to the best one.

    Raises:
        ValueError: if the chances do not add up to 1.
    """
    law: Any = np.asarray(chances, np.float64)
    if law.ndim != 1 or not (law >= 0).all() or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"chances ({law.tolist()}) must be probabilities that add up to 1")
    counts = number_of_runs(parameters, n, rng)
    drawn = np.searchsorted(np.cumsum(law / law.sum()), rng.random(counts.sum()), side="right")
    return best_of(np.minimum(drawn, len(law) - 1), counts)[:, None]


def best_of(values: NDArray[Any], counts: Ints) -> Ints:
    """Return the largest value in each group of consecutive ``values`` of the given sizes; -1 for an empty group."""
    found = np.full(len(counts), -1, np.int64)
    some = counts > 0
    if some.any():
        starts = np.concatenate([[0], np.cumsum(counts[some])[:-1]])
        found[some] = np.maximum.reduceat(values, starts)
    return found
