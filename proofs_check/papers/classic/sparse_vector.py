"""Statements about the sparse vector technique: the published theorems, and its epsilon exactly."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_PAPER, _VERSION = "arXiv:1603.01699", "v4"
_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"
_RATES = {"y": "(0, inf)", "w": "[0, inf)", "m": "[0, 1]"}
_PAID = _RATES | {"t": "(0, inf)"}
_SHIFT = {"z": "(-inf, inf)", "h": "[0, 1]", "m": "[-1, 1]", "b": "(0, inf)"}
_COIN = {"r": "(1, inf)", "a": "[0, 1]", "b": "[0, 1]"}
_SPLIT = {"x": "(0, inf)", "a": "(0, inf)"}
_TWO = _SPLIT | {"r": "(0, inf)"}

LYU = Statement(
    "classic.sparse_vector_lyu", "quoted", "The sparse vector technique",
    Source(_PAPER, _VERSION, "Theorem 4", "classic.sparse_vector_lyu"),
    "With Laplace noise of scale S/epsilon_1 on the threshold, 2 c S/epsilon_2 on each query and c S/epsilon_3 on each of at most c numeric answers, all answers "
    "together are (epsilon_1 + epsilon_2 + epsilon_3)-DP.",
    r"\varepsilon=\varepsilon_1+\varepsilon_2+\varepsilon_3",
    reason=f"the sparse vector technique: {_QUOTED}",
    not_covered="the threshold's noise drawn anew after each positive answer (Dwork and Roth 2014, Algorithm 2)",
)  # fmt: skip

MONOTONE = Statement(
    "classic.sparse_vector_monotone", "quoted", "The sparse vector technique for monotone queries",
    Source(_PAPER, _VERSION, "Theorem 5", "classic.sparse_vector_monotone"),
    "If all queries move the same way between neighbours, noise of scale c S/epsilon_2 on each query is enough.",
    r"\varepsilon=\varepsilon_1+\varepsilon_2+\varepsilon_3",
    reason=f"the sparse vector technique for monotone queries: {_QUOTED}",
    not_covered="queries of which some move up and some down",
)  # fmt: skip

TIGHT = Statement(
    "classic.sparse_vector", "project", "The sparse vector's epsilon, exactly",
    Source(_PAPER, _VERSION, "Theorems 4 and 5", "classic.sparse_vector"),
    "Write x, y, w for the sensitivity over the scales of threshold, query and numeric answer (w = 0 without). For streams of queries of every length, adaptively "
    "chosen, the smallest pure epsilon of one threshold with c positive answers is x + c (2 y + w); for monotone queries max(x + c max(y, w), c (y + w)). "
    "Thresholds drawn anew after each positive answer add up.",
    r"\varepsilon=x+c(2y+w),\qquad\varepsilon_{\text{monotone}}=\max\{x+c\max(y,w),\;c(y+w)\}",
    (
        Obligation("up", make_goal(_RATES, "2*y + w >= (1 - m)*y + m*w"),
                   "a positive answer to a query that moves up by m, the threshold shifted", witness={"y": "1/10000", "w": "1", "m": "1"}),
        Obligation("down", make_goal(_RATES, "2*y + w >= (1 + m)*y + m*w"),
                   "the same, down by m", witness={"y": "1", "w": "1", "m": "1"}),
        Obligation("monotone_up", make_goal(_PAID, "t >= (1 - m)*y + m*w", "t >= y", "t >= w"),
                   "all queries move up: it costs at most the larger of the two rates",
                   {"leaf": "positive", "multipliers": [[["-", "1", "m"], 0], ["m", 1]]},
                   {"t": "1", "y": "1", "w": "1", "m": "1/2"}),
        Obligation("monotone_down", make_goal(_RATES, "y + w >= m*y + m*w"), "all move down, the threshold as it is",
                   witness={"y": "1", "w": "1", "m": "1"}),
        Obligation("tail", make_goal(_SHIFT, "(z - m)/b - (z - h)/b == (h - m)/b"),
                   "where both tails are exponential the ratio is attained", witness={"z": "2", "h": "1", "m": "-1", "b": "1"}),
    ),
    (),
    ("a Laplace tail Pr[nu >= t] falls by at most the factor e^(-s/b) over a step s, exactly so from t >= 0 on",
     "the threshold's noise given the answers moves to infinity with the number of queries below it, at the rate in docs/notes/sparse_vector.md"),
    not_covered="delta above 0, where only an upper bound and the pair's own lower bound are given; a known, small number of queries; noise drawn in floating point",
    laws=("laplace.density",),
)  # fmt: skip

PROFILE = Statement(
    "classic.sparse_vector_profile", "project", "The sparse vector is made of coins",
    Source(_PAPER, _VERSION, "Theorems 4 and 5", "classic.sparse_vector_profile"),
    "All answers are a post-processing of a Laplace pair of the threshold's scale over the sensitivity, of coins with odds r = e^L under one data set and 1/r under "
    "the other, thrown until the c-th head, and of c Laplace pairs for numeric answers; L is 2 S/b_query, or S/b_query for monotone queries. A threshold drawn anew adds "
    "its Laplace pair. The pure epsilon of classic.sparse_vector holds too, and the smaller answer is given.",
    r"(a,b)=w_{\uparrow}(1,1)+w_{\text{coin}}\left(\tfrac{r}{1+r},\tfrac{1}{1+r}\right)",
    (
        Obligation("sum", make_goal(_COIN, "(r*(1-a) - (1-b))/(r-1) + (r*b - a)/(r-1) + (a-b)*(r+1)/(r-1) == 1"),
                   "the three weights add up to one", witness={"r": "2", "a": "1/2", "b": "1/4"}),
        Obligation("first", make_goal(_COIN, "(r*b - a)/(r-1) + (a-b)*(r+1)/(r-1)*(r/(1+r)) == a"),
                   "the mixture answers above with chance a", witness={"r": "2", "a": "1/2", "b": "1/4"}),
        Obligation("second", make_goal(_COIN, "(r*b - a)/(r-1) + (a-b)*(r+1)/(r-1)*(1/(1+r)) == b"),
                   "and with chance b under the other data set", witness={"r": "2", "a": "1/2", "b": "1/4"}),
        Obligation("weights", make_goal(_COIN, "(r*(1-a) - (1-b))/(r-1) >= 0", "r*(1-a) >= 1-b"),
                   "the weight for below is not negative",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["-", "r", "1"]], 0]]},
                   mutation=make_goal(_COIN, "(r*(1-a) - (1-b))/(r-1) >= 1/1000", "r*(1-a) >= 1-b")),
        Obligation("weights_above", make_goal(_COIN, "(r*b - a)/(r-1) >= 0", "r*b >= a"), "that for above",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["-", "r", "1"]], 0]]},
                   mutation=make_goal(_COIN, "(r*b - a)/(r-1) >= 1/1000", "r*b >= a")),
        Obligation("weights_coin", make_goal(_COIN, "(a-b)*(r+1)/(r-1) >= 0", "a >= b"), "that for the coin",
                   {"leaf": "positive", "multipliers": [[["/", ["+", "r", "1"], ["-", "r", "1"]], 0]]},
                   mutation=make_goal(_COIN, "(a-b)*(r+1)/(r-1) >= 1/1000", "a >= b")),
    ),
    ("classic.sparse_vector", "classic.dominating_composition", "classic.kairouz_oh_viswanath", "classic.post_processing"),
    ("Laplace noise shifted by s <= L scales changes either tail's chance by a factor of at most e^L (docs/notes/sparse_vector.md)",),
    reading=("which of the three a comparison is depends only on the threshold's noise, the queries and earlier answers: classic.post_processing",),
    not_covered="that the profile is attained: it is an upper bound; the numerical inversion, whose errors are bounded where it stands; noise drawn in floating point",
)  # fmt: skip

SPLIT = Statement(
    "classic.sparse_vector_split", "statement", "The best split between threshold and queries",
    Source(_PAPER, _VERSION, "Section 4.2", "classic.sparse_vector_split"),
    "At a fixed sum of x = S/b_threshold and k S/b_query, the variance of the comparison's noise is least at x : k S/b_query = 1 : k^(2/3), k = 2c in general and "
    "c for monotone queries.",
    r"\varepsilon_1:\varepsilon_2=1:(2c)^{2/3}",
    (
        Obligation("tangent", make_goal(_SPLIT, "1/x**2 >= 3/a**2 - 2*x/a**3"), "1/x^2 lies above its tangent at a",
                   {"leaf": "sos", "terms": [["1", ["-", "x", "a"]]],
                    "over": ["/", ["*", ["^", "x", "2"], ["^", "a", "3"]], ["+", ["*", "2", "x"], "a"]]},
                   {"x": "1", "a": "1"}),
        Obligation("least", make_goal(_TWO, "3/a**2 - 2*x/a**3 + r**6*(3/(r**2*a)**2 - 2*(a*(1 + r**2) - x)/(r**2*a)**3) == (1 + r**2)/a**2"),
                   "the tangents at a and at r^2 a, r^3 = k, of budgets that add up to a + r^2 a", witness={"x": "1", "a": "1", "r": "1"}),
    ),
    not_covered="numeric answers; other measures of error than the variance of the comparison",
)  # fmt: skip

STATEMENTS = (LYU, MONOTONE, TIGHT, PROFILE, SPLIT)
