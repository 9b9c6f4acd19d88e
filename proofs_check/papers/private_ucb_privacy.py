""" "Differentially Private Regret Minimization in Episodic Markov Decision Processes": its privacy statements."""

from __future__ import annotations

from proofs_check.statement import Statement

__all__ = ["STATEMENTS"]

STATEMENTS: tuple[Statement, ...] = ()
