"""Noise scaled by a smooth bound on local sensitivity: the common part of all accountants of such noise.

A bound S on the local sensitivity of f is beta-smooth if S(x) <= exp(beta) S(x') for neighbours and |f(x) -
f(x')| <= S(x). The release is f(x) + noise S(x) Z. For two neighbours the noise scales differ by a factor
within exp(+-beta). The answers differ by at most the smaller of the two bounds, which is 1/noise in units of
the smaller scale. The privacy profile is the largest of a few exact profiles. The result of an accountant
states whether a pair attains it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.numbers.inversion import bracket, refined


@dataclass(frozen=True)
class SmoothNoise(Profile):
    """The guarantee of noise whose scale is ``noise`` times a smooth bound on local sensitivity.

    It is the worst case over all answers and all bounds with this ``smoothing``.

    Raises:
        ValueError: for ``noise`` not above 0, or ``smoothing`` below 0.
    """

    noise: Number
    """The scale of the noise divided by the smooth bound: 1/alpha in the literature."""
    smoothing: Number
    """The smoothing, called beta: the log of the smooth bound changes by at most this much between neighbours."""

    def __post_init__(self) -> None:
        positive(self.noise, "noise")
        at_least_zero(self.smoothing, "smoothing")

    @abstractmethod
    def profile(self, epsilon: Fraction) -> flint.arb:
        """Return an enclosure of the worst-case delta at ``epsilon``, at the current working precision.

        It is the largest hockey-stick divergence over all pairs of output distributions of two neighbours.
        """

    def _delta_at(self, point: Fraction) -> Bound:
        """Bounds on delta, exact over all admissible pairs in both directions."""
        found = refined(lambda: self.profile(point))
        return Bound(max(round_down(found), 0.0), min(max(round_up(found), 0.0), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        return self.pure() if target == 0 else Bound(*bracket(self.profile, target))

    def pure(self) -> Bound:
        """Return bounds on epsilon at delta 0. They are infinite unless the noise gives pure privacy."""
        return Bound(float("inf"), float("inf"))

    @property
    def shift(self) -> Fraction:
        """The largest distance between the answers of two neighbours, in units of the smaller noise scale."""
        return 1 / exact(self.noise, "noise")

    @property
    def log_ratios(self) -> tuple[Fraction, ...]:
        """The logs of the scale ratios that can be worst: 0, ``smoothing`` and -``smoothing``.

        A scale ratio is that of the noise scales of two neighbours.
        """
        beta = exact(self.smoothing, "smoothing")
        return (Fraction(0), beta, -beta) if beta else (Fraction(0),)


def largest(values: list[flint.arb]) -> flint.arb:
    """Return an enclosure of the largest of several numbers, given enclosures of them.

    >>> largest([flint.arb(1), flint.arb(3), flint.arb(2)])
    3.000000
    """
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


def positive(value: Number, name: str) -> Fraction:
    """Return the exact value of a number that must be above 0.

    Raises:
        ValueError: for a value that is not above 0. The message contains ``name``.
    """
    found = exact(value, name)
    if found <= 0:
        raise ValueError(f"{name} ({value!r}) must be above 0")
    return found


_NOTE = "the smoothing is to be chosen without looking at the data: the noise itself depends on them"


def smooth_notes(adjacency: Adjacency) -> tuple[str, ...]:
    """Return notes for a guarantee: what it assumes about the smooth bound and the neighbouring relation.

    >>> smooth_notes(Adjacency.REPLACE)[-1]
    'the smooth bound is taken to be one under replace neighbours'
    """
    taken = f"the smooth bound is taken to be one under {adjacency.value} neighbours"
    return (_NOTE,) if adjacency is Adjacency.BY_SENSITIVITY else (_NOTE, taken)


def unattained(
    guarantee: Profile,
    adjacency: Adjacency,
    statement: str,
    published: PublishedGuarantee | None = None,
    notes: tuple[str, ...] = (),
) -> PrivacyResult:
    """Return the result of a mechanism whose ``guarantee`` is proved but not attained at every delta.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> unattained(PureDP(1), Adjacency.BY_SENSITIVITY, "classic.smooth_pure").attained is None
    True
    """
    return PrivacyResult(
        guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "the noisy answer",
        statement,
        published=published,
        notes=(*smooth_notes(adjacency), *notes),
    )


def smooth_bound(profile: Sequence[Number], smoothing: Number) -> Bound:
    """Return bounds on the smooth sensitivity: the maximum over t of exp(-smoothing t) profile[t].

    Smooth means that its log changes by at most ``smoothing`` between neighbours. Entry t of ``profile``
    bounds the local sensitivity on data sets that differ from the given one in at most t records (Nissim,
    Raskhodnikova and Smith, STOC 2007). A larger smoothing gives distant data sets less weight, so the smooth
    sensitivity is smaller, but the noise must be a larger multiple of it. The smoothing must not depend on
    the private data: choose it on public data, or on a profile that you expect. The last entry must also
    bound the local sensitivity at all larger distances.

    >>> smooth_bound([1, 2, 3], "0.5").upper
    1.213062

    Raises:
        ValueError: for an empty profile, a negative or a decreasing entry, or a negative smoothing.
    """
    values, beta = (
        [exact(value, "local sensitivity") for value in profile],
        at_least_zero(smoothing, "smoothing"),
    )
    if not values or values[0] < 0 or any(b < a for a, b in pairwise(values)):
        raise ValueError("profile must be a nonempty list of nondecreasing numbers of at least 0")
    with precision(128):
        rate = arb_of(beta)
        return bound_of(largest([(-rate * t).exp() * arb_of(value) for t, value in enumerate(values)]))
