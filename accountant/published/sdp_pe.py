"""The formulas of "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy" (SDP-PE).

Variables: tau is the threshold, and n is the number of users. In the formulas of one counter, epsilon and
beta are the privacy parameters of this counter (primed in the paper). In the formulas of a whole release,
epsilon and beta are those of all counters together, and there are H steps, X states and A actions.
"""

from __future__ import annotations

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "arXiv:2411.11647", "v3"
_DOMAIN = {"tau": "(0, inf)", "epsilon": "(0, 1)", "beta": "(0, 1)"}
_STATEMENT, _ITEM = "sdp.lemma10.privacy.sum", "Lemma 10 (proof, step 1)"


def _entry(formula: str, name: str, text: str) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), _DOMAIN, Source(PAPER, VERSION, _ITEM, _STATEMENT))


PUBLISHED = (
    _entry("sdp.threshold", "tau", "96*log(2/beta)/epsilon**2"),
    _entry("sdp.counter_epsilon", "epsilon", "sqrt(96*log(2/beta)/tau)"),
    PublishedFormula(
        "sdp.release_epsilon",
        "epsilon",
        Formula("3*H*sqrt(96*log(2*H*X*A/beta)/tau)"),
        {"tau": "(0, inf)", "beta": "(0, 1)"} | dict.fromkeys("HXA", "[1, inf)"),
        Source(PAPER, VERSION, "Lemma 10 (proof, steps 1 and 2)", "sdp.lemma10.privacy"),
    ),
)
