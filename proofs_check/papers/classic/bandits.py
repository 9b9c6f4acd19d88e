"""Statements about bandits: Gaussian Thompson sampling is private as it is. See docs/notes/thompson.md."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import positive
from dpproof.proofs_check.papers.rlsvi.preliminaries import at
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_SOURCE = Source(
    "Ou, Avella Medina and Cummings, Thompson sampling itself is differentially private",
    "AISTATS 2024, arXiv:2407.14879v1",
    "the algorithm with its b and c; the account is this project's",
    "classic.thompson",
)
_ARM = {"c": "(0, inf)", "n": "[1, inf)", "d": "[-1, 1]"}
_COUNT = {"c": "(0, inf)", "n": "[0, inf)", "m": "[0, inf)"}
_RUN = {"c": "(0, inf)", "b": "[1, inf)", "T": "[1, inf)"}
_PAST = (
    "the draws of the past determine the arms pulled, so the counts are those of both neighbours; at most one arm's sum differs, "
    "by at most 1, from the changed pull on, which is counted: n >= 1, and n >= b by the pulls before"
)

THOMPSON = Statement(
    "classic.thompson", "project", "Gaussian Thompson sampling is Gaussian-DP without a change",
    _SOURCE,
    "For neighbours that differ in one user's rewards, all draws of T rounds with N(S/(n+1), c/(n+1)) after b pulls of every "
    "arm are mu-GDP with mu^2 = T/(c(b+1)) for b >= 1 and mu^2 = (T-1)/(2c) for b = 0.",
    r"\mu^2=\frac{T}{c\,(b+1)},\quad \mu^2=\frac{T-1}{2c}\ (b=0)",
    (
        Obligation("moved", make_goal(_ARM, "1/(c*(n+1)) >= (d/(n+1))**2*(n+1)/c"), "a draw of variance c/(n+1) whose mean moves by d/(n+1)",
                   witness=at(_ARM, d="1")),
        Obligation("count", make_goal(_COUNT, "1/(c*(m+1)) >= 1/(c*(n+1))", "n >= m"), "more pulls hide more", positive(("1/(c*(m+1)*(n+1))", 0)), witness=at(_COUNT)),
        Obligation("run", make_goal(_RUN, "T*(1/(c*(b+1))) == T/(c*(b+1))"), "T rounds after the pulls before, counts at least b", witness=at(_RUN)),
        Obligation("late", make_goal(_RUN, "T/(c*(b+1)) >= (T-1)/(c*(b+2))"), "a change within the T rounds: counts at least b+1, fewer rounds after it",
                   mutation=make_goal(_RUN, "(T-1)/(c*(b+2)) >= T/(c*(b+1))")),
        Obligation("none_before", make_goal({"c": "(0, inf)", "T": "[1, inf)"}, "(T-1)*(1/(c*(1+1))) == (T-1)/(2*c)"), "b = 0: at most T-1 rounds after the changed one, counts at least 1",
                   witness={"c": "1", "T": "2"}),
    ),
    ("classic.adaptive_gaussians",),
    reading=(_PAST, "the arms pulled are a function of the draws"),
    not_covered="the arms alone, which may reveal less; along most paths counts grow and the loss is smaller",
)  # fmt: skip

STATEMENTS = (THOMPSON,)
