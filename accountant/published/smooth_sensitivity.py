"""The conditions printed for noise scaled by a smooth bound on local sensitivity, solved for epsilon.

Variables: ``noise`` the scale of the noise over the smooth bound (1/alpha), ``beta`` the smoothing (of the
bound itself, not of its square), ``d`` the dimension, ``g`` the exponent of generalised Cauchy noise,
``w`` the spread of log-normal noise, ``delta`` the failure probability. Logarithms are natural. Each
condition is one formula: the printed alpha or beta, solved for epsilon. All conditions of a theorem must
hold, so that its epsilon is the largest of them.
"""

from __future__ import annotations

from typing import Any

from dpproof.accountant.published.expressions import Formula
from dpproof.accountant.published.formula import PublishedFormula
from dpproof.accountant.published.sources import Source

_DOMAIN = {
    "noise": "(0, inf)",
    "beta": "[0, inf)",
    "d": "[1, inf)",
    "g": "(1, inf)",
    "w": "(0, inf)",
    "delta": "(0, 1)",
}
_NRS = ("Nissim, Raskhodnikova and Smith, Smooth sensitivity and sampling in private data analysis", ", 2007")
_BS = ("arXiv:1906.02830", "v1")


def _entry(paper: tuple[str, str], identity: str, part: str, item: str, text: str) -> PublishedFormula:
    return PublishedFormula(
        f"{identity}.{part}", "epsilon", Formula(text), _DOMAIN, Source(*paper, item, identity)
    )


PUBLISHED = (
    _entry(
        _NRS, "classic.smooth_gaussian_published", "noise", "Gaussian noise", "5*sqrt(2*log(2/delta))/noise"
    ),
    _entry(
        _NRS, "classic.smooth_gaussian_published", "smoothing", "Gaussian noise", "4*beta*(d + log(2/delta))"
    ),
    _entry(_NRS, "classic.smooth_laplace_published", "noise", "Laplace noise", "2/noise"),
    _entry(_NRS, "classic.smooth_laplace_published", "smoothing", "Laplace noise", "2*beta*log(2/delta)"),
    _entry(_NRS, "classic.smooth_cauchy_published", "noise", "generalised Cauchy noise", "2*(g + 1)/noise"),
    _entry(
        _NRS, "classic.smooth_cauchy_published", "smoothing", "generalised Cauchy noise", "2*(g + 1)*beta"
    ),
    _entry(_BS, "classic.smooth_log_normal", "epsilon", "Proposition 3", "beta/w + exp(3*w**2/2)/noise"),
)


def conditions(identity: str, **values: Any) -> Any:
    """The largest epsilon that a theorem's conditions ask for, in Arb at the precision in force.

    >>> from flint import arb
    >>> conditions("classic.smooth_laplace_published", noise=arb(4), beta=arb(0), delta=arb(0.5))
    0.500000
    """
    printed = [entry for entry in PUBLISHED if entry.source.statement == identity]
    found = printed[0].formula.arb(**values)
    for entry in printed[1:]:
        found = found.max(entry.formula.arb(**values))
    return found
