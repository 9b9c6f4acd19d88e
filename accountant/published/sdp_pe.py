"""The formulas of "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy" (SDP-PE).

Variables: tau threshold, epsilon and beta the privacy of one counter (the paper's primed ones), n users.
"""

from __future__ import annotations

from accountant.expressions import Formula
from accountant.published.formula import PublishedFormula
from accountant.sources import Source

__all__ = ["PAPER", "PUBLISHED", "VERSION"]

PAPER, VERSION = "SDP-PE (Bai, Talebi, Zhao, Cheng and Chen)", " (2026)"
_DOMAIN = {"tau": "(0, inf)", "epsilon": "(0, 1)", "beta": "(0, 1)"}
_STATEMENT, _ITEM = "sdp.lemma10.privacy.sum", "Lemma 10 (proof, step 1)"


def _entry(formula: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, _ITEM, _STATEMENT))


PUBLISHED = (
    _entry("sdp.threshold", "tau", "96*log(2/beta)/epsilon**2"),
    _entry("sdp.counter_epsilon", "epsilon", "sqrt(96*log(2/beta)/tau)"),
)
