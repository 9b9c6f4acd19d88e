"""Regret in "Differentially Private Regret Minimization in Episodic MDPs".

Roots of sizes keep the orders polynomial: S = s^2, A = a^2, K = k^2, H = g^2; L >= 1 stands for log(6SAT/delta'), which is at least each other
logarithm of the bounds, and delta' for the algorithm's confidence parameter. Derivations are in docs/notes/ucb_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    expect,
    have,
    mono,
    point,
    positive,
    sos,
    subst,
    taylor,
)
from dpproof.proofs_check.papers.private_ucb.learning import UNION
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.papers.private_ucb.same_delta import PRINTED_32, PRINTED_42
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, formula, make_goal

_POS, _REAL, _UNIT, _SIZE = "[0, inf)", "(-inf, inf)", "[0, 1]", "[1, inf)"
_ONE = dict.fromkeys("qcxy", _REAL)
_LOGS = "log A, log KH, log(H/delta'), log(4SAT/delta') and 1 are at most L = log(6SAT/delta'), as T = KH"
_ORDERS = "O~ hides a constant and powers of logarithms of S, A, T and 1/delta"
_VOID = "for delta >= 1/4 nothing is claimed"


def _budget(lemma: str, rest: str, note: str) -> Obligation:
    return Obligation("budget", make_goal({"delta": "(0, 1)"}, f"{lemma} + {rest} == 4*delta"), note, IDENTITY, {"delta": "1/4"})  # fmt: skip


_MEANS: tuple[tuple[str, dict[str, str], str, str, str], ...] = (
    ("difference", {}, "E(c + x) - E(q)", "E(c + y - q) + {}E(x - y)",
     "V^pi - V~ at one state: c the cost, q = Q~, x and y the two values at the next state, under pi"),
    ("other_difference", {"p": _REAL}, "p - E(c + x)", "(p - E(q)) + E(q - c - y) + {}E(y - x)",
     "V~ - V* under the best policy; p is the mean of Q~ under the played one"),
)  # fmt: skip
_DIFFERENCES = tuple(
    Obligation(
        name + side, make_goal(variables, order.format(left, right.format("")), random=_ONE), note, expect([], POSITIVE),
        mutation=make_goal(variables, order.format(left, right.format("2*")), random=_ONE),
    )
    for name, variables, left, right, note in _MEANS
    for side, order in (("_above", "{0} >= {1}"), ("_below", "{1} >= {0}"))
)  # fmt: skip
_Y, _RATIO = {"y": "(-inf, 0]"}, {"t": "(0, inf)"}
_MIRROR = {"eta": "(0, inf)", "H": _SIZE} | dict.fromkeys(("D", "F", "q", "p", "w", "z"), _REAL)
_TUNED = {"A": "[2, inf)", "H": _SIZE, "K": _SIZE}
_DESCENT = (
    Obligation("exponential", make_goal({"z": _REAL}, "E(y) + E(y**2)/2 >= z", "exp(z) == E(exp(y))", random=_Y), "y = -eta Q~ under the played policy, z = log of the normaliser",
               expect([("1 + y + y**2/2 - exp(y)", taylor("y", "0", 3))], have("exp(z) - 1 - z >= 0", taylor("z", "0", 2), positive(("1", 1), ("-1", 0), ("1", 2)))),
               mutation=make_goal({"z": _REAL}, "E(y) + E(y**2)/3 >= z", "exp(z) == E(exp(y))", random=_Y)),
    Obligation("descent", make_goal(_MIRROR, "(D - F)/eta + eta*H**2/2 >= q - p", "F == D + eta*p + z", "-eta*q + eta**2*w/2 >= z", "H**2 >= w"),
               "D and F: divergence of the best policy from the played and the next one; q, p: means of Q~ under the played and the best one; w: mean of its square",
               positive(("-1/eta", 0), ("1/eta", 1), ("eta/2", 2)), {"eta": "1", "H": "1", "D": "0", "F": "0", "q": "1/2", "p": "0", "w": "1", "z": "0"}),
    Obligation("divergence", make_goal({}, "0 >= E(log(t))", "1 >= E(t)", random=_RATIO), "a divergence is not negative: t the ratio of the played to the best policy",
               expect([("t - 1 - log(t)", subst("t", "exp(v)", "v", "(-inf, inf)", have("exp(v) - 1 - v >= 0", taylor("v", "0", 2), positive(("1", 1)))))], positive(("1", 0), ("1", 1))),
               mutation=make_goal({}, "0 >= E(log(t)) + 1", "1 >= E(t)", random=_RATIO)),
    Obligation("entropy", make_goal({}, "E(log(t)) >= 0", random={"t": _SIZE}), "from the uniform policy it is log A less an entropy: t one over the best policy's chance",
               expect([], POSITIVE), mutation=make_goal({}, "E(log(t)) >= 1", random={"t": _SIZE})),
    Obligation("eta", make_goal(_TUNED, f"H*log(A)/{formula('ucb.eta')} + {formula('ucb.eta')}*H**3*K/2 == sqrt(2*H**4*K*log(A))"), "equation (2) at the printed eta", IDENTITY,
               {"A": "2", "H": "1", "K": "1"}),
)  # fmt: skip

_VALUES = dict.fromkeys(("c", "ct", "V", "W", "q"), _REAL) | dict.fromkeys(("bc", "bp"), _POS) | {"H": _SIZE}
_COUNT = {"m": _SIZE, "r": _SIZE, "G": _POS, "F": _POS}
_BONUS = (
    Obligation("holder", make_goal({"x": _POS, "H": _SIZE, "v": _POS, "p": _REAL, "w": _UNIT}, "x*H >= (p - w)*v", "x >= p - w", "H >= v"), "one next state, x = |P~ - P|",
               positive(("v", 0), ("x", 1)), {"x": "1", "H": "1", "v": "1", "p": "1", "w": "0"}),
    Obligation("optimism", make_goal(_VALUES, "c + V >= ct + W - (bc + H*bp)", "bc >= ct - c", "H*bp >= W - V"), "T_3 <= 0: before clipping Q~ <= c + P V~ (V = P V~, W = P~ V~)",
               positive(("1", 0), ("1", 1)), {"c": "1", "ct": "1", "V": "0", "W": "0", "q": "0", "bc": "0", "bp": "0", "H": "1"}),
    Obligation("bonus", make_goal(_VALUES, "2*bc + 2*H*bp >= c + V - q", "bc >= c - ct", "H*bp >= V - W", "q >= ct + W - (bc + H*bp)"), "T_1, inequality (8)",
               positive(("1", 0), ("1", 1), ("1", 2)), {"c": "2", "ct": "1", "V": "0", "W": "0", "q": "0", "bc": "1", "bp": "0", "H": "1"}),
    Obligation("counts", make_goal(_COUNT, "G/m + F/m**2 >= G/r + F/r**2", "r >= m"), "n >= max(1, N)", positive(("G/(m*r)", 0), ("F*(r+m)/(m**2*r**2)", 0)),
               {"m": "1", "r": "1", "G": "1", "F": "1"}),
)  # fmt: skip

_ORDER = dict.fromkeys(("s", "a", "k", "H", "L"), _SIZE) | {"E1": _POS, "E2": _POS}
_VISITS, _ROOTS = "(12*s**2*a**2*H*L)", "(3*s*a*H*k + 13*s**2*a**2*H*L)"
_PO_SUM = (
    f"2*H**2*k*L + 2*(2*L)*{_ROOTS} + 6*E1*{_VISITS} + 2*H*(2*s*L)*{_ROOTS} + 2*H*(s**2*E2 + 2*E1)*{_VISITS}"
)
_PO = "(s**2*a*H**2*k + s**3*a**2*H**2 + E2*s**4*a**2*H**2 + E1*s**2*a**2*H**2)"
_LEVELS = {"L": _SIZE}
_SQUARES = (
    Obligation("logarithm", make_goal({"A": _SIZE, "S": _SIZE, "T": _SIZE, "delta": "(0, 1]"}, "log(6*S*A*T/delta) >= 1"), "L >= 1",
               RANGE, mutation=make_goal({"A": _SIZE, "S": _SIZE, "T": _SIZE, "delta": "(0, 1]"}, "log(6*S*A*T/delta) >= 2")),
    Obligation("root_log", make_goal(_LEVELS, "2*L >= sqrt(2*L)"), "Lc and the root of 2 log A are at most 2L",
               have("4*L**2 >= 2*L", POSITIVE, positive(("1/(2*L + sqrt(2*L))", 0))), mutation=make_goal(_LEVELS, "L >= sqrt(2*L)")),
)  # fmt: skip
_MORE = Obligation(
    "root_log_s", make_goal({"L": _SIZE, "s": _SIZE}, "2*s*L >= sqrt(4*s**2*L)"), "Lp <= 2 sqrt(S) L",
    have("4*s**2*L**2 >= 4*s**2*L", POSITIVE, positive(("1/(2*s*L + sqrt(4*s**2*L))", 0))), mutation=make_goal({"L": _SIZE, "s": _SIZE}, "s*L >= sqrt(4*s**2*L)"),
)  # fmt: skip
THEOREM_32 = Statement(
    "ucb.theorem3_2.four_delta", "project", "Regret of PRIVATE-UCB-PO, with the probability that the proof gives", source("Theorem 3.2", "ucb.theorem3_2"),
    "Theorem 3.2 with probability 1 - 4 delta, all else as printed: for eta = sqrt(2 log A/(H^2 K)), under Assumption 1, R(T) is at most 120 L^2 times the printed sum. Run at delta/4 the "
    "algorithm has the printed probability, with E1 and E2 at delta/4.",
    r"R(T)\le120L^2\bigl(\sqrt{S^2AH^3T}+\sqrt{S^3A^2H^4}+E_2S^2AH^2+E_1SAH^2\bigr)",
    (
        *_DIFFERENCES, *_DESCENT, *_BONUS, *_SQUARES, _MORE,
        Obligation("visits", make_goal({"X": _SIZE, "H": _SIZE, "L": _SIZE}, "12*X*H*L >= 8*X*H*L + 4*H*L"), "the first sum of Lemma A.2, X = SA",
                   POSITIVE, {"X": "1", "H": "1", "L": "1"}),
        Obligation("visits_root", make_goal({"X": _SIZE, "H": _SIZE, "L": _SIZE}, "13*X*H*L >= 8*X*H*L + 5*H*L"), "the second sum but for its first term",
                   POSITIVE, {"X": "1", "H": "1", "L": "1"}),
        Obligation("order", make_goal(_ORDER, f"120*L**2*{_PO} >= {_PO_SUM}"), "T_2 and the bonuses, summed", POSITIVE, mutation=make_goal(_ORDER, f"10*L**2*{_PO} >= {_PO_SUM}")),
        _budget("2*delta", "2*delta", "Lemma 3.1, and Lemma A.2"), UNION,
    ),
    ("ucb.lemma3_1", "ucb.lemmaA_2"),
    reading=(
        _ORDERS, _LOGS, _VOID, "s_1 is the same in all episodes ('fixed and history independent'): the divergences of one state are then weighed alike in every episode",
        "induction over h and k: value differences and divergences are added up; the divergence is log A at most at first and never negative",
        "Q~ is the formula before clipping, or 0 above it, or the cap H - h + 1, which c + P V~ does not exceed; c + P V~ is not negative",
        "the conditional law given the past is that of the played policy, which the past determines",
    ),
    not_covered="for A = 1 the printed eta is 0 and equation (2) divides by it; there is one policy then, and T_2 = 0",
)  # fmt: skip

_GAP = dict.fromkeys(("c", "ct", "q", "V", "W"), _REAL) | dict.fromkeys(("bc", "bv"), _POS)
_NEXT = dict.fromkeys(("p", "w", "x", "v", "y"), _REAL)
_FIX = {"p": _UNIT, "r": _SIZE, "H": _SIZE, "l": _POS, "E": _POS, "e0": _POS, "x": _REAL, "G": _POS}
_FIX_REST = "(4*H*l**2 + 4*l**2 + 2*E + e0)"
_FIXED = have(
    "p**2/H + 4*H*l**2/r**2 >= 4*l*p/r",
    sos(("1", "p - 2*H*l/r"), over="H"),
    positive(("G", 0), ("G", 2), (f"{_FIX_REST}/r**2", 1)),
)
_UNROLL = dict.fromkeys(("R", "D", "F", "x", "b", "d"), _REAL) | {"W": _SIZE, "g": _SIZE}
_VI_ORDER = dict.fromkeys(("s", "a", "k", "g", "L"), _SIZE) | {"E1": _POS, "E2": _POS}
_VI_VISITS, _VI_ROOTS = "(4*s**2*a**2*g**2*L)", "(3*s*a*g**2*k)"
_VI_SUM = (
    f"12*L*g**3*k + 3*(s**2*g**2*(8*g**2*L + 2*E1 + E2)*{_VI_VISITS} + 2*(2*L)*{_VI_ROOTS} + 6*E1*{_VI_VISITS}"
    f" + 2*g**2*(2*L)*{_VI_ROOTS} + 2*g**2*(s**2*E2 + 2*E1)*{_VI_VISITS})"
)
_VI = "(s*a*g**4*k + s**4*a**2*g**6 + s**4*a**2*g**4*(E1 + E2))"
_EULER = subst(
    "H",
    "1/t",
    "t",
    "(0, 1]",
    have(
        "t - log(1+t) >= 0",
        mono("t", 1, POSITIVE),
        positive(("1/t", 0)),
    ),
)
_EQ18 = {"x": "[-2, 2]", "b1": _POS, "b2": _POS}
_EQ18_GOAL, _EQ18_GIVEN = "3*(x + b1 + b2) >= (1 + 1/2)*(x + b1) + (1 + 1/2)**2*b2", "2/3*b2 >= -x"
THEOREM_42 = (
    Statement(
        "ucb.theorem4_2.four_delta", "project", "Regret of PRIVATE-UCB-VI, with the probability that the proof gives", source("Theorem 4.2", "ucb.theorem4_2"),
        "Theorem 4.2 with probability 1 - 4 delta, all else as printed: under Assumption 1 R(T) is at most 144 L^2 times the printed sum. Run at delta/4 the algorithm has the printed "
        "probability, with E1 and E2 at delta/4. The last step of (18) fails for negative terms and is mended (ucb.theorem4_2.eq18).",
        r"R(T)\le144L^2\bigl(\sqrt{SAH^3T}+S^2AH^3+S^2AH^2(E_1+E_2)\bigr)",
        (
            Obligation("gap", make_goal(_GAP, "2*bc + (V - W) + bv >= c + V - q", "bc >= c - ct", "q >= ct + W - bc - bv"), "inequality (14), step (a): V = P V^pi, W = P~ V~",
                       positive(("1", 0), ("1", 1)), {"c": "1", "ct": "0", "q": "-1", "V": "0", "W": "0", "bc": "1", "bv": "0"}),
            Obligation("split", make_goal(_NEXT, "p*x - w*y == (p-w)*v + (w-p)*(v-y) + p*(x-y)"), "one next state: p = P, w = P~, and the values V^pi, V*, V~", IDENTITY,
                       {"p": "1", "w": "0", "x": "1", "v": "0", "y": "0"}),
            Obligation("correction", make_goal(_FIX, f"p**2*G/H + {_FIX_REST}*H/r**2 >= x*G", "4*l*p/r + (4*l**2 + 2*E + e0)/r**2 >= x", "H >= G"),
                       "inequality (16) for one next state, already with C = 4: P = p^2, L' = l^2, G = V* - V~ in [0, H]", _FIXED,
                       {"p": "1", "r": "2", "H": "1", "l": "1", "E": "0", "e0": "0", "x": "3", "G": "1"}),
            Obligation("policy", make_goal({"p": _UNIT, "x": _REAL, "v": _REAL, "y": _REAL}, "p*(x-y) >= p*(v-y)", "x >= v"), "(17), step (b): V^pi >= V*", positive(("p", 0)),
                       {"p": "1", "x": "1", "v": "1", "y": "0"}),
            Obligation("unroll", make_goal(_UNROLL, "R + W*b + W*g*x + W*g*F >= d", "R + W*D >= d", "g*(F + x) + b >= D"), "one step of (18): weight W = g^(h-1), g = 1 + 1/H",
                       positive(("1", 0), ("W", 1)), dict.fromkeys(("R", "D", "W", "g"), "1") | {"F": "1", "x": "0", "b": "0", "d": "2"}),
            Obligation("weights", make_goal({"H": _SIZE}, "log(3) >= H*log(1 + 1/H)"), "(1 + 1/H)^H <= 3", _EULER, mutation=make_goal({"H": _SIZE}, "log(2) > H*log(1 + 1/H)")),
            Obligation("nonnegative", make_goal({"b": _POS, "W": "[0, 3]"}, "3*b >= W*b"), "bonuses are not negative", positive(reflect=("W",)), {"b": "1", "W": "3"}),
            Obligation("size", make_goal({"H": _SIZE, "x": "[-1, 1]", "y": "[-1, 1]"}, "2*H >= H*x - H*y"), "chi is at most 2H: values differ by at most H", positive(reflect=("x",)),
                       {"H": "1", "x": "1", "y": "-1"}),
            Obligation("azuma", make_goal({"H": _SIZE, "T": _SIZE, "L": _SIZE}, "3*(2*H)*(T*sqrt(2*L/T)) == 6*H*sqrt(2*L*T)"), "T weighted differences, each at most 6H", IDENTITY,
                       dict.fromkeys("HTL", "1")),
            *_SQUARES,
            Obligation("azuma_order", make_goal({"g": _SIZE, "k": _SIZE, "L": _SIZE}, "12*L*g**3*k >= 6*g**2*sqrt(2*L)*(g*k)"), "T = KH", have("2*L >= sqrt(2*L)",
                       have("4*L**2 >= 2*L", POSITIVE, positive(("1/(2*L + sqrt(2*L))", 0))), positive(("6*g**3*k", 0))),
                       mutation=make_goal({"g": _SIZE, "k": _SIZE, "L": _SIZE}, "6*L*g**3*k >= 6*g**2*sqrt(2*L)*(g*k)")),
            Obligation("order", make_goal(_VI_ORDER, f"144*L**2*{_VI} >= {_VI_SUM}"), "all terms, summed over visits", POSITIVE, mutation=make_goal(_VI_ORDER, f"10*L**2*{_VI} >= {_VI_SUM}")),
            _budget("3*delta", "delta", "Lemma 4.1 and the martingale"), UNION, _BONUS[3],
        ),
        ("ucb.lemma4_1", "ucb.lemmaB_1", "ucb.lemmaA_2", "ucb.hoeffding"),
        reading=(
            "Lemma B.1 has the events of Lemma 4.1 and no others (budget)", _ORDERS, _LOGS, _VOID,
            "induction over h; sums over next states are added term by term", "sums over visits along the run are those of Lemma A.2, 1 + ln(2n-1) and 3 sqrt(n) a cell",
            "the repair of (18) is derived in docs/notes/ucb_learning.md: the weighted chi have mean 0 given the past; a level above the largest possible sum needs no proof",
            "Q~ is not below the formula before clipping, unless that exceeds the cap, which by Lemma B.1 it does not",
        ),
        not_covered="signs in (14) to (18) are misprinted in places; the steps are stated with the signs that the argument needs",
    ),
    Statement(
        "ucb.theorem4_2.eq18", "statement", "The last step of (18)", source("Equation (18)", "ucb.theorem4_2"),
        "The sum over h of (1 + 1/H)^h (chi_h + xi_h + zeta_h + 2 beta_h) is said to be at most 3 times the sum of the terms in brackets. The chi are martingale differences of either sign, "
        "and the terms are weighed differently. At H = 2 chi_2 = 0, as V_3 = 0: with b_h = xi_h + zeta_h + 2 beta_h it fails for chi_1 = -11/2000, b_1 = 1/10000, b_2 = 1/100.",
        r"\sum_h(1+1/H)^h(\chi_h+\xi_h+\zeta_h+2\beta_h)\le3\sum_h(\chi_h+\xi_h+\zeta_h+2\beta_h)",
        (Obligation("printed", make_goal(_EQ18, _EQ18_GOAL, _EQ18_GIVEN), "H = 2", point(x="-11/2000", b1="1/10000", b2="1/100"),
                    mutation=make_goal(_EQ18, _EQ18_GOAL, _EQ18_GIVEN, "x >= 0")),),
        reading=("at H = 2 values of step 2 lie in [0, 1], so that chi_1 is in [-2, 2]; on the event of Lemma 4.1 -chi_1 is at most the gap of the value at s_2, which is at most 2 beta_c + beta_pv there, "
                 "and that is at most (2/3) b_2 for small E1: the point keeps to this", "how a run comes to such a point stands in docs/notes/ucb_learning.md"),
        corrected_by="ucb.theorem4_2.four_delta",
        not_covered="the theorem itself, whose argument stands; H = 1, where the step is true",
        judgement=Judgement(Severity.REPAIRABLE, "The step fails for terms of either sign; the theorem's argument stands with weights kept."),
    ),
)  # fmt: skip

STATEMENTS = (PRINTED_32, THEOREM_32, PRINTED_42, *THEOREM_42)
