"""How an agent counts users: which counters, with how much noise, and how that compares with an average count."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.choice import cheapest_counters
from dpproof.accountant.rl.private_ucb.encoder import encoder
from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
from dpproof.accountant.rl.private_ucb.thresholds import with_openings
from dpproof.mechanisms.agents.counters import (
    Counters,
    Counting,
    Sums,
    possible_transitions,
)
from dpproof.mechanisms.agents.found import FoundCounters, Openings
from dpproof.mechanisms.agents.learner import Ints
from dpproof.mechanisms.agents.presets import Signal
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums, PlainSums, TreeSums
from dpproof.mechanisms.release.rounded_noise import RoundedLaplace, RoundedNormal
from dpproof.mechanisms.release.words import WordSource
from dpproof.mechanisms.rl.private_ucb.constants import Constants


@dataclass(frozen=True)
class Wish:
    """What the user of an agent asks for.

    Attributes:
        adjacency: the neighbouring relation.
        epsilon, delta: the guarantee that the whole run must have.
        constants: the constants of the algorithm, of the type of its preset.
        privatizer: how counts are made private: a name of `PRIVATIZERS`, or parameters of ``batched-counts``.
    """

    adjacency: Adjacency
    epsilon: Any
    delta: Any
    constants: Any
    privatizer: Any = "auto"


GRAINS = 1024
"""Gains are multiples of 1/GRAINS."""
_BITS, _WHOLE, _WHOLE_SUMS = 16, 53, 1 << 40
_RELEASES, _LOCAL_RELEASES = 2_500, 400
"""How often a trusted server releases counts in a run, at most, and how often users' own noisy counts are summed.

The agent plans after every release, which takes time. Parameters that are given may have more releases."""
_FOUND_NEXT, _FOUND_TIMES = 4, 4
"""For transitions that are found: the number of next states that sizes are chosen for, and of periods."""


def counters_of(task: Task, plan: Plan, counting: Counting, words: WordSource) -> Counters:
    """Return counters that begin at 0."""
    if plan.openings is not None:
        return _found_counters(task, plan, plan.openings, counting, words)
    cells, moves = task.states * task.actions.size, possible_transitions(task)
    sizes = (plan.tables * cells, plan.tables * moves, task.horizon * moves)
    sums = [
        plan.bank(counters, units, plan.noise(scale, units, words))
        for counters, (scale, units) in zip(sizes, plan.families, strict=False)
    ]
    return Counters(task, counting, sums[0], None if plan.public else sums[1], *sums[2:])


def _found_counters(
    task: Task, plan: Plan, openings: Openings, counting: Counting, words: WordSource
) -> FoundCounters:
    """Return counters for transitions that are found. No transition has a counter yet."""
    (gain_scale, grains), (scale, _), *_ = plan.families
    cells = plan.tables * task.states * task.actions.size
    gains = plan.bank(cells, grains, plan.noise(gain_scale, grains, words))
    moves = plan.bank(0, 1, plan.noise(scale, 1, words))
    if not isinstance(moves, LatticeSums):
        raise TypeError("transitions that are found need counter square-root")
    draw = partial(RoundedNormal(openings.sigma).draw, source=words)
    return FoundCounters(task, counting, gains, moves, openings, draw)


@dataclass(frozen=True)
class Plan:
    """How counts get their noise.

    Attributes:
        mechanism: the command-line name of the mechanism.
        parameters: its parameters.
        scale, gain_scale: the scales of the noise of transitions and of gains, in counts.
        every, releases, cap, tables: when counts are released, and how visits are counted.
        public: whether transitions are released without noise.
        laplace: whether the noise is Laplace noise; Gaussian otherwise.
        bank: a function that makes private sums, given the number of counters, the units of a count and a function
            that draws noise.
        amplification: the standard deviation of the last running sum, for noise of standard deviation 1.
        terms: the number of independent noise terms in a running sum, for Laplace noise.
        openings: how transitions are found; None if they have counters from the start.
        step_scale: the scale of the noise of transitions that are counted for each step as well; None if they are not.
        growth: a batch has at least this share of all users before it.
    """

    mechanism: str
    parameters: Parameters
    scale: Fraction
    gain_scale: Fraction
    every: int
    releases: int
    cap: int
    tables: int
    public: bool
    laplace: bool
    lattice: int
    bank: Callable[[int, int, Callable[[int], Ints]], Sums]
    amplification: float
    terms: int
    openings: Openings | None = None
    step_scale: Fraction | None = None
    growth: Fraction = Fraction(0)

    @property
    def local(self) -> bool:
        """Whether users add noise to their own counts."""
        return self.mechanism == "local-counts"

    @property
    def families(self) -> tuple[tuple[Fraction, int], ...]:
        """The scale of the noise and the units of a count: of gains, of transitions, and of transitions of a step."""
        steps = () if self.step_scale is None else ((self.step_scale, 1),)
        return (self.gain_scale, GRAINS), (self.scale, 1), *steps

    def noise(self, scale: Fraction, units: int, words: WordSource) -> Callable[[int], Ints]:
        """Return a function that draws integer noise, for counts in units of 1/``units``."""
        law = RoundedLaplace if self.laplace else RoundedNormal
        return partial(law(scale * units * self.lattice).draw, source=words)


def central_plan(task: Task, wish: Wish) -> Plan:
    """Return how a trusted server makes counts private, with noise that meets the wish."""
    given = wish.privatizer
    sizes = given if isinstance(given, BatchedCountsParameters) else chosen_counts(task, wish)
    if not task.found and sizes.threshold is not None:
        raise ValueError(f"threshold ({sizes.threshold}) must be left out unless support is 'found'")
    if task.found and sizes.threshold is None:
        sizes = with_openings(sizes, wish.adjacency, wish.epsilon, wish.delta)
    p, _ = accountant_for("batched-counts").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    return plan_of(task, p)


def plan_of(task: Task, p: BatchedCountsParameters) -> Plan:
    """Return how a trusted server makes counts private with the noise that the parameters state.

    Raises:
        ValueError: the parameters do not describe what the task counts.
    """
    _fitting(task, p)
    tree = p.counter == "tree"
    column = () if tree else (*encoder(p), *[0] * (p.batches - len(encoder(p))))

    def bank(counters: int, units: int, draw: Callable[[int], Ints]) -> Sums:
        if tree:
            return TreeSums(p.batches, counters, draw, task.episodes * task.horizon * units)
        return LatticeSums(column, counters, task.episodes * task.horizon * units, draw)

    one = TreeSums(p.batches, 1, _silent) if tree else LatticeSums(column, 1, 1, _silent)
    lattice = 1 if tree else 1 << (p.bits or 0)
    return Plan(
        "batched-counts",
        p,
        exact(p.sigma),
        exact(p.sigma) * exact(p.cost_factor),
        p.every,
        p.batches,
        p.cap if p.pooled else task.horizon,
        p.tables,
        p.public_transitions,
        p.noise == NoiseLaw.LAPLACE,
        lattice,
        bank,
        one.amplification * lattice,
        p.batches.bit_length(),
        _openings(p),
        None if p.step_sigma is None else exact(p.step_sigma),
        exact(p.growth or 0),
    )


def _fitting(task: Task, given: BatchedCountsParameters) -> None:
    """Check that parameters describe what a task counts.

    Raises:
        ValueError: a size, the limit of an episode's payoffs or the grid differs. The noise would be wrong then.
    """
    wanted = {
        "states": task.states, "actions": task.actions.size, "horizon": task.horizon, "episodes": task.episodes,
        "most_payoff": task.most_gain, "grains": GRAINS,
    }  # fmt: skip
    for name, value in wanted.items():
        if getattr(given, name) != value:
            rule = f"must have {name}={value!r}, because the agent counts so"
            raise ValueError(f"privatizer ({name}={getattr(given, name)!r}) {rule}")


def _silent(count: int) -> Ints:
    return np.zeros(count, np.int64)


def _openings(p: BatchedCountsParameters) -> Openings | None:
    """Return how transitions are found; None if every possible one has a counter."""
    if p.threshold is None:
        return None
    return Openings(exact(p.opening_sigma or 0), p.threshold, max(1, p.batches // _FOUND_TIMES))


PRIVATIZERS = ("auto", "tree", "square-root", "banded", "local")
"""How counts may be made private. ``auto`` chooses the cheapest counters of a trusted server."""


def chosen_counts(task: Task, wish: Wish) -> BatchedCountsParameters:
    """Return the parameters of the counters with the least certified error among those that the wish allows.

    They have at most 2,500 releases.

    Raises:
        ValueError: for an unknown privatizer, one that has no noise for delta 0, or a single episode.
    """
    if wish.privatizer not in PRIVATIZERS:
        raise ValueError(f"privatizer ({wish.privatizer!r}) {one_of(wish.privatizer, PRIVATIZERS)}")
    if task.episodes < 2:
        raise ValueError(
            f"episodes ({task.episodes}) must be at least 2, because no release counts the last user"
        )
    gains = min(task.episodes * task.horizon, _WHOLE_SUMS) * GRAINS
    table = _candidates(
        task.states, task.actions.size, task.horizon, task.episodes,
        epsilon=wish.epsilon, delta=wish.delta, adjacency=wish.adjacency,
        support=min(_FOUND_NEXT if task.found else task.branches, task.states), most_payoff=task.most_gain,
        bits=min(_BITS, _WHOLE - 1 - gains.bit_length()), grains=GRAINS,
    )  # fmt: skip
    found = (
        one.parameters
        for one in table.candidates
        if _is(one.parameters, wish.privatizer)
        and one.parameters.batches <= _RELEASES
        and not (task.found and one.parameters.counter == "tree")
    )
    chosen = next(found, None)
    if chosen is None:
        raise ValueError(
            f"privatizer ({wish.privatizer!r}) needs a delta above 0. Use tree or auto for delta 0."
        )
    return coarse_enough(chosen)


def coarse_enough(parameters: BatchedCountsParameters) -> BatchedCountsParameters:
    """Return the parameters with so few bits that the noise is at most 2^38 steps of the grid.

    The sampler of noise accepts 2^40 steps. The rest is for the calibration with fewer bits, which changes sigma.

    Raises:
        ValueError: the noise is too large even for the coarsest grid.
    """
    p = parameters
    if p.counter == "tree" or p.bits is None:
        return p
    bits = min(p.bits, math.floor(38 - math.log2(p.sigma * max(1.0, p.cost_factor) * GRAINS)))
    if bits < 1:
        raise ValueError(
            f"sigma ({p.sigma:.3g}) is too large for square-root counters. Use a larger epsilon, or tree counters."
        )
    return replace(p, bits=bits)


_candidates = lru_cache(maxsize=32)(cheapest_counters)


def _is(parameters: BatchedCountsParameters, privatizer: str) -> bool:
    """Return whether counters are of the kind that a privatizer's name asks for."""
    kind = "banded" if parameters.bands is not None else parameters.counter
    return privatizer in ("auto", kind)


def local_plan(task: Task, wish: Wish) -> Plan:
    """Return how users make their own counts private before they send them, with noise that meets the wish.

    The accountant counts the end of an episode as one more state. Without it, it would take all episodes of a task with
    one state and one action for equally long.
    """
    law = NoiseLaw.LAPLACE.value if exact(wish.delta) == 0 else NoiseLaw.GAUSSIAN.value
    sizes = LocalCountsParameters(
        task.states + 1, task.actions.size, task.horizon, task.episodes, scale=1.0, noise=law, visits="summed",
        pooled=True,
    )  # fmt: skip
    p, _ = accountant_for("local-counts").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    every = max(1, (task.episodes - 1) // _LOCAL_RELEASES)
    scale = Fraction(p.used_scale())

    def bank(counters: int, _units: int, _draw: Callable[[int], Ints]) -> Sums:
        return PlainSums(counters)

    n = task.episodes
    return Plan(
        "local-counts", p, scale, scale, every, (n - 1) // every, task.horizon, 1, False, law == NoiseLaw.LAPLACE, 1,
        bank, math.sqrt(n), n,
    )  # fmt: skip


def counting_of(task: Task, plan: Plan, constants: Constants) -> Counting:
    """Return how users are counted, with error bounds that hold with the failure probability of the constants."""
    cells = task.states * task.actions.size
    counters = plan.tables * (cells + (0 if plan.public else possible_transitions(task)))
    goal = math.log(2 * counters * plan.releases / constants.delta)
    unit = (_laplace_tail if plan.laplace else _normal_tail)(goal, plan)
    pooled = plan.tables == 1
    transition = 0.0 if plan.public else float(plan.scale) * unit
    most = None if task.most_gain is None else math.floor(Fraction(task.most_gain) * GRAINS)
    return Counting(
        GRAINS,
        most,
        plan.every,
        plan.releases,
        plan.cap,
        pooled,
        float(plan.gain_scale) * unit,
        transition,
        plan.growth,
    )


def _normal_tail(goal: float, plan: Plan) -> float:
    """Return t such that a running sum of standard normal noise is above t with probability at most exp(-goal)/2."""
    return math.sqrt(2 * goal) * plan.amplification


def _laplace_tail(goal: float, plan: Plan) -> float:
    """Return t such that a sum of Laplace noise of scale 1 is above t with probability at most exp(-goal)."""
    t = np.linspace(0, 1, 2049)[1:-1]
    return float(((goal - plan.terms * np.log1p(-t * t)) / t).min())


def signal_of(task: Task, plan: Plan) -> Signal:
    """Return how large the noise of a count is, compared with an average count."""
    cells = task.states * task.actions.size
    if plan.openings is not None:
        return _found_signal(task, plan, plan.openings)
    counters = plan.tables * (cells if plan.public else possible_transitions(task))
    scale = plan.gain_scale if plan.public else plan.scale
    spread = math.sqrt(2) if plan.laplace else 1.0
    visits = min(task.horizon, plan.cap * cells)
    return Signal(
        task.episodes, task.episodes * visits / counters, float(scale) * spread * plan.amplification
    )


def _found_signal(task: Task, plan: Plan, openings: Openings) -> Signal:
    """Return the signal of transitions that are found, for cells with a few next states each.

    An average transition is found if its average count in one period reaches the threshold.
    """
    cells = task.states * task.actions.size
    counters = plan.tables * cells * min(_FOUND_NEXT, task.states)
    periods = task.episodes / (plan.every * openings.period)
    visits = task.episodes * min(task.horizon, plan.cap * cells)
    noise = float(plan.scale) * plan.amplification
    return Signal(task.episodes, visits / counters, noise, openings.threshold * periods)
