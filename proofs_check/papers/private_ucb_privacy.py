"""Statements of "Differentially Private Regret Minimization in Episodic MDPs", privacy."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
