"""Preserving expert-level privacy in offline reinforcement learning: composition and training."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
