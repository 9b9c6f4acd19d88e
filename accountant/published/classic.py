"""Formulas of the textbooks, printed beside the exact answers of the noise primitives.

Variables: ``s`` the sensitivity of everything released together, ``sigma`` and ``b`` the scale of the
noise, ``T`` the number of answers, ``delta`` the failure probability. Logarithms are natural.
"""

from __future__ import annotations

from dpproof.accountant.published.expressions import Formula
from dpproof.accountant.published.formula import PublishedFormula
from dpproof.accountant.published.sources import Source

_DOMAIN = dict.fromkeys(("s", "sigma", "b"), "(0, inf)") | {"T": "[1, inf)", "delta": "(0, 1)"}
_BOOK, _EDITION = "Dwork and Roth, The Algorithmic Foundations of Differential Privacy", " (2014)"


def _entry(identity: str, item: str, text: str) -> PublishedFormula:
    source = Source(_BOOK, _EDITION, item, identity)
    return PublishedFormula(identity, "epsilon", Formula(text), _DOMAIN, source)


PUBLISHED = (
    _entry("classic.gaussian_classical", "Theorem A.1", "s*sqrt(2*log(5/(4*delta)))/sigma"),
    _entry("classic.laplace_basic", "Theorems 3.6 and 3.14", "T*s/b"),
)
