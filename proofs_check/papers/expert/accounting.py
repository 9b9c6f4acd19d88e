"""Preserving expert-level privacy in offline reinforcement learning: what the accountants here answer.

``x`` is the coin's probability in training; in a round ``q`` and ``t`` are one expert in scales of the noise on
counts and on the threshold, ``v`` the exponential of the draw's epsilon, ``d`` the chance of a failure.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.expert import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, POSITIVE, expect, positive
from dpproof.proofs_check.papers.expert.release import LOGGED, NEIGHBOURS, PREFIX
from dpproof.proofs_check.papers.expert.training import HELD
from dpproof.proofs_check.statement import Goal, Obligation, Statement, make_goal

OPEN, HALF, UNIT, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "[1, inf)"
NOTE = "docs/notes/expert_accounting.md"


def _source(item: str, name: str) -> Source:
    return Source(PAPER, VERSION, item, name)


_FOUR = dict.fromkeys(("y", "w", "y1", "w1"), UNIT)
_SAME = {"y": "1", "w": "1", "y1": "1", "w1": "1"}
_FALLEN = {"s": UNIT, "u": UNIT}
_BELOW = {"l": HALF, "k": HALF, "z1": OPEN, "z2": OPEN}
_EXCESS = {"p": HALF, "r": HALF, "a": HALF, "b": HALF, "s": UNIT}
_MASSES = {"u": "(0, 1)", "w": OPEN, "d": UNIT}


def _failure(factor: str) -> Goal:
    return make_goal({"d": UNIT}, f"{factor}*d >= E(s*u)", "d >= u", random=_FALLEN)


def _chord(factor: str) -> Goal:
    return make_goal(_BELOW, f"{factor}*(l*E(a) + k*E(b)) >= E(s*((l+k)*p-(l*z1+k*z2)*r))", "a >= p-z1*r", "b >= p-z2*r", random=_EXCESS)  # fmt: skip


_WIDE = make_goal({"s": UNIT, "r": UNIT, "k": "(1, inf)"}, "r/2 - r/(4*(1+k)) + (s-r)/(4*(1-k)) + s/(4*(1+k)) == (s - k**2*r)/(2*(1-k**2))")  # fmt: skip
_NARROW = make_goal({"s": UNIT, "r": UNIT, "b": OPEN, "h": OPEN}, "r/2 - r*(b+h)/(4*(2*b+h)) + (s-r)*(b+h)/(4*h) + s*(b+h)/(4*(2*b+h)) == ((b+h)**2*s - b**2*r)/(2*h*(2*b+h))")  # fmt: skip


ROUNDS = Statement(
    "expert.release_rounds", "project", "T rounds of the release, for any noise", _source("Theorems 5.3 and 5.5", "expert.release_rounds"),
    "Laplace noise of scale b_t on the threshold theta + g and of b_q on each count, c_min > 1, theta = c_min/pmin, g >= 0. Between Pi' with at least m experts and Pi with one more, one round satisfies for every set S of releases "
    "Pr'(S) <= e^come Pr(S) with come = 1/b_q + log(1 + 1/m), and Pr(S) <= e^gone Pr'(S) + d with gone = 1/b_t + 1/b_q - log(1 - 1/c_min) and d the chance that the noise of a count exceeds that of the threshold by more than g, whatever the "
    "length of trajectories. T rounds that draw afresh are dominated by T pairs with the losses -come and gone and a mass d that only Pi shows.",
    r"\varepsilon_{\text{gone}}=\tfrac1{b_t}+\tfrac1{b_q}+\varepsilon_d,\quad\varepsilon_{\text{come}}=\tfrac1{b_q}+\log(1+\tfrac1m),\quad\delta=\Pr(U-V>g)",
    (
        Obligation("come", make_goal({"q": HALF, "c": MANY} | _FOUR, "exp(q)*c*y1*w1 >= y*w", "exp(q)*y1 >= y", "c*w1 >= w"), "an expert comes: a case's answers and its draw",
                   positive(("c*w1", 0), ("y", 1)), _SAME | {"q": "0", "c": "1"}),
        Obligation("come_draw", make_goal({"K": HALF, "c": HALF, "m": MANY, "h": UNIT}, "(1+1/m)*(K*(c+h)/(m+1)) >= K*c/m"), "the draw, for every count", POSITIVE, {"K": "1", "c": "1", "m": "1", "h": "0"}),
        Obligation("gone", make_goal({"t": HALF, "q": HALF, "v": MANY} | _FOUR, "exp(t+q)*v*y1*w1 >= y*w", "exp(t+q)*y1 >= y", "v*w1 >= w"), "an expert goes: a case whose longest prefix has count >= c_min",
                   positive(("v*w1", 0), ("y", 1)), _SAME | {"t": "0", "q": "0", "v": "1"}),
        Obligation("gone_draw", make_goal({"v": "(1, inf)"}, "1/(1-1/(v/(v-1))) == v"), "eps_d = -log(1 - 1/c_min) is the eps' of Lemma 5.1 for this c_min", IDENTITY, {"v": "2"}),
        Obligation("failure", _failure("1"), "s is 1 where a trajectory has the query whose top is needed, u its chance given the trajectory",
                   expect([("s*(d-u)", positive(("s", 0))), ("d*(1-s)", positive(reflect=["s"]))], positive(("1", 1), ("1", 2))), mutation=_failure("1/2")),
        Obligation("tail", _NARROW, "d for b_t = b and b_q = b + h, s = e^(-g/b_q), r = e^(-g/b_t): the integrals over the threshold's noise below -g, to 0 and beyond", IDENTITY, {"s": "1", "r": "1", "b": "1", "h": "1"}),
        Obligation("tail_wide", _WIDE, "and for b_t = k b_q, k > 1; k = 1 is expert.monotone_margin", IDENTITY, {"s": "1", "r": "1", "k": "2"}),
        Obligation("chord", _chord("1"), "a profile lies below its chords: a and b are the excesses at z1 and z2, l and k the weights, s is 1 on the event",
                   expect([("l*a + k*b - s*((l+k)*p-(l*z1+k*z2)*r)", positive(("l*s", 0), ("k*s", 1), reflect=["s"]))], positive(("1", 2))), mutation=_chord("1/2")),
        Obligation("masses", make_goal(_MASSES, "(1-u)*(1-(u-d)/(u+w)) + (1+w)*((u-d)/(u+w)) + d == 1"), "the broken line through (0, 1), (e^-come, 1 - e^-come), (e^gone, d) and on at d is the profile of a pair: e^-come = 1 - u, e^gone = 1 + w",
                   IDENTITY, {"u": "1/2", "w": "1", "d": "1/100"}),
    ),
    ("expert.svt_monotone", "expert.lemma5_1", "expert.lemmaA_2", "expert.monotone_margin", "classic.dominating_composition"),
    reading=("all other cases need the top of one query, which the trajectory alone determines (failure)", NEIGHBOURS, LOGGED, PREFIX, "a case is a prefix with one action more and the answers top..top bottom, or a whole trajectory and top..top; y and w are the chances of its answers and of its draw, y1 and w1 those under the other set; "
             "exp(q) y1 >= y and exp(t+q) y1 >= y are the two directions of expert.svt_monotone for scales b_t and b_q",
             "m >= theta: the first count is at least pmin m >= c_min, so that a case with count < c_min releases a prefix of length k >= 1 whose count is below theta (Lemma A.2, other), and the first query with a count below theta answered top. m < theta: "
             "anything but the empty release needs the first query's top, chance at most d under Pi, and under Pi' with smaller counts, too", f"written out in {NOTE}, sections 4 and 5"),
    not_covered="draws from logged data, which differ from fresh ones by expert.shuffled_walk or by running out (" + NOTE + ", section 6); fixed data sets (expert.fixed_data); noise drawn in floating point",
)  # fmt: skip


def _seen(factor: str) -> Goal:
    return make_goal({"x": UNIT, "h": UNIT}, f"{factor}*(x*E(o) + (1-x)*h) >= E(c*o + (1-c)*h)", "E(c) == x", random={"c": UNIT, "o": UNIT}, independent=(("c",), ("o",)))  # fmt: skip


TRAINING = Statement(
    "expert.training", "project", "Selective DP-SGD under each reading of its coin", _source("Algorithms 3 and 4", "expert.training"),
    "For every fixed data set and release, all models of selective DP-SGD together are dominated by products of pairs, G being that of one noisy step (with each expert drawn by its own coin, or exactly b of m; one expert more or less, or "
    "replaced): the visible choice of G with probability p, T times, if the coin is seen, and then also if it is hidden; G as often as a public schedule has noisy steps; G at the rate p b/m, T times, if every expert has coins of its own and noise is added in every step.",
    r"H_\alpha=p\,H_\alpha(G)+(1-p)(1-\alpha)_+",
    (
        Obligation("seen", _seen("1"), "coin and step: c is the coin, o the excess of a noisy step, h = (1 - alpha)_+ that of a step which is the same on both sides", expect([], positive(("h-E_o", 0))), mutation=_seen("1/2")),
        Obligation("own_coins", make_goal({"x": UNIT, "q": UNIT}, "(1-x) + x*(1-q) == 1 - x*q"), "two coins of an expert's own are one of the product's chance", IDENTITY, {"x": "1/2", "q": "1/2"}),
    ),
    ("classic.dp_sgd", "classic.poisson_replaced_gaussian", "classic.fixed_size_pair", "classic.visible_choice", "expert.fixed_batches_doubled", "expert.amplification_visible"),
    reading=(HELD, "a hidden coin is a seen one that is forgotten: post-processing", "a plain step has the same law on both sides given the release and the earlier models", f"written out in {NOTE}, sections 1 to 3"),
    not_covered="how much noise in plain steps hides of the coin; more than one transition of an expert in a batch; the release (expert.release_rounds) and how the two add up (expert.theorem5_6.set_aside)",
)  # fmt: skip

STATEMENTS = (ROUNDS, TRAINING)
