"""``simulate``: epsilon or delta of a training run, by importance sampling, with a stated confidence."""

from __future__ import annotations

import secrets

from numpy.random import PCG64, Generator, SeedSequence

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.accountant.numbers.checks import at_least_zero, inside_unit
from dpproof.accountant.numbers.enclosures import Number
from dpproof.accountant.simulated.answer import ConfidentBound, Quantity
from dpproof.accountant.simulated.directions import Direction, Near, directions
from dpproof.accountant.simulated.running import PILOT, Ends, Question, ends, known
from dpproof.accountant.simulated.training import TrainingRun

_SMALL = 1e-9
"""The delta near which the second direction is simulated if the first one shows nothing of delta."""


def simulate(
    training: TrainingRun,
    adjacency: str | Adjacency,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    alpha: Number = "1e-9",
    samples: int = 1_000_000,
    tolerance: float | None = None,
    seed: int | None = None,
) -> ConfidentBound:
    """Return epsilon at ``delta``, or delta at ``epsilon``, with confidence ``1 - alpha``.

    The answer is about the privacy of a run under add-remove or replace neighbours, however adaptively the
    gradients are chosen. It is computed by importance sampling. Its weights have a certified bound, and the
    interval is valid at any time of looking. Without ``tolerance`` all ``samples`` are used. With it, the
    simulation stops when the interval is at most that wide.

    Source: this project, docs/notes/simulated.md.

    >>> from dpproof.accountant.simulated.participation import MinSeparation
    >>> run = TrainingRun(MinSeparation(4, 4), noise_multiplier=1.0)
    >>> found = simulate(run, "add-remove", delta="1e-3", alpha="0.01", samples=20_000, seed=5)
    >>> found.upper - found.lower < 0.03
    True

    Args:
        training: the run.
        adjacency: ``add-remove`` or ``replace``.
        delta: the delta, in (0, 1), at which epsilon is asked for.
        epsilon: the epsilon at which delta is asked for. Give one of both.
        alpha: the probability with which the interval may miss the number, in (0, 1).
        samples: the most samples for each pair of laws.
        tolerance: the width of the interval at which the simulation may stop.
        seed: a seed, stated before any answer is seen. Without it, one is drawn from entropy.

    Raises:
        ValueError: if not exactly one of delta and epsilon is given, or a number is outside its domain.
    """
    if (delta is None) == (epsilon is None):
        raise ValueError("delta or epsilon must be given, and not both")
    if samples < PILOT:
        raise ValueError(f"samples ({samples}) must be at least {PILOT}")
    quantity: Quantity = "delta" if delta is None else "epsilon"
    at = at_least_zero(epsilon or 0, "epsilon") if delta is None else inside_unit(delta, "delta")
    question = Question(quantity, at, inside_unit(alpha, "alpha"), samples, tolerance)
    chosen = secrets.randbits(64) if seed is None else seed
    rng = Generator(PCG64(SeedSequence(chosen)))
    with recorded():
        found = _worst(directions(training, Adjacency.of(adjacency)), question, rng)
        lower, upper = max(one.lower for one in found), max(one.upper for one in found)
        used = sum(one.samples for one in found)
        return ConfidentBound(quantity, lower, upper, question.alpha, used, chosen, seed is None)


def _worst(pairs: tuple[Direction, ...], question: Question, rng: Generator) -> list[Ends]:
    """Return the bounds of each direction, but for directions whose caps show that they are no worse."""
    found: list[Ends] = []
    for one in pairs:
        lower = max((other.lower for other in found), default=0.0)
        value = question.around[0]
        near = (
            Near(value, lower, lower)
            if question.asked == "epsilon"
            else Near(max(lower, _SMALL), value, lower)
        )
        if not (found and known(one, question, near)):
            found.append(ends(one, question, rng, near, len(pairs)))
    return found
