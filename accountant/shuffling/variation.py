"""Privacy amplification by shuffling for randomisers whose total variation is known: the variation-ratio reduction.

Each user sends a message. The messages of the two inputs of one user have probabilities whose ratio is at most
p = exp(local_epsilon), and whose total variation distance is at most ``variation``. Every other user sends each message
with at least 1/q times the probability that this user has for it, q = exp(others_epsilon).

The user then sends one of two labels with probability (p + 1) alpha, and otherwise a message that does not depend on
the input. Every other user sends each label with probability alpha p/q. The analyser may be told whether the user
sends a label. So the guarantee is a ``CloneView``. Here alpha is any number that the randomiser allows: from its total
variation over p - 1 up to a larger number, because messages that are equally likely may be counted as labels, too.

Less variation means fewer labels among the other users. So an upper bound on the total variation alone does not give
the alpha that belongs to it. A reduction that does not tell the analyser whether the user sends a label is not valid
for every randomiser: docs/notes/variation_ratio.md has a counterexample.

Source: Wang et al., "Privacy amplification via shuffling: unified, simplified, and tightened" (arXiv:2304.05007), the
parameters p, beta and q. The bound is this project's statement classic.variation_ratio.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.guarantees.profile import BestOf, Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, probability
from dpproof.accountant.numbers.enclosures import Number, arb_of, precision, round_down, round_up
from dpproof.accountant.shuffling.clones import CloneView

_BITS = 192


def variation_ratio(
    users: int,
    local_epsilon: Number,
    variation: Number,
    least_variation: Number = 0,
    others_epsilon: Number | None = None,
) -> Profile:
    """Return the guarantee of shuffled messages, for replacing one user's data.

    >>> from dpproof.accountant.shuffling.clones import general_randomiser
    >>> general_randomiser(10_000, 2).epsilon("1e-6").upper
    0.155046
    >>> variation_ratio(10_000, 2, "0.6", "0.6").epsilon("1e-6").upper  # the distance is known exactly
    0.119693

    Args:
        users: how many users send a message, each by a randomiser of its own that does not see other messages.
        local_epsilon: every message has at most exp(local_epsilon) times the probability under one input of the user
            that it has under the other.
        variation: an upper bound on the total variation distance of the messages for two inputs of the user.
        least_variation: a lower bound on this distance, for every two inputs that are to be protected. A larger
            number means more labels among the other users.
        others_epsilon: every message has at most exp(others_epsilon) times the probability with the user that it
            has with any other user. Without it, ``local_epsilon``, as for equal randomisers.

    Raises:
        ValueError: if ``others_epsilon`` is below ``local_epsilon``, or a number is outside its domain.
    """
    local, distance = at_least_zero(local_epsilon, "local_epsilon"), probability(variation, "variation")
    least = probability(least_variation, "least_variation")
    if least > distance:
        raise ValueError(
            f"least_variation ({least_variation!r}) must be at most variation ({variation!r}), because both bound "
            "the same distance."
        )
    others = local if others_epsilon is None else at_least_zero(others_epsilon, "others_epsilon")
    if others < local:
        raise ValueError(
            f"others_epsilon ({others_epsilon!r}) must be at least local_epsilon ({local_epsilon!r}), because "
            "every pair of users counts. Leave it out if all users have the same randomiser."
        )
    if local == 0 or distance == 0:
        return PureDP(0)
    with precision(_BITS):
        return _guarantee(
            users, local_epsilon, _Ratios(arb_of(local).exp(), arb_of(others).exp()), least, distance
        )


class _Ratios:
    """The two ratios p and q, with the quantities of the reduction."""

    def __init__(self, p: flint.arb, q: flint.arb) -> None:
        self.p, self.q = p, q

    def reachable(self, distance: Fraction) -> flint.arb:
        """Return the largest alpha that a randomiser with this total variation distance allows."""
        own = self.of(distance)
        return own + (1 - (self.p + 1) * own) / (2 * self.p)

    def of(self, distance: Fraction) -> flint.arb:
        """Return alpha for a total variation distance, without messages that are equally likely."""
        return (arb_of(distance) / (self.p - 1)).min(1 / (self.p + 1))

    def view(self, users: int, local: Number, clones: flint.arb, labels: flint.arb) -> CloneView:
        """Return the guarantee with clones by one value of alpha, and the user's labels by another one."""
        clone, seen = 2 * clones * self.p / self.q, (self.p + 1) * labels
        return CloneView(users, local, _share(clone), _share(seen))


def _share(value: flint.arb) -> Bound:
    return Bound(min(max(round_down(value), 0.0), 1.0), min(round_up(value), 1.0))


def _guarantee(users: int, local: Number, ratios: _Ratios, least: Fraction, most: Fraction) -> Profile:
    """Return the better of two values of alpha that all distances allow, or else the fewest clones with most labels."""
    labels, clones = ratios.of(most), ratios.reachable(least)
    if not labels <= clones:
        return ratios.view(users, local, clones, labels.max(clones))
    return BestOf(tuple(ratios.view(users, local, alpha, alpha) for alpha in (labels, clones)))
