"""The formulas of "Differentially Private Regret Minimization in Episodic Markov Decision Processes".

Variables: S states, A actions, H steps per episode, K episodes. ``epsilon`` is the privacy parameter and
``delta`` the confidence parameter. b is the scale of the noise. The precision levels ``E1`` and ``E2`` are
bounds on the errors of noisy counts. n = max(1, N + E1) for a noisy count N of visits. Logarithms are
natural, because the paper names no base. Formulas whose names end in ``.binary`` use log K to base 2.
"""

from __future__ import annotations

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "arXiv:2112.10599", "v1"
_DOMAIN = {
    **dict.fromkeys(("S", "A", "H", "K"), "[1, inf)"),
    "epsilon": "(0, inf)",
    "delta": "(0, 1]",
    "b": "(0, inf)",
    "E1": "[0, inf)",
    "E2": "[0, inf)",
    "n": "[1, inf)",
}


def _entry(formula: str, statement: str, item: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, item, statement))


_CENTRAL, _LOCAL = "3*H/epsilon*sqrt(8*log(K)**3*log({}))", "3*H/epsilon*sqrt(8*K*log({}))"
_CELLS, _TRIPLES = "6*S*A*K*H/delta", "6*S**2*A*K*H/delta"
_LC, _LP = "sqrt(2*log(4*S*A*K*H/delta))", "sqrt(4*S*log(6*S*A*K*H/delta))"

PUBLISHED = (
    _entry("ucb.lemma5_1.scale", "ucb.lemma5_1.privacy", "Lemma 5.1", "b", "3*H*log(K)/epsilon"),
    _entry("ucb.lemma5_1.E1", "ucb.lemma5_1.utility", "Lemma 5.1", "E_1", _CENTRAL.format(_CELLS)),
    _entry("ucb.lemma5_1.E2", "ucb.lemma5_1.utility", "Lemma 5.1", "E_2", _CENTRAL.format(_TRIPLES)),
    _entry("ucb.lemma5_4.scale", "ucb.lemma5_4.privacy", "Lemma 5.4", "b", "3*H/epsilon"),
    _entry("ucb.lemma5_4.E1", "ucb.lemma5_4.utility", "Lemma 5.4", "E_1", _LOCAL.format(_CELLS)),
    _entry("ucb.lemma5_4.E2", "ucb.lemma5_4.utility", "Lemma 5.4", "E_2", _LOCAL.format(_TRIPLES)),
    _entry(
        "ucb.lemma5_1.scale.binary", "ucb.lemma5_1.privacy", "Lemma 5.1", "b", "3*H*(log(K)/log(2))/epsilon"
    ),
    _entry("ucb.lemma5_1.epsilon", "ucb.lemma5_1.privacy", "Lemma 5.1", "epsilon", "3*H*log(K)/b"),
    _entry(
        "ucb.lemma5_1.epsilon.binary", "ucb.lemma5_1.privacy", "Lemma 5.1", "epsilon", "3*H*(log(K)/log(2))/b"
    ),
    _entry("ucb.lemma5_4.epsilon", "ucb.lemma5_4.privacy", "Lemma 5.4", "epsilon", "3*H/b"),
    _entry("ucb.L_c", "ucb.lemma3_1", "Lemma 3.1", "L_c", _LC),
    _entry("ucb.L_p", "ucb.lemma3_1", "Lemma 3.1", "L_p", _LP),
    _entry("ucb.beta_c", "ucb.lemma3_1", "Lemma 3.1", "beta_c", f"{_LC}/sqrt(n) + 3*E1/n"),
    _entry("ucb.beta_p", "ucb.lemma3_1", "Lemma 3.1", "beta_p", f"{_LP}/sqrt(n) + (S*E2 + 2*E1)/n"),
    _entry("ucb.beta_pv", "ucb.lemma4_1", "Lemma 4.1", "beta_pv", f"H*{_LC}/sqrt(n) + H*(S*E2 + 2*E1)/n"),
    _entry("ucb.eta", "ucb.theorem3_2", "Theorem 3.2", "eta", "sqrt(2*log(A)/(H**2*K))"),
)
