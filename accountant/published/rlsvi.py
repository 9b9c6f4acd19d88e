"""The formulas of "Randomized Least Squares Value Iteration itself is Joint Differentially Private".

Variables: S states, A actions, H steps per episode, K episodes, k the current episode, N the visits of a
    state and action, ``alpha`` the Renyi order, ``delta`` the failure probability. Logarithms are natural.
"""

from __future__ import annotations

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "arXiv:2606.01952", "v1"
_SIZES = dict.fromkeys(("S", "A", "H", "K", "k", "N"), "[1, inf)")
_DOMAIN = {**_SIZES, "alpha": "(1, inf)", "delta": "(0, 1)"}


def _entry(formula: str, statement: str | None, item: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, item, statement))


PUBLISHED = (
    _entry("rlsvi.algorithm1", None, "Algorithm 1", "beta_k", "S*H**3*log(2*H*S*A*k)/2"),
    _entry(
        "rlsvi.lemma11.cell",
        "rlsvi.lemma11",
        "Lemma 11 (proof)",
        "D_alpha",
        "alpha*(N + 1)/(S*H**3*log(2*H*S*A*k)*N**2)",
    ),
    _entry("rlsvi.lemma11", "rlsvi.lemma11", "Lemma 11", "epsilon", "2*alpha*A/(H**3*log(2*H*S*A))"),
    _entry("rlsvi.lemma12", "rlsvi.lemma12", "Lemma 12", "epsilon", "2*alpha*A*K/(H**2*log(2*H*S*A))"),
    _entry(
        "rlsvi.theorem13",
        "rlsvi.theorem13",
        "Theorem 13",
        "epsilon",
        "2*alpha*A*K/(H**2*log(2*H*S*A)) + log(1/delta)/(alpha - 1)",
    ),
    _entry(
        "rlsvi.corollary14",
        "rlsvi.corollary14",
        "Corollary 14",
        "epsilon",
        "2*A*K/(H**2*log(2*H*S*A)) + 2*sqrt(2*A*K*log(1/delta)/(H**2*log(2*H*S*A)))",
    ),
    _entry(
        "rlsvi.corollary14.order",
        "rlsvi.corollary14",
        "Corollary 14 (proof)",
        "alpha",
        "H*sqrt(log(2*H*S*A)*log(1/delta)/(2*A*K)) + 1",
    ),
    _entry("rlsvi.rho", "rlsvi.lemma12", "Lemma 12", "rho", "2*A*K/(H**2*log(2*H*S*A))"),
)
