"""Statements of "Differentially Private Regret Minimization in Episodic MDPs", confidence and regret."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
