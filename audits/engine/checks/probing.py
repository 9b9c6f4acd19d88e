"""The probe: a first test whether the outputs of a mechanism are independent samples, before any bet.

The probe draws about 700 outputs of its own on the two inputs, and about 5,000 if they hardly vary. From them it
chooses the layout, which is the conversion of outputs to numbers. If the budget is large it draws about 1,000 more,
so that the layout fits all but the rarest outputs. A mechanism that never uses its generator and always returns the
same answer is allowed: a constant output has a valid distribution, and if the two inputs have different answers every
claimed epsilon is false. The probe cannot distinguish this mechanism from one with a fixed seed of its own, or from
one that caches its first draw. The later checks detect the last two if possible. The audit is valid if the outputs
are independent, whatever the probe finds.

An audit bets on which input an output comes from. Such bets are valid only if the outputs of one call are
independent. If a mechanism draws one random number for all outputs of a call, or if its outputs are a random walk,
they identify the call and so the input, even if the data have no influence. The probe reports this as an error, never
as a violation.
"""

from __future__ import annotations

from types import FunctionType, MethodType

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr
from scipy.stats import rankdata

from dpproof.audits.data.outputs import Block, joined, same
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.alone import Timed
from dpproof.audits.engine.sampling.callables import (
    PROBES,
    Auditable,
    Mechanism,
    MechanismError,
    OwnSeedError,
    as_mechanism,
    generator,
    outputs,
)
from dpproof.audits.engine.scores.layout import Layout

CALLS = 16
"""The number of calls that are compared, and the number of outputs of each."""
LEVEL = 1e-9
COLUMNS = 32


def looks_dependent(calls: NDArray[np.float64]) -> bool:
    """Return whether outputs of one call, or successive outputs, resemble each other far beyond chance.

    Two tests use the ranks of up to 32 numbers of each output. An F test compares the variance between calls with the
    variance within calls. The other test uses the correlation of successive outputs. Their false alarms have total
    probability 1e-9. The F test gives more false alarms if some values are very rare, so the audit repeats it on
    other outputs.

    Args:
        calls: the outputs as an array (calls, outputs of a call, numbers of an output).

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
    """Whether one of the two tests rejects for one number, with ranks of shape (calls, outputs per call)."""
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
"""The number of outputs that are compared between two generators; the second number if the first are equal."""
LOOKED_AT, PART = 512, 16
"""The number of additional outputs on each input for choosing how to convert outputs to numbers, at most the budget
divided by `PART`. They show unusual outputs that occur once in a hundred outputs (docs/notes/audit_power.md)."""
SAMPLES, TRIALS, LOTS, LOOKS = 0, 1, 3, 12
"""The numbers of the random streams of the probe; `_check_independence` uses `LOTS` and `LOTS` + 1."""


def look(sampler: Auditable, pair: Neighbours, seed: int) -> Layout:
    """Return the layout (the conversion of outputs to numbers), chosen from 64 outputs on each input.

    Raises:
        MechanismError: as in `check_randomness`.
    """
    made = as_mechanism(sampler)
    blocks = [_called(made, pair, label, seed)[0] for label in (0, 1)]
    _check_returned(made, blocks)
    return Layout.of(blocks, nan=made.nan == "token")


def check_randomness(sampler: Auditable, pair: Neighbours, seed: int, budget: int = 0) -> Layout:
    """Return the layout of the outputs; raises an error unless they seem to be independent samples.

    Args:
        sampler, pair, seed: the mechanism, its inputs and the audit's seed.
        budget: the budget of the audit. With a larger budget, more outputs are drawn for the layout.

    Returns:
        The layout, which is the conversion of outputs to numbers.

    Raises:
        MechanismError: the mechanism raises, or returns NaN or the wrong number of outputs; equal generators lead to
            different outputs or are used differently, so that no replay is possible; the outputs of a call vary, but
            other generators give the same outputs; a call does not change the state of its generator; or the outputs
            of one call depend on each other.
    """
    made = as_mechanism(sampler)
    calls = [_called(made, pair, label, seed) for label in (0, 1)]
    _check_returned(made, [call[0] for call in calls])
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


def _check_returned(made: Mechanism, blocks: list[Block]) -> None:
    """Refuse a Python function whose outputs are all None on both inputs."""
    in_time = isinstance(made.function, Timed)
    written: object = made
    while hasattr(written, "function"):
        written = written.function
    if isinstance(written, FunctionType | MethodType) and all(
        block.dtype == object and all((one["output"] if in_time else one) is None for one in block.flat)
        for block in blocks
    ):
        raise MechanismError(f"mechanism ({written.__name__}): every output is None. Is a return missing?")


def _called(made: Mechanism, pair: Neighbours, label: int, seed: int) -> tuple[Block, str]:
    """Return the outputs of a call, and the state of the generator after it."""
    rng = generator(seed, PROBES, SAMPLES, label)
    return outputs(made, pair, label, made.sparing or FEW, rng), _state(rng)


def _more(made: Mechanism, pair: Neighbours, seed: int, budget: int) -> list[Block]:
    """Return additional outputs on both inputs, for their layout; none if the budget is small."""
    count = min(LOOKED_AT, budget // PART)
    if count < max(made.sparing or FEW, made.together):
        return []
    return [outputs(made, pair, label, count, generator(seed, PROBES, LOOKS, label)) for label in (0, 1)]


def _state(rng: np.random.Generator) -> str:
    """Return everything on which later draws and spawned generators depend, as text."""
    spawned = getattr(rng.bit_generator.seed_seq, "n_children_spawned", 0)
    return f"{rng.bit_generator.state} {spawned}"


def _check_repeats(before: tuple[Block, str], after: tuple[Block, str]) -> None:
    """Check that equal calls have equal outputs and leave their generators in equal states."""
    if not same(before[0], after[0]):
        raise MechanismError(
            "mechanism gives different outputs for equal generators. It uses other randomness, or keeps a state"
            " between calls. Draw from rng only, or set seeded=False."
        )
    if before[1] != after[1]:
        raise MechanismError(
            "mechanism uses the generator differently in equal calls. It must not keep a state between calls."
        )


def _check_used(made: Mechanism, pair: Neighbours, label: int, seed: int, after: str) -> None:
    """Check that the call changed the state of its generator, so that the next call differs."""
    if made.seeded and after == _state(generator(seed, PROBES, SAMPLES, label)):
        raise MechanismError(
            "mechanism uses its generator but leaves it unchanged, so all calls with one generator share their"
            " randomness. Draw from the generator itself, or from generators that it spawns."
        )


def _varies(made: Mechanism, pair: Neighbours, label: int, seed: int) -> bool:
    """Whether different generators lead to different outputs. If not, all outputs of a call must be equal."""
    both: list[Block] = []
    for n in (made.sparing, 4 * made.sparing) if made.sparing else (FEW, MANY):
        both = [outputs(made, pair, label, n, generator(seed, PROBES, TRIALS, label, n, i)) for i in (0, 1)]
        if not same(*both):
            return True
    first = joined([both[0][:1]] * len(both[0]))
    if same(both[0], first):
        return False
    raise OwnSeedError


def _check_independence(made: Mechanism, pair: Neighbours, label: int, seed: int, layout: Layout) -> None:
    """Reject a sampler if two separate lots of calls both show dependent rows.

    A slow mechanism is called once for each output, so its calls have no rows to compare.
    """
    if made.sparing:
        return
    for lot in (LOTS, LOTS + 1):
        rng = generator(seed, PROBES, lot, label)
        calls = np.stack([layout.numbers(outputs(made, pair, label, CALLS, rng)) for _ in range(CALLS)])
        if not looks_dependent(calls):
            return
    raise MechanismError(
        "mechanism returns rows that depend on each other within a call. Rows must be independent."
    )
