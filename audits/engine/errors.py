"""Errors that are raised before an audit begins, in a module that loads nothing heavy."""

from __future__ import annotations


class NoAuditError(ValueError):
    """Raised if dpproof has no hard neighbouring inputs for a mechanism under a relation."""


class LoadError(ValueError):
    """Raised for a name that cannot be imported or does not exist."""
