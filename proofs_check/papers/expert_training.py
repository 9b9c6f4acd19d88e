""" "Preserving Expert-Level Privacy in Offline Reinforcement Learning": composition and training."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
