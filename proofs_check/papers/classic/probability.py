"""Theorems of probability that the papers quote: rules for events, expectations and post-processing."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, expect, have, identity, mono, positive, sos, split, subst
from dpproof.proofs_check.papers.classic import tails as classics_tails
from dpproof.proofs_check.statement import Goal, Obligation, Statement, make_goal

_R, _NN, _P, _U = "(-inf, inf)", "[0, inf)", "(0, inf)", "[0, 1]"
_BOOK = "ISBN 978-0-19-953525-5"
_INDICATOR = "an event is its indicator, which is 0 or 1; its probability is the expectation"

_EVENTS = {"a": _U, "b": _U, "u": _U}
_MANY = {"v": _U, "a": _U, "u": _U}
UNION = Statement(
    "classic.union_bound", "project", "The union bound", Source(_BOOK, "2013", "Section 2.1", "classic.union_bound"),
    "The probability that one of finitely many events happens is at most the sum of theirs; n events of probability at most r each: at most n r.",
    r"\Pr\Big[\bigcup_iA_i\Big]\le\sum_i\Pr[A_i]",
    (
        Obligation("two", make_goal({}, "E(a) + E(b) >= E(u)", "a + b >= u", random=_EVENTS), "u: one of a and b",
                   expect([("a + b - u", positive(("1", 0)))], positive(("1", 1))),
                   mutation=make_goal({}, "E(a) + E(b) >= 1001/1000*E(u)", "a + b >= u", random=_EVENTS)),
        Obligation("one_more", make_goal({"n": _NN, "r": _U}, "(n+1)*r >= E(u)", "v + a >= u", "n*r >= E(v)", "r >= E(a)", random=_MANY),
                   "v: one of the first n, a: the next one", expect([("v + a - u", positive(("1", 0)))], positive(("1", 1), ("1", 2), ("1", 3))),
                   mutation=make_goal({"n": _NN, "r": _U}, "(n+999/1000)*r >= E(u)", "v + a >= u", "n*r >= E(v)", "r >= E(a)", random=_MANY)),
    ),
    reading=(_INDICATOR, "more events by induction on their number"),
)  # fmt: skip

_TANGENT = have("exp(l*y) >= 1 + l*y", split("y", "0", mono("y", -1, IDENTITY), mono("y", 1, IDENTITY)),
                positive(("l", 0), ("u", 1), reflect=["u"]))  # fmt: skip
_ABOVE = {"x": _NN, "u": _U}
_SIGNED = {"y": _R, "u": _U}
MARKOV = Statement(
    "classic.markov", "project", "Markov's inequality, and its exponential form", Source(_BOOK, "2013", "Section 2.1", "classic.markov"),
    "For X >= 0 and t > 0, Pr[X >= t] <= E[X]/t. For every real Y and l >= 0, Pr[Y >= 0] <= E exp(l Y).",
    r"\Pr[X\ge t]\le\frac{E[X]}{t},\qquad\Pr[Y\ge0]\le E\,e^{lY}",
    (
        Obligation("mean", make_goal({"t": _P}, "E(x)/t >= E(u)", "x >= t*u", random=_ABOVE), "u: the indicator of x >= t",
                   expect([("x - t*u", positive(("1", 0)))], positive(("1/t", 1))),
                   mutation=make_goal({"t": _P}, "999/1000*E(x)/t >= E(u)", "x >= t*u", random=_ABOVE)),
        Obligation("exponential", make_goal({"l": _NN}, "E(exp(l*y)) >= E(u)", "u*y >= 0", random=_SIGNED), "u: the indicator of y >= 0",
                   expect([("exp(l*y) - u", _TANGENT)], positive(("1", 1))),
                   mutation=make_goal({"l": _NN}, "999/1000*E(exp(l*y)) >= E(u)", "u*y >= 0", random=_SIGNED)),
    ),
    reading=(_INDICATOR,),
)  # fmt: skip

_FACTOR_GIVEN = ("A >= E(exp(l*s))", "B >= E(exp(l*x))")


def _product(factor: str) -> Goal:
    """Return the claim about an independent sum, with a factor on its bound."""
    return make_goal({"l": _R, "A": _NN, "B": _NN}, f"{factor}*A*B >= E(exp(l*(s+x)))", *_FACTOR_GIVEN,
                      random={"s": _R, "x": _R}, independent=[["s"], ["x"]])  # fmt: skip


INDEPENDENT = Statement(
    "classic.independent_sum", "project", "The moment-generating function of an independent sum",
    Source(_BOOK, "2013", "Section 2.2", "classic.independent_sum"),
    "For independent s and x with E exp(l s) <= A and E exp(l x) <= B, E exp(l (s + x)) <= A B.",
    r"E\,e^{l(s+x)}=E\,e^{ls}\,E\,e^{lx}",
    (Obligation("product", _product("1"), "one more summand",
                expect([], positive(("B", 0), ("E_1", 1))),
                mutation=_product("999/1000")),),
    reading=("the expectation of a product of independent factors is the product: what independence means",),
)  # fmt: skip

_DENSITIES = "p and q are the densities of the two laws with respect to their sum; expectations are integrals against it, scaled to one"
_TEST = {"g": _NN, "delta": _NN}
_MECHANISM = {"p": _NN, "q": _NN, "a": _U, "k": _U}
_EVENT_GIVEN = ("a*(p - g*q) >= 0", "a*(p - g*q) >= p - g*q", "delta >= E(a*p) - g*E(a*q)")
POST_PROCESSING = Statement(
    "classic.post_processing", "project", "Post-processing",
    Source("doi:10.1561/0400000042", "2014", "Proposition 2.1", "classic.post_processing"),
    "If two laws satisfy Pr_P[B] <= exp(eps) Pr_Q[B] + delta for every event B, then so do the laws of every randomised function of the output whose randomness "
    "is independent of the data.",
    r"P\circ g^{-1}(B)\le e^{\varepsilon}Q\circ g^{-1}(B)+\delta",
    (Obligation("event", make_goal(_TEST, "delta + g*E(q*k) >= E(p*k)", *_EVENT_GIVEN, random=_MECHANISM),
                "g = exp(eps); k: the chance that the function lands in B, given the output; a: the event p > g q",
                expect([("(a - k)*(p - g*q)", positive(("1 - k", 0), ("k", 1)))], positive(("1", 2), ("1", 3))),
                mutation=make_goal(_TEST, "999/1000*delta + g*E(q*k) >= E(p*k)", *_EVENT_GIVEN, random=_MECHANISM)),),
    reading=(_DENSITIES, "the third hypothesis is the guarantee for the event p > g q; both signs of a guarantee by exchanging the laws",
             "the function's randomness is the same under both laws, so that k is one function of the output"),
)  # fmt: skip

_MEANS = {"m": _NN, "n": _NN, "d": _NN, "r": _NN, "R": _NN}
_CONVEX = ("m >= n + d*(r - R)", "E(d*r) == E(d*R)")
_TAN = {"alpha": "(1, inf)", "t": _R}
_BERNOULLI = subst(
    "alpha", "1 + b", "b", _P, split("t", "0", mono("t", -1, IDENTITY), mono("t", 1, IDENTITY))
)
RENYI_POST = Statement(
    "classic.post_processing_renyi", "project", "Post-processing does not raise a Renyi divergence",
    Source("doi:10.1109/TIT.2014.2320500", "2014", "Theorem 9", "classic.post_processing_renyi"),
    "For every alpha > 1 and every randomised function with finitely many values whose randomness is independent of the data, the divergence of the function's outputs is at "
    "most that of its inputs.",
    r"E_Q[E_Q[r\mid g]^\alpha]\le E_Q[r^\alpha]",
    (
        Obligation("tangent", make_goal(_TAN, "exp(alpha*t) >= 1 + alpha*(exp(t) - 1)"), "r/R = exp(t): r^alpha lies above its tangent at R", _BERNOULLI,
                   {"alpha": "2", "t": "1/100"}),
        Obligation("mean", make_goal({}, "E(m) >= E(n)", *_CONVEX, random=_MEANS),
                   "r: the density ratio, R = E[r | g], m = r^alpha, n = R^alpha, d = alpha R^(alpha-1)",
                   expect([("m - n - d*(r - R)", positive(("1", 0)))], positive(("1", 2), ("1", 1))),
                   mutation=make_goal({}, "999/1000*E(m) >= E(n)", *_CONVEX, random=_MEANS)),
    ),
    reading=("the density ratio of the function's outputs at a value is R, the mean of r under Q given that value; R, n and d take finitely many values, and E[d r] = E[d R] as "
             "d is a function of the value",
             "where R = 0 also r = 0, and where r = 0 the tangent is R^alpha (1 - alpha) <= 0: the tangent's inequality holds there too; where E[m] is infinite nothing is left to show",
             "a randomised function is a function of the output and an independent number, whose law is the same under both"),
    not_covered="functions with infinitely many values, for which d is cut at a bound that tends to infinity",
)  # fmt: skip

_PAST = {"s": _R, "d": _R}
_DRAWN = _PAST | {"e": _R}
_DRAWN_GIVEN = ("E(s*d) == 0", "E(s*e) == 0", "E(d*e) == 0")
_RANGE = {"m": _R, "H": _P}
TOTAL_VARIANCE = Statement(
    "classic.total_variance", "project", "The law of total variance", Source("arXiv:1703.05449", "v2", "Section 4 (law of total variance)", "classic.total_variance"),
    "The expected variances of the next value given the present state and action add up, over the steps of an episode, to at most the variance of the total reward, and so to at "
    "most H^2/4 if that is always in [0, H]. The first is an equality where policy and rewards are functions of the state, and of state and action. Rewards that are drawn are drawn "
    "independently of the next state.",
    r"\sum_hE[\mathrm{Var}(V_{h+1}\mid x_h,a_h)]\le\mathrm{Var}\Big(\sum_hr_h\Big)\le\frac{H^2}{4}",
    (
        Obligation("step", make_goal({}, "E((s+d+e)**2) >= E(s**2) + E(d**2)", *_DRAWN_GIVEN, random=_DRAWN),
                   "d: the next value less its mean, e: what the action and the reward add, s: the sum of all earlier ones",
                   expect([], positive(("2", 0), ("2", 1), ("2", 2))),
                   mutation=make_goal({}, "999/1000*E((s+d+e)**2) >= E(s**2) + E(d**2)", *_DRAWN_GIVEN, random=_DRAWN)),
        Obligation("step_back", make_goal({}, "E(s**2) + E(d**2) >= E((s+d)**2)", "E(s*d) == 0", random=_PAST), "the other direction where e = 0: equality",
                   expect([], positive(("-2", 0))), mutation=make_goal({}, "999/1000*E(s**2) + E(d**2) >= E((s+d)**2)", "E(s*d) == 0", random=_PAST)),
        Obligation("range", make_goal(_RANGE, "H**2/4 >= E(g**2) - m**2", "E(g) == m", "H >= g", random={"g": _NN}), "a number in [0, H] has variance at most H^2/4",
                   expect([("g*(H - g)", positive(("g", 1)))],
                          have("H**2/4 >= H*m - m**2", sos(("1", "m - H/2")), positive(("-H", 0), ("1", 2), ("1", 3)))),
                   mutation=make_goal(_RANGE, "999/4000*H**2 >= E(g**2) - m**2", "E(g) == m", "H >= g", random={"g": _NN})),
    ),
    reading=("V_(H+1) = 0; the total reward less its mean is the sum over the steps of d_h = V_(h+1)(x_(h+1)) - E[V_(h+1) | x_h, a_h] and e_h = r_h + E[V_(h+1) | x_h, a_h] - V_h(x_h), "
             "and E[d_h^2] is the expected variance of the next value",
             "given the past up to x_h the means of d_h and e_h are 0, so that E[s d] = E[s e] = 0; given x_h and a_h, r_h and x_(h+1) are independent and d_h has mean 0: E[d e] = 0",
             "induction over the steps, from s = 0"),
    not_covered="a first state that is drawn adds the variance of its value to the sum; the bound stays. A reward that depends on the next state given state and action: then the "
    "variance is that of reward and next value together",
)  # fmt: skip

_MODELS = {"p": _NN, "q": _NN, "v": _R, "w": _R}
_SPLIT = ("E(p*v) - E(q*w)", "E((p-q)*v) + E(q*(v-w))")
_NUMBERS = {"e": _NN, "D": _NN, "b": _R}
_NEXT = {"q": _NN, "u": _R}
_NEXT_GIVEN = ("E(q) == 1", "e >= b", "D >= u")
_HORIZON = {"n": "[0, inf)", "e": _NN, "D": _NN, "F": _NN}
SIMULATION = Statement(
    "classic.simulation", "project", "The simulation lemma", Source("arXiv:1703.07710", "v5", "Lemma E.15", "classic.simulation"),
    "The values of one policy in two models M = (r, p) and M' = (r', q) differ by the expectation, over episodes of M', of the sum over the steps of "
    "r - r' + <p - q, V_(h+1)>, V the values in M; if each of these terms is at most e in size, the values of an episode of n steps differ by at most n e.",
    r"V_1-V'_1=E'\Big[\sum_h(r-r')+\langle p-q,V_{h+1}\rangle\Big]",
    (
        Obligation("step", make_goal({}, f"{_SPLIT[0]} >= {_SPLIT[1]}", random=_MODELS), "one step: v, w the next values in the two models", expect([], positive()),
                   mutation=make_goal({}, f"{_SPLIT[0]} >= {_SPLIT[1]} + 1/1000", random=_MODELS)),
        Obligation("step_back", make_goal({}, f"{_SPLIT[1]} >= {_SPLIT[0]}", random=_MODELS), "the other direction: equality", expect([], positive()),
                   mutation=make_goal({}, f"{_SPLIT[1]} >= {_SPLIT[0]} + 1/1000", random=_MODELS)),
        Obligation("bound", make_goal(_NUMBERS, "e + D >= b + E(q*u)", *_NEXT_GIVEN, random=_NEXT), "b: the step's own term, u: the difference of the next values",
                   expect([("q*(D - u)", positive(("q", 2)))], positive(("-D", 0), ("1", 1), ("1", 3))),
                   mutation=make_goal(_NUMBERS, "999/1000*e + D >= b + E(q*u)", *_NEXT_GIVEN, random=_NEXT)),
        Obligation("sum", make_goal(_HORIZON, "(n+1)*e >= F", "n*e >= D", "e + D >= F"), "n steps, then one more", positive(("1", 0), ("1", 1)),
                   {"n": "1", "e": "1", "D": "1", "F": "2"}),
    ),
    reading=("p and q are the next states' probabilities over a reference law on the states, so that E[q w] is an expectation under the model",
             "unrolled over the steps: the difference of the next values is the same expression one step later; the other sign by exchanging signs"),
)  # fmt: skip

_PARTS = {"s": _P, "m": _R, "t": _R, "x": _R}
_TOTAL = "(m**2 + s**2)"
_JOIN = {"m": _R, "x": _R, "s": _NN, "y": _R, "r": _NN}
_PROFILE = {"g": _NN, "D": _NN}
_EXCESS = {"p": _NN, "q": _NN, "v": _NN, "k": _U}
_EXCESS_GIVEN = ("v >= p - g*q", "D >= E(v)")
ADAPTIVE_GAUSSIANS = Statement(
    "classic.adaptive_gaussians", "project", "Adaptive Gaussian releases under a budget fixed in advance",
    Source("arXiv:1905.02383", "v3", "Corollary 3.3 (for costs fixed in advance)", "classic.adaptive_gaussians"),
    "Releases one after another, each given the past a Gaussian of the same known variance under both data sets, the means m_i standard deviations apart; m_i may depend on "
    "the past, and the sum of the m_i^2 is always at most B, fixed in advance. All of them together are mu-GDP with mu^2 = B: at every epsilon delta is at most that of "
    "N(mu, 1) against N(0, 1).",
    r"E\Big[\Big(e^{\sum_i(m_ix_i-m_i^2/2)}-g\Big)_+\Big]=E\Big[\Big(e^{\mu x-\mu^2/2}-g\Big)_+\Big]",
    (
        Obligation("loss", make_goal({"x": _R, "b": _R}, "-(x-b)**2/2 + x**2/2 == b*x - b**2/2"), "one release's log ratio of densities, at distance b", IDENTITY,
                   {"x": "2", "b": "1"}),
        Obligation("square", make_goal(_PARTS, f"-x**2/2 - (t - m*x)**2/(2*s**2) == -t**2/(2*{_TOTAL}) - {_TOTAL}*(x - m*t/{_TOTAL})**2/(2*s**2)"),
                   "the density of m x + s y at t, x and y independent standard normals: completing the square in x", IDENTITY, {"s": "1", "m": "1", "t": "2", "x": "3"}),
        Obligation("normaliser", make_goal({"s": _P, "m": _R}, f"(1/(2*pi*s))**2*(2*pi*s**2/{_TOTAL}) == 1/(2*pi*{_TOTAL})"),
                   "its constant, squared: what is left is the density of N(0, m^2 + s^2)", IDENTITY, {"s": "1", "m": "1"}),
        Obligation("join", make_goal(_JOIN, "m*x - m**2/2 + (s*y - s**2/2) == (m*x + s*y) - r/2", "m**2 + s**2 == r"),
                   "a release of distance m and one of all the rest s of the budget r together: the log ratio of one release of distance sqrt(r)", identity(("-1/2", 0)),
                   {"m": "1", "x": "1", "s": "1", "y": "1", "r": "2"}),
        Obligation("event", make_goal(_PROFILE, "D + g*E(q*k) >= E(p*k)", *_EXCESS_GIVEN, random=_EXCESS),
                   "g = exp(epsilon), v = (p - g q)_+ its excess, D the delta; k an event, or what is computed from the release",
                   expect([("v - k*(p - g*q)", positive(("k", 0), reflect=["k"]))], positive(("1", 1), ("1", 2))),
                   mutation=make_goal(_PROFILE, "999/1000*D + g*E(q*k) >= E(p*k)", *_EXCESS_GIVEN, random=_EXCESS)),
    ),
    reading=("a vector of independent Gaussians is its coordinates, one after another",
             "one more Gaussian of distance sqrt(B - sum m_i^2) is appended; an event of the releases is an event of the longer run, of which the sum of the m_i^2 is B always",
             "x_i is the noise of release i in standard deviations: under the second data set standard normal and independent of the past, on which m_i, the log ratio l so far and the "
             "rest r of the budget depend. V(l, r) is the mean of (exp(l + sqrt(r) y - r/2) - g)_+ for a standard normal y",
             "given the past, the mean of V(l + m x - m^2/2, r - m^2) over x is the mean over x and y of (exp(l + t - r/2) - g)_+ at t = m x + s y, s^2 = r - m^2 (join); t is N(0, r) "
             "(square, normaliser: the integral over x of the joint density; t = m x where s = 0), so that it is V(l, r)",
             "finite induction over the releases: the mean of V is V(0, B) at all times, and at the end, where r = 0, V is the excess of p over g q in units of q",
             "the data sets exchanged: the distances -m_i"),
    not_covered="budgets that are known only at the end; see docs/notes/rlsvi_tight.md",
    laws=("gaussian.density",),
)  # fmt: skip

STATEMENTS = (
    ADAPTIVE_GAUSSIANS,
    UNION, MARKOV, INDEPENDENT, POST_PROCESSING, RENYI_POST, TOTAL_VARIANCE, SIMULATION, *classics_tails.STATEMENTS,
)  # fmt: skip
