"""Gaussian noise scaled by a smooth bound: its exact guarantee, in any dimension, and its accountant.

Among all pairs of outputs that neighbours can have, the worst one has the largest shift of the mean. Its
noise scales are equal, or differ by the full factor exp(beta) in one of the two directions. The reason is
that the hockey-stick divergence, as a function of the ratio, first falls and then rises in each direction
(docs/notes/smooth_sensitivity.md). So three evaluations suffice; the two extreme ratios alone do not.

Source: this project's statement classic.smooth_gaussian. The literature's conditions: Nissim, Raskhodnikova
and Smith (STOC 2007); Balle, Gomrokchi and Precup (arXiv:1603.02010), whose beta is that of the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.guarantees.notions import RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down
from dpproof.accountant.published.classic import conditions
from dpproof.accountant.smooth_sensitivity.notion import SmoothNoise, largest, smooth_notes
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta

_DIMENSIONS = Integers(1, 1_000_000)


@dataclass(frozen=True)
class SmoothGaussian(SmoothNoise):
    """The guarantee of Gaussian noise scaled by a smooth bound S on the L2 local sensitivity.

    The release is f(x) + noise S(x) N(0, I) in ``dimension`` dimensions. log S changes by at most
    ``smoothing`` between neighbours.

    >>> SmoothGaussian(noise=10, smoothing="0.01", dimension=40).delta(1).upper
    1.006830e-09
    >>> SmoothGaussian(noise=10, smoothing="0.01", dimension=1000).epsilon("1e-30").upper
    6.182733

    Raises:
        ValueError: for ``noise`` not above 0, ``smoothing`` below 0, or no ``dimension`` from 1 to 10^6.

    Source: this project's statement classic.smooth_gaussian.
    """

    dimension: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _DIMENSIONS.admits(self.dimension):
            raise ValueError(f"dimension ({self.dimension!r}) must be {_DIMENSIONS}")

    def profile(self, epsilon: Fraction) -> flint.arb:
        """See ``SmoothNoise.profile``. The worst noise scales are equal or differ by the full factor exp(smoothing)."""
        ratios = self.log_ratios
        return largest([spherical_delta(self.shift, ratio, self.dimension, epsilon) for ratio in ratios])

    def renyi(self) -> RenyiDP:
        """Return the exact Renyi DP guarantee, for composition.

        It is finite at orders below 1 + 1/(exp(2 smoothing) - 1). At every order above 1 the worst pair has
        the wider Gaussian first, and scales that differ by the full factor exp(smoothing).

        >>> SmoothGaussian(noise=10, smoothing="0.01", dimension=40).renyi().epsilon("1e-6").upper
        0.780879

        Source: this project's statement classic.smooth_gaussian_renyi.
        """
        shift, rate = self.shift, 2 * exact(self.smoothing, "smoothing")

        def curve(order: flint.arb) -> flint.arb:
            z, spread = order - 1, 1 - arb_of(rate).expm1() * (order - 1)
            means = arb_of(shift) ** 2 * order / (2 * spread)
            slope = -arb_of(rate).expm1() if z == 0 else spread.log() / z  # at order 1 its limit
            return means - (arb_of(rate) + slope) * self.dimension / 2

        if rate == 0:
            return RenyiDP(curve)
        with precision(192):
            last = 1 + 1 / arb_of(rate).expm1()
            return RenyiDP(curve, Orders(below=exact(round_down(last))))


@dataclass(frozen=True)
class SmoothGaussianParameters(Parameters):
    """Parameters of Gaussian noise scaled by a smooth bound on the L2 local sensitivity.

    >>> SmoothGaussianParameters(noise=0.0, smoothing=0.1)
    Traceback (most recent call last):
    ValueError: noise (0.0) must be a number above 0
    """

    noise: float = parameter(
        Reals(0, lower_open=True),
        "1",
        "standard deviation of the noise over the smooth bound (1/alpha)",
        safer=1,
    )
    smoothing: float = parameter(
        Reals(0), "1", "beta: the bound changes by a factor of at most exp(beta)", safer=-1
    )
    dimension: int = parameter(_DIMENSIONS, "coordinates", "dimension of the answer", 1)


def account(
    parameters: SmoothGaussianParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact worst-case guarantee over all answers and all smooth bounds on their local sensitivity.

    >>> found = account(SmoothGaussianParameters(30.0, 0.005, 40))
    >>> found.guarantee.epsilon("1e-6").upper
    0.277043
    """
    found = SmoothGaussian(parameters.noise, parameters.smoothing, parameters.dimension)
    printed, notes = _published(parameters, found), smooth_notes(adjacency)
    return by_sensitivity(found, adjacency, "classic.smooth_gaussian", _PAIR, printed, notes)


_PAIR = "answers apart by the smaller smooth bound; bounds equal, or the full factor exp(beta) apart"


def _published(parameters: SmoothGaussianParameters, found: SmoothGaussian) -> PublishedGuarantee:
    """The smallest epsilon whose published conditions on alpha and beta both allow this noise and smoothing."""

    def epsilon(failure: Fraction) -> Bound:
        with precision(192):
            value = conditions(
                "classic.smooth_gaussian_published",
                noise=arb_of(exact(parameters.noise)),
                beta=arb_of(exact(parameters.smoothing)),
                delta=arb_of(failure),
                d=flint.arb(parameters.dimension),
            )
            return bound_of(value) if value < 1 else exactly(math.inf)

    return PublishedGuarantee(
        "classic.smooth_gaussian_published", at_positive_delta(epsilon), found, "classic.smooth_gaussian"
    )


ACCOUNTANT = Accountant(
    "smooth-gaussian",
    "Gaussian noise scaled by a smooth bound on local sensitivity",
    SmoothGaussianParameters,
    account,
    "noise",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SmoothGaussianParameters(noise=10.0, smoothing=0.01),
)
