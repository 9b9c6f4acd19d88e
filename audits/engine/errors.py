"""Errors before an audit begins; a module of its own, so that importing it loads nothing heavy."""

from __future__ import annotations


class NoAuditError(ValueError):
    """Raised where nothing here makes hard neighbouring inputs for a mechanism under an adjacency."""


class LoadError(ValueError):
    """Raised for a name that cannot be imported, or is not there."""
