"""Accountant of one whole release of SDP-PE: all counters that a replaced user changes, over all batches.

A fine release has visits, transitions and rewards of all H steps. A crude one has visits and transitions of
one step. Every bit is a separate message. A user is in one batch, so all batches together have the guarantee
of one batch.

Source: Section V and Lemma 10 of the paper; classic.shuffled_counters; docs/notes/sdp_batches.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.published import published
from dpproof.accountant.rl.sdp_pe.batches import BatchLoss, ReleaseShape, batch_loss, printed_threshold
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold

_STATEMENT, _PRINTED, _BITS = "classic.shuffled_counters", "sdp.lemma10.privacy.bits", 128
_MOST = 10**9


@dataclass(frozen=True)
class ShuffledBatchParameters(Parameters):
    """Parameters of a release of SDP-PE: the number of users, the noise, and the counters.

    >>> ShuffledBatchParameters(5000, 900.0, states=4, actions=2, horizon=6).shape.changes
    18
    """

    users: int = parameter(Integers(1, 10**12), "users", "number of users n in a batch")
    threshold: float = parameter(
        Reals(0, 10**15, lower_open=True), "1", "threshold tau: twice the expected noise bits of a counter"
    )
    states: int = parameter(Integers(1, _MOST), "states", "number of states X")
    actions: int = parameter(Integers(1, _MOST), "actions", "number of actions A")
    horizon: int = parameter(Integers(1, _MOST), "steps", "steps per episode H")
    release: str = parameter(
        Choice("fine", "crude"),
        "1",
        "all steps with rewards, or one step's visits and transitions",
        "fine",
    )
    visits: str = parameter(
        Choice("released", "summed"),
        "1",
        "visits of (x, a): counters of their own (the paper), or sums of the transitions",
        "released",
    )
    batches: int = parameter(Integers(1), "batches", "number of batches, each user being in one", 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.counter

    @property
    def counter(self) -> ShuffledCountParameters:
        """The parameters of a single counter. Every bit is a separate message."""
        return ShuffledCountParameters(self.users, self.threshold, "bits")

    @property
    def shape(self) -> ReleaseShape:
        """The number and the kinds of the counters in a release."""
        fine = self.release == "fine"
        own = self.visits == "released"
        return ReleaseShape(self.horizon if fine else 1, self.states, self.actions, fine, own)


def account(parameters: ShuffledBatchParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all batches together, if one user's trajectory is replaced.

    >>> chosen = ShuffledBatchParameters(5000, 1600.0, states=4, actions=2, horizon=6, batches=12)
    >>> account(chosen, Adjacency.REPLACE).guarantee.delta(1).upper < 1e-6
    True

    Raises:
        UnprovedAdjacencyError: for any other relation, because the number of messages reveals that of users.
    """
    if adjacency is not Adjacency.REPLACE:
        why = "The number of messages reveals how many users there are. Use replace."
        raise UnprovedAdjacencyError("shuffled-batch", adjacency, why)
    shape = parameters.shape
    loss = batch_loss(shape, parameters.users, parameters.threshold)
    differ = parameters.states * parameters.actions > 1
    return PrivacyResult(
        loss,
        Adjacency.REPLACE,
        TrustModel.SHUFFLE,
        "the shuffled bits of all counters of all batches",
        _STATEMENT,
        published=_published(parameters, loss),
        attained=Attained(loss, _PAIR) if differ else None,
        notes=(
            f"a replaced user changes {2 * shape.changes} counters, half of them up and half down; "
            "a user is in one batch, so that batches do not add up (sdp.lemma10.privacy.batches)",
        ),
    )


_PAIR = (
    "one user in another cell (state and action) at every step, with reward 1, whatever the other users hold"
)


def _published(parameters: ShuffledBatchParameters, own: BatchLoss) -> PublishedGuarantee:
    """Return the printed tau of a counter, solved for the epsilon of all counters; valid for epsilon < 1."""

    def epsilon(failure: Fraction) -> Bound:
        sizes = {"H": parameters.horizon, "X": parameters.states, "A": parameters.actions}
        with precision(_BITS):
            values = {"beta": arb_of(failure), "tau": arb_of(exact(parameters.threshold))}
            values |= {name: arb_of(exact(size)) for name, size in sizes.items()}
            found = bound_of(published("sdp.release_epsilon").formula.arb(**values))
        return found if found.upper < 1 else exactly(math.inf)

    return PublishedGuarantee(_PRINTED, at_positive_delta(epsilon), own, _STATEMENT)


def _calibrate(
    parameters: ShuffledBatchParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[ShuffledBatchParameters, ShuffledBatchParameters]:
    """Return a tau at which a release meets the target, and a smaller one at which it does not."""
    account(parameters, adjacency)
    if exact(delta, "delta") == 0:
        raise UnreachableTargetError(
            "delta (0) cannot be met, because one of two neighbours has an output that is impossible for the other. "
            "Use a larger delta."
        )
    meets, misses = batch_threshold(parameters.shape, parameters.users, epsilon, delta)
    return replace(parameters, threshold=meets), replace(parameters, threshold=misses)


def _compare(parameters: ShuffledBatchParameters, epsilon: Any, delta: Any) -> Mapping[str, Any]:
    """Return the printed tau for the same target beside the one found, and a counter's noise with each."""
    sizes = parameters.horizon, parameters.states, parameters.actions
    printed = printed_threshold(*sizes, epsilon, delta, beyond_proof=True)
    ours, theirs = _deviation(parameters.users, parameters.threshold), _deviation(parameters.users, printed)
    return {
        "statement": _PRINTED,
        "threshold": {
            "printed": printed,
            "exact": parameters.threshold,
            "ratio": printed / parameters.threshold,
        },
        "deviation": {"printed": theirs, "exact": ours, "ratio": theirs / ours},
    }


def _deviation(users: int, threshold: float) -> float:
    """Return the standard deviation of a counter's noise."""
    noise = view(ShuffledCountParameters(users, threshold, "bits"))
    chance = float(exact(noise.probability))
    return math.sqrt(noise.trials * chance * (1 - chance))


ACCOUNTANT = Accountant(
    "shuffled-batch",
    "Whole release of SDP-PE: all counters of a batch",
    ShuffledBatchParameters,
    account,
    "threshold",
    _calibrate,
    compare=_compare,
    unit="user",
    example=ShuffledBatchParameters(users=1000, threshold=20.0, states=2, actions=2, horizon=2),
)
