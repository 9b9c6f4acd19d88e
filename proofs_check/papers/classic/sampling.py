"""Statements about sampling and about pairs: quoted theorems, and what each pair of ours rests on."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import expect, positive
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"
_BALLE, _ZHU = ("arXiv:1807.01647", "v2"), ("arXiv:2106.08567", "v4")
_PROJECT = "this project"


def _quoted(
    name: str, title: str, source: tuple[str, str, str], says: str, latex: str, not_covered: str
) -> Statement:
    identity = f"classic.{name}"
    return Statement(identity, "quoted", title, Source(*source, identity), says, latex,
                     reason=f"{title}: {_QUOTED}", not_covered=not_covered)  # fmt: skip


def _note(item: str, identity: str) -> Source:
    return Source(_PROJECT, "", item, identity)


_COMPOSED = "classic.dominating_composition"

CONVEXITY = _quoted(
    "advanced_joint_convexity", "Advanced joint convexity of the hockey-stick divergence", (*_BALLE, "Theorem 2"),
    "For 0 <= q <= 1, alpha >= 1, alpha' = 1 + q (alpha - 1) and beta = alpha'/alpha: H_alpha'((1-q) R + q P || (1-q) R + q P') = "
    "q H_alpha(P || (1-beta) R + beta P').",
    r"H_{\alpha'}\big((1-q)R+qP\,\|\,(1-q)R+qP'\big)=q\,H_{\alpha}\big(P\,\|\,(1-\beta)R+\beta P'\big)",
    "alpha below 1",
)  # fmt: skip

FIXED_SIZE = _quoted(
    "fixed_size", "Amplification by sampling without replacement", (*_BALLE, "Theorem 9"),
    "M on a uniformly random subset of m of n records, under replacement of one record: delta'(log(1 + q (e^epsilon - 1))) <= "
    "q delta(epsilon) for every epsilon >= 0, q = m/n and delta the profile of M under replacement of one record of its input.",
    r"\delta'\big(\log(1+q(e^{\varepsilon}-1))\big)\le q\,\delta(\varepsilon),\qquad q=m/n",
    "epsilon below 0, which composition needs (classic.fixed_size_pair); add/remove neighbours; the profile of M under add/remove in "
    "place of that under replacement",
)  # fmt: skip

WITH_REPLACEMENT = _quoted(
    "with_replacement", "Amplification by sampling with replacement", (*_BALLE, "Theorem 10"),
    "M on m records drawn independently and uniformly from n, under replacement of one record, q = 1 - (1 - 1/n)^m: "
    "delta'(log(1 + q (e^epsilon - 1))) <= sum over k = 1..m of P(Bin(m, 1/n) = k) delta_k(epsilon), epsilon >= 0, delta_k the profile "
    "of M when k records of its input are replaced.",
    r"\delta'\big(\log(1+q(e^{\varepsilon}-1))\big)\le\sum_{k=1}^{m}\binom{m}{k}n^{-k}(1-1/n)^{m-k}\,\delta_k(\varepsilon)",
    "epsilon below 0, which composition needs (classic.with_replacement_pair); add/remove neighbours",
)  # fmt: skip

INTERPOLATION = _quoted(
    "gaussian_interpolation", "Kahane's inequality", ("Kahane, Une inegalite du type de Slepian et Gordon", " (Israel Journal of Mathematics, 1986)", "the theorem"),
    "Let X and Y be centred Gaussian vectors and g a function with at most exponential growth. If the covariance of Y is at least that of X "
    "where the second derivative of g is nonnegative, and at most where it is nonpositive, E g(Y) >= E g(X). Its proof moves the "
    "covariance along a line and differentiates; the exponentials normalised to mean 1 cancel the terms of first order.",
    r"\tfrac{d}{d\theta}E\,g(a,b)=\tfrac12\sum_{i,j}\dot\Sigma_{ij}\,E[a_ia_j\,\partial_i\partial_jg],\quad a_i=e^{G_i-\Sigma_{ii}/2}",
    "functions without second derivatives: the positive part is a limit of smooth convex functions, uniformly",
)  # fmt: skip

_MIRROR = {"q": "[0, 1]", "b": "[0, inf)", "c": "[0, inf)", "d": "[0, inf)"}
FIXED_SIZE_PAIR = Statement(
    "classic.fixed_size_pair", "project", "One pair for fixed-size sampling that composes",
    _note("docs/notes/sampling.md, section 1", "classic.fixed_size_pair"),
    "Let (P, Q) dominate M under replacement of one record, with one profile in both directions, and P' = (1-q) Q + q P. M on a random subset of "
    "m = q n of n records is dominated, at every alpha >= 0, by the pair whose losses above 0 are those of (P', Q), those below 0 are those of "
    "(Q, P'), and which has the rest of both masses at loss 0. For q = 1 that is (P, Q).",
    r"h(\alpha)=H_\alpha(P'\|Q)\ (\alpha\ge1),\qquad h(\alpha)=H_\alpha(Q\|P')\ (\alpha\le1)",
    (
        Obligation("convex", make_goal(_MIRROR, "(1-q)*(b+d+c) + q*(b+c) >= b"),
                   "P'(P <= Q) >= Q(P > Q): b = Q(P > Q), b + d = P(P > Q), c = P(P = Q)",
                   witness={"q": "1", "b": "1/2", "c": "0", "d": "0"}),
    ),
    ("classic.fixed_size", _COMPOSED),
    reading=("P and Q have one profile in both directions: by symmetry Q(P > Q) = P(P < Q) = b and P(P > Q) = Q(P < Q) = b + d; d >= 0 as P exceeds Q where it is the larger", "as P'(P <= Q) >= Q(P > Q), no negative mass is left at loss 0 (convex)", "a number is its positive part less that of its negative, so that H_alpha(P||Q) = 1 - alpha + alpha H_{1/alpha}(Q||P): a bound for alpha >= 1 on both orders of every pair of "
             "neighbours is one for all alpha",),
    not_covered="pairs whose two directions differ; add/remove neighbours; that no smaller pair exists",
)  # fmt: skip

WITH_REPLACEMENT_PAIR = Statement(
    "classic.with_replacement_pair", "project", "One pair for sampling with replacement that composes",
    _note("docs/notes/sampling.md, section 4", "classic.with_replacement_pair"),
    "Let (P_k, Q_k) dominate M when k records of its input are replaced by any k others, each with one profile in both directions. The visible "
    "choice of k with P(Bin(m, 1/n) = k)/q, k = 1..m, q = 1 - (1 - 1/n)^m, put in the place of (P, Q) in classic.fixed_size_pair, dominates M "
    "on m records drawn with replacement.",
    r"\sum_{k}w_k\,\delta_k(\varepsilon)=q\,H_{e^\varepsilon}\Big(\bigoplus_k\tfrac{w_k}{q}P_k\,\Big\|\,\bigoplus_k\tfrac{w_k}{q}Q_k\Big)",
    (
        Obligation("total", make_goal({"u": "[0, 1)", "w": "(0, 1]"}, "(1-u)*(w/(1-u)) == w"), "weights of the choice, rate 1 - u",
                   witness={"u": "1/2", "w": "1/2"}),
    ),
    ("classic.with_replacement", "classic.fixed_size_pair", "classic.visible_choice"),
    not_covered="what a mechanism loses on k replaced records: the pairs are the caller's",
)  # fmt: skip

_AMPLIFIED = {"q": "(0, 1]", "alpha": "[1, inf)"}
_TERMS = _AMPLIFIED | {"r": "(0, inf)", "x": "(0, inf)"}
POISSON_REPLACED = Statement(
    "classic.poisson_replaced", "project", "Poisson sampling when one record is replaced, for any mechanism",
    _note("docs/notes/sampling.md, section 2", "classic.poisson_replaced"),
    "Let (P, Q) dominate M both when one record is replaced and when one is removed. Then M on a Poisson sample at rate q, one record being "
    "replaced, is dominated by the pair of classic.fixed_size_pair at the same q.",
    r"H_{\alpha'}\le q\big[(1-\beta)H_\alpha(M(S{+}x)\|M(S))+\beta H_\alpha(M(S{+}x)\|M(S{+}x'))\big]\le q\,H_\alpha(P\|Q)",
    (
        Obligation("weights", make_goal(_AMPLIFIED, "1 >= (1 + q*(alpha-1))/alpha"), "beta = alpha'/alpha is at most 1",
                   witness={"q": "1", "alpha": "2"}),
        Obligation("identity",
                   make_goal(_TERMS, "(1-q) + q*r - (1+q*(alpha-1))*((1-q) + q*x) == q*(r - alpha*((1-(1+q*(alpha-1))/alpha) + (1+q*(alpha-1))/alpha*x))"),
                   "advanced joint convexity, pointwise: r and x are the densities of P and P' over that of R",
                   witness={"q": "1/2", "alpha": "2", "r": "3", "x": "1"}),
    ),
    ("classic.fixed_size_pair",),
    reading=("the coins of all the other records have finitely many outcomes, of one law on both neighbours: the excess of an event is the mean of its excesses given them, each at most "
             "the divergence given them",),
    not_covered="pairs that dominate only removal: a replacement is not a removal composed with an addition",
)  # fmt: skip

_MOVES = {"a": "(0, inf)", "b": "(0, inf)", "w": "[0, inf)", "U": "[0, 1]", "V": "[0, 1]", "z": "[0, 2]"}
_MIXED = {"q": "(0, 1)", "k": "(0, inf)", "y": "(0, inf)"}
REPLACED_GAUSSIAN = Statement(
    "classic.poisson_replaced_gaussian", "project", "Poisson-sampled Gaussian noise when one record is replaced: the exact pair",
    _note("docs/notes/sampling.md, section 3", "classic.poisson_replaced_gaussian"),
    "A Poisson sample at rate q, the sum of a vector of norm at most 1 for each record, in any dimension, N(0, sigma^2) added to every coordinate. When one "
    "record is replaced, ((1-q) N(0, sigma^2) + q N(1, sigma^2), (1-q) N(0, sigma^2) + q N(-1, sigma^2)) dominates, at every alpha >= 0, and a "
    "record with vector v replaced by one with -v, |v| = 1, all other vectors being zero, attains it.",
    r"\big((1-q)N(0,\sigma^2)+qN(1,\sigma^2),\;(1-q)N(0,\sigma^2)+qN(-1,\sigma^2)\big)",
    (
        Obligation("grows", make_goal(_MOVES, "a**2 + w**2*b**2 + 2*w*a*b >= (1-U)*a**2 + w**2*(1-V)*b**2 + 2*w*(1-z)*a*b"),
                   "the derivative along the interpolation, over q^2 h''/2 >= 0: U = 1 - |u|^2, V = 1 - |v|^2, z = 1 + u.v, w = alpha",
                   witness={"a": "1", "b": "1", "w": "1", "U": "0", "V": "0", "z": "0"}),
        Obligation("mirrored",
                   make_goal(_MIXED, "((1-q) + k*y)/((1-q) + k/y) * (((1-q) + k/y)/((1-q) + k*y)) == 1"),
                   "the ratio of the densities at y = e^(x/sigma^2), and at -x its inverse; k = q e^(-1/(2 sigma^2))",
                   witness={"q": "1/2", "k": "1", "y": "2"}),
    ),
    ("classic.gaussian_interpolation", _COMPOSED),
    reading=("the ratio of the densities at -x is the inverse of that at x: both directions have one loss (mirrored)", "the coins of all the other records have finitely many outcomes, of one law on both neighbours: the excess of an event is the mean of its excesses given them, each at most "
             "the divergence given them",),
    not_covered="the numerical masses, whose errors are bounded where they stand; noise drawn in floating point",
    laws=("gaussian.density",),
)  # fmt: skip

_LINE = "(-inf, inf)"
_ENDS = dict.fromkeys(("lo", "hi", "h", "l", "alpha"), "[0, inf)")
_TESTED = {"r": "[0, inf)", "u": "[0, 1]"}
_BETWEEN = ("r >= lo", "hi >= r", "h >= hi - alpha", "l >= lo - alpha", "E(r) == 1")
_LARGEST = "((1-lo)*h + (hi-1)*l) >= (hi-lo)*E(u*(r-alpha))"
_RANGE = {"x": "(0, inf)", "y": "(0, inf)", "s": "(0, inf)"}
BOUNDED_RANGE = Statement(
    "classic.bounded_range", "project", "One pair for every mechanism of bounded range",
    _note("docs/notes/pairs.md, section 2", "classic.bounded_range"),
    "If the losses of M on any two neighbours lie in some interval [t - epsilon, t], M is dominated by the pair with profile (sqrt(E) - sqrt(alpha))^2/(E - 1) "
    "on 1/E <= alpha <= E, E = e^epsilon, whose losses have densities exp((epsilon + x)/2)/(2 (E - 1)) under P and exp((epsilon - x)/2)/(2 (E - 1)) under Q. "
    "Single mechanisms attain it at each alpha, for t depending on alpha; so no pair that dominates them all is smaller.",
    r"h(\alpha)=\sup_t H_\alpha(P_t\|Q_t)=\frac{(\sqrt{E}-\sqrt{\alpha})^2}{E-1}",
    (
        Obligation("supremum", make_goal(_RANGE, "(x-y)**2 >= (x**2-s)*(1-y**2/s)"),
                   "x^2 = E, y^2 = alpha, s = e^t: the profile of the two-point pair with losses t and t - epsilon, times E - 1",
                   {"leaf": "sos", "terms": [["1", ["-", "s", ["*", "x", "y"]]]], "over": "s"},
                   {"x": "2", "y": "1", "s": "2"}),
        Obligation("two_points", make_goal({"E": "(1, inf)", "s": "(0, inf)"}, "(E-s)/(E-1)/s + (s-1)/(E-1)*E/s == 1"),
                   "masses (E - s)/(E - 1) at t and (s - 1)/(E - 1) at t - epsilon under P; under Q they add up to 1", witness={"E": "3", "s": "2"}),
        Obligation("slope",
                   make_goal({"x": "(1, inf)", "y": "(0, inf)"}, "(x-y)**2/(x**2-1) == (x**2-x*y)/(x**2-1) - y**2*(x/y-1)/(x**2-1)"),
                   "h(alpha) = P(L > log alpha) - alpha Q(L > log alpha) with the tails of the two densities, x^2 = E, y^2 = alpha",
                   witness={"x": "2", "y": "3/2"}),
        Obligation("largest", make_goal(_ENDS, _LARGEST, *_BETWEEN, random=_TESTED),
                   "r: the likelihood ratio, between lo and hi, of mean 1 under Q; u: any event; h and l the excesses at the ends: no more than the two-point ratio has",
                   expect([("(r-lo)*h + (hi-r)*l - (hi-lo)*u*(r-alpha)", positive(("(1-u)*h", 0), ("(1-u)*l", 1), ("u", 0, 2), ("u", 1, 3)))],
                          positive(("l-h", 4), ("1", 5))),
                   mutation=make_goal(_ENDS, f"999/1000*{_LARGEST}", *_BETWEEN, random=_TESTED)),
    ),
    reading=("lo = e^(t-epsilon), hi = e^t; h and l are (hi - alpha)_+ and (lo - alpha)_+, and (hi-1)/(hi-lo), (1-lo)/(hi-lo) the masses of the two points under Q",),
    not_covered="composition of mechanisms known to share one t, or chosen in advance, where less is lost (arXiv:1909.13830)",
)  # fmt: skip

_CHANGES = {"e": "(0, inf)", "D": "(0, inf)", "u": "(-inf, inf)", "v": "(-inf, inf)"}
EXPONENTIAL = Statement(
    "classic.exponential_range", "project", "The exponential mechanism has bounded range",
    _note("docs/notes/pairs.md, section 2", "classic.exponential_range"),
    "Drawing r with probability proportional to exp(epsilon u(r)/(2 Delta)), every u(r) changing by at most Delta between neighbours, has range epsilon: "
    "the losses of two outcomes differ by epsilon/(2 Delta) times the difference of the two changes. Where all u(r) change in one direction the range is epsilon/2. "
    "(Durfee and Rogers, arXiv:1905.04273, who named it.)",
    r"L(r)-L(r')=\frac{\varepsilon}{2\Delta}\big[(u-u')(r)-(u-u')(r')\big]\le\varepsilon",
    (
        Obligation("range", make_goal(_CHANGES, "e >= e*u/(2*D) - e*v/(2*D)", "D >= u", "v >= -D"), "u and v: the changes of two utilities",
                   {"leaf": "positive", "multipliers": [[["/", "e", ["*", "2", "D"]], 0], [["/", "e", ["*", "2", "D"]], 1]]},
                   {"e": "1", "D": "1", "u": "1", "v": "-1"}),
        Obligation("monotone", make_goal(_CHANGES, "e/2 >= e*u/(2*D) - e*v/(2*D)", "D >= u", "v >= 0"), "the changes of one sign",
                   {"leaf": "positive", "multipliers": [[["/", "e", ["*", "2", "D"]], 0], [["/", "e", ["*", "2", "D"]], 1]]},
                   {"e": "1", "D": "1", "u": "1", "v": "0"}),
    ),
    reading=("the logarithm of a normalising sum does not depend on the outcome: it cancels in the difference of two losses",),
    not_covered="other exponents than epsilon u/(2 Delta); noise drawn by a sampler that is not exact",
)  # fmt: skip

_GAP = {"y": "(0, 1)"}
PERMUTE_AND_FLIP = _quoted(
    "permute_and_flip", "Permute-and-flip is differentially private", ("arXiv:2010.12603", "v1", "Theorem 1"),
    "Permute-and-flip with exp(epsilon u/(2 Delta)) is epsilon-differentially private.",
    r"L\le\varepsilon",
    "a bounded range: classic.permute_and_flip_range",
)  # fmt: skip

PERMUTE_AND_FLIP_RANGE = Statement(
    "classic.permute_and_flip_range", "project", "Permute-and-flip does not have range epsilon",
    _note("docs/notes/pairs.md, section 3", "classic.permute_and_flip_range"),
    "Two candidates, tied on one side and 2 Delta apart on the other: permute-and-flip loses epsilon on one and -log(2 - e^-epsilon) on the other, which are "
    "more than epsilon apart. So the pair of classic.bounded_range does not serve it, and randomised response does.",
    r"\varepsilon+\log(2-e^{-\varepsilon})>\varepsilon",
    (
        Obligation("wider", make_goal(_GAP, "2 - y > 1"), "y = e^-epsilon", mutation=make_goal(_GAP, "2 - y > 1001/1000")),
        Obligation("losses", make_goal(_GAP, "(1/2)/(1 - y/2) == 1/(2 - y)"),
                   "the better candidate has 1/2 on the tied side and 1 - y/2 on the other", witness={"y": "1/2"}),
    ),
    ("classic.permute_and_flip",),
    not_covered="the smallest pair for permute-and-flip",
)  # fmt: skip

VISIBLE = Statement(
    "classic.visible_choice", "project", "A visible choice between pairs",
    _note("docs/notes/sampling.md, section 5", "classic.visible_choice"),
    "If what is done is drawn first, with known probabilities w_i that are the same on both neighbours, and the draw is part of the output, the profile is the sum of "
    "the w_i times the profiles; the disjoint union of the pairs, weighted, dominates. With a coin of probability q between M and nothing, delta is q delta_M at the same epsilon.",
    r"H_\alpha\Big(\bigoplus w_iP_i\,\Big\|\,\bigoplus w_iQ_i\Big)=\sum_iw_iH_\alpha(P_i\|Q_i)",
    (
        Obligation("scaled", make_goal({"w": "(0, 1]", "p": "[0, inf)", "q": "[0, inf)", "alpha": "[0, inf)"}, "w*p - alpha*(w*q) == w*(p - alpha*q)"),
                   "each branch's density, so each positive part", witness={"w": "1/2", "p": "3", "q": "1", "alpha": "1"}),
    ),
    reading=("a disjoint union of finitely many pairs: its integral is their sum, and what is drawn is a part of the output",),
    not_covered="coins that only records present in the data have, when they are shown: under add/remove these lose infinitely with the coin's probability",
)  # fmt: skip

SHIFTS = Statement(
    "classic.log_concave_shifts", "project", "Noise with a log-concave law: the largest shift dominates",
    _note("docs/notes/pairs.md, section 4", "classic.log_concave_shifts"),
    "For noise with a log-concave law on the integers or the real line, the pair of shifts 0 and d dominates the pair of 0 and every smaller shift of either sign, if the law is symmetric. "
    "It holds for the discrete Gaussian (Canonne, Kamath and Steinke, arXiv:2004.00010), the geometric and the binomial law, the last in each direction for itself.",
    r"H_\alpha(f\,\|\,f(\cdot-d'))\le H_\alpha(f\,\|\,f(\cdot-d)),\quad0\le d'\le d",
    (
        Obligation("discrete_gaussian",
                   make_goal({"x": "(-inf, inf)", "d": "[1, inf)", "v": "(0, inf)"}, "(x-d)**2/(2*v) - x**2/(2*v) == (d**2-2*d*x)/(2*v)"),
                   "the loss of N_Z(0, v) against N_Z(d, v)", witness={"x": "2", "d": "1", "v": "1"}),
        Obligation("binomial",
                   make_goal({"n": "[1, inf)", "x": "[1, inf)", "c": "(0, inf)", "p": "(0, 1)"},
                              "(c*((n-x+1)/x))*(p/(1-p)) == c*((n+1-x)*p/(x*(1-p)))"),
                   "c the mass of x - 1: that of x is it times (n - x + 1)/x times the odds", witness={"n": "4", "x": "2", "c": "1", "p": "1/2"}),
        Obligation("binomial_falls", make_goal({"n": "[1, inf)", "x": "[1, inf)", "h": "[0, inf)"}, "(n-x+1)/x >= (n-x-h+1)/(x+h)"),
                   "that ratio falls with x: the law is log-concave", None, {"n": "4", "x": "2", "h": "0"}),
        Obligation("concave", make_goal({"w": "[0, 1]"} | dict.fromkeys("ABFG", _LINE), "F + G >= A + B", "F >= (1-w)*A + w*B", "G >= w*A + (1-w)*B"),
                   "A, F, G, B: the logarithms of the law at x - d, x, y - d, y, x < y, w = d/(y - x + d): the ratio f(x)/f(x-d) falls with x",
                   positive(("1", 0), ("1", 1)), {"w": "1/2", "A": "1", "B": "1", "F": "1", "G": "1"}),
        Obligation("event", make_goal({}, "E(a*e) >= E(x*e)", "a*e >= 0", "a*e >= e", random={"a": "[0, 1]", "x": "[0, 1]", "e": _LINE}),
                   "e: f less alpha times f shifted by d', a: whether that is positive, x: any event", expect([("(a - x)*e", positive(("1 - x", 0), ("x", 1)))], positive(("1", 2))),
                   mutation=make_goal({}, "999/1000*E(a*e) >= E(x*e)", "a*e >= 0", "a*e >= e", random={"a": "[0, 1]", "x": "[0, 1]", "e": _LINE})),
        Obligation("further", make_goal({"alpha": "[0, inf)"} | dict.fromkeys("cst", "[0, 1]"), "c - alpha*s >= c - alpha*t", "t >= s"),
                   "c the mass of a lower set, t and s those of the set moved down by d' and by d: the further shift tells more", positive(("alpha", 0)), {"alpha": "1", "c": "1", "s": "1/2", "t": "1/2"}),
    ),
    reading=("x and y - d are the means of x - d and y with the weights 1 - w, w and w, 1 - w, so that f(x-d) f(y) <= f(x) f(y-d) for x < y (0 at the left where f vanishes)",
             "so the points where f(x) is at least alpha f(x-d'), but for points where both vanish, make a lower set U; U moved down by d lies in U moved down by d'",
             "H_alpha at d' is the excess of U there, at most the excess of U at d, at most H_alpha at d; the other order of the pair, and negative shifts of a symmetric law, by reflection",
             "-|x| and -x^2 are concave; a law on the whole numbers is log-concave if the ratio of neighbouring masses falls"),
    not_covered="noise drawn by a sampler that is not exact",
    laws=("discrete-gaussian.mass", "geometric.mass", "binomial.mass"),
)  # fmt: skip

STATEMENTS = (
    CONVEXITY, FIXED_SIZE, WITH_REPLACEMENT, INTERPOLATION, FIXED_SIZE_PAIR, WITH_REPLACEMENT_PAIR,
    POISSON_REPLACED, REPLACED_GAUSSIAN, BOUNDED_RANGE, EXPONENTIAL, PERMUTE_AND_FLIP, PERMUTE_AND_FLIP_RANGE,
    VISIBLE, SHIFTS,
)  # fmt: skip
