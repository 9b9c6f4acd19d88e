"""Statements about composition: the classical theorems, their domains, the optimum, and filters."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.statement import Obligation, Statement, formula, make_goal

_BOOK, _EDITION = "Dwork and Roth, The Algorithmic Foundations of Differential Privacy", " (2014)"
_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"
_PARTS = {"E": "(0, 1]", "k": "[1, inf)", "slack": "(0, 7/10]"}
_EACH = formula("classic.advanced_corollary")
_CORNER = {"E": "1", "k": "1", "slack": "7/10"}
_G = "1371/1000"


def _quoted(
    name: str, title: str, source: tuple[str, str, str], says: str, latex: str, not_covered: str
) -> Statement:
    identity = f"classic.{name}"
    return Statement(identity, "quoted", title, Source(*source, identity), says, latex,
                     reason=f"{title}: {_QUOTED}", not_covered=not_covered)  # fmt: skip


ADVANCED = _quoted(
    "advanced", "Advanced composition", (_BOOK, _EDITION, "Theorem 3.20"),
    "For all epsilon, delta >= 0 and slack in (0, 1), k adaptively chosen (epsilon, delta)-DP mechanisms are together "
    "(epsilon', k delta + slack)-DP with epsilon' = sqrt(2 k ln(1/slack)) epsilon + k epsilon (e^epsilon - 1).",
    r"\varepsilon'=\sqrt{2k\ln(1/\delta')}\,\varepsilon+k\varepsilon(e^\varepsilon-1)",
    "parameters chosen adaptively",
)  # fmt: skip

COROLLARY = Statement(
    "classic.advanced_corollary", "statement", "How much each of k mechanisms may spend",
    Source(_BOOK, _EDITION, "Corollary 3.21", "classic.advanced_corollary"),
    "Printed for a target 0 < E < 1 and slack > 0: k adaptively chosen (epsilon, delta)-DP mechanisms are together (E, k delta + slack)-DP "
    "if epsilon = E/(2 sqrt(2 k ln(1/slack))). It follows from Theorem 3.20 exactly where E (e^epsilon - 1)/epsilon <= 4 ln(1/slack): for all "
    "E <= 1 and k if slack <= 7/10, and for larger E with smaller slack.",
    r"\varepsilon=\frac{E}{2\sqrt{2k\ln(1/\delta')}}",
    (
        Obligation("first", make_goal(_PARTS, f"sqrt(2*k*log(1/slack))*{_EACH} == E/2"),
                   "the first summand of Theorem 3.20 is half the target", witness=_CORNER),
        Obligation("part", make_goal(_PARTS, f"3/5 >= {_EACH}"), "no part is allotted more than 3/5",
                   mutation=make_goal(_PARTS, f"1/2 >= {_EACH}")),
        Obligation("exponential", make_goal({"u": "[0, 3/5]"}, f"{_G}*u >= exp(u) - 1"), "its slope up to 3/5",
                   witness={"u": "3/5"}),
        Obligation("second", make_goal(_PARTS, f"E/2 >= k*{_EACH}*({_G}*{_EACH})"),
                   "then the second summand is at most the other half",
                   {"leaf": "positive", "reflect": ["E"]},
                   mutation=make_goal(_PARTS, f"E/2 >= k*{_EACH}*(3/2*{_EACH})")),
    ),
    ("classic.advanced",),
    not_covered="a slack above 7/10, where it may fail to follow (E = 9/10, k = 1, slack = 9/10 allots more than E); targets above 1, "
    "for which advanced_corollary_holds decides",
    domain="E in (0, 1], slack in (0, 7/10], any k",
)  # fmt: skip

KOV = _quoted(
    "kairouz_oh_viswanath", "Optimal composition", ("arXiv:1311.0776", "v4", "Theorem 3.3"),
    "An (epsilon, delta)-DP mechanism is a post-processing of a coin that fails with probability delta and else is randomised response. "
    "Adaptively chosen mechanisms are together as private as their coins: delta(x) = 1 - prod (1 - delta_i) (1 - H(x)), H the hockey stick of the "
    "product of randomised responses, and nothing smaller holds for all mechanisms with these parameters (different parameters: Murtagh and Vadhan, "
    "arXiv:1507.03113, Theorem 1.5).",
    r"\delta(x)=1-(1-\delta)^k\left(1-\sum_{j}\binom{k}{j}\frac{\left[e^{j\varepsilon}-e^{x}e^{(k-j)\varepsilon}\right]_+}{(1+e^\varepsilon)^k}\right)",
    "parameters chosen adaptively",
)  # fmt: skip

KOV_CLOSED = _quoted(
    "kairouz_oh_viswanath_closed", "Advanced composition with smaller constants", ("arXiv:1311.0776", "v4", "Theorem 3.4"),
    "For epsilon > 0, delta in [0, 1] and slack in (0, 1], k adaptively chosen (epsilon, delta)-DP mechanisms are together (epsilon', 1 - (1 - delta)^k (1 - slack))-DP, "
    "epsilon' the least of k epsilon and, with t = k epsilon (e^epsilon - 1)/(e^epsilon + 1), of t + epsilon sqrt(2 k ln(1/slack)) and t + epsilon sqrt(2 k ln(e + "
    "sqrt(k epsilon^2)/slack)).",
    r"\varepsilon'=\frac{(e^\varepsilon-1)k\varepsilon}{e^\varepsilon+1}+\varepsilon\sqrt{2k\ln(1/\tilde\delta)}",
    "parameters chosen adaptively",
)  # fmt: skip

PARALLEL = _quoted(
    "parallel", "Parallel composition", ("McSherry, Privacy integrated queries", ", 2009", "Theorem 4"),
    "Mechanisms that each read a part of the records, the parts fixed by the records alone and disjoint, are together as private for adding or removing one "
    "record as the least private of them.",
    r"\varepsilon=\max_i\varepsilon_i",
    "neighbours that replace a record, which may move it from one part to another",
)  # fmt: skip

FILTER = _quoted(
    "renyi_filter", "Filters for Renyi and zero-concentrated privacy", ("arXiv:2008.11193", "v4", "Theorem 4.5"),
    "If the order-alpha cost of each step may depend on all earlier releases, and the costs add up to at most a budget fixed beforehand on every run, the whole "
    "run has Renyi divergence of order alpha at most the budget.",
    r"\textstyle\sum_i\rho_i\le B\ \Rightarrow\ D_\alpha\le B",
    "odometers",
)  # fmt: skip

GAUSSIAN_FILTER = _quoted(
    "gaussian_filter", "The filter for Gaussian differential privacy", ("arXiv:2210.17520", "v1", "main theorem"),
    "If each step is mu_i-GDP given the past, mu_i depending on earlier releases, and the squares add up to at most mu^2 on every run, the run is mu-GDP "
    "(also Koskela, Tobaben and Honkela, arXiv:2209.15596v2).",
    r"\textstyle\sum_i\mu_i^2\le\mu^2\ \Rightarrow\ \mu\text{-GDP}",
    "odometers",
)  # fmt: skip

APPROX_FILTER = _quoted(
    "approx_filter", "A filter at the rate of advanced composition", ("arXiv:2203.05481", "v4", "Theorem 2"),
    "If each step is (epsilon_i, delta_i)-DP given the past and on every run sqrt(2 ln(1/slack) sum epsilon_i^2) + sum epsilon_i^2/2 <= epsilon and "
    "sum delta_i <= delta - slack, the run is (epsilon, delta)-DP.",
    r"\sqrt{2\ln(1/\delta')\textstyle\sum\varepsilon_i^2}+\tfrac12\textstyle\sum\varepsilon_i^2\le\varepsilon",
    "odometers",
)  # fmt: skip

STATEMENTS = (ADVANCED, COROLLARY, KOV, KOV_CLOSED, PARALLEL, FILTER, GAUSSIAN_FILTER, APPROX_FILTER)
