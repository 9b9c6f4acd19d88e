"""Test cases of private offline learning: correct noise on the worst pair of logs, and faults in the noise scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.audits.corpus.case import Case
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.offline.tables import TARGET
from dpproof.mechanisms.rl.offline.counts import LogParameters, exact_numbers, sample

PLACE = 11
DELTA = 1e-3
PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
SIZES = LogParameters(states=2, actions=1, horizon=4, sigma=4.0)


@dataclass(frozen=True)
class Counting:
    """The noisy counts of a log, as an audit runs them."""

    parameters: LogParameters

    def sample(self, data: Episodes, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the noisy numbers of ``n`` runs."""
        return sample(self.drawn(), data, n, rng)

    def drawn(self) -> LogParameters:
        """Return the parameters with the noise that is drawn."""
        return self.parameters


class ForgotHorizon(Counting):
    """Fault: the noise is that of an episode of one step."""

    def drawn(self) -> LogParameters:
        """Return the parameters with noise for one step."""
        return replace(self.parameters, sigma=self.parameters.sigma / math.sqrt(self.parameters.horizon))


class ForgotReplacement(Counting):
    """Fault: the noise is that of a user who is left out, not replaced."""

    def drawn(self) -> LogParameters:
        """Return the parameters with noise for a user who is added or removed."""
        removed, replaced = (
            self.parameters.squared_sensitivity(each) for each in (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
        )
        return replace(self.parameters, sigma=self.parameters.sigma * math.sqrt(removed / replaced))


def _truth(mechanism: Counting, adjacency: Adjacency) -> Bound:
    """Return the epsilon of the pair from the distance of its two logs, without the formula of the sensitivity."""
    pair = TARGET.pair(mechanism.parameters, adjacency)
    (one, deviation), (two, _) = (exact_numbers(mechanism.drawn(), log) for log in (pair.first, pair.second))
    return GaussianDP(float(np.linalg.norm((one - two) / deviation))).epsilon(DELTA)


def _case(name: str, mechanism: Counting, expected: Finding, reason: str) -> Case:
    p = mechanism.parameters
    adjacency = Adjacency.REWARDS_ONLY if p.public_counts else Adjacency.REPLACE
    pair = TARGET.pair(p, adjacency)
    return Case(
        name=f"offline tables, {name}",
        mechanism=mechanism,
        pair=pair,
        claim=p.account(adjacency).guarantee,
        delta=DELTA,
        expected=expected,
        truth=partial(_truth, mechanism, adjacency),
        reason=reason,
        scores=TARGET.scores(mechanism.drawn(), pair, 2),
        budget=50_000,
    )


CASES: tuple[Case, ...] = (
    _case("replaced user", Counting(SIZES), PASS, "the noise that the sensitivity needs"),
    _case(
        "rewards only",
        Counting(replace(SIZES, public_counts=True, sigma=1.0)),
        PASS,
        "public counts, noise on sums of rewards alone",
    ),
    _case("noise for one step", ForgotHorizon(SIZES), FAIL, "a user changes the counts of every step"),
    _case("noise for a removed user", ForgotReplacement(SIZES), FAIL, "replacement moves twice the squares"),
)
