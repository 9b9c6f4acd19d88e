"""Formulas printed in papers. Each is written once as data, and looked up by its name (id)."""

from __future__ import annotations

import importlib
import pkgutil

from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.published.formula import PublishedFormula

__all__ = ["PublishedFormula", "published", "published_ids"]


@cache
def _all() -> dict[str, PublishedFormula]:
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {entry.id: entry for module in modules for entry in getattr(module, "PUBLISHED", ())}


def published(statement: str) -> PublishedFormula:
    """Return the published formula with this name (id).

    >>> published("rlsvi.corollary14").source.item
    'Corollary 14'

    Raises:
        KeyError: if no formula has this name.
    """
    return _all()[statement]


def published_ids() -> tuple[str, ...]:
    """Return the names (ids) of all published formulas, ordered by module."""
    return tuple(_all())
