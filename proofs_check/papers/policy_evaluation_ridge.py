"""Excess risk of DP-LSL, in "Differentially Private Policy Evaluation".

A display after Lemma 29 halves an exponent, Lemma 30 prints wrong cases, and equation 58 loses what is gained
between few visits and m; what follows from them is corrected here (docs/notes/eval_utility.md).
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Mapping

from proofs_check.hints import expect, have, point, positive, sos, taylor
from proofs_check.papers.policy_evaluation_moments import NOTE, equal, source
from proofs_check.papers.policy_evaluation_utility import GAUSSIAN, INTEGRABLE, LEVEL, projection
from proofs_check.statement import Claim, Obligation, Statement, make_claim

__all__ = ["STATEMENTS"]

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
    reading=(GAUSSIAN, INTEGRABLE, "sums over trajectories, states and coordinates: expectations add, and the indicators c of s add up to |X_s|"),
)  # fmt: skip

_PSI = {"n": NONNEGATIVE, "k": NONNEGATIVE, "m": "[1, inf)", "beta": POSITIVE, "ridge": "(1, inf)"}
_NOISE = "exp(0 - k*beta)*(1 + sqrt((n + k)/(2*ridge)))**2"
_ROOT = {"z": UNIT, "r": NONNEGATIVE, "c": NONNEGATIVE, "M": NONNEGATIVE}
_MEAN = {"T": NONNEGATIVE, "S": NONNEGATIVE, "w": UNIT, "z": UNIT, "a": NONNEGATIVE, "b": NONNEGATIVE}
NOISE = (
    Statement(
        "eval.noise", "statement", "The smooth bound, state by state, as printed", source("Appendix E, the display before Lemma 30", "eval.theorem32"),
        "psi is said to be at most 2||rho||^2 + (||Phi||^2 ||rho||_inf^2/lambda) sum_s rho_s max_k e^(-2 k beta) min(|X_s|+k, m). The factor e^(-k beta) stands outside the "
        "square, so that it is not squared. One state, ||Phi|| = rho = 1, no visit, beta = 1/1000: the right side is at most 2 + 1/(2 e beta lambda).",
        r"\psi\le2\|\rho\|_2^2+\frac{\|\Phi\|^2\|\rho\|_\infty^2}\lambda\sum_s\rho_s\max_ke^{-2k\beta}\min\{|X_s|+k,m\}",
        (
            Obligation("printed", make_claim(_PSI, f"2 + exp(2*n*beta)/(2*exp(1)*beta*ridge) >= {_NOISE}", "m >= n + k", integers=("n", "k", "m")),
                       "one term of psi against a bound on the right side (eval.lemma30.otherwise)", point(n="0", k="1000", m="1000", beta="1/1000", ridge="2"),
                       mutation=make_claim(_PSI, f"2 + (n + 1/(exp(1)*beta))/ridge >= {_NOISE}", "m >= n + k", integers=("n", "k", "m"))),
        ),
        ("eval.lemma30.bound",), corrected_by="eval.noise.corrected",
        reading=("N = 1 (or a second state of weight 0): psi is at least its term at k, and min{n+k, m} = n+k where n+k <= m",),
    ),
    Statement(
        "eval.noise.corrected", "project", "The smooth bound, state by state", source("Appendix E, the display before Lemma 30", "eval.theorem32"),
        "psi <= 2||rho||^2 + (||Phi||^2 ||rho||_inf^2/lambda) sum_s rho_s max_k e^(-k beta) min(|X_s|+k, m).",
        r"\psi\le2\|\rho\|_2^2+\frac{\|\Phi\|^2\|\rho\|_\infty^2}\lambda\sum_s\rho_s\max_ke^{-k\beta}\min\{|X_s|+k,m\}",
        (
            Obligation("square", make_claim(_ROOT, "2*r**2 + 2*c**2*(z*M) >= z*(r + c*sqrt(M))**2"), "z = e^(-k beta) <= 1; (a+b)^2 <= 2a^2 + 2b^2; 2 c^2 = ||Phi||^2 ||rho||_inf^2/ridge",
                       have("(r - c*sqrt(M))**2 >= 0", sos(("1", "r - c*sqrt(M)")), positive(("z", 0), reflect=["z"])),
                       {"z": "1", "r": "1", "c": "1", "M": "1"}),
            Obligation("states", make_claim(_MEAN, "T + w*a >= z*(S + w*b)", "T >= z*S", "a >= z*b"), "a sum's maximum is at most the sum of maxima, one state more",
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
        obligations=(Obligation("printed", make_claim(_ABX, f"{printed} >= {_RISE}", "m - a >= x", *given), "the value at x against the printed maximum", point(**at),
                                mutation=make_claim(_ABX, f"{meant} >= {_RISE}", "m - a >= x", *given)),),
        corrected_by="eval.lemma30.corrected",
    )  # fmt: skip


_AB = {"a": NONNEGATIVE, "b": POSITIVE, "m": POSITIVE}
_GROWTH = {"a": POSITIVE, "b": POSITIVE, "u": NONNEGATIVE}
_TANGENT = ("exp(u - 1) >= u", taylor("u", "1", 2))
LEMMA30 = (
    Statement(
        "eval.lemma30", "statement", "The largest e^(-2bx)(a+x) on [0, m-a]", source("Lemma 30", "eval.lemma30"),
        "For a >= 0 and b > 0 the maximum is said to be a if b < a/2, m e^(-2b(m-a)) if b > m/2, and e^(2ab)/(2eb) otherwise.",
        r"\max_{0\le x\le m-a}e^{-2bx}(a+x)",
        parts=("eval.lemma30.small", "eval.lemma30.large", "eval.lemma30.otherwise", "eval.lemma30.bound"), corrected_by="eval.lemma30.corrected",
    ),
    _piece("small", "b < a/2: a", "a", "exp(2*a*b - 1)/(2*b)", ("a > 2*b",), {"a": "2", "b": "1/10", "m": "3", "x": "1"}),
    _piece("large", "b > m/2: m e^(-2b(m-a))", "m*exp(0 - 2*b*(m - a))", "exp(2*a*b - 1)/(2*b)", ("2*b > m",), {"a": "1", "b": "2", "m": "2", "x": "0"}),
    Statement(
        "eval.lemma30.otherwise", "statement", "Otherwise: e^(2ab)/(2eb) is not attained", source("Lemma 30", "eval.lemma30"),
        "Where b >= 1/(2a) the maximum is a (eval.lemma30.corrected), less than the printed value at a = b = 1, m = 2.",
        obligations=(
            Obligation("printed", make_claim(_AB, "a >= exp(2*a*b - 1)/(2*b)", "m >= a", "2*a*b >= 1", "2*b >= a", "m >= 2*b"), "the maximum against the printed one",
                       point(a="1", b="1", m="2"), mutation=make_claim(_AB, "a*exp(2*a*b - 1) >= a", "m >= a", "2*a*b >= 1", "2*b >= a", "m >= 2*b")),
        ),
        rests_on=("eval.lemma30.corrected",), corrected_by="eval.lemma30.corrected",
    ),
    Statement(
        "eval.lemma30.bound", "statement", "e^(2ab)/(2eb) is never exceeded", source("Lemma 30", "eval.lemma30"),
        "For all a + x = u/(2b) >= 0: e^(-2bx)(a+x) = e^(2ab) u e^(-u)/(2b) <= e^(2ab)/(2eb).",
        obligations=(Obligation("tangent", make_claim({"u": NONNEGATIVE, "b": POSITIVE}, "1/(2*exp(1)*b) >= exp(0 - u)*u/(2*b)"), "e^(u-1) >= u",
                                have(*_TANGENT, positive(("1/(2*b*exp(u))", 0))), {"u": "1", "b": "1"}),),
    ),
    Statement(
        "eval.lemma30.corrected", "project", "The largest e^(-2bx)(a+x) on [0, m-a], corrected", source("Lemma 30", "eval.lemma30"),
        "For 0 <= a <= m, b > 0: a if b >= 1/(2a), m e^(-2b(m-a)) if b <= 1/(2m), and e^(2ab)/(2eb) otherwise.",
        r"a\ (b\ge\tfrac1{2a}),\quad me^{-2b(m-a)}\ (b\le\tfrac1{2m}),\quad\tfrac1{2eb}e^{2ab}",
        (
            Obligation("falls", make_claim(_GROWTH, "a >= exp(0 - u)*(a + u/(2*b))", "2*a*b >= 1"), "u = 2bx: e^u >= 1 + u",
                       have("exp(u) >= 1 + u", taylor("u", "0", 2), positive(("a*exp(0 - u)", 1), ("u/(2*b)*exp(0 - u)", 0))), {"a": "1", "b": "1/2", "u": "0"}),
            Obligation("rises", make_claim({"m": POSITIVE, "b": POSITIVE, "u": NONNEGATIVE}, "m*exp(0 - u) >= m - u/(2*b)", "1 >= 2*b*m"), "u = 2b(m-a-x): e^(-u) >= 1 - u",
                       have("exp(0 - u) >= 1 - u", taylor("u", "0", 2), positive(("m", 1), ("u/(2*b)", 0))), {"m": "1", "b": "1/2", "u": "0"}),
            Obligation("peak", make_claim({"a": NONNEGATIVE, "b": POSITIVE}, "exp(0 - 2*b*(1/(2*b) - a))*(a + (1/(2*b) - a)) == exp(2*a*b)/(2*exp(1)*b)"),
                       "attained at x = 1/(2b) - a, which lies in [0, m-a] if 1/(2m) <= b <= 1/(2a)", witness={"a": "1", "b": "1"}),
        ),
        ("eval.lemma30.bound",), reading=("the first two are attained at x = 0 and x = m - a",),
    ),
)  # fmt: skip

_NK = {"n": NONNEGATIVE, "k": NONNEGATIVE, "m": "[1, inf)", "beta": POSITIVE}
EQ58 = (
    Statement(
        "eval.eq58", "statement", "The largest term over k for one state", source("Equation 58", "eval.eq58"),
        "For 2 beta < 1 <= m and n = |X_s|, max_k e^(-2 k beta) min(n+k, m) is said to be n if n > 2 beta and e^(2 beta n)/(2 e beta) if n <= 2 beta, hence at most "
        "n + (1/(2 e beta)) I[n = 0].",
        r"|X_s|+\frac1{2e\beta}I_{|X_s|=0}",
        parts=("eval.eq58.visited", "eval.eq58.unvisited", "eval.eq58.last"), corrected_by="eval.eq58.corrected",
    ),
    Statement(
        "eval.eq58.visited", "statement", "n > 2 beta: n", source("Equation 58", "eval.eq58"),
        "One visit among two trajectories, beta = 1/4: at k = 1 the value is 2 e^(-1/2) > 1.",
        obligations=(
            Obligation("printed", make_claim(_NK, "n >= exp(0 - 2*k*beta)*(n + k)", "1 > 2*beta", "n > 2*beta", "m >= n + k", integers=("n", "k", "m")), "one term",
                       point(n="1", k="1", m="2", beta="1/4"),
                       mutation=make_claim(_NK, "n + 1/(2*exp(1)*beta) >= exp(0 - 2*k*beta)*(n + k)", "1 > 2*beta", "n > 2*beta", "m >= n + k", integers=("n", "k", "m"))),
        ),
        corrected_by="eval.eq58.corrected", reading=("min{n+k, m} = n+k where n+k <= m",),
    ),
    Statement(
        "eval.eq58.unvisited", "statement", "n <= 2 beta: at most e^(2 beta n)/(2 e beta)", source("Equation 58", "eval.eq58"),
        "As 2 beta < 1 this is n = 0: e^(-2 k beta) min(k, m) <= 1/(2 e beta).",
        obligations=(
            Obligation("bound", make_claim({"u": NONNEGATIVE, "beta": POSITIVE}, "1/(2*exp(1)*beta) >= exp(0 - u)*(u/(2*beta))"), "u = 2 k beta",
                       have(*_TANGENT, positive(("1/(2*beta*exp(u))", 0))), {"u": "1", "beta": "1"}),
        ),
        not_covered="that it is attained: it is not where 1/(2 beta) is not a whole number or exceeds m; only the bound is used",
    ),
    Statement(
        "eval.eq58.last", "statement", "The last step of equation 58", source("Equation 58", "eval.eq58"),
        "For whole n and 2 beta < 1, n > 2 beta means n >= 1; n = 0 gives 1/(2 e beta): both sides of the printed inequality are the same.",
        obligations=(
            Obligation("zero", make_claim({"beta": POSITIVE}, "exp(2*beta*0)/(2*exp(1)*beta) == 0 + 1/(2*exp(1)*beta)"), "n = 0", witness={"beta": "1"}),
            Obligation("visited", make_claim({"n": "[1, inf)", "beta": POSITIVE}, "n - 2*beta >= 1 - 2*beta"), "n >= 1 lies in the first case, as 1 - 2 beta > 0",
                       witness={"n": "1", "beta": "1/4"}),
        ),
    ),
    Statement(
        "eval.eq58.corrected", "project", "The largest term over k for one state, corrected", source("Equation 58", "eval.eq58"),
        "For every b > 0 and k >= 0, e^(-kb) min(n+k, m) <= n + 1/(e b); with b = beta, as eval.noise.corrected asks (b = 2 beta gives the printed maximum's bound).",
        r"|X_s|+\frac1{e\beta}",
        (
            Obligation("bound", make_claim({"n": NONNEGATIVE, "u": NONNEGATIVE, "b": POSITIVE}, "n + 1/(exp(1)*b) >= exp(0 - u)*(n + u/b)"), "u = k b: e^(u-1) >= u",
                       have(*_TANGENT, positive(("1/(b*exp(u))", 0))), {"n": "0", "u": "1", "b": "1"}),
        ),
        reading=(f"min{{n+k, m}} <= n+k; derivation: {NOTE}",),
    ),
)  # fmt: skip

_RISK = {
    "epsilon": POSITIVE,
    "delta": "(0, 1)",
    "m": "[1, inf)",
    "R": POSITIVE,
    "gamma": "(0, 1)",
    "ridge": "(1, inf)",
    "p": "(0, 1)",
}
_SIZE = "(4*(25*2*log(2/delta)/epsilon**2)*R**2/((1 - gamma)**2*(ridge - 1)**2))"
_LEAST = f"{_SIZE}*((ridge/(2*m) + p)*exp(0 - m*{LEVEL})*(1 + sqrt(m/(2*ridge)))**2)"
_ZERO = f"exp(m*log(1 - p))/(4*exp(1)*{LEVEL}*m)"
_PRINTED = f"p*(1/2 + 2) + ridge/m + {_ZERO} + m/ridge*p**2 + (p - p**2)/ridge"
_MEANT = (
    f"p*(1/2 + 2) + ridge/m + 1/(2*exp(1)*{LEVEL}*m) + m/ridge*p**2 + (p - p**2 + p/(exp(1)*{LEVEL}))/ridge"
)
_POINT = {"epsilon": "1/10", "delta": "1/10", "m": "10", "R": "1", "gamma": "1/2", "ridge": "2", "p": "1/5"}


def _risk(bound: str) -> Claim:
    return make_claim(_RISK, f"{_SIZE}*({bound}) >= {_LEAST}", f"1/2 > {LEVEL}", integers=("m",))


_FORM = {"d": "[1, inf)", "m": "[1, inf)", "ridge": POSITIVE, "Q": NONNEGATIVE, "R2": NONNEGATIVE, "P": NONNEGATIVE, "beta": POSITIVE,
         "a": NONNEGATIVE, "b": NONNEGATIVE, "v": REAL, "C2": NONNEGATIVE}  # fmt: skip
_BRACES = "(d*Q*b/2 + 2*R2*a + ridge/m*d*R2 + d*Q/(2*exp(1)*beta*m)*P + m/ridge*Q*a*b + Q/ridge*(v + P*a/(exp(1)*beta)))"
_FACTOR = "(ridge*d/(2*m) + A/m)"
_BOUND = "2*R2 + Q/ridge*(B + P/(exp(1)*beta))"
_GIVEN = (f"{_BOUND} >= psi", "E(A) == m*a", "E(B) == m*b", "E(A*B) == m**2*a*b + m*v")
_RANDOM = {"A": NONNEGATIVE, "B": NONNEGATIVE, "psi": NONNEGATIVE}


def _total(size: str) -> Claim:
    return make_claim(_FORM, f"{size}*{_BRACES} >= E({_FACTOR}*(C2*psi))", *_GIVEN, random=_RANDOM)


_COUNT = {"r": UNIT, "f": NONNEGATIVE, "r2": UNIT, "m": NONNEGATIVE, "p": UNIT, "p2": UNIT, "both": UNIT}
THEOREM32 = (
    Statement(
        "eval.theorem32", "statement", "The excess risk of DP-LSL, bounded", source("Theorem 32", "eval.theorem32"),
        "For beta < 1/2 and lambda > ||Phi||^2 ||rho||_inf it is said to be at most C_lambda^2 times five sums, in which states that are visited rarely enter by "
        "(1-p)^m/(2 e beta) only. Two states, the initial one of weight 0, the other visited with chance p, weight and feature 1: refuted at epsilon = delta = 1/10, m = 10, p = 1/5, "
        "lambda = 2.",
        r"C_\lambda^2\{\cdots\}",
        (Obligation("printed", _risk(_PRINTED), "the printed bound against the excess risk's least value", point(**_POINT), mutation=_risk(_MEANT)),),
        ("eval.lemma29",), corrected_by="eval.theorem32.corrected",
        reading=("||Phi|| = ||rho||_2 = ||rho||_inf = d = 1, and every product over two different states is 0",
                 "psi is at least its term at k = m, e^(-m beta)(1 + sqrt(m/(2 lambda)))^2 whatever the counts are; E|X_s| = m p (eval.lemma31)",
                 "alpha^2 = 25 * 2 log(2/delta)/epsilon^2 and beta = epsilon/(4(d + log(2/delta))) are the algorithm's; (1-p)^m is written exp(m log(1-p))"),
    ),
    Statement(
        "eval.theorem32.corrected", "project", "The excess risk of DP-LSL, bounded, corrected", source("Theorem 32", "eval.theorem32"),
        "For every beta > 0: as printed with 1/(e beta) for (1-p_s)^m/(2 e beta), and with p_s/(e beta) added for every pair, also s' = s, in place of "
        "(1/(2 e beta)) P[s, not s'] (1-p_s')^(m-1). Q = ||Phi||^2 ||rho||_inf^2, P = sum rho_s, a = sum rho_s ||phi_s||^2 p_s, b = sum rho_s p_s, m v the covariance of "
        "A = sum rho_s ||phi_s||^2 |X_s| and B = sum rho_s |X_s|.",
        r"C_\lambda^2\Bigl\{\tfrac{dQ}2b+2\|\rho\|^2a+\tfrac\lambda md\|\rho\|^2+\tfrac{dQ}{2e\beta m}P+\tfrac m\lambda Qab+\tfrac Q\lambda\bigl(v+\tfrac{Pa}{e\beta}\bigr)\Bigr\}",
        (
            *equal("pair", "n, n2 the counts of two states; the same state twice where p2 = both = p", ("E(r*f*n*(r2*n2))", "r*f*r2*(m**2*p*p2 + m*(both - p*p2))"),
                  ("E(n*n2) == m*(m - 1)*p*p2 + m*both",), (("r*f*r2", 0),), _COUNT, ({"n": NONNEGATIVE, "n2": NONNEGATIVE},)),
            Obligation("total", _total("C2"), "sigma_X^2 = C_lambda^2 psi, psi at most its bound, and lemma 31's moments",
                       expect([(f"{_FACTOR}*({_BOUND} - psi)", positive((_FACTOR, 0)))],
                              positive(("C2", 4), ("0 - C2/m*(2*R2 + Q/ridge*P/(exp(1)*beta))", 1), ("0 - C2*d*Q/(2*m)", 2), ("0 - C2*Q/(ridge*m)", 3))),
                       mutation=_total("C2*999/1000")),
        ),
        ("eval.lemma29", "eval.noise.corrected", "eval.eq58.corrected", "eval.lemma31"),
        reading=("E[AB] is the sum over all pairs: v = sum_s rho_s^2 ||phi_s||^2 (p_s - p_s^2) + sum over s != s' of rho_s rho_s' ||phi_s||^2 (p_ss' - p_s p_s')",
                 "R2 = ||rho||_2^2, C2 = C_lambda^2 with alpha in it, as the theorem says and the text before Lemma 30 forgets"),
    ),
)  # fmt: skip

_SUM = {"ridge": "[1, inf)", "m": "[1, inf)", "G": NONNEGATIVE, "C2": NONNEGATIVE, "t0": NONNEGATIVE, "t1": NONNEGATIVE, "t2": NONNEGATIVE, "t3": NONNEGATIVE, "t4": NONNEGATIVE}  # fmt: skip
_ORDER = "(1/(ridge*m) + 1/ridge**2 + m/ridge**3)"
_FIVE = "C2*(t0 + t1*ridge/m + t2/m + t3*m/ridge + t4/ridge)"
_SCALE = {"ridge": POSITIVE, "s": NONNEGATIVE, "g": POSITIVE}
COROLLARY13 = Statement(
    "eval.corollary13", "statement", "The excess risk of DP-LSL is of order 1/(lambda m) + 1/lambda^2 + m/lambda^3", source("Corollaries 13 and 33", "eval.corollary13"),
    "If lambda grows without bound with m: as soon as lambda >= max{1, 2||Phi||^2 ||rho||_inf}, C_lambda^2 <= G/lambda^2 with G = (4 alpha Rmax ||Phi||/(1-gamma))^2, and the risk is at "
    "most G (t0 + t1 + t2 + t3 + t4) times the printed sum, t0, ..., t4 the coefficients of theorem 32's corrected form. It survives the correction; only the constant changes.",
    r"O\Bigl(\frac1{\lambda m}+\frac1{\lambda^2}+\frac m{\lambda^3}\Bigr)",
    (
        Obligation("scale", make_claim(_SCALE, "2*s/ridge >= s/g", "2*g >= ridge"), "g = lambda - ||Phi||^2 ||rho||_inf is at least lambda/2",
                   positive(("s/(ridge*g)", 0)), {"ridge": "2", "s": "1", "g": "1"}),
        Obligation("order", make_claim(_SUM, f"G*(t0 + t1 + t2 + t3 + t4)*{_ORDER} >= {_FIVE}", "G >= C2*ridge**2"), "the five terms of eval.theorem32.corrected",
                   positive((f"(t0 + t1 + t2 + t3 + t4)*{_ORDER}", 0)), mutation=make_claim(_SUM, f"G/10*(t0 + t1 + t2 + t3 + t4)*{_ORDER} >= {_FIVE}", "G >= C2*ridge**2")),
    ),
    ("eval.theorem32.corrected",),
    reading=("O(.): a constant that does not depend on m or lambda, from some m on, with epsilon, delta, Rmax, gamma, Phi, rho and all visit chances fixed; a covariance v below 0 is "
             "replaced by 0", "t0 = dQb/2 + 2||rho||^2 a, t1 = d||rho||^2, t2 = dQP/(2 e beta), t3 = Qab, t4 = Q(max{v, 0} + Pa/(e beta))"),
)  # fmt: skip

LINEAR = Statement(
    "eval.corollary13.linear", "statement", "A regularisation of order m gives order 1/m^2", source("The remark after Corollary 13", "eval.corollary13"),
    "For lambda >= c m the printed sum is at most (1/c + 1/c^2 + 1/c^3)/m^2.",
    r"\lambda=\Theta(m)\Rightarrow O(1/m^2)",
    (
        Obligation("order", make_claim({"c": POSITIVE, "t": NONNEGATIVE, "m": "[1, inf)"},
                                       "(1/c + 1/c**2 + 1/c**3)/m**2 >= 1/((c + t)*m*m) + 1/((c + t)*m)**2 + m/((c + t)*m)**3"), "lambda = (c + t) m",
                   positive(), {"c": "1", "t": "0", "m": "1"}),
    ),
    ("eval.corollary13",), reading=("each of the three terms falls in lambda",),
)  # fmt: skip

STATEMENTS = (LEMMA29, *NOISE, *LEMMA30, *EQ58, *THEOREM32, COROLLARY13, LINEAR)
