"""Individual accounting with a filter: each user pays for her own contributions, and is left out when her budget ends.

Sums with Gaussian noise are released one after another. What the next sum adds up may depend on all earlier sums.
A user whose contributions are short pays less than one whose contributions have the clipping norm. So she can take part
in more sums. The filter decides from her own contributions and the earlier sums, and not from other users.
All sums together are mu-Gaussian DP if one user is added or removed. The amounts that users have spent depend on the
data. Do not release them.

Proof and sources: docs/notes/composition.md, section on individual accounting.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.checks import at_least_zero
from dpproof.accountant.numbers.enclosures import Number, exact


@dataclass(frozen=True)
class IndividualGaussianFilter:
    """A privacy filter with a budget for each user, for sums of vectors with Gaussian noise.

    A user with a contribution of norm c to a sum with noise of deviation s pays (c/s)^2. She is left out of a sum if
    this would raise her total above ``mu`` squared. The filter is immutable: ``admit`` returns a new one.

    >>> start = IndividualGaussianFilter(mu=1)
    >>> after, users = start.admit({"ann": 1, "bob": "0.5"}, deviation=1)
    >>> users, after.admit({"ann": 1, "bob": "0.5"}, deviation=1)[1]
    (('ann', 'bob'), ('bob',))

    Source: Feldman and Zrnic, arXiv:2008.11193v4 (individual filters); Koskela, Tobaben and Honkela,
    arXiv:2209.15596v2 (for Gaussian DP).

    Raises:
        ValueError: for a mu, a norm or a spent amount that is no number of at least 0.
    """

    mu: Number
    spent: Mapping[Hashable, Fraction] = field(default_factory=dict)
    """The total of each user so far. It depends on the data, and must not be released."""

    def __post_init__(self) -> None:
        at_least_zero(self.mu, "mu")
        for amount in self.spent.values():
            at_least_zero(amount, "spent")

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee of all sums together, if one user is added or removed."""
        return GaussianDP(self.mu)

    def admit(
        self, norms: Mapping[Hashable, Number], deviation: Number
    ) -> tuple[IndividualGaussianFilter, tuple[Hashable, ...]]:
        """Return the filter after the next sum, and the users who take part in this sum.

        Args:
            norms: an upper bound on the norm of each user's contribution. It may depend on the earlier sums and on
                this user, and not on other users. The contributions of all other users must be 0.
            deviation: the standard deviation of the noise on each coordinate of the sum.

        Raises:
            ValueError: if the deviation is not above 0.
        """
        noise, most = exact(deviation, "deviation"), exact(self.mu) ** 2
        if noise <= 0:
            raise ValueError(f"deviation ({deviation!r}) must be above 0")
        costs = {user: (at_least_zero(norm, "norm") / noise) ** 2 for user, norm in norms.items()}
        totals = {user: self.spent.get(user, Fraction(0)) + cost for user, cost in costs.items()}
        kept = {user: total for user, total in totals.items() if total <= most}
        return replace(self, spent={**self.spent, **kept}), tuple(kept)
