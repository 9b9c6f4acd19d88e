"""Privacy and regret with the paper's own privatizers: Corollaries 5.2 and 5.5 of "Differentially Private Regret Minimization in Episodic MDPs".

Sizes stand as in `regret`. Derivations are in docs/notes/ucb_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import (
    POSITIVE,
    RANGE,
    have,
    mono,
    point,
    positive,
)
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.statement import Goal, Judgement, Obligation, Severity, Statement, make_goal

_POS, _SIZE = "[0, inf)", "[1, inf)"

_EPS = {"eps": "(0, inf)"}
_BIG = dict.fromkeys(("s", "a", "k", "H"), _SIZE) | _EPS
_CENTRAL = {"L": _SIZE, "H": _SIZE, "l": _POS, "x": _POS} | _EPS
_FOURTH = have(
    "9*L**4 - 8*l**3*x >= 0",
    positive(("8*L*(L**2 + L*l + l**2)", 0), ("8*l**3", 1)),
    positive(("3*H/(eps*(3*L**2 + sqrt(8*l**3*x)))", 2)),
)


def _dropped(noise: str, times: str = "") -> tuple[Obligation, ...]:
    """The terms that a corollary leaves out: below the noise's term, the leading term, or the regret is."""
    kept = f"s**4*a**2*H**3*{noise}/eps"
    return (
        Obligation("po_leading", make_goal(_BIG, "s**2*a*H**2*k >= s**3*a**2*H**2", "k >= s*a"), "K >= SA", positive(("s**2*a*H**2", 0)), dict.fromkeys(_BIG, "1")),
        Obligation("po_trivial", make_goal(_BIG, "s**2*a*H**2*k >= k**2*H", "s*a >= k"), "K <= SA: the regret is at most KH", positive(("k*H", 0)), dict.fromkeys(_BIG, "1")),
        Obligation("vi_noise", make_goal(_BIG | {"u": _SIZE}, f"u*{kept} >= s**4*a**2*H**3", f"u*{noise} >= eps"), f"eps at most u, the noise's unit{times}", positive(("s**4*a**2*H**3/eps", 0)),
                   dict.fromkeys(_BIG, "1") | {"u": "1"}),
        Obligation("vi_leading", make_goal(_BIG, "s*a*H**2*k >= s**4*a**2*H**3", "k >= s**3*a*H"), "K >= S^3AH^2", positive(("s*a*H**2", 0)), dict.fromkeys(_BIG, "1")),
        Obligation("vi_trivial", make_goal(_BIG, "s*a*H**2*k >= k**2*H", "s*a*H >= k"), "K <= SAH^2: the regret is at most KH", positive(("k*H", 0)), dict.fromkeys(_BIG, "1")),
    )  # fmt: skip


def _noise(value: str) -> Goal:
    return make_goal(
        _BIG | {"E": _POS},
        f"2*{value}*s**4*a**2*H**2 >= E*s**4*a**2*H**2 + E*s**4*a**2*H**2",
        f"{value} >= E",
    )


_RUN_AT = "the corollary names no confidence parameter of the algorithm: it is run at delta' = delta/4, with the levels at delta'"
_L_HERE = "L here is log(6 S^2 A T/delta'), at most twice the L of the theorems"
_NOISE_AT = dict.fromkeys(_BIG, "1")
_UNDECIDED = "all of it: neither proved nor refuted at the printed scale. Tried: {}. At the scale of ucb.central_regret it is proved"
_LOCAL_LEVEL = (
    Obligation("level", make_goal({"L": _SIZE, "H": _SIZE, "k": _SIZE} | _EPS, "9*H*k*L/eps >= 3*H/eps*sqrt(8*k**2*L)"), "E1, E2 <= 9H sqrt(K) L/eps",
               have("9*k**2*L**2 - 8*k**2*L >= 0", POSITIVE, positive(("3*H/(eps*(3*k*L + sqrt(8*k**2*L)))", 0))),
               mutation=make_goal({"L": _SIZE, "H": _SIZE, "k": _SIZE} | _EPS, "8*H*k*L/eps >= 3*H/eps*sqrt(8*k**2*L)")),
    Obligation("noise", _noise("H*k"), "the noise's terms of the theorem, in units of 9 L/eps", positive(("2*s**4*a**2*H**2", 0)), _NOISE_AT | {"E": "1"}),
)  # fmt: skip
_DROPPED_LOCAL = _dropped("k", ", 9 L, times the root of K")
_ORDER_O = {"C": _SIZE, "K": _SIZE, "delta": "(0, 1/2)"} | _EPS
_WITHOUT = "C*(sqrt(2*K) + 2*sqrt(K)/eps)"
_COVERED = ("4*(3/eps*sqrt(8*K*log(12*K/delta))) >= K", "8*K >= 3*log(12*K/delta)")
_BONUS_O = {"r": _SIZE} | dict.fromkeys("cEFDNK", _POS)
COROLLARIES = (
    Statement(
        "ucb.corollary5_2", "statement", "Privacy and regret with the CENTRAL-PRIVATIZER", source("Corollary 5.2", "ucb.corollary5_2"),
        "Both algorithms with the CENTRAL-PRIVATIZER at scale 3H log K/eps are said to be eps-JDP, with regret O~(sqrt(S^2AH^3T) + S^2AH^3/eps) and "
        "O~(sqrt(SAH^3T) + S^2AH^3/eps).",
        r"\varepsilon\text{-JDP},\quad\tilde O(\sqrt{SAH^3T}+S^2AH^3/\varepsilon)",
        parts=("ucb.corollary5_2.jdp", "ucb.corollary5_2.jdp_fixed_ties", "ucb.corollary5_2.jdp_po", "ucb.corollary5_2.regret"), corrected_by="ucb.central_regret",
        judgement=Judgement(Severity.SUBSTANTIVE, "At the printed noise one of the two algorithms is not private for every tie rule, as printed; the noise of ucb.central_regret is larger. A fixed tie rule, and the other algorithm, are open."),
    ),
    Statement(
        "ucb.corollary5_2.jdp_fixed_ties", "statement", "PRIVATE-UCB-VI is eps-JDP, with ties broken by a fixed order", source("Corollary 5.2", "ucb.corollary5_2"),
        "PRIVATE-UCB-VI with noise of scale 3H log K/eps is eps-JDP if ties are broken by a rule that does not look at the counts.",
        r"\varepsilon\text{-JDP}",
        not_covered=_UNDECIDED.format("the counterexample of ucb.corollary5_2.jdp, whose tie rule looks at the counts; without such a rule the actions show less than the counts, of which the loss is known"),
    ),
    Statement(
        "ucb.corollary5_2.jdp_po", "statement", "PRIVATE-UCB-PO is eps-JDP with the CENTRAL-PRIVATIZER", source("Corollary 5.2", "ucb.corollary5_2"),
        "PRIVATE-UCB-PO with noise of scale 3H log K/eps is eps-JDP.",
        r"\varepsilon\text{-JDP}",
        not_covered=_UNDECIDED.format("post-processing, the paper's argument: the counts are not eps-DP (ucb.lemma5_1.privacy), but the actions alone may show less"),
    ),
    Statement(
        "ucb.corollary5_2.regret", "statement", "Regret with the CENTRAL-PRIVATIZER", source("Corollary 5.2", "ucb.corollary5_2"),
        "Theorems 3.2 and 4.2 (in the form of 1 - 4 delta') at the levels of Lemma 5.1. The term S^2AH^3 that the second bound leaves out is below the noise's, 9 L^2 S^2AH^3/eps, for eps <= 9 L^2.",
        r"\tilde O(\sqrt{S^2AH^3T}+S^2AH^3/\varepsilon),\quad\tilde O(\sqrt{SAH^3T}+S^2AH^3/\varepsilon)",
        (
            Obligation("level", make_goal(_CENTRAL, "9*H*L**2/eps >= 3*H/eps*sqrt(8*l**3*x)", "L >= l", "L >= x"), "E1, E2 <= 9H L^2/eps: l = log K, x the other logarithm", _FOURTH,
                       mutation=make_goal(_CENTRAL, "8*H*L**2/eps >= 3*H/eps*sqrt(8*l**3*x)", "L >= l", "L >= x")),
            Obligation("noise", _noise("H"), "the noise's terms of both theorems, in units of 9 L^2/eps", positive(("2*s**4*a**2*H**2", 0)), _NOISE_AT | {"E": "1"}),
            *_dropped("1", ", 9 L^2"),
        ),
        ("ucb.theorem3_2.four_delta", "ucb.theorem4_2.four_delta", "ucb.lemma5_1.utility.domain"),
        reading=(_RUN_AT, _L_HERE, "the regret of an episode is at most H"),
        domain="24*S^2*A*H <= delta*K^2, K >= 2 (the levels' domain at delta' = delta/4); for PRIVATE-UCB-VI also eps <= 9 L^2, or K <= SAH^2, or K >= S^3AH^2, where L = log(24*S^2*A*K*H/delta)",
        not_covered="PRIVATE-UCB-VI for eps > 9 L^2 and SAH^2 < K < S^3AH^2, where Theorem 4.2 leaves S^2AH^3; sizes where the levels of Lemma 5.1 are not proved; the algorithm run at delta itself, where the proof gives 1 - 4 delta",
    ),
    Statement(
        "ucb.corollary5_5", "statement", "Regret with the LOCAL-PRIVATIZER", source("Corollary 5.5", "ucb.corollary5_5"),
        "With the LOCAL-PRIVATIZER at scale 3H/eps, with probability 1 - delta: PRIVATE-UCB-PO has regret O~(sqrt(S^2AH^3T) + S^2A sqrt(H^5T)/eps) and PRIVATE-UCB-VI O(sqrt(SAH^3T) + S^2A sqrt(H^5T)/eps), "
        "the second printed with O for O~.",
        r"\tilde O(\sqrt{S^2AH^3T}+S^2A\sqrt{H^5T}/\varepsilon),\quad O(\sqrt{SAH^3T}+S^2A\sqrt{H^5T}/\varepsilon)",
        parts=("ucb.corollary5_5.po", "ucb.corollary5_5.vi_printed", "ucb.corollary5_5.vi"), corrected_by="ucb.corollary5_5.vi",
        not_covered="the sentence claims no level of privacy: that the LOCAL-PRIVATIZER is eps-LDP is ucb.lemma5_4.privacy, refuted",
        judgement=Judgement(Severity.SLIP, "A tilde is missing in one of two bounds; Table 1 has it."),
    ),
    Statement(
        "ucb.corollary5_5.po", "statement", "Regret of PRIVATE-UCB-PO with the LOCAL-PRIVATIZER", source("Corollary 5.5", "ucb.corollary5_5"),
        "Theorem 3.2 (in the form of 1 - 4 delta') at the levels of Lemma 5.4: O~(sqrt(S^2AH^3T) + S^2A sqrt(H^5T)/eps).",
        r"\tilde O(\sqrt{S^2AH^3T}+S^2A\sqrt{H^5T}/\varepsilon)",
        (*_LOCAL_LEVEL, *_DROPPED_LOCAL[:2]), ("ucb.theorem3_2.four_delta", "ucb.lemma5_4.utility.domain"),
        reading=(_RUN_AT, _L_HERE, "the regret of an episode is at most H"),
        domain="3*log(24*S^2*A*K*H/delta) <= 8*K (the levels' domain at delta' = delta/4)",
        not_covered="the algorithm run at delta itself, where the proof gives 1 - 4 delta",
    ),
    Statement(
        "ucb.corollary5_5.vi_printed", "statement", "Regret of PRIVATE-UCB-VI with the LOCAL-PRIVATIZER, without logarithms", source("Corollary 5.5", "ucb.corollary5_5"),
        "Read as printed, with O and no tilde, some number C gives regret at most C (sqrt(SAH^3T) + S^2A sqrt(H^5T)/eps) with probability 1 - delta, for all sizes, eps and delta. For small delta the bonus exceeds every cost in all "
        "episodes: Q~ is 0 for both actions, and a rule that breaks ties by a fixed order plays the bad one K times.",
        r"O(\sqrt{SAH^3T}+S^2A\sqrt{H^5T}/\varepsilon)",
        (
            Obligation("printed", make_goal(_ORDER_O, f"{_WITHOUT} >= K", *_COVERED, integers=("K",)), "S = H = 1, A = 2, T = K: the printed order against the regret K", point(C="1", K="100", eps="1", delta="1/4"),
                       mutation=make_goal(_ORDER_O, f"log(12*K/delta)**4*{_WITHOUT} >= K", *_COVERED, integers=("K",))),
            Obligation("zero", make_goal(_BONUS_O, "2*c/r + (5*E + F)/r**2 >= D/r**2", "N + E >= D", "K >= N", "4*E >= K"), "r^2 = max(1, N~ + E1), c = Lc, E = E1, F = E2, D = C~ of an action with N plays: the bonus is at least the estimated cost",
                       positive(("1/r**2", 0), ("1/r**2", 1), ("1/r**2", 2)), dict.fromkeys(_BONUS_O, "1") | {"c": "0", "F": "0", "E": "1", "N": "4", "K": "4", "D": "5"}),
            Obligation("every_constant", make_goal({"C": _POS, "k": _SIZE}, "k**2 > C*(sqrt(2)*k + 2*k)", "k >= 4*C + 1"), "for every C: eps = 1, K = k^2",
                       have("3/2 >= sqrt(2)", RANGE, positive(("k", 0), ("C*k", 1))), mutation=make_goal({"C": _POS, "k": _SIZE}, "k**2/4 > C*(sqrt(2)*k + 2*k)", "k >= 4*C + 1")),
            Obligation("small_delta", make_goal({"K": "[8, inf)"}, "1/2 > 12*K*exp(-K)"), "delta = 12 K exp(-K) is below 1/2", mutation=make_goal({"K": "[8, inf)"}, "1/40 > 12*K*exp(-K)")),
            Obligation("levels", make_goal({"K": "[8, inf)"}, "12*sqrt(8*K*K) >= K"), "at that delta the logarithm is K: 4 E1 >= K", mutation=make_goal({"K": "[8, inf)"}, "12*sqrt(8*K*K) >= 40*K")),
        ),
        ("ucb.lemma5_4.utility.domain",),
        reading=("one state, one step, two actions of cost 0 and 1, ties broken by a fixed order that puts the second one first ('with breaking ties arbitrarily', Algorithm 2, line 10)",
                 "on the event of Assumption 1, C~ <= C + E1 <= N + E1 and N <= K: by zero Q~ is 0 for both actions in every episode, so that the regret is K",
                 "the event has probability at least 1 - delta by ucb.lemma5_4.utility.domain, which is more than delta for delta < 1/2",
                 "O hides one number for all sizes, eps and delta, unlike O~, which hides powers of log(1/delta)"),
        corrected_by="ucb.corollary5_5.vi",
        not_covered="a number that may depend on delta",
        judgement=Judgement(Severity.SLIP, "A tilde is missing; Table 1 has it, and with it the bound is proved (ucb.corollary5_5.vi)."),
    ),
    Statement(
        "ucb.corollary5_5.vi", "statement", "Regret of PRIVATE-UCB-VI with the LOCAL-PRIVATIZER, with logarithms", source("Corollary 5.5 and Table 1", "ucb.corollary5_5"),
        "Theorem 4.2 (in the form of 1 - 4 delta') at the levels of Lemma 5.4: O~(sqrt(SAH^3T) + S^2A sqrt(H^5T)/eps), as Table 1 has it. The term S^2AH^3 that the bound leaves out is below the noise's for eps <= 9 L sqrt(K).",
        r"\tilde O(\sqrt{SAH^3T}+S^2A\sqrt{H^5T}/\varepsilon)",
        (*_LOCAL_LEVEL, *_DROPPED_LOCAL[2:]), ("ucb.theorem4_2.four_delta", "ucb.lemma5_4.utility.domain"),
        reading=(_RUN_AT, _L_HERE, "the regret of an episode is at most H"),
        domain="3*log(24*S^2*A*K*H/delta) <= 8*K (the levels' domain at delta' = delta/4), and at least one of eps <= 9 L sqrt(K), K <= SAH^2, K >= S^3AH^2, where L = log(24*S^2*A*K*H/delta)",
        not_covered="larger eps with SAH^2 < K < S^3AH^2; the algorithm run at delta itself, where the proof gives 1 - 4 delta",
    ),
)  # fmt: skip

_MENDED = {"H": _SIZE, "L": _SIZE, "B": _POS, "x": _POS} | _EPS
_EIGHT = "3 >= sqrt(8)"
_LOCAL_AT = {"k": _SIZE, "H": _SIZE, "L": _SIZE, "x": _POS} | _EPS
_LEVEL = have(
    _EIGHT,
    RANGE,
    have(
        "6*H*L >= 0",
        POSITIVE,
        positive(("(6*H-3)*B*x/eps", 2), ("3*(6*H-3)*x/eps", 0), ("9/2*(6*H-3)*L/eps", 1)),
    ),
)
_LEVEL_ROOT = have(
    "5/4*L >= sqrt(B*x)",
    have("25/16*L**2 >= B*x", positive(("x", 0), ("3/2*L", 1)), positive(("1/(5/4*L + sqrt(B*x))", 2))),
    have(
        _EIGHT,
        RANGE,
        positive(("(6*H-3)*B*sqrt(B*x)/eps", 3), ("3*(6*H-3)*B/eps", 2), ("15/4*(6*H-3)*L/eps", 0)),
    ),
)
_LOCAL_LINE = have(_EIGHT, RANGE, positive(("6*H*x/eps", 1), ("18*H/eps", 0)))
_LOCAL_ROOT = have(
    "k*L >= sqrt(k**2*x)",
    have("k**2*L**2 >= k**2*x", positive(("k**2", 0)), positive(("1/(k*L + sqrt(k**2*x))", 1))),
    have(_EIGHT, RANGE, positive(("6*H*sqrt(k**2*x)/eps", 2), ("18*H/eps", 1))),
)
MENDED = (
    Statement(
        "ucb.central_regret", "project", "Privacy and regret with the central noise that is needed", source("Corollary 5.2", "ucb.corollary5_2"),
        "With noise of scale (6H-3) ceil(log2 K)/eps and the levels of ucb.central_error, K >= 2, run at delta' = delta/4: the actions of both algorithms are eps-JDP, for every tie rule, and with "
        "probability 1 - delta the regret is O~(sqrt(S^2AH^3T) + S^2AH^3/eps) for PRIVATE-UCB-PO and O~(sqrt(SAH^3T) + S^2AH^3 + S^2AH^3/eps) for PRIVATE-UCB-VI.",
        r"\tilde O(\sqrt{S^2AH^3T}+S^2AH^3/\varepsilon),\quad\tilde O(\sqrt{SAH^3T}+S^2AH^3+S^2AH^3/\varepsilon)",
        (
            Obligation("digits", make_goal({"K": "[2, inf)"}, "3/2*log(6*K) >= 1 + log(K)/log(2)"), "B = ceil(log2 K) is at most 3L/2: L is at least log(6K)", mono("K", 1, RANGE),
                       mutation=make_goal({"K": "[2, inf)"}, "3/4*log(6*K) >= 1 + log(K)/log(2)")),
            Obligation("level_root", make_goal(_MENDED, "34*H*L**2/eps >= sqrt(8)*((6*H-3)*B/eps)*sqrt(B*x)", "3/2*L >= B", "L >= x"), "E1, E2 <= 34 H L^2/eps: b sqrt(8 B x), x the other logarithm", _LEVEL_ROOT,
                       mutation=make_goal(_MENDED, "20*H*L**2/eps >= sqrt(8)*((6*H-3)*B/eps)*sqrt(B*x)", "3/2*L >= B", "L >= x")),
            Obligation("level", make_goal(_MENDED, "34*H*L**2/eps >= sqrt(8)*((6*H-3)*B/eps)*x", "3/2*L >= B", "L >= x"), "and b sqrt(8) x", _LEVEL,
                       mutation=make_goal(_MENDED, "12*H*L**2/eps >= sqrt(8)*((6*H-3)*B/eps)*x", "3/2*L >= B", "L >= x")),
            Obligation("noise", _noise("H"), "the noise's terms of both theorems, in units of 34 L^2/eps", positive(("2*s**4*a**2*H**2", 0)), _NOISE_AT | {"E": "1"}),
            *_dropped("1")[:2],
        ),
        ("ucb.theorem3_2.four_delta", "ucb.theorem4_2.four_delta", "ucb.central_error", "ucb.central_privacy"),
        reading=(_L_HERE, "the regret of an episode is at most H", "the actions of the other users are post-processing of what ucb.central_privacy compares, for every tie rule"),
        not_covered="K = 1, where nothing is released and the regret is at most H",
    ),
    Statement(
        "ucb.local_regret", "project", "Privacy and regret with the local noise that is needed", source("Corollary 5.5", "ucb.corollary5_5"),
        "With noise of scale 6H/eps and the levels of ucb.local_error, run at delta' = delta/4: what users send is eps-LDP, and with probability 1 - delta the regret is "
        "O~(sqrt(S^2AH^3T) + S^2A sqrt(H^5T)/eps) for PRIVATE-UCB-PO and O~(sqrt(SAH^3T) + S^2AH^3 + S^2A sqrt(H^5T)/eps) for PRIVATE-UCB-VI.",
        r"\tilde O(\sqrt{S^2AH^3T}+S^2A\sqrt{H^5T}/\varepsilon),\quad\tilde O(\sqrt{SAH^3T}+S^2AH^3+S^2A\sqrt{H^5T}/\varepsilon)",
        (
            Obligation("level_root", make_goal(_LOCAL_AT, "18*H*k*L/eps >= sqrt(8)*(6*H/eps)*sqrt(k**2*x)", "L >= x"), "E1, E2 <= 18 H sqrt(K) L/eps, K = k^2: b sqrt(8 K x)", _LOCAL_ROOT,
                       mutation=make_goal(_LOCAL_AT, "16*H*k*L/eps >= sqrt(8)*(6*H/eps)*sqrt(k**2*x)", "L >= x")),
            Obligation("level", make_goal(_LOCAL_AT, "18*H*k*L/eps >= sqrt(8)*(6*H/eps)*x", "L >= x"), "and b sqrt(8) x", _LOCAL_LINE,
                       mutation=make_goal(_LOCAL_AT, "16*H*k*L/eps >= sqrt(8)*(6*H/eps)*x", "L >= x")),
            Obligation("noise", _noise("H*k"), "the noise's terms of both theorems, in units of 18 L/eps", positive(("2*s**4*a**2*H**2", 0)), _NOISE_AT | {"E": "1"}),
            *_dropped("k")[:2],
        ),
        ("ucb.theorem3_2.four_delta", "ucb.theorem4_2.four_delta", "ucb.local_error", "ucb.local_privacy"),
        reading=(_L_HERE, "the regret of an episode is at most H"),
    ),
)  # fmt: skip

STATEMENTS = (*COROLLARIES, *MENDED)
