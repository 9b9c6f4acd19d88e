"""Theorems 3.2 and 4.2 of "Differentially Private Regret Minimization in Episodic MDPs" with the printed confidence.

The printed bounds hold with probability 1 - delta where Assumption 1 alone may fail with probability delta. A two-armed bandit and a privatizer
that uses up all of delta show that this cannot be. The example stands in docs/notes/ucb_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import POSITIVE, expect, have, point, positive
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

_POS, _SIZE = "[0, inf)", "[1, inf)"
_FAIL = {"F": _POS, "K": _SIZE, "delta": "(0, 1)"}
_ORDER = "F*(sqrt(2*K) + 6)"
_PULLS = "(2*sqrt(2*log(8*K/delta)) + 8)**2"
_FEW = ("F >= 1", "k >= 12*F")
_ROOT = {"F": _SIZE, "k": _SIZE}
_BANDIT = (
    "S = H = 1, A = 2; the good action costs 0 or 1 with chance 1/2 each, the bad one 1: playing it costs 1/2 of regret",
    "the privatizer throws a coin of its own: with probability 1 - delta all counts are exact; else, before every episode but the first, the good action has N~ = C~ = M and the "
    "others 0. So Assumption 1 holds with E1 = E2 = 1 at this delta and at larger ones, and with E1 = E2 = M + K at smaller ones",
    "the printed order is then sqrt(2K) + 6 in both theorems; F stands for the hidden factor, any constant times any power of log(24K/delta): it grows slower than any power of K",
    "the chance of a run with all costs 1 is that of the same run where the good action costs 1 surely, times 2^-g for g plays of the good action: policies are functions of the actions so far",
    "the probability of failure is delta + (1 - delta) times the chance of failure with exact counts; the claims compare it with delta after delta is taken away",
)  # fmt: skip
_SEQUENCE = Obligation(
    "sequence", make_goal({"g": _POS, "K": _SIZE}, "-g*log(2) >= -K*log(2)", "K >= g"), "2^-g >= 2^-K, in logarithms", positive(("log(2)", 0)), {"g": "1", "K": "1"},
)  # fmt: skip


def _every(chance: str) -> Obligation:
    return Obligation(
        "every", make_goal(_FAIL, f"{chance} > 0"), "whatever delta and K are, the failure with exact counts adds something to delta", POSITIVE,
        mutation=make_goal(_FAIL, f"{chance} > delta"),
    )  # fmt: skip


_SOME = "(1-delta)*exp(-K*log(2))"
_PO = f"{_SOME}/2"
PRINTED_32 = Statement(
    "ucb.theorem3_2", "statement", "Regret of PRIVATE-UCB-PO", source("Theorem 3.2", "ucb.theorem3_2"),
    "For eta = sqrt(2 log A/(H^2 K)), under Assumption 1, with probability 1 - delta: R(T) = O~(sqrt(S^2AH^3T) + sqrt(S^3A^2H^4)) + O~(E2 S^2AH^2 + E1 SAH^2), E1 and E2 at the same "
    "delta. Assumption 1 may already fail with probability delta, and the learning fails with a further chance: refuted for every delta in (0, 1) and every hidden factor. With "
    "probability 1 - 4 delta, which is what the proof's events give, it is proved (ucb.theorem3_2.four_delta).",
    r"R(T)=\tilde O(\sqrt{S^2AH^3T}+\sqrt{S^3A^2H^4})+\tilde O(E_2S^2AH^2+E_1SAH^2)",
    (
        Obligation("printed", make_goal(_FAIL, f"0 >= {_PO}", f"K/4 > {_ORDER}"), "the regret is at least K/4 with a chance above delta", point(F="1", K="1000", delta="1/2"),
                   mutation=make_goal(_FAIL, f"1 >= {_PO}", f"K/4 > {_ORDER}")),
        _every(_PO), _SEQUENCE,
        Obligation("swapped", make_goal({}, "E(b) >= 1/2", "b + g >= 1", "E(b) == E(g)", random={"b": "[0, 1]", "g": "[0, 1]"}),
                   "where all costs are 1: b, g tell that the bad, respectively the good action has at least K/2 of the policies' mass",
                   expect([("b + g - 1", positive(("1", 0)))], positive(("1/2", 2), ("1/2", 1))),
                   mutation=make_goal({}, "E(b) >= 2/3", "b + g >= 1", "E(b) == E(g)", random={"b": "[0, 1]", "g": "[0, 1]"})),
        Obligation("kept", make_goal({"p": "[0, 1]", "Q": _POS, "eta": _POS}, "exp(eta*Q)*p >= 1 - p", "p >= 1 - p"), "false counts, one update: p is the bad action's share, Q >= 0 the good one's Q~; the bad one's is 0",
                   positive(("1", 0)), {"p": "1/2", "Q": "0", "eta": "1"}),
        Obligation("large", make_goal(_ROOT, "k**2/4 > F*(sqrt(2)*k + 6)", *_FEW), "K = k^2 large enough for F",
                   have("3/2 >= sqrt(2)", {"leaf": "range"}, positive(("k/4", 1), ("F*k", 2), ("3*F/2", 1))),
                   mutation=make_goal(_ROOT, "k**2/20 > F*(sqrt(2)*k + 6)", *_FEW)),
    ),
    reading=(*_BANDIT, "false counts: both shares start at 1/2 and no update lowers the bad action's (kept), by induction over the episodes, so that it has at least K/2 of the mass",
             "all costs 1 and exact counts: both actions are treated alike from the uniform start, so that the law of the run is the same after a swap of the actions, and E(b) = E(g)"),
    corrected_by="ucb.theorem3_2.four_delta",
    not_covered="the paper's own privatizers, for which Corollaries 5.2 and 5.5 are decided: their levels at delta/4 are within a factor 2 of those at delta",
    judgement=Judgement(Severity.REPAIRABLE, "Only the probability of failure is too small, by a factor of four; a privatizer made up for the purpose shows it."),
)  # fmt: skip

_Q = {"r": _SIZE, "c": _POS}
_VALUE = "1 - 2*c/{0} - 7/{0}**2"
PRINTED_42 = Statement(
    "ucb.theorem4_2", "statement", "Regret of PRIVATE-UCB-VI", source("Theorem 4.2", "ucb.theorem4_2"),
    "Under Assumption 1, with probability 1 - delta: R(T) = O~(sqrt(SAH^3T) + S^2AH^3) + O~(S^2AH^2 (E1 + E2)), E1 and E2 at the same delta. Assumption 1 may already fail with "
    "probability delta, and the learning fails with a further chance: refuted for every delta in (0, 1), every tie rule and every hidden factor. With probability 1 - 4 delta, which is "
    "what the proof's events give, it is proved (ucb.theorem4_2.four_delta).",
    r"R(T)=\tilde O(\sqrt{SAH^3T}+S^2AH^3)+\tilde O(S^2AH^2(E_1+E_2))",
    (
        Obligation("printed", make_goal(_FAIL, f"0 >= {_SOME}", f"(K - {_PULLS} - 1)/4 > {_ORDER}"), "the regret is at least a quarter of K less (2 Lc + 8)^2 + 1, with a chance above delta",
                   point(F="1", K="1000", delta="1/2"), mutation=make_goal(_FAIL, f"1 >= {_SOME}", f"(K - {_PULLS} - 1)/4 > {_ORDER}")),
        _every(_SOME), _SEQUENCE,
        Obligation("rises", make_goal(_Q | {"d": "(0, inf)"}, f"{_VALUE.format('(r+d)')} > {_VALUE.format('r')}"), "N~ = C~ = N: with r^2 = N + 1 and c = Lc the value before clipping rises with N", POSITIVE,
                   mutation=make_goal(_Q | {"d": "(0, inf)"}, f"{_VALUE.format('(r+d)')} > {_VALUE.format('r')} + 7")),
        Obligation("above", make_goal(_Q, f"{_VALUE.format('r')} > 0", "r >= 2*c + 8"), "it is above 0 for N >= (2 Lc + 8)^2, and for M as large", positive(("1/r", 0)),
                   mutation=make_goal(_Q, f"{_VALUE.format('r')} > 0", "r >= 2*c")),
        Obligation("share", make_goal({"g": _POS, "b": _POS, "m": _POS, "K": _SIZE}, "b >= (K - m - 1)/2", "g + b == K", "m + b + 1 >= g"), "g plays of the good action are at most m + b + 1, b those of the bad one",
                   positive(("1/2", 0), ("1/2", 1)), {"g": "2", "b": "1", "m": "0", "K": "3"}),
        Obligation("large", make_goal(_ROOT | {"m": _POS}, "(k**2 - m - 1)/4 > F*(sqrt(2)*k + 6)", *_FEW, "F >= m"), "K = k^2 large enough for F, m = (2 Lc + 8)^2",
                   have("3/2 >= sqrt(2)", {"leaf": "range"}, positive(("k/4", 1), ("F*k", 3), ("3*F/2", 1), ("1/4", 2))),
                   mutation=make_goal(_ROOT | {"m": _POS}, "(k**2 - m - 1)/20 > F*(sqrt(2)*k + 6)", *_FEW, "F >= m")),
    ),
    reading=(*_BANDIT, "false counts: the bad action has Q~ = 0, the good one more, so that the bad one is played from the second episode on",
             "all costs 1 and exact counts: once the good action has been played m + b + 1 times its Q~ is above 0 and above the other one's, so that the bad one is played: induction over the episodes",
             "the value is below 1, so that the cap does not matter", "F may be taken to bound m = (2 Lc + 8)^2, too, which is a power of a logarithm (large)"),
    corrected_by="ucb.theorem4_2.four_delta",
    not_covered="the paper's own privatizers, for which Corollaries 5.2 and 5.5 are decided: their levels at delta/4 are within a factor 2 of those at delta",
    judgement=Judgement(Severity.REPAIRABLE, "Only the probability of failure is too small, by a factor of four; a privatizer made up for the purpose shows it."),
)  # fmt: skip
