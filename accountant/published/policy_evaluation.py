"""The formulas of "Differentially Private Policy Evaluation".

Variables: ``d`` is the number of features, ``epsilon`` and ``delta`` are the privacy parameters. ``s``
converts the unit of sqrt(psi) to that of the released parameters: it is the bound on a return times an
operator norm. ``x`` is the smooth bound psi on the squared sensitivity. ``alpha`` and ``beta`` are those of
the paper's Lemma 1: alpha scales the noise, and beta smooths the variance. Logarithms are natural.
"""

from __future__ import annotations

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "arXiv:1603.02010", "v1"
_DOMAIN = {
    "epsilon": "(0, inf)",
    "delta": "(0, 1)",
    "d": "[1, inf)",
    "s": "[0, inf)",
    "x": "[0, inf)",
    "alpha": "(0, inf)",
    "beta": "(0, inf)",
}


def _entry(formula: str, statement: str, item: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, item, statement))


_ALPHA = "5*sqrt(2*log(2/delta))/epsilon"

PUBLISHED = (
    _entry("eval.lemma1.alpha", "eval.lemma1", "Lemma 1", "alpha", _ALPHA),
    _entry("eval.lemma1.beta", "eval.lemma1", "Lemma 1", "beta", "epsilon/(4*d + 4*log(2/delta))"),
    _entry(
        "eval.lemma1.epsilon_shift",
        "eval.lemma1",
        "Lemma 1 (a), solved for epsilon",
        "epsilon",
        "5*sqrt(2*log(2/delta))/alpha",
    ),
    _entry(
        "eval.lemma1.epsilon_ratio",
        "eval.lemma1",
        "Lemma 1 (b), solved for epsilon",
        "epsilon",
        "beta*(4*d + 4*log(2/delta))",
    ),
    _entry("eval.lemma14.alpha", "eval.lemma14", "Lemma 14", "alpha", "15*sqrt(2*log(4/delta))/epsilon"),
    _entry(
        "eval.lemma14.beta",
        "eval.lemma14",
        "Lemma 14",
        "beta",
        "2*log(2)*epsilon/(5*(sqrt(d) + sqrt(2*log(4/delta)))**2)",
    ),
    _entry("eval.theorem6.sigma", "eval.theorem6", "Algorithm 1", "sigma_X", f"{_ALPHA}*s*sqrt(x)"),
    _entry("eval.theorem10.sigma", "eval.theorem10", "Algorithm 2", "sigma_X", f"{_ALPHA}*2*s*sqrt(x)"),
)
