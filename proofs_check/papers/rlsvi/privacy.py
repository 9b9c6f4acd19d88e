"""The statements of "Randomized Least Squares Value Iteration itself is Joint Differentially Private".

arXiv:2606.01952v1. Neighbours (Remark 2): the rewards of one trajectory differ, its states and actions do
not. Whole numbers (S, A, H, K, k, N) are relaxed to real numbers at least 1; that only strengthens a proof.
Section 2 is in preliminaries.py.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import IDENTITY, positive
from dpproof.proofs_check.papers.rlsvi import preliminaries as rlsvi_preliminaries
from dpproof.proofs_check.papers.rlsvi.preliminaries import DELTA, NEIGHBOURS, ORDER, REAL, at, source
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, formula, make_goal

__all__ = ["BETA", "CELL", "NEIGHBOURS", "PAST", "POST_PROCESSING", "RUN", "STATEMENTS", "at"]

SIZES = dict.fromkeys(("S", "A", "H"), "[1, inf)")
RUN = SIZES | {"K": "[1, inf)"}
LOG_DELTA = {"subst": {"delta": ["exp", "l"]}, "vars": {"l": "(-inf, 0)"}}
POST_PROCESSING = (
    "policies and later trajectories are drawn from the released tables by a law that does not depend on what neighbours "
    "change: between two tables the ratio of the densities stays what it is"
)
PAST = (
    "the states and actions of all users are released with the tables; by Remark 2 they are the same for both neighbours, so that given the "
    "past only the changed user's rewards differ, which are fixed numbers for each neighbour; other users' rewards have one law"
)

REMARK10 = Statement(
    "rlsvi.remark10", "statement", "RLSVI as planning in a perturbed empirical model",
    source("Remark 10", "rlsvi.remark10"),
    "Drawing all the noise of an episode first, adding it to the empirical rewards and solving the model by backward "
    "induction gives the same Q tables: at each step the two updates are the same sum.",
    r"(\hat R+\langle\hat P,V\rangle)+w=(\hat R+w)+\langle\hat P,V\rangle",
    (
        Obligation(
            "update", make_goal(dict.fromkeys(("R", "PV", "w"), REAL), "(R + PV) + w == (R + w) + PV"),
            "one backward step", witness=at(("R", "PV", "w")),
        ),
    ),
    reading=(
        "induction over h from H+1 down to 1; the noise variances depend on the counts only, so the joint law of "
        "the noise is the same drawn first or step by step",
        "equal tables have equal maxima, which the next step back uses; the certificate is one line of arithmetic, a sum in another order",
    ),
    not_covered="cells never visited have rows of zeros in the empirical kernel, so the tuple is not an MDP of Section 2.1 "
    "there; 'solve' then means the same backward recursion",
)  # fmt: skip

_MEANS = {"T": REAL, "r": "[0, 1]", "s": "[0, 1]", "PV": REAL, "N": "[1, inf)"}
EQ2 = Statement(
    "rlsvi.eq2", "statement", "Sensitivity of one cell for a fixed next table", source("Equation 2", "rlsvi.eq2"),
    "Neighbours change one reward, in [0, 1], of a cell with N >= 1 visits, and with the next table fixed nothing else: the "
    "cell's mean moves by at most 1/N. T: the other rewards.",
    r"|\hat R-\hat R'|\le 1/N",
    tuple(
        Obligation(name, make_goal(_MEANS, f"1/N >= (({a})/N + PV) - (({b})/N + PV)"), "one direction",
                   {"leaf": "positive", "reflect": [top]}, at(_MEANS, **{low: "0"}))
        for name, a, b, top, low in (("up", "T + r", "T + s", "r", "s"), ("down", "T + s", "T + r", "s", "r"))
    ),
    reading=(
        "a trajectory meets a cell of step h at most once, so that neighbours change at most one reward of a cell",
        "counts, empirical kernel and the given next table are the same for both neighbours (Remark 2)",
    ),
    not_covered="cells with N = 0 hold no data; the text writes V_h for the next step's V_{h+1}",
)  # fmt: skip

BETA = formula("rlsvi.algorithm1")
CELL = ORDER | SIZES | {"k": "[1, inf)", "N": "[1, inf)"}
_NEXT = "2*alpha/(S*H**3*log(2*H*S*A*k))"
_LAST = "2*alpha/(S*H**3*log(2*H*S*A))"
_MID = f"alpha/({BETA}*N)"
_D = CELL | {"d": REAL}
LEMMA11 = (
    Statement(
        "rlsvi.lemma11", "statement", "One step of one episode", source("Lemma 11", "rlsvi.lemma11"),
        f"{NEIGHBOURS}For every alpha > 1, episode k and step h, given the next table, the release of the S*A perturbed values is "
        "(alpha, 2 alpha A/(H^3 log(2HSA)))-RDP with respect to the observed rewards.",
        r"\frac{\alpha(N+1)}{2\beta_kN^2}\le\frac{\alpha}{\beta_kN}\le\frac{2\alpha}{SH^3\log(2HSAk)}"
        r"\le\frac{2\alpha}{SH^3\log(2HSA)}",
        (
            Obligation(
                "cell",
                make_goal(_D, f"{formula('rlsvi.lemma11.cell')} >= alpha*d**2/(2*({BETA}/(N+1)))", "1/N >= d", "d >= -1/N"),
                "the Gaussian divergence of a cell whose mean moves by d",
                {"leaf": "positive", "multipliers": [[["/", ["*", "alpha", ["+", "N", "1"]],
                 ["*", "S", ["^", "H", "3"], ["log", ["*", "2", "H", "S", "A", "k"]]]], 0, 1]]},
                at(_D),
            ),
            Obligation("printed_form", make_goal(CELL, f"{formula('rlsvi.lemma11.cell')} == alpha*(N+1)/(2*{BETA}*N**2)"),
                       "the recorded formula is the printed one", witness=at(CELL)),
            Obligation("first", make_goal(CELL, f"{_MID} >= {formula('rlsvi.lemma11.cell')}"), "(N+1)/N <= 2", witness=at(CELL)),
            Obligation("second", make_goal(CELL, f"{_NEXT} >= {_MID}"), "N >= 1 and the value of beta_k", witness=at(CELL)),
            Obligation("third", make_goal(CELL, f"{_LAST} >= {_NEXT}"), "k >= 1", witness=at(CELL)),
            Obligation("cells", make_goal(CELL, f"S*A*{_LAST} == {formula('rlsvi.lemma11')}"), "S*A cells", witness=at(CELL)),
        ),
        ("rlsvi.lemma6.bound", "rlsvi.lemma7.densities", "rlsvi.eq2"),
        reading=("given the history and the next table the S*A perturbed values are independent Gaussians of variance beta_k/(N+1), the same for both neighbours, with "
                 "means at most 1/N apart (rlsvi.eq2): S*A mechanisms, composed by rlsvi.lemma7.densities",
                 "a cell with N = 0 visits has mean 0 and variance beta_k for both neighbours: it costs nothing"),
        not_covered="the proof prints the cell's divergence as an equality; it is an upper bound (rlsvi.lemma11.equality). "
        "Cells with N = 0: the printed formula divides by zero there",
    ),
    Statement(
        "rlsvi.lemma11.equality", "statement", "The cell's divergence, printed as an equality",
        source("Lemma 11 (proof)", "rlsvi.lemma11"),
        f"{NEIGHBOURS}For all neighbouring histories of episode k >= 2, with 1 <= N <= k - 1 visits, the divergence of a cell is said to "
        "equal alpha (N+1)/(2 beta_k N^2). It is at most that, with equality only if the reward moves by one.",
        r"D_\alpha=\frac{\alpha(N+1)}{2\beta_kN^2}",
        (
            Obligation(
                "printed",
                make_goal(_D, f"{formula('rlsvi.lemma11.cell')} == alpha*d**2/(2*({BETA}/(N+1)))", "1/N >= d", "d >= -1/N",
                           "k - 1 >= N", integers=("S", "A", "H", "k", "N")),
                "equality for every change of the mean",
                {"point": at(_D, k="2", d="1/2")},
                mutation=make_goal(_D, f"{formula('rlsvi.lemma11.cell')} >= alpha*d**2/(2*({BETA}/(N+1)))", "1/N >= d",
                                    "d >= -1/N", "k - 1 >= N", integers=("S", "A", "H", "k", "N")),
            ),
        ),
        corrected_by="rlsvi.lemma11",
        not_covered="the lemma does not need the equality",
        judgement=Judgement(Severity.SLIP, "The proof prints = where it needs <= only; the lemma holds."),
    ),
)  # fmt: skip

_ACTIONS = (
    "it bounds what the released tables reveal; the actions alone may reveal less. Cells with N = 0 hold no data and "
    "release pure noise"
)
_COMPOSED = {"n": "[0, inf)", "c": "[0, inf)", "D": "[0, inf)", "F": "[0, inf)"}
EPISODES = (
    Statement(
        "rlsvi.lemma12", "statement", "All policies", source("Lemma 12", "rlsvi.lemma12"),
        f"{NEIGHBOURS}For every alpha > 1 the release of the policies of all K episodes is (alpha, 2 alpha A K/(H^2 log(2HSA)))-RDP with respect to the observed rewards: "
        "H steps composed within an episode, K episodes composed, and the policies are computed from the tables.",
        r"\frac{2\alpha AK}{H^2\log(2HSA)}",
        (Obligation("one_more", make_goal(_COMPOSED, "(n+1)*c >= F", "n*c >= D", "D + c >= F"),
                    "D: the divergence of n composed mechanisms of at most c each, F: that of n + 1 (rlsvi.lemma7.densities)",
                    positive(("1", 0), ("1", 1)), {"n": "1", "c": "1", "D": "1", "F": "2"}),
         Obligation("steps", make_goal(ORDER | RUN, f"K*(H*{formula('rlsvi.lemma11')}) == {formula('rlsvi.lemma12')}"),
                    "H*K compositions of Lemma 11's cost", witness=at([*ORDER, *RUN]))),
        ("rlsvi.lemma7.densities", "rlsvi.lemma11", "classic.post_processing_renyi"),
        reading=(f"{POST_PROCESSING}, a step of divergence 0 in rlsvi.lemma7.densities", PAST,
                 "joint densities: the tables' with respect to Lebesgue measure, states and actions have finitely many values, rewards have one law for each state and action; "
                 "the divergence of no mechanism is 0, and induction over the H*K tables",
                 "the policies of all episodes are one function of the tables with finitely many values: classic.post_processing_renyi; neighbours in both orders"),
        not_covered=_ACTIONS,
    ),
    Statement(
        "rlsvi.theorem13", "statement", "RLSVI is jointly private at every order", source("Theorem 13", "rlsvi.theorem13"),
        f"{NEIGHBOURS}For every alpha > 1 and delta in (0, 1), RLSVI (Algorithm 1) is (2 alpha A K/(H^2 log(2HSA)) + log(1/delta)/(alpha-1), delta)-JDP.",
        r"\varepsilon(\alpha,\delta)=\frac{2\alpha AK}{H^2\log(2HSA)}+\frac{\log(1/\delta)}{\alpha-1}",
        (Obligation("conversion",
                    make_goal(ORDER | RUN | DELTA,
                               f"{formula('rlsvi.lemma12')} + log(1/delta)/(alpha-1) == {formula('rlsvi.theorem13')}"),
                    "Lemma 8 at the divergence of Lemma 12", witness=at([*ORDER, *RUN, *DELTA])),),
        ("rlsvi.lemma8", "rlsvi.lemma9", "rlsvi.lemma12"),
        reading=("rlsvi.lemma12 and rlsvi.lemma8 make the release of all policies (eps, delta)-DP; the certificate is one line of arithmetic, the content is in these",
                 "what a user is told is a function of the episode's policy and of the user's own states: the policy is deterministic, and the user's data reach other users "
                 "through later policies only. So the actions are the f_i of rlsvi.lemma9, with all policies as the released value"),
        not_covered=_ACTIONS,
    ),
)  # fmt: skip

_STAR = formula("rlsvi.corollary14.order")
_AT_STAR = formula("rlsvi.theorem13", alpha=_STAR)
_C, _A1 = (
    ["/", ["*", "2", "A", "K"], ["*", ["^", "H", "2"], ["log", ["*", "2", "H", "S", "A"]]]],
    ["-", "alpha", "1"],
)
_SQUARE = ["-", ["*", _C, _A1], ["sqrt", ["*", _C, ["neg", "l"]]]]
_MINIMUM = {"leaf": "sos", "terms": [["1", _SQUARE]], "over": ["*", _C, _A1]}
COROLLARY14 = Statement(
    "rlsvi.corollary14", "statement", "The best order", source("Corollary 14", "rlsvi.corollary14"),
    f"{NEIGHBOURS}For every delta in (0, 1), RLSVI (Algorithm 1) is (epsilon(delta), delta)-JDP with the printed epsilon(delta): it is Theorem 13's at the printed order, which is "
    "above 1, and no order gives less.",
    r"\varepsilon(\delta)=\frac{2AK}{H^2\log(2HSA)}+2\sqrt{\frac{2AK\log(1/\delta)}{H^2\log(2HSA)}}",
    (
        Obligation("value", make_goal(RUN | DELTA, f"{_AT_STAR} == {formula('rlsvi.corollary14')}"), "at the printed order",
                   LOG_DELTA | {"sub": IDENTITY}, at([*RUN, *DELTA])),
        Obligation("minimum", make_goal(ORDER | RUN | DELTA, f"{formula('rlsvi.theorem13')} >= {formula('rlsvi.corollary14')}"),
                   "a square: (c a - sqrt(c l))^2 / (c a)", LOG_DELTA | {"sub": _MINIMUM},
                   at([*ORDER, *RUN, *DELTA], alpha="149/100")),
        Obligation("order", make_goal(RUN | DELTA, f"{_STAR} > 1"), "the printed order is admissible",
                   LOG_DELTA | {"sub": {"leaf": "positive"}}, at([*RUN, *DELTA], delta="99999999/100000000")),
    ),
    ("rlsvi.theorem13",),
    reading=("the printed proof sets the derivative in alpha, which increases, to zero; here a square shows the minimum, and the derivative is not needed",),
    not_covered=f"better conversions than Lemma 8; {_ACTIONS}",
)  # fmt: skip

STATEMENTS = (
    *rlsvi_preliminaries.STATEMENTS, REMARK10, EQ2, *LEMMA11, *EPISODES, COROLLARY14,
)  # fmt: skip
