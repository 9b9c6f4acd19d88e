"""The formulas of "Differentially Private Regret Minimization in Episodic Markov Decision Processes".

Variables: S states, A actions, H steps an episode, K episodes, ``epsilon`` the privacy and ``delta`` the
confidence parameter. Logarithms are natural: the paper fixes no base.
"""

from __future__ import annotations

from accountant.expressions import Formula
from accountant.published.formula import PublishedFormula
from accountant.sources import Source

__all__ = ["PAPER", "PUBLISHED", "VERSION"]

PAPER, VERSION = (
    "Chowdhury and Zhou, Differentially private regret minimization in episodic MDPs",
    " (AAAI 2022)",
)
_DOMAIN = {
    **dict.fromkeys(("S", "A", "H", "K"), "[1, inf)"),
    "epsilon": "(0, inf)",
    "delta": "(0, 1]",
}


def _entry(formula: str, statement: str, item: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, item, statement))


_CENTRAL, _LOCAL = "3*H/epsilon*sqrt(8*log(K)**3*log({}))", "3*H/epsilon*sqrt(8*K*log({}))"
_CELLS, _TRIPLES = "6*S*A*K*H/delta", "6*S**2*A*K*H/delta"

PUBLISHED = (
    _entry("ucb.lemma5_1.scale", "ucb.lemma5_1.privacy", "Lemma 5.1", "b", "3*H*log(K)/epsilon"),
    _entry("ucb.lemma5_1.E1", "ucb.lemma5_1.utility", "Lemma 5.1", "E_1", _CENTRAL.format(_CELLS)),
    _entry("ucb.lemma5_1.E2", "ucb.lemma5_1.utility", "Lemma 5.1", "E_2", _CENTRAL.format(_TRIPLES)),
    _entry("ucb.lemma5_4.scale", "ucb.lemma5_4.privacy", "Lemma 5.4", "b", "3*H/epsilon"),
    _entry("ucb.lemma5_4.E1", "ucb.lemma5_4.utility", "Lemma 5.4", "E_1", _LOCAL.format(_CELLS)),
    _entry("ucb.lemma5_4.E2", "ucb.lemma5_4.utility", "Lemma 5.4", "E_2", _LOCAL.format(_TRIPLES)),
    _entry("ucb.eta", "ucb.theorem3_2", "Theorem 3.2", "eta", "sqrt(2*log(A)/(H**2*K))"),
)
