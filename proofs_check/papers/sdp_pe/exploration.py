"""Exploration in "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy": Lemmas 8, 16, 17, 18.

Values of indicator rewards are probabilities of visits. The derivations: docs/notes/sdp_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import RANGE, enumerated, expect, have, point, positive
from dpproof.proofs_check.papers.sdp_pe.learning import source
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

POSITIVE = "(0, inf)"
NONNEGATIVE = "[0, inf)"
SIZES = dict.fromkeys(("X", "A", "H"), "[1, inf)")
_PAIR = dict.fromkeys(("p", "s", "w"), "[0, 1]") | {"X": "[1, inf)", "A": "[1, inf)"}
_BEST = dict.fromkeys(("w", "best", "crude", "crude_mu", "mu"), "[0, 1]") | {"X": "[1, inf)", "A": "[1, inf)"}
_TWO = dict.fromkeys(("N1", "N2"), NONNEGATIVE) | {"n1": POSITIVE, "n2": POSITIVE, "E": POSITIVE}
_ASSUMED = ("E >= n1 - N1", "E >= N1 - n1", "E >= n2 - N2", "E >= N2 - n2", "n1 + n2 >= N1 + N2")
_CHAIN = SIZES | {
    "E": "[1, inf)",
    "iota": "[1, inf)",
    "L": POSITIVE,
    "p": "[0, 1]",
    "w": "[0, 1]",
    "N": NONNEGATIVE,
}
_ANY = _CHAIN | {"E": POSITIVE}
_VISITS = ("N >= L*p/(24*H*X*A) - iota", "L*p/(24*H*X*A) >= 2*iota")
_RARE, _MEANT = "6*E*H**2*X*iota >= N*w/2 - iota", "6*E*H**2*X*iota + X*E >= N*w/2 - X*iota"
_HALF = have(
    "N >= L*p/(48*H*X*A)", positive(("1", 0), ("1/2", 1)), positive(("48*H*X*A*w/L", 3), ("96*H*X*A/L", 2))
)
_ONES = dict.fromkeys(("X", "A", "H", "E", "iota", "p"), "1")
_TAIL = SIZES | {"K": "[1, inf)", "delta": "(0, 1)"}
CRUDE = (
    Statement(
        "sdp.lemma16.every_action", "statement", "Every action of a reached state is explored, as printed", source("Lemma 16 (eq. 12)", "sdp.lemma16"),
        "The crude exploration policy of a layer is said to visit (x, a) with at least 1/(12XA) of the largest probability with which active policies reach x, because only "
        "deterministic policies are compared. Once policies are eliminated no active one may choose a at x: then it is not visited at all. One state, two actions, "
        "H = 1, active set {a1}: the state is reached surely, a2 never chosen.",
        r"V^{\pi_h^{cru}}(1_{h,x,a},P')\ge\tfrac1{12XA}\sup_{\phi_b}V^\pi(1_{h,x},P')",
        (Obligation("printed", make_goal(_PAIR, "w >= s/(12*X*A)", "w >= p/(12*X*A)", "p >= w", "s >= p"),
                    "w is the exploration's chance of (x, a), p the largest one among active policies, s the largest one of x",
                    point(X="1", A="2", p="0", w="0", s="1"), mutation=make_goal(_PAIR, "w >= p/(12*X*A)", "w >= p/(12*X*A)", "p >= w", "s >= p")),),
        reading=("a mixture of active policies visits (x, a) at most as often as the active policy that visits it most",),
        corrected_by="sdp.lemma16.coverage",
        not_covered="the lemma's conclusion, which needs the inequality only with (x, a) on both sides (sdp.lemma16.coverage): a deterministic policy has one action in each state, "
        "so that the sum still has X terms a layer",
        judgement=Judgement(Severity.REPAIRABLE, "No active policy may choose the action; the lemma needs less, and that holds."),
    ),
    Statement(
        "sdp.lemma16.coverage", "project", "Coverage by crude exploration", source("Lemma 16 (eq. 11 and 12)", "sdp.lemma16"),
        "The uniform mixture over the XA policies that each maximise the crude value of one pair visits every pair (x, a) with at least 1/(12XA) of the largest "
        "probability among active policies: 1/4 and 3 from Lemma 15.",
        r"V^{\pi_h^{cru}}(1_{h,x,a},P')\ge\tfrac1{12XA}\sup_{\phi_b}V^\pi(1_{h,x,a},P')",
        (Obligation("twelve", make_goal(_BEST, "w >= mu/(12*X*A)", "w >= best/(X*A)", "best >= crude/4", "crude >= crude_mu", "3*crude_mu >= mu"),
                    "w the mixture's, best and mu the chosen policy's and any other's under P', crude and crude_mu under the crude model",
                    positive(("1", 0), ("1/(X*A)", 1), ("1/(4*X*A)", 2), ("1/(12*X*A)", 3)),
                    {"X": "1", "A": "1", "w": "1/12", "best": "1/12", "crude": "1/3", "crude_mu": "1/3", "mu": "1"}),),
        ("sdp.lemma15",),
        reading=("the chosen policy maximises the crude value of its pair over the active set; the value of a mixture is the mean of its components' values, none of which is negative",),
    ),
    Statement(
        "sdp.lemma16.optimism", "statement", "Private counts of rare tuples are not below the true ones, as printed", source("Lemma 16 (eq. 16)", "sdp.lemma16"),
        "The private count of entering W from (x, a) is said to be at least the true one by the optimism of the counter. Assumption 4 has that for the sum over all "
        "next states only; a sum over the next states in W may fall short by E for each. X = 2, E = 1: counts 2 and 2 may be released as 1 and 3.",
        r"\tilde N(W|(h,x,a))\ge N(W|(h,x,a))",
        (Obligation("printed", make_goal(_TWO, "n1 >= N1", *_ASSUMED, integers=("N1", "N2")), "W holds the first of two next states",
                    point(N1="2", N2="2", n1="1", n2="3", E="1"), mutation=make_goal(_TWO, "n1 + E >= N1", *_ASSUMED, integers=("N1", "N2"))),),
        corrected_by="sdp.lemma16.shortfall",
        not_covered="the conclusion: with X E added on the left the chain goes through with 768 for 672",
        judgement=Judgement(Severity.REPAIRABLE, "A sum of released counts may fall short by E for each term; a larger constant makes up for it."),
    ),
    Statement(
        "sdp.lemma16.shortfall", "project", "Private counts of rare tuples, with the shortfall", source("Lemma 16 (eq. 16)", "sdp.lemma16"),
        "The true count of entering W from (x, a) is at most the sum of the private counts, each at most 6 E H^2 iota, plus E for each of at most X next states.",
        r"N(W|(h,x,a))\le6EH^2X\iota+XE",
        (Obligation("sum", make_goal({"X": "[1, inf)", "m": NONNEGATIVE, "e": POSITIVE, "t": POSITIVE}, "X*t + X*e >= m*E(c)", "X >= m", "n >= c - e", "t >= n",
                    random={"c": NONNEGATIVE, "n": NONNEGATIVE}),
                    "m next states in W, one of them drawn uniformly, with count c and private count n; e is E and t is 6 E H^2 iota",
                    expect([("t + e - c", positive(("1", 1), ("1", 2)))], positive(("m", 3), ("t + e", 0))),
                    mutation=make_goal({"X": "[1, inf)", "m": NONNEGATIVE, "e": POSITIVE, "t": POSITIVE}, "X*t >= m*E(c)", "X >= m", "n >= c - e", "t >= n",
                                        random={"c": NONNEGATIVE, "n": NONNEGATIVE})),),
        reading=("a sum over m next states is m times the mean over one drawn uniformly",),
    ),
    Statement(
        "sdp.lemma16.random_set", "statement", "Lemma 12 for a set that the counts determine", source("Lemma 16 (eq. 16)", "sdp.lemma16"),
        "Lemma 12 is applied to the visits of W from (x, a), although W is determined by the same counts. For small E it holds the next states that were not seen: with N visits and X "
        "equally likely next states these have probability at least 1 - N/X and count 0, so that 0 >= N P[W|(h,x,a)]/2 - iota fails surely, for N = 100 and X = 10000, say.",
        r"N(W|(h,x,a))\ge\tfrac12N(x,a)P[W|(h,x,a)]-\iota",
        (Obligation("printed", make_goal({"N": "[1, inf)", "X": "[1, inf)", "K": "[1, inf)", "delta": "(0, 1)"}, "0 >= N*(1 - N/X)/2 - log(2*K/delta)", "X >= N", "K >= N", integers=("N", "X", "K")),
                    "H = A = 1, 6 E iota < 1", point(N="100", X="10000", K="300", delta="1/100"),
                    mutation=make_goal({"N": "[1, inf)", "X": "[1, inf)", "K": "[1, inf)", "delta": "(0, 1)"}, "0 >= N*(1 - N/X)/2 - X*log(2*K/delta)", "X >= N", "K >= N", integers=("N", "X", "K"))),),
        reading=("a next state without a visit has a released count of at most E, and E <= 6 E H^2 iota: W holds it; with 6 E iota < 1 it holds no other",),
        corrected_by="sdp.lemma16.each_next_state",
        not_covered="the conclusion: Lemma 12 for each next state costs X iota for iota, which the constant 768 has room for",
        judgement=Judgement(Severity.REPAIRABLE, "The set depends on the counts; the inequality for each next state, and a larger constant, make up for it."),
    ),
    Statement(
        "sdp.lemma16.each_next_state", "project", "Lemma 12 for each next state", source("Lemma 16 (eq. 16)", "sdp.lemma16"),
        "If N(x,a,x') >= N(x,a) P(x'|x,a)/2 - iota for each next state, then N(W|(h,x,a)) >= N(x,a) P[W|(h,x,a)]/2 - X iota for every set W. The bound says something only "
        "where N P(x') > 2 iota, for at most N/(2 iota) next states, and the N of a layer add up to T/H: with the printed iota the failure probabilities add up to at most delta.",
        r"N(W)\ge\tfrac12NP[W]-X\iota",
        (
            Obligation("sum", make_goal({"X": "[1, inf)", "m": NONNEGATIVE, "N": NONNEGATIVE, "iota": NONNEGATIVE}, "m*E(c) >= N*m*E(q)/2 - X*iota", "X >= m", "c >= N*q/2 - iota", random={"c": NONNEGATIVE, "q": "[0, 1]"}),
                       "m next states in W, one drawn uniformly, with count c and probability q", expect([("c - N*q/2 + iota", positive(("1", 1)))], positive(("m", 2), ("iota", 0))),
                       mutation=make_goal({"X": "[1, inf)", "m": NONNEGATIVE, "N": NONNEGATIVE, "iota": NONNEGATIVE}, "m*E(c) >= N*m*E(q) - X*iota", "X >= m", "c >= N*q/2 - iota", random={"c": NONNEGATIVE, "q": "[0, 1]"})),
            Obligation("union", make_goal(_TAIL | {"iota": "[1/2, inf)", "T": NONNEGATIVE}, "delta >= H*(T/H/(2*iota))*(delta/(2*H*A*K))", "K >= T"), "all failures together",
                       have("K >= T/H", positive(("1/H", 0)), positive(("delta/(4*A*K*iota)", 1))), mutation=make_goal(_TAIL | {"iota": "[1/2, inf)", "T": NONNEGATIVE}, "delta/8 >= H*(T/H/(2*iota))*(delta/(2*H*A*K))", "K >= T")),
        ),
        ("sdp.lemma12", "sdp.lemma18.relevant"),
        reading=("given the number N of visits of (h,x,a) in the layer's batch the next states are independent draws: Lemma 12 at N, W = iota; conditional probabilities add up",
                 "the probabilities of the next states add up to one, so at most N/(2 iota) of them are above 2 iota/N (sdp.lemma18.relevant, pairs)"),
    ),
    Statement(
        "sdp.lemma16.rare_pair", "statement", "A pair that is rarely visited", source("Lemma 16 (eq. 14)", "sdp.lemma16"),
        "If L p/(24HXA) <= 2 iota, then p <= 48 HXA iota/L.",
        r"p\le\tfrac{48HXA\iota}{L}",
        (Obligation("low", make_goal(_ANY, "48*H*X*A*iota/L >= p", "2*iota >= L*p/(24*H*X*A)"), "solved for p", positive(("24*H*X*A/L", 0)),
                    _ONES | {"L": "48", "w": "1", "N": "1"}),),
    ),
    Statement(
        "sdp.lemma16.constant", "statement", "The constant 672", source("Lemma 16 (eq. 17)", "sdp.lemma16"),
        "From the printed inequalities (13) and (16): the chance p of the pair times the chance w of leaving it into W is at most 672 E X^2AH^3 iota/L. "
        "672 = 96 (6 + 1), where 1 <= E H^2 X is used without being said.",
        r"p\,w\le\tfrac{672EX^2AH^3\iota}{L}",
        (Obligation("chain", make_goal(_CHAIN, "672*E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _RARE), "half of the expected visits are left, twice the rare ones bound w", _HALF, mutation=make_goal(_CHAIN, "-E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _RARE)),),
        domain="E >= 1 and iota >= 1 (the paper's own E is O~(H/eps) with eps < 1; iota >= log 4 where there are two actions)",
    ),
    Statement(
        "sdp.lemma16.small_error", "statement", "The constant 672 without a lower bound on E", source("Lemma 16 (eq. 17)", "sdp.lemma16"),
        "Assumption 4 allows any E > 0. For E X H^2 < 1 the step from 6 E H^2 X iota + iota to 7 E H^2 X iota is false, and with it the constant.",
        r"6EH^2X\iota+\iota\le7EH^2X\iota",
        (Obligation("printed", make_goal(_ANY, "672*E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _RARE), "the same with any E > 0",
                    point(X="1", A="1", H="1", E="1/100", iota="1", p="1", w="1/2", L="96", N="4"),
                    mutation=make_goal(_ANY, "672*E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _RARE, "E >= 1")),),
        corrected_by="sdp.lemma16.constant",
        not_covered="nothing for the paper's own privatizer, whose E is far above 1",
        judgement=Judgement(Severity.REPAIRABLE, "The constant needs a lower bound on E, which the paper's own privatizer meets."),
    ),
    Statement(
        "sdp.lemma16.corrected_constant", "project", "The constant 768", source("Lemma 16 (eq. 17 and 18)", "sdp.lemma16"),
        "For E >= 1 and iota >= 1, with the shortfall X E of the private counts and Lemma 12 for each next state: p w <= 768 E X^2AH^3 iota/L, and also in the rarely visited case.",
        r"p\,w\le\tfrac{768EX^2AH^3\iota}{L}",
        (Obligation("chain", make_goal(_CHAIN, "768*E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _MEANT), "as for 672", _HALF, mutation=make_goal(_CHAIN, "-E*X**2*A*H**3*iota/L >= p*w", *_VISITS, _MEANT)),
         Obligation("low", make_goal(_CHAIN, "768*E*X**2*A*H**3*iota/L >= p*w", "2*iota >= L*p/(24*H*X*A)"), "rarely visited pairs, w <= 1",
                    have("p >= p*w", positive(reflect=("w",)), positive(("1", 1), ("24*H*X*A/L", 0))),
                    mutation=make_goal(_CHAIN, "768*E*X**2*A*H**3*iota/(100*L) >= p*w", "2*iota >= L*p/(24*H*X*A)"))),
    ),
)  # fmt: skip

_UNION = _TAIL | {"iota": "[1/2, inf)", "T": NONNEGATIVE}
_MANY = {"iota": POSITIVE, "L": POSITIVE, "n": "[1, inf)"}
VISITS = (
    Statement(
        "sdp.lemma18.tail", "statement", "The failure probability of one pair, as printed", source("Lemma 18 (proof)", "sdp.lemma18"),
        "Lemma 12 with W = iota = log(2HAK/delta) fails with probability exp(-iota), said to be at most delta/(HXAK). It is delta/(2HAK): X is missing in iota, "
        "and the printed value holds for X <= 2 only.",
        r"e^{-\iota}\le\frac{\delta}{HXAK}",
        (Obligation("printed", make_goal(_TAIL, "delta/(H*X*A*K) >= exp(-log(2*H*A*K/delta))", integers=("X", "A", "H", "K")), "exp(-iota)",
                    point(X="3", A="1", H="1", K="1", delta="1/2"),
                    mutation=make_goal(_TAIL, "delta/(H*X*A*K) >= exp(-log(2*H*X*A*K/delta))", integers=("X", "A", "H", "K"))),),
        corrected_by="sdp.lemma18.relevant",
        not_covered="Lemma 18 itself, which stands with the printed iota: only pairs that are visited often enough for the bound to say something count",
        judgement=Judgement(Severity.REPAIRABLE, "A factor X is missing in the union bound; pairs that are rarely visited need no bound, and the rest fits."),
    ),
    Statement(
        "sdp.lemma18.relevant", "project", "A union over the pairs that matter", source("Lemma 18 (proof)", "sdp.lemma18"),
        "The bound N >= L V/2 - iota says something only where L V > 2 iota. The probabilities V of the pairs of a layer add up to one, so there are at most L/(2 iota) such "
        "pairs; over H layers and stages of T <= K episodes in total the failure probabilities add up to at most delta, with the printed iota.",
        r"H\cdot\tfrac{T}{2\iota}\cdot\tfrac{\delta}{2HAK}\le\delta",
        (
            Obligation("pairs", make_goal(_MANY, "L/(2*iota) >= n*E(u)", "1 >= n*E(v)", "L*v >= 2*iota*u", random={"u": "[0, 1]", "v": "[0, 1]"}),
                       "one of n pairs, drawn uniformly, has probability v; u tells whether L v > 2 iota", expect([("L*v - 2*iota*u", positive(("1", 1)))],
                       positive(("L/(2*iota)", 0), ("n/(2*iota)", 2))), mutation=make_goal(_MANY, "L/(3*iota) >= n*E(u)", "1 >= n*E(v)", "L*v >= 2*iota*u", random={"u": "[0, 1]", "v": "[0, 1]"})),
            Obligation("tail", make_goal(_TAIL, "exp(-log(2*H*A*K/delta)) == delta/(2*H*A*K)"), "exp(-iota)", witness={"X": "1", "A": "1", "H": "1", "K": "1", "delta": "1/2"}),
            Obligation("union", make_goal(_UNION, "delta >= H*(T/(2*iota))*(delta/(2*H*A*K))", "K >= T"), "all failures together",
                       positive(("delta/(4*A*K*iota)", 0)), mutation=make_goal(_UNION, "delta/8 >= H*(T/(2*iota))*(delta/(2*H*A*K))", "K >= T")),
        ),
        reading=("iota = log(2HAK/delta) >= log 2 > 1/2", "given the data of earlier stages the policy of a stage is fixed; conditional probabilities of failure add up", "the sum over pairs is n times the mean over one drawn uniformly"),
    ),
    Statement(
        "sdp.lemma18", "statement", "Visits in fine exploration", source("Lemma 18", "sdp.lemma18"),
        "With probability at least 1 - 4 delta every pair has all its tuples in W or is visited at least L_b V^pi_ref(1_hxa, P')/2 - iota times.",
        r"N^{ref}_h(x,a)\ge\tfrac12L_bV^{\pi^{ref}}(1_{h,x,a},P')-\iota",
        (
            Obligation("absorbing", make_goal({"L": NONNEGATIVE, "iota": NONNEGATIVE}, "L*E(u)/2 - iota >= L*E(d)/2 - iota", "u >= d", random={"u": "[0, 1]", "d": "[0, 1]"}),
                       "u: the pair is visited, d: it is visited before any tuple of W; the chance of d is the value under P'", expect([("u - d", positive(("1", 0)))], positive(("L/2", 1))),
                       mutation=make_goal({"L": NONNEGATIVE, "iota": NONNEGATIVE}, "L*E(u)/2 - iota >= L*E(d) - iota", "u >= d", random={"u": "[0, 1]", "d": "[0, 1]"})),
            Obligation("silent", make_goal({"N": NONNEGATIVE, "L": NONNEGATIVE, "V": "[0, 1]", "iota": NONNEGATIVE}, "N >= L*V/2 - iota", "2*iota >= L*V"),
                       "pairs that do not count in the union", positive(("1/2", 0)), mutation=make_goal({"N": NONNEGATIVE, "L": NONNEGATIVE, "V": "[0, 1]", "iota": NONNEGATIVE}, "N >= L*V/2 - iota/2", "2*iota >= L*V")),
        ),
        ("sdp.lemma12", "sdp.lemma18.relevant"),
        reading=("Lemma 12 at the last episode, W = iota; more visits, by the auxiliary policy, only help", "the second alternative holds for every pair, so the first one is not needed"),
    ),
)  # fmt: skip

_SHARE = SIZES | {"L": POSITIVE, "p": "[0, 1]", "V": "[0, 1]", "iota": POSITIVE}
_FULL = SIZES | {"E": "[1, inf)", "iota": "[1, inf)", "L": POSITIVE}
_RUN = "E >= 3 and K >= B X^2, as Lemma 14 needs (sdp.lemma14.large_error); the paper's own E is at least 3"
_FAILS = dict.fromkeys(("u", "a", "b", "c"), "[0, 1]")
_SIGNED = {"g": "(-inf, inf)", "k": "(-inf, inf)", "d": "[0, 1]"}
_RETURN = {"H": "[1, inf)"}
_LAWS = {"g": NONNEGATIVE, "k": NONNEGATIVE, "d": "[0, 1]"}
BIAS = (
    Statement(
        "sdp.lemma16", "statement", "Infrequent tuples are rarely met", source("Lemma 16", "sdp.lemma16"),
        "With probability at least 1 - 7 delta, in every stage the chance that an active policy meets a tuple of W is O(E X^3AH^4 iota/L_b): at "
        "most 768 E X^3AH^4 iota/L_b. Assumption 4 holds for all releases of the run together, and iota = log(2HAK/delta).",
        r"\sup_{\phi_b}P_\pi[\mathcal B]\le\frac{768EX^3AH^4\iota}{L_b}",
        (
            Obligation("visits", make_goal(_SHARE, "(L/H)*V/2 - iota >= L*p/(24*H*X*A) - iota", "V >= p/(12*X*A)"), "eq. (13): the layer's L/H episodes, each visiting with probability V",
                       positive(("L/(2*H)", 0)), {"X": "1", "A": "1", "H": "1", "L": "48", "p": "1", "V": "1/12", "iota": "1"}),
            Obligation("layers", make_goal(_FULL, "768*E*X**3*A*H**4*iota/L == H*X*(768*E*X**2*A*H**3*iota/L)"), "H layers, in each X states with the one action that a deterministic policy has there",
                       witness=dict.fromkeys(_FULL, "1")),
            Obligation("failures", make_goal({"delta": "(0, 1)"}, "7*delta >= E(u)", "4*delta >= E(a)", "delta >= E(b)", "delta >= E(c)", "a + b + c >= u", random=_FAILS), "Lemma 14, eq. (13) and eq. (16)",
                       expect([("a + b + c - u", positive(("1", 3)))], positive(("1", 0), ("1", 1), ("1", 2), ("1", 4))),
                       mutation=make_goal({"delta": "(0, 1)"}, "5*delta >= E(u)", "4*delta >= E(a)", "delta >= E(b)", "delta >= E(c)", "a + b + c >= u", random=_FAILS)),
        ),
        ("sdp.lemma12", "sdp.lemma14.large_error", "sdp.lemma16.coverage", "sdp.lemma16.shortfall", "sdp.lemma16.each_next_state", "sdp.lemma16.corrected_constant", "sdp.lemma18.relevant"),
        reading=(
            "before the first tuple of W both models have the same transition probabilities, so the chance of meeting W first at step h is the same under both: the sum over x of "
            "V^pi(1_(h,x,a), P') P(W|h,x,a) with a = pi_h(x)",
            "V^pi(1_hxa, P') is at most p, the largest value among active policies; w is P(W|h,x,a); a chance w is at most 1",
            "iota >= 1 where 1 - 7 delta is not negative (sdp.lemma14.large_error, iota)",
        ),
        domain=_RUN,
        not_covered="the printed 672, and three printed steps that fail and are repaired (sdp.lemma16.every_action, sdp.lemma16.optimism, sdp.lemma16.random_set); L_b/H is read as a whole number (sdp.algorithm2.layer): "
        "rounded down the constant doubles. Lemma 14 itself fails for E below 3 (sdp.lemma14)",
    ),
    Statement(
        "sdp.lemma8.stopped", "project", "The bias of the absorbing model and the chance of W", source("Lemma 8", "sdp.lemma8"),
        "For every set W, every policy and every reward function with values in [0, 1]: 0 <= V(r', P) - V(r', P') <= H P[B]. With values in [-1, 1] the difference is at most H P[B] in size.",
        r"0\le V^\pi(r',P)-V^\pi(r',P')\le HP[\mathcal B]",
        (
            Obligation("below", make_goal(_RETURN, "E(g) - E(k) >= 0", "g >= k", random=_LAWS), "g the return, k what is collected until a tuple of W is met",
                       expect([("g - k", positive(("1", 0)))], positive(("1", 1))), mutation=make_goal(_RETURN, "E(g) - 2*E(k) >= 0", "g >= k", random=_LAWS)),
            Obligation("above", make_goal(_RETURN, "H*E(d) >= E(g) - E(k)", "H*d >= g - k", random=_SIGNED), "d tells whether one is met: otherwise g = k, and g - k <= H",
                       expect([("H*d - g + k", positive(("1", 0)))], positive(("1", 1))), mutation=make_goal(_RETURN, "H*E(d)/2 >= E(g) - E(k)", "H*d >= g - k", random=_SIGNED)),
            Obligation("negative", make_goal(_RETURN, "H*E(d) >= E(k) - E(g)", "H*d >= k - g", random=_SIGNED), "the other side for rewards in [-1, 1]",
                       expect([("H*d + g - k", positive(("1", 0)))], positive(("1", 1))), mutation=make_goal(_RETURN, "H*E(d)/2 >= E(k) - E(g)", "H*d >= k - g", random=_SIGNED)),
        ),
        reading=("a run of the absorbing model is a run of the true one that stops collecting when it meets a tuple of W; the absorbing state has no reward",),
        not_covered="what is printed for rewards of either sign: with r' = -1 everywhere but in the absorbing state V(r', P') is the larger value wherever W is met, so the left inequality needs r' >= 0",
    ),
    Statement(
        "sdp.lemma8", "statement", "The bias of the absorbing model", source("Lemma 8", "sdp.lemma8"),
        "With probability at least 1 - 7 delta, for every active policy and every reward function with values in [0, 1]: 0 <= V(r', P) - V(r', P') <= H P[B] = O~(E X^3AH^5/L_b).",
        r"0\le V^\pi(r',P)-V^\pi(r',P')\le O\!\left(\tfrac{EX^3AH^5\iota}{L_b}\right)",
        (
            Obligation("constant", make_goal(_FULL | {"q": "[0, 1]"}, "768*E*X**3*A*H**5*iota/L >= H*q", "768*E*X**3*A*H**4*iota/L >= q"), "with Lemma 16",
                       positive(("H", 0)), dict.fromkeys(_FULL, "1") | {"L": "768", "q": "1"}),
        ),
        ("sdp.lemma8.stopped", "sdp.lemma16"),
        reading=("a reward function has values in [0, 1], as the rewards of the paper have; with high probability means on the event of Lemma 16",),
        not_covered="reward functions with negative values, of which the paper does not speak: for them only |V(r', P) - V(r', P')| <= H P[B] (sdp.lemma8.stopped)",
    ),
    Statement(
        "sdp.lemma17", "statement", "Coverage by the explorative policy, as printed", source("Lemma 17", "sdp.lemma17"),
        "The policy that eq. (4) picks among the active deterministic policies is said to have worst-case coverage at most 12XAH. Two active policies that differ "
        "at a pair that one of them reaches have quotient V/0 there, whichever of them is picked: with one state, two actions and H = 1, as in the first stage, the "
        "coverage is infinite, not 24. Multiplied out: mu(1) pi(2) + mu(2) pi(1) <= 24 pi(1) pi(2).",
        r"\max_\mu\sum_{h,x,a}\frac{V^\mu(1_{hxa},P')}{V^{\pi^{ref}}(1_{hxa},P')}\le12XAH",
        (
            Obligation("printed", make_goal({"p": "[0, 1]", "m": "[0, 1]"}, "24*p*(1-p) >= m*(1-p) + (1-m)*p", integers=("p", "m")), "p and m tell whether pi_ref and mu choose the first action",
                       point(p="0", m="1"), mutation=make_goal({"p": "[0, 1]", "m": "[0, 1]"}, "24*p*(1-p) + 1 >= m*(1-p) + (1-m)*p", integers=("p", "m"))),
            Obligation("either", make_goal({"p": "[0, 1]"}, "(1-p)*(1-p) + p*p > 24*p*(1-p)", integers=("p",)), "for either choice the other action is the witness: 1 against 0",
                       enumerated("p", RANGE), mutation=make_goal({"p": "[0, 1]"}, "(1-p)*(1-p) + p*p > 24*p*(1-p) + 1", integers=("p",))),
        ),
        reading=("in the first stage all deterministic policies are active; with H = 1 a policy's value of the indicator of (x, a) is 1 if it chooses a at the only state and 0 otherwise",),
        corrected_by="sdp.lemma17.mixture",
        not_covered="a mixture of active policies, of which Lemma 13 speaks: for it the bound holds (sdp.lemma17.mixture)",
        judgement=Judgement(Severity.REPAIRABLE, "It holds for a mixture of active policies, of which the quoted lemma speaks, and not for the single policy that eq. (4) picks."),
    ),
    Statement(
        "sdp.lemma17.mixture", "project", "Coverage by an explorative mixture", source("Lemma 17", "sdp.lemma17"),
        "Let pi_ref be a mixture of active policies whose value in eq. (4) is at most 1 + eta times the infimum over such mixtures, for any eta >= 0. Then on the event of Lemma 14 the coverage is at most "
        "12 (1 + eta) XAH; pairs that no active policy reaches are left out. For every eta > 0 there is such a mixture; a minimiser is one for eta = 0.",
        r"\max_\mu\sum_{h,x,a}\frac{V^\mu(1_{hxa},P')}{V^{\pi^{ref}}(1_{hxa},P')}\le12(1+\eta)XAH",
        (
            Obligation("quotient", make_goal(dict.fromkeys(("a", "crude_a"), "[0, 1]") | {"b": "(0, 1]", "crude_b": "(0, 1]"}, "12*crude_a/crude_b >= a/b", "3*crude_a >= a", "b >= crude_b/4"),
                       "a and b are the values of mu and of the mixture, with those under the crude model: 12 times the crude quotient", positive(("1/b", 0), ("12*crude_a/(b*crude_b)", 1)),
                       {"a": "1", "crude_a": "1/3", "b": "1/4", "crude_b": "1"}),
            Obligation("sum", make_goal(SIZES | dict.fromkeys(("q", "s", "i", "eta"), NONNEGATIVE), "12*(1 + eta)*X*A*H >= q", "12*s >= q", "(1 + eta)*i >= s", "X*A*H >= i"),
                       "summed over the pairs: q the coverage, s the crude one, i the infimum, which is at most XAH by sdp.lemma13.closed with d = XA and m = H",
                       positive(("1", 0), ("12", 1), ("12*(1 + eta)", 2)), dict.fromkeys(SIZES, "1") | {"q": "12", "s": "1", "i": "1", "eta": "0"}),
        ),
        ("sdp.lemma13.closed", "sdp.lemma14.large_error", "sdp.lemma15"),
        reading=("the bounds 1/4 and 3 hold for the value of a mixture, a mean of values", "for fixed h a policy's crude values of the XA indicators add up to at most one; what is missing has left. That they add up to one is used nowhere in sdp.lemma13.closed",
                 "the values of eq. (4) are nonnegative and finite for some mixture, so that they have an infimum over mixtures; it is positive unless no pair is reached, so that 1 + eta times it is above it"),
    ),
)  # fmt: skip

STATEMENTS: tuple[Statement, ...] = (*CRUDE, *VISITS, *BIAS)
