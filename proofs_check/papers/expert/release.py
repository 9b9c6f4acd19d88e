"""Preserving expert-level privacy in offline reinforcement learning: the release of stable prefixes.

Neighbours: one expert more or less (Definition 3), both sets of experts not empty. ``v`` stands for exp(epsilon'),
``f`` for epsilon'/4, ``beta`` for delta', ``x`` for the least probability of an action.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.expert import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, POSITIVE, RANGE, expect, have, positive, sos, taylor
from dpproof.proofs_check.statement import Goal, Obligation, Statement, formula, make_goal

OPEN, HALF, UNIT, REAL, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "(-inf, inf)", "[1, inf)"
LEAST = formula("expert.least_count", epsilon="log(v)")
THRESHOLD = formula("expert.threshold", epsilon="log(v)")
MARGIN = formula("expert.margin", epsilon="e")
NOTE = "docs/notes/expert_release.md"
NEIGHBOURS = (
    "neighbours are sets of experts that differ by one expert, added or removed, neither of them empty"
)
LOGGED = (
    "probabilities are over the logging of the trajectories, too: each is drawn by its expert. Definitions 2 and 3 speak of neighbouring data sets; "
    "for two fixed ones, read literally, the guarantee fails (expert.fixed_data)"
)
PREFIX = (
    "count = sum over experts of prod pi(a_j|s_j), and Pr(E_tau | Pi) = K count/m, K = rho_0(s_1) prod P(s_(j+1)|s_j, a_j) (equations 8 to 11). Where uncountably many states can occur, Pr(E_tau | Pi) is the "
    "density of the prefix with respect to the process that draws every action uniformly, that is K count/m with K = |A|^k, and a sum over prefixes of length k is an expectation under that process; every claim "
    "about a prefix holds at each of them"
)
STEP = "one expert more or less moves a count by a product of probabilities, d in [0, 1], up or down"


def _source(item: str, identity_: str) -> Source:
    return Source(PAPER, VERSION, item, identity_)


def _assumption(number: int, title: str, says: str, latex: str) -> Statement:
    name = f"expert.assumption{number}"
    return Statement(name, "assumption", title, _source(f"Assumption {number}", name), says, latex,
                     reason=f"Assumption {number} of the paper: {title.lower()}")  # fmt: skip


ASSUMPTIONS = (
    _assumption(1, "Discrete actions", "The action space is discrete.", r"|A|<\infty"),
    _assumption(2, "The experts' policies can be queried",
                "pi_i(a|s) can be evaluated for every expert i, state s and action a.", r"\pi_i(a|s)"),
    _assumption(3, "A least probability of every action",
                "For a given pmin in (0, 1/|A|) every expert plays every action in every state with probability at least pmin.",
                r"\pi(a|s)\ge p_{\min}\in(0,1/|A|)"),
)  # fmt: skip

_ANSWERS = dict.fromkeys(("T", "B", "T1", "B1"), UNIT)
_MOVED = _ANSWERS | {"w": HALF}
_REMOVED = expect(
    [("exp(3*f)*w*T1*B1 - T*B", positive(("exp(3*f)*w*B1", 0), ("exp(2*f)*w*T", 1), ("T*B", 2)))],
    positive(("1", 3)),
)
_ADDED = expect([("exp(f)*T1*B1 - T*B", positive(("exp(f)*B1", 0), ("T", 1)))], positive(("1", 2)))


def _added(power: int) -> Goal:
    return make_goal(
        {"f": OPEN}, f"exp({power}*f)*E(T1*B1) >= E(T*B)", "T1 >= T", "exp(f)*B1 >= B", random=_ANSWERS
    )


def _removed(power: str, density: int = 2, query: int = 1) -> Goal:
    return make_goal({"f": OPEN}, f"exp({power}*f)*E(w*T1*B1) >= E(T*B)", "T1 >= T", f"exp({query}*f)*B1 >= B",
                      f"exp({density}*f)*w >= 1", random=_MOVED)  # fmt: skip


_HALF = expect([("exp(2*f)*T1*B1 - T*B", positive(("exp(2*f)*B1", 0), ("T", 1)))], positive(("1", 2)))


def _half(power: int) -> Goal:
    """An expert more, with half the noise on the counts: the lower tail moves by two scales."""
    return make_goal({"f": OPEN}, f"exp({power}*f)*E(T1*B1) >= E(T*B)", "T1 >= T", "exp(2*f)*B1 >= B", random=_ANSWERS)  # fmt: skip


LAPLACE = (
    Obligation("density", make_goal({"z": REAL, "h": "(0, 1]", "n": HALF, "k": HALF}, "n + h >= k",
                                     "n*n == z*z", "k*k == (z-h)*(z-h)", "n >= -z"),
               "|z - h| <= |z| + h: over a step h the density of Laplace noise of scale b falls by at most exp(h/b)",
               positive(("2*h/(n+h+k)", 2), ("1/(n+h+k)", 0), ("-1/(n+h+k)", 1)), {"z": "-1", "h": "1", "n": "1", "k": "2"}),
    Obligation("right", make_goal({"t": HALF, "s": HALF}, "exp(s)*(exp(-(t+s))/2) == exp(-t)/2"),
               "the upper tail at t and t + s (in scales of the noise), both to the right of 0", IDENTITY, {"t": "1", "s": "1"}),
    Obligation("across", make_goal({"t": "(-inf, 0]", "r": HALF}, "exp(r-t)*(exp(-r)/2) >= 1 - exp(t)/2"),
               "from t < 0 to r > 0", sos(("1/2", "1-exp(t)"), over="exp(t)"), {"t": "0", "r": "0"}),
    Obligation("left", make_goal({"t": "(-inf, 0]", "s": HALF}, "exp(s)*(1-exp(t)/2) >= 1 - exp(t-s)/2"),
               "from t - s to t, both to the left",
               have("1 >= exp(t)", RANGE, have("exp(s) >= 1", RANGE, positive(("(exp(s)+1)/(2*exp(s))", 0, 1)))),
               {"t": "-1", "s": "0"}),
)  # fmt: skip
ANSWERS = (
    "given the threshold's noise z the answers are independent; T(z) is the chance of k answers top, B(z) that of one answer bottom (1 if "
    "the run ends without one), T1 and B1 the same for the neighbour, so that Pr(r) = E[T B] over the threshold's noise",
    "an expert more: compare at the same z, so T1 >= T and, by the tail, exp(f) B1 >= B; an expert less: compare z with z - 1, so T1(z-1) >= T(z), "
    "exp(f) B1(z-1) >= B(z), and w is the ratio of the densities of the threshold's noise at z - 1 and at z",
    "all three are steps of the Laplace density and tails: its lower tail mirrors the upper one",
)

SVT = Statement(
    "expert.svt", "quoted", "One round of the sparse vector technique",
    _source("Section 5, after Dwork and Roth", "expert.svt"),
    "For a fixed stream of prefix queries, one round (noise Lap(2/eps') on the threshold, fresh Lap(4/eps') on each count, stop at the first bottom) is "
    "(eps', 0)-DP, whatever the number of queries.",
    r"\Pr(\mathcal A_2(\Pi,Q)=r)\le e^{\varepsilon'}\Pr(\mathcal A_2(\Pi',Q)=r)",
    (
        *LAPLACE,
        Obligation("added", _added(4), "an expert more", _ADDED, mutation=_added(0)),
        Obligation("removed", _removed("4"), "an expert less", _REMOVED, mutation=_removed("2")),
    ),
    reading=(NEIGHBOURS, STEP, *ANSWERS, "f = eps'/4: a step of 1 is f scales of a query's noise and 2 f of the threshold's"),
    not_covered="queries that depend on the data (that is what Theorem 5.3 is for); noise drawn in floating point",
    laws=("laplace.density", "laplace.tail"),
)  # fmt: skip

MONOTONE = Statement(
    "expert.svt_monotone", "project", "Counts are monotone: a round needs half the queries' noise",
    _source("Algorithm 1, line 4", "expert.svt_monotone"),
    "One more expert moves all counts up. A round with the printed noise is therefore (3 eps'/4, 0)-DP, and Lap(2/eps') instead of Lap(4/eps') on each count already gives (eps', 0)-DP. "
    "What this makes of an iteration is expert.iteration_monotone.",
    r"\tfrac{\varepsilon'}2+\tfrac{\varepsilon'}4=\tfrac34\varepsilon'",
    (
        Obligation("printed_noise", _removed("3"), "an expert less, noise as printed",
                   _REMOVED, mutation=_removed("5/2")),
        Obligation("printed_noise_added", _added(1), "an expert more, noise as printed",
                   _ADDED, mutation=_added(0)),
        Obligation("half_the_noise", _removed("4", 2, 2), "an expert less, Lap(2/eps') on both",
                   expect([("exp(4*f)*w*T1*B1 - T*B", positive(("exp(4*f)*w*B1", 0), ("exp(2*f)*w*T", 1), ("T*B", 2)))], positive(("1", 3))),
                   mutation=_removed("3", 2, 2)),
        Obligation("half_the_noise_added", _half(2), "an expert more, Lap(2/eps') on both: half of eps'", _HALF, mutation=_half(1)),
    ),
    ("expert.svt",),
    reading=(NEIGHBOURS, STEP, *ANSWERS),
    not_covered="that 3 eps'/4 is attained for long streams, which is classic.sparse_vector",
    laws=("laplace.density", "laplace.tail"),
)  # fmt: skip

_COUNT = {"v": "(1, inf)", "c": OPEN, "m": MANY, "d": UNIT, "K": HALF}
LEMMA_51 = Statement(
    "expert.lemma5_1", "statement", "Frequent prefixes stay as likely", _source("Lemma 5.1", "expert.lemma5_1"),
    "For a prefix tau and neighbouring Pi, Pi': if count_tau(Pi) >= c_min = e^eps'/(e^eps' - 1), then Pr(E_tau|Pi) <= e^eps' Pr(E_tau|Pi'); inside, the ratio of "
    "the two is below count/(count - 1) (equations 13 to 18).",
    r"\Pr(E_\tau|\Pi)\le e^{\varepsilon'}\Pr(E_\tau|\Pi')",
    (
        Obligation("added", make_goal(_COUNT, "v*(K*(c+d)/(m+1)) >= K*c/m", f"c >= {LEAST}", "m >= c"), "m + 1 experts instead of m",
                   have("m*(v-1) >= v", positive(("v-1", 0), ("v-1", 1)), positive(("K*c/(m*(m+1))", 2))),
                   {"v": "10001/10000", "c": "10002", "m": "10002", "d": "0", "K": "1"}),
        Obligation("removed", make_goal(_COUNT | {"m": "[2, inf)"}, "v*(K*(c-d)/(m-1)) >= K*c/m", f"c >= {LEAST}", "m >= c"), "m - 1 instead of m",
                   have("c*(v-1) >= v", positive(("v-1", 0)), positive(("K/(m-1)", 2), reflect=["d"])),
                   {"v": "2", "c": "20002/10000", "m": "1000000", "d": "1", "K": "1"}),
        Obligation("ratio_added", make_goal({"c": "(1, inf)", "m": MANY, "d": UNIT}, "c/(c-1) > c*(m+1)/((c+d)*m)", "m >= c"), "the printed ratio, an expert more",
                   positive(("1/((c-1)*m)", 0)), {"c": "1000000", "m": "1000000", "d": "0"}),
        Obligation("ratio_removed", make_goal({"c": "(1, inf)", "m": "[2, inf)", "d": UNIT}, "c/(c-1) > c*(m-1)/((c-d)*m)"), "an expert less",
                   positive(reflect=["d"]), {"c": "2", "m": "1000000", "d": "1"}),
        Obligation("least_count", make_goal({"v": "(1, inf)", "c": "(1, inf)"}, "v >= c/(c-1)", f"c >= {LEAST}"), "and c_min makes it at most e^eps'",
                   positive(("(v-1)/(c-1)", 0)), {"v": "2", "c": "20002/10000"}),
    ),
    reading=(NEIGHBOURS, PREFIX, STEP, "v = e^eps'; a count of m experts is at most m, and at least c_min > 1, so that m >= 2"),
)  # fmt: skip

_TEST = {"e": OPEN, "beta": "(0, 1)", "g": OPEN}
TEST_LAWS = (f"exp(-(e/4)*(g + {MARGIN}))*w/2 >= h", "E(w) == 1/(1-(2/e*(e/4))**2)")
TEST_RANGES = {"h": UNIT, "w": OPEN}
TAIL = "given the threshold's noise V, h is the chance that U >= a + V, a = (theta - count) + (4/eps') log(1/delta'), and w = exp(-V eps'/4)"
TRANSFORM = (
    "E[exp(tV)] = 1/(1 - (bt)^2) for Laplace noise V of scale b and |bt| < 1, here b = 2/eps' and t = -eps'/4"
)
LEMMA_52 = Statement(
    "expert.lemma5_2", "statement", "Rare prefixes are not called stable", _source("Lemma 5.2", "expert.lemma5_2"),
    "If count_tau(Pi) < theta, then one prefix query answers top with a probability below delta' (its noise: Lap(4/eps') on the count, Lap(2/eps') on the threshold "
    "theta + (4/eps') log(1/delta')). The integral of the proof (equation 23) is 2 delta'/3.",
    r"\Pr(\mathcal A_{PQ}(\Pi,\tau_k,\hat\theta,\varepsilon')=\top)<\delta'",
    (
        Obligation("tail", make_goal({"a": "(-inf, 0]"}, "exp(-a)/2 >= 1 - exp(a)/2"), "Pr[U >= a] <= exp(-a)/2 also to the left of 0, where the bound is no tail (equation 22)",
                   sos(("1/2", "1-exp(a)"), over="exp(a)"), {"a": "0"}),
        Obligation("transform", make_goal({"e": OPEN}, "1/(1-(2/e*(e/4))**2) == 4/3"), "the threshold's noise costs the factor 4/3", IDENTITY, {"e": "1"}),
        Obligation("margin", make_goal({"e": OPEN, "beta": "(0, 1)"}, f"exp(-(e/4)*{MARGIN}) == beta"), "the margin leaves delta'", IDENTITY, {"e": "1", "beta": "1/2"}),
        Obligation("integral", make_goal(_TEST, "2/3*exp(-(e/4)*g)*beta >= E(h)", *TEST_LAWS, random=TEST_RANGES), "the integral of equation 23: g = theta - count > 0",
                   expect([("exp(-(e/4)*g)*beta*w/2-h", positive(("1", 0)))], positive(("-exp(-(e/4)*g)*beta/2", 1), ("1", 2))),
                   mutation=make_goal(_TEST, "1/2*exp(-(e/4)*g)*beta >= E(h)", *TEST_LAWS, random=TEST_RANGES)),
        Obligation("printed", make_goal(_TEST, "beta > E(h)", *TEST_LAWS, random=TEST_RANGES), "the printed bound",
                   expect([("beta*w/2-h", positive(("1", 0)))], positive(("-beta/2", 1), ("1", 2))),
                   mutation=make_goal(_TEST, "beta/2 > E(h)", *TEST_LAWS, random=TEST_RANGES)),
    ),
    reading=(TAIL, TRANSFORM, "e = eps', beta = delta', g = theta - count"),
    not_covered="noise drawn in floating point",
    laws=("laplace.tail", "laplace.mgf"),
)  # fmt: skip

EXACT = Statement(
    "expert.lemma5_2_exact", "project", "How often a rare prefix is called stable, exactly",
    _source("Lemma 5.2", "expert.lemma5_2_exact"),
    "With s = delta' exp(-(theta - count) eps'/4) the answer is top with probability exactly (4 s - s^2)/6, below 2 delta'/3; for theta - count to 0 it tends to "
    "(4 delta' - delta'^2)/6. So 2/3 of delta' is the constant of this noise; the margin (4/eps') log(2/(3 delta')) would give delta'.",
    r"\Pr(\top)=\tfrac16(4s-s^2)",
    (
        Obligation("pieces", make_goal({"s": "(0, 1]"}, "s**2*(1/2)*(1-(1/2)/(3/2)) + s*(1-s)/2 + s/4/(3/2) == (4*s-s**2)/6"),
                   "the integral over the threshold's noise: where the count's noise is on its left side, between, and to the right of 0", IDENTITY, {"s": "1"}),
        Obligation("constant", make_goal({"s": "(0, 1]"}, "2/3*s > (4*s-s**2)/6"), "below two thirds", POSITIVE, {"s": "1/100000"}),
        Obligation("smaller_margin", make_goal({"e": OPEN, "beta": "(0, 2/3)"}, "2/3*exp(-(e/4)*(4/e*log(2/(3*beta)))) == beta"),
                   "the margin that uses all of delta'", IDENTITY, {"e": "1", "beta": "1/2"}),
    ),
    reading=("V in scales of 2/eps' has density exp(-|v|)/2, U - in the same unit of scale 2 - the upper tail exp(-u/2)/2 for u >= 0; the three pieces are "
             "the integrals of exp(v)(1 - exp((t+v)/2)/2)/2 over v < -t, of exp(v) exp(-(t+v)/2)/4 over -t < v < 0, of exp(-v) exp(-(t+v)/2)/4 over v > 0, s = exp(-t/2)",),
    not_covered=f"nothing ({NOTE}, section 2)",
    laws=("laplace.density", "laplace.tail"),
)  # fmt: skip

_TAIL, _GAP = "(2+t)*exp(-t)/4", {"t": HALF, "h": HALF}
MARGIN_MONOTONE = Statement(
    "expert.monotone_margin", "project", "Half the noise needs two thirds of the margin",
    _source("Algorithm 2, line 7", "expert.monotone_margin"),
    "With Lap(2/eps') on the threshold and on each count (expert.svt_monotone) a prefix with count < theta is called stable with probability below delta' already at the margin "
    "(8/(3 eps')) log(1/delta'), two thirds of the printed one: Lemma 5.2 as before. What rests on it is expert.iteration_monotone.",
    r"\hat\theta=\theta+\frac{8}{3\varepsilon'}\log\frac1{\delta'}+\mathrm{Lap}(2/\varepsilon')",
    (
        Obligation("pieces", make_goal({"t": HALF}, f"exp(-t)/2*(1-(1/2)*(1/2)) + t*exp(-t)/4 + exp(-t)/4*(1/2) == {_TAIL}"), "the chance that two such noises differ by more than t scales", IDENTITY, {"t": "1"}),
        Obligation("gap", make_goal(_GAP, f"{_TAIL} >= (2+t+h)*exp(-t-h)/4"), "a smaller count has a smaller chance",
                   have("exp(h) >= 1 + h", taylor("h", "0", 2), positive(("(2+t)*exp(-t-h)/4", 0))), {"t": "1", "h": "0"}),
        Obligation("margin", make_goal({"y": OPEN, "e": OPEN}, "(e/2)*(8/(3*e)*log(1/exp(-3*y))) == 4*y"), "the margin in scales, delta' = exp(-3 y)", IDENTITY, {"y": "1", "e": "1"}),
        Obligation("enough", make_goal({"y": OPEN}, "exp(-3*y) > (2+4*y)*exp(-4*y)/4"), "is enough",
                   have("exp(y) >= 1 + y", taylor("y", "0", 2), positive(("exp(-4*y)", 0))), mutation=make_goal({"y": OPEN}, "exp(-3*y)/2 > (2+4*y)*exp(-4*y)/4")),
    ),
    ("expert.svt_monotone",),
    reading=("in scales of 2/eps' both noises have density exp(-|v|)/2; the three pieces are the integrals over the threshold's noise v < -t, -t < v < 0 and v > 0",),
    not_covered="the least margin: that the closed form is not the smallest one",
)  # fmt: skip

STATEMENTS = (*ASSUMPTIONS, SVT, MONOTONE, LEMMA_51, LEMMA_52, EXACT, MARGIN_MONOTONE)
