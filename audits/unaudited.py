"""The error for what nothing here audits; a module of its own, so that importing it loads nothing heavy."""

from __future__ import annotations

__all__ = ["NoAuditError"]


class NoAuditError(ValueError):
    """Raised where nothing here makes hard neighbouring inputs for a mechanism under an adjacency."""
