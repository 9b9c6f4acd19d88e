"""Sensitivities of "Differentially Private Policy Evaluation": Lemmas 2, 4, 5 and Corollary 3 (DP-LSW).

A sum over the N states is N times the expectation over a state drawn uniformly: what depends on a state is a
random variable, and facts about one state are facts about sums. Visits are relaxed to real numbers where
that only strengthens a proof.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import IDENTITY, POSITIVE, enumerated, expect, mono, positive, split
from dpproof.proofs_check.papers.policy_evaluation.noise import source
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

REAL, HALF, POS, UNIT = "(-inf, inf)", "[0, inf)", "(0, inf)", "[0, 1]"
STATES = "a sum over the N states is N times the expectation under the uniform law on them; what depends on the state is a random variable"
_SQUARED = "both sides are nonnegative and stand squared"

# -- Lemma 2 and Corollary 3 ------------------------------------------------------------------------------

_RETURN = {"R": HALF, "y": "[0, 1)", "r": HALF, "f": HALF}
_VISITS = dict.fromkeys("nFGfg", HALF)
_STATE = {"w": HALF, "x": REAL, "v": UNIT}
_BOUNDS = ("F*v >= x", "F*v >= -x")

LEMMA2 = Statement(
    "eval.lemma2", "statement", "Replacing a trajectory moves the average returns", source("Lemmas 2 and 16", "eval.lemma2"),
    "For all X, X' that differ in the last trajectory, ||F_X - F_X'||^2 in the norm of weights w_s is at most (Rmax/(1-gamma))^2 times the sum of "
    "w_s/(n_s + 1)^2 over the states that x or x' visits, n_s being the visits by the other trajectories.",
    r"\|F_X-F_{X'}\|_{2,\Gamma}\le\frac{R_{\max}}{1-\gamma}\sqrt{\sum_{s\in S_x\cup S_{x'}}\frac{w_s}{(|X_s^\circ|+1)^2}}",
    (
        Obligation("discount", make_goal(_RETURN, "R/(1 - y) >= r + y*f", "R >= r", "R/(1 - y) >= f"),
                   "r a reward, f the return that follows it",
                   positive(("1", 0), ("y", 1)), {"R": "1", "y": "1/2", "r": "1", "f": "2"}),
        Obligation("both", make_goal(_VISITS, "F/(n + 1) >= (n*G + f)/(n + 1) - (n*G + g)/(n + 1)", "F >= f"),
                   "x and x' visit the state, with returns f and g; n others do, with average G (0 if n = 0)", positive(("1/(n + 1)", 0)),
                   {"n": "0", "F": "1", "G": "0", "f": "1", "g": "0"}),
        Obligation("first", make_goal(_VISITS, "F/(n + 1) >= (n*G + f)/(n + 1) - G", "F >= f"), "only x visits: (f - G)/(n + 1)",
                   positive(("1/(n + 1)", 0)), {"n": "1", "F": "1", "G": "0", "f": "1", "g": "0"}),
        Obligation("second", make_goal(_VISITS, "F/(n + 1) >= G - (n*G + g)/(n + 1)", "F >= G"), "only x' visits: (G - g)/(n + 1)",
                   positive(("1/(n + 1)", 0)), {"n": "1", "F": "1", "G": "1", "f": "0", "g": "0"}),
        Obligation("sum", make_goal({"F": HALF}, "F**2*E(w*v**2) >= E(w*x**2)", *_BOUNDS, random=_STATE),
                   "over all states: v = 1/(n+1) where x or x' visits and 0 elsewhere, x the difference",
                   expect([("F**2*w*v**2 - w*x**2", positive(("w", 0, 1)))], positive(("1", 2))),
                   mutation=make_goal({"F": HALF}, "F**2*E(w*v**2)/2 >= E(w*x**2)", *_BOUNDS, random=_STATE)),
    ),
    reading=("a return is a reward and a discounted return: by induction on the length it is at most Rmax/(1 - gamma) (discount)", STATES, _SQUARED, "F stands for Rmax/(1-gamma); a trajectory that does not visit the state has return 0 there, so that f <= F i",
             "a state that neither visits has the same average, and one that no other trajectory visits has n = 0 and G = 0",
             "the bound on the difference holds for X, X' in either order, which is what both signs in the sum ask"),
)  # fmt: skip

_COUNT = {"n": HALF, "i": UNIT, "j": UNIT}
_TRUNC = {"w": HALF, "p": UNIT, "q": UNIT}
COROLLARY3 = Statement(
    "eval.corollary3", "statement", "The same by what X alone shows", source("Corollaries 3 and 17", "eval.corollary3"),
    "For every X and every neighbour, ||F_X - F_X'||^2 is at most (Rmax/(1-gamma))^2 times the sum over all states of w_s/max(|X_s|, 1)^2.",
    r"\|F_X-F_{X'}\|_{2,\Gamma}\le\frac{R_{\max}}{1-\gamma}\sqrt{\sum_s\frac{w_s}{\max\{|X_s|,1\}^2}}",
    (
        Obligation("visits", make_goal(_COUNT | {"n": "[1, inf)"}, "1/(n + i)**2 >= (i + j - i*j)/(n + 1)**2", integers="ij"),
                   "|X_s| = n + i, for n >= 1 visits by the others", enumerated("i", enumerated("j", POSITIVE)), {"n": "1", "i": "1", "j": "1"}),
        Obligation("fresh", make_goal({"i": UNIT, "j": UNIT}, "1 >= i + j - i*j", integers="ij"), "|X_s| is 0 or 1: the maximum is 1",
                   enumerated("i", enumerated("j", POSITIVE)), {"i": "1", "j": "1"}),
        Obligation("sum", make_goal({}, "E(w*p) >= E(w*q)", "p >= q", random=_TRUNC), "over all states, p and q the two squared shares",
                   expect([("w*p - w*q", positive(("w", 0)))], positive(("1", 1))), mutation=make_goal({}, "E(w*p) >= 2*E(w*q)", "p >= q", random=_TRUNC)),
    ),
    rests_on=("eval.lemma2",), reading=(STATES, _SQUARED),
)  # fmt: skip

# -- Lemma 4: smooth upper bounds -------------------------------------------------------------------------

_ENVELOPE = {"k": HALF, "b": POS}
_NEXT = _ENVELOPE | {"f": REAL, "g": REAL, "S": REAL}
_CLIMB = ("g >= f", "S >= exp(-(k + 1)*b)*g")
_PATH = _ENVELOPE | {"A": REAL, "B": REAL, "D": REAL}
_STEPS = ("A >= exp(-k*b)*B", "B >= exp(-b)*D")
_BALL = {"k": HALF, "u": REAL, "v": REAL, "x": REAL}
_NEAR = ("1 >= u - v", "1 >= v - u", "k >= v - x", "k >= x - v")

LEMMA4 = Statement(
    "eval.lemma4", "quoted", "The smallest smooth upper bound", source("Lemma 4", "eval.lemma4"),
    "For beta > 0 the supremum over k of exp(-k beta) times the maximum of phi within distance k is the smallest beta-smooth upper bound of phi.",
    r"\psi(v)=\sup_{k\ge0}e^{-k\beta}\varphi_k(v)",
    parts=("eval.lemma4.upper", "eval.lemma4.smooth", "eval.lemma4.smallest"),
    domain="phi that is somewhere positive (it may be negative elsewhere), and for which the supremum is finite",
    not_covered="as printed phi is any real function on vectors of counts, but this domain is all that can be had: if phi is nowhere positive, every positive constant is a smooth "
    "upper bound and none is the smallest; where the supremum is infinite (phi = exp(v^2)) there is no smooth upper bound",
)  # fmt: skip

UPPER = Statement(
    "eval.lemma4.upper", "quoted", "It is an upper bound", source("Lemma 4", "eval.lemma4"),
    "The term k = 0 of the supremum is phi itself.", r"\psi(v)\ge e^{0}\varphi_0(v)=\varphi(v)",
    (Obligation("first", make_goal({"b": POS, "f": REAL, "S": REAL}, "S >= f", "S >= exp(-0*b)*f"), "S = psi(v), f = phi(v)", positive(("1", 0)),
                {"b": "1", "f": "1", "S": "1"}),),
    reading=("a supremum is at least each of its terms",),
)  # fmt: skip

SMOOTH = Statement(
    "eval.lemma4.smooth", "quoted", "It is smooth", source("Lemma 4", "eval.lemma4"),
    "If u and v differ by at most 1 in each coordinate, psi(u) <= exp(beta) psi(v): a point within k of u is within k + 1 of v.",
    r"\psi(u)\le e^\beta\psi(v)",
    (
        Obligation("ball", make_goal(_BALL, "k + 1 >= u - x", "1 >= u - v", "k >= v - x"), "one coordinate that rises",
                   positive(("1", 0), ("1", 1)), {"k": "0", "u": "1", "v": "0", "x": "0"}),
        Obligation("ball_down", make_goal(_BALL, "k + 1 >= x - u", "1 >= v - u", "k >= x - v"), "one that falls",
                   positive(("1", 0), ("1", 1)), {"k": "0", "u": "0", "v": "1", "x": "1"}),
        Obligation("term", make_goal(_NEXT, "exp(b)*S >= exp(-k*b)*f", *_CLIMB), "f = phi_k(u), g = phi_(k+1)(v), S = psi(v): every term of psi(u)",
                   positive(("exp(b)", 1), ("exp(-k*b)", 0)), None,
                   make_goal(_NEXT, "S >= exp(-k*b)*f", *_CLIMB)),
    ),
    reading=("a maximum over a larger set is at least as large; a number above every term is above the supremum",
             "psi > 0 everywhere, as every v is at some finite distance from a point where phi is positive; then the two orders of u and v give |log psi(u) - log psi(v)| <= beta"),
)  # fmt: skip

SMALLEST = Statement(
    "eval.lemma4.smallest", "quoted", "No smooth upper bound is smaller", source("Lemma 4", "eval.lemma4"),
    "A beta-smooth upper bound falls by at most exp(-beta) a step, along k steps from v to the point where phi is largest within k.",
    r"\psi'(v)\ge e^{-k\beta}\psi'(v')\ge e^{-k\beta}\varphi(v')",
    (
        Obligation("step", make_goal(_PATH, "A >= exp(-(k + 1)*b)*D", *_STEPS), "one more step",
                   positive(("1", 0), ("exp(-k*b)", 1)), None, make_goal(_PATH, "A >= exp(-k*b)*D", *_STEPS)),
        Obligation("path", make_goal({"k": HALF, "v": HALF, "x": HALF}, "k >= x - (v + 1)", "k + 1 >= x - v"), "a coordinate that is too small moves up by 1; too large, down",
                   positive(("1", 0)), {"k": "1", "v": "0", "x": "2"}),
    ),
    reading=("every coordinate that differs moves by 1 towards its end at each step, so that k steps reach every vector of counts within k; the bound for k steps by induction",),
)  # fmt: skip

# -- Lemma 5 ----------------------------------------------------------------------------------------------

_CUT = {"x": "[1, inf)", "M": "[1, inf)", "u": HALF}
_SUMS = {"w": HALF, "p": UNIT, "q": UNIT}
LEMMA5 = Statement(
    "eval.lemma5", "statement", "The envelope of DP-LSW's sensitivity", source("Lemmas 5 and 18", "eval.lemma5"),
    "The maximum of the sum of w_s/max(v'_s, 1)^2 over count vectors v' within k of v is the sum of w_s/max(v_s - k, 1)^2, and from k >= max v_s - 1 on it is the sum of w.",
    r"\varphi^w_k(v)=\sum_s\frac{w_s}{\max\{v_s-k,1\}^2}",
    (
        Obligation("flat", make_goal({"M": "[1, inf)"}, "1/1**2 >= 1/M**2"), "where v - k <= 1; M = max(v', 1)", witness={"M": "1"}),
        Obligation("falling", make_goal(_CUT, "1/x**2 >= 1/M**2", "M >= u", "u >= x"), "where x = v - k >= 1; u = v'",
                   positive(("(M + x)/(x*M)**2", 0), ("(M + x)/(x*M)**2", 1)), {"x": "1", "M": "1", "u": "1"}),
        Obligation("sum", make_goal({}, "E(w*p) >= E(w*q)", "p >= q", random=_SUMS), "all states at once: p a state's largest share, q another one",
                   expect([("w*p - w*q", positive(("w", 0)))], positive(("1", 1))), mutation=make_goal({}, "E(w*p) >= 2*E(w*q)", "p >= q", random=_SUMS)),
        Obligation("constant", make_goal({"v": HALF, "k": HALF, "n": HALF}, "1 >= v - k", "k >= n - 1", "n >= v"), "from k >= max v - 1 on every maximum is 1",
                   positive(("1", 0), ("1", 1)), {"v": "2", "k": "1", "n": "2"}),
    ),
    reading=(STATES, "max(x, 1) is 1 where x <= 1 and x where x >= 1",
             "the maximum is attained at v' = max(v - k, 0), which is within k of v, and there max(v', 1) = max(v - k, 1): each coordinate has its largest share at the same v'"),
)  # fmt: skip

RANGE_K = Statement(
    "eval.lemma5.range", "project", "Why 0 <= k <= K_X is enough for DP-LSW", source("Algorithm 1", "eval.lemma5"),
    "Past K_X the envelope is constant and exp(-k beta) falls, so that no later term is larger; a data set that visits no state has K_X = 0 and the bound sum of w.",
    r"\max_{0\le k\le K_X}e^{-k\beta}\varphi_k=\sup_{k\ge0}e^{-k\beta}\varphi_k",
    (Obligation("tail", make_goal({"K": HALF, "j": HALF, "b": POS, "W": HALF}, "exp(-K*b)*W >= exp(-(K + j)*b)*W"), "k = K + j, W the sum of weights",
                None, {"K": "0", "j": "0", "b": "1", "W": "1"}),),
    rests_on=("eval.lemma5",),
)  # fmt: skip

_ENDS = {"M": HALF, "A": HALF, "B": HALF, "f": HALF, "s": REAL, "h": POS, "j": POS}
_ABOVE = ("A >= f - s*h", "B >= f + s*j", "M >= A", "M >= B")
CANDIDATES = Statement(
    "eval.lemma5.candidates", "project", "Where the maximum over k can stand for DP-LSW", source("Algorithm 1", "eval.lemma5"),
    "The maximum over k of exp(-k beta) times the sum of w_s/max(v_s - k, 1)^2 stands at k = 0 or at some k = v_s - 1: between two of these numbers the function of real k lies above its "
    "tangents, so that it is largest at an end.",
    r"\max_{k\ge0}e^{-k\beta}\varphi_k=\max_{k\in\{0\}\cup\{v_s-1\}}e^{-k\beta}\varphi_k",
    (
        Obligation("exponential", make_goal({"t": REAL}, "exp(t) >= 1 + t"), "the exponential above its tangent at 0",
                   split("t", "0", mono("t", -1, IDENTITY), mono("t", 1, IDENTITY)), {"t": "0"}),
        Obligation("square", make_goal({"g": HALF, "p": HALF, "z": HALF}, "g**2*z >= p**2*z", "g >= p"), "g = 1/(1-u), p = exp(u), z = exp(-c u): with x = v - k, u = h/x and c = b x, "
                   "exp(-b h) x^2/(x-h)^2 >= exp((2-c) u) >= 1 + (2-c) u, a tangent in h", positive(("z*(g + p)", 0)), {"g": "1", "p": "1", "z": "1"}),
        Obligation("ends", make_goal(_ENDS, "M >= f", *_ABOVE), "f at k, A and B at the ends k - h and k + j, s the slope of the tangent at k, M the larger of A and B",
                   positive(("j/(h + j)", 0), ("h/(h + j)", 1), ("j/(h + j)", 2), ("h/(h + j)", 3)), {"M": "1", "A": "1", "B": "1", "f": "1", "s": "0", "h": "1", "j": "1"}),
    ),
    rests_on=("eval.lemma5.range",),
    reading=("the tangent of the exponential is used at t = -u, inverted to 1/(1-u) >= exp(u) for u < 1, at t = (2 - c) u, and at t = -b h for a constant share", "tangents of the states' terms, with weights w_s >= 0, add up to one of the sum; between two of the numbers a term is w_s exp(-b k)/(v_s - k)^2 or w_s exp(-b k) throughout",),
)  # fmt: skip

STATEMENTS = (LEMMA2, COROLLARY3, LEMMA4, UPPER, SMOOTH, SMALLEST, LEMMA5, RANGE_K, CANDIDATES)
