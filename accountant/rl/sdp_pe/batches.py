"""Privacy of one batch of SDP-PE: the exact guarantee for all counters that a replaced user changes.

There are up to three kinds of counters: visits, transitions and rewards. At every released step a replaced
user lowers one counter of each kind by one, and raises another by one. With h steps and f kinds, h f counters
with binomial noise fall by one, and as many rise. Two trajectories that differ at every step attain the
guarantee, for any data of the other users. Fewer changes are post-processing of these. A user is in one
batch, and given the past the other batches have the same distribution. So all batches together are as private
as the least private one.

Three methods bound the guarantee, and each is always valid. If noise bits are 1 with probability 1/2,
``fair_counters`` uses the sum of all counters. Otherwise ``rare_counters`` uses Chernoff's bound, and the
events that reveal the user for certain. Both methods take milliseconds and come first. The third method is a
grid of privacy losses. It is used if the first bounds are more than a thousandth apart and the grid is small
enough.

Source: Section V and Lemma 10 of the paper; docs/notes/sdp_batches.md, sections 1 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_up
from dpproof.accountant.numbers.inversion import check_least, crossing
from dpproof.accountant.pairs.binomial import ShiftedBinomial, ShuffledBinary
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.published import published
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.accountant.shuffling.counters import certain_mass, fair_counters, rare_counters

_WIDE = 1e-3
_WIDEST = 3e9
"""The largest variance of a counter's noise for which the grid is used."""
_RAREST = Fraction(1, 10**200)
_FAIR = Fraction(1, 2)


@dataclass(frozen=True)
class BatchLoss(Profile):
    """The guarantee of noisy counters, if a replaced user lowers some by one and raises as many by one.

    The noise of a counter is Binomial(trials, probability).

    >>> BatchLoss(1, 5000, Fraction(9, 100)).delta("0.5").upper < 1e-6
    True

    Attributes:
        changes: the number of counters that fall by one. The same number rises by one.
        trials: the number of noise bits of a counter.
        probability: the probability that a noise bit is 1, in (0, 1).
    """

    changes: int
    trials: int
    probability: Fraction

    @property
    def composed(self) -> PrivacyLoss:
        """The guarantee as a composition of dominating pairs: one pair for each counter that falls or rises."""
        # Fair bits have two equal directions. As two kinds of pair they stay apart, and the engine uses one
        # grid for both: split by rare jumps they would take ten times as long for the same few digits.
        falls = ShiftedBinomial(self.trials, self.probability)
        rises = ShuffledBinary(self.trials, 1 - self.probability)
        return PrivacyLoss([[(falls, self.changes), (rises, self.changes)]])

    def _delta_at(self, point: Fraction) -> Bound:
        low, high = self._quick(point)
        if high - low > _WIDE * high and (found := self._by_grid(lambda loss: loss.delta(point))):
            low, high = max(low, found.lower), min(high, found.upper)
        return Bound(low, high)

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon. It is infinite if delta is below the probability that a counter reveals the user."""
        if certain_mass(self.changes, self.trials, self.probability)[0] > target or target == 0:
            return Bound(math.inf, math.inf)
        check_least(target)
        ends = [lambda e, side=side: self._quick(Fraction(e))[side] for side in (0, 1)]
        low, high = crossing(ends[0], ends[1], target)
        if high > (1 + _WIDE) * low and (found := self._by_grid(lambda loss: loss.epsilon(target))):
            low, high = max(low, found.lower), min(high, found.upper)
        return Bound(low, high)

    def _quick(self, epsilon: Fraction) -> tuple[float, float]:
        """Return bounds by the fast method that fits the noise."""
        if self.probability == _FAIR:
            return fair_counters(2 * self.changes, self.trials, epsilon)
        return rare_counters(self.changes, self.trials, self.probability, epsilon)

    def _by_grid(self, ask: Callable[[PrivacyLoss], Bound]) -> Bound | None:
        """Return bounds by the grid of losses; None if the grid would be too large."""
        chance = self.probability
        if self.trials * chance * (1 - chance) > _WIDEST or not _RAREST < chance < 1 - _RAREST:
            return None
        try:
            return ask(self.composed)
        except MemoryError:
            return None


@dataclass(frozen=True)
class ReleaseShape:
    """The counters of one release of SDP-PE.

    Each of ``steps`` steps has counters of transitions (s, a, s'), of visits (s, a) if ``own_visits`` is
    true, and of rewards for (s, a) if ``rewards`` is true. Without ``own_visits``, visits are the sums of
    transitions.

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
            whole(value, name, 1)

    @property
    def cells(self) -> int:
        """The number of triples of a step, a state and an action."""
        return self.steps * self.states * self.actions

    @property
    def counters(self) -> int:
        """The number of all released counters."""
        return self.cells * (int(self.own_visits) + self.states + int(self.rewards))

    @property
    def changes(self) -> int:
        """The largest number of counters that fall by one if a user is replaced. As many counters rise by one."""
        return self.steps * (1 + int(self.own_visits) + int(self.rewards))


def printed_budget(
    horizon: int, states: int, actions: int, epsilon: Number, beta: Number, *, beyond_proof: bool = False
) -> tuple[Fraction, Fraction]:
    """Return the paper's privacy budget for one counter: epsilon/(3H) and beta/(HXA).

    The names are the paper's. beta is the delta of the guarantee.

    >>> printed_budget(6, 4, 2, "0.9", "0.048")
    (Fraction(1, 20), Fraction(1, 1000))

    Args:
        horizon: the number H of steps.
        states: the number X of states.
        actions: the number A of actions.
        epsilon: the epsilon of all batches.
        beta: the beta of all batches.
        beyond_proof: allow an epsilon of 1 and more, which the paper's Lemma 10 does not cover.

    Raises:
        ValueError: for an epsilon or beta outside (0, 1).
    """
    total, failure = exact(epsilon, "epsilon"), inside_unit(beta, "beta")
    if not total > 0 or not (total < 1 or beyond_proof):
        raise ValueError(
            f"epsilon ({epsilon!r}) must be in (0, 1), because the paper's Lemma 10 does not cover other values"
        )
    return total / (3 * horizon), failure / (horizon * states * actions)


def printed_threshold(
    horizon: int, states: int, actions: int, epsilon: Number, beta: Number, *, beyond_proof: bool = False
) -> float:
    """Return the paper's threshold tau, rounded up. It is twice the expected number of noise bits of a counter.

    tau = 96 log(2/beta')/epsilon'^2, where ``printed_budget`` returns epsilon' and beta'.

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
    """Return the guarantee of one batch's release if one user is replaced. Every bit is a separate message.

    ``users`` is the number of users in the batch, and ``threshold`` is twice the expected number of noise
    bits of a counter. As many counters fall as rise, so the guarantee is the same if the two users are
    exchanged.

    >>> batch_loss(ReleaseShape(1, 2, 1, rewards=False), 5000, 900.0).delta("0.5").upper < 1e-6
    True

    Raises:
        ValueError: see ``ShuffledCountParameters``.
    """
    noise = view(ShuffledCountParameters(users, threshold, "bits"))
    return BatchLoss(shape.changes, noise.trials, exact(noise.probability))
