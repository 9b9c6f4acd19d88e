"""Elimination of policies in "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy".

Lemmas 7 (restated as Lemma 19), 20 and 21. Exploration is in `exploration`, the variance in
`variance`, batches and regret in `regret`. The derivations: docs/notes/sdp_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sdp_pe import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import point, positive
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

POSITIVE = "(0, inf)"
REAL = "(-inf, inf)"


def source(item: str, identity: str) -> Source:
    """The place in the paper."""
    return Source(PAPER, VERSION, item, identity)


_CLOSE = ("xi >= eb - vb", "xi >= vb - eb", "xi >= es - vs", "xi >= vs - es", "vs >= vb", "eb >= es")
_VALUES = {"xi": POSITIVE} | dict.fromkeys(("vb", "vs", "eb", "es"), REAL)
_TIE = {"xi": "1/4", "vb": "1/2", "vs": "1/2", "eb": "3/4", "es": "1/4"}
_EVENT = (
    "xi is the bound of Lemma 7 for the stage; vb, vs are the true values of the policy with the best estimate and of the optimal one, eb, es their estimates",
    "the supremum over the finite active set is the estimate of the policy with the best estimate",
)
LEMMA20 = (
    Statement(
        "sdp.lemma20", "statement", "The optimal policy is never eliminated, with the printed rule", source("Lemma 20", "sdp.lemma20"),
        "On the event of Lemma 7 the optimal policy stays active in every stage. Algorithm 1 removes every policy whose estimate is at least 2 xi below the "
        "best one. Where two policies are optimal and their estimates err by exactly xi in opposite directions, the difference is exactly 2 xi, and the one "
        "called the optimal policy is removed.",
        r"\sup_\mu\tilde V^\mu-\tilde V^{\pi^\star}<2\xi_b",
        (Obligation("printed", make_goal(_VALUES, "2*xi > eb - es", *_CLOSE), "on the event the optimal policy is strictly less than 2 xi below the best estimate",
                    point(**_TIE), mutation=make_goal(_VALUES, "2*xi >= eb - es", *_CLOSE)),),
        reading=_EVENT,
        corrected_by="sdp.lemma20.strict",
        not_covered="only ties are affected: with the printed rule a policy of optimal value still stays active (sdp.lemma20.optimal_value), which is all the regret needs",
        judgement=Judgement(Severity.SLIP, "Only ties are affected; an optimal policy still stays active."),
    ),
    Statement(
        "sdp.lemma20.strict", "project", "The optimal policy is never eliminated, with a strict rule", source("Lemma 20", "sdp.lemma20"),
        "If only policies more than 2 xi below the best estimate are removed, the optimal policy is never removed.",
        r"\sup_\mu\tilde V^\mu-\tilde V^{\pi^\star}\le2\xi_b",
        (Obligation("kept", make_goal(_VALUES, "2*xi >= eb - es", *_CLOSE), "the optimal policy is at most 2 xi below the best estimate",
                    positive(("1", 0), ("1", 3), ("1", 4)), _TIE),),
        reading=(*_EVENT, "induction over the stages: all deterministic policies are active at first, and the step holds for every stage"),
    ),
    Statement(
        "sdp.lemma20.optimal_value", "project", "The printed rule keeps an optimal policy", source("Lemma 20", "sdp.lemma20"),
        "With the printed rule some policy of optimal value stays active: if the optimal policy is removed, the policy with the best estimate is optimal too, "
        "and that one is never removed, because its distance from itself is 0 < 2 xi.",
        r"\tilde V^{\pi^b}-\tilde V^{\pi^\star}\ge2\xi_b\Rightarrow V^{\pi^b}\ge V^{\pi^\star}",
        (
            Obligation("tie", make_goal(_VALUES, "vb >= vs", *_CLOSE, "eb - es >= 2*xi"), "only a tie can remove the optimal policy",
                       positive(("1", 0), ("1", 3), ("1", 6)), _TIE),
            Obligation("self", make_goal(_VALUES, "2*xi > eb - eb"), "the policy with the best estimate is not removed",
                       mutation=make_goal(_VALUES, "2*xi > eb - eb + 1/1000")),
        ),
        reading=(*_EVENT, "induction over the stages, with 'some optimal policy is active' as what is carried along"),
    ),
)  # fmt: skip

ERROR = "C*(sqrt(X*A*H**3*iota/{L}) + X**3*A*H**5*E*iota/{L})"
_IOTA = "log(2*H*A*K/delta)"


def _xi(batch: str) -> str:
    return "(" + ERROR.replace("iota", _IOTA).format(L=batch) + ")"


_RUN = dict.fromkeys(("X", "A", "H", "K"), "[1, inf)") | {
    "delta": "(0, 1)",
    "E": POSITIVE,
    "C": POSITIVE,
    "L": "[2, inf)",
}
_GAPS = _RUN | dict.fromkeys(("v", "vs", "e", "es", "em"), REAL)
_SURVIVES = (f"2*{_xi('L')} > em - e", "em >= es", f"{_xi('L')} >= vs - es", f"{_xi('L')} >= e - v")
_LATER = {
    "X": "1", "A": "2", "H": "1", "K": "1000000000", "delta": "1/100", "E": "1", "C": "1", "L": "1048576",
    "v": "0", "e": "7/1000", "vs": "25/1000", "es": "18/1000", "em": "18/1000",
}  # fmt: skip
_LEFT = {"xi": POSITIVE} | dict.fromkeys(("v", "vs", "e", "es", "em"), REAL)
LEMMA21 = (
    Statement(
        "sdp.lemma21", "statement", "The gap of an active policy, with the printed index", source("Lemma 21", "sdp.lemma21"),
        "On the same event every policy that is active in stage b is said to be within 4 xi_b of the optimum, with L_b in xi_b. A policy active in stage b has "
        "passed the elimination of stage b-1 only, whose xi is larger by a factor between sqrt(2) and 2: its gap may lie between 4 xi_b and 4 xi_(b-1).",
        r"\pi\in\phi_b\Rightarrow V^{\pi^\star}-V^\pi\le4\xi_b",
        (Obligation("printed", make_goal(_GAPS, f"4*{_xi('(2*L)')} >= vs - v", *_SURVIVES, integers=("X", "A", "H", "K")),
                    "L is the length of stage b-1, which the policy survived, 2 L that of stage b", point(**_LATER),
                    mutation=make_goal(_GAPS, f"4*{_xi('L')} >= vs - v", *_SURVIVES, integers=("X", "A", "H", "K"))),),
        reading=(
            "active in stage b >= 2: the estimate in stage b-1 was less than 2 xi_(b-1) below the best one; estimates of stage b-1 err by at most xi_(b-1)",
            "nothing in the event of stage b bounds the true gap: estimates within xi_b of any true values exist",
        ),
        corrected_by="sdp.lemma21.survivors",
        not_covered="a slip of the index: the proof treats the policies left after stage b, and the regret uses the bound with L_(b-1); so read it is sdp.lemma21.survivors",
        judgement=Judgement(Severity.SLIP, "The index of the stage is off by one; the regret uses the right one."),
    ),
    Statement(
        "sdp.lemma21.survivors", "project", "The gap of a policy left after a stage", source("Lemma 21 (proof)", "sdp.lemma21"),
        "Every policy that the elimination of stage b leaves, by the printed rule or the strict one, is within 4 xi_b of the optimum.",
        r"\pi\in\phi_{b+1}\Rightarrow V^{\pi^\star}-V^\pi\le4\xi_b",
        (Obligation("gap", make_goal(_LEFT, "4*xi >= vs - v", "2*xi >= em - e", "em >= es", "xi >= vs - es", "xi >= e - v"),
                    "two errors of at most xi and a distance of at most 2 xi between the estimates",
                    positive(("1", 0), ("1", 1), ("1", 2), ("1", 3)), {"xi": "1/4", "v": "0", "e": "1/4", "es": "3/4", "em": "3/4", "vs": "1"}),),
        ("sdp.lemma20.optimal_value",),
        reading=("em is the best estimate in the stage, es that of an active policy of optimal value, e that of the policy at hand; the gap is not negative, since vs is the largest value",),
    ),
)  # fmt: skip

_ARM = {"K": "[1, inf)", "delta": "(0, 1)", "C": POSITIVE, "E": POSITIVE, "L": "[2, inf)", "N": "[0, inf)", "R": "[0, inf)",
        "n": POSITIVE, "q": REAL, "r": "[0, 1]"}  # fmt: skip
_COUNTS = ("n >= N", "E >= n - N", "E >= q - R", "E >= R - q", "N >= R")
_BANDIT = "C*(sqrt(2*log(4*K/delta)/L) + 2*E*log(4*K/delta)/L)"
_UNSEEN = {
    "K": "6",
    "delta": "1/200",
    "C": "1",
    "E": "1",
    "L": "2",
    "N": "0",
    "R": "0",
    "n": "1/1000",
    "q": "1",
    "r": "0",
}
_CONSTANT = {
    "K": "[1, inf)",
    "delta": "(0, 1)",
    "C": POSITIVE,
    "E": POSITIVE,
    "L": "[2, inf)",
    "g": "[0, inf)",
}
UNVISITED = (
    Statement(
        "sdp.lemma7", "statement", "The error of the value estimate", source("Lemma 7 = Lemma 19", "sdp.lemma7"),
        "With probability at least 1 - 9 delta every active policy's value is estimated within C (sqrt(XAH^3 iota/L_b) + X^3AH^5 E iota/L_b), for any privatizer that "
        "satisfies Assumption 4. The reward estimate is a quotient of noisy counts. Assumption 4 lets the denominator of a pair that was not visited be any "
        "positive number up to E and the numerator E, so the quotient, and the value of a policy that uses the pair, can be arbitrarily large.",
        r"|V^\pi(r,P)-V^\pi(\tilde r^b,\tilde P^b)|\le C(\cdot)",
        (Obligation("printed", make_goal(_ARM, f"{_BANDIT} >= q/n - r", *_COUNTS, integers=("K", "N", "R")),
                    "one state, two actions, H = 1: an action with N visits, reward sum R, private counts n and q", point(**_UNSEEN),
                    mutation=make_goal(_ARM, f"{_BANDIT} + E/n + 1 >= q/n - r", *_COUNTS, integers=("K", "N", "R"))),),
        reading=(
            "H = X = 1, A = 2: the value of a deterministic policy is the mean reward of its action, its estimate is the quotient of the private counts (eq. 3)",
            "the privatizer that returns n = N + eta and q = R + E satisfies Assumption 4 surely, for every 0 < eta <= E (with X = 1 the two kinds of counts agree)",
        ),
        rests_on=("sdp.lemma7.every_constant", "sdp.lemma7.unseen"),
        corrected_by="sdp.lemma7.repaired",
        not_covered="privatizers that add a multiple of E to every count, as the paper's does: there quotients lie in [-2, 3], and clipping to [0, 1] is enough for all of them",
        judgement=Judgement(Severity.REPAIRABLE, "It falls to an artificial privatizer whose denominators are close to 0; with reward estimates clipped to [0, 1] it holds for every one."),
    ),
    Statement(
        "sdp.lemma7.every_constant", "project", "No constant C saves the printed bound", source("Lemma 7 = Lemma 19", "sdp.lemma7"),
        "For every constant C, every K, delta, E and L there is a privatizer that satisfies Assumption 4 and whose estimate for an action without visits exceeds any given number "
        "g by more than the printed bound T: let its denominator be E/(1 + g + T).",
        r"E/\eta=1+g+T>g+T",
        (Obligation("quotient", make_goal(_CONSTANT, f"E/(E/(1 + g + {_BANDIT})) >= 1 + g + {_BANDIT}"), "the quotient of the private counts",
                    witness={"K": "6", "delta": "1/200", "C": "1", "E": "1", "L": "2", "g": "1"}),
         Obligation("allowed", make_goal(_CONSTANT, f"E >= E/(1 + g + {_BANDIT})"), "the denominator is at most E, as Assumption 4 asks",
                    mutation=make_goal(_CONSTANT, f"E >= E*2000/(1 + g + {_BANDIT})"))),
    ),
    Statement(
        "sdp.lemma7.unseen", "project", "An action stays unseen with a constant chance", source("Lemma 7 = Lemma 19", "sdp.lemma7"),
        "In the first stage (L = 2) fine exploration is four episodes. If each is the fair mixture of the two actions, a given action is unseen with "
        "probability 1/16, which is more than 9 delta for delta < 1/144; if the explorative policy is one action, the other one is unseen with probability 1/4.",
        r"2^{-4}>9\delta",
        (Obligation("chance", make_goal({"delta": "(0, 1/144)"}, "(1/2)**4 > 9*delta"), "the printed failure probability is smaller",
                    positive(reflect=("delta",)), mutation=make_goal({"delta": "(0, 1/144)"}, "(1/2)**4 > 10*delta")),),
        reading=("both actions are active in the first stage, and the auxiliary policy is the uniform mixture over them; the four episodes are independent",),
    ),
)  # fmt: skip

STATEMENTS: tuple[Statement, ...] = (*LEMMA20, *LEMMA21, *UNVISITED)
