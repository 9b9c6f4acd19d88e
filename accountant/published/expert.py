"""The formulas of "Preserving Expert-Level Privacy in Offline Reinforcement Learning".

Variables: E and delta are the budget of the release (the paper's epsilon_1 and delta_1). epsilon and beta are
    the budget of one trajectory (epsilon' and delta' in the paper). There are T trajectories of length L. x
    is the smallest probability of an action. Only in the formula of the sampling rate, x is the probability
    of a noisy step. There are m experts and batches of b experts.
"""

from __future__ import annotations

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

PAPER, VERSION = "arXiv:2411.13598", "v1"
_OPEN = "(0, inf)"
_RELEASE = {"E": _OPEN, "delta": "(0, 1)", "T": "[1, inf)", "L": "[1, inf)"}
_COUNT = {"epsilon": _OPEN, "x": "(0, 1)"}
_NOISE = {"epsilon": _OPEN, "beta": "(0, 1)"}
_BATCH = {"x": "[0, 1]", "b": "[1, inf)", "m": "[1, inf)"}
_LINES, _TEST = "Algorithm 2, lines 2-3", "expert.lemma5_2"


def _entry(
    formula: str, name: str, text: str, domain: dict[str, str], item: str, statement: str
) -> PublishedFormula:
    return PublishedFormula(formula, name, Formula(text), domain, Source(PAPER, VERSION, item, statement))


PUBLISHED = (
    _entry("expert.each_epsilon", "epsilon'", "E/sqrt(32*T*log(2/delta))", _RELEASE, _LINES, "expert.theorem5_5"),
    _entry("expert.each_delta", "delta'", "delta/(2*T*L)", _RELEASE, _LINES, "expert.theorem5_3"),
    _entry("expert.least_count", "c_min", "exp(epsilon)/(exp(epsilon) - 1)", _COUNT, _LINES, "expert.lemma5_1"),
    _entry("expert.threshold", "theta", "exp(epsilon)/(exp(epsilon) - 1)/x", _COUNT, _LINES, _TEST),
    _entry("expert.margin", "margin", "4/epsilon*log(1/beta)", _NOISE, "Algorithm 2, line 7", _TEST),
    _entry("expert.rate", "q", "x*b/m", _BATCH, "Section 4 and Appendix B.2", "expert.amplification"),
)  # fmt: skip
