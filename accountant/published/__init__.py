"""Published formulas, each written once as data and looked up by statement id."""

from __future__ import annotations

import importlib

from dpproof.accountant.published.formula import PublishedFormula

__all__ = ["PublishedFormula", "published", "published_ids"]

_PAPERS = (
    "rlsvi",
    "classics",
    "composition",
    "counting",
    "smooth_sensitivity",
    "sdp_pe",
    "private_ucb",
    "policy_evaluation",
    "expert",
)


def _all() -> dict[str, PublishedFormula]:
    modules = (importlib.import_module(f"dpproof.accountant.published.{paper}") for paper in _PAPERS)
    return {entry.id: entry for module in modules for entry in module.PUBLISHED}


def published(statement: str) -> PublishedFormula:
    """The formula printed in the statement with this id.

    >>> published("rlsvi.corollary14").source.item
    'Corollary 14'

    Raises:
        KeyError: if no formula of that id is known.
    """
    return _all()[statement]


def published_ids() -> tuple[str, ...]:
    """The ids of all published formulas, in the papers' order."""
    return tuple(_all())
