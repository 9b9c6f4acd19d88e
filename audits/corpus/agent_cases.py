"""Test cases of the counters of private agents: the real code, and one fault at a time.

`dpproof.mechanisms.agents.many_runs.AgentCounts` runs the code of agents. A fault replaces one of its methods. A fault
in the size of the noise needs no class here: the code runs with parameters other than those of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import square_root_coefficient
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters, account
from dpproof.accountant.rl.private_ucb.encoder import encoder
from dpproof.audits.corpus.case import VALUES, Case
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.private_ucb import batched_counts
from dpproof.mechanisms.agents.counters import Counting, Sums
from dpproof.mechanisms.agents.many_runs import AgentCounts
from dpproof.mechanisms.counting.lattice import LatticeSums
from dpproof.mechanisms.release.words import WordSource
from dpproof.mechanisms.rl.private_ucb.batched_counts import BatchedUser

PLACE = 15

Draw = Callable[[int], NDArray[np.int64]]
PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
REPLACE, ADD_REMOVE, REWARDS = Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY


@dataclass(frozen=True)
class CapForgotten(AgentCounts):
    """Fault: visits beyond the cap are counted."""

    def counting(self) -> Counting:
        """Return counting with a cap that has no effect."""
        return replace(super().counting(), cap=self.parameters.horizon)


@dataclass(frozen=True)
class PayoffsNotCut(AgentCounts):
    """Fault: the sum of an episode's payoffs is not cut at `most_payoff`."""

    def counting(self) -> Counting:
        """Return counting without a limit on payoffs."""
        return replace(super().counting(), most_grains=None)


@dataclass(frozen=True)
class PayoffsTooLarge(AgentCounts):
    """Fault: payoffs are rounded to another grid than the noise is made for, so a payoff of 1 counts as 2."""

    def counting(self) -> Counting:
        """Return counting with twice the grains."""
        return replace(super().counting(), grains=2 * super().counting().grains)


@dataclass(frozen=True)
class SharedNoise(AgentCounts):
    """Fault: all counters of a family have the same noise, so their differences are exact."""

    def noise(self, scale: Fraction, units: int, words: WordSource) -> Draw:
        """Return noise that is the same for all counters of a run."""
        draw, counters = super().noise(scale, units, words), self.sizes[0 if units > 1 else 1]
        return lambda count: np.repeat(draw(count // counters), counters)


@dataclass(frozen=True)
class KeptNoise(AgentCounts):
    """Fault: the noise is not renewed at the next release, so differences of releases are exact."""

    def noise(self, scale: Fraction, units: int, words: WordSource) -> Draw:
        """Return noise that is drawn once."""
        draw, kept = super().noise(scale, units, words), dict[int, NDArray[np.int64]]()

        def again(count: int) -> NDArray[np.int64]:
            if count not in kept:
                kept[count] = draw(count)
            return kept[count]

        return again


class _SparseSums(LatticeSums):
    """Fault: sums in which only counters that are not 0 get noise."""

    def close(self) -> NDArray[np.int64]:
        """Complete the leaf, with noise where a count of this batch is not 0."""
        draw, counted = self._draw, self._leaf != 0
        self._draw = lambda count: draw(count) * counted
        found = super().close()
        self._draw = draw
        return found


class _UnroundedSums(LatticeSums):
    """Fault: sums with an encoder that is not on the lattice, although the noise is."""

    def close(self) -> Any:
        """Complete the leaf, and return numbers whose fractions are those of the counts."""
        self._leaves = np.vstack([self._leaves, self._leaf])
        self._leaf = np.zeros_like(self._leaf)
        weights = [
            float(square_root_coefficient(place) * self._encoder[0].astype(int))
            for place in range(len(self._leaves))
        ]
        mixed = np.tensordot(weights[::-1], self._leaves, 1)
        return mixed + self._draw(mixed.size)


@dataclass(frozen=True)
class OtherSums(AgentCounts):
    """Fault: the sums of another class release the counts."""

    kind: type[LatticeSums] = LatticeSums

    def bank(self, counters: int, units: int, draw: Draw) -> Sums:
        """Return sums of the wrong class."""
        p = self.parameters
        return self.kind(encoder(p), counters, p.episodes * p.horizon * units, draw)


class _Released:
    """A mechanism on `BatchedUser` that runs an agent's counters."""

    def __init__(self, counts: AgentCounts) -> None:
        self.counts = counts

    def sample(self, data: BatchedUser, n: int, rng: np.random.Generator) -> Any:
        """Return all released numbers of ``n`` runs."""
        return self.counts.release(data.path, n, rng)[..., data.columns]


DELTA = 1e-3
SIZES = BatchedCountsParameters(2, 1, 1, 4, sigma=2.4, bits=16, grains=1024)
"""Two states, one action, one step and three releases. The guarantee under replace is 0.98-GDP."""
LONG = replace(SIZES, horizon=4, sigma=2.0)
PAID = replace(SIZES, horizon=4, cap=4, sigma=5.0, public_transitions=True)
COARSE = replace(SIZES, bits=2, episodes=6)
TREE = replace(SIZES, counter="tree", noise=NoiseLaw.LAPLACE.value, sigma=8.0)
STEPS = replace(SIZES, horizon=2, sigma=9.0, step_sigma=3.6)
"""Transitions of each step as well, which cost most of the budget here."""
SHORT = SIZES.sigma / math.sqrt(sum(c * c for c in encoder(SIZES))) * 2**16


def _truth(parameters: BatchedCountsParameters, relation: Adjacency, delta: float) -> Bound:
    return account(parameters, relation).guarantee.epsilon(delta)


def _case(
    name: str,
    claimed: BatchedCountsParameters,
    relation: Adjacency,
    run: AgentCounts,
    expected: Finding,
    reason: str,
    scores: tuple[Score, ...] = (),
) -> Case:
    """Return the case that claims the guarantee of some parameters for the releases of a run."""
    pair = batched_counts.TARGET.pair(claimed, relation)
    columns = np.arange(sum(AgentCounts(claimed).sizes))
    first, second = (replace(one, columns=columns) for one in (pair.first, pair.second))
    whole = Neighbours(first, second, relation, pair.description, pair.validator)
    delta = 0.0 if claimed.noise == NoiseLaw.LAPLACE else DELTA
    return Case(
        name=f"agents, {name}",
        mechanism=_Released(run),
        pair=whole,
        claim=account(claimed, relation).guarantee,
        delta=delta,
        expected=expected,
        truth=partial(_truth, run.parameters, relation, delta) if type(run) is AgentCounts else None,
        reason=reason,
        scores=scores or batched_counts.TARGET.scores(claimed, whole, 2),
        budget=20_000,
    )


def _honest(name: str, parameters: BatchedCountsParameters, relation: Adjacency) -> Case:
    return _case(name, parameters, relation, AgentCounts(parameters), PASS, "the noise of the claim")


CASES: tuple[Case, ...] = (
    _honest("square root", SIZES, REPLACE),
    _honest("square root, payoffs alone", PAID, REWARDS),
    _honest("tree with Laplace noise", TREE, REPLACE),
    _honest("transitions of each step", STEPS, REPLACE),
    _case(
        "noise of steps too small",
        STEPS,
        REPLACE,
        AgentCounts(replace(STEPS, step_sigma=1.2)),
        FAIL,
        "transitions of each step have a third of the noise of the claim",
    ),
    _case(
        "norm of one user",
        SIZES,
        REPLACE,
        AgentCounts(replace(SIZES, sigma=SIZES.sigma / math.sqrt(2))),
        FAIL,
        "noise for a user left out, but a replaced user moves the squares of two",
    ),
    _case(
        "norm of a column forgotten",
        SIZES,
        REPLACE,
        AgentCounts(replace(SIZES, sigma=SHORT)),
        FAIL,
        "noise for C with columns of norm 1",
    ),
    _case(
        "noise of transitions on payoffs",
        replace(PAID, sigma=2.5, cost_factor=2.0),
        REWARDS,
        AgentCounts(replace(PAID, sigma=2.5)),
        FAIL,
        "the cost factor is 2 in the claim and 1 in the run",
    ),
    _case("cap forgotten", LONG, ADD_REMOVE, CapForgotten(LONG), FAIL, "three visits of a cell are counted, not one"),
    _case(
        "payoffs not cut",
        replace(PAID, most_payoff=1.0, sigma=1.5),
        REWARDS,
        PayoffsNotCut(replace(PAID, most_payoff=1.0, sigma=1.5)),
        FAIL,
        "an episode's payoffs sum to 4, not 1",
    ),
    _case("payoffs above 1", PAID, REWARDS, PayoffsTooLarge(PAID), FAIL, "a payoff of 1 is counted as 2"),
    _case("shared noise", SIZES, REPLACE, SharedNoise(SIZES), FAIL, "differences of counters are exact"),
    _case("noise not renewed", SIZES, REPLACE, KeptNoise(SIZES), FAIL, "differences of releases are exact"),
    _case(
        "noise only on counts above 0",
        SIZES,
        ADD_REMOVE,
        OtherSums(SIZES, _SparseSums),
        FAIL,
        "a counter with the value 0 was not visited",
        VALUES,
    ),
    _case(
        "encoder not rounded",
        COARSE,
        ADD_REMOVE,
        OtherSums(COARSE, _UnroundedSums),
        FAIL,
        "a release is a fraction of the grid only if the user was there",
        VALUES,
    ),
)  # fmt: skip
