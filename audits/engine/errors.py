"""Errors that are raised before an audit begins. This module imports no large package."""

from __future__ import annotations


class NoAuditError(ValueError):
    """Raised if dpproof has no neighbouring inputs on which to audit a mechanism under a relation."""


class LoadError(ValueError):
    """Raised when an object is requested by a name that does not exist or cannot be imported."""
