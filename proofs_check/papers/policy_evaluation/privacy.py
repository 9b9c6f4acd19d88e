"""DP-LSL's sensitivity, and the privacy of both algorithms of "Differentially Private Policy Evaluation".

Lemmas 7 and 9, Corollary 8, Theorems 6 and 10. Norms of vectors and of operators are sums over coordinates or
states, written as expectations under a uniform law, so that the claims speak of every dimension.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import Node, expect, have, identity, point, positive, sos
from dpproof.proofs_check.papers.policy_evaluation.noise import source
from dpproof.proofs_check.papers.policy_evaluation.sensitivity import STATES
from dpproof.proofs_check.statement import (
    Goal,
    Judgement,
    Obligation,
    Severity,
    Statement,
    formula,
    make_goal,
)

REAL, HALF, POS, UNIT = "(-inf, inf)", "[0, inf)", "(0, inf)", "[0, 1]"
_COORDINATES = "a squared norm is a sum over coordinates, and that is their number times the expectation under the uniform law on them; both sides have the same number"

# -- Lemma 7 ----------------------------------------------------------------------------------------------

_LOSSES = dict.fromkeys("rijfgyz", REAL)
_VECTORS = {"a": POS, "b": POS}
_NORMS = ("E(u**2) == a**2", "E(v**2) == b**2")
_PRODUCT = {"u": REAL, "v": REAL}


def _cauchy(factor: str) -> Goal:
    return make_goal(_VECTORS, f"{factor}*a*b >= E(u*v)", *_NORMS, random=_PRODUCT)


_CAUCHY: Node = expect(
    [("(b*u - a*v)**2", sos(("1", "b*u - a*v")))],
    positive(("1/(2*a*b)", 2), ("-b/(2*a)", 0), ("-a/(2*b)", 1)),
)
WHOLE7 = Statement(
    "eval.lemma7", "statement", "The sensitivity of ridge regression on returns", source("Lemma 7, restated as Lemma 19", "eval.lemma7"),
    "|theta - theta'|/2 is at most ||(Delta Phi theta - F_x + F_x')' Gamma Phi||/(lambda - ||Phi' Delta Gamma Phi||). The appendix (Lemma 19) has the right matrix Delta; in the main text (Lemma 7) it reads as 0.",
    r"\frac{\|\theta_X^\lambda-\theta_{X'}^\lambda\|}{2}\le\frac{\|(\Delta\Phi\theta_X^\lambda-F_x+F_{x'})^\top\Gamma_\rho\Phi\|}{\lambda-\|\Phi^\top\Delta\Gamma_\rho\Phi\|}",
    parts=("eval.lemma7.bound", "eval.lemma7.main_text"), corrected_by="eval.lemma7.bound",
)  # fmt: skip
LEMMA7 = Statement(
    "eval.lemma7.bound", "statement", "Lemma 7 with the Delta of the appendix", source("Lemma 19", "eval.lemma7"),
    "For all X, X' that differ in the last trajectory and lambda > ||Phi' Delta Gamma Phi|| =: B, with Delta(s, s) = [s in x] - [s in x'], |theta - theta'|/2 is at most "
    "||(Delta Phi theta - F_x + F_x')' Gamma Phi||/(lambda - B).",
    r"\frac{\|\theta_X^\lambda-\theta_{X'}^\lambda\|}{2}\le\frac{\|(\Delta\Phi\theta_X^\lambda-F_x+F_{x'})^\top\Gamma_\rho\Phi\|}{\lambda-\|\Phi^\top\Delta\Gamma_\rho\Phi\|}",
    (
        Obligation("convex", make_goal(dict.fromkeys("fyz", REAL), "(f - z)**2 - (f - y)**2 + 2*(f - y)*(z - y) == (z - y)**2"),
                   "a squared residual beyond its tangent at y", witness={"f": "1", "y": "0", "z": "1"}),
        Obligation("ridge", make_goal({"l": POS, "t": REAL, "s": REAL}, "l/2*(t**2 - s**2) - l*s*(t - s) == l/2*(t - s)**2"),
                   "the penalty lambda |theta|^2/(2m) beyond its tangent, one coordinate, l = lambda/m", witness={"l": "1", "t": "1", "s": "0"}),
        Obligation("both", make_goal({"l": POS, "D": HALF, "u": REAL, "v": REAL}, "u + v >= l*D**2", "u >= l/2*D**2", "v >= l/2*D**2"),
                   "at the two minima the gradients vanish; what the objectives gain, added", positive(("1", 0), ("1", 1)), {"l": "1", "D": "1", "u": "1/2", "v": "1/2"}),
        Obligation("expand", make_goal(_LOSSES, "r*(i*((f - y - z)**2 - (f - y)**2) + j*((g - y)**2 - (g - y - z)**2)) == r*(2*((i - j)*y - (f - g))*z + (i - j)*z**2)",
                                        "i*f == f", "j*g == g"),
                   "equation (41) at one state: r its weight, i and j whether x and x' visit it, f and g their returns, y and y + z the two values",
                   identity(("-2*r*z", 0), ("2*r*z", 1)), dict.fromkeys("rijfgyz", "1") | {"g": "0", "j": "0", "f": "2"}),
        Obligation("cauchy", _cauchy("1"), "Cauchy and Schwarz: u the vector in the numerator, v = theta' - theta", _CAUCHY, mutation=_cauchy("1/2")),
        Obligation("solve", make_goal({"x": POS, "D": POS, "N": HALF}, "N/x >= D/2", "2*N*D >= x*D**2"), "x = lambda - B, D = |theta - theta'|", positive(("1/(2*x*D)", 0)),
                   {"x": "1", "D": "2", "N": "1"}),
    ),
    reading=(_COORDINATES, "B is an operator norm: |v' Phi' Delta Gamma Phi v| <= B |v|^2", "where a norm is 0 the product is 0, and D = 0 needs no proof",
             "m J_X - m J_X' is the loss on x less that on x'; the minimisers are unique, their gradients 0"),
)  # fmt: skip

_ONE = {"lam": POS, "f": HALF, "g": HALF}
_MOVE = "(f/(1 + lam/2) - (f + g)/(2 + lam/2))/2"
MAIN7 = Statement(
    "eval.lemma7.main_text", "statement", "Lemma 7 with the Delta of the main text", source("Lemma 7", "eval.lemma7"),
    "In the main text Delta(s, s) reads as the indicator of s in x' less itself, hence 0. Then the bound is |F_x - F_x'| over lambda, which is 0 where both returns are; but "
    "a trajectory that visits a state with return 0 moves the estimate.",
    r"\Delta(s,s)=I_{s\in x'}-I_{s\in x'}=0",
    (Obligation("printed", make_goal(_ONE, f"g/lam >= {_MOVE}"),
                "one state, one feature, m = 2: the other trajectory has return f, x has return g, x' stays away", point(lam="1", f="1", g="0"),
                mutation=make_goal(_ONE, f"sqrt(((f + g)/(2 + lam/2) - g)**2)/(lam - 1) >= {_MOVE}", "lam > 1")),),
    reading=("theta = (f + g)/(2 + lambda/2) and theta' = f/(1 + lambda/2) by the closed form (11)",), corrected_by="eval.lemma7.bound",
    not_covered="whether the misprint is the paper's or its transcription's: the appendix, which has the proof, has the right matrix",
    judgement=Judgement(Severity.SLIP, "A matrix is defined as a difference that is 0; the appendix has the right one."),
)  # fmt: skip

# -- Corollary 8 ------------------------------------------------------------------------------------------

_FORM = {"y": REAL, "z": REAL, "s": REAL}
_FORM_GIVEN = ("E(y**2) == a**2", "E(z**2) == c**2", "R >= s", "R >= -s")
_SIZES = {"a": POS, "c": POS, "R": HALF}


def _operator(factor: str) -> Goal:
    return make_goal(_SIZES, f"{factor}*R*a*c >= E(s*y*z)", *_FORM_GIVEN, random=_FORM)


_OPERATOR: Node = expect(
    [("R*(c**2*y**2 + a**2*z**2)/2 - c*a*s*y*z",
      have("(c*y - a*z)**2 >= 0", sos(("1", "c*y - a*z")),
           have("(c*y + a*z)**2 >= 0", sos(("1", "c*y + a*z")), positive(("1/4", 3, 4), ("1/4", 2, 5)))))],
    positive(("1/(a*c)", 4), ("-R*c/(2*a)", 0), ("-R*a/(2*c)", 1)),
)  # fmt: skip
_GAPS = {"r": UNIT, "h": REAL}
_NORMAL = {"c": UNIT, "y": REAL, "f": REAL}
_EQUATION = "E(c*y**2) + l*t == E(c*y*f)"
_LAST = {
    "x": POS,
    "P": HALF,
    "R": UNIT,
    "q": HALF,
    "S": HALF,
    "F": HALF,
    "T": HALF,
    "N": HALF,
    "B": REAL,
    "D": HALF,
}
_LAM = "(x + P**2*R)"
_CHAIN = (f"F*sqrt(S)/sqrt(2*{_LAM}) >= T", "(T*P*R + F*q)*P >= N", "P**2*R >= B", f"2*N >= ({_LAM} - B)*D")
_BOUND = f"2*F*P/x*(P*R/sqrt(2*{_LAM})*sqrt(S) + q)"
COROLLARY8 = Statement(
    "eval.corollary8", "statement", "The same by what X alone shows", source("Corollaries 8 and 20", "eval.corollary8"),
    "For lambda > ||Phi||^2 ||rho||_inf and every neighbour, |theta - theta'| is at most 2 Rmax ||Phi||/((1-gamma)(lambda - ||Phi||^2 ||rho||_inf)) times "
    "||Phi|| ||rho||_inf sqrt(sum of rho_s |X_s|)/sqrt(2 lambda) + ||rho||_2.",
    r"\|\theta-\theta'\|\le\frac{2R_{\max}\|\Phi\|}{(1-\gamma)(\lambda-\|\Phi\|^2\|\rho\|_\infty)}\sqrt{\varphi_X^\lambda}",
    (
        Obligation("operator", _operator("1"), "the bilinear form of Phi' Delta Gamma Phi: y = Phi u and z = Phi v, s = Delta_s rho_s, R = ||rho||_inf",
                   _OPERATOR, mutation=_operator("1/2")),
        Obligation("returns", make_goal({"F": HALF}, "F**2*E(r**2) >= E(r**2*h**2)", "F >= h", "F >= -h", random=_GAPS), "||(F_x - F_x') Gamma|| <= F ||rho||_2, h the difference",
                   expect([("F**2*r**2 - r**2*h**2", positive(("r**2", 0, 1)))], positive(("1", 2))),
                   mutation=make_goal({"F": HALF}, "F**2*E(r**2)/2 >= E(r**2*h**2)", "F >= h", "F >= -h", random=_GAPS)),
        Obligation("theta", make_goal({"l": POS, "t": HALF}, "E(c*f**2)/4 >= l*t", _EQUATION, random=_NORMAL),
                   "the normal equations (11) times theta: c = rho_s |X_s|/m, y = Phi theta, f the average return, l = lambda/(2m), t = |theta|^2",
                   expect([("c*(y - f/2)**2", have("(y - f/2)**2 >= 0", sos(("1", "y - f/2")), positive(("c", 1))))], positive(("1", 1), ("-1", 0))),
                   mutation=make_goal({"l": POS, "t": HALF}, "E(c*f**2)/8 >= l*t", _EQUATION, random=_NORMAL)),
        Obligation("weighted", make_goal({"F": HALF}, "F**2*E(c) >= E(c*f**2)", "F >= f", "F >= -f", random={"c": UNIT, "f": REAL}),
                   "the average returns are at most F = Rmax/(1-gamma)", expect([("F**2*c - c*f**2", positive(("c", 0, 1)))], positive(("1", 2))),
                   mutation=make_goal({"F": HALF}, "F**2*E(c)/2 >= E(c*f**2)", "F >= f", "F >= -f", random={"c": UNIT, "f": REAL})),
        Obligation("spectrum", make_goal({"x": HALF, "s": POS}, "1/(2*s) >= x/(x**2 + s**2)"), "the printed step for singular values, a = s^2",
                   sos(("1", "x - s"), over="2*s*(x**2 + s**2)"), {"x": "1", "s": "1"}),
        Obligation("scale", make_goal({"lam": POS, "m": POS, "F": HALF, "S": HALF, "t": HALF}, "F**2*S/(2*lam) >= t", "F**2*S/(4*m) >= lam/(2*m)*t"),
                   "|theta|^2 <= F^2 S/(2 lambda), S = sum of rho_s |X_s|", positive(("2*m/lam", 0)), {"lam": "1", "m": "1", "F": "1", "S": "2", "t": "1"}),
        Obligation("final", make_goal(_LAST, f"{_BOUND} >= D", *_CHAIN), "Lemma 7 with all of them: x = lambda - ||Phi||^2 ||rho||_inf, P = ||Phi||, q = ||rho||_2, T = |theta|, N and B of Lemma 7",
                   positive(("2*P**2*R/x", 0), ("2/x", 1), ("D/x", 2), ("1/x", 3)),
                   {"x": "1", "P": "1", "R": "0", "q": "1", "S": "0", "F": "1", "T": "0", "N": "1", "B": "0", "D": "2"}),
    ),
    rests_on=("eval.lemma7.bound",),
    reading=("the bilinear form is also used for Delta Gamma Phi theta against Phi v (operator)", STATES, _COORDINATES, "operator norms are least constants: |Phi u| <= ||Phi|| |u|, and the norm of Phi' M is the largest bilinear form (Phi u)' M w over unit vectors",
             "the triangle inequality joins the two parts of the numerator (42); where a norm is 0 its product is 0"),
)  # fmt: skip

# -- Lemma 9 ----------------------------------------------------------------------------------------------

_CAPS = {"v": HALF, "k": HALF, "m": "[1, inf)", "M": HALF, "c": POS, "r": HALF}
_SAME = "(c*sqrt(M) + r)**2 == (c*sqrt(m) + r)**2"
_FROM = "k >= m - v"
_LARGER = ("M >= m", "M >= v + k", "(M - m)*(M - v - k) == 0")
_SMALLER = ("m >= M", "v + k >= M", "(M - m)*(M - v - k) == 0")
_UP = {"w": UNIT, "p": HALF, "q": HALF}
# How a larger share at every state makes the whole larger; the same with the maximum and with the minimum.
_WHOLE = (
    Obligation("sum", make_goal({}, "E(w*p) >= E(w*q)", "p >= q", random=_UP), "all states at once, attained at v + k",
               expect([("w*p - w*q", positive(("w", 0)))], positive(("1", 1))), mutation=make_goal({}, "E(w*p) >= 2*E(w*q)", "p >= q", random=_UP)),
    Obligation("outer", make_goal({"a": HALF, "b": HALF, "c": HALF, "r": HALF}, "(c*a + r)**2 >= (c*b + r)**2", "a >= b"), "a and b are the roots of the two sums",
               positive(("c*(c*(a + b) + 2*r)", 0)), {"a": "1", "b": "1", "c": "1", "r": "1"}),
)  # fmt: skip
LEMMA9 = (
    Statement(
        "eval.lemma9", "statement", "The envelope of DP-LSL's sensitivity, as printed", source("Lemmas 9 and 21", "eval.lemma9"),
        "With max{v_s, m} inside phi, phi_k is said to have max{v_s + k, m}, and to be constant from k >= m - min v_s on. With the maximum the first half is true and the second "
        "false. The algorithm has min{|X_s| + k, m}, for which both hold.",
        r"\varphi_k^\lambda(v)=\Big(c\sqrt{\textstyle\sum_s\rho_s\max\{v_s+k,m\}}+\|\rho\|_2\Big)^2,\quad k\ge m-\min_sv_s\Rightarrow\text{constant}",
        parts=("eval.lemma9.envelope", "eval.lemma9.constant"), corrected_by="eval.lemma9.corrected",
        not_covered="Algorithm 2 and Theorem 10 are not touched: they use the minimum",
        judgement=Judgement(Severity.SLIP, "A maximum is printed for the minimum that the algorithm uses."),
    ),
    Statement(
        "eval.lemma9.envelope", "statement", "The envelope with the maximum, as printed", source("Lemmas 9 and 21", "eval.lemma9"),
        "The maximum of phi, with max{v'_s, m} inside, over count vectors v' within k of v has max{v_s + k, m} inside.",
        r"\varphi_k^\lambda(v)=\Big(c\sqrt{\textstyle\sum_s\rho_s\max\{v_s+k,m\}}+\|\rho\|_2\Big)^2",
        (Obligation("coordinate", make_goal({"v": HALF, "k": HALF, "u": HALF, "M": HALF}, "M >= u", "M >= v + k", "k >= u - v"), "M = max(v + k, m), u = v' within k of v",
                    positive(("1", 0), ("1", 1)), {"v": "0", "k": "1", "u": "1", "M": "1"}), *_WHOLE),
        reading=(STATES, "M >= m as well, so that M >= max(u, m); it is attained at v' = v + k; c = ||Phi|| ||rho||_inf/sqrt(2 lambda), r = ||rho||_2"),
    ),
    Statement(
        "eval.lemma9.constant", "statement", "Constant from k >= m - min v on, as printed", source("Lemmas 9 and 21", "eval.lemma9"),
        "With the maximum this is false: one state, m = 1, v = 0, k = 2 gives 2 in place of 1.",
        r"k\ge m-\min_sv_s\Rightarrow\varphi_k^\lambda(v)=\Big(c\sqrt{m\textstyle\sum_s\rho_s}+\|\rho\|_2\Big)^2",
        (Obligation("printed", make_goal(_CAPS, _SAME, _FROM, *_LARGER), "one state of weight 1; M = max(v + k, m)", point(v="0", k="2", m="1", M="2", c="1", r="1"),
                    mutation=make_goal(_CAPS, _SAME, _FROM, *_SMALLER)),),
        rests_on=("eval.lemma9.envelope",), corrected_by="eval.lemma9.corrected",
        judgement=Judgement(Severity.SLIP, "A maximum is printed for the minimum that the algorithm uses."),
    ),
)  # fmt: skip

CORRECTED9 = Statement(
    "eval.lemma9.corrected", "project", "The envelope of DP-LSL's sensitivity", source("Lemmas 9 and 21", "eval.lemma9"),
    "With min{v_s, m} in place of the maximum: phi_k has min{v_s + k, m}, is constant from k >= m - min v_s on, and so 0 <= k <= m is enough for the supremum.",
    r"\varphi_k^\lambda(v)=\Big(c\sqrt{\textstyle\sum_s\rho_s\min\{v_s+k,m\}}+\|\rho\|_2\Big)^2",
    (
        Obligation("coordinate", make_goal(_CAPS | {"u": HALF}, "v + k >= M", "u >= M", "k >= u - v"), "M = min(u, m) for u = v' within k of v",
                   positive(("1", 0), ("1", 1)), {"v": "0", "k": "1", "m": "1", "M": "1", "c": "1", "r": "1", "u": "1"}),
        *_WHOLE,
        Obligation("constant", make_goal({"v": HALF, "k": HALF, "m": HALF, "n": HALF}, "v + k >= m", "k >= m - n", "v >= n"), "from k >= m - min v on every minimum is m",
                   positive(("1", 0), ("1", 1)), {"v": "1", "k": "1", "m": "2", "n": "1"}),
        Obligation("tail", make_goal({"m": HALF, "j": HALF, "b": POS, "W": HALF}, "exp(-m*b)*W >= exp(-(m + j)*b)*W"), "past k = m no term is larger; W the constant",
                   None, {"m": "0", "j": "0", "b": "1", "W": "1"}),
    ),
    reading=(STATES, "roots are monotone; min(x, m) is x where x <= m and m where x >= m, and at most m"),
)  # fmt: skip

# -- Theorems 6 and 10 ------------------------------------------------------------------------------------

_ALPHA = formula("eval.lemma1.alpha")
_RUN = {"epsilon": POS, "delta": "(0, 1)", "y": "(0, 1)", "t": REAL}


def _half_line(shift: str) -> str:
    return f"exp(epsilon)*erfc((t + {shift})/sqrt(2))/2 + delta >= erfc(t/sqrt(2))/2"


_LSW = _half_line(f"(1 - y)/{_ALPHA}")
_LSL = _half_line(f"1/(1 + lam/2)*(1 - y)*(lam - 1)/(2*{_ALPHA}*(1/sqrt(2*lam) + 1))")
_RIDGE = _RUN | {"lam": "(1, inf)"}
_SAFE = ("15 >= epsilon", "0 > t", "t > -2")  # the corrected claim, at events like the one below
_POINT = {"epsilon": "110", "delta": "4/5", "y": "1/1000", "t": "-67/50"}
_SHIFTED = (
    "the two outputs are normal with the same scale, as both trajectories visit the state and the bound depends on visits only; t is the event's threshold in units of the scale, "
    "y stands for gamma"
)

THEOREM6 = Statement(
    "eval.theorem6", "statement", "DP-LSW is (eps, delta)-DP, as printed", source("Theorem 6", "eval.theorem6"),
    "For all eps, delta > 0 DP-LSW is (eps, delta)-DP. It follows Lemma 1, which needs a limit on eps: with one state, one feature and one trajectory, of return 0 or Rmax, "
    "the claim fails at eps = 110, delta = 4/5, gamma = 1/1000.",
    r"P[A(X)\in\Omega]\le e^\varepsilon P[A(X')\in\Omega]+\delta",
    (Obligation("printed", make_goal(_RUN, _LSW), "m = 1, Phi = w = 1: theta is the return, psi = 1, sigma = alpha Rmax/(1-gamma)", point(**_POINT),
                mutation=make_goal(_RUN, _LSW, *_SAFE)),),
    reading=(_SHIFTED,), corrected_by="eval.theorem6.corrected",
    not_covered="the smallest eps at which DP-LSW fails; that it is private up to 15 is eval.theorem6.corrected",
    laws=("gaussian.tail",),
    judgement=Judgement(Severity.REPAIRABLE, "No upper limit on eps is printed; up to 15 it holds."),
)  # fmt: skip

THEOREM10 = Statement(
    "eval.theorem10", "statement", "DP-LSL is (eps, delta)-DP, as printed", source("Theorem 10", "eval.theorem10"),
    "For all eps, delta > 0 DP-LSL is (eps, delta)-DP. The same example with lambda = 10^6 refutes it at eps = 110, delta = 4/5.",
    r"P[A(X)\in\Omega]\le e^\varepsilon P[A(X')\in\Omega]+\delta",
    (Obligation("printed", make_goal(_RIDGE, _LSL), "m = 1, Phi = rho = 1: theta = return/(1 + lambda/2), psi = (1/sqrt(2 lambda) + 1)^2", point(**_POINT, lam="1000000"),
                mutation=make_goal(_RIDGE, _LSL, *_SAFE)),),
    reading=(_SHIFTED,), corrected_by="eval.theorem10.corrected",
    not_covered="the smallest eps at which DP-LSL fails; that it is private up to 15 is eval.theorem10.corrected",
    laws=("gaussian.tail",),
    judgement=Judgement(Severity.REPAIRABLE, "No upper limit on eps is printed; up to 15 it holds."),
)  # fmt: skip

_CONDITIONS = (
    Obligation("condition_a", make_goal(dict.fromkeys("aKfpD", HALF), "a*K*p >= a*D", "p >= f", "K*f >= D"),
               "sigma = alpha K sqrt(psi) is at least alpha |theta - theta'|: p = sqrt(psi), f = sqrt(phi), K the factor before the root", positive(("a*K", 0), ("a", 1)),
               dict.fromkeys("aKfpD", "1")),
    Obligation("condition_b", make_goal({"C": POS, "u": REAL, "v": REAL, "b": POS}, "b >= log(C**2*exp(u)) - log(C**2*exp(v))", "b >= u - v"),
               "variances C^2 psi with psi = exp(u), exp(v) at two neighbours", positive(("1", 0)), {"C": "1", "u": "1", "v": "0", "b": "1"}),
)  # fmt: skip
_VISITS = "replacing a trajectory changes |X_s| by at most 1 at every s, as each trajectory counts once, so that count vectors of neighbours are within 1 of each other"

CORRECTED6 = Statement(
    "eval.theorem6.corrected", "project", "DP-LSW is private for eps up to 15", source("Theorem 6", "eval.theorem6"),
    "For 0 < eps <= 15, delta in (0, 1), every MDP, features of full rank, weights w > 0 and every m, Algorithm 1 is (eps, delta)-DP under replacing one trajectory.",
    r"0<\varepsilon\le15", _CONDITIONS,
    rests_on=("eval.lemma1.corrected", "eval.corollary3", "eval.lemma4.upper", "eval.lemma4.smooth", "eval.lemma5", "eval.lemma5.range"),
    reading=("condition_b is used for both orders of the neighbours, which bounds the absolute value of the difference", _VISITS, "the pseudo-inverse's operator norm: |theta - theta'| <= ||(Gamma^(1/2) Phi)^+|| ||F_X - F_X'||, equation (13)",
             "K = ||(Gamma^(1/2) Phi)^+|| Rmax/(1-gamma), or any public bound on returns in place of the last factor; log psi moves by at most beta",
             "if Rmax = 0 all returns are 0 and no noise is added: the output does not depend on X"),
    not_covered="noise drawn in floating point; eps above 15",
)  # fmt: skip

CORRECTED10 = Statement(
    "eval.theorem10.corrected", "project", "DP-LSL is private for eps up to 15", source("Theorem 10", "eval.theorem10"),
    "For 0 < eps <= 15, delta in (0, 1), every MDP and features, weights rho in [0, 1] not all 0, lambda > ||Phi||^2 ||rho||_inf and every m, Algorithm 2 is (eps, delta)-DP "
    "under replacing one trajectory.",
    r"0<\varepsilon\le15", _CONDITIONS,
    rests_on=("eval.lemma1.corrected", "eval.corollary8", "eval.lemma4.upper", "eval.lemma4.smooth", "eval.lemma9.corrected"),
    reading=("condition_b is used for both orders of the neighbours, which bounds the absolute value of the difference", _VISITS, "K = 2 Rmax ||Phi||/((1-gamma)(lambda - ||Phi||^2 ||rho||_inf)); as |X_s| <= m, min{|X_s|, m} is |X_s|; if all of rho is 0, or Phi = 0, or Rmax = 0, theta = 0 and sigma_X = 0: "
             "the output does not depend on X"),
    not_covered="noise drawn in floating point; eps above 15",
)  # fmt: skip

STATEMENTS = (
    WHOLE7,
    LEMMA7,
    MAIN7,
    COROLLARY8,
    *LEMMA9,
    CORRECTED9,
    THEOREM6,
    CORRECTED6,
    THEOREM10,
    CORRECTED10,
)
