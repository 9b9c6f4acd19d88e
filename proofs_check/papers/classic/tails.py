"""Tail bounds that the papers quote: Chernoff, Hoeffding, Azuma, Freedman, chi-square, L1 deviations."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Mapping

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, Node, expect, have, mono, positive, sos, split, subst, taylor
from dpproof.proofs_check.statement import Goal, Obligation, Statement, make_goal

_R, _NN, _P, _U = "(-inf, inf)", "[0, inf)", "(0, inf)", "[0, 1]"
_NOTE = "docs/notes/probability.md"
_EXP = "the exponential is increasing, so that a bound on an exponent is one on the exponential"
_STEPS = "the sum of no terms is 0, where the bound reads 1 <= 1; each step adds one term: the bound for every number of terms, by induction"


def _identity(*multipliers: tuple[str, int]) -> Node:
    """An identity up to multiples of equations."""
    return {**positive(*multipliers), "leaf": "identity"}


def _chord(variable: str) -> Node:
    """A convex exponential lies below its chord on [0, 1]: the gap grows from zero with the slope."""
    return subst("x", "1 - y", "y", _U, mono(variable, 1, IDENTITY))


_STEP = {"g": _NN, "p": _U, "m": _NN}


def _pair(variables: Mapping[str, str], goal: str, *given: str) -> Goal:
    """A claim about a new summand x that is independent of the sum s so far."""
    return make_goal(variables, goal, *given, random={"x": _U, "s": _NN}, independent=[["x"], ["s"]])


_UP = "E(exp((s+x)*log(1+g)))"
_UP_GIVEN = ("E(x) == p", "exp(m*g) >= E(exp(s*log(1+g)))")
_UP_PROOF = expect(
    [("1 + x*g - exp(x*log(1+g))", _chord("g"))],
    have("exp(p*g) >= 1 + p*g", mono("p", 1, IDENTITY),
         have("exp(p*g) >= E_2", positive(("-g", 0), ("1", 2), ("1", 3)), positive(("exp(p*g)", 1), ("E_1", 4)))),
)  # fmt: skip
_BENNETT = have(
    "log(1+d) >= 2*d/(2+d)", mono("d", 1, IDENTITY),
    have("(1+d)*2*d/(2+d) - d >= d**2/3", {"leaf": "bernstein", "var": "d", "degree": 3}, positive(("1+d", 0), ("1", 1))),
)  # fmt: skip
_DEV = {"m": _P, "d": _U}
CHERNOFF_UPPER = Statement(
    "classic.chernoff_upper", "project", "Chernoff's bound, upper tail",
    Source("doi:10.1214/aoms/1177729330", "1952", "Theorem 1", "classic.chernoff_upper"),
    "For a sum S of independent variables in [0, 1] of mean m and every d in [0, 1], Pr[S >= (1+d) m] <= exp(-m d^2/3); with t = d m: "
    "Pr[S - m >= t] <= exp(-t^2/(3 m)) for 0 <= t <= m, and for the same t with any larger number in place of m in the exponent.",
    r"\Pr[S\ge(1+d)m]\le e^{-m((1+d)\ln(1+d)-d)}\le e^{-md^2/3}",
    (
        Obligation("summand", _pair(_STEP, f"exp((m+p)*g) >= {_UP}", *_UP_GIVEN),
                   "one more independent summand x of mean p; exp(l) = 1 + g", _UP_PROOF,
                   mutation=_pair(_STEP, f"exp((m+p)*g) >= 1001/1000*{_UP}", *_UP_GIVEN)),
        Obligation("optimum", make_goal(_DEV, "m*d - (1+d)*m*log(1+d) == -m*((1+d)*log(1+d) - d)"),
                   "g = d in m g - (1+d) m log(1+g)", witness={"m": "1", "d": "1"}),
        Obligation("third", make_goal({"d": _U}, "(1+d)*log(1+d) - d >= d**2/3"), "log(1+d) >= 2d/(2+d)", _BENNETT,
                   mutation=make_goal({"d": _U}, "(1+d)*log(1+d) - d >= 2*d**2/5")),
        Obligation("deviation", make_goal(_DEV, "m*d**2/3 == (m*d)**2/(3*m)"), "t = d m", witness={"m": "1", "d": "1"}),
        Obligation("larger_mean", make_goal({"m": _P, "b": _NN, "t": _NN}, "t**2/(3*m) >= t**2/(3*(m+b))"), "m + b in place of m",
                   witness={"m": "1", "b": "0", "t": "1"}),
    ),
    ("classic.markov",),
    reading=(_STEPS, "l = log(1+g), and the exponential form of classic.markov for S - (1+d) m", _EXP),
    not_covered="d above 1, where the exponent is smaller; m = 0, where the sum is 0",
)  # fmt: skip

_DOWN = {"g": "[0, 1)", "p": _U, "m": _NN}
_LOW = "E(exp((s+x)*log(1-g)))"
_LOW_GIVEN = ("E(x) == p", "exp(-m*g) >= E(exp(s*log(1-g)))")
_LOW_PROOF = expect(
    [("1 - x*g - exp(x*log(1-g))", _chord("g"))],
    have("exp(-p*g) >= 1 - p*g", mono("p", 1, IDENTITY),
         have("exp(-p*g) >= E_2", positive(("g", 0), ("1", 2), ("1", 3)), positive(("exp(-p*g)", 1), ("E_1", 4)))),
)  # fmt: skip
_LEFT = {"m": _P, "w": "(0, 1]"}
CHERNOFF_LOWER = Statement(
    "classic.chernoff_lower", "project", "Chernoff's bound, lower tail",
    Source("doi:10.1214/aoms/1177729330", "1952", "Theorem 1", "classic.chernoff_lower"),
    "For a sum S of independent variables in [0, 1] of mean m and every d in [0, 1], Pr[S <= (1-d) m] <= exp(-m d^2/2); with t = d m: "
    "Pr[m - S >= t] <= exp(-t^2/(2 m)) <= exp(-t^2/(3 m)).",
    r"\Pr[S\le(1-d)m]\le e^{-m((1-d)\ln(1-d)+d)}\le e^{-md^2/2}",
    (
        Obligation("summand", _pair(_DOWN, f"exp(-(m+p)*g) >= {_LOW}", *_LOW_GIVEN),
                   "one more independent summand x of mean p; exp(-l) = 1 - g", _LOW_PROOF,
                   mutation=_pair(_DOWN, f"exp(-(m+p)*g) >= 1001/1000*{_LOW}", *_LOW_GIVEN)),
        Obligation("optimum", make_goal(_LEFT, "-m*(1-w) - w*m*log(w) == -m*(1 - w + w*log(w))"),
                   "g = d = 1 - w in -m g - (1-d) m log(1-g)", witness={"m": "1", "w": "1/2"}),
        Obligation("half", make_goal({"w": "(0, 1]"}, "1 - w + w*log(w) >= (1-w)**2/2"), "w = 1 - d; log(w) >= (w - 1/w)/2",
                   have("log(w) >= (w - 1/w)/2", mono("w", -1, IDENTITY), positive(("w", 0))), {"w": "999/1000"}),
        Obligation("weaker", make_goal({"m": _P, "t": _NN}, "t**2/(2*m) >= t**2/(3*m)"), "the form in which both tails are printed",
                   mutation=make_goal({"m": _P, "t": _NN}, "t**2/(2*m) >= t**2*501/(1000*m)")),
    ),
    ("classic.markov",),
    reading=(_STEPS, "l = -log(1-g), and the exponential form of classic.markov for (1-d) m - S",
             "d = 1: where S <= 0 the exponential exp(S log(1-g)) is 1, so that Pr[S <= 0] <= exp(-m g), here with g = 1/2", _EXP),
    not_covered="the middle of the displayed bounds at d = 1; m = 0, where the sum is 0",
)  # fmt: skip

_HALF = {"h": _NN, "p": _U, "z": _R}
_NAMED = "z == (2*p - 1)*h + h**2/3"
_LOWER_END = "(1 - h + h**2/3)*exp(h + h**2/6) >= 1"
_UPPER_END = "(1 + h + h**2/3)*exp(h**2/6 - h) >= 1"
_LEMMA_PROOF = expect(
    [("1 + x*(exp(2*h)-1) - exp(2*h*x)", _chord("h"))],
    have(_LOWER_END, mono("h", 1, IDENTITY), have(_UPPER_END, mono("h", 1, IDENTITY), have("exp(z) >= 1 + z", taylor("z", "0", 2),
         positive(("1 - exp(2*h)", 0), ("exp(h + h**2/6)", 1), ("1", 2), ("1 - p", 3), ("p*exp(2*h)", 4), ("exp(h + h**2/6)", 5))))),
)  # fmt: skip

_RATE = {"n": _P, "t": _NN}
HOEFFDING = Statement(
    "classic.hoeffding", "project", "Hoeffding's lemma and inequality",
    Source("doi:10.1080/01621459.1963.10500830", "1963", "Theorem 2 and (4.16)", "classic.hoeffding"),
    "For x in [0, 1] of mean p and l >= 0, E exp(l (x - p)) <= exp(l^2/8). For a sum S of n independent variables in [0, 1] of mean m and t >= 0, "
    "Pr[S - m >= n t] <= exp(-2 n t^2), likewise for m - S; for variables in intervals of length c, exp(-2 n t^2/c^2).",
    r"E\,e^{l(x-p)}\le e^{l^2/8},\qquad\Pr[S-m\ge nt]\le e^{-2nt^2}",
    (
        Obligation("lemma", make_goal(_HALF, "exp(z + h + h**2/6) >= E(exp(2*h*x))", "E(x) == p", _NAMED, random={"x": _U}),
                   "l = 2 h; exp(lx) lies below its chord, the chord's mean below exp(h + h^2/6) (1 + z), that below the bound", _LEMMA_PROOF,
                   mutation=make_goal(_HALF, "exp(z + h + h**2/6) >= 1001/1000*E(exp(2*h*x))", "E(x) == p", _NAMED, random={"x": _U})),
        Obligation("exponent", make_goal(_HALF, "z + h + h**2/6 == 2*h*p + (2*h)**2/8", _NAMED), "the bound's exponent is l p + l^2/8",
                   _identity(("1", 0)), {"h": "1", "p": "1/2", "z": "1/3"}),
        Obligation("tail", make_goal(_RATE, "n*(4*t)**2/8 - 4*t*n*t == -2*n*t**2"), "l = 4 t", witness={"n": "1", "t": "1"}),
        Obligation("optimum", make_goal(_RATE | {"l": _NN}, "n*l**2/8 - l*n*t >= -2*n*t**2"), "no l gives less",
                   sos(("1/8", "n*(l - 4*t)"), over="n"), {"n": "1", "t": "1", "l": "4"}),
    ),
    ("classic.markov", "classic.independent_sum"),
    reading=("z names (2p-1)h + h^2/3", _STEPS, "lower tails are upper tails of 1 - x; intervals of length c by scaling", _EXP),
)  # fmt: skip

_AZUMA = {"l": _NN, "c": _NN, "v": _NN}
_COSH = "exp(l**2*c**2/6)**3 >= (exp(l*c) + exp(-l*c))/2"


def _under_cosh(first: int, sub: Node) -> Node:
    """Show cosh(lc) <= exp(l^2 c^2/2), from the two inequalities of Hoeffding's lemma at p = 1/2."""
    grows = mono("l", 1, IDENTITY)
    return have("(1 - l*c + l**2*c**2/3)*exp(l*c + l**2*c**2/6) >= 1", grows,
           have("(1 + l*c + l**2*c**2/3)*exp(l**2*c**2/6 - l*c) >= 1", grows,
           have("exp(l**2*c**2/6)**2 >= 1 + l**2*c**2/3", grows,
           have(_COSH, positive(("exp(-l*c)/2", first), ("exp(l*c)/2", first + 1), ("exp(l**2*c**2/6)", first + 2)), sub))))  # fmt: skip


_GAP = "1 - (1+y)/2 + (1+y)/2*exp(2*l*c) - exp(l*c*(1+y)) >= 0"
_BOTH_ENDS = have(
    _GAP, subst("y", "1 - w", "w", "[0, 2]", mono("l", 1, IDENTITY)), positive(("exp(l*s - l*c)", 2))
)
_AZUMA_PROOF = expect(
    [("exp(l*s)*((exp(l*c) + exp(-l*c))/2 + y*(exp(l*c) - exp(-l*c))/2 - exp(l*c*y))", _BOTH_ENDS)],
    _under_cosh(3, positive(("1", 2), ("-(exp(l*c) - exp(-l*c))/2", 0), ("exp(l**2*c**2/6)**3", 1), ("E_3", 6))),
)  # fmt: skip
_AZUMA_GOAL = "exp(l**2*v/2)*exp(l**2*c**2/6)**3 >= {}E(exp(l*(s+c*y)))"
_AZUMA_GIVEN = ("E(exp(l*s)*y) == 0", "exp(l**2*v/2) >= E(exp(l*s))")
_AZUMA_LAW = {"s": _R, "y": "[-1, 1]"}
AZUMA = Statement(
    "classic.azuma", "project", "Azuma's inequality",
    Source("doi:10.2748/tmj/1178243286", "1967", "Theorem 1", "classic.azuma"),
    "Martingale differences X_k with |X_k| <= c_k, known numbers, and v the sum of their squares: for t >= 0, Pr[sum X_k >= t] <= exp(-t^2/(2 v)), "
    "so that with probability at least 1 - delta the sum is below sqrt(2 v ln(1/delta)).",
    r"\Pr\Big[\sum_kX_k\ge t\Big]\le e^{-t^2/(2\sum_kc_k^2)}",
    (
        Obligation("step", make_goal(_AZUMA, _AZUMA_GOAL.format(""), *_AZUMA_GIVEN, random=_AZUMA_LAW),
                   "s: the sum so far, c y the next difference; exp(l c y) lies below its chord on [-1, 1], cosh(lc) below exp(l^2 c^2/2)", _AZUMA_PROOF,
                   mutation=make_goal(_AZUMA, _AZUMA_GOAL.format("1001/1000*"), *_AZUMA_GIVEN, random=_AZUMA_LAW)),
        Obligation("exponent", make_goal({"t": _NN, "v": _P}, "(t/v)**2*v/2 - t/v*t == -t**2/(2*v)"), "l = t/v", witness={"t": "1", "v": "1"}),
        Obligation("quantile", make_goal({"L": _NN, "v": _P}, "sqrt(2*v*L)**2/(2*v) == L"), "t = sqrt(2 v ln(1/delta))", witness={"L": "1", "v": "1"}),
    ),
    ("classic.markov",),
    reading=("a martingale difference has E[w X] = 0 for every weight w that the past determines, here w = exp(l s)",
             "exp(l^2 c^2/6)^3 is exp(l^2 c^2/2), so that the bound's exponent is l^2 (v + c^2)/2", _STEPS, _EXP),
)  # fmt: skip

_QUADRATIC = split("z", "0", taylor("z", "0", 2), split("z", "1/2", taylor("z", "0", 2), split("z", "3/5", taylor("z", "1/2", 1),
    split("z", "7/10", taylor("z", "3/5", 1), split("z", "4/5", taylor("z", "7/10", 1),
    split("z", "9/10", taylor("z", "4/5", 1), taylor("z", "9/10", 1)))))))  # fmt: skip
_FREEDMAN_PROOF = expect(
    [("w*(1 + z + z**2 - exp(z))", have("1 + z + z**2 >= exp(z)", _QUADRATIC, positive(("w", 4)))),
     ("w*(exp(q) - 1 - q)", have("exp(q) >= 1 + q", taylor("q", "0", 2), positive(("w", 4))))],
    positive(("-1", 0), ("-1", 1), ("1", 2), ("1", 4), ("1", 5)),
)  # fmt: skip
_FREEDMAN_GIVEN = ("E(w*z) == 0", "E(w*z**2) == E(w*q)", "1 >= E(w*exp(q))", "1 >= E(w)")
_FREEDMAN_LAW = {"w": _NN, "q": _NN, "z": "(-inf, 1]"}
_LAST = {"l": _P, "s": _R, "v": _NN, "delta": "(0, 1)"}
FREEDMAN = Statement(
    "classic.freedman", "project", "Freedman's inequality, with the conditional variances in the bound",
    Source("doi:10.1214/aop/1176996452", "1975", "Theorem 1.6 and its proof", "classic.freedman"),
    "Martingale differences Y_k <= R, 0 < lambda <= 1/R, delta in (0, 1): with probability at least 1 - delta, "
    "sum Y_k <= lambda sum E[Y_k^2 | past] + ln(1/delta)/lambda.",
    r"\sum_kY_k\le\lambda\sum_kE[Y_k^2\mid F_{k-1}]+\frac{\ln(1/\delta)}{\lambda}",
    (
        Obligation("step", make_goal({}, "1 >= E(w*exp(z))", *_FREEDMAN_GIVEN, random=_FREEDMAN_LAW),
                   "z = lambda Y <= 1 and q = E[z^2 | past]; exp(z) <= 1 + z + z^2 and 1 + q <= exp(q)", _FREEDMAN_PROOF,
                   mutation=make_goal({}, "999/1000 >= E(w*exp(z))", *_FREEDMAN_GIVEN, random=_FREEDMAN_LAW)),
        Obligation("rearranged", make_goal(_LAST, "l*v + log(1/delta)/l >= s", "log(1/delta) >= l*s - l**2*v"), "off the event, l = lambda",
                   positive(("1/l", 0)), {"l": "1", "s": "1693147/1000000", "v": "1", "delta": "1/2"}),
    ),
    ("classic.markov",),
    reading=("M_k = exp(lambda sum_(i<=k) Y_i - lambda^2 sum_(i<=k) E[Y_i^2 | past]); w = M_(k-1) exp(-q) is known before Y_k, M_(k-1) = w exp(q), M_k = w exp(z)",
             "w is at most M_(k-1), which the fourth hypothesis repeats: E[w] <= 1", _STEPS, "classic.markov for M_K at 1/delta"),
    not_covered="lambda = 0, where the printed bound divides by zero",
)  # fmt: skip

_ROOTS = {"a": _P, "b": _NN}
LAURENT_MASSART = Statement(
    "classic.laurent_massart", "project", "Tails of the chi-square law",
    Source("doi:10.1214/aos/1015957395", "2000", "Lemma 1", "classic.laurent_massart"),
    "For X chi-square with d degrees of freedom and t >= 0, Pr[X - d >= 2 sqrt(d t) + 2 t] <= exp(-t) and Pr[d - X >= 2 sqrt(d t)] <= exp(-t).",
    r"\Pr[X-d\ge2\sqrt{dt}+2t]\le e^{-t},\qquad\Pr[d-X\ge2\sqrt{dt}]\le e^{-t}",
    (
        Obligation("upper", make_goal({"x": "(0, 1]"}, "(1-x)**2/(4*x) >= -(1-x)/2 - log(x)/2"), "x = 1 - 2l: -l - log(1-2l)/2 <= l^2/(1-2l)",
                   mono("x", -1, IDENTITY), {"x": "9999/10000"}),
        Obligation("upper_optimum", make_goal(_ROOTS, "a**2*(b/(a+2*b))**2/(1 - 2*b/(a+2*b)) - b/(a+2*b)*(2*a*b + 2*b**2) == -b**2"),
                   "l = sqrt(t)/(sqrt(d) + 2 sqrt(t)); a = sqrt(d), b = sqrt(t)", witness={"a": "1", "b": "1"}),
        Obligation("lower", make_goal({"l": _NN}, "l**2 >= l - log(1+2*l)/2"), "the other tail's exponent", mono("l", 1, IDENTITY), {"l": "1/10000"}),
        Obligation("lower_optimum", make_goal(_ROOTS, "a**2*(b/a)**2 - b/a*(2*a*b) == -b**2"), "l = sqrt(t/d)", witness={"a": "1", "b": "1"}),
    ),
    ("classic.markov", "classic.independent_sum"),
    reading=("E exp(l Z^2) = (1-2l)^(-1/2) for l < 1/2 and a standard normal Z: the integral of a Gaussian density of variance 1/(1-2l)",
             "X is the sum of d independent squares", _EXP),
    not_covered="weighted sums of squares",
    laws=("chi-square.mgf", "gaussian.density"),
)  # fmt: skip

_SUBSET = {"n": _P, "r": _NN}
_STATES = {"S": "[1, inf)", "L": _P}
WEISSMAN = Statement(
    "classic.weissman", "project", "L1 deviation of an empirical distribution",
    Source("Hewlett-Packard Labs HPL-2003-97", "R.1", "Theorem 2.1", "classic.weissman"),
    "The empirical distribution of n independent draws from a distribution P on S >= 2 points has Pr[||P^ - P||_1 >= r] <= (2^S - 2) exp(-n r^2/2). In particular "
    "for L >= ln 2 the probability of ||P^ - P||_1 >= sqrt(4 S L/n) is at most exp(-L).",
    r"\Pr[\|\hat P-P\|_1\ge r]\le(2^S-2)e^{-nr^2/2}",
    (
        Obligation("halves", make_goal({"a": _NN, "b": _NN}, "a + b == 2*a", "a == b"), "a: where P^ is larger, b: where it is smaller; both add up to 1",
                   _identity(("-1", 0)), {"a": "1", "b": "1"}),
        Obligation("subset", make_goal(_SUBSET, "2*n*(r/2)**2 == n*r**2/2"), "Hoeffding's exponent for one set of points and a deviation of r/2",
                   witness={"n": "1", "r": "1"}),
        Obligation("radius", make_goal(_STATES | {"n": _P}, "n*sqrt(4*S*L/n)**2/2 == 2*S*L"), "the exponent at r = sqrt(4 S L/n)",
                   witness={"S": "1", "L": "1", "n": "1"}),
        Obligation("used", make_goal(_STATES, "2*S*L - S*log(2) >= L", "L >= log(2)"), "2^S exp(-2 S L) <= exp(-L), in logarithms", positive(("S", 0)),
                   {"S": "1", "L": "6932/10000"}),
    ),
    ("classic.hoeffding", "classic.union_bound"),
    reading=("||P^ - P||_1 >= r means that some set of points, neither empty nor all, has P^(A) - P(A) >= r/2: the points where P^ is larger",
             "P^(A) is a mean of n independent indicators; 2^S - 2 sets by classic.union_bound", _EXP),
)  # fmt: skip

STATEMENTS = (CHERNOFF_UPPER, CHERNOFF_LOWER, HOEFFDING, AZUMA, FREEDMAN, LAURENT_MASSART, WEISSMAN)
