"""The cheapest counters for private reinforcement-learning agents: the choice with the least certified error.

The error of a counter is the root mean squared error of a released running count of one cell. A cell is a
pair of a state and an action, in the table of a step if every step has its own. The mean runs over all
episodes and over the noisy kinds of counts: payoffs, and visits if transitions have noise. A count before
an episode has two errors.

- Noise. Its variance is known from the decoder. On a lattice the noise is rounded to a multiple of the
  spacing u. It stays independent and has mean 0, and its deviation grows by at most u/2.
- Missing visits. Between two releases the count misses the users since the last one. n missing users lack
  n v visits. If v is above the cap, each counted user lacks v - cap. Here v is the number of visits per
  episode of the cell. Without advice it is that of an average cell, H/(S A) if tables are pooled.

The noise of each candidate is calibrated to the target first. No data of any environment are used
(docs/notes/ucb_batches.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.error import node_variance
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import MOST_LEAVES
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT
from dpproof.accountant.rl.private_ucb.batched_parameters import (
    BatchedCountsParameters,
    most_counts,
    most_payoffs,
    squared_counts,
    squared_payoffs,
)
from dpproof.accountant.rl.private_ucb.encoder import nodes, strategy

__all__ = ["CheapestCounters", "CounterCandidate", "cheapest_counters", "counter_error"]

_BITS = 128
_MOST_RELEASES = 2**15
"""The most releases that are tried for a square root, because certified decoders of longer streams are slow."""
_BANDS = (16, 64, 256)


@dataclass(frozen=True)
class CounterCandidate:
    """A calibrated counter, the decoder of its noisy values, and bounds on the error of a running count."""

    parameters: BatchedCountsParameters
    decoder: str
    """How running counts are computed: ``inverse`` of the encoder, ``nodes`` of a tree, or ``averaged`` subtrees."""
    error: Bound
    """Bounds on the root mean squared error of a running count, in visits or payoffs."""

    def __str__(self) -> str:
        p = self.parameters
        bands = "" if p.bands is None else f", {p.bands} bands"
        return (
            f"{self.error.upper:10.3f}  {p.noise} {p.counter}{bands}, {self.decoder}, every {p.every}, cap {p.cap},"
            f" sigma {p.sigma:.6g}"
        )


@dataclass(frozen=True)
class CheapestCounters:
    """The counter with the least certified error, and all candidates from the least error to the largest.

    Of two candidates with equal errors, the one with the larger cap comes first.
    """

    candidates: tuple[CounterCandidate, ...]

    @property
    def best(self) -> CounterCandidate:
        """The candidate whose certified error is least."""
        return self.candidates[0]

    @property
    def parameters(self) -> BatchedCountsParameters:
        """The calibrated parameters of the best candidate."""
        return self.best.parameters

    def __str__(self) -> str:
        return "\n".join(("     error  counter", *map(str, self.candidates)))


@dataclass(frozen=True)
class _Cell:
    """The cell whose error counts: its successors, its visits per episode, and whether transitions have noise."""

    support: int
    visits: Fraction
    noisy_transitions: bool


def cheapest_counters(
    states: int,
    actions: int,
    horizon: int,
    episodes: int,
    *,
    epsilon: Number,
    delta: Number,
    adjacency: Adjacency | str,
    support: int | None = None,
    visits: Number | None = None,
    pooled: bool = True,
    most_payoff: float | None = None,
    bits: int | None = None,
    grains: int | None = None,
) -> CheapestCounters:
    """Return the calibrated counter with the least certified error, and the table of all candidates.

    Candidates are trees, trees with averaged subtrees, the square root of the running count and its bands,
    each with several batch sizes and caps. With ``delta`` 0 only Laplace noise on trees is possible. Under
    ``rewards-only`` transitions are public. Under the other relations they have noise.

    Args:
        states: the number of states S.
        actions: the number of actions A.
        horizon: the number of steps of an episode H.
        episodes: the number of episodes K, one user each.
        epsilon: the epsilon of the target.
        delta: the delta of the target.
        adjacency: the neighbouring relation: ``rewards-only``, ``replace`` or ``add-remove``.
        support: the largest number of successors of a cell, if the possible successors are public; S without
            it. The visits of a cell are the sum of that many noisy transitions.
        visits: the number of visits per episode of the cell whose error counts; that of an average cell
            without it.
        pooled: whether all steps share one table of counts.
        most_payoff: the largest sum of payoffs that an episode counts; no limit without it.
        bits: the bits of the encoder's coefficients, for releases on a lattice; exact without it.
        grains: the number of equal parts of a payoff of 1; needed with ``bits``.

    >>> found = cheapest_counters(6, 2, 20, 2000, epsilon=1, delta="1e-6", adjacency="rewards-only")
    >>> found.parameters.counter, found.parameters.every, found.parameters.cap
    ('square-root', 32, 2)

    Raises:
        ValueError: for sizes out of range, or a target that no noise meets.
        UnprovedAdjacencyError: for a relation without a proof.
    """
    relation, failure = Adjacency.of(adjacency), exact(delta, "delta")
    public = relation is Adjacency.REWARDS_ONLY
    unit = BatchedCountsParameters(
        states,
        actions,
        horizon,
        episodes,
        1.0,
        every=1 + (episodes - 2) // MOST_LEAVES if episodes > 1 else 1,
        pooled=pooled,
        most_payoff=most_payoff,
        public_transitions=public,
        bits=bits,
        grains=grains,
    )
    successors = states if support is None else whole(support, "support", 1, states)
    average = Fraction(horizon, unit.tables * states * actions)
    cell = _Cell(
        successors,
        average if visits is None else at_least_zero(exact(visits, "visits"), "visits"),
        not public,
    )
    found = [
        _candidate(chosen, decoder, relation, cell, epsilon, delta)
        for chosen, decoder in _shapes(unit, cell, pure=failure == 0)
    ]
    return CheapestCounters(tuple(sorted(found, key=lambda one: (one.error.upper, -one.parameters.cap))))


def counter_error(
    parameters: BatchedCountsParameters,
    decoder: str,
    *,
    support: int,
    visits: Number,
    noisy_transitions: bool,
) -> Bound:
    """Return bounds on the root mean squared error of a running count of one cell, as the module defines it.

    Args:
        parameters: the counter with its noise.
        decoder: ``inverse`` of the encoder, or ``nodes`` of a tree, or its ``averaged`` subtrees.
        support: the number of noisy transitions that the visits of the cell are the sum of.
        visits: the number of visits of the cell per episode.
        noisy_transitions: whether transitions have noise. Otherwise only payoffs count.

    >>> tree = BatchedCountsParameters(1, 1, 1, 3, 1.0, counter="tree")
    >>> counter_error(tree, "nodes", support=1, visits=1, noisy_transitions=False).upper
    0.816497

    Raises:
        ValueError: for an unknown decoder, one that does not fit the counter, or batches that grow.
    """
    if parameters.growth is not None:
        raise ValueError(
            f"growth ({parameters.growth}) must be left out, because the error is for equal batches"
        )
    known = ("nodes", "averaged") if parameters.counter == "tree" else ("inverse",)
    if decoder not in known:
        raise ValueError(f"decoder ({decoder!r}) must be one of: {', '.join(known)}")
    cell = _Cell(support, exact(visits, "visits"), noisy_transitions)
    with precision(_BITS):
        return bound_of(_squared(parameters, decoder, cell).sqrt())


def _candidate(
    unit: BatchedCountsParameters,
    decoder: str,
    relation: Adjacency,
    cell: _Cell,
    epsilon: Number,
    delta: Number,
) -> CounterCandidate:
    chosen, _ = ACCOUNTANT.least_noise(unit, relation, epsilon, delta)
    with precision(_BITS):
        error = bound_of(_squared(chosen, decoder, cell).sqrt())
    return CounterCandidate(chosen, decoder, error)


def _shapes(
    unit: BatchedCountsParameters, cell: _Cell, *, pure: bool
) -> Iterator[tuple[BatchedCountsParameters, str]]:
    """Yield all candidates without noise: parameters with noise 1, and the decoder."""
    for base in _batched(unit, cell):
        laplace = replace(
            base,
            counter="tree",
            noise=NoiseLaw.LAPLACE.value,
            cost_factor=_cost_factor(base, cell, laplace=True),
        )
        yield laplace, "nodes"
        yield laplace, "averaged"
        if pure:
            continue
        gaussian = replace(base, cost_factor=_cost_factor(base, cell, laplace=False))
        yield replace(gaussian, counter="tree"), "nodes"
        yield replace(gaussian, counter="tree"), "averaged"
        if base.batches <= _MOST_RELEASES:
            yield gaussian, "inverse"
            kept = [bands for bands in _BANDS if 2 * bands <= base.batches]
            yield from ((replace(gaussian, bands=bands), "inverse") for bands in kept)


def _batched(unit: BatchedCountsParameters, cell: _Cell) -> Iterator[BatchedCountsParameters]:
    """Yield parameters with every batch size and cap that is tried: powers of 2, and the least cap without loss."""
    least = min(max(math.ceil(cell.visits), 1), unit.horizon)
    caps = sorted({least, unit.horizon}) if unit.pooled else [1]
    every = 1
    while every <= unit.last:
        if unit.last // every <= 2**20:
            yield from (replace(unit, every=every, cap=cap) for cap in caps)
        every *= 2


def _cost_factor(parameters: BatchedCountsParameters, cell: _Cell, *, laplace: bool) -> float:
    """Return the cost factor f that makes the mean error of payoffs and visits least.

    Let T and P be the largest sums of one user's squared counts and squared payoffs, or of the plain ones for Laplace
    noise. The noise on transitions grows with T + P/f^2 for Gaussian and (T + P/f)^2 for Laplace noise, and the error
    with f^2 + support.
    """
    p = parameters
    if not cell.noisy_transitions:
        return 1.0
    if laplace:
        share = most_payoffs(p) / (
            most_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon
        )
        return max(round(math.pow(cell.support * share, 1 / 3), 3), 1e-3)
    share = squared_payoffs(p) / (
        squared_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon
    )
    return max(round(math.pow(cell.support * share, 1 / 4), 3), 1e-3)


def _squared(parameters: BatchedCountsParameters, decoder: str, cell: _Cell) -> flint.arb:
    """Return the mean squared error. Call it inside ``precision``."""
    factor = exact(parameters.cost_factor)
    payoffs = _variance(parameters, factor * exact(parameters.sigma), parameters.payoff_unit)
    kinds = [payoffs]
    if cell.noisy_transitions:
        transitions = _variance(parameters, exact(parameters.sigma), parameters.transition_unit)
        kinds.append(cell.support * transitions)
    shape = replace(parameters, sigma=1.0, cost_factor=1.0, cap=1)  # the spread depends on no other field
    noise = _spread(shape, decoder) * arb_of(sum(kinds, Fraction(0)) / len(kinds))
    return noise + arb_of(_missing(parameters, cell.visits))


def _variance(parameters: BatchedCountsParameters, scale: Fraction, unit: Fraction | None) -> Fraction:
    """Return an upper bound on the variance of one noise value; exact without a lattice."""
    widened = scale if unit is None else scale + unit / 2
    return (1 if parameters.noise == NoiseLaw.GAUSSIAN else 2) * widened**2


@lru_cache(maxsize=512)
def _spread(parameters: BatchedCountsParameters, decoder: str) -> flint.arb:
    """Return the mean variance of a running count over the episodes, for noise of variance 1."""
    p = parameters
    if p.counter == "tree":
        weight = node_variance if decoder == "averaged" else (lambda level: Fraction(1))
        return arb_of(
            sum(_in_use(p, level) * weight(level) for level in range(nodes(p))) / Fraction(p.episodes)
        )
    squares = (value * value for value in strategy(p).row().coeffs())
    used = (square * (p.episodes - (place + 1) * p.every) for place, square in enumerate(squares))
    return sum(used, flint.arb(0)) / p.episodes


def _in_use(parameters: BatchedCountsParameters, level: int) -> int:
    """Return the number of episodes whose last release adds up a tree node of this level.

    It is the number of releases i with a 1 as binary digit number ``level``, each for the episodes until the
    next release.
    """
    p, block = parameters, 1 << (level + 1)
    full, rest = divmod(p.batches, block)
    before = full * (block >> 1) + max(0, rest - (block >> 1))
    return before * p.every + (p.batches >> level & 1) * (p.episodes - p.batches * p.every)


def _missing(parameters: BatchedCountsParameters, visits: Fraction) -> Fraction:
    """Return the mean square of the visits that a count misses over the episodes 0, ..., K - 1."""
    p = parameters
    lost = max(visits - p.cap, Fraction(0)) if p.pooled else max(visits - 1, Fraction(0))
    blocks = [(i * p.every, p.every) for i in range(p.batches)] if lost else []
    rest = p.episodes - p.batches * p.every
    if not lost:
        total = p.batches * _squares(p.every) + _squares(rest)
        return visits**2 * total / p.episodes
    blocks.append((p.batches * p.every, rest))
    return sum((_lacking(users, length, visits, lost) for users, length in blocks), Fraction(0)) / p.episodes


def _lacking(users: int, length: int, visits: Fraction, lost: Fraction) -> Fraction:
    """Return the sum over n < length of (users lost + n visits)^2."""
    first = users * lost
    return length * first**2 + first * visits * length * (length - 1) + visits**2 * _squares(length)


def _squares(length: int) -> int:
    """Return 0^2 + 1^2 + ... + (length - 1)^2."""
    return (length - 1) * length * (2 * length - 1) // 6
