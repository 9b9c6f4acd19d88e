""" "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy": the privatizer."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
