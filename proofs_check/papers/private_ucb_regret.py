"""Regret in "Differentially Private Regret Minimization in Episodic MDPs"."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
