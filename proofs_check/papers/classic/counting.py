"""Statements about continual counting: trees and factorised matrices."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_CHAN = "Chan, Shi and Song, Private and continual release of statistics"
_TREE = {"K": "[1, inf)", "L": "[1, inf)"}
_NORM = {"D": "[1, inf)", "s": "(0, inf)", "sigma": "(0, inf)", "R": "[0, inf)"}
_NODES = "a leaf is in at most as many complete nodes as K has binary digits (docs/notes/counting.md)"
_WORST = (
    "the largest norm over patterns is what the dynamic programme over levels finds (docs/notes/counting.md)"
)

_SIGNED = dict.fromkeys(("u", "v", "c", "D"), "[0, inf)")
_TURNED = Obligation(
    "signed", make_goal(_SIGNED, "4*D >= u + v + 2*c", "D >= u", "D >= v", "u + v >= 2*c"),
    "replacement with either sign: u, v the squared changes, c their product, at most half the sum",
    {"leaf": "positive", "multipliers": [["2", 0], ["2", 1], ["1", 2]]}, dict.fromkeys(_SIGNED, "1"),
)  # fmt: skip

TREE_GAUSSIAN = Statement(
    "classic.tree_gaussian", "project", "The binary tree with Gaussian noise is Gaussian-DP, exactly",
    Source(_CHAN, ", 2011", "binary mechanism", "classic.tree_gaussian"),
    "All complete nodes of a binary tree over K leaves get noise N(0, sigma^2). If D is the largest sum over nodes of "
    "(leaves of one user below)^2, R + 1 trees are mu-GDP with mu^2 = (R+1) D s^2/sigma^2, and the worst pair attains it. For one "
    "leaf a user, D is the number L of binary digits of K, 2^(L-1) <= K, so that L <= log2(K) + 1. s bounds the size of what a user adds "
    "to a leaf. Replacing a user whose values may have either sign costs 4 D, attained from -s to s; only for values in [0, s] is it the "
    "largest sum of (leaves gained less leaves lost)^2.",
    r"\mu^2=(R+1)\,D\,s^2/\sigma^2",
    (
        Obligation("digits", make_goal(_TREE, "log(K)/log(2) + 1 >= L", "log(K) >= (L-1)*log(2)"),
                   "a K of L binary digits is at least 2^(L-1)",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["log", "2"]], 0]]}, {"K": "2", "L": "3999/2000"}),
        Obligation("trees", make_goal(_NORM, "(R+1)*(D*(s/sigma)**2) == (R+1)*D*s**2/sigma**2"),
                   "squared distances of independent trees add", witness={"D": "1", "s": "1", "sigma": "1", "R": "1"}),
        _TURNED,
    ),
    ("classic.adaptive_gaussians",), (_NODES, _WORST),
    not_covered="noise that is not exactly Gaussian; neighbours whose later leaves shift",
)  # fmt: skip

_OVERLAP = dict.fromkeys(("a", "b", "c"), "[0, inf)")
_SQUARES = dict.fromkeys(("u", "v", "overlap", "worst"), "[0, inf)")

MATRIX_COUNTING = Statement(
    "classic.matrix_counting", "project", "Factorised counting is Gaussian-DP with a norm known exactly",
    Source("arXiv:2405.13763", "v2", "Theorem 2", "classic.matrix_counting"),
    "The running counts A = BC are released as B(Cx + z), z of variance sigma^2, C Toeplitz with nonnegative, never increasing "
    "coefficients, or with at most b bands. For at most k leaves a user, pairwise at least b apart, the worst are "
    "1, 1 + b, ..., and R + 1 runs are mu-GDP with mu^2 = (R+1) norm^2 s^2/sigma^2. s bounds the size of what a user "
    "adds to a leaf: replacement costs 4 times the squared norm, attained from -s to s, and at most twice if all values are in [0, s].",
    r"\mu^2=(R+1)\,\Bigl\|\sum_{a<k}C_{\cdot,1+ab}\Bigr\|^2 s^2/\sigma^2",
    (
        Obligation("overlap", make_goal(_OVERLAP, "a*b >= a*c", "b >= c"),
                   "with coefficients that never increase a term of an overlap falls with the distance",
                   {"leaf": "positive", "multipliers": [["a", 0]]}, dict.fromkeys(_OVERLAP, "1")),
        Obligation("replacement", make_goal(_SQUARES, "2*worst >= u + v - 2*overlap", "worst >= u", "worst >= v"),
                   "values in [0, s]: leaving and entering overlap nonnegatively",
                   {"leaf": "positive", "multipliers": [["1", 0], ["1", 1]]},
                   {"u": "1", "v": "1", "worst": "1", "overlap": "0"}),
        Obligation("runs", make_goal(_NORM, "(R+1)*(D*(s/sigma)**2) == (R+1)*D*s**2/sigma**2"),
                   "squared distances of independent runs add", witness={"D": "1", "s": "1", "sigma": "1", "R": "1"}),
        _TURNED,
    ),
    ("classic.adaptive_gaussians",), ("the pattern 1, 1 + b, ... maximises every overlap at once (docs/notes/counting.md)",),
    not_covered="coefficients that are neither decreasing nor banded within the separation; noise that is not exactly Gaussian",
)  # fmt: skip

_LOSSES = {"n": "[0, inf)", "L": "[1, inf)", "s": "(0, inf)", "b": "(0, inf)"}

TREE_LAPLACE = Statement(
    "classic.tree_laplace", "project", "The binary tree with Laplace noise is a composition of Laplace pairs",
    Source(_CHAN, " (2011)", "Theorem 3.5", "classic.tree_laplace"),
    "All complete nodes of a binary tree over K leaves get Laplace noise of scale b. For one leaf a user, L composed Laplace pairs "
    "of scale b/s, L the binary digits of K, dominate the run and are attained; it is (L s/b)-DP. For several leaves, fixed before "
    "the run, the worst undominated profile of node changes takes their place; the pure guarantee is the largest sum of changes. "
    "Replacing a user whose values, of size at most s, may have either sign is L pairs of scale b/(2s) for one leaf, attained from -s to "
    "s, and twice the pure guarantee for several; only for values in [0, s] is it the nodes that hold one of the two leaves.",
    r"\varepsilon=(\lfloor\log_2K\rfloor+1)\,s/b",
    (
        Obligation("digits", make_goal(_TREE, "log(K)/log(2) + 1 >= L", "log(K) >= (L-1)*log(2)"),
                   "a K of L binary digits is at least 2^(L-1)",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["log", "2"]], 0]]}, {"K": "2", "L": "3999/2000"}),
        Obligation("pure", make_goal(_LOSSES, "L*s/b >= n*(s/b)", "L >= n"), "at most L nodes move, by at most s each",
                   {"leaf": "positive", "multipliers": [[["/", "s", "b"], 0]]},
                   {"n": "1", "L": "1", "s": "1", "b": "1"}),
    ),
    ("classic.dominating_composition", "classic.log_concave_shifts"),
    (_NODES, "a Laplace pair dominates two whose shifts add to its own (docs/notes/counting.md)"),
    not_covered="leaves of one user chosen in view of the releases, beyond the pure guarantee; neighbours whose later leaves shift",
    laws=("laplace.density",),
)  # fmt: skip

_SUM = {"b": "(0, inf)", "m": "[1, inf)", "t": "[0, inf)"}
_TAIL = {"b": "(0, inf)", "m": "[1, inf)", "beta": "(0, 1)"}
_LOG = "log(2/beta)"

LAPLACE_SUM_TAIL = Statement(
    "classic.laplace_sum_tail", "quoted", "The printed tail of a sum of Laplace variables",
    Source(_CHAN, " (2011)", "Lemma 2.8", "classic.laplace_sum_tail"),
    "A sum of m independent Laplace variables of scale b is beyond b sqrt(8 m log(2/beta)) in size with probability at most "
    "beta, provided log(2/beta) <= m. Chernoff's bound with 1/(1 - x) <= exp(2x) for x = (h b)^2 <= 1/2 and h = t/(4 m b^2).",
    r"P\bigl(|Y|>b\sqrt{8m\log(2/\beta)}\bigr)\le\beta",
    (
        Obligation("factor", make_goal({"x": "[0, 1/2]"}, "2*x + log(1-x) >= 0"), "1/(1-x) <= exp(2x) up to x = 1/2",
                   mutation=make_goal({"x": "[0, 1/2]"}, "x + log(1-x) >= 0")),
        Obligation("exponent", make_goal(_SUM, "2*m*b**2*(t/(4*m*b**2))**2 - t/(4*m*b**2)*t == -t**2/(8*m*b**2)"),
                   "the exponent at h = t/(4 m b^2)", witness={"b": "1", "m": "1", "t": "1"}),
        Obligation("range", make_goal(_SUM, "1/2 >= (t/(4*m*b**2)*b)**2", "8*m**2*b**2 >= t**2"),
                   "h b is in range as long as t <= sqrt(8) m b",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["*", "16", ["^", "m", "2"], ["^", "b", "2"]]], 0]]},
                   {"b": "1", "m": "1", "t": "28284/10000"}),
        Obligation("hypothesis", make_goal(_TAIL, f"8*m**2*b**2 >= 8*m*{_LOG}*b**2", f"m >= {_LOG}"),
                   "the square of the printed t is in range where log(2/beta) <= m",
                   {"leaf": "positive", "multipliers": [[["*", "8", "m", ["^", "b", "2"]], 0]]},
                   {"b": "1", "m": "1", "beta": "7358/10000"}),
        Obligation("quantile", make_goal(_TAIL, f"(b*sqrt(8*m*{_LOG}))**2/(8*m*b**2) == {_LOG}"), "the exponent at the printed t: each tail is beta/2",
                   witness={"b": "1", "m": "1", "beta": "1/2"}),
    ),
    ("classic.markov", "classic.independent_sum", "classic.union_bound"),
    reading=("E exp(h Z) = 1/(1 - h^2 b^2) for one Laplace variable Z of scale b and |h| b < 1; m independent ones by classic.independent_sum, so that E exp(h Y) <= exp(2 m h^2 b^2)",
             "the exponential form of classic.markov for Y - t; -Y has the law of Y, and the two tails add up to beta",
             "the exponential is increasing, so that a bound on an exponent is one on the exponential"),
    not_covered="fewer terms than log(2/beta), where the printed bound is too small for some m",
    laws=("laplace.mgf",),
)  # fmt: skip

STATEMENTS = (TREE_GAUSSIAN, TREE_LAPLACE, MATRIX_COUNTING, LAPLACE_SUM_TAIL)
