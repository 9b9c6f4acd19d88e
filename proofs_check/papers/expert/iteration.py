"""Preserving expert-level privacy in offline reinforcement learning: one iteration, Lemma 5.4 to Theorem 5.3.

``beta`` stands for delta', ``e`` for epsilon', ``v`` for its exponential, ``n`` for the number of actions; expectations
over actions are under the uniform law, so that n E(.) is the sum over all actions.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.expert import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    Node,
    expect,
    have,
    identity,
    mono,
    point,
    positive,
    taylor,
    telescope,
)
from dpproof.proofs_check.papers.expert.release import (
    LEAST,
    LOGGED,
    NEIGHBOURS,
    PREFIX,
    TEST_LAWS,
    TEST_RANGES,
    THRESHOLD,
)
from dpproof.proofs_check.statement import (
    Goal,
    Judgement,
    Obligation,
    Severity,
    Statement,
    formula,
    make_goal,
)

OPEN, HALF, UNIT, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "[1, inf)"
NOTE = "docs/notes/expert_iteration.md"
ASSUMED = "Assumptions 1 and 3 are hypotheses of the formal claim (finitely many actions, each with probability at least pmin = x); Assumption 2 lets the counts be computed"
SUMMED = "equation 25: Pr(A(Pi) = tau_k) is the sum over actions a of y w, y = Pr(A_2(Pi, Q^(tau_k a)) = top..top bottom), w = Pr(E_(tau_k a)|Pi), and the w add up to Pr(E_tau_k|Pi)"
_ENDS = "k < L is Lemmas A.1 and A.2, k = L is Lemma A.3"
LAST_TOP = "the answers r include a top on the k-th call, so that y is at most Pr(top on tau_k) (equations 26, 33, 44)"
PRIMED = "y1, w1 are y, w under Pi'; exp(e) y1 >= y by expert.svt, exp(e) w1 >= w by Lemma 5.1"


def _source(item: str, name: str) -> Source:
    return Source(PAPER, VERSION, item, name)


def _rare(goal: str, chance: str = "(0, 1]") -> Goal:
    return make_goal(
        {"n": MANY, "g": "(0, 1]", "beta": "(0, 1)", "W": chance},
        goal,
        "beta - g >= y",
        "n*E(w) == W",
        random={"y": UNIT, "w": UNIT},
    )


_STRICT = {"beta": "(0, 1)", "W": UNIT, "a": UNIT}


def _strict(identity: str, item: str, name: str) -> Statement:
    """The printed strict sign, for every prefix; an impossible one has probability 0 on both sides."""
    return Statement(
        identity, "statement", "The strict sign, for every prefix", _source(item, name),
        "Where the count is below c_min the printed sign is <, for every prefix. A prefix that the environment cannot produce has probability 0 on both sides, and 0 < 0 fails.",
        r"\Pr(\mathcal A(\Pi)=\tau)<\Pr(E_\tau|\Pi)\,\delta'",
        (Obligation("printed", make_goal(_STRICT, "beta*W > a", "beta*W >= a"), "W = Pr(E_tau|Pi), a = Pr(A(Pi) = tau)",
                    point(beta="1/2", W="0", a="0"), mutation=make_goal(_STRICT, "beta*W >= a", "beta*W >= a")),),
        (f"{name}.bound",),
        reading=("a prefix that the environment cannot produce has Pr(E_tau|Pi) = 0 and is never released, so that Pr(A(Pi) = tau) = 0",),
        corrected_by=f"{name}.bound",
        not_covered="prefixes that can occur, for which the strict sign is proved with the bound",
        judgement=Judgement(Severity.SLIP, "Only prefixes of probability 0 are affected; nothing later uses the strict sign."),
    )  # fmt: skip


_BELOW = {"v": "(1, inf)", "x": "(0, 1)", "g": OPEN, "c": HALF}
A_1 = (
    Statement(
        "expert.lemmaA_1", "statement", "Rare prefixes before the end", _source("Lemma A.1", "expert.lemmaA_1"),
        "For k < L, neighbouring Pi, Pi' and count_tau_k(Pi) < c_min: Pr(A(Pi) = tau_k) < Pr(E_tau_k|Pi) delta'. The bound holds, with <= for every prefix; the strict sign fails for prefixes that cannot occur.",
        r"\Pr(\mathcal A(\Pi)=\tau_k)<\Pr(E_{\tau_k}|\Pi)\,\delta'",
        parts=("expert.lemmaA_1.bound", "expert.lemmaA_1.strict"), corrected_by="expert.lemmaA_1.bound",
    ),
    Statement(
        "expert.lemmaA_1.bound", "statement", "Rare prefixes before the end: the bound", _source("Lemma A.1", "expert.lemmaA_1"),
        "For k < L, neighbouring Pi, Pi' and count_tau_k(Pi) < c_min: Pr(A(Pi) = tau_k) <= Pr(E_tau_k|Pi) delta' for every prefix, and < where Pr(E_tau_k|Pi) > 0.",
        r"\Pr(\mathcal A(\Pi)=\tau_k)\le\Pr(E_{\tau_k}|\Pi)\,\delta'",
        (
            Obligation("below", make_goal({"v": "(1, inf)", "x": "(0, 1)", "c": HALF}, f"{THRESHOLD} > c", f"{LEAST} > c"), "c_min < theta, which Lemma 5.2 asks for",
                       positive(("1", 0), reflect=["x"]), {"v": "2", "x": "99999/100000", "c": "199999/100000"}),
            Obligation("every", _rare("beta*W >= n*E(y*w)", UNIT), "the sum over actions, Pr(top) = delta' - g, for every prefix",
                       expect([("w*(beta-g-y)", positive(("w", 0)))], positive(("n", 2), ("-(beta-g)", 1))),
                       mutation=_rare("beta/2*W >= n*E(y*w)", UNIT)),
            Obligation("sum", _rare("beta*W > n*E(y*w)"), "the same, strictly, for a prefix that can occur",
                       expect([("w*(beta-g-y)", positive(("w", 0)))], positive(("n", 2), ("-(beta-g)", 1))),
                       mutation=_rare("beta/2*W > n*E(y*w)")),
        ),
        ("expert.lemma5_2",),
        reading=(NEIGHBOURS, PREFIX, SUMMED, LAST_TOP, ASSUMED),
    ),
    _strict("expert.lemmaA_1.strict", "Lemma A.1", "expert.lemmaA_1"),
)  # fmt: skip

_KEPT = {"e": OPEN} | dict.fromkeys(("y", "w", "y1", "w1"), UNIT)
_ACTIONS = dict.fromkeys(("y", "w", "y1", "w1", "s"), UNIT)


def _frequent(factor: str) -> Goal:
    return make_goal({"e": OPEN, "n": MANY, "beta": "(0, 1)"}, f"exp(2*e)*(n*E(y1*w1)) + {factor}*beta*(n*E(w)) >= n*E(y*w)",
                      "s*(exp(2*e)*y1*w1 - y*w) >= 0", "(1-s)*(beta-y) >= 0", random=_ACTIONS)  # fmt: skip


A_2 = Statement(
    "expert.lemmaA_2", "statement", "Frequent prefixes before the end", _source("Lemma A.2", "expert.lemmaA_2"),
    "For k < L, neighbouring Pi, Pi' and count_tau_k(Pi) >= c_min: Pr(A(Pi) = tau_k) <= e^(2 eps') Pr(A(Pi') = tau_k) + Pr(E_tau_k|Pi) delta'.",
    r"\Pr(\mathcal A(\Pi)=\tau_k)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')=\tau_k)+\Pr(E_{\tau_k}|\Pi)\,\delta'",
    (
        Obligation("kept", make_goal(_KEPT, "exp(2*e)*y1*w1 >= y*w", "exp(e)*y1 >= y", "exp(e)*w1 >= w"), "an action a in A': count_(tau_k a) >= c_min",
                   positive(("exp(e)*w1", 0), ("y", 1)), {"e": "1/10000", "y": "1", "w": "1", "y1": "1", "w1": "1"}),
        Obligation("other", make_goal(_BELOW, f"{THRESHOLD} > c", f"{LEAST} - g >= x*c"), "an action in A'': count_(tau_k a) = c_min - g is at least pmin count_tau_k; count_tau_k < theta (equations 30 to 32)", positive(("1/x", 0)), {"v": "2", "x": "1/2", "g": "1/100000", "c": "39999/10000"}),
        Obligation("sum", _frequent("1"), "the sum over actions, s = 1 on A' and 0 on A''",
                   expect([("exp(2*e)*y1*w1+beta*w-y*w", have("(1-s)*(exp(2*e)*y1*w1) >= 0", positive(reflect=["s"]), positive(("1", 0), ("w", 1), ("1", 2))))], positive(("n", 2))),
                   mutation=_frequent("1/2")),
    ),
    ("expert.svt", "expert.lemma5_1", "expert.lemma5_2"),
    reading=("an action in A'': y <= delta' by Lemma 5.2, as count_tau_k < theta (other)", NEIGHBOURS, PREFIX, SUMMED, LAST_TOP, PRIMED, ASSUMED),
)  # fmt: skip

_WHOLE = {"y": UNIT, "g": "(0, 1]", "beta": "(0, 1)"}
A_3 = (
    Statement(
        "expert.lemmaA_3", "statement", "Whole trajectories", _source("Lemma A.3", "expert.lemmaA_3"),
        "For whole trajectories, k = L: if count < c_min then Pr(A(Pi) = tau_L) < Pr(E_tau_L|Pi) delta'; if count >= c_min then Pr(A(Pi) = tau_L) <= e^(2 eps') Pr(A(Pi') = tau_L). "
        "The bounds hold, the first with <= for every trajectory; its strict sign fails for trajectories that cannot occur.",
        r"\Pr(\mathcal A(\Pi)=\tau_L)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')=\tau_L)",
        parts=("expert.lemmaA_3.bound", "expert.lemmaA_3.strict"), corrected_by="expert.lemmaA_3.bound",
    ),
    Statement(
        "expert.lemmaA_3.bound", "statement", "Whole trajectories: the bounds", _source("Lemma A.3", "expert.lemmaA_3"),
        "For whole trajectories, k = L: if count < c_min then Pr(A(Pi) = tau_L) <= Pr(E_tau_L|Pi) delta' for every trajectory, and < where Pr(E_tau_L|Pi) > 0; if count >= c_min then "
        "Pr(A(Pi) = tau_L) <= e^(2 eps') Pr(A(Pi') = tau_L).",
        r"\Pr(\mathcal A(\Pi)=\tau_L)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')=\tau_L)",
        (
            Obligation("every", make_goal(_WHOLE | {"w": UNIT}, "beta*w >= y*w", "beta - g >= y"), "count < c_min < theta, for every trajectory",
                       positive(("w", 0)), {"beta": "1/2", "g": "1/100000", "y": "49999/100000", "w": "1"}),
            Obligation("rare", make_goal(_WHOLE | {"w": "(0, 1]"}, "beta*w > y*w", "beta - g >= y"), "count < c_min < theta, strictly, for one that can occur",
                       positive(("w", 0)), {"beta": "1/2", "g": "1/100000", "y": "49999/100000", "w": "1"}),
            Obligation("frequent", make_goal(_KEPT, "exp(2*e)*y1*w1 >= y*w", "exp(e)*y1 >= y", "exp(e)*w1 >= w"), "count >= c_min",
                       positive(("exp(e)*w1", 0), ("y", 1)), {"e": "1/10000", "y": "1", "w": "1", "y1": "1", "w1": "1"}),
        ),
        ("expert.svt", "expert.lemma5_1", "expert.lemma5_2", "expert.lemmaA_1.bound"),
        reading=(NEIGHBOURS, PREFIX, "equation 42: Pr(A(Pi) = tau_L) = y w with y = Pr(A_2 = top..top), w = Pr(E_tau_L|Pi)", LAST_TOP, PRIMED, ASSUMED),
    ),
    _strict("expert.lemmaA_3.strict", "Lemma A.3", "expert.lemmaA_3"),
)  # fmt: skip

LEMMA_54 = (
    Statement(
        "expert.lemma5_4", "statement", "One prefix", _source("Lemma 5.4", "expert.lemma5_4"),
        "For neighbouring Pi, Pi' with all policies at least pmin, and a prefix tau_k: count < c_min gives Pr(A(Pi) = tau_k) < Pr(E_tau_k|Pi) delta'; count >= c_min gives "
        "Pr(A(Pi) = tau_k) <= e^(2 eps') Pr(A(Pi') = tau_k) + Pr(E_tau_k|Pi) delta'. The bounds hold, the first with <=; its strict sign fails for prefixes that cannot occur.",
        r"\Pr(\mathcal A(\Pi)=\tau_k)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')=\tau_k)+\Pr(E_{\tau_k}|\Pi)\,\delta'",
        parts=("expert.lemma5_4.bound", "expert.lemmaA_1.strict", "expert.lemmaA_3.strict"), corrected_by="expert.lemma5_4.bound",
        reading=(_ENDS,),
        not_covered="k = 0, the empty release (expert.empty_release)",
    ),
    Statement(
        "expert.lemma5_4.bound", "statement", "One prefix: the bounds", _source("Lemma 5.4", "expert.lemma5_4"),
        "For neighbouring Pi, Pi' with all policies at least pmin, and a prefix tau_k: count < c_min gives Pr(A(Pi) = tau_k) <= Pr(E_tau_k|Pi) delta'; count >= c_min gives "
        "Pr(A(Pi) = tau_k) <= e^(2 eps') Pr(A(Pi') = tau_k) + Pr(E_tau_k|Pi) delta'.",
        r"\Pr(\mathcal A(\Pi)=\tau_k)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')=\tau_k)+\Pr(E_{\tau_k}|\Pi)\,\delta'",
        parts=("expert.lemmaA_1.bound", "expert.lemmaA_2", "expert.lemmaA_3.bound"),
        reading=(_ENDS,),
        not_covered="k = 0, the empty release (expert.empty_release)",
    ),
)  # fmt: skip

_NEXT = {"p": HALF, "q": HALF}
_LEVEL = ("E(p) == 1", "E(p*(q-1)) == 0")
EQ_50 = Statement(
    "expert.eq50", "statement", "The chances of all prefixes add up to the length", _source("Equations 49 and 50", "expert.eq50"),
    "For trajectories of the same length L, the sum of Pr(E_tau|Pi) over all prefixes of length k is 1 for each k = 1, ..., L, and over all of them L.",
    r"\sum_{\tau\in\mathcal T}\Pr(E_\tau|\Pi)=L",
    (
        Obligation("next_least", make_goal({}, "E(p*q) >= 1", *_LEVEL, random=_NEXT), "from k to k + 1",
                   expect([], positive(("1", 0), ("1", 1))), mutation=make_goal({}, "E(p*q) >= 1001/1000", *_LEVEL, random=_NEXT)),
        Obligation("next_most", make_goal({}, "1 >= E(p*q)", *_LEVEL, random=_NEXT), "and not more",
                   expect([], positive(("-1", 0), ("-1", 1))), mutation=make_goal({}, "999/1000 >= E(p*q)", *_LEVEL, random=_NEXT)),
        Obligation("lengths", make_goal({"L": MANY}, "sum(k, 1, L, 1) == L", integers=("L",)), "L lengths of prefixes",
                   telescope("sum(k, 1, L, 1)", "k", "==", IDENTITY, identity(("-1", 0))), {"L": "1"}),
    ),
    reading=("induction over k, from the law of (s_1, a_1, s_2) on: p is the density of the prefix of length k under any law of prefixes, q that of the next action and state given the "
             "prefix, whose sum over both is 1 for each prefix; for uncountably many states sums are integrals of densities",),
    not_covered="trajectories of different lengths, where the sum is the mean length, at most L, and all that follows holds",
)  # fmt: skip

_EVENT = {"s": UNIT, "a": UNIT, "b": HALF}


def _event(factor: str) -> Goal:
    return make_goal(
        {"e": OPEN, "beta": "(0, 1)"},
        f"exp(2*e)*E(s*b) + {factor}*beta >= E(s*a)",
        "exp(2*e)*b + beta >= a",
        random=_EVENT,
    )


def _levels(factor: str) -> Goal:
    return make_goal({"L": MANY, "beta": "(0, 1)", "e": OPEN}, f"exp(2*e)*(L*E(b)) + {factor}*L*beta >= L*E(a)", "exp(2*e)*b + beta >= a",
                      integers=("L",), random={"a": UNIT, "b": HALF})  # fmt: skip


def _none(factor: str) -> Goal:
    return make_goal(
        {"e": OPEN},
        f"{factor}*exp(2*e)*E(y1*w1) >= E(y*w)",
        "exp(e)*y1 >= y",
        "exp(e)*w1 >= w",
        random=dict.fromkeys(("y", "w", "y1", "w1"), UNIT),
    )


def _early(factor: str) -> Goal:
    return make_goal(
        {"e": "(0, 8/5]", "beta": "(0, 1)", "g": "(-1, inf)"},
        f"{factor}*beta >= E(h)",
        *TEST_LAWS,
        random=TEST_RANGES,
    )


def _late(factor: str) -> Goal:
    return make_goal(
        {"e": "[8/5, inf)"},
        f"exp(2*e)*E(z) >= {factor}",
        "z >= a*b",
        "E(a*b) == exp(-e/4)/2*(1/2)",
        random=dict.fromkeys(("z", "a", "b"), UNIT),
    )


EMPTY = Statement(
    "expert.empty_release", "project", "The empty release", _source("Theorem 5.3 (proof)", "expert.empty_release"),
    "An iteration may release nothing, which the proof's sum over prefixes of length at least 1 leaves out and Lemma 5.4 does not cover. The claim of Theorem 5.3 holds for every event "
    "with it: if m >= theta, then Pr(nothing|Pi) <= e^(2 eps') Pr(nothing|Pi'); if m < theta, then for every set S of releases Pr(A(Pi) in S) <= e^(2 eps') Pr(A(Pi') in S) + delta'.",
    r"m<\theta:\quad\Pr(\mathcal A(\Pi)\in S)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')\in S)+\delta'",
    (
        Obligation("many_experts", make_goal({"v": "(1, inf)", "x": "(0, 1)", "m": MANY, "c": OPEN}, f"c >= {LEAST}", "c >= x*m", f"m >= {THRESHOLD}"),
                   "m >= theta: every first action has a count of at least pmin m >= c_min", positive(("1", 0), ("x", 1)), {"v": "2", "x": "1/2", "m": "40001/10000", "c": "20002/10000"}),
        Obligation("nothing", _none("1"), "m >= theta: y, w and y1, w1 under Pi and Pi', of a first state and action",
                   expect([("exp(2*e)*y1*w1 - y*w", positive(("exp(e)*w1", 0), ("y", 1)))], positive(("1", 2))), mutation=_none("1/2")),
        Obligation("small_step", _early("1"), "m < theta and eps' <= 8/5: h the chance of top, w the weight of Lemma 5.2's integral, g = theta - count > -1",
                   have("3/2 >= exp(-(e/4)*g)", RANGE, expect([("exp(-(e/4)*g)*beta*w/2-h", positive(("1", 0)))], positive(("-exp(-(e/4)*g)*beta/2", 1), ("1", 3)))),
                   mutation=_early("1/2")),
        Obligation("large_step", _late("1"), "m < theta and eps' >= 8/5: a and b tell that V >= 0 and that U <= -1, z that nothing is released",
                   expect([("z-a*b", positive(("1", 0)))], have("exp(2*e)*(exp(-e/4)/4) >= 1", mono("e", 1, RANGE), positive(("exp(2*e)", 2), ("exp(2*e)", 1), ("1", 3)))),
                   mutation=_late("5")),
        Obligation("event", make_goal({"p": UNIT, "e": OPEN, "beta": "(0, 1)"}, "beta >= 1 - exp(2*e)*p", "p >= 1 - beta"), "S with the empty release in it: at most 1 - e^(2 eps') Pr(nothing|Pi')",
                   positive(("1", 0)), {"p": "1/2", "e": "1/100000", "beta": "1/2"}),
    ),
    ("expert.svt", "expert.lemma5_1", "expert.lemma5_2"),
    reading=("m < theta and eps' <= 8/5: the first count under Pi' is below theta + 1, so that g > -1 and the integral of Lemma 5.2 gives top with probability at most delta' (small_step)", "m >= theta: over first states and actions, expert.svt and Lemma 5.1 (nothing)", "m < theta and eps' >= 8/5: U and V are independent, so that Pr(nothing|Pi') >= Pr(V >= 0) Pr(U <= -1) = e^(-eps'/4)/4 (large_step)", NEIGHBOURS, LOGGED, ASSUMED, PREFIX, "h, w and the transform as in expert.lemma5_2, whose tail bound holds for every sign of a",
             "nothing is released exactly if the first query answers bottom; for m < theta all counts under Pi are below theta, so that all other releases together have probability below delta'",
             "the margin (4/eps') log(1/delta') is positive, so that U - V <= margin + theta - count follows from U <= -1 and V >= 0 if count < theta + 1", f"written out in {NOTE}"),
    laws=("laplace.density", "laplace.tail", "laplace.mgf"),
)  # fmt: skip

_BUDGET = {"E": OPEN, "delta": "(0, 1)", "T": MANY, "L": MANY}
THEOREM_53 = Statement(
    "expert.theorem5_3", "statement", "One iteration", _source("Theorem 5.3", "expert.theorem5_3"),
    "Under Assumptions 1 to 3 one iteration (an expert drawn uniformly, a trajectory of length L drawn from it, the stable prefix released) is (2 eps', delta_1/(2T))-DP.",
    r"\Pr(\mathcal A(\Pi)\in S)\le e^{2\varepsilon'}\Pr(\mathcal A(\Pi')\in S)+\tfrac{\delta_1}{2T}",
    (
        Obligation("length", _event("1"), "the prefixes of one length: a and b are Pr(A(Pi) = tau) and Pr(A(Pi') = tau) over Pr(E_tau|Pi), s is 1 on S",
                   expect([("s*(exp(2*e)*b+beta-a)", positive(("s", 0))), ("beta*(1-s)", positive(reflect=["s"]))], positive(("1", 1), ("1", 2))), mutation=_event("1/2")),
        Obligation("lengths", _levels("1"), "the L lengths, under the uniform law of a length, a and b being the sums over one length",
                   expect([("exp(2*e)*b+beta-a", positive(("1", 0)))], positive(("L", 1))), mutation=_levels("1/2")),
        Obligation("delta", make_goal(_BUDGET, f"L*{formula('expert.each_delta')} == delta/(2*T)"), "equation 52", IDENTITY, {"E": "1", "delta": "1/2", "T": "1", "L": "1"}),
        Obligation("whole", make_goal({"L": MANY, "beta": "(0, 1)"}, "L*beta >= beta"), "m < theta: delta' is within the budget", POSITIVE, {"L": "1", "beta": "1/2"}),
    ),
    ("expert.lemma5_4.bound", "expert.eq50", "expert.empty_release"),
    reading=(NEIGHBOURS, LOGGED, ASSUMED, "(eps, delta)-DP is Pr(A(Pi) in S) <= e^eps Pr(A(Pi') in S) + delta for every set S of releases, equivalently equation 48",
             "for a length k the law with weights Pr(E_tau|Pi) (equation 49) is the reference; prefixes that cannot occur have probability 0 under Pi",
             "if m >= theta the lengths k >= 1 spend L delta' and the empty release none; if m < theta every S is expert.empty_release"),
    not_covered="fixed data sets (expert.fixed_data); an expert set without experts as a neighbour; noise drawn in floating point",
)  # fmt: skip


def _together(power: int, first: int, second: int) -> Goal:
    """A round that costs ``first`` and a draw that costs ``second`` quarters of epsilon' (f is one quarter)."""
    return make_goal({"f": OPEN} | dict.fromkeys(("y", "w", "y1", "w1"), UNIT), f"exp({power}*f)*y1*w1 >= y*w",
                      f"exp({first}*f)*y1 >= y", f"exp({second}*f)*w1 >= w")  # fmt: skip


def _bottom(power: int, counts: int, factor: str) -> Goal:
    """Nothing is released if V >= 0 and U <= -1: the chance under Pi', ``counts`` quarters of epsilon' a step."""
    return make_goal({"f": "[2/5, inf)" if counts == 1 else "[1/4, inf)"}, f"exp({power}*f)*E(z) >= {factor}", "z >= a*b",
                      f"E(a*b) == exp(-{counts}*f)/2*(1/2)", random=dict.fromkeys(("z", "a", "b"), UNIT))  # fmt: skip


def _never(power: int) -> Node:
    return expect([("z-a*b", positive(("1", 0)))], positive((f"exp({power}*f)", 2), (f"exp({power}*f)", 1)))


_SMALL = {"u": HALF, "e": "(0, 1]"}
_EVERY = {"f": "1/10000", "y": "1", "w": "1", "y1": "1", "w1": "1"}
ITERATION = Statement(
    "expert.iteration_monotone", "project", "One iteration, with counts that are monotone", _source("Theorem 5.3", "expert.iteration_monotone"),
    "With the printed noise an iteration is (7 eps'/4, delta_1/(2T))-DP. With Lap(2/eps') on the threshold and on each count and the margin (8/(3 eps')) log(1/delta') it is (2 eps', delta_1/(2T))-DP, as printed, and releases more. "
    "Theorem 5.5 then holds for it, too.",
    r"\tfrac34\varepsilon'+\varepsilon'=\tfrac74\varepsilon'",
    (
        Obligation("round_and_draw", _together(7, 3, 4), "the printed noise: a round at 3 eps'/4 (expert.svt_monotone), Lemma 5.1 at eps', in Lemmas A.2 and A.3 and for the empty release if m >= theta",
                   positive(("exp(4*f)*w1", 0), ("y", 1)), _EVERY),
        Obligation("nothing", _bottom(7, 1, "1"), "the printed noise, m < theta and eps' >= 8/5: e^(7 eps'/4) Pr(nothing|Pi') >= 1", _never(7), mutation=_bottom(7, 1, "3")),
        Obligation("half_round_and_draw", _together(8, 4, 4), "half the noise: a round at eps'", positive(("exp(4*f)*w1", 0), ("y", 1)), _EVERY),
        Obligation("half_nothing_early", make_goal(_SMALL, "exp(-3*u-3*e/8) >= (2+4*u)*exp(-4*u)/4"), "half the noise, m < theta and eps' <= 1: t = 4 u scales of distance, delta' = exp(-3 (t + eps'/2)/4)",
                   mono("e", -1, have("exp(u-3/8) >= 1/2 + u", taylor("u", "3/8", 2), positive(("exp(-4*u)", 0)))), mutation=make_goal(_SMALL, "exp(-3*u-3*e/8) >= (5/2+5*u)*exp(-4*u)/4")),
        Obligation("half_nothing_late", _bottom(8, 2, "1"), "half the noise, m < theta and eps' >= 1: Pr(V >= 0) Pr(U <= -1) = e^(-eps'/2)/4", _never(8), mutation=_bottom(8, 2, "3")),
    ),
    ("expert.svt_monotone", "expert.monotone_margin", "expert.empty_release", "expert.theorem5_3"),
    reading=("half the noise, m < theta and eps' <= 1: counts under Pi' are below theta + 1, so that the first query answers top with a chance below the right side of half_nothing_early (expert.monotone_margin); t > 0 as delta' < 1/2", "the printed noise, m < theta and eps' <= 8/5: small_step of expert.empty_release does not depend on the factor of a round", NEIGHBOURS, LOGGED, ASSUMED, "Lemmas A.1 to A.3, equation 50, the empty release and the sums of Theorem 5.3 use of a round its epsilon and the bound delta' on tops below theta, and nothing else: with these two replaced their obligations hold "
             "word for word, but for the factor of a round and for the empty release if m < theta, which stand here",
             "f = eps'/4; top below theta + 1 if the count's noise U and the threshold's V satisfy U - V > t scales with t = (eps'/2)(margin - 1) = 4 y - eps'/2, delta' = exp(-3 y)",
             "the printed delta' = delta_1/(2TL) is below 1/2; nothing is released if V >= 0 and U <= -1, for the margin is positive and counts are below theta + 1"),
    not_covered="by how much more is released in general; noise drawn in floating point",
)  # fmt: skip

STATEMENTS = (*A_1, A_2, *A_3, *LEMMA_54, EQ_50, EMPTY, THEOREM_53, ITERATION)
