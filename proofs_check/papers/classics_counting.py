"""Statements about continual counting: trees and factorised matrices."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from accountant.sources import Source
from proofs_check.statement import Obligation, Statement, make_claim

__all__ = ["STATEMENTS"]

_CHAN = "Chan, Shi and Song, Private and continual release of statistics"
_TREE = {"K": "[1, inf)", "L": "[1, inf)"}
_NORM = {"D": "[1, inf)", "s": "(0, inf)", "sigma": "(0, inf)", "R": "[0, inf)"}
_COMPOSITION = "adaptive Gaussian composition under a deterministic budget (docs/notes/rlsvi_tight.md)"
_NODES = "a leaf is in at most as many complete nodes as K has binary digits (docs/notes/counting.md)"
_WORST = "the largest norm over patterns is what the dynamic programme over levels finds (docs/notes/counting.md)"

TREE_GAUSSIAN = Statement(
    "classic.tree_gaussian", "project", "The binary tree with Gaussian noise is Gaussian-DP, exactly",
    Source(_CHAN, ", 2011", "binary mechanism", "classic.tree_gaussian"),
    "All complete nodes of a binary tree over K leaves get noise N(0, sigma^2). If D is the largest sum over nodes of "
    "(leaves of one user below)^2, R + 1 trees are mu-GDP with mu^2 = (R+1) D s^2/sigma^2, and the worst pair attains it. For one "
    "leaf a user, D is the number L of binary digits of K, 2^(L-1) <= K, so that L <= log2(K) + 1.",
    r"\mu^2=(R+1)\,D\,s^2/\sigma^2",
    (
        Obligation("digits", make_claim(_TREE, "log(K)/log(2) + 1 >= L", "log(K) >= (L-1)*log(2)"),
                   "a K of L binary digits is at least 2^(L-1)",
                   {"leaf": "positive", "multipliers": [[["/", "1", ["log", "2"]], 0]]}, {"K": "2", "L": "2"}),
        Obligation("trees", make_claim(_NORM, "(R+1)*(D*(s/sigma)**2) == (R+1)*D*s**2/sigma**2"),
                   "squared distances of independent trees add", witness={"D": "1", "s": "1", "sigma": "1", "R": "1"}),
    ),
    (), (_COMPOSITION, _NODES, _WORST),
    not_covered="noise that is not exactly Gaussian; neighbours whose later leaves shift",
)  # fmt: skip

_OVERLAP = dict.fromkeys(("a", "b", "c"), "[0, inf)")
_SQUARES = dict.fromkeys(("u", "v", "overlap", "worst"), "[0, inf)")

MATRIX_COUNTING = Statement(
    "classic.matrix_counting", "project", "Factorised counting is Gaussian-DP with a norm known exactly",
    Source("arXiv:2405.13763", "v2", "Theorem 2", "classic.matrix_counting"),
    "The running counts A = BC are released as B(Cx + z), z of variance sigma^2, C Toeplitz with nonnegative, never increasing "
    "coefficients, or with at most b bands. For at most k leaves a user, pairwise at least b apart, the worst are "
    "1, 1 + b, ..., and R + 1 runs are mu-GDP with mu^2 = (R+1) norm^2 s^2/sigma^2; replacement costs at most twice the squared norm.",
    r"\mu^2=(R+1)\,\Bigl\|\sum_{a<k}C_{\cdot,1+ab}\Bigr\|^2 s^2/\sigma^2",
    (
        Obligation("overlap", make_claim(_OVERLAP, "a*b >= a*c", "b >= c"),
                   "with coefficients that never increase a term of an overlap falls with the distance",
                   {"leaf": "positive", "multipliers": [["a", 0]]}, dict.fromkeys(_OVERLAP, "1")),
        Obligation("replacement", make_claim(_SQUARES, "2*worst >= u + v - 2*overlap", "worst >= u", "worst >= v"),
                   "leaving and entering overlap nonnegatively",
                   {"leaf": "positive", "multipliers": [["1", 0], ["1", 1]]},
                   {"u": "1", "v": "1", "worst": "1", "overlap": "0"}),
        Obligation("runs", make_claim(_NORM, "(R+1)*(D*(s/sigma)**2) == (R+1)*D*s**2/sigma**2"),
                   "squared distances of independent runs add", witness={"D": "1", "s": "1", "sigma": "1", "R": "1"}),
    ),
    (), (_COMPOSITION, "the pattern 1, 1 + b, ... maximises every overlap at once (docs/notes/counting.md)"),
    not_covered="coefficients that are neither decreasing nor banded within the separation; noise that is not exactly Gaussian",
)  # fmt: skip

STATEMENTS = (TREE_GAUSSIAN, MATRIX_COUNTING)
