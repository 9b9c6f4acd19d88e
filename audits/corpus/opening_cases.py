"""Test cases of transitions that are found by thresholds: the real code, and one fault at a time.

`dpproof.mechanisms.agents.many_found_runs.FoundCounts` runs the code of agents. A fault replaces one of its methods. A
fault in a number needs no class here: the code runs with parameters other than those of the claim.

Each case uses one of three pairs of inputs. The user's transition has a counter already (OPEN), others have taken it
almost often enough (NEAR), or nobody else takes it (ALONE).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import flint
import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters, account
from dpproof.accountant.rl.private_ucb.encoder import encoder
from dpproof.audits.corpus.case import Case
from dpproof.audits.corpus.truths import BITS
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.private_ucb.batched_counts import TARGET, found_pair
from dpproof.mechanisms.agents.learner import Ints
from dpproof.mechanisms.agents.many_found_runs import FoundCounts, RepeatedCounters
from dpproof.mechanisms.release.words import WordSource

PLACE = 16

PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
OPEN, NEAR, ALONE = (1, 1), (0, 1), (0, 0)
"""The steps of the user's path that have counters before the user comes, and those that are near the threshold."""

Draw = Callable[[int], Ints]


@dataclass(frozen=True)
class ExactOpenings(FoundCounts):
    """Fault: the true count is compared with the threshold."""

    def opening_noise(self, words: WordSource) -> Draw:
        """Return noise that is always 0."""
        return lambda count: np.zeros(count, np.int64)


class OpenedAtOnce(RepeatedCounters):
    """Fault: a pair with a single visit in a period is opened without noise and threshold."""

    def _passed(self) -> list[int]:
        once = [pair for pair, count in self._waiting.items() if count == 1]
        return sorted({*once, *super()._passed()})


class EarlierVisits(RepeatedCounters):
    """Fault: a counter begins with the visits of the period in which it is opened."""

    def _passed(self) -> list[int]:
        self._counted = dict(self._waiting)
        return super()._passed()

    def _add(self, pairs: list[int]) -> None:
        super()._add(pairs)
        self._moves.add([self._counter[pair] for pair in pairs], [self._counted[pair] for pair in pairs])


class KeptCounts(RepeatedCounters):
    """Fault: a period begins with the counts of the period before, so a visit is compared with the threshold again."""

    def _passed(self) -> list[int]:
        kept = dict(self._waiting)
        opened = super()._passed()
        self._waiting = {pair: count for pair, count in kept.items() if pair not in opened}
        return opened


DELTA = 1e-2
SIZES = BatchedCountsParameters(2, 1, 1, 4, sigma=1.5, bits=16, grains=1024, opening_sigma=1.2, threshold=5)
"""Two states, one action, one step and three releases, each a period. The failure probability is 0.0018."""

QUIET = replace(SIZES, sigma=4.0, opening_sigma=3.0, threshold=10)
"""More noise. The failure probability is 0.0023."""
LATER = replace(SIZES, episodes=6, cost_factor=20.0)
"""Five releases, each a period. Almost all of the guarantee is for transitions."""


def _case(
    name: str,
    claimed: BatchedCountsParameters,
    relation: Adjacency,
    steps: tuple[int, int],
    run: FoundCounts,
    expected: Finding,
    reason: str,
    *,
    truth: Callable[[], Bound] | None = None,
    claim: PrivacyCurve | None = None,
    delta: float = DELTA,
) -> Case:
    """Return the case that claims the guarantee of some parameters for the releases of a run."""
    pair = found_pair(claimed, relation, *steps)
    return Case(
        name=f"found transitions, {name}",
        mechanism=run,
        pair=pair,
        claim=claim or account(claimed, relation).guarantee,
        delta=delta,
        expected=expected,
        truth=truth,
        reason=reason,
        scores=TARGET.scores(claimed, pair, 2),
        budget=40_000,
    )


def _bit(run: FoundCounts, others: int, chance: float = DELTA) -> Bound:
    """Return the smallest epsilon, at delta ``chance``, of one opening with one visit more than others have made.

    The pair is opened or not. A pair without visits stays closed.
    """
    p = run.parameters
    with precision(BITS):
        more, less = (
            normal_tail(
                arb_of((exact(p.threshold or 0) - exact("0.5") - count) / exact(p.opening_sigma or 0))
            )
            for count in (others + 1, others)
        )
        less = less if others else flint.arb(0)
        if not less > 0:
            return Bound(math.inf, math.inf) if more > chance else Bound(0.0, 0.0)
        delta = arb_of(exact(chance))
        sides = ((more - delta) / less).log(), ((1 - less - delta) / (1 - more)).log()
        return bound_of(sides[0].max(sides[1]), "mechanism", "the pair of the case")


def _near(run: FoundCounts, chance: float = DELTA) -> Bound:
    return _bit(run, (SIZES.threshold or 0) - 1, chance)


def _alone(run: FoundCounts) -> Bound:
    return _bit(run, 0)


def _counted(run: FoundCounts) -> Bound:
    """Return the smallest epsilon of a user in the second batch, who moves a counter of each kind."""
    column = encoder(run.parameters)[:-1]
    return GaussianDP(math.sqrt(2 * sum(c * c for c in column)) / (run.parameters.sigma * 2**16)).epsilon(
        DELTA
    )


TRUTHS = {OPEN: _counted, NEAR: _near, ALONE: _alone}
UNPAID = replace(SIZES, threshold=2)
HALVED = FoundCounts(replace(SIZES, opening_sigma=0.6))
WIDE = 0.4
"""The delta at which one opening with half of the noise is farthest from its claim, among tenths."""


def _honest(name: str, steps: tuple[int, int]) -> Case:
    run = FoundCounts(SIZES)
    reason = "the noise and the threshold of the claim"
    return _case(name, SIZES, ADD_REMOVE, steps, run, PASS, reason, truth=partial(TRUTHS[steps], run))


def _other(
    name: str, steps: tuple[int, int], reason: str, sizes: BatchedCountsParameters = SIZES, **run: Any
) -> Case:
    """Return the case of a run with other parameters than those of the claim."""
    found = FoundCounts(replace(sizes, **run))
    return _case(name, sizes, ADD_REMOVE, steps, found, FAIL, reason, truth=partial(TRUTHS[steps], found))


def _wrong(
    name: str,
    kind: type[RepeatedCounters],
    steps: tuple[int, int],
    reason: str,
    sizes: BatchedCountsParameters = SIZES,
) -> Case:
    """Return the case of a run with counters that have a fault."""
    return _case(name, sizes, ADD_REMOVE, steps, FoundCounts(sizes, kind), FAIL, reason)


CASES: tuple[Case, ...] = (
    _honest("open pair", OPEN),
    _honest("pair near the threshold", NEAR),
    _honest("user alone", ALONE),
    _case("replaced user, alone", SIZES, REPLACE, ALONE, FoundCounts(SIZES), PASS, "each user opens other pairs alone"),
    _other(
        "threshold too low",
        ALONE,
        "the threshold is lower than in the claim by one standard deviation of its noise",
        QUIET,
        threshold=7,
    ),
    _wrong("visits before the opening", EarlierVisits, NEAR, "a visit moves the opening and the counter", LATER),
    _other("noise of counters halved", OPEN, "an open pair has half of the noise of the claim", sigma=0.75),
    _case(
        "noise of openings halved",
        SIZES,
        ADD_REMOVE,
        NEAR,
        HALVED,
        FAIL,
        "others are near the threshold, and one visit decides more often than the claim says",
        truth=partial(_near, HALVED, WIDE),
        delta=WIDE,
    ),
    _wrong("counts of a period kept", KeptCounts, NEAR, "a visit is compared with the threshold four times", LATER),
    _case(
        "delta not paid",
        UNPAID,
        ADD_REMOVE,
        ALONE,
        FoundCounts(UNPAID),
        FAIL,
        "the claim is that of counters which are open from the start",
        claim=account(replace(UNPAID, threshold=None, opening_sigma=None), ADD_REMOVE).guarantee,
        truth=partial(_alone, FoundCounts(UNPAID)),
    ),
    _wrong("opened at the first visit", OpenedAtOnce, ALONE, "a pair that one user has visited is opened"),
    _case(
        "exact counts, others near",
        SIZES,
        ADD_REMOVE,
        NEAR,
        ExactOpenings(SIZES),
        FAIL,
        "the last visit that is missing decides with certainty",
    ),
)  # fmt: skip
