"""Test cases of counts in the shuffle model, from the paper on SDP-PE: one counter, or a whole release.

The first cases have one counter and the paper's numbers: n = 2 tau users at epsilon' = 0.1, where tau is the paper's
threshold. The other cases are whole releases, in which one user's trajectory changes at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.scores.protocol import Identity, LogLikelihoodRatio, Projection
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.sdp_pe.shuffled_batch import batch_ratio, batch_users
from dpproof.mechanisms.rl.sdp_pe.shuffled_batch import sample as shuffled_batch
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import sample as shuffled_count
from dpproof.mechanisms.rl.trajectories import Trajectories

PLACE = 9
PAPER = "sdp-pe"
QUICK = (
    "shuffled count, as printed",
    "shuffled count, as printed, even at delta 1/4",
    "shuffled count, bits, the smallest threshold",
    "shuffled count, bits, a hundredth of the smallest threshold",
)
"""The cases that take seconds; `dpproof check papers` audits them."""

Floats = NDArray[np.float64]
PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
USERS, PRINTED, LEAST = 278566, 139283.0, 2829.674
"""The number of users, twice the paper's tau for epsilon' = 0.1 and beta' = 1e-6; this tau; and the smallest tau that
has this guarantee."""
SIZES: dict[str, Any] = {"states": 2, "actions": 2, "horizon": 3}
SHAPE = ReleaseShape(3, 2, 2)
"""Three steps, two states and two actions, with all three families of counters."""


def _one_bit(first: int, second: int) -> None:
    if abs(first - second) != 1:
        raise ValueError(f"{first} and {second} users hold a 1. The numbers must differ by exactly 1.")


def _counter(
    name: str,
    tau: float,
    encoding: str,
    claim: PrivacyCurve,
    expected: Finding,
    reason: str,
    **more: Any,
) -> Case:
    """Return a case of one user's bit among users who all have the bit 1."""
    parameters = ShuffledCountParameters(USERS, tau, encoding)
    pair = Neighbours(
        USERS - 1, USERS, Adjacency.REPLACE, "one user's bit, where all others hold 1", _one_bit
    )
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
    """The truth of a case: the exact epsilon of the mechanism at the case's delta."""

    loss: Any
    delta: float

    def __call__(self) -> Bound:
        found = self.loss.epsilon(self.delta)
        return Bound(found.lower, found.upper, "mechanism", "the pair of the case")


def _batch(
    name: str,
    users: int,
    tau: float,
    changes: int,
    expected: Finding,
    reason: str,
    **more: Any,
) -> Case:
    """Return a case of a release with noise tau; the claim counts ``changes`` counters for a replaced user."""
    parameters = ShuffledBatchParameters(users, tau, **SIZES)
    pair = batch_users(parameters, Adjacency.REPLACE)
    delta = more.pop("delta", 1e-3)
    ratio = partial(_ratio, parameters=parameters, first=pair.first, second=pair.second)
    return Case(
        name=f"shuffled batch, {name}",
        mechanism=partial(shuffled_batch, parameters),
        pair=pair,
        claim=more.pop("claim", None) or _claim(parameters, changes),
        delta=delta,
        expected=expected,
        truth=_Known(batch_loss(SHAPE, users, tau), delta),
        reason=reason,
        scores=(LogLikelihoodRatio(ratio),),
        **more,
    )


def _ratio(
    outputs: Floats, *, parameters: ShuffledBatchParameters, first: Trajectories, second: Trajectories
) -> Floats:
    found: Floats = batch_ratio(outputs, parameters, first, second)
    return found


def _claim(parameters: ShuffledBatchParameters, changes: int) -> PrivacyLoss:
    """Return the privacy loss of ``changes`` changed counters; half of them increase, and the others decrease."""
    loss = batch_loss(SHAPE, parameters.users, parameters.threshold)
    ((falls, _), (rises, _)) = loss.composed.alternatives[0]
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
        known_ratio=True,
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
