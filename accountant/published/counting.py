"""Formulas printed about continual counting by the binary mechanism.

Variables: L levels of the tree, m terms of a sum, b the scale of Laplace noise, ``beta`` the probability of
failure, ``epsilon`` the privacy parameter. Logarithms are natural.
"""

from __future__ import annotations

from dpproof.accountant.published.expressions import Formula
from dpproof.accountant.published.formula import PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "Chan, Shi and Song, Private and continual release of statistics", " (2011)"
_DOMAIN = {
    "L": "[1, inf)",
    "m": "[1, inf)",
    "b": "(0, inf)",
    "beta": "(0, 1)",
    "epsilon": "(0, inf)",
}


def _entry(identity: str, item: str, name: str, text: str) -> PublishedFormula:
    source = Source(PAPER, VERSION, item, "classic.laplace_sum_tail")
    return PublishedFormula(identity, name, Formula(text), _DOMAIN, source)


PUBLISHED = (
    _entry("classic.laplace_sum_tail", "Lemma 2.8", "error", "b*sqrt(8*m*log(2/beta))"),
    _entry("classic.laplace_sum_tail.terms", "Lemma 2.8 (hypothesis)", "m", "log(2/beta)"),
    _entry(
        "classic.binary_mechanism_error",
        "Theorem 3.6, with the constants of Lemma 2.8",
        "error",
        "L/epsilon*sqrt(8*L*log(2/beta))",
    ),
)
