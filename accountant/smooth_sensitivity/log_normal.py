"""Laplace-log-normal noise scaled by a smooth bound: concentrated privacy, and its accountant.

The noise is X exp(spread Y), where X has density exp(-|x|)/2 and Y is standard normal. Its tails are lighter
than any power and heavier than any exponential. A change of the noise's scale shifts Y. A shift of the noise
changes its log-density by at most exp(3 spread^2/2) times the shift. So the release is rho-zCDP,

    rho = (smoothing/spread + exp(3 spread^2/2)/noise)^2 / 2.

Source: Bun and Steinke, arXiv:1906.02830v1, Proposition 3; proved again in
docs/notes/smooth_sensitivity.md, this project's statement classic.smooth_log_normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ZCDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, precision
from dpproof.accountant.published.classic import conditions
from dpproof.accountant.smooth_sensitivity.notion import positive, unattained


def log_normal_rho(noise: Number, smoothing: Number, spread: Number) -> Bound:
    """Return the zCDP parameter rho of Laplace-log-normal noise scaled by a smooth bound on local sensitivity.

    The log of the bound changes by at most ``smoothing`` between neighbours. The noise is ``noise`` times the
    bound times X exp(``spread`` Y), where X has density exp(-|x|)/2 and Y is standard normal.

    >>> log_normal_rho(10, "0.02", "0.5").upper
    0.017205

    Raises:
        ValueError: for ``noise`` or ``spread`` not above 0, ``smoothing`` below 0, or a rho beyond the
            largest double.

    Source: this project's statement classic.smooth_log_normal.
    """
    scales = {"noise": positive(noise, "noise"), "w": positive(spread, "spread")}
    beta = at_least_zero(smoothing, "smoothing")
    with precision(192):
        values = {name: arb_of(value) for name, value in scales.items()}
        epsilon = conditions("classic.smooth_log_normal", beta=arb_of(beta), **values)
        rho = bound_of(epsilon**2 / 2)
    if math.isinf(rho.upper):
        given = f"spread ({spread!r}), noise ({noise!r}) and smoothing ({smoothing!r})"
        raise ValueError(f"{given} are too extreme, because rho is beyond double precision")
    return rho


@dataclass(frozen=True)
class SmoothLogNormalParameters(Parameters):
    """Parameters of Laplace-log-normal noise scaled by a smooth bound on local sensitivity, for one real answer."""

    noise: float = parameter(
        Reals(0, lower_open=True), "1", "scale of the noise over the smooth bound", safer=1
    )
    smoothing: float = parameter(
        Reals(0), "1", "beta: the bound changes by a factor of at most exp(beta)", safer=-1
    )
    spread: float = parameter(
        Reals(0, lower_open=True), "1", "standard deviation of the log of the noise's scale"
    )


def account(
    parameters: SmoothLogNormalParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee, which is zCDP with the proved rho.

    >>> account(SmoothLogNormalParameters(10.0, 0.02, 0.5)).guarantee.epsilon("1e-6").upper
    0.830370
    """
    found = ZCDP(log_normal_rho(parameters.noise, parameters.smoothing, parameters.spread))
    return unattained(found, adjacency, "classic.smooth_log_normal")


ACCOUNTANT = Accountant(
    "smooth-log-normal",
    "Laplace-log-normal noise scaled by a smooth bound on local sensitivity",
    SmoothLogNormalParameters,
    account,
    "noise",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SmoothLogNormalParameters(noise=10.0, smoothing=0.01, spread=1.0),
)
