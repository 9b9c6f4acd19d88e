"""One counter of SDP-PE's privatizer: the concentration of its noise, the ratio of masses, and the noisy sum.

Step 1 of Lemma 10's proof. Q is the sum of a counter's noise bits, m its mean, v the mean number of noise bits that are 0 (v >= m, as
each is 1 with chance at most 1/2). The derivations: docs/notes/sdp_privatizer.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import IDENTITY, POSITIVE, Node, expect, have, positive, taylor
from dpproof.proofs_check.papers.sdp_pe.tails import HALF, OPEN, source
from dpproof.proofs_check.statement import Goal, Obligation, Statement, formula, make_goal

COUNTER = {"epsilon": "(0, 1)", "beta": "(0, 1)"}
TAU = formula("sdp.threshold")
_BAND = {"m": OPEN, "x": "(0, 1]", "L": OPEN}
EVENTS = {"u": "[0, 1]", "a": "[0, 1]", "b": "[0, 1]"}
INTERVAL = Statement(
    "sdp.lemma10.privacy.interval", "statement", "Concentration of the noise of one counter", source("Lemma 10 (proof, step 1)", "sdp.lemma10.privacy"),
    "For epsilon', beta' in (0, 1), tau = 96 log(2/beta')/epsilon'^2 and both regimes of n: |Q - E Q| > sqrt(3 E Q log(2/beta')) with chance at most beta'.",
    r"P\bigl[|Q-EQ|>\sqrt{3\,EQ\log(2/\beta')}\bigr]\le\beta'",
    (
        Obligation("few", make_goal({"tau": OPEN, "n": "[1, inf)", "c": "[1, inf)"}, "c*n/2 >= tau/2", "c >= tau/n"), "E Q >= tau/2 for n <= tau, c = ceil(tau/n)", positive(("n/2", 0)),
                   {"tau": "1", "n": "1", "c": "1"}),
        Obligation("within", make_goal(COUNTER | {"m": OPEN}, "m >= 3*log(2/beta)", f"m >= {TAU}/2"), "x^2 <= 1 for x = sqrt(3 log(2/beta')/E Q), m = E Q",
                   have("1/epsilon**2 >= 1", have("1/epsilon >= 1", positive(reflect=["epsilon"]), positive(("1/epsilon+1", 1))), positive(("1", 0), ("48*log(2/beta)", 1))),
                   mutation=make_goal(COUNTER | {"m": OPEN}, "m >= 60*log(2/beta)", f"m >= {TAU}/2")),
        Obligation("above", make_goal(_BAND, "m*x**2/(2+2*x/3) >= L", "m*x**2 >= 3*L"), "the upper tail's exponent", positive(("1/(2+2*x/3)", 0), reflect=["x"]),
                   mutation=make_goal(_BAND, "m*x**2/(2+2*x/3) >= 3*L/2", "m*x**2 >= 3*L")),
        Obligation("below", make_goal(_BAND, "m*x**2/2 >= L", "m*x**2 >= 3*L"), "the lower tail's exponent", positive(("1/2", 0)),
                   mutation=make_goal(_BAND, "m*x**2/2 >= 2*L", "m*x**2 >= 3*L")),
        Obligation("half", make_goal({"beta": "(0, 1)"}, "exp(-log(2/beta)) == beta/2"), "each tail", IDENTITY, {"beta": "1/2"}),
        Obligation("both", make_goal({"beta": "(0, 1)"}, "beta >= E(u)", "beta/2 >= E(a)", "beta/2 >= E(b)", "a + b >= u", random=EVENTS), "both tails",
                   expect([("a+b-u", positive(("1", 2)))], positive(("1", 3), ("1", 0), ("1", 1))),
                   mutation=make_goal({"beta": "(0, 1)"}, "99/100*beta >= E(u)", "beta/2 >= E(a)", "beta/2 >= E(b)", "a + b >= u", random=EVENTS)),
    ),
    ("sdp.binomial_tails",),
    reading=("the event at x = sqrt(3 log(2/beta')/E Q) is |Q - E Q| > x E Q; for n > tau E Q = tau/2",),
    not_covered="beta' that has nothing to do with tau, for which the proof prints the bound too (see sdp.lemma10.utility.tails)",
)  # fmt: skip

_ROOTS = {"c": OPEN, "a": OPEN, "k": HALF}
_AT = "((y)**2 + c*(y) + 1)/((y)**2 - c*(y))"
_MANY = {"g": OPEN, "w": OPEN, "j": HALF, "k": HALF}
_T, _N = "(2*(g+w))", "(2*(g+w)+j)"
_ODDS = f"({_T}/(2*{_N}))/(1-{_T}/(2*{_N}))"
_BOUND = "(2 - y + 1/m)/y"
_BOTH = {"m": OPEN, "j": HALF, "k": HALF, "y": "(0, 1)"}
_TOP, _LOW = "(m*(2-y)+1-k)", "(m*y+k)"
REVERSE = make_goal(_BOTH, f"{_BOUND} >= {_TOP}*(m+j)/((2*m+j-{_TOP}+1)*m)")
FORWARD = make_goal(_BOTH, f"{_BOUND} >= (2*m+j-{_LOW}+1)*m/({_LOW}*(m+j))")
AT_BOTH = {"m": "1", "j": "0", "k": "0", "y": "1/2"}


def _inside(weight: str) -> Node:
    return have("1-y >= 0", positive(reflect=["y"]), positive((weight, 0)))


REVERSED = _inside("((m*(2-y)+1)*j+m*k)/(m*y*(m*y+j+k))")
FORWARDS = _inside("(m**2*y*j+m*k*(m+j))/(m*y*(m*y+k)*(m+j))")
_E = "(1+epsilon/2)/(1-epsilon/4)"
_LAST = {"epsilon": "(0, 1)", "t": OPEN, "r": OPEN, "y": "(0, 1]"}
_LAST_PROOF = have(
    "(1+epsilon/4+t)*y >= (2 - y + r)*(1-epsilon/4)",
    positive(("2+t", 0), ("1-epsilon/4", 1)),
    positive(("1/(y*(1-epsilon/4))", 2)),
)
_SLACK = have("1 >= epsilon", positive(reflect=["epsilon"]), positive(("epsilon/(48*log(2/beta))", 0)))
_END = have("exp(epsilon) >= 1 + epsilon + epsilon**2/2", taylor("epsilon", "0", 3), have("1 >= epsilon", positive(reflect=["epsilon"]),
            positive(("1", 0), ("epsilon**2/8/(1-epsilon/4)", 1))))  # fmt: skip
RATIO = Statement(
    "sdp.lemma10.privacy.ratio", "statement", "The ratio of neighbouring masses", source("Lemma 10 (proof, step 1)", "sdp.lemma10.privacy"),
    "For epsilon' in (0, 1) and tau = 96 log(2/beta')/epsilon'^2, in both regimes of n, for q inside the interval: P[Q = q]/P[Q' = q-1] lies between e^-epsilon' and e^epsilon'; the chain of the proof.",
    r"\frac{P[Q=q]}{P[Q'=q-1]}\le\frac{1+\varepsilon'/4+2/\tau}{1-\varepsilon'/4}\le\frac{1+\varepsilon'/2}{1-\varepsilon'/4}\le e^{\varepsilon'}",
    (
        Obligation("scale", make_goal(COUNTER, f"6*log(2/beta)/{TAU} == epsilon**2/16"), "the choice of tau", IDENTITY, {"epsilon": "1/2", "beta": "1/2"}),
        Obligation("few_first", make_goal({"g": OPEN, "w": OPEN, "k": HALF}, "(g+2*w+1)/g >= (2*(g+w)-(g+k)+1)/(g+k)"), "n <= tau, N = 2m fair bits, w the interval's half width, m = g + w, q = m - w + k",
                   POSITIVE, {"g": "1", "w": "1", "k": "0"}),
        Obligation("few_second", make_goal(_ROOTS, f"{_AT.replace('y', 'c+a')} >= {_AT.replace('y', 'c+a+k')}"), "m >= tau/2: sqrt(m) = c + a + k, sqrt(tau/2) = c + a, c^2 = 3 log(2/beta')",
                   POSITIVE, {"c": "1", "a": "1", "k": "0"}),
        Obligation("few_third", make_goal(_ROOTS, f"{_AT.replace('y', 'c+a')} == (1 + c/(c+a) + 1/(c+a)**2)/(1 - c/(c+a))"), "rewritten: c/(c+a) = sqrt(6 log(2/beta')/tau), 1/(c+a)^2 = 2/tau",
                   IDENTITY, {"c": "1", "a": "1", "k": "0"}),
        Obligation("many_first", make_goal(_MANY, f"({_N}-{_T}/2+w+1)/g*{_ODDS} >= ({_N}-(g+k)+1)/(g+k)*{_ODDS}"), "n > tau: tau/2 = g + w, n = tau + j, q = tau/2 - w + k", POSITIVE,
                   {"g": "1", "w": "1", "j": "1", "k": "0"}),
        Obligation("many_second", make_goal(_MANY, f"({_N}-{_T}/2+w+1)/g*{_ODDS} == (1+(w+1)/({_N}-{_T}/2))/(1-w/({_T}/2))"), "rewritten", IDENTITY, {"g": "1", "w": "1", "j": "1", "k": "0"}),
        Obligation("many_third", make_goal(_MANY, f"1 + (w+1)/({_T}/2) >= 1 + (w+1)/({_N}-{_T}/2)"), "n - tau/2 >= tau/2", POSITIVE, {"g": "1", "w": "1", "j": "0", "k": "0"}),
        Obligation("reverse", REVERSE, "the inverse ratio, both regimes: v = m + j, N = m + v, p/(1-p) = m/v, q = m(1+x) + 1 - k, y = 1 - x", REVERSED, AT_BOTH),
        Obligation("reverse_bound", make_goal(_LAST, "(1+epsilon/4+t)/(1-epsilon/4) >= (2 - y + r)/y", "epsilon/4 >= 1-y", "t >= r"), "the inverse ratio at x = 1 - y <= epsilon'/4, r = 1/E Q <= t = 2/tau",
                   _LAST_PROOF, {"epsilon": "1/2", "t": "1", "r": "1", "y": "7/8"}),
        Obligation("middle", make_goal(_LAST, f"{_E} >= (1+epsilon/4+t)/(1-epsilon/4)", "epsilon/4 >= t"), "2/tau <= epsilon'/4 put in", positive(("1/(1-epsilon/4)", 0)),
                   {"epsilon": "1/2", "t": "1/8", "r": "1", "y": "1"}),
        Obligation("slack", make_goal(COUNTER, f"epsilon/4 >= 2/{TAU}"), "2/tau <= epsilon'/4", _SLACK, mutation=make_goal(COUNTER, f"epsilon/4 >= 200/{TAU}")),
        Obligation("end", make_goal({"epsilon": "(0, 1)"}, f"exp(epsilon) >= {_E}"), "the last step", _END,
                   mutation=make_goal({"epsilon": "(0, 1)"}, f"exp(epsilon) >= 11/10*{_E}")),
    ),
    reading=("the masses of Binomial(N, p): P[Q = q]/P[Q = q-1] = (N - q + 1) p/(q (1 - p)); Q' has the law of Q",),
    laws=("binomial.mass",),
)  # fmt: skip

_DENSITY = {"a": "[0, 2]", "b": "[0, 2]", "g": "[0, 1]", "u": "[0, 1]"}


def transfer(factor: str) -> dict[str, object]:
    """From a bound on the ratio of densities on an event to approximate privacy: inequality 23 of the paper."""
    return dict(
        make_goal(
            {"s": "[1, inf)", "beta": "[0, 1]"},
            f"s*E(b*u) + {factor}*beta >= E(a*u)",
            "beta >= E(a*(1-g))",
            "s*b >= a*g",
            random=_DENSITY,
        )
    )


TRANSFER = expect(
    [("u*(s*b-a*g)", positive(("u", 1))), ("a*(1-g)*(1-u)", positive(reflect=["g", "u"]))],
    positive(("1", 0), ("1", 2), ("1", 3)),
)
SUM = Statement(
    "sdp.lemma10.privacy.sum", "statement", "The noisy sum of one counter is private", source("Lemma 10 (proof, step 1)", "sdp.lemma10.privacy"),
    "For epsilon', beta' in (0, 1) and tau = 96 log(2/beta')/epsilon'^2, in both regimes of n, the sum Q + d_1 + ... + d_n is (epsilon', beta')-DP (inequality 23 and its dual).",
    r"P[M^*(D)\in S]\le e^{\varepsilon'}P[M^*(D')\in S]+\beta'",
    (
        Obligation("event", transfer("1"), "a, b the masses of the sums for D, D' (or D', D), g the indicator that the noise is in the interval, u that the sum is in S", TRANSFER,
                   mutation=transfer("99/100")),
    ),
    ("sdp.lemma10.privacy.interval", "sdp.lemma10.privacy.ratio"),
    reading=("a, b are densities with respect to the mean of the two laws, so that they are at most 2; s = e^epsilon'",),
)  # fmt: skip

_ONE_MESSAGE = {"q": "(0, 1/2]", "s": "[1, inf)"}
_KERNEL = {"a": "[0, 2]", "b": "[0, 2]", "c": "[0, 2]", "u": "[0, 1]"}


def _processed(factor: str) -> Goal:
    return make_goal({"s": "[1, inf)"}, f"s*E(b*u) + {factor}*E(c) >= E(a*u)", "s*b + c >= a", random=_KERNEL)


EXACT = Statement(
    "sdp.lemma10.privacy.messages.exact", "project", "With sums as messages delta is 1 - tau/(2n) at every epsilon", source("Section V", "sdp.lemma10.privacy.messages"),
    "For n > tau and every epsilon >= 0 the shuffled messages z_i of one counter have delta(epsilon) = 1 - tau/(2n), over all data of the others and both directions: no less, by the message 0 among ones, and no more, because one "
    "user's message alone, unshuffled, has no more.",
    r"\delta(\varepsilon)=1-\frac{\tau}{2n}\qquad(n>\tau,\;\varepsilon\ge0)",
    (
        Obligation("zero_to_one", make_goal(_ONE_MESSAGE, "s*(1-q) >= q"), "q = tau/(2n), s = e^epsilon: {0: 1-q, 1: q} against {1: 1-q, 2: q}: only the message 0 exceeds, by 1 - q",
                   positive(reflect=["q"]), {"q": "1/2", "s": "1"}),
        Obligation("one_to_zero", make_goal(_ONE_MESSAGE, "1-q >= (1-q-s*q) + q"), "the other direction: the messages 1 and 2 exceed by no more", None, {"q": "1/2", "s": "1"}),
        Obligation("two_alone", make_goal(_ONE_MESSAGE, "1-q >= q"), "nor the message 2 alone", positive(reflect=["q"]), {"q": "1/2", "s": "1"}),
        Obligation("shuffled", _processed("1"), "what is computed from the message and from others' data: a, b its densities, c the excess of a over s b, u the chance of an event given the message",
                   expect([("u*(s*b+c-a)", positive(("u", 0))), ("c*(1-u)", positive(reflect=["u"]))], positive(("1", 1), ("1", 2))), mutation=_processed("99/100")),
    ),
    reading=(
        "among users who all hold 1 the message 0 has chance 1 - tau/(2n) if one of them holds 0 instead, and else never: delta is no less",
        "the densities are taken with respect to the mean of the two laws, so that they are at most 2; the others' messages and the shuffling do not depend on the user's bit",
    ),
)  # fmt: skip

STATEMENTS = (INTERVAL, RATIO, SUM, EXACT)
