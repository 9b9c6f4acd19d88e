"""Tail bounds and answers at successive visits for "Differentially Private Regret Minimization in Episodic MDPs"."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    Node,
    expect,
    have,
    mono,
    positive,
    split,
    subst,
    taylor,
)
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_POS, _REAL, _UNIT = "[0, inf)", "(-inf, inf)", "[0, 1]"

_STEP = {"m": _POS, "y": "(-inf, 0]", "x": "(-inf, 1]"}
_GOAL = ("E(m*exp(y)*x) == 0", "E(m*exp(y)*x**2) == E(m*exp(y)*(0-y))", "E(m*exp(y)) >= 0")
_PIECES = split(
    "x",
    "69/100",
    taylor("x", "0", 2),
    split("x", "77/100", RANGE, split("x", "85/100", RANGE, split("x", "94/100", RANGE, RANGE))),
)
_QUADRATIC = have("1 + x + x**2 - exp(x) >= 0", _PIECES, positive(("m*exp(y)", 3)))
_COMPENSATED = have("1 - exp(y)*(1-y) >= 0", mono("y", -1, RANGE), positive(("m", 3)))
_EVENT = {"lam": "(0, inf)", "s": _REAL, "V": _POS, "delta": "(0, 1)"}
_MARKOV = {"u": _UNIT, "m": _POS}
FREEDMAN = Statement(
    "ucb.lemmaA_3", "quoted", "A Bernstein inequality for martingales", source("Lemma A.3", "ucb.lemmaA_3"),
    "For martingale differences Y_k <= R, delta in (0, 1) and 0 < lambda <= 1/R: with probability 1 - delta the sum of Y_k is at most lambda times the sum of "
    "E[Y_k^2 given the past] plus ln(1/delta)/lambda.",
    r"\sum Y_k\le\lambda\sum E[Y_k^2\mid F_{k-1}]+\ln(1/\delta)/\lambda",
    (
        Obligation("range", make_goal({"lam": _POS, "R": "(0, inf)", "Y": _REAL}, "1 >= lam*Y", "R >= Y", "1 >= lam*R"), "x = lambda Y is at most 1",
                   positive(("lam", 0), ("1", 1)), {"lam": "1", "R": "1", "Y": "1"}),
        Obligation("step", make_goal({}, "E(m) >= E(m*exp(y)*exp(x))", *_GOAL, random=_STEP),
                   "one factor exp(x - v): m is the product so far, x = lambda Y, -y = v = E[x^2 given the past]",
                   expect([("m*exp(y)*(1 + x + x**2 - exp(x))", _QUADRATIC), ("m*(1 - exp(y)*(1-y))", _COMPENSATED)],
                          positive(("1", 3), ("1", 4), ("-1", 0), ("-1", 1))),
                   mutation=make_goal({}, "E(m) >= 2*E(m*exp(y)*exp(x))", *_GOAL, random=_STEP)),
        Obligation("markov", make_goal({"delta": "(0, 1)"}, "delta >= E(u)", "m*delta >= u", "1 >= E(m)", random=_MARKOV), "u: the product is at least 1/delta",
                   expect([("m*delta - u", positive(("1", 0)))], positive(("1", 2), ("delta", 1))),
                   mutation=make_goal({"delta": "(0, 1)"}, "delta >= 2*E(u)", "m*delta >= u", "1 >= E(m)", random=_MARKOV)),
        Obligation("event", make_goal(_EVENT, "lam*s - lam**2*V >= log(1/delta)", "s >= lam*V + log(1/delta)/lam"), "beyond the bound the product is at least 1/delta",
                   positive(("lam", 0)), {"lam": "1", "s": "6931471805599454/10000000000000000", "V": "0", "delta": "1/2"}),
    ),
    reading=("a martingale difference has E[w Y] = 0 for every bounded w of the past, and E[w Y^2] = E[w E[Y^2 given the past]]",
             "induction over k: E of the product is at most 1; m and v are of the past"),
    not_covered="lambda = 0, where the printed bound divides by 0",
)  # fmt: skip

_L = {"l": _UNIT}
_W = {"w": _POS, "x": "[-1, 1]"}
_BELOW: Node = {"subst": {"x": ["+", "-1", "z"]}, "vars": {"z": "[0, 2]"}, "sub": mono("l", 1, POSITIVE)}
_CHORD = have("exp(l*(1-x)) - 1 - l*(1-x) >= 0", subst("x", "1-z", "z", "[0, 2]", mono("l", 1, POSITIVE)), have(
    "exp(-l*(1+x)) - 1 + l*(1+x) >= 0", _BELOW,
    positive(("w*exp(l*x)*(1+x)/2", 1), ("w*exp(l*x)*(1-x)/2", 2))))  # fmt: skip
_COSH = have(
    "exp(l**2/2) - (exp(l) + exp(-l))/2 >= 0",
    taylor("l", "0", 4),
    positive(("1", 1), ("(exp(-l)-exp(l))/2", 0), ("E_w", 2)),
)
_MEAN = {"n": "[1, inf)", "t": _POS}
HOEFFDING = Statement(
    "ucb.hoeffding", "project", "Hoeffding's inequality, with the range 2", source("Lemma A.1 (proof)", "ucb.lemmaA_1"),
    "For x_1, ..., x_n with |x_i| <= 1, each of mean 0 given the ones before it, and t in [0, 1]: their mean is at least t with probability at most exp(-n t^2/2).",
    r"P(\bar x\ge t)\le e^{-nt^2/2}",
    (
        Obligation("step", make_goal(_L, "exp(l**2/2)*E(w) >= E(w*exp(l*x))", "E(w*x) == 0", random=_W), "one factor: w is the product so far",
                   expect([("w*((1+x)/2*exp(l) + (1-x)/2*exp(-l) - exp(l*x))", _CHORD)], _COSH),
                   mutation=make_goal(_L, "exp(l**2/4)*E(w) >= E(w*exp(l*x))", "E(w*x) == 0", random=_W)),
        Obligation("markov", make_goal({"c": "(0, inf)"}, "E(w)/c >= E(u)", "w >= u*c", random={"u": _UNIT, "w": _POS}), "u: the product is at least c = exp(n l t)",
                   expect([("w - u*c", positive(("1", 0)))], positive(("1/c", 1))),
                   mutation=make_goal({"c": "(0, inf)"}, "E(w)/c >= 2*E(u)", "w >= u*c", random={"u": _UNIT, "w": _POS})),
        Obligation("exponent", make_goal(_MEAN, "n*t**2/2 - t*(n*t) == -n*t**2/2"), "the exponent at l = t", IDENTITY, {"n": "1", "t": "1"}),
    ),
    reading=("mean 0 given the past is E[w x] = 0", "induction over the n factors: the expectation is at most exp(n l^2/2)"),
)  # fmt: skip

_ANSWER = {"w": _POS, "x": "[-1, 1]", "u": _UNIT, "y": "[-1, 1]", "r": _UNIT}
_VISIT_GIVEN = ("E(w*x) == 0", "E(w*u*y) == 0")
_SQUARE_GIVEN = ("u*x == 0", "u**2 == u", "v*E(w*r) >= E(w*x**2)", "v*E(w*u) == E(w*u*y**2)")
_FLAT_SQUARE = expect([("(0-2)*w*x*u*y", positive(("-2*w*y", 0))), ("w*u*y**2 - w*u**2*y**2", positive(("-w*y**2", 1)))],
                      positive(("1", 2), ("1", 3), ("1", 4), ("1", 5)))  # fmt: skip
VISITS = Statement(
    "ucb.visits", "project", "Answers at successive visits", source("Lemma A.1 (proof)", "ucb.lemmaA_1"),
    "Let x_i be the answer at the i-th visit of a cell less its mean, and 0 if the cell is met fewer than i times in the K episodes, whatever the visits depend on. Given "
    "x_1, ..., x_(i-1) it has mean 0 and a second moment of at most v, the variance of an answer.",
    r"E[x_i\mid x_1,\dots,x_{i-1}]=0,\quad E[x_i^2\mid x_1,\dots,x_{i-1}]\le v",
    (
        Obligation("mean", make_goal({}, "0 >= E(w*(x + u*y))", *_VISIT_GIVEN, random=_ANSWER), "one more episode: at most 0",
                   expect([], positive(("-1", 0), ("-1", 1))), mutation=make_goal({}, "0 >= E(w) + E(w*(x + u*y))", *_VISIT_GIVEN, random=_ANSWER)),
        Obligation("mean_least", make_goal({}, "E(w*(x + u*y)) >= 0", *_VISIT_GIVEN, random=_ANSWER), "and at least 0",
                   expect([], positive(("1", 0), ("1", 1))), mutation=make_goal({}, "E(w*(x + u*y)) >= E(w)", *_VISIT_GIVEN, random=_ANSWER)),
        Obligation("square", make_goal({"v": _UNIT}, "v*E(w*(r + u)) >= E(w*(x + u*y)**2)", *_SQUARE_GIVEN, random=_ANSWER), "one more episode, squared: the i-th visit is in one of them at most",
                   _FLAT_SQUARE, mutation=make_goal({"v": _UNIT}, "v*E(w*(r + u)) >= 2*E(w*(x + u*y)**2)", *_SQUARE_GIVEN, random=_ANSWER)),
        Obligation("once", make_goal({"v": _UNIT}, "v*E(w) >= v*E(w*r)", random=_ANSWER), "r is at most 1",
                   expect([("w - w*r", positive(reflect=("r",)))], positive(("v", 0))), mutation=make_goal({"v": _UNIT}, "v*E(w) >= 2*v*E(w*r)", random=_ANSWER)),
    ),
    reading=(
        "a cell is met at most once in an episode; u tells that the i-th visit is in the next episode, y is the centred answer there: x_i is the sum of u y over the episodes, "
        "r that of u; x and r are these sums so far",
        "w is a bounded function of x_1, ..., x_(i-1) with w >= 0; w u is of the past of the next episode's answer (where u is not 0 the first i-1 answers have been given), "
        "so that E[w u y] = 0 and E[w u y^2] = v E[w u]",
        "induction over the episodes from x = r = 0",
    ),
)  # fmt: skip

_LESS = {"l": "[0, 3)", "z": _POS}
_PART = {"w": _POS, "y": "(-3, 3)"}
_PART_GIVEN = ("l >= y", "E(w*y) == 0", "z*(2 - 2*l/3)*E(w) >= E(w*y**2)")
_PADE = have(
    "(6 + 4*y + y**2)/(6-2*y)*exp(-y) - 1 >= 0",
    subst("y", "3-t", "t", "(0, 3]", mono("t", -1, POSITIVE)),
    positive(("w*exp(y)", 3), ("w*y**2/(6*(1-l/3)*(1-y/3))", 0)),
)
_BELOW_ZERO = have(
    "1 + y + y**2/2 - exp(y) >= 0",
    taylor("y", "0", 3),
    have("w*y**2*l >= 0", RANGE, positive(("w", 3), ("1/(6*(1-l/3))", 4))),
)
_TERM_BY_TERM = split("y", "0", _BELOW_ZERO, _PADE)
_TANGENT = have(
    "exp(z) - 1 - z >= 0",
    mono("z", 1, POSITIVE),
    positive(("1", 3), ("-1", 1), ("1/(2 - 2*l/3)", 2), ("E_w", 4)),
)
_BEYOND = {"V": "(0, inf)", "X": "(0, inf)"}
_Q, _RATE = {"V": "(0, inf)", "q": "(0, inf)"}, "(q/(1+q/3))"
BERNSTEIN = Statement(
    "ucb.bernstein", "project", "Bernstein's inequality for bounded differences", source("Lemma 4.1 (proof)", "ucb.lemma4_1"),
    "Let |x_i| <= 1, each of mean 0 and second moment at most v <= 1 given the ones before it, and V >= n v, V, X > 0: x_1 + ... + x_n is at least sqrt(2 V X) + X/3 with "
    "probability at most exp(-X).",
    r"P\bigl(\textstyle\sum x_i\ge\sqrt{2VX}+X/3\bigr)\le e^{-X}",
    (
        Obligation("step", make_goal(_LESS, "exp(z)*E(w) >= E(w*exp(y))", *_PART_GIVEN, random=_PART), "one factor: w is the product so far, y = l x, z = v l^2/(2(1 - l/3))",
                   expect([("w*(1 + y + y**2/(2 - 2*l/3) - exp(y))", _TERM_BY_TERM)], _TANGENT),
                   mutation=make_goal(_LESS, "exp(z/2)*E(w) >= E(w*exp(y))", *_PART_GIVEN, random=_PART)),
        Obligation("markov", make_goal({"c": "(0, inf)"}, "E(w)/c >= E(u)", "w >= u*c", random={"u": _UNIT, "w": _POS}), "u: the product is at least c = exp(l s)",
                   expect([("w - u*c", positive(("1", 0)))], positive(("1/c", 1))),
                   mutation=make_goal({"c": "(0, inf)"}, "E(w)/c >= 2*E(u)", "w >= u*c", random={"u": _UNIT, "w": _POS})),
        Obligation("exponent", make_goal(_Q, f"{_RATE}*(V*q + V*q**2/6) - V*{_RATE}**2/(2*(1-{_RATE}/3)) == V*q**2/2"), "l s - V l^2/(2(1 - l/3)) at l = q/(1 + q/3) < 3",
                   IDENTITY, {"V": "1", "q": "1"}),
        Obligation("root", make_goal(_BEYOND, "V*sqrt(2*X/V) == sqrt(2*V*X)"), "q = sqrt(2X/V): s = V q + V q^2/6", IDENTITY, {"V": "1", "X": "1"}),
        Obligation("rest", make_goal(_BEYOND, "V*sqrt(2*X/V)**2/6 == X/3"), "its second term; and V q^2/2 = X", IDENTITY, {"V": "1", "X": "1"}),
    ),
    reading=("mean 0 given the past is E[w x] = 0, the second moment E[w x^2] <= v E[w]", "induction over the n factors: the expectation is at most exp(V l^2/(2(1 - l/3)))"),
)  # fmt: skip

TAILS = (FREEDMAN, HOEFFDING, VISITS, BERNSTEIN)
