"""Laplace noise scaled by a smooth bound: its exact guarantee for one real answer, and its accountant.

The hockey-stick divergence of two Laplace distributions of different scales has a closed form. As for the
Gaussian, it first falls and then rises with the ratio of scales in each direction, so three evaluations
suffice (docs/notes/smooth_sensitivity.md). With smoothing above 0 the loss is unbounded, so there is no pure
privacy.

Source: this project's statement classic.smooth_laplace. The literature's conditions: Nissim, Raskhodnikova
and Smith (STOC 2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.published.classic import conditions
from dpproof.accountant.smooth_sensitivity.notion import SmoothNoise, largest, smooth_notes


def laplace_delta(shift: Fraction, log_ratio: Fraction, epsilon: Fraction) -> flint.arb:
    """Return an enclosure of the hockey-stick divergence of two Laplace distributions P and Q.

    It is the largest P(A) - e^epsilon Q(A) over all events A, at the current working precision. ``log_ratio``
    is the log of P's scale over Q's. ``shift`` is the distance between their centres in units of the smaller
    scale.

    >>> from dpproof.accountant.numbers.enclosures import precision, round_up
    >>> with precision(128): round_up(laplace_delta(Fraction(1), Fraction(1, 10), Fraction(1, 2)))
    0.212396

    Args:
        shift: at least 0.
        log_ratio: any rational.
        epsilon: at least 0.

    Source: this project's statement classic.smooth_laplace.
    """
    if log_ratio == 0:
        return -(arb_of(epsilon - shift) / 2).expm1() if epsilon < shift else flint.arb(0)
    return (_wide if log_ratio > 0 else _narrow)(shift, abs(log_ratio), epsilon)


def _wide(shift: Fraction, log_ratio: Fraction, epsilon: Fraction) -> flint.arb:
    """Return the value if P is the wider one: the loss exceeds epsilon far out on both sides."""
    s = arb_of(log_ratio)
    excess, inner = s.expm1(), shift - log_ratio - epsilon
    gap = -(-s).expm1() / 2  # (1 - 1/r)/2
    beyond = gap * (-arb_of(shift + log_ratio + epsilon) / excess).exp()
    if inner <= 0:  # the near end lies beyond P's centre
        return beyond + gap * (arb_of(inner) / excess).exp()
    return beyond + 1 - (1 - gap) * (-arb_of(inner) / (s.exp() + 1)).exp()


def _narrow(shift: Fraction, log_ratio: Fraction, epsilon: Fraction) -> flint.arb:
    """Return the value if P is the narrower one: the loss exceeds epsilon near P's centre or nowhere."""
    s, a = arb_of(log_ratio), arb_of(shift)
    r, excess = s.exp(), s.expm1()
    peak = a + r * arb_of(log_ratio - epsilon)  # r times the largest loss above epsilon
    if peak <= 0:
        return flint.arb(0)
    if not peak > 0:
        return flint.arb(0).union(flint.arb(1))
    far = (-peak / excess).exp() * excess / 2
    if log_ratio - epsilon <= shift:  # the interval ends before Q's centre
        return 1 - (-peak / (r + 1)).exp() * (1 + r) / 2 + far
    beyond = (-(peak - 2 * a) / excess).exp() * excess / 2
    return -arb_of(epsilon).expm1() + far + beyond


@dataclass(frozen=True)
class SmoothLaplace(SmoothNoise):
    """The guarantee of Laplace noise scaled by a smooth bound S on the local sensitivity of one real answer.

    The release is f(x) + noise S(x) Z, where Z has density exp(-|z|)/2. log S changes by at most
    ``smoothing`` between neighbours.

    >>> SmoothLaplace(noise=2, smoothing="0.02").epsilon("1e-6").upper
    0.665860

    Raises:
        ValueError: for ``noise`` not above 0, or ``smoothing`` below 0.

    Source: this project's statement classic.smooth_laplace.
    """

    def profile(self, epsilon: Fraction) -> flint.arb:
        """See ``SmoothNoise.profile``. The worst noise scales are equal or differ by the full factor exp(smoothing)."""
        return largest([laplace_delta(self.shift, ratio, epsilon) for ratio in self.log_ratios])

    def pure(self) -> Bound:
        """See ``SmoothNoise.pure``. It is 1/noise if the smoothing is 0, and infinite otherwise."""
        if exact(self.smoothing):
            return exactly(math.inf)
        with precision(128):
            return bound_of(arb_of(self.shift))


@dataclass(frozen=True)
class SmoothLaplaceParameters(Parameters):
    """Parameters of Laplace noise scaled by a smooth bound on the local sensitivity of one real answer."""

    noise: float = parameter(
        Reals(0, lower_open=True), "1", "scale of the noise over the smooth bound (1/alpha)", safer=1
    )
    smoothing: float = parameter(
        Reals(0), "1", "beta: the bound changes by a factor of at most exp(beta)", safer=-1
    )


def account(
    parameters: SmoothLaplaceParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact worst-case guarantee over all answers and all smooth bounds on their local sensitivity.

    >>> account(SmoothLaplaceParameters(4.0, 0.02)).published.epsilon("1e-6").upper
    0.580347
    """
    found = SmoothLaplace(parameters.noise, parameters.smoothing)
    printed, notes = _published(parameters, found), smooth_notes(adjacency)
    return by_sensitivity(found, adjacency, "classic.smooth_laplace", _PAIR, printed, notes)


_PAIR = "answers apart by the smaller smooth bound; bounds equal, or the full factor exp(beta) apart"


def _published(parameters: SmoothLaplaceParameters, found: SmoothLaplace) -> PublishedGuarantee:
    def epsilon(failure: Fraction) -> Bound:
        with precision(192):
            scales = {"noise": parameters.noise, "beta": parameters.smoothing}
            values = {name: arb_of(exact(value)) for name, value in scales.items()}
            value = conditions("classic.smooth_laplace_published", **values, delta=arb_of(failure))
            return bound_of(value) if value < 1 else exactly(math.inf)

    return PublishedGuarantee(
        "classic.smooth_laplace_published", at_positive_delta(epsilon), found, "classic.smooth_laplace"
    )


ACCOUNTANT = Accountant(
    "smooth-laplace",
    "Laplace noise scaled by a smooth bound on local sensitivity",
    SmoothLaplaceParameters,
    account,
    "noise",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SmoothLaplaceParameters(noise=10.0, smoothing=0.01),
)
