"""Formulas of the classical composition theorems and of the sparse vector, printed beside exact answers.

Variables: ``k`` mechanisms (or positive answers), each (``epsilon``, delta)-DP; ``slack`` the delta that is
spent on top; ``E`` a target epsilon; ``x``, ``y``, ``w`` sensitivity over the scale of
threshold, query and answer.
"""

from __future__ import annotations

from dpproof.accountant.published.expressions import Formula
from dpproof.accountant.published.formula import PublishedFormula
from dpproof.accountant.published.sources import Source

_DOMAIN = dict.fromkeys(("epsilon", "E", "x", "y", "w"), "(0, inf)") | {"k": "[1, inf)", "slack": "(0, 1)"}
_BOOK, _EDITION = "Dwork and Roth, The Algorithmic Foundations of Differential Privacy", " (2014)"


def _entry(identity: str, name: str, paper: tuple[str, str, str], text: str) -> PublishedFormula:
    return PublishedFormula(identity, name, Formula(text), _DOMAIN, Source(*paper, identity))


_ADVANCED = "sqrt(2*k*log(1/slack))*epsilon + k*epsilon*(exp(epsilon) - 1)"
_KOV = "(exp(epsilon) - 1)*epsilon*k/(exp(epsilon) + 1) + epsilon*sqrt(2*k*log(1/slack))"
_LYU = ("arXiv:1603.01699", "v4")

PUBLISHED = (
    _entry("classic.advanced", "epsilon", (_BOOK, _EDITION, "Theorem 3.20"), _ADVANCED),
    _entry(
        "classic.advanced_corollary",
        "epsilon",
        (_BOOK, _EDITION, "Corollary 3.21"),
        "E/(2*sqrt(2*k*log(1/slack)))",
    ),
    _entry("classic.kairouz_oh_viswanath_closed", "epsilon", ("arXiv:1311.0776", "v4", "Theorem 3.4"), _KOV),
    _entry("classic.sparse_vector_lyu", "epsilon", (*_LYU, "Theorem 4"), "x + 2*k*y + k*w"),
    _entry("classic.sparse_vector_monotone", "epsilon", (*_LYU, "Theorem 5"), "x + k*y + k*w"),
)
