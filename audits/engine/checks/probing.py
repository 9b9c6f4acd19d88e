"""The probe: are the outputs of this mechanism independent samples, and what do they look like?

The probe draws some 700 outputs of its own on the two inputs before any bet, and some 5,000 if they hardly
vary. Where the budget is large it draws some 1,000 more, so that what they look like holds for all but the
rarest. A mechanism that never uses its generator and always gives the same answer is allowed. A constant is a
law like any other, and if the two inputs have different answers every claimed epsilon is false. A mechanism
with a fixed seed of its own, or one that draws once and remembers, looks the same and is treated alike. The
later checks recognise such mechanisms where that is possible. The audit's validity does not depend on the
probe, but on the independence that the probe tests.

Bets on labels are valid only if the outputs of one call are independent. A sampler that draws one number for
all its outputs, or a random walk through them, would reveal the call, and with it the label, even if the data
have no influence. The probe reports this as an error, never as a finding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr
from scipy.stats import rankdata

from dpproof.audits.data.outputs import Block, joined, same
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import (
    PROBES,
    Auditable,
    Mechanism,
    MechanismError,
    as_mechanism,
    generator,
    outputs,
)
from dpproof.audits.engine.scores.layout import Layout

CALLS = 16
"""Calls of so many outputs each are compared."""
LEVEL = 1e-9
COLUMNS = 32


def looks_dependent(calls: NDArray[np.float64]) -> bool:
    """Whether outputs of the same call resemble each other, or their neighbours, far beyond chance.

    Ranks are compared, between calls against within (F test) and from one output to the next (lag 1), for
    up to 32 of the numbers in an output, at level 1e-9 in all. With very rare values the F test is too
    eager, so a caller asks twice.

    Args:
        calls: array (calls, outputs a call, numbers an output).

    >>> rng = np.random.default_rng(0)
    >>> looks_dependent(rng.normal(size=(16, 16, 1)))
    False
    >>> looks_dependent(rng.normal(size=(16, 1, 1)) + 0.1 * rng.normal(size=(16, 16, 1)))
    True
    """
    columns = np.unique(np.linspace(0, calls.shape[2] - 1, COLUMNS).astype(int))
    chosen = calls[:, :, columns]
    ranks = rankdata(chosen.reshape(-1, columns.size), axis=0).reshape(chosen.shape)
    return any(_dependent(ranks[:, :, j], LEVEL / (2 * columns.size)) for j in range(columns.size))


def _dependent(ranks: NDArray[np.float64], level: float) -> bool:
    """Both tests on one number, ranks of shape (calls, outputs a call)."""
    centred = ranks - ranks.mean()
    total = float((centred**2).sum())
    if total == 0:
        return False
    calls, size = ranks.shape
    between = size * float((centred.mean(axis=1) ** 2).sum())
    within = total - between
    if within <= 0:
        return True
    ratio = between / (calls - 1) / (within / (calls * (size - 1)))
    lagged = float((centred[:, 1:] * centred[:, :-1]).sum()) / total * np.sqrt(calls * (size - 1))
    chances = fdtrc(calls - 1, calls * (size - 1), ratio), 2 * ndtr(-abs(lagged))
    return bool(min(chances) < level)


FEW, MANY = 64, 2048
"""Outputs compared between generators, and between two more where these were equal."""
LOOKED_AT, PART = 512, 16
"""So many outputs on each input are looked at besides, unless that is more than this part of the budget: what
one output in a hundred looks like is then known, and has an event of its own (docs/notes/audit_power.md)."""
SAMPLES, TRIALS, LOTS, LOOKS = 0, 1, 3, 12
"""Places in the seed's tree of probes; lots are numbered from the last one on."""


def look(sampler: Auditable, pair: Neighbours, seed: int) -> Layout:
    """The outputs' layout, from 64 outputs on each input; their randomness is not checked.

    Raises:
        MechanismError: as in `check_randomness`.
    """
    made = as_mechanism(sampler)
    return Layout.of([_called(made, pair, b, seed)[0] for b in (0, 1)], nan=made.nan == "token")


def check_randomness(sampler: Auditable, pair: Neighbours, seed: int, budget: int = 0) -> Layout:
    """Refuse a mechanism whose outputs are not independent samples, drawn from its generator alone.

    Args:
        sampler, pair, seed: what is drawn from.
        budget: of the audit; of a larger one more is spent on what outputs look like.

    Returns:
        What the outputs look like.

    Raises:
        MechanismError: it raises, or returns NaN or the wrong number of outputs; a generator used twice
            gives different outputs or is used differently, which nobody could replay; different generators
            give the same outputs, although these vary; or the outputs of one call depend on each other.
    """
    made = as_mechanism(sampler)
    calls = [_called(made, pair, label, seed) for label in (0, 1)]
    layout = Layout.of(
        [*(call[0] for call in calls), *_more(made, pair, seed, budget)], nan=made.nan == "token"
    )
    for label in (0, 1):
        if made.seeded:
            outputs(
                made, pair, 1 - label, 1, generator(seed, PROBES, SAMPLES, 2)
            )  # an odd number of calls later
            _check_repeats(calls[label], _called(made, pair, label, seed))
        if _varies(made, pair, label, seed):
            _check_used(made, pair, label, seed, calls[label][1])
            _check_independence(made, pair, label, seed, layout)
    return layout


def _called(made: Mechanism, pair: Neighbours, label: int, seed: int) -> tuple[Block, str]:
    """The outputs of a call, and the state of the generator after it."""
    rng = generator(seed, PROBES, SAMPLES, label)
    return outputs(made, pair, label, FEW, rng), _state(rng)


def _more(made: Mechanism, pair: Neighbours, seed: int, budget: int) -> list[Block]:
    """Further outputs on both inputs, for their layout; none if the budget is small."""
    count = min(LOOKED_AT, budget // PART)
    if count < max(FEW, made.together):
        return []
    return [outputs(made, pair, label, count, generator(seed, PROBES, LOOKS, label)) for label in (0, 1)]


def _state(rng: np.random.Generator) -> str:
    """Everything on which later draws, and spawned generators, depend."""
    spawned = getattr(rng.bit_generator.seed_seq, "n_children_spawned", 0)
    return f"{rng.bit_generator.state} {spawned}"


def _check_repeats(before: tuple[Block, str], after: tuple[Block, str]) -> None:
    """Check that equal calls, with others between them, give equal outputs and leave equal generators."""
    if not same(before[0], after[0]):
        raise MechanismError(
            "mechanism: equal generators give different outputs; it draws from elsewhere, or keeps a state"
            " between calls (seeded=False is for mechanisms with randomness of their own)"
        )
    if before[1] != after[1]:
        raise MechanismError(
            "mechanism: equal calls use the generator differently; it keeps a state between calls"
        )


def _check_used(made: Mechanism, pair: Neighbours, label: int, seed: int, after: str) -> None:
    """Check that a call that depends on its generator also advances it, so that the next call differs."""
    if made.seeded and after == _state(generator(seed, PROBES, SAMPLES, label)):
        raise MechanismError(
            "mechanism: its outputs depend on the generator but leave it as it was, so that all calls with"
            " one generator, on either input, share their randomness; draw from it, or spawn from it"
        )


def _varies(made: Mechanism, pair: Neighbours, label: int, seed: int) -> bool:
    """Whether different generators give different outputs. If not, all outputs must be the same."""
    both: list[Block] = []
    for n in (FEW, MANY):
        both = [outputs(made, pair, label, n, generator(seed, PROBES, TRIALS, label, n, i)) for i in (0, 1)]
        if not same(*both):
            return True
    first = joined([both[0][:1]] * len(both[0]))
    if same(both[0], first):
        return False
    raise MechanismError(
        "mechanism: ignores its generator; different generators give identical outputs, which vary within a"
        " call: they are not independent samples"
    )


def _check_independence(made: Mechanism, pair: Neighbours, label: int, seed: int, layout: Layout) -> None:
    """Refuse a sampler whose rows are not independent, seen in two lots of calls."""
    for lot in (LOTS, LOTS + 1):
        rng = generator(seed, PROBES, lot, label)
        calls = np.stack([layout.numbers(outputs(made, pair, label, CALLS, rng)) for _ in range(CALLS)])
        if not looks_dependent(calls):
            return
    raise MechanismError("mechanism: the outputs of one call depend on each other; rows must be independent")
