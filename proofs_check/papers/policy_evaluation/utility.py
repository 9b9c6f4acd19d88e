"""Excess risk of DP-LSW, in "Differentially Private Policy Evaluation".

Lemma 23 prints the least value of a quotient where its largest is needed; what follows from it is corrected
here (docs/notes/eval_utility.md). beta is the smoothing of the variance, n = |X_s|, p = p_s.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import IDENTITY, RANGE, expect, have, mono, point, positive, split, taylor
from dpproof.proofs_check.papers.policy_evaluation.moments import NOTE, equal, source
from dpproof.proofs_check.papers.policy_evaluation.sensitivity import STATES
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

UNIT, REAL, NONNEGATIVE, POSITIVE = "[0, 1]", "(-inf, inf)", "[0, inf)", "(0, inf)"
GAUSSIAN = (
    "eta = sigma_X (h_1, ..., h_d) with h_1, ..., h_d independent of each other and of the data, of mean 0 and variance 1: what N(0, sigma_X^2 I) means; "
    "no other property of the Gaussian law is used"
)
INTEGRABLE = "counts, returns and sigma_X are bounded (|X_s| <= m, returns in [0, Rmax/(1-gamma)]), so that all these expectations exist"
COORDINATES = "phi_s eta/sigma_X = sum over i of phi_si h_i: its mean and variance by induction over the coordinates, from the empty sum, with mean 0 and variance 0"
# The algorithm's own smoothing in dimension 1.
LEVEL = "(epsilon/(4*(1 + log(2/delta))))"


def projection(name: str) -> tuple[Obligation, ...]:
    """The noise along a feature vector, coordinate by coordinate: mean zero, variance the squared length."""
    variables = {"f": REAL, "v": NONNEGATIVE}
    given, groups = ("E(g) == 0", "E(g**2) == v", "E(h) == 0", "E(h**2) == 1"), ({"g": REAL}, {"h": REAL})
    note = "g: the sum over earlier coordinates, v their squared length; f the next feature, h its noise"
    spread = equal(
        name,
        note,
        ("E((g + f*h)**2)", "v + f**2"),
        given,
        (("1", 1), ("2*f*E_h", 0), ("f**2", 3)),
        variables,
        groups,
    )
    return *spread, *equal(
        f"{name}_mean",
        "its mean stays 0",
        ("E(g + f*h)", "0"),
        given,
        (("1", 0), ("f", 2)),
        variables,
        groups,
    )


_STEP = {"w": NONNEGATIVE, "v": NONNEGATIVE}
LEMMA22 = Statement(
    "eval.lemma22", "statement", "The excess risk of DP-LSW", source("Lemma 22", "eval.lemma22"),
    "E over data and noise of J(theta + eta) - J(theta), J the weighted squared error, is ||Gamma^(1/2) Phi||_F^2 E[sigma_X^2]. State by state, with residual "
    "u = F_s - phi_s theta: (u - phi_s eta)^2 - u^2 has mean ||phi_s||^2 E[sigma_X^2]; times w_s, added up.",
    r"E[J_X^w(\hat\theta)-J_X^w(\theta)]=\|\Gamma^{1/2}\Phi\|_F^2\,E[\sigma_X^2]",
    (
        *projection("coordinate"),
        *equal("state", "g = phi_s eta/sigma_X, v = ||phi_s||^2; s = sigma_X and u are functions of the data", ("E(w*((u - s*g)**2 - u**2))", "w*v*E(s**2)"),
              ("E(g) == 0", "E(g**2) == v"), (("0 - 2*w*E_s_u", 0), ("w*E_s2", 1)), _STEP, ({"u": REAL, "s": NONNEGATIVE}, {"g": REAL})),
    ),
    reading=(GAUSSIAN, INTEGRABLE, COORDINATES, "the sum over states: expectations add, and sum_s w_s ||phi_s||^2 is ||Gamma^(1/2) Phi||_F^2"),
    not_covered="nothing; the printed proof's identity (47) is eval.eq47, and is not used",
    laws=("gaussian.moments",),
)  # fmt: skip

_SIDE = {"eta": NONNEGATIVE, "theta": REAL, "F": REAL, "w": POSITIVE}
_EXCESS = "w*(F - (theta + eta))**2 - w*(F - theta)**2"
_FITS = {"w": NONNEGATIVE, "F": REAL, "u": REAL, "g": REAL}
EQ47 = (
    Statement(
        "eval.eq47", "statement", "The excess risk before the mean is taken, as printed", source("Equation 47", "eval.lemma22"),
        "At a minimiser, J(theta + eta) - J(theta) is said to be eta A eta - F Gamma Phi eta - eta A theta with A = Phi' Gamma Phi. For one state and one "
        "feature equal to 1: F = theta = eta = w = 1 gives 1 on the left and -1 on the right. The last sign is wrong; the mean over eta is the same.",
        r"\eta^\top\Phi^\top\Gamma\Phi\eta-F_X^\top\Gamma\Phi\eta-\eta^\top\Phi^\top\Gamma\Phi\theta",
        (Obligation("printed", make_goal(_SIDE, f"w*eta**2 - F*w*eta - eta*w*theta == {_EXCESS}", "w*theta == w*F"), "one state, one feature, noise eta >= 0",
                    point(eta="1", theta="1", F="1", w="1"), mutation=make_goal(_SIDE, f"w*eta**2 - F*w*eta + eta*w*theta == {_EXCESS}", "w*theta == w*F")),),
        corrected_by="eval.eq47.corrected",
        judgement=Judgement(Severity.SLIP, "A sign is wrong in a line whose mean alone is used."),
    ),
    Statement(
        "eval.eq47.corrected", "project", "The excess risk before the mean is taken, one sign changed", source("Equation 47", "eval.lemma22"),
        "At a minimiser J(theta + eta) - J(theta) = eta A eta - F Gamma Phi eta + eta A theta, in every dimension; the two linear terms are equal and cancel, which leaves eta A eta.",
        r"\eta^\top\Phi^\top\Gamma\Phi\eta-F_X^\top\Gamma\Phi\eta+\eta^\top\Phi^\top\Gamma\Phi\theta=\eta^\top\Phi^\top\Gamma\Phi\eta",
        (
            *equal("sign", "u = phi_s theta, g = phi_s eta", ("E(w*((F - u - g)**2 - (F - u)**2))", "E(w*g**2 - w*F*g + w*u*g)"), ("E(w*F*g) == E(w*u*g)",), (("0 - 1", 0),), {}, (_FITS,)),
            *equal("square", "the same without the linear terms", ("E(w*((F - u - g)**2 - (F - u)**2))", "E(w*g**2)"), ("E(w*F*g) == E(w*u*g)",), (("0 - 2", 0),), {}, (_FITS,)),
        ),
        reading=(STATES, "the minimiser solves theta' A = F' Gamma Phi (the display before (47)); times eta this is the hypothesis"),
    ),
)  # fmt: skip

_AB = {"a": "[1, inf)", "b": POSITIVE, "x": NONNEGATIVE}
_VALUE, _ENDS = "exp(0 - b*x)/(a - x)**2", "1/a**2 + exp(b - a*b)"


def _piece(
    part: str, title: str, printed: str, meant: str, given: tuple[str, ...], at: dict[str, str]
) -> Statement:
    return Statement(
        f"eval.lemma23.{part}", "statement", title, source("Lemma 23", "eval.lemma23"),
        f"The printed maximum is exceeded at {', '.join(f'{k} = {v}' for k, v in at.items())}.",
        obligations=(Obligation("printed", make_goal(_AB, f"{printed} >= {_VALUE}", "a - 1 >= x", *given), "the value at x against the printed maximum",
                                point(**at), mutation=make_goal(_AB, f"{meant} >= {_VALUE}", "a - 1 >= x", *given)),),
        corrected_by="eval.lemma23.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The stationary point is taken for the maximum, which lies at an end of the interval."),
    )  # fmt: skip


_T = {"t": "[1, inf)", "x": POSITIVE, "b": POSITIVE, "L": REAL}
_CONVEX = have(
    "log(t) >= 1 - 1/t", mono("t", 1, positive()),
    have("x/t >= log(t + x) - log(t)", mono("x", 1, positive()),
         positive(("x/(t - 1 + x)", 1), ("(t - 1)/(t - 1 + x)", 0), ("2*x/(t - 1 + x)", 2), ("2*(t - 1)/(t - 1 + x)", 3))),
)  # fmt: skip
_ENDPOINTS = {"a": "[1, inf)", "b": POSITIVE}
LEMMA23 = (
    Statement(
        "eval.lemma23", "statement", "The largest e^(-bx)/(a-x)^2 on [0, a-1]", source("Lemma 23", "eval.lemma23"),
        "For b > 0, a >= 1 the maximum is said to be 1/a^2 if b < 2/a, e^(1-ab) if b > 2, and (e^2/4) b^2 e^(-ab) otherwise.",
        r"\max_{0\le x\le a-1}\frac{e^{-bx}}{(a-x)^2}",
        parts=("eval.lemma23.small", "eval.lemma23.large", "eval.lemma23.otherwise"), corrected_by="eval.lemma23.corrected",
        not_covered="nothing; the logarithm is convex, so that the stationary point is the lowest: lines 1 and 3 are the minimum (eval.lemma23.minimum), and so is line 2 with e^(b-ab)",
        judgement=Judgement(Severity.REPAIRABLE, "The stationary point is taken for the maximum, which lies at an end; the bounds that use it change their form."),
    ),
    _piece("small", "b < 2/a: 1/a^2", "1/a**2", "exp(b - a*b)", ("2 > a*b",), {"a": "2", "b": "1/2", "x": "1"}),
    _piece("large", "b > 2: e^(1-ab)", "exp(1 - a*b)", "1/a**2", ("b > 2",), {"a": "1", "b": "3", "x": "0"}),
    _piece("otherwise", "otherwise: (e^2/4) b^2 e^(-ab)", "exp(2)/4*b**2*exp(0 - a*b)", _ENDS, ("a*b >= 2", "2 >= b"), {"a": "4", "b": "1", "x": "0"}),
    Statement(
        "eval.lemma23.corrected", "project", "The largest e^(-bx)/(a-x)^2 on [0, a-1] is at an end", source("Lemma 23", "eval.lemma23"),
        "For all b > 0, a >= 1: max{1/a^2, e^(-b(a-1))}. With a = t + x and L at least the logarithms of both, L >= -b x - 2 log t: (t-1+x) log t >= (t-1) log(t+x).",
        r"\max\{a^{-2},e^{-b(a-1)}\}",
        (
            Obligation("bound", make_goal(_T, "L >= 0 - b*x - 2*log(t)", "L >= 0 - 2*log(t + x)", "L >= 0 - b*(t + x - 1)"), "logarithms; x > 0, as x = 0 is an end",
                       _CONVEX, {"t": "1", "x": "1", "b": "1", "L": "-1"}),
            Obligation("left", make_goal(_ENDPOINTS, "exp(0 - b*0)/(a - 0)**2 == 1/a**2"), "attained at x = 0", witness={"a": "2", "b": "1"}),
            Obligation("right", make_goal(_ENDPOINTS, "exp(0 - b*(a - 1))/(a - (a - 1))**2 == exp(b - a*b)"), "attained at x = a - 1", witness={"a": "2", "b": "1"}),
        ),
        reading=(f"L is any number that is at least the logarithms of both ends; derivation: {NOTE}",),
    ),
    Statement(
        "eval.lemma23.minimum", "project", "What the third line of the printed maximum is", source("Lemma 23", "eval.lemma23"),
        "(e^2/4) b^2 e^(-ab) is the least value of e^(-bx)/(a-x)^2 over all x < a: with y = b(a-x) > 0, y - 2 >= 2 log(y/2), equality at x = a - 2/b.",
        r"\min_{x<a}\frac{e^{-bx}}{(a-x)^2}=\frac{e^2}4b^2e^{-ab}",
        (
            Obligation("tangent", make_goal({"y": POSITIVE}, "y >= 2 + 2*log(y/2)"), "in logarithms", split("y", "2", mono("y", -1, positive()), mono("y", 1, positive())), {"y": "2"}),
            Obligation("attained", make_goal(_ENDPOINTS, "exp(0 - b*(a - 2/b))/(a - (a - 2/b))**2 == exp(2)/4*b**2*exp(0 - a*b)"), "at a - x = 2/b",
                       witness={"a": "4", "b": "1"}),
        ),
    ),
)  # fmt: skip

_K = {"n": "[1, inf)", "k": NONNEGATIVE, "beta": "(0, 2]"}
_TERM = "exp(0 - k*beta)/(n - k)**2"


def _case(part: str, title: str, printed: str, meant: str, given: str, at: dict[str, str]) -> Statement:
    return Statement(
        f"eval.eq52.{part}", "statement", title, source("Equation 52", "eval.eq52"),
        f"The printed maximum is exceeded at {', '.join(f'{k} = {v}' for k, v in at.items())}.",
        obligations=(Obligation("printed", make_goal(_K, f"{printed} >= {_TERM}", "n - 1 >= k", given, integers=("n", "k")), "one term against the printed maximum",
                                point(**at), mutation=make_goal(_K, f"{meant} >= {_TERM}", "n - 1 >= k", given, integers=("n", "k"))),),
        corrected_by="eval.eq52.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false maximum of Lemma 23."),
    )  # fmt: skip


_NONE = Obligation("unvisited", make_goal({"k": NONNEGATIVE, "beta": POSITIVE}, "1 >= exp(0 - k*beta)"), "n = 0: every denominator is 1, and k = 0 gives 1", RANGE,
                   {"k": "0", "beta": "1"})  # fmt: skip
_BEYOND = {"n": "[1, inf)", "j": NONNEGATIVE, "beta": POSITIVE}
EQ52 = (
    Statement(
        "eval.eq52", "statement", "The largest term over k, by number of visits", source("Equation 52", "eval.eq52"),
        "For beta <= 2 and n = |X_s| the maximum over k >= 0 of e^(-k beta)/max(n-k, 1)^2 is said to be 1 if n = 0, 1/n^2 if 1 <= n < 2/beta and "
        "(e^2/4) beta^2 e^(-beta n) if n >= 2/beta.",
        r"I_{n=0}+I_{1\le n<2/\beta}n^{-2}+I_{n\ge2/\beta}\tfrac{e^2}4\beta^2e^{-\beta n}",
        parts=("eval.eq52.unvisited", "eval.eq52.few", "eval.eq52.many"), corrected_by="eval.eq52.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false maximum of Lemma 23."),
    ),
    Statement(
        "eval.eq52.unvisited", "statement", "No visit: the largest term is 1", source("Equation 52", "eval.eq52"),
        "For n = 0 the terms are e^(-k beta), at most 1, with equality at k = 0.", obligations=(_NONE,),
        reading=("max(0 - k, 1) is 1, so that the term is e^(-k beta), which is 1 at k = 0",),
    ),
    _case("few", "1 <= n < 2/beta: 1/n^2", "1/n**2", "exp(beta - beta*n)", "2 > n*beta", {"n": "2", "k": "1", "beta": "1/2"}),
    _case("many", "n >= 2/beta: (e^2/4) beta^2 e^(-beta n)", "exp(2)/4*beta**2*exp(0 - beta*n)", "1/n**2 + exp(beta - beta*n)", "n*beta >= 2",
          {"n": "4", "k": "0", "beta": "1"}),
    Statement(
        "eval.eq52.corrected", "project", "The largest term over k", source("Equation 52", "eval.eq52"),
        "For every beta > 0 the maximum over k >= 0 of e^(-k beta)/max(n-k, 1)^2 is 1 if n = 0 and max{1/n^2, e^(-beta(n-1))} if n >= 1: eval.lemma23.corrected up to "
        "k = n - 1, where it is attained at k = 0 or k = n - 1; later terms are smaller.",
        r"I_{n=0}+I_{n\ge1}\max\{n^{-2},e^{-\beta(n-1)}\}",
        (
            _NONE,
            Obligation("beyond", make_goal(_BEYOND, "exp(0 - beta*(n - 1)) >= exp(0 - beta*(n - 1 + j))"), "k = n - 1 + j: the denominator stays 1",
                       mono("j", 1, IDENTITY), {"n": "1", "j": "0", "beta": "1"}),
        ),
        ("eval.lemma23.corrected",),
    ),
)  # fmt: skip

_M = {"p": "(0, 1]", "beta": "(0, 2]", "m": "[1, inf)"}
_POWER = "exp(m*log(1 - (1 - exp(0 - beta))*p))"
_TAIL = "6/(p**2*(m + 1)*(m + 2))"
_HELD = "a count n is at most m, so that the maximum over k is at least its term at k = m - 1, which is e^(-beta(m-1)) whatever n is (later terms are smaller, so that a limit K_X on k changes nothing)"
_SUM = {"p": "(0, 1]", "beta": POSITIVE, "m": "[1, inf)", "q": UNIT, "g": UNIT}
_INVERSE = "6/(p*(m + 1))*((1 - (1 - p)**2*q)/(p*(m + 2)) - (1 - p)*q - p*(m + 1)/2*q)"
_COUNTS = {"M": UNIT, "z": UNIT, "r": UNIT, "x": UNIT}
_ALL = ("z + r + exp(beta)*x >= M", "E(z) == q", "E(x) == g", f"{_INVERSE} >= E(r)")
LEMMA25 = (
    Statement(
        "eval.lemma25", "statement", "The mean of the largest term over k", source("Lemma 25", "eval.lemma25"),
        "For beta <= 2 the mean over m trajectories is said to be at most 6/(p^2(m+1)(m+2)) + (e^2 beta^2/4)(1-(1-e^(-beta))p)^m where p > 0, and 1 where p = 0.",
        r"\frac6{p_s^2(m+1)(m+2)}+\frac{e^2\beta^2}4(1-(1-e^{-\beta})p_s)^m",
        parts=("eval.lemma25.unvisited", "eval.lemma25.visited"), corrected_by="eval.lemma25.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false maximum of Lemma 23; the corrected mean has another factor in its second term."),
    ),
    Statement(
        "eval.lemma25.unvisited", "statement", "p = 0: at most 1", source("Lemma 25", "eval.lemma25"),
        "Without visits the largest term is 1, and so is its mean.", obligations=(_NONE,), reading=("p = 0: |X_s| = 0 surely",),
    ),
    Statement(
        "eval.lemma25.visited", "statement", "p > 0, as printed", source("Lemma 25", "eval.lemma25"),
        "The mean is at least e^(-beta(m-1)) for every p, which the printed bound does not reach: two trajectories that surely visit s, beta = 1/4.",
        obligations=(
            Obligation("printed", make_goal(_M, f"{_TAIL} + exp(2)*beta**2/4*{_POWER} >= exp(0 - beta*(m - 1))", integers=("m",)), "the term at k = m - 1",
                       point(p="1", beta="1/4", m="2"),
                       mutation=make_goal(_M, f"{_TAIL} + exp(beta)*{_POWER} >= exp(0 - beta*(m - 1))", integers=("m",))),
        ),
        reading=(_HELD, "(1-c)^m is written exp(m log(1-c))"), corrected_by="eval.lemma25.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "It takes over the false maximum of Lemma 23; the corrected mean has another factor in its second term."),
    ),
    Statement(
        "eval.lemma25.corrected", "project", "The mean of the largest term over k, corrected", source("Lemma 25", "eval.lemma25"),
        "For every beta > 0 and p in (0, 1] the mean is at most 6/(p^2(m+1)(m+2)) + e^beta (1-(1-e^(-beta))p)^m. Compared with the print, e^beta stands for "
        "e^2 beta^2/4; the two agree at beta = 2 only.",
        r"\frac6{p_s^2(m+1)(m+2)}+e^\beta(1-(1-e^{-\beta})p_s)^m",
        (
            *equal("generating", "x = e^(-beta |X_s|); one trajectory more", ("E(x*(1 - y + y*t))", "g*(1 - (1 - t)*p)"), ("E(x) == g", "E(y) == p"),
                  (("1 - (1 - t)*p", 0), ("0 - (1 - t)*E_x", 1)), {"p": UNIT, "t": UNIT, "g": UNIT}, ({"x": UNIT}, {"y": UNIT})),
            Obligation("mean", make_goal(_SUM, f"{_TAIL} + exp(beta)*g >= E(M)", *_ALL, random=_COUNTS),
                       "M the largest term, z = 1 where n = 0, r = 1/n^2 where n >= 1: 1/n^2 and e^beta e^(-beta n) cover M; lemma 24 bounds E[r]",
                       expect([("z + r + exp(beta)*x - M", positive(("1", 0)))], positive(("1", 4), ("0 - 1", 1), ("0 - exp(beta)", 2), ("1", 3))),
                       mutation=make_goal(_SUM, f"{_TAIL} + exp(beta)*g*999/1000 >= E(M)", *_ALL, random=_COUNTS)),
        ),
        ("eval.eq52.corrected", "eval.lemma24.second", "eval.lemma31"),
        reading=("g = (1-(1-e^(-beta))p)^m: 1 at m = 0, one factor for each trajectory; q = (1-p)^m is the chance of no visit (eval.lemma31)",
                 "one more trajectory multiplies x = e^(-beta n) by e^(-beta y) = 1 - y + y t, y in {0, 1} its visit, t = e^(-beta); where n = 0, z = x = 1 and r = 0, and M = 1 <= z",
                 "max{1/n^2, e^(-beta(n-1))} <= 1/n^2 + e^beta e^(-beta n)"),
    ),
)  # fmt: skip

_RISK = {
    "epsilon": POSITIVE,
    "delta": "(0, 1)",
    "m": "[1, inf)",
    "R": POSITIVE,
    "gamma": "(0, 1)",
    "w": POSITIVE,
}
_SIZE = "(25*2*log(2/delta)/epsilon**2)*R**2/(1 - gamma)**2*w"
_LEAST = f"{_SIZE}*exp(0 - {LEVEL}*(m - 1))"
_INSTANCE = (
    "one state, one feature equal to 1, weight w: every trajectory visits it, d = 1, and the square of C = alpha Rmax ||(Gamma^(1/2) Phi)^+|| ||Gamma^(1/2) Phi||_F/(1-gamma) is "
    "alpha^2 Rmax^2/(1-gamma)^2; alpha^2 = 25 * 2 log(2/delta)/epsilon^2 and beta = epsilon/(4(d + log(2/delta))) are the algorithm's"
)


def _risk(bound: str, limit: str) -> dict[str, object]:
    return dict(make_goal(_RISK, f"{_SIZE}*({bound}) >= {_LEAST}", f"{limit} >= {LEVEL}", integers=("m",)))


_SAVED = "exp(0 - m*(epsilon/(4*(1 + log(2/delta)))))"
_PRINTED26 = f"6/((m + 1)*(m + 2)) + exp(2)*{LEVEL}**2/4*{_SAVED}"
_PRINTED27 = f"6*(1/m**2 + {LEVEL}**2*exp(m*log(1 - {LEVEL}/2)))"
_MEANT26 = f"6/((m + 1)*(m + 2)) + exp({LEVEL})*{_SAVED}"
_MEANT27 = f"6/m**2 + 2*exp(m*log(1 - {LEVEL}/2))"
_AT26 = {"epsilon": "1", "delta": "1/2", "m": "2", "R": "1", "gamma": "1/2", "w": "1"}
_AT27 = _AT26 | {"epsilon": "1/2", "m": "3"}
_STATES = {"w": NONNEGATIVE, "t": NONNEGATIVE, "b": NONNEGATIVE}
_SCALE = {
    "F": POSITIVE,
    "alpha": POSITIVE,
    "R": POSITIVE,
    "P": POSITIVE,
    "gamma": "(0, 1)",
    "psi": NONNEGATIVE,
}
_RISE = {"T": NONNEGATIVE, "w": NONNEGATIVE, "z": UNIT, "f": UNIT, "t": NONNEGATIVE, "M": UNIT}
THEOREM26 = (
    Statement(
        "eval.theorem26", "statement", "The excess risk of DP-LSW, bounded", source("Theorem 26", "eval.theorem26"),
        "For beta <= 2 it is said to be at most C^2 (sum over never visited s of w_s + sum over the others of w_s (6/(p^2(m+1)(m+2)) + (e^2 beta^2/4)(1-(1-e^(-beta))p)^m)). "
        "It is exactly C^2 E[psi] (eval.lemma22), at least C^2 w e^(-beta(m-1)) in the instance with one state: refuted at epsilon = 1, delta = 1/2, two trajectories.",
        r"C^2\Bigl(\sum_{S_0}w_s+\sum_{S_+}w_s\bigl(\tfrac6{p_s^2(m+1)(m+2)}+\tfrac{e^2\beta^2}4(1-(1-e^{-\beta})p_s)^m\bigr)\Bigr)",
        (Obligation("printed", _risk(_PRINTED26, "2"), "one state, p = 1", point(**_AT26), mutation=_risk(_MEANT26, "2")),),
        ("eval.lemma22",), reading=(_INSTANCE, _HELD), corrected_by="eval.theorem26.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The printed bound on the error is too small; the corrected one has the same order in m for visited states."),
    ),
    Statement(
        "eval.theorem26.corrected", "project", "The excess risk of DP-LSW, bounded, corrected", source("Theorem 26", "eval.theorem26"),
        "For every beta > 0 it is at most C^2 (sum over never visited s of w_s + sum over the others of w_s (6/(p^2(m+1)(m+2)) + e^beta (1-(1-e^(-beta))p)^m)).",
        r"C^2\Bigl(\sum_{S_0}w_s+\sum_{S_+}w_s\bigl(\tfrac6{p_s^2(m+1)(m+2)}+e^\beta(1-(1-e^{-\beta})p_s)^m\bigr)\Bigr)",
        (
            Obligation("scale", make_goal(_SCALE, "F**2*((alpha*R*P/(1 - gamma))**2*psi) == (alpha*R*P*F/(1 - gamma))**2*psi"),
                       "F = ||Gamma^(1/2) Phi||_F, P = ||(Gamma^(1/2) Phi)^+||: lemma 22 with sigma_X^2 = (alpha R P/(1-gamma))^2 psi",
                       witness={"F": "1", "alpha": "1", "R": "1", "P": "1", "gamma": "1/2", "psi": "1"}),
            Obligation("largest", make_goal(_RISE, "t + w*M >= z*T + w*(z*f)", "t >= z*T", "M >= z*f"), "equation 49, one state more: a sum's maximum is at most the sum of maxima; "
                       "z = e^(-k beta), f = 1/max(n-k,1)^2", positive(("1", 0), ("w", 1)), {"T": "1", "w": "1", "z": "1", "f": "1", "t": "1", "M": "1"}),
            Obligation("states", make_goal(_STATES, "t + w*b >= E(T + w*M)", "t >= E(T)", "b >= E(M)", random={"T": NONNEGATIVE, "M": UNIT}), "one state more: T the earlier ones",
                       expect((), positive(("1", 0), ("w", 1))),
                       mutation=make_goal(_STATES, "(t + w*b)*999/1000 >= E(T + w*M)", "t >= E(T)", "b >= E(M)", random={"T": NONNEGATIVE, "M": UNIT})),
            Obligation("mean", make_goal(_STATES, "t >= E(psi)", "t >= E(T)", "T >= psi", random={"T": NONNEGATIVE, "psi": NONNEGATIVE}), "psi is at most the sum T, so is its mean",
                       expect([("T - psi", positive(("1", 1)))], positive(("1", 0), ("1", 2))),
                       mutation=make_goal(_STATES, "t*999/1000 >= E(psi)", "t >= E(T)", "T >= psi", random={"T": NONNEGATIVE, "psi": NONNEGATIVE})),
        ),
        ("eval.lemma22", "eval.lemma25.corrected", "eval.lemma25.unvisited"),
        reading=("induction over the states from the empty sum; b is lemma 25's bound, 1 for a state that is never visited",),
    ),
    Statement(
        "eval.theorem11", "statement", "The excess risk of DP-LSW, as in the paper's body", source("Theorem 11 and Corollary 27", "eval.theorem11"),
        "For beta <= 1/2 it is said to be at most C^2 (sum over never visited s of w_s + 6 sum over the others of w_s (1/(p^2 m^2) + beta^2 (1-beta p/2)^m)). With one state it "
        "is at least C^2 w e^(-beta(m-1)): refuted at epsilon = 1/2, delta = 1/2, three trajectories.",
        r"C^2\Bigl(\sum_{S_0}w_s+6\sum_{S_+}w_s\bigl(\tfrac1{p_s^2m^2}+\beta^2(1-\tfrac{\beta p_s}2)^m\bigr)\Bigr)",
        (Obligation("printed", _risk(_PRINTED27, "1/2"), "one state, p = 1", point(**_AT27), mutation=_risk(_MEANT27, "1/2")),),
        ("eval.lemma22",), reading=(_INSTANCE, _HELD), corrected_by="eval.theorem11.corrected",
        judgement=Judgement(Severity.REPAIRABLE, "The printed bound on the error is too small; the corrected one has the same order in m for visited states."),
    ),
    Statement(
        "eval.theorem11.corrected", "project", "The excess risk of DP-LSW, as in the paper's body, corrected", source("Theorem 11 and Corollary 27", "eval.theorem11"),
        "For beta <= 1/2 it is at most C^2 (sum over never visited s of w_s + sum over the others of w_s (6/(p^2 m^2) + 2 (1-beta p/2)^m)).",
        r"C^2\Bigl(\sum_{S_0}w_s+\sum_{S_+}w_s\bigl(\tfrac6{p_s^2m^2}+2(1-\tfrac{\beta p_s}2)^m\bigr)\Bigr)",
        (
            Obligation("squares", make_goal({"p": "(0, 1]", "m": "[1, inf)"}, "6/(p**2*m**2) >= 6/(p**2*(m + 1)*(m + 2))"), "m^2 <= (m+1)(m+2)",
                       mutation=make_goal({"p": "(0, 1]", "m": "[1, inf)"}, "6/(p**2*m**2)*999/1000 >= 6/(p**2*(m + 1)*(m + 2))")),
            Obligation("constant", make_goal({"beta": "(0, 1/2]"}, "2 >= exp(beta)"), "e^(1/2) < 2", mutation=make_goal({"beta": "(0, 1/2]"}, "8/5 >= exp(beta)")),
            Obligation("base", make_goal({"beta": "(0, 1/2]", "p": UNIT}, "1 - beta*p/2 >= 1 - (1 - exp(0 - beta))*p"), "1 - e^(-beta) >= beta/2",
                       have("1 - exp(0 - beta) >= beta/2", mono("beta", 1, positive()), positive(("p", 0))), {"beta": "1/2", "p": "0"}),
            Obligation("power", make_goal({"h": UNIT, "g": UNIT, "A": UNIT, "B": UNIT}, "h*A >= g*B", "h >= g", "A >= B"), "one more factor on both sides",
                       positive(("A", 0), ("g", 1)), {"h": "1", "g": "1", "A": "1", "B": "1"}),
        ),
        ("eval.theorem26.corrected",), reading=("powers: induction over m from 1 = 1",),
    ),
)  # fmt: skip

_C = {"c": UNIT, "m": NONNEGATIVE, "g": UNIT}
_ORDER = {"p": "(0, 1]", "c": "(0, 1]", "m": "[1, inf)", "beta": POSITIVE, "g": UNIT}
COROLLARY12 = Statement(
    "eval.corollary12", "statement", "The excess risk of DP-LSW is of order 1/m^2", source("Corollaries 12 and 28", "eval.corollary12"),
    "If w_s = 0 wherever p_s = 0, it is at most C^2 K/m^2 for all m >= 1, K = sum over s of w_s (6/p^2 + 2 e^beta/c^2), c = (1-e^(-beta)) p. It survives the correction; only the "
    "constant changes.",
    r"O(1/m^2)",
    (
        Obligation("step", make_goal(_C, "exp(0 - c*(m + 1)) >= g*(1 - c)", "exp(0 - c*m) >= g"), "(1-c)^m <= e^(-cm), one factor more",
                   have("exp(0 - c) >= 1 - c", taylor("c", "0", 2), positive(("1 - c", 0), ("exp(0 - c*m)", 1))), {"c": "0", "m": "1", "g": "1"}),
        Obligation("square", make_goal({"u": POSITIVE}, "2/u**2 >= exp(0 - u)"), "e^u >= u^2/2, u = cm",
                   have("exp(u) >= u**2/2", taylor("u", "0", 3), positive(("2/(u**2*exp(u))", 0))), mutation=make_goal({"u": POSITIVE}, "1/(2*u**2) >= exp(0 - u)")),
        Obligation("constant", make_goal(_ORDER, "(6/p**2 + 2*exp(beta)/c**2)/m**2 >= 6/(p**2*(m + 1)*(m + 2)) + exp(beta)*g", "2/(c*m)**2 >= g"), "one state's share",
                   positive(("exp(beta)", 0)),
                   mutation=make_goal(_ORDER, "(6/p**2 + exp(beta)/c**2)/m**2 >= 6/(p**2*(m + 1)*(m + 2)) + exp(beta)*g", "2/(c*m)**2 >= g")),
    ),
    ("eval.theorem26.corrected",),
    reading=("O(1/m^2): a constant that does not depend on m, with epsilon, delta, Rmax, gamma, Phi, w and the chances p_s fixed", "induction over m from (1-c)^0 = 1"),
    not_covered="the algorithm asks for w_s > 0; for w_s = 0 the state is left out, and Phi' Gamma Phi is to stay invertible",
)  # fmt: skip

STATEMENTS = (LEMMA22, *EQ47, *LEMMA23, *EQ52, *LEMMA25, *THEOREM26, COROLLARY12)
