"""Concentration, sums over visits and optimism in "Differentially Private Regret Minimization in Episodic MDPs".

For one cell (s, a) of step h: M = m^2 is max(1, N), n = r^2 is max(1, N~ + E1), E stands for E1, T = KH. Derivations are in
docs/notes/ucb_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    bernstein,
    expect,
    have,
    mono,
    point,
    positive,
    sos,
    subst,
    telescope,
)
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.papers.private_ucb.tails import TAILS
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

_POS, _REAL, _UNIT = "[0, inf)", "(-inf, inf)", "[0, 1]"
_RUN = dict.fromkeys(("S", "A", "T"), "[1, inf)") | {"delta": "(0, 1]"}
_SUMS = (
    "x_i is the centred answer at the i-th visit of a cell, and 0 if there are fewer visits (ucb.visits): after n visits the estimate's error is "
    "(x_1 + ... + x_n)/n, so that n visits and an error of at least t imply x_1 + ... + x_n >= n t; the union is over n = 1..K"
)
_TWO = dict.fromkeys(("u", "a", "b"), _UNIT)
UNION = Obligation(
    "union", make_goal({}, "E(a) + E(b) >= E(u)", "a + b >= u", random=_TWO), "the union bound, in indicators",
    expect([("a + b - u", positive(("1", 0)))], positive(("1", 1))), mutation=make_goal({}, "E(a) >= E(u)", "a + b >= u", random=_TWO),
)  # fmt: skip

_FLAT = {"n": "[1, inf)", "L": "(0, inf)", "S": "[1, inf)"}
_MANY = _RUN | {"S": "[3, inf)"}
_SUBSETS = have("log(3) - log(2) >= 2/5", RANGE, have("1 >= log(2)", RANGE, positive(("S/2", 0), ("1", 1))))
LEMMA_A1 = Statement(
    "ucb.lemmaA_1", "statement", "The estimates without privacy concentrate", source("Lemma A.1", "ucb.lemmaA_1"),
    "With probability 1 - delta, for all k, h, s, a: |c - cbar| < sqrt(2 ln(4SAT/delta)/max(1, N)) and ||P - Pbar||_1 < sqrt(4S ln(6SAT/delta)/max(1, N)).",
    r"P[G]\ge1-\delta",
    (
        Obligation("cost_level", make_goal(_FLAT, "n*sqrt(2*L/n)**2/2 == L"), "n t^2/2 at the cost's level t", IDENTITY, dict.fromkeys(_FLAT, "1")),
        Obligation("cost_budget", make_goal(_RUN, "2*S*A*T*exp(-log(4*S*A*T/delta)) == delta/2"), "two sides, SAT pairs of a cell and a number of visits",
                   IDENTITY, dict.fromkeys(_RUN, "1")),
        Obligation("cost_none", make_goal(_RUN, "2*log(4*S*A*T/delta) > 1"), "without visits the level is above 1", RANGE,
                   mutation=make_goal(_RUN, "2*log(4*S*A*T/delta) > 3")),
        Obligation("sets_level", make_goal(_FLAT, "n*(sqrt(4*S*L/n)/2)**2/2 == S*L/2"), "half the level for Pbar(B) - P(B)", IDENTITY, dict.fromkeys(_FLAT, "1")),
        Obligation("two_states", make_goal(_RUN, "delta/2 >= (4-2)*(2*A*T)*exp(-log(6*2*A*T/delta))"), "S = 2: two sets", POSITIVE,
                   mutation=make_goal(_RUN, "delta/4 >= (4-2)*(2*A*T)*exp(-log(6*2*A*T/delta))")),
        Obligation("more_states", make_goal(_MANY, "log(delta/2) >= S*log(2) + log(S*A*T) - S/2*log(6*S*A*T/delta)"), "S >= 3: at most 2^S sets, in logarithms",
                   _SUBSETS, mutation=make_goal(_MANY, "log(delta/2) >= S*log(2) + log(S*A*T) - S/3*log(6*S*A*T/delta)")),
        Obligation("sets_none", make_goal(_RUN, "4*S*log(6*S*A*T/delta) > 1"), "without visits the L1 error is 1, below the level",
                   POSITIVE, mutation=make_goal(_RUN, "4*S*log(6*S*A*T/delta) > 8")),
        UNION,
    ),
    ("ucb.hoeffding", "ucb.visits"),
    reading=(
        _SUMS, "delta' of the proof is delta", "levels above the largest possible error (1 for costs, 2 for the L1 norm) need no proof, so that t is in [0, 1]",
        "the L1 distance of two laws on S states is twice the largest Pbar(B) - P(B) over the 2^S - 2 sets B that are neither empty nor full; it is 0 for S = 1",
        "costs lie in [0, 1], indicators too: their distances from the mean are at most 1",
    ),
)  # fmt: skip

_CELL = {"m": "[1, inf)", "r": "[1, inf)", "a": _POS, "d": _REAL, "e": _REAL} | dict.fromkeys(
    ("E", "B", "G", "e0"), _POS
)
_CELL_GIVEN = ("r >= m", "m**2 + 2*E >= r**2", "B >= a", "G/m >= d", "G/m >= -d", "e0 >= e", "e0 >= -e")
_RAISE = {"N": _POS, "P": _REAL, "E": _POS}
_AT = {"m": "1", "r": "1", "a": "0", "E": "0", "B": "0", "G": "1", "e0": "1"}
PRIVATE_MEAN = Statement(
    "ucb.private_mean", "project", "From a mean to a private mean", source("Lemma 3.1 (proof)", "ucb.lemma3_1"),
    "Let a <= B be a true value, a + d the mean of max(1, N) answers with |d| <= G/sqrt(max(1, N)), and e an error of the private sum, |e| <= e0. Where "
    "|N~ - N| <= E1 the private sum over n errs by at most G/sqrt(n) + (2 B E1 + e0)/n.",
    r"\Bigl|\frac{M(a+d)+e}{n}-a\Bigr|\le\frac G{\sqrt n}+\frac{2BE_1+e_0}n",
    (
        Obligation("raised", make_goal(_RAISE, "P + E >= N", "E >= N - P"), "N~ + E1 is at least N", positive(("1", 0)), {"N": "1", "P": "0", "E": "1"}),
        Obligation("least", make_goal(_RAISE, "N + 2*E >= P + E", "E >= P - N"), "and at most N + 2 E1; so with max(1, .)", positive(("1", 0)), {"N": "0", "P": "1", "E": "1"}),
        Obligation("up", make_goal(_CELL, "G/r + (2*B*E + e0)/r**2 >= (m**2*(a+d) + e)/r**2 - a", *_CELL_GIVEN), "above",
                   positive(("1/r**2", 5), ("m**2/r**2", 3), ("G/r**2", 0), ("a*(r+m)/r**2", 0)), _AT | {"d": "1", "e": "1"}),
        Obligation("down", make_goal(_CELL, "G/r + (2*B*E + e0)/r**2 >= a - (m**2*(a+d) + e)/r**2", *_CELL_GIVEN), "below",
                   positive(("1/r**2", 6), ("m**2/r**2", 4), ("G/r**2", 0), ("a/r**2", 1), ("2*E/r**2", 2)), _AT | {"d": "-1", "e": "-1"}),
    ),
    reading=("r and m are the roots of n and of max(1, N)", "max(1, x + 2E) <= max(1, x) + 2E"),
)  # fmt: skip

_TERM = {
    "m": "[1, inf)",
    "r": "[1, inf)",
    "p": _UNIT,
    "d": _REAL,
    "e": _REAL,
    "x": _POS,
    "E": _POS,
    "e0": _POS,
}
_TERM_GIVEN = ("r >= m", "m**2 + 2*E >= r**2", "x >= d", "x >= -d", "e0 >= e", "e0 >= -e")
_TERM_BOUND = "m**2/r**2*x + 2*E*p/r**2 + e0/r**2"
_SUM = {"m": "[1, inf)", "r": "[1, inf)", "X": _POS, "G": _POS, "E": _POS, "e0": _POS, "S": "[1, inf)"}
_ONE = {"m": "1", "r": "1", "p": "0", "E": "0"}
LEMMA_31 = Statement(
    "ucb.lemma3_1", "statement", "The private estimates concentrate", source("Lemma 3.1", "ucb.lemma3_1"),
    "Under Assumption 1, with probability 1 - 2 delta, for all k, h, s, a: |c - c~| <= beta_c and ||P - P~||_1 <= beta_p.",
    r"|c-\tilde c|\le\frac{L_c}{\sqrt n}+\frac{3E_1}n,\quad\|P-\tilde P\|_1\le\frac{L_p}{\sqrt n}+\frac{SE_2+2E_1}n",
    (
        Obligation("cost", make_goal({"L": _POS, "E": _POS, "r": "[1, inf)"}, "L/r + (2*1*E + E)/r**2 == L/r + 3*E/r**2"), "ucb.private_mean with B = 1, G = Lc, e0 = E1",
                   IDENTITY, {"L": "1", "E": "1", "r": "1"}),
        Obligation("term_up", make_goal(_TERM, f"{_TERM_BOUND} >= (m**2*(p+d) + e)/r**2 - p", *_TERM_GIVEN), "one next state: p its chance, |d| <= x",
                   positive(("m**2/r**2", 2), ("1/r**2", 4), ("p*(r+m)/r**2", 0)), _ONE | {"x": "1", "d": "1", "e": "1", "e0": "1"}),
        Obligation("term_down", make_goal(_TERM, f"{_TERM_BOUND} >= p - (m**2*(p+d) + e)/r**2", *_TERM_GIVEN), "the other side",
                   positive(("m**2/r**2", 3), ("1/r**2", 5), ("p/r**2", 1)), _ONE | {"x": "1", "d": "-1", "e": "-1", "e0": "1"}),
        Obligation("sum", make_goal(_SUM, "G/r + (S*e0 + 2*E)/r**2 >= m**2/r**2*X + 2*E*1/r**2 + S*e0/r**2", "r >= m", "G/m >= X"), "summed over next states: X = ||P - Pbar||_1, e0 = E2",
                   positive(("m**2/r**2", 1), ("G/r**2", 0)), {"m": "1", "r": "1", "X": "1", "G": "1", "E": "0", "e0": "1", "S": "1"}),
        UNION,
    ),
    ("ucb.lemmaA_1", "ucb.private_mean"),
    reading=("sums over next states are added term by term; the chances add up to 1", "Lc and Lp are sqrt(max(1, N)) times the levels of Lemma A.1",
             "Assumption 1 fails with probability at most delta, G with at most delta"),
)  # fmt: skip

_BERN = {"n": "[1, inf)", "p": "(0, 1]", "L": "(0, inf)"}
_BIG = {
    "m": "[1, inf)",
    "r": "[1, inf)",
    "p": _UNIT,
    "d": _REAL,
    "e": _REAL,
    "E": _POS,
    "e0": _POS,
    "L": _POS,
}
_BIG_GIVEN = (
    "r >= m",
    "m**2 + 2*E >= r**2",
    "2*sqrt(L*p)/m + 2*L/m**2 >= d",
    "2*sqrt(L*p)/m + 2*L/m**2 >= -d",
    "e0 >= e",
    "e0 >= -e",
)
_BIG_BOUND = "2*sqrt(L*p)/r + (2*L + 2*E + e0)/r**2"
LEMMA_41 = Statement(
    "ucb.lemma4_1", "statement", "The private estimates, seen through values", source("Lemma 4.1", "ucb.lemma4_1"),
    "Under Assumption 1, with probability 1 - 3 delta, for all k, h, s, a, s': |c - c~| <= beta_c, |(P~ - P) V*| <= beta_pv and |P(s') - P~(s')| <= C sqrt(L' P(s')/n) + "
    "(C L' + 2E1 + E2)/n for some constant C. Proved with C = 2.",
    r"|P(s')-\tilde P(s')|\le C\sqrt{L'P(s')/n}+(CL'+2E_1+E_2)/n",
    (
        Obligation("value", make_goal({"L": _POS, "E": _POS, "e0": _POS, "S": "[1, inf)", "H": "[1, inf)", "r": "[1, inf)"},
                                       "H*L/r + (2*H*E + H*(S*e0))/r**2 == H*L/r + H*(S*e0 + 2*E)/r**2"),
                   "ucb.private_mean with B = H, G = H Lc, e0 = H S E2", IDENTITY, dict.fromkeys(("L", "E", "e0", "S", "H", "r"), "1")),
        Obligation("value_noise", make_goal({"E": _POS, "H": "[1, inf)", "v": _POS, "e": _REAL}, "E*H >= e*v", "E >= e", "H >= v"), "one next state's noise, weighed by V*",
                   positive(("v", 0), ("E", 1)), {"E": "1", "H": "1", "v": "1", "e": "1"}),
        Obligation("level", make_goal(_BERN, "2*sqrt(L*n*p) + 2*L >= sqrt(2*(n*p)*(2*L)) + 2*L/3"), "ucb.bernstein at V = np, X = 2L'", POSITIVE,
                   mutation=make_goal(_BERN, "sqrt(L*n*p) + 2*L >= sqrt(2*(n*p)*(2*L)) + 2*L/3")),
        Obligation("variance", make_goal({"p": _UNIT}, "p >= p*(1-p)"), "the variance of an indicator", POSITIVE, {"p": "1/10000"}),
        Obligation("triples", make_goal(_RUN, "delta >= 2*S**2*A*T*exp(-2*log(6*S*A*T/delta))"), "two sides, S^2AT triples and numbers of visits",
                   subst("delta", "1/g", "g", "[1, inf)", POSITIVE), mutation=make_goal(_RUN, "delta/20 >= 2*S**2*A*T*exp(-2*log(6*S*A*T/delta))")),
        Obligation("none", make_goal(_RUN, "2*log(6*S*A*T/delta) > 1"), "without visits the error P(s') is below the level", RANGE,
                   mutation=make_goal(_RUN, "2*log(6*S*A*T/delta) > 4")),
        Obligation("up", make_goal(_BIG, f"{_BIG_BOUND} >= (m**2*(p+d) + e)/r**2 - p", *_BIG_GIVEN), "with noise, above",
                   positive(("m**2/r**2", 2), ("1/r**2", 4), ("2*sqrt(L*p)/r**2", 0), ("p*(r+m)/r**2", 0)),
                   {"m": "1", "r": "1", "p": "0", "d": "2", "e": "1", "E": "0", "e0": "1", "L": "1"}),
        Obligation("down", make_goal(_BIG, f"{_BIG_BOUND} >= p - (m**2*(p+d) + e)/r**2", *_BIG_GIVEN), "with noise, below",
                   positive(("m**2/r**2", 3), ("1/r**2", 5), ("2*sqrt(L*p)/r**2", 0), ("p/r**2", 1), reflect=("p",)),
                   {"m": "1", "r": "1", "p": "0", "d": "-2", "e": "-1", "E": "0", "e0": "1", "L": "1"}),
        Obligation("budget", make_goal({"delta": "(0, 1)"}, "delta + delta/2 + delta/2 + delta == 3*delta"), "Assumption 1, costs, values, transitions", IDENTITY, {"delta": "1/2"}),
        UNION,
    ),
    ("ucb.lemmaA_1", "ucb.hoeffding", "ucb.bernstein", "ucb.visits", "ucb.private_mean"),
    reading=(_SUMS, "(V*(s') - P V*)/H lies in [-1, 1] and has mean 0, so that Hoeffding's level is H times that of costs",
             "Pbar(s') is a mean of indicators of chance p = P(s'), centred in [-1, 1] and of variance p(1-p); for p = 0 it is 0", "without visits the sums are 0, and P V* <= H is below H Lc, Lc > 1"),
    not_covered="the last display of the printed proof sums over s' on the left, which is a slip of the pen",
)  # fmt: skip

_N = {"n": "[1, inf)"}
_M0 = {"q": "[0, inf)"}
_LOGS = subst(
    "i",
    "1/t",
    "t",
    "(0, 1]",
    have("log(2+t) - log(2-t) - t >= 0", mono("t", 1, POSITIVE), positive(("1", 2))),
)
_X = dict.fromkeys(("A", "G", "X"), _POS)
_Z = {"z": _UNIT}
_CIRCLE_FREE = dict.fromkeys("AGC", _POS)
_CIRCLE = _X | {"C": _POS}
LEMMA_A2 = (
    Statement(
        "ucb.lemmaA_2", "statement", "Sums over visits", source("Lemma A.2", "ucb.lemmaA_2"),
        "With probability 1 - 2 delta: the sum over k, h of E[1/max(1, N)] is O(SAH ln KH + H ln(H/delta)), that of E[1/sqrt(max(1, N))] is O(sqrt(SAH^2K) + SAH ln KH + "
        "H ln(H/delta)). Proved with the constants 8 and 4, and 3, 8 and 5; the printed proof goes in a circle (ucb.lemmaA_2.circle) and is mended by lambda = 1/2.",
        r"X_1\le8SAH\ln KH+4H\ln(H/\delta),\quad X_2\le3\sqrt{SAH^2K}+8SAH\ln KH+5H\ln(H/\delta)",
        (
            Obligation("harmonic", make_goal(_M0, "log(2*q+1) >= sum(i, 1, q, 1/i)", integers=_M0), "1/i <= log(2i+1) - log(2i-1)",
                       telescope("sum(i, 1, q, 1/i)", "log(2*i-1)", ">=", _LOGS, positive(("1", 0))), mutation=make_goal(_M0, "log(q+1) >= sum(i, 1, q, 1/i)", integers=_M0)),
            Obligation("roots", make_goal(_M0, "2*sqrt(q) >= sum(i, 1, q, 1/sqrt(i))", integers=_M0), "1/sqrt(i) <= 2 sqrt(i) - 2 sqrt(i-1)",
                       telescope("sum(i, 1, q, 1/sqrt(i))", "2*sqrt(i-1)", ">=", sos(("1", "sqrt(i) - sqrt(i-1)"), over="sqrt(i)"), positive(("1", 0))),
                       mutation=make_goal(_M0, "3/2*sqrt(q) >= sum(i, 1, q, 1/sqrt(i))", integers=_M0)),
            Obligation("first_visit", make_goal(_N, "3*sqrt(n) >= 1 + 2*sqrt(n-1)"), "a cell met n >= 1 times: 1 at the first visit, then roots of 1..n-1",
                       have("sqrt(n) >= sqrt(n-1)", sos(("1", "1"), over="sqrt(n) + sqrt(n-1)"), positive(("2", 0))), mutation=make_goal(_N, "2*sqrt(n) >= 1 + 2*sqrt(n-1)")),
            Obligation("tangent", make_goal(_N | {"q": "(0, inf)"}, "n/(2*q) + q/2 >= sqrt(n)"), "the root lies below its tangent", sos(("1", "sqrt(n) - q"), over="2*q"), {"n": "1", "q": "1"}),
            Obligation("cauchy", make_goal(dict.fromkeys("SAHK", "[1, inf)"), "K*H/(2*sqrt(K/(S*A))) + S*A*H*sqrt(K/(S*A))/2 == sqrt(S*A*H**2*K)"), "summed over SAH cells, KH visits",
                       IDENTITY, dict.fromkeys("SAHK", "1")),
            Obligation("variance", make_goal({"mu": _UNIT}, "mu >= E((mu-z)**2)", "mu == E(z)", random=_Z), "z = 1/max(1, N) of the visited cell, mu its mean: E[Y^2] <= mu",
                       expect([("z - z**2", bernstein("z", 2))], positive(("1", 1), ("1-2*mu", 0))), mutation=make_goal({"mu": _UNIT}, "mu >= 2*E((mu-z)**2)", "mu == E(z)", random=_Z)),
            Obligation("root_variance", make_goal({"mu": _UNIT}, "E(z**2) >= E((mu-z)**2)", "mu == E(z)", random=_Z), "z = 1/sqrt(max(1, N)): E[Y^2] <= E[1/max(1, N)]",
                       expect([], positive(("-2*mu", 0))), mutation=make_goal({"mu": _UNIT}, "E(z**2) >= 2*E((mu-z)**2)", "mu == E(z)", random=_Z)),
            Obligation("solve", make_goal(_X, "2*A + 4*G >= X", "A + X/2 + 2*G >= X"), "Lemma A.3 at lambda = 1/2", positive(("2", 0)), {"A": "1", "G": "0", "X": "2"}),
            Obligation("order", make_goal({"K": "[2, inf)", "H": "[1, inf)"}, "4*log(K*H) >= 1 + log(2*K-1)"), "1 + ln(2n-1) a cell, n <= K, K >= 2",
                       mono("H", 1, mono("K", 1, RANGE)), mutation=make_goal({"K": "[2, inf)", "H": "[1, inf)"}, "2*log(K*H) >= 1 + log(2*K-1)")),
            Obligation("single", make_goal({"H": "[2, inf)"}, "4*log(1*H) >= 1"), "K = 1, H >= 2", RANGE, mutation=make_goal({"H": "[2, inf)"}, "log(1*H) >= 1")),
            Obligation("lonely", make_goal({"delta": "(0, 1/2]"}, "4*log(1/delta) >= 1"), "K = H = 1: the first sum is 1, the second is 1 <= 3; for delta >= 1/2 nothing is claimed", RANGE,
                       mutation=make_goal({"delta": "(0, 1/2]"}, "log(1/delta) >= 1")),
            Obligation("budget", make_goal({"H": "[1, inf)", "delta": "(0, 1)"}, "H*(delta/H) + H*(delta/H) == 2*delta"), "H steps, two sums", IDENTITY, {"H": "1", "delta": "1/2"}),
            UNION,
        ),
        ("ucb.lemmaA_3",),
        reading=(
            "an episode meets one cell a step: the sums over k, s, a of the visits of step h have K terms",
            "Y = mu - z is a martingale difference over k for each h, at most 1; ln(H/delta) is for a failure of delta/H",
            "the repair is derived in docs/notes/ucb_learning.md: A is the sum over visits, X the sum of conditional means, G = H ln(H/delta); the second sum is at most A + X_1 + G by lambda = 1",
        ),
    ),
    Statement(
        "ucb.lemmaA_2.circle", "statement", "The printed proof of Lemma A.2 uses what it proves", source("Lemma A.2 (proof)", "ucb.lemmaA_2"),
        "With lambda = 1 the sum of martingale differences is bounded by the very sum X that is to be bounded: X <= A + X + G, from which X <= C (A + G) follows for no C. And "
        "the visits' sum is said to be at most c' ln N, which fails at N = 1 for every c'.",
        r"X\le A+X+G",
        (
            Obligation("circle", make_goal(_CIRCLE, "C*(A + G) >= X", "A + X + G >= X"), "lambda = 1", point(A="1", G="1", X="3", C="1"),
                       mutation=make_goal(_CIRCLE, "2*A + 4*G >= X", "A + X/2 + 2*G >= X")),
            Obligation("every_factor", make_goal(_CIRCLE_FREE, "A + (C*(A + G) + 1) + G >= C*(A + G) + 1"), "X = C (A + G) + 1 satisfies the premise, for every C, and is more than C (A + G)",
                       POSITIVE, {"A": "0", "G": "0", "C": "1"}),
            Obligation("one_visit", make_goal(_N | {"c": _POS}, "c*log(n) >= sum(i, 1, n, 1/i)", integers=_N), "one visit", point(n="1", c="1"),
                       mutation=make_goal(_N | {"c": _POS}, "1 + log(n) >= sum(i, 1, n, 1/i)", integers=_N)),
            Obligation("every_constant", make_goal({"c": _POS}, "1/1 > c*log(1)"), "every c' fails at N = 1", POSITIVE, mutation=make_goal({"c": _POS}, "1/1 > c*log(2)")),
        ),
        corrected_by="ucb.lemmaA_2",
        not_covered="the lemma itself, which stands",
        judgement=Judgement(Severity.REPAIRABLE, "The proof uses what it proves; the lemma holds by the quoted inequality at another parameter."),
    ),
)  # fmt: skip

_PRODUCT = {"p": "[-1, 1]", "v": _UNIT, "w": _UNIT}
_OPT = {
    "m": "[1, inf)",
    "r": "[1, inf)",
    "c": _UNIT,
    "ct": _REAL,
    "bc": _POS,
    "v": _POS,
    "d": _REAL,
    "F": _REAL,
    "x": _REAL,
} | dict.fromkeys(("G", "e0", "E", "H"), _POS)
LEMMA_B1 = (
    Statement(
        "ucb.lemmaB_1", "statement", "Optimism of PRIVATE-UCB-VI", source("Lemma B.1", "ucb.lemmaB_1"),
        "With probability 1 - 3 delta, V~_h^k(s) <= V*_h(s) for all k, h, s. The printed step (b) fails for negative private counts (ucb.lemmaB_1.step_b); the noise is split off first.",
        r"\tilde V_h^k(s)\le V_h^*(s)",
        (
            Obligation("term", make_goal({"N": _POS, "v": _POS, "w": _POS}, "N*v >= N*w", "v >= w"), "true counts are not negative: N' V~ <= N' V*", positive(("N", 0)), {"N": "1", "v": "1", "w": "1"}),
            Obligation("noise", make_goal({"E": _POS, "H": _POS, "w": _POS, "e": _REAL}, "E*H >= e*w", "E >= e", "H >= w"), "the noise of one next state, weighed by V~ in [0, H]",
                       positive(("w", 0), ("E", 1)), {"E": "1", "H": "1", "w": "1", "e": "1"}),
            Obligation("step", make_goal(_OPT, "c + v >= ct + (F + x)/r**2 - bc - (G/r + (e0 + 2*H*E)/r**2)", "bc >= ct - c", "m**2*(v+d) >= F", "G/m >= d", "e0 >= x", "r >= m"),
                       "before clipping Q~ <= c + P V*: F is the sum of N' V~, x that of the noise, G = H Lc, e0 = H S E2, v = P V*",
                       positive(("1", 0), ("1/r**2", 1), ("m**2/r**2", 2), ("1/r**2", 3), ("G/r**2", 4), ("v*(r+m)/r**2", 4)),
                       {"m": "1", "r": "1", "c": "1", "ct": "2", "bc": "1", "v": "0", "d": "1", "F": "1", "x": "0", "G": "1", "e0": "0", "E": "0", "H": "0"}),
        ),
        ("ucb.lemma4_1",),
        reading=("the repair is derived in docs/notes/ucb_learning.md; the events are those of Lemma 4.1's proof: Assumption 1, the costs, and |Pbar V* - P V*| <= H Lc/sqrt(max(1, N))",
                 "induction from h = H + 1 down; clipping to [0, H-h+1] keeps a bound by Q* in that interval; V~ is at most Q~ at the best action"),
    ),
    Statement(
        "ucb.lemmaB_1.step_b", "statement", "Step (b) of the proof of Lemma B.1", source("Lemma B.1 (proof)", "ucb.lemmaB_1"),
        "From V~ <= V* the proof concludes P~ V~ <= P~ V*. Private counts can be negative, and then a term turns round: P~ = -1, V~ = 0, V* = 1.",
        r"\tilde P\tilde V\le\tilde PV^*",
        (Obligation("printed", make_goal(_PRODUCT, "p*v >= p*w", "v >= w"), "one next state", point(p="-1", v="1", w="0"), mutation=make_goal(_PRODUCT, "p*v >= p*w", "v >= w", "p >= 0")),),
        corrected_by="ucb.lemmaB_1",
        not_covered="the lemma itself, which stands",
        judgement=Judgement(Severity.REPAIRABLE, "The step fails for negative private counts; the lemma holds if the noise is split off first."),
    ),
)  # fmt: skip

STATEMENTS = (*TAILS, LEMMA_A1, PRIVATE_MEAN, LEMMA_31, LEMMA_41, *LEMMA_A2, *LEMMA_B1)
