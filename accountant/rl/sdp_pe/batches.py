"""What one replaced user changes in a batch's counters, and what all of these changes promise together.

At every released step a replaced user leaves one cell of each family and enters another: one counter falls
by one, one rises. Bits, one sum each counter, so that a release is h f pairs of shifted binomials, one of
each direction, for h steps and f families. Two trajectories that differ in every cell attain it, whatever the
other users hold; fewer changes are processing of these. A user is in one batch, and the other batches have
the same law given the past: all batches together promise what the weakest one does.

Source: Section V and Lemma 10 of the paper; docs/notes/sdp_batches.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.published import published
from dpproof.accountant.rl.sdp_pe.loss import BatchLoss
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view

__all__ = ["ReleaseShape", "batch_loss", "printed_budget", "printed_threshold"]


@dataclass(frozen=True)
class ReleaseShape:
    """The counters of one release: ``steps`` times (s, a) and (s, a, s'), and rewards where released.

    Without ``own_visits`` N(h, s, a) is released as the sum of N(h, s, a, .): it has no counters.

    >>> ReleaseShape(6, 4, 2, rewards=True).changes
    18

    Raises:
        ValueError: for a number below 1.
    """

    steps: int
    states: int
    actions: int
    rewards: bool = True
    own_visits: bool = True

    def __post_init__(self) -> None:
        for name in ("steps", "states", "actions"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} ({value!r}) must be an integer at least 1")

    @property
    def cells(self) -> int:
        """Pairs and steps (h, s, a)."""
        return self.steps * self.states * self.actions

    @property
    def counters(self) -> int:
        """All counters that are released."""
        return self.cells * (int(self.own_visits) + self.states + int(self.rewards))

    @property
    def changes(self) -> int:
        """Counters that fall by one at most when a user is replaced; as many rise."""
        return self.steps * (1 + int(self.own_visits) + int(self.rewards))


def printed_budget(
    horizon: int, states: int, actions: int, epsilon: Number, beta: Number, *, beyond_proof: bool = False
) -> tuple[Fraction, Fraction]:
    """The paper's (epsilon', beta') of one counter: epsilon/(3H) and beta/(HXA).

    >>> printed_budget(6, 4, 2, "0.9", "0.048")
    (Fraction(1, 20), Fraction(1, 1000))

    Args:
        horizon: H.
        states: X.
        actions: A.
        epsilon: of all batches.
        beta: of all batches.
        beyond_proof: allow an epsilon of 1 and more, where the paper's Lemma 10 says nothing.

    Raises:
        ValueError: for an epsilon or beta outside (0, 1).
    """
    total, failure = exact(epsilon, "epsilon"), exact(beta, "beta")
    if not total > 0 or not (total < 1 or beyond_proof):
        raise ValueError(f"epsilon ({epsilon!r}) must be in (0, 1): Lemma 10 stops there")
    if not 0 < failure < 1:
        raise ValueError(f"beta ({beta!r}) must be in (0, 1)")
    return total / (3 * horizon), failure / (horizon * states * actions)


def printed_threshold(
    horizon: int, states: int, actions: int, epsilon: Number, beta: Number, *, beyond_proof: bool = False
) -> float:
    """The paper's tau = 96 log(2/beta')/epsilon'^2, rounded up.

    >>> round(printed_threshold(6, 4, 2, "0.9", "1e-6"))
    705787

    Raises:
        ValueError: see ``printed_budget``.
    """
    one, failure = printed_budget(horizon, states, actions, epsilon, beta, beyond_proof=beyond_proof)
    with precision(128):
        values = {"epsilon": arb_of(one), "beta": arb_of(failure)}
        return round_up(published("sdp.threshold").formula.arb(**values))


def batch_loss(shape: ReleaseShape, users: int, threshold: float) -> BatchLoss:
    """The guarantee of one batch's release, bits as messages, when one user is replaced.

    Both directions stand equally often, so that exchanging the two users changes nothing.

    >>> batch_loss(ReleaseShape(1, 2, 1, rewards=False), 5000, 900.0).delta("0.5").upper < 1e-6
    True

    Raises:
        ValueError: see ``ShuffledCountParameters``.
    """
    noise = view(ShuffledCountParameters(users, threshold, "bits"))
    return BatchLoss(shape.changes, noise.trials, exact(noise.probability))
