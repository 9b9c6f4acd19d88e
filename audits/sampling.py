"""Sampling a mechanism on a pair: seeded by block, independent of workers, and checked.

One stream: a fair coin picks the input of each sample. Within a block the order plays no part, so the
block holds the number of samples of each label first and then draws them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.independence import CALLS, looks_dependent
from audits.pairs import Pair

__all__ = ["MechanismError", "Sampler", "check_randomness", "draw", "generator"]

Sampler = Callable[[Any, int, np.random.Generator], NDArray[Any]]
"""``sampler(data, n, rng)`` returns ``n`` independent outputs on ``data``, one per row."""

BLOCKS, PROBES, POWER = 0, 1, 2
"""The streams of a seed: the samples, the checks of the generator, the reference pair."""


class MechanismError(ValueError):
    """Raised when a mechanism cannot be audited: it fails, returns NaN, or ignores its generator."""


def generator(seed: int, *place: int) -> np.random.Generator:
    """The generator at a place of the seed's tree, the one that `SeedSequence.spawn` would give there."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def draw(
    sampler: Sampler, pair: Pair, size: int, seed: int, block: int, chunk: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw ``size`` labelled samples: outputs ``(size, ...)`` and labels ``(size,)``, those of label 0 first.

    Raises:
        MechanismError: the mechanism raises, or returns NaN, the wrong shape or no numbers.
    """
    rng = generator(seed, BLOCKS, block, chunk)
    ones = int(rng.binomial(size, 0.5))
    parts = [
        outputs(sampler, data, n, rng) for data, n in ((pair.first, size - ones), (pair.second, ones)) if n
    ]
    if len({part.shape[1:] for part in parts}) > 1:
        raise MechanismError(f"mechanism: the outputs' shapes {[p.shape[1:] for p in parts]} must be equal")
    return np.concatenate(parts), np.repeat(np.arange(2), (size - ones, ones))


def outputs(sampler: Sampler, data: object, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Call the mechanism once and check what it returns.

    Raises:
        MechanismError: as in `draw`.
    """
    try:
        returned = sampler(data, n, rng)
        drawn = np.asarray(returned)
    except (Exception, SystemExit) as failure:
        kind = type(failure).__name__
        raise MechanismError(f"mechanism: raised {kind} ({failure}) when asked for {n} samples") from failure
    if np.ma.isMaskedArray(returned):
        raise MechanismError("mechanism: the outputs are a masked array; they must be plain numbers")
    if drawn.dtype.kind not in "biuf":
        raise MechanismError(f"mechanism: the outputs' type ({drawn.dtype}) must be a number")
    if drawn.ndim == 0 or drawn.shape[0] != n or drawn.size == 0:
        raise MechanismError(
            f"mechanism: the outputs' shape {drawn.shape} must begin with {n}, one per sample"
        )
    if drawn.dtype.kind == "f" and np.isnan(drawn).any():
        raise MechanismError(f"mechanism: {int(np.isnan(drawn).sum())} of {drawn.size} outputs are NaN")
    return drawn


def check_randomness(sampler: Sampler, pair: Pair, seed: int) -> int:
    """Refuse a mechanism whose outputs are not a function of its generator alone.

    Returns:
        How many numbers one output holds.

    Raises:
        MechanismError: two generators give the same outputs (64 and then 2048 of them), one generator
            used twice gives different ones, which nobody could replay, or the outputs of one call depend on
            each other.
    """
    place = (seed, PROBES)
    first = outputs(sampler, pair.first, 64, generator(*place, 0))
    if not np.array_equal(first, outputs(sampler, pair.first, 64, generator(*place, 0))):
        raise MechanismError("mechanism: equal generators give different outputs; it draws from elsewhere")
    for trial, n in ((1, 64), (2, 2048)):
        one, other = (outputs(sampler, pair.first, n, generator(*place, trial, i)) for i in range(2))
        if not np.array_equal(one, other):
            _check_independence(sampler, pair, seed)
            return first.size // len(first)
    raise MechanismError("mechanism: ignores its generator; different generators give identical outputs")


def _check_independence(sampler: Sampler, pair: Pair, seed: int) -> None:
    """Refuse a sampler whose rows are not independent, seen in two lots of calls."""
    for lot in (3, 4):
        places = (generator(seed, PROBES, lot, call) for call in range(CALLS))
        calls = [outputs(sampler, pair.first, CALLS, rng).reshape(CALLS, -1) for rng in places]
        if len({call.shape for call in calls}) > 1 or not looks_dependent(np.stack(calls).astype(float)):
            return
    raise MechanismError("mechanism: the outputs of one call depend on each other; rows must be independent")
