"""Excess risk of DP-LSL, in "Differentially Private Policy Evaluation".

A display after Lemma 29 doubles an exponent, Lemma 30 prints wrong cases, and equation 58 loses what is gained
between few visits and m; what follows from them is corrected here (docs/notes/eval_utility.md).
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from dpproof.proofs_check.hints import RANGE, expect, have, point, positive, sos, split, taylor
from dpproof.proofs_check.papers.policy_evaluation.moments import NOTE, equal, source
from dpproof.proofs_check.papers.policy_evaluation.utility import (
    COORDINATES,
    GAUSSIAN,
    INTEGRABLE,
    LEVEL,
    projection,
)
from dpproof.proofs_check.statement import Goal, Judgement, Obligation, Severity, Statement, make_goal

UNIT, REAL, NONNEGATIVE, POSITIVE = "[0, 1]", "(-inf, inf)", "[0, inf)", "(0, inf)"
LEMMA29 = Statement(
    "eval.lemma29", "statement", "The excess risk of DP-LSL", source("Lemma 29", "eval.lemma29"),
    "E over data and noise of J(theta + eta) - J(theta), J the regularised squared error, is E[(lambda d/(2m) + (1/m) sum_s rho_s ||phi_s||^2 |X_s|) sigma_X^2]: each visit "
    "contributes rho_s ||phi_s||^2 sigma_X^2/m, each coordinate of the penalty lambda sigma_X^2/(2m).",
    r"E\Bigl[\Bigl(\tfrac{\lambda d}{2m}+\tfrac1m\sum_s\rho_s\|\phi_s\|^2|X_s|\Bigr)\sigma_X^2\Bigr]",
    (
        *projection("coordinate"),
        *equal("visit", "c: the trajectory visits s; g = phi_s eta/sigma_X, v = ||phi_s||^2; c, s = sigma_X and u = F - phi_s theta are functions of the data",
              ("E(c*((u - s*g)**2 - u**2))", "v*E(c*s**2)"), ("E(g) == 0", "E(g**2) == v"), (("0 - 2*E_c_s_u", 0), ("E_c_s2", 1)), {"v": NONNEGATIVE},
              ({"c": UNIT, "u": REAL, "s": NONNEGATIVE}, {"g": REAL})),
        *equal("penalty", "t: a coordinate of theta, h its noise", ("E((t + s*h)**2 - t**2)", "E(s**2)"), ("E(h) == 0", "E(h**2) == 1"),
              (("2*E_s_t", 0), ("E_s2", 1)), {"v": NONNEGATIVE}, ({"t": REAL, "s": NONNEGATIVE}, {"h": REAL})),
    ),
    reading=(GAUSSIAN, INTEGRABLE, COORDINATES, "sums over trajectories, states and coordinates: expectations add, and the indicators c of s add up to |X_s|"),
    laws=("gaussian.moments",),
)  # fmt: skip

_PSI = {"m": "[1, inf)", "beta": POSITIVE, "ridge": "(1, inf)"}
_NOISE = "exp(0 - m*beta)*(1 + sqrt(m/(2*ridge)))**2"
_ROOT = {"z": UNIT, "r": NONNEGATIVE, "c": NONNEGATIVE, "M": NONNEGATIVE}
_MEAN = {"T": NONNEGATIVE, "S": NONNEGATIVE, "w": UNIT, "z": UNIT, "a": NONNEGATIVE, "b": NONNEGATIVE}
NOISE = (
    Statement(
        "eval.noise", "statement", "The smooth bound, state by state, as printed", source("Appendix E, the display before Lemma 30", "eval.theorem32"),
        "psi is said to be at most 2||rho||^2 + (||Phi||^2 ||rho||_inf^2/lambda) sum_s rho_s max_k e^(-2 k beta) min(|X_s|+k, m). The factor e^(-k beta) stands outside the "
        "square, so that it is not squared. One state, ||Phi|| = rho = 1, no visit, m = 3, beta = 1/20, lambda = 11/10: 4.04 > 4.02.",
        r"\psi\le2\|\rho\|_2^2+\frac{\|\Phi\|^2\|\rho\|_\infty^2}\lambda\sum_s\rho_s\max_ke^{-2k\beta}\min\{|X_s|+k,m\}",
        (
            Obligation("printed", make_goal(_PSI, f"2 + m*exp(0 - 2*m*beta)/ridge >= {_NOISE}", "1 >= 2*m*beta", integers=("m",)),
                       "no visit: psi's term at k = m against the right side, whose maximum is at k = m", point(m="3", beta="1/20", ridge="11/10"),
                       mutation=make_goal(_PSI, f"2 + m*exp(0 - m*beta)/ridge >= {_NOISE}", "1 >= 2*m*beta", integers=("m",))),
        ),
        ("eval.lemma30.corrected",), corrected_by="eval.noise.corrected",
        reading=("N = 1 (or a second state of weight 0): psi is at least its term at k = m; with no visit and 2 m beta <= 1 the largest e^(-2 k beta) min{k, m} is that at k = m "
                 "(eval.lemma30.corrected, a = 0; past m the terms fall)",),
        judgement=Judgement(Severity.REPAIRABLE, "A factor stands outside the square and is printed squared; the corrected bound has it as it is."),
    ),
    Statement(
        "eval.noise.corrected", "project", "The smooth bound, state by state", source("Appendix E, the display before Lemma 30", "eval.theorem32"),
        "psi <= 2||rho||^2 + (||Phi||^2 ||rho||_inf^2/lambda) sum_s rho_s max_k e^(-k beta) min(|X_s|+k, m).",
        r"\psi\le2\|\rho\|_2^2+\frac{\|\Phi\|^2\|\rho\|_\infty^2}\lambda\sum_s\rho_s\max_ke^{-k\beta}\min\{|X_s|+k,m\}",
        (
            Obligation("square", make_goal(_ROOT, "2*r**2 + 2*c**2*(z*M) >= z*(r + c*sqrt(M))**2"), "z = e^(-k beta) <= 1; (a+b)^2 <= 2a^2 + 2b^2; 2 c^2 = ||Phi||^2 ||rho||_inf^2/ridge",
                       have("(r - c*sqrt(M))**2 >= 0", sos(("1", "r - c*sqrt(M)")), positive(("z", 0), reflect=["z"])),
                       {"z": "1", "r": "1", "c": "1", "M": "1"}),
            Obligation("states", make_goal(_MEAN, "T + w*a >= z*(S + w*b)", "T >= z*S", "a >= z*b"), "a sum's maximum is at most the sum of maxima, one state more",
                       positive(("1", 0), ("w", 1)), {"T": "1", "S": "1", "w": "1", "z": "1", "a": "1", "b": "1"}),
        ),
        reading=("induction over the states from the empty sum",),
    ),
)  # fmt: skip

_ABX = {"a": NONNEGATIVE, "b": POSITIVE, "m": POSITIVE, "x": NONNEGATIVE}
_RISE = "exp(0 - 2*b*x)*(a + x)"


def _piece(
    part: str, title: str, printed: str, meant: str, given: tuple[str, ...], at: Mapping[str, str]
) -> Statement:
    return Statement(
        f"eval.lemma30.{part}", "statement", title, source("Lemma 30", "eval.lemma30"),
        f"The printed maximum is exceeded at {', '.join(f'{k} = {v}' for k, v in at.items())}.",
        obligations=(Obligation("printed", make_goal(_ABX, f"{printed} >= {_RISE}", "m - a >= x", *given), "the value at x against the printed maximum", point(**at),
                                mutation=make_goal(_ABX, f"{meant} >= {_RISE}", "m - a >= x", *given)),),
        corrected_by="eval.lemma30.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The conditions of the cases are wrong; the third line is still an upper bound."),
    )  # fmt: skip


_AB = {"a": NONNEGATIVE, "b": POSITIVE, "m": POSITIVE}
_GROWTH = {"a": POSITIVE, "b": POSITIVE, "u": NONNEGATIVE}
_TANGENT = ("exp(u - 1) >= u", taylor("u", "1", 2))
LEMMA30 = (
    Statement(
        "eval.lemma30", "statement", "The largest e^(-2bx)(a+x) on [0, m-a]", source("Lemma 30", "eval.lemma30"),
        "For a >= 0 and b > 0 the maximum is said to be a if b < a/2, m e^(-2b(m-a)) if b > m/2, and e^(2ab)/(2eb) otherwise.",
        r"\max_{0\le x\le m-a}e^{-2bx}(a+x)",
        parts=("eval.lemma30.small", "eval.lemma30.large", "eval.lemma30.otherwise"), corrected_by="eval.lemma30.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The conditions of the cases are wrong; the third line is still an upper bound."),
    ),
    _piece("small", "b < a/2: a", "a", "exp(2*a*b - 1)/(2*b)", ("a > 2*b",), {"a": "2", "b": "1/10", "m": "3", "x": "1"}),
    _piece("large", "b > m/2: m e^(-2b(m-a))", "m*exp(0 - 2*b*(m - a))", "exp(2*a*b - 1)/(2*b)", ("2*b > m",), {"a": "1", "b": "2", "m": "2", "x": "0"}),
    Statement(
        "eval.lemma30.otherwise", "statement", "Otherwise: e^(2ab)/(2eb) is not attained", source("Lemma 30", "eval.lemma30"),
        "Where b >= 1/(2a) the maximum is a (eval.lemma30.corrected), less than the printed value at a = b = 1, m = 2.",
        obligations=(
            Obligation("printed", make_goal(_AB, "a >= exp(2*a*b - 1)/(2*b)", "m >= a", "2*a*b >= 1", "2*b >= a", "m >= 2*b"), "the maximum against the printed one",
                       point(a="1", b="1", m="2"), mutation=make_goal(_AB, "a*exp(2*a*b - 1) >= a", "m >= a", "2*a*b >= 1", "2*b >= a", "m >= 2*b")),
        ),
        rests_on=("eval.lemma30.corrected",), corrected_by="eval.lemma30.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The value is an upper bound, which is not attained in part of the range."),
    ),
    Statement(
        "eval.lemma30.bound", "project", "e^(2ab)/(2eb) is never exceeded", source("Lemma 30", "eval.lemma30"),
        "For all a + x = u/(2b) >= 0: e^(-2bx)(a+x) = e^(2ab) u e^(-u)/(2b) <= e^(2ab)/(2eb).",
        obligations=(Obligation("tangent", make_goal({"u": NONNEGATIVE, "b": POSITIVE}, "1/(2*exp(1)*b) >= exp(0 - u)*u/(2*b)"), "e^(u-1) >= u",
                                have(*_TANGENT, positive(("1/(2*b*exp(u))", 0))), {"u": "1", "b": "1"}),),
        reading=("with u = 2b(a + x): e^(-2bx) (a + x) = e^(2ab) u e^(-u)/(2b); both sides of the obligation times e^(2ab)",),
    ),
    Statement(
        "eval.lemma30.corrected", "project", "The largest e^(-2bx)(a+x) on [0, m-a], corrected", source("Lemma 30", "eval.lemma30"),
        "For 0 <= a <= m, b > 0: a if b >= 1/(2a), m e^(-2b(m-a)) if b <= 1/(2m), and e^(2ab)/(2eb) otherwise.",
        r"a\ (b\ge\tfrac1{2a}),\quad me^{-2b(m-a)}\ (b\le\tfrac1{2m}),\quad\tfrac1{2eb}e^{2ab}",
        (
            Obligation("falls", make_goal(_GROWTH, "a >= exp(0 - u)*(a + u/(2*b))", "2*a*b >= 1"), "u = 2bx: e^u >= 1 + u",
                       have("exp(u) >= 1 + u", taylor("u", "0", 2), positive(("a*exp(0 - u)", 1), ("u/(2*b)*exp(0 - u)", 0))), {"a": "1", "b": "1/2", "u": "0"}),
            Obligation("rises", make_goal({"m": POSITIVE, "b": POSITIVE, "u": NONNEGATIVE}, "m*exp(0 - u) >= m - u/(2*b)", "1 >= 2*b*m"), "u = 2b(m-a-x): e^(-u) >= 1 - u",
                       have("exp(0 - u) >= 1 - u", taylor("u", "0", 2), positive(("m", 1), ("u/(2*b)", 0))), {"m": "1", "b": "1/2", "u": "0"}),
            Obligation("peak", make_goal({"a": NONNEGATIVE, "b": POSITIVE}, "exp(0 - 2*b*(1/(2*b) - a))*(a + (1/(2*b) - a)) == exp(2*a*b)/(2*exp(1)*b)"),
                       "attained at x = 1/(2b) - a, which lies in [0, m-a] if 1/(2m) <= b <= 1/(2a)", witness={"a": "1", "b": "1"}),
        ),
        ("eval.lemma30.bound",), reading=("the first two are attained at x = 0 and x = m - a",),
    ),
)  # fmt: skip

_FEW, _LAST = {"m": "[1, inf)", "beta": POSITIVE}, "m*exp(0 - 2*m*beta)"
_NK = {"n": NONNEGATIVE, "k": NONNEGATIVE, "m": "[1, inf)", "beta": POSITIVE}
_SHARE = {"s": UNIT, "t": NONNEGATIVE, "b": POSITIVE}
_CUTS = ("1/2", "3/5", "7/10", "4/5", "9/10")
_BEND = split(
    "s",
    "2/5",
    taylor("s", "0", 1),
    reduce(lambda rest, cut: split("s", cut, RANGE, rest), reversed(_CUTS), RANGE),
)
EQ58 = (
    Statement(
        "eval.eq58", "statement", "The largest term over k for one state", source("Equation 58", "eval.eq58"),
        "For 2 beta < 1 <= m and n = |X_s|, max_k e^(-2 k beta) min(n+k, m) is said to be n if n > 2 beta and e^(2 beta n)/(2 e beta) if n <= 2 beta, hence at most "
        "n + (1/(2 e beta)) I[n = 0].",
        r"|X_s|+\frac1{2e\beta}I_{|X_s|=0}",
        parts=("eval.eq58.visited", "eval.eq58.unvisited", "eval.eq58.last"), corrected_by="eval.eq58.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false cases of Lemma 30."),
    ),
    Statement(
        "eval.eq58.visited", "statement", "n > 2 beta: n", source("Equation 58", "eval.eq58"),
        "One visit among two trajectories, beta = 1/4: at k = 1 the value is 2 e^(-1/2) > 1.",
        obligations=(
            Obligation("printed", make_goal(_NK, "n >= exp(0 - 2*k*beta)*(n + k)", "1 > 2*beta", "n > 2*beta", "m >= n + k", integers=("n", "k", "m")), "one term",
                       point(n="1", k="1", m="2", beta="1/4"),
                       mutation=make_goal(_NK, "n + 1/(2*exp(1)*beta) >= exp(0 - 2*k*beta)*(n + k)", "1 > 2*beta", "n > 2*beta", "m >= n + k", integers=("n", "k", "m"))),
        ),
        corrected_by="eval.eq58.corrected", reading=("min{n+k, m} = n+k where n+k <= m",),
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false cases of Lemma 30."),
    ),
    Statement(
        "eval.eq58.unvisited", "statement", "n <= 2 beta: e^(2 beta n)/(2 e beta) is not attained", source("Equation 58", "eval.eq58"),
        "As 2 beta < 1 this is n = 0, where the maximum is said to equal 1/(2 e beta). One trajectory, beta = 1/4: the maximum is e^(-1/2) = 0.607, the printed value 0.736.",
        obligations=(
            Obligation("printed", make_goal(_FEW, f"{_LAST} >= exp(2*beta*0)/(2*exp(1)*beta)", "1 > 2*beta", "1 >= 2*m*beta", integers=("m",)), "the maximum against the printed one",
                       point(m="1", beta="1/4"), mutation=make_goal(_FEW, f"1/(2*exp(1)*beta) >= {_LAST}", "1 > 2*beta", "1 >= 2*m*beta", integers=("m",))),
        ),
        rests_on=("eval.lemma30.corrected",), corrected_by="eval.eq58.unvisited.bound",
        reading=("with no visit and 2 m beta <= 1 the largest e^(-2 k beta) min{k, m} is that at k = m (eval.lemma30.corrected, a = 0; past m the terms fall)",),
        not_covered="only that the printed value is a bound is used, and this is true: eval.eq58.unvisited.bound",
        judgement=Judgement(Severity.SLIP, "The value is an upper bound, which is all that is used, and is not attained."),
    ),
    Statement(
        "eval.eq58.unvisited.bound", "project", "n = 0: at most 1/(2 e beta)", source("Equation 58", "eval.eq58"),
        "For every k >= 0 and beta > 0, e^(-2 k beta) min(k, m) <= 1/(2 e beta).",
        obligations=(
            Obligation("bound", make_goal({"u": NONNEGATIVE, "beta": POSITIVE}, "1/(2*exp(1)*beta) >= exp(0 - u)*(u/(2*beta))"), "u = 2 k beta",
                       have(*_TANGENT, positive(("1/(2*beta*exp(u))", 0))), {"u": "1", "beta": "1"}),
        ),
        reading=("min{k, m} <= k",),
    ),
    Statement(
        "eval.eq58.last", "statement", "The last step of equation 58", source("Equation 58", "eval.eq58"),
        "For whole n and 2 beta < 1, n > 2 beta means n >= 1; n = 0 gives 1/(2 e beta): both sides of the printed inequality are the same.",
        obligations=(
            Obligation("zero", make_goal({"beta": POSITIVE}, "exp(2*beta*0)/(2*exp(1)*beta) == 0 + 1/(2*exp(1)*beta)"), "n = 0", witness={"beta": "1"}),
            Obligation("visited", make_goal({"n": "[1, inf)", "beta": "(0, 1/2)"}, "n > 2*beta"), "n >= 1 lies in the first case", positive(reflect=["beta"]),
                       {"n": "1", "beta": "4999/10000"}),
        ),
    ),
    Statement(
        "eval.eq58.corrected", "project", "The largest term over k for one state, corrected", source("Equation 58", "eval.eq58"),
        "For every b > 0 and k >= 0, e^(-kb) min(n+k, m) <= n + e^(-bn)/(e b), the indicator of n = 0 becoming e^(-bn); with b = beta, as eval.noise.corrected asks, or b = 2 beta "
        "for the printed maximum.",
        r"|X_s|+\frac1{e\beta}e^{-\beta|X_s|}",
        (
            Obligation("few", make_goal(_SHARE, "s/b + exp(0 - s)/(exp(1)*b) >= exp(s - t)*t/b", "t >= s"), "s = n b <= 1, t = (n + k) b: the most over k is e^(s-1)/b, by e^(t-1) >= t",
                       have("exp(1)*s + exp(0 - s) >= exp(s)", _BEND, have("exp(t - 1) >= t", taylor("t", "1", 2), positive(("1/(exp(1)*b)", 1), ("exp(s)/(b*exp(t))", 2)))),
                       {"s": "0", "t": "1", "b": "1"}),
            Obligation("many", make_goal(_SHARE | {"s": "[1, inf)", "u": NONNEGATIVE}, "s/b >= exp(0 - u)*(s + u)/b"), "s = n b >= 1, u = k b: the most is n, by e^u >= 1 + u",
                       have("exp(u) >= 1 + u", taylor("u", "0", 2), positive(("s/(b*exp(u))", 0))), {"s": "1", "t": "1", "u": "0", "b": "1"}),
        ),
        reading=(f"min{{n+k, m}} <= n+k; the case n b >= 1 leaves out what is positive; derivation: {NOTE}",),
    ),
)  # fmt: skip

_RISK = {
    "epsilon": POSITIVE,
    "delta": "(0, 1)",
    "R": POSITIVE,
    "gamma": "(0, 1)",
    "ridge": "(1, inf)",
    "p": UNIT,
}
_SIZE = "(4*(25*2*log(2/delta)/epsilon**2)*R**2/((1 - gamma)**2*(ridge - 1)**2))"
# A trajectory that stays away has the factor e^(-beta) in psi's term at k = m - |X_s|; m = 2.
_AWAY, _FEWER = f"(p + (1 - p)*exp(0 - {LEVEL}))", f"(1 - (1 - exp(0 - {LEVEL}))*p)"
_LEAST = f"{_SIZE}*((ridge/4*{_AWAY}**2 + p*{_AWAY})*(1 + sqrt(1/ridge))**2)"
_PRINTED = f"p*(1/2 + 2) + ridge/2 + (1 - p)**2/(8*exp(1)*{LEVEL}) + 2/ridge*p**2 + (p - p**2)/ridge"
_MEANT = f"p*(1/2 + 2) + ridge/2 + {_FEWER}**2/(4*exp(1)*{LEVEL}) + 2/ridge*p**2 + (p - p**2 + exp(0 - {LEVEL})*p*{_FEWER}/(exp(1)*{LEVEL}))/ridge"
_POINT = {"epsilon": "1", "delta": "1/10", "R": "1", "gamma": "1/2", "ridge": "11/10", "p": "1/2"}


def _risk(bound: str) -> Goal:
    return make_goal(_RISK, f"{_SIZE}*({bound}) >= {_LEAST}", f"1/2 > {LEVEL}")


_FORM = {"d": "[1, inf)", "m": "[1, inf)", "ridge": POSITIVE, "Q": NONNEGATIVE, "R2": NONNEGATIVE, "beta": POSITIVE, "a": NONNEGATIVE, "b": NONNEGATIVE,
         "v": REAL, "G": NONNEGATIVE, "h": NONNEGATIVE, "C2": NONNEGATIVE}  # fmt: skip
_BRACES = "(d*Q*b/2 + 2*R2*a + ridge/m*d*R2 + d*Q/(2*exp(1)*beta*m)*G + m/ridge*Q*a*b + Q/ridge*(v + h/(exp(1)*beta)))"
_FACTOR = "(ridge*d/(2*m) + A/m)"
_BOUND = "2*R2 + Q/ridge*(B + D/(exp(1)*beta))"
_GIVEN = (
    f"{_BOUND} >= psi",
    "E(A) == m*a",
    "E(B) == m*b",
    "E(A*B) == m**2*a*b + m*v",
    "E(D) == G",
    "E(A*D) == m*h",
)
_RANDOM = {"A": NONNEGATIVE, "B": NONNEGATIVE, "D": NONNEGATIVE, "psi": NONNEGATIVE}


def _total(size: str) -> Goal:
    return make_goal(_FORM, f"{size}*{_BRACES} >= E({_FACTOR}*(C2*psi))", *_GIVEN, random=_RANDOM)


_COUNT = {"r": UNIT, "f": NONNEGATIVE, "r2": UNIT, "m": NONNEGATIVE, "p": UNIT, "p2": UNIT, "both": UNIT}
_NEXT = {"p2": UNIT, "both": UNIT, "only": UNIT, "t": UNIT, "m": NONNEGATIVE, "q": UNIT}
_BEFORE, _VISITS = {"n": NONNEGATIVE, "x": UNIT}, {"y": UNIT, "y2": UNIT}
THEOREM32 = (
    Statement(
        "eval.theorem32", "statement", "The excess risk of DP-LSL, bounded", source("Theorem 32", "eval.theorem32"),
        "For beta < 1/2 and lambda > ||Phi||^2 ||rho||_inf it is said to be at most C_lambda^2 times five sums, in which states that are visited rarely enter by "
        "(1-p)^m/(2 e beta) only. Two states, the initial one of weight 0, the other visited with chance p, weight and feature 1: refuted at epsilon = 1, delta = 1/10, two trajectories, "
        "p = 1/2, lambda = 11/10.",
        r"C_\lambda^2\{\cdots\}",
        (Obligation("printed", _risk(_PRINTED), "m = 2: the printed bound against the excess risk's least value", point(**_POINT), mutation=_risk(_MEANT)),),
        ("eval.lemma29",), corrected_by="eval.theorem32.corrected",
        reading=("||Phi|| = ||rho||_2 = ||rho||_inf = d = 1, and every product over two different states is 0",
                 "psi is at least its term at k = 2 - n, e^(-(2-n) beta)(1 + sqrt(1/lambda))^2, n = |X_s| binomial: with h = p + (1-p) e^(-beta), e^(-(2-n) beta) has mean h^2 and "
                 "n e^(-(2-n) beta) has mean 2 p h (sums over n = 0, 1, 2)",
                 "alpha^2 = 25 * 2 log(2/delta)/epsilon^2 and beta = epsilon/(4(d + log(2/delta))) are the algorithm's"),
        laws=("binomial.mass",),
        judgement=Judgement(Severity.REPAIRABLE, "The printed bound on the error is too small where states are visited rarely; the corrected one has more terms and the same order."),
    ),
    Statement(
        "eval.theorem32.corrected", "project", "The excess risk of DP-LSL, bounded, corrected", source("Theorem 32", "eval.theorem32"),
        "For every beta > 0, with g_s = 1-(1-e^(-beta)) p_s: as printed with g_s^m/(e beta) for (1-p_s)^m/(2 e beta), and (1/(e beta)) (P[s, not s'] + e^(-beta) P[s, s']) g_s'^(m-1) for "
        "(1/(2 e beta)) P[s, not s'] (1-p_s')^(m-1), added for all pairs, also s' = s. Q = ||Phi||^2 ||rho||_inf^2, a = sum rho_s ||phi_s||^2 p_s, b = sum rho_s p_s, "
        "G = sum rho_s g_s^m, m v the covariance of A = sum rho_s ||phi_s||^2 |X_s| and B = sum rho_s |X_s|, h = sum over s, s' of rho_s rho_s' ||phi_s||^2 (P[s, not s'] + e^(-beta) P[s, s']) g_s'^(m-1).",
        r"C_\lambda^2\Bigl\{\tfrac{dQ}2b+2\|\rho\|^2a+\tfrac\lambda md\|\rho\|^2+\tfrac{dQ}{2e\beta m}G+\tfrac m\lambda Qab+\tfrac Q\lambda\bigl(v+\tfrac h{e\beta}\bigr)\Bigr\}",
        (
            *equal("pair", "n, n2 the counts of two states", ("E(r*f*n*(r2*n2))", "r*f*r2*(m**2*p*p2 + m*(both - p*p2))"),
                  ("E(n*n2) == m*(m - 1)*p*p2 + m*both",), (("r*f*r2", 0),), _COUNT, ({"n": NONNEGATIVE, "n2": NONNEGATIVE},)),
            *equal("rare", "x = e^(-beta |X_s'|), t = e^(-beta), q = g_s'^(m-1); one trajectory more", ("E(x*(1 - y2 + t*y2))", "q*(1 - (1 - t)*p2)*(1 - (1 - t)*p2)"),
                  ("E(x) == q*(1 - (1 - t)*p2)", "E(y2) == p2"), (("1 - (1 - t)*p2", 0), ("0 - (1 - t)*E_x", 1)), _NEXT, ({"x": UNIT}, {"y2": UNIT})),
            *equal("rare_pair", "n = |X_s|; (n + y) times the next x",
                  ("E((n + y)*x*(1 - y2 + t*y2))", "(m + 1)*(only + t*both)*(q*(1 - (1 - t)*p2))"),
                  ("E(n*x) == m*(only + t*both)*q", "E(x) == q*(1 - (1 - t)*p2)", "E(y2) == p2", "E(y*(1 - y2)) == only", "E(y*y2) == both"),
                  (("1 - (1 - t)*p2", 0), ("only + t*both", 1), ("0 - (1 - t)*E_n_x", 2), ("E_x", 3), ("t*E_x", 4)), _NEXT, (_BEFORE, _VISITS)),
            Obligation("total", _total("C2"), "sigma_X^2 = C_lambda^2 psi, psi at most its bound, and the moments",
                       expect([(f"{_FACTOR}*({_BOUND} - psi)", positive((_FACTOR, 0)))],
                              positive(("C2", 6), ("0 - 2*C2/m*R2", 1), ("0 - C2*d*Q/(2*m)", 2), ("0 - C2*Q/(ridge*m)", 3),
                                       ("0 - C2*d*Q/(2*m*exp(1)*beta)", 4), ("0 - C2*Q/(ridge*m*exp(1)*beta)", 5))),
                       mutation=_total("C2*999/1000")),
        ),
        ("eval.lemma29", "eval.noise.corrected", "eval.eq58.corrected", "eval.lemma31"),
        reading=("the claims for two states are used for the same state twice: y2 = y, p2 = both = p and only = 0", "E[AB] is the sum over all pairs: v = sum_s rho_s^2 ||phi_s||^2 (p_s - p_s^2) + sum over s != s' of rho_s rho_s' ||phi_s||^2 (p_ss' - p_s p_s')",
                 "D = sum rho_s e^(-beta |X_s|), so that E[D] = G, and E[AD] = m h is the sum over all pairs; one more trajectory multiplies e^(-beta |X_s'|) by e^(-beta y2) = 1 - y2 + t y2, y2 "
                 "in {0, 1} its visit; induction over m from one trajectory, where n x = y (1 - y2 + t y2), q = 1 and x = 1 - y2 + t y2",
                 "R2 = ||rho||_2^2, C2 = C_lambda^2 with alpha in it, as the theorem says and the text before Lemma 30 forgets"),
    ),
)  # fmt: skip

_SUM = {"ridge": "[1, inf)", "m": "[1, inf)", "G": NONNEGATIVE, "C2": NONNEGATIVE, "t0": NONNEGATIVE, "t1": NONNEGATIVE, "t2": NONNEGATIVE, "t3": NONNEGATIVE, "t4": NONNEGATIVE}  # fmt: skip
_ORDER = "(1/(ridge*m) + 1/ridge**2 + m/ridge**3)"
_FIVE = "C2*(t0 + t1*ridge/m + t2/m + t3*m/ridge + t4/ridge)"
_CHANCES = dict.fromkeys(("only", "both", "t", "q"), UNIT)
_SCALE = {"ridge": POSITIVE, "s": NONNEGATIVE, "g": POSITIVE}
COROLLARY13 = Statement(
    "eval.corollary13", "statement", "The excess risk of DP-LSL is of order 1/(lambda m) + 1/lambda^2 + m/lambda^3", source("Corollaries 13 and 33", "eval.corollary13"),
    "If lambda grows without bound with m: as soon as lambda >= max{1, 2||Phi||^2 ||rho||_inf}, C_lambda^2 <= G/lambda^2 with G = (4 alpha Rmax ||Phi||/(1-gamma))^2, and the risk is at "
    "most G (t0 + t1 + t2 + t3 + t4) times the printed sum, t0, ..., t4 bounds that do not depend on m on the coefficients of theorem 32's corrected form. It survives the correction.",
    r"O\Bigl(\frac1{\lambda m}+\frac1{\lambda^2}+\frac m{\lambda^3}\Bigr)",
    (
        Obligation("scale", make_goal(_SCALE, "2*s/ridge >= s/g", "2*g >= ridge"), "g = lambda - ||Phi||^2 ||rho||_inf is at least lambda/2",
                   positive(("s/(ridge*g)", 0)), {"ridge": "2", "s": "1", "g": "1"}),
        Obligation("rare", make_goal(_CHANCES, "only + both >= (only + t*both)*q"), "the coefficients h and G are at most P a and P: x = e^(-beta |X_s'|) and q = g_s'^(m-1) are at most 1",
                   have("1 >= t*q", RANGE, positive(("both", 0), reflect=["q"])), {"only": "1", "both": "1", "t": "1", "q": "1"}),
        Obligation("order", make_goal(_SUM, f"G*(t0 + t1 + t2 + t3 + t4)*{_ORDER} >= {_FIVE}", "G >= C2*ridge**2"), "the five terms of eval.theorem32.corrected",
                   positive((f"(t0 + t1 + t2 + t3 + t4)*{_ORDER}", 0)), mutation=make_goal(_SUM, f"G/10*(t0 + t1 + t2 + t3 + t4)*{_ORDER} >= {_FIVE}", "G >= C2*ridge**2")),
    ),
    ("eval.theorem32.corrected",),
    reading=("O(.): a constant that does not depend on m or lambda, from some m on, with epsilon, delta, Rmax, gamma, Phi, rho and all visit chances fixed; a covariance v below 0 is "
             "replaced by 0", "t0 = dQb/2 + 2||rho||^2 a, t1 = d||rho||^2, t2 = dQP/(2 e beta), t3 = Qab, t4 = Q(max{v, 0} + Pa/(e beta)), P = sum rho_s"),
)  # fmt: skip

LINEAR = Statement(
    "eval.corollary13.linear", "statement", "A regularisation of order m gives order 1/m^2", source("The remark after Corollary 13", "eval.corollary13"),
    "For lambda >= c m the printed sum is at most (1/c + 1/c^2 + 1/c^3)/m^2.",
    r"\lambda=\Theta(m)\Rightarrow O(1/m^2)",
    (
        Obligation("order", make_goal({"c": POSITIVE, "t": NONNEGATIVE, "m": "[1, inf)"},
                                       "(1/c + 1/c**2 + 1/c**3)/m**2 >= 1/((c + t)*m*m) + 1/((c + t)*m)**2 + m/((c + t)*m)**3"), "lambda = (c + t) m",
                   positive(), {"c": "1", "t": "0", "m": "1"}),
    ),
    ("eval.corollary13",), reading=("each of the three terms falls in lambda",),
)  # fmt: skip

STATEMENTS = (LEMMA29, *NOISE, *LEMMA30, *EQ58, *THEOREM32, COROLLARY13, LINEAR)
