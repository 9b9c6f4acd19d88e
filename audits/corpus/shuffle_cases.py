"""Counts in the shuffle model (SDP-PE): the printed encoding, and what a replaced user's trajectory changes.

The first cases are one counter at the paper's own numbers: n = 2 tau users at epsilon' = 0.1. The others are
whole releases of full trajectories, all of whose cells one user changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountant.adjacency import Adjacency
from accountant.bounds import Bound
from accountant.notions import ApproxDP
from accountant.privacy_loss.notion import PrivacyLoss
from accountant.rl.private_ucb_parameters import LocalCountsParameters
from accountant.rl.sdp_pe import ShuffledCountParameters, view
from accountant.rl.sdp_pe_batches import ReleaseShape, batch_loss
from audits.corpus.case import Case
from audits.evidence import Verdict
from audits.pairs import Pair
from audits.scores import Identity, LogLikelihoodRatio, Projection
from mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory
from mechanisms.shuffled_count import shuffled_count
from mechanisms.shuffling import BitEncoder

__all__ = ["CASES", "raw_release"]

Floats = NDArray[np.float64]
PASS, FAIL = Verdict.CONSISTENT, Verdict.VIOLATION
USERS, PRINTED, LEAST = 278566, 139283.0, 2829.674
"""Twice the paper's tau for epsilon' = 0.1, beta' = 1e-6; the smallest tau that keeps these."""
SIZES = LocalCountsParameters(2, 2, 3, 1)
SHAPE = ReleaseShape(3, 2, 2)
"""Two states, two actions, three steps, all three families."""


def _one_bit(first: int, second: int) -> None:
    if abs(first - second) != 1:
        raise ValueError(f"{first} and {second} users hold a 1: one bit may differ")


def _counter(
    name: str, tau: float, encoding: str, claim: Any, expected: Verdict, reason: str, **more: Any
) -> Case:
    """One user's bit among users who all hold 1."""
    parameters = ShuffledCountParameters(USERS, tau, encoding)
    pair = Pair(USERS - 1, USERS, Adjacency.REPLACE, "one user's bit, where all others hold 1", _one_bit)
    return Case(
        name=f"shuffled count, {name}",
        mechanism=partial(_shown, parameters),
        pair=pair,
        claim=claim,
        expected=expected,
        reason=reason,
        **more,
    )


def _shown(parameters: ShuffledCountParameters, ones: int, n: int, rng: np.random.Generator) -> Any:
    return shuffled_count(parameters, ones, n, rng)


@dataclass(frozen=True)
class _Known:
    """The truth of a case: the exact epsilon of what is run, at the case's delta."""

    loss: Any
    delta: float

    def __call__(self) -> Bound:
        found = self.loss.epsilon(self.delta)
        return Bound(found.lower, found.upper, "mechanism", "the pair of the case")


def _others(users: int) -> Trajectories:
    """Users who stay in state 0 and earn nothing, but for the first, who is to be replaced."""
    H = SIZES.horizon
    return Trajectories(
        np.zeros((users, H + 1), np.int64), np.zeros((users, H), np.int64), _rewards(users, first=1.0)
    )


def _rewards(users: int, first: float) -> Floats:
    found = np.zeros((users, SIZES.horizon))
    found[0] = first
    return found


def _replaced(data: Trajectories) -> Trajectories:
    """The first user elsewhere at every step: other state, other action, as many rewards."""
    states, actions = data.states.copy(), data.actions.copy()
    states[0], actions[0] = 1 - states[0], 1 - actions[0]
    return Trajectories(states, actions, data.costs)


def raw_release(data: Trajectories, n: int, rng: np.random.Generator, *, threshold: float) -> Floats:
    """All counters of one batch as the analyser sees them, ``(n, counters)``: bits as messages."""
    true = data.counts(SIZES).sum(axis=0).astype(np.int64)
    return BitEncoder(data.count, threshold).counts(np.broadcast_to(true, (n, true.size)), rng)


def _log_ratio(pair: Pair, threshold: float, outputs: Floats) -> Floats:
    """The log of p1/p0 for raw releases; counters that only one input can have stand as a thousand."""
    from scipy.stats import binom

    encoder = BitEncoder(pair.first.count, threshold)
    trials, chance = encoder.users * encoder.noise_bits, float(encoder.parameters.noise_chance)
    true = [data.counts(SIZES).sum(axis=0) for data in (pair.first, pair.second)]
    moved = np.flatnonzero(true[0] != true[1])
    logs = [
        binom.logpmf(np.rint(outputs[:, moved] + encoder.mean - held[moved]), trials, chance) for held in true
    ]
    found: Floats = np.clip(logs[1] - logs[0], -1e3, 1e3).sum(axis=1)
    return found


def _alike_but_one(first: Trajectories, second: Trajectories) -> None:
    if not differ_in_one_trajectory(first, second):
        raise ValueError("more than one user's trajectory differs")


def _batch(
    name: str, users: int, tau: float, changes: int, expected: Verdict, reason: str, **more: Any
) -> Case:
    """A release with noise tau, claimed as if a replaced user moved ``changes`` counters each way."""
    data = _others(users)
    pair = Pair(data, _replaced(data), Adjacency.REPLACE, "one user elsewhere at every step", _alike_but_one)
    delta = more.pop("delta", 1e-3)
    return Case(
        name=f"shuffled batch, {name}",
        mechanism=partial(raw_release, threshold=tau),
        pair=pair,
        claim=more.pop("claim", None) or _claim(users, tau, changes),
        delta=delta,
        expected=expected,
        truth=_Known(batch_loss(SHAPE, users, tau), delta),
        reason=reason,
        scores=(LogLikelihoodRatio(partial(_log_ratio, pair, tau)),),
        **more,
    )


def _claim(users: int, tau: float, changes: int) -> PrivacyLoss:
    """Rises and falls as they come, half of the changes each where both are meant."""
    ((falls, _), (rises, _)) = batch_loss(SHAPE, users, tau).composed.alternatives[0]
    return PrivacyLoss([[(falls, -(-changes // 2)), (rises, changes // 2)]])


BITS = view(ShuffledCountParameters(USERS, LEAST, "bits"))
ONE_COUNTER = view(ShuffledCountParameters(40, 8.0, "bits")).delta(2).upper

CASES: tuple[Case, ...] = (
    _counter(
        "as printed",
        PRINTED,
        "sum",
        ApproxDP(0.1, 1e-6),
        FAIL,
        "a message 0 can only be the user's who holds 0: delta is 3/4 at every epsilon",
        delta=1e-6,
        truth=None,
        budget=20_000,
        scores=(Projection((-1.0, 0.0, 0.0)),),
    ),
    _counter(
        "as printed, even at delta 1/4",
        PRINTED,
        "sum",
        ApproxDP(3, 0.25),
        FAIL,
        "the same, with beta = tau/(2n)",
        delta=0.25,
        truth=None,
        budget=20_000,
        scores=(Projection((-1.0, 0.0, 0.0)),),
    ),
    _counter(
        "bits, the smallest threshold",
        LEAST,
        "bits",
        BITS,
        PASS,
        "49 times less noise than printed, exactly on its claim",
        delta=1e-6,
        truth=_Known(BITS, 1e-6),
        scores=(Identity(),),
        budget=2_000_000,
    ),
    _counter(
        "bits, a hundredth of the smallest threshold",
        LEAST / 100,
        "bits",
        BITS,
        FAIL,
        "a tenth of the standard deviation that the claim needs",
        delta=1e-6,
        truth=_Known(view(ShuffledCountParameters(USERS, LEAST / 100, "bits")), 1e-6),
        budget=50_000,
    ),
    _batch("all changes counted", 400, 60.0, 2 * SHAPE.changes, PASS, "exactly on its claim", budget=50_000),
    _batch(
        "one changed counter a step and family",
        400,
        60.0,
        SHAPE.changes,
        FAIL,
        "replacement changes two: the old cell and the new one",
        budget=50_000,
    ),
    _batch(
        "failures of one counter",
        40,
        8.0,
        2 * SHAPE.changes,
        FAIL,
        "each changed counter can fail: their failure chances add up, over cells and families",
        claim=ApproxDP(4, ONE_COUNTER),
        delta=ONE_COUNTER,
        budget=50_000,
    ),
)  # fmt: skip
