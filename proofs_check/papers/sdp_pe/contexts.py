"""One explorative policy in "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy".

Lemma 9 with eq. (4) as printed: many contexts, of which one policy leaves the second action almost unseen. The derivation:
docs/notes/sdp_learning.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import RANGE, bernstein, expect, have, mono, point, positive, sos
from dpproof.proofs_check.papers.sdp_pe.learning import source
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

OPEN, HALF, ONE = "(0, inf)", "[0, inf)", "[1, inf)"
_IOTA = "log(8*K/delta)"
_MANY = {"n": "[100, inf)", "C": OPEN, "E": "[3, inf)", "L": OPEN, "K": ONE, "delta": "(0, 1/200)"}
_LONG = ("L >= n**3", "K >= 6*L", f"L >= 8*n*(n + 2)*((48*E + 2)*{_IOTA} + E)")
_PRINTED = f"C*(sqrt((n + 2)*2*2**3*{_IOTA}/L) + (n + 2)**2*2*2**2*E*{_IOTA}/L)"
_BAD = {"f": "[0, 1]", "u": "[0, 1]"}
_SUM = {"S": "(-inf, inf)", "e": "[-1, 1]"}
_APART = [["S"], ["e"]]
_SIGN = ("E(e) == 0", "E(e**2) == 1", "E(e**3) == 0", "E(e**4) == 1")
_SPREAD = {"s": "(-inf, inf)", "w": "[0, 1]"}
_FAR = ("E(s**2) == N", "3*N**2 >= E(s**4)", "N/4 + w*s**2 >= s**2", "E(w*s**2) >= 0")
_ZYGMUND = have(
    "2*(w*N - s**2/4)**2 >= 0",
    sos(("2", "w*N - s**2/4")),
    have("w >= w**2", bernstein("w", 2), positive(("1", 4), ("2*N**2", 5))),
)
_SEEN = {"E": "[3, inf)", "i": ONE, "m": HALF}
_NUMBER = {"N": HALF, "u": "[0, 1]"}
_RANGES = dict.fromkeys(("g", "k", "u", "t"), "[0, 1]")
_MIRROR = dict.fromkeys(("g", "h", "w"), "[0, 1]")
_GROWN = {"m": ONE, "q": ONE, "E": "[3, inf)", "B": HALF}
_FAR_OUT = ("q*m**3 >= B", "m >= 4001*(8 + 72*E)*q")
SINGLE = (
    Statement(
        "sdp.lemma9.single", "statement", "The variance with one explorative policy", source("Lemma 9 with Algorithm 3, eq. 4", "sdp.lemma9"),
        "With eq. (4) as printed, for every E >= 3. A = H = 2, n contexts drawn uniformly at step 1, each action leads to b or c with chance 1/2 each, rewards zero; the privatizer adds E/(2X) to exact counts. "
        "All policies stay active, eq. (4) is infinite for each, and pi_ref may be the policy that always takes action 1; the policies that explore other pairs may take action 1 in x. Then (x, 2) is "
        "visited at most 25 L/(n(n+2)) times in fine exploration, all tuples are outside W, and with probability at least 1/20 - delta/2 > 9 delta the value of the reward of b is off by n/(4000 sqrt(L)) for some "
        "policy. The printed bound is of order sqrt(n iota/L) + n^2 E iota/L.",
        r"C\Bigl(\sqrt{\tfrac{XAH^3\iota}{L}}+\tfrac{X^2AH^2E\iota}{L}\Bigr)\ge\tfrac{n}{4000\sqrt L}",
        (
            Obligation("printed", make_goal(_MANY, f"{_PRINTED} >= n/(4000*sqrt(L))", *_LONG, integers=("n", "K")), "X = n + 2, A = H = 2; L = 2^240 and K = 6 L",
                       point(n=str(10**11), C="1", E="10000", L=str(2**240), K=str(6 * 2**240), delta="1/1000"),
                       mutation=make_goal(_MANY, f"{_PRINTED} + 1 >= n/(4000*sqrt(L))", *_LONG, integers=("n", "K"))),
            Obligation("outside", make_goal(_SEEN, "m/2 - i > 24*E*i", "m >= (48*E + 2)*i + E"), "crude exploration: a tuple's count has mean m >= L/(8n(n+2)); by Lemma 12 at W = iota = i it is above C_1 E H^2 iota", positive(("1/2", 0)),
                       mutation=make_goal(_SEEN, "m/2 - i > 24*E*i", "m >= i + E")),
            Obligation("all_outside", make_goal({"n": ONE, "K": ONE, "delta": "(0, 1)"}, "delta/2 >= 4*n*(delta/(8*K))", "K >= n"), "4n tuples, each with chance e^-iota", positive(("delta/(2*K)", 0)), {"n": "1", "K": "1", "delta": "1/2"}),
            Obligation("enough", make_goal(_SEEN, "m/2 - 4 >= E", "m >= 2*((48*E + 2)*i + E)"), "fine exploration: the visits of (x, 2) have mean m >= L/(4n(n+2)); by Lemma 12 at W = 4 there are at least E", positive(("1/2", 0)),
                       mutation=make_goal(_SEEN, "m/2 - 4 >= E", "m >= i + E")),
            Obligation("few", make_goal({"y": "(-inf, -4]"}, "1/50 >= exp(y)"), "but for chance e^-4", mono("y", -1, RANGE), mutation=make_goal({"y": "(-inf, -4]"}, "1/60 >= exp(y)")),
            Obligation("many", make_goal({"M": OPEN}, "1/20 >= E(u)", "M >= E(N)", "N >= 20*M*u", random=_NUMBER), "their mean is at most M = 5L/(4n(n+2)); u: there are more than 20 M", expect([("N - 20*M*u", positive(("1", 1)))], positive(("1/(20*M)", 0), ("1/(20*M)", 2))),
                       mutation=make_goal({"M": OPEN}, "1/21 >= E(u)", "M >= E(N)", "N >= 20*M*u", random=_NUMBER)),
            Obligation("second", make_goal({"n": HALF}, "n + 1 >= E((S + e)**2)", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART), "k visits of N lead to b: 2k - N is a sum of N fair signs, of second moment N; one sign more",
                       expect([], positive(("-1", 0), ("-2*E_S", 1), ("-1", 2))), mutation=make_goal({"n": HALF}, "n >= E((S + e)**2)", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART)),
            Obligation("second_below", make_goal({"n": HALF}, "E((S + e)**2) >= n + 1", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART), "and no less",
                       expect([], positive(("1", 0), ("2*E_S", 1), ("1", 2))), mutation=make_goal({"n": HALF}, "E((S + e)**2) >= n + 2", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART)),
            Obligation("fourth", make_goal({"n": HALF}, "3*(n + 1)**2 >= E((S + e)**4)", "3*n**2 >= E(S**4)", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART), "and of fourth moment at most 3 N^2",
                       expect([], positive(("1", 0), ("-6", 1), ("-4*E_S3", 2), ("-6*E_S2", 3), ("-4*E_S", 4), ("-1", 5))),
                       mutation=make_goal({"n": HALF}, "3*(n + 1)**2 - 3 >= E((S + e)**4)", "3*n**2 >= E(S**4)", "E(S**2) == n", *_SIGN, random=_SUM, independent=_APART)),
            Obligation("spread", make_goal({"N": ONE}, "E(w) >= 3/16", *_FAR, random=_SPREAD), "w: |2k - N| >= sqrt(N)/2", expect([("s**4/8 + 2*w*N**2 - w*s**2*N", _ZYGMUND), ("N/4 + w*s**2 - s**2", positive(("1", 2)))],
                       positive(("1/(2*N**2)", 4), ("1/(2*N)", 5), ("1/(16*N**2)", 1), ("1/(2*N)", 0))), mutation=make_goal({"N": ONE}, "E(w) >= 1/5", *_FAR, random=_SPREAD)),
            Obligation("gap", make_goal({"r": OPEN, "E": OPEN}, "r/(2*(r**2 + E)) >= 1/(4*r)", "r**2 >= E"), "then |P~(b) - P~(c)| = |2k - N|/N~ is at least 1/(4r), r^2 = N >= E", positive(("1/(4*r*(r**2 + E))", 0)), {"r": "1", "E": "1"}),
            Obligation("mirror", make_goal({}, "E(g) >= E(w)/2", "g + h >= w", "E(g) == E(h)", random=_MIRROR), "g: P~(b) is at least 1/(8r) from v = P~(b|x,1), h: P~(c) is",
                       expect([("g + h - w", positive(("1", 0)))], positive(("1/2", 2), ("1/2", 1))), mutation=make_goal({}, "E(g) >= E(w)", "g + h >= w", "E(g) == E(h)", random=_MIRROR)),
            Obligation("chance", make_goal({}, "E(g) >= 87/1000", "E(g) >= 3/32*E(k)", "k + u + t >= 1", "1/20 >= E(u)", "1/50 >= E(t)", random=_RANGES), "k: the number of visits lies between E and 20 M", expect([("k + u + t - 1", positive(("1", 1)))],
                       positive(("1", 0), ("3/32", 4), ("3/32", 2), ("3/32", 3))), mutation=make_goal({}, "E(g) >= 1/10", "E(g) >= 3/32*E(k)", "k + u + t >= 1", "1/20 >= E(u)", "1/50 >= E(t)", random=_RANGES)),
            Obligation("often", make_goal({}, "E(u) >= 1/20", "E(f) >= 87/1000", "1/50 + u >= f", random=_BAD), "f: the share of such contexts, u: it is more than 1/50", expect([("1/50 + u - f", positive(("1", 1)))], positive(("1", 0), ("1", 2))),
                       mutation=make_goal({}, "E(u) >= 1/14", "E(f) >= 87/1000", "1/50 + u >= f", random=_BAD)),
            Obligation("error", make_goal({"f": "[1/50, 1]", "z": OPEN, "n": OPEN, "y": OPEN}, "(f/2)*(1/(8*(5*z/y))) >= n/(4000*z)", "y >= n"), "z = sqrt(L), y = sqrt(n(n+2)), r <= 5 z/y; half of the mean of |P~(b|x,2) - P~(b|x,1)| over the contexts", positive(("f/(80*z)", 0)),
                       {"f": "1/50", "z": "1", "n": "1", "y": "1"}),
            Obligation("left", make_goal({"delta": "(0, 1/200)"}, "1/20 - delta/2 > 9*delta"), "with both events", positive(reflect=["delta"]), mutation=make_goal({"delta": "(0, 1/200)"}, "1/20 - delta/2 > 10*delta")),
        ),
        reading=(
            "k and N - k have the same law, so that E g = E h (mirror)", "states: the contexts, b and c, X = n + 2. The privatizer releases N + E/2, counts with E/(2X) more and exact reward sums, all zero: estimated values are zero, and no policy is eliminated in any stage; L is a power of two and K >= 6 L reaches its stage",
            "contexts as next states have no visits and are in W; the tuples of b and c are outside W once their crude counts exceed 24 E iota, and there P' = P = 1/2",
            "the first layer's mixture has 2X policies, at least one of which takes action 2 in x and all but one action 1; ties are broken so that of the 4X policies of pi_0 only those for (1, x, 2) and for the four pairs of b and c at step 2 take action 2 in x: "
            "the chance of (x, 2) is between 1/(4nX) and 5/(4nX). Policies for pairs that cannot be reached are ties too",
            "given the crude data and the visits of fine exploration its next states are independent fair draws; v = P~(b|x,1) is independent of those of (x, 2), and |P~(b) - v| + |P~(c) - v| >= |P~(b) - P~(c)|",
            "let mu+ take in each context the action with the larger P~(b|x,.), mu- the other one: both have value 1/2 under P', and their values under P~ differ by the mean of |P~(b|x,2) - P~(b|x,1)|, so that one of them is off by half of it",
            "moments of 2k - N by induction over N; the mean share of contexts is the chance for one; chances given the number of visits are averaged over it",
            "the point has one constant and the printed power of iota; none saves the bound (sdp.lemma9.single.every_constant)",
        ),
        rests_on=("sdp.lemma12", "sdp.lemma9.single.every_constant"),
        corrected_by="sdp.lemma9.repaired",
        not_covered="other rules to break the ties in Algorithms 2 and 3, which the paper leaves open; explorative mixtures, which cover every pair (sdp.lemma17.mixture); noisy counts; an initial law that is not known",
        judgement=Judgement(Severity.SUBSTANTIVE, "The variance bound that carries the rate fails for the explorative policy as printed, for every constant and power of iota."),
    ),
    Statement(
        "sdp.lemma9.single.every_constant", "project", "No constant and no power of iota saves the printed variance", source("Lemma 9 with Algorithm 3, eq. 4", "sdp.lemma9"),
        "In the example of sdp.lemma9.single let L be a power of two between n^3 and 2n^3 and 6L <= K <= 36 n^3, iota = log(8K/delta). For all C, p >= 1 and E >= 3 the bound C iota^p (sqrt(XAH^3/L) + X^2AH^2 E/L) is below "
        "n/(4000 sqrt(L)), and L is as long as the example asks, for every n with iota >= 16 (log C + p log(16 p)) and n^(1/8) >= 4001 (8 + 72 E)(288/delta)^(1/8).",
        r"C\iota^p\Bigl(\sqrt{\tfrac{XAH^3}{L}}+\tfrac{X^2AH^2E}{L}\Bigr)<\tfrac{n}{4000\sqrt L}",
        (
            Obligation("root", make_goal({"n": ONE}, "64/n >= 16*(n + 2)/n**2"), "both sides times sqrt(L)/n: the first term is at most 8/sqrt(n)", mutation=make_goal({"n": ONE}, "40/n >= 16*(n + 2)/n**2")),
            Obligation("second", make_goal({"t": ONE, "z": OPEN, "E": OPEN}, "72*E/t >= 8*(t**2 + 2)**2*E/(t**2*z)", "z >= t**3"), "t^2 = n, z^2 = L: the second one at most 72 E/sqrt(n)", positive(("72*E/(t*z)", 0)), {"t": "1", "z": "1", "E": "1"}),
            Obligation("vanishes", make_goal(_GROWN, "1/4000 > B*(8 + 72*E)/m**4", *_FAR_OUT), "m^8 = n, B = C iota^p, at most the eighth root q m^3 of 288 n^3/delta >= 8K/delta by sdp.logarithms; q^8 = 288/delta",
                       positive(("(8 + 72*E)/m**4", 0), ("1/(4001*m)", 1)), mutation=make_goal(_GROWN, "1/4000 > B*(8 + 72*E)/m**4", _FAR_OUT[0])),
            Obligation("long", make_goal(_GROWN, "m**8 >= 24*((48*E + 2)*B + E)", *_FAR_OUT), "n >= 24 ((48 E + 2) iota + E), as iota <= B", positive(("24*(48*E + 2)", 0), ("m**7", 1)), mutation=make_goal(_GROWN, "m >= 24*((48*E + 2)*B + E)", *_FAR_OUT)),
            Obligation("length", make_goal({"n": ONE, "c": HALF}, "n**3 >= 8*n*(n + 2)*c", "n >= 24*c"), "n^3 is as long as asked", positive(("8*n*(n + 2)/24", 0)), {"n": "1", "c": "1/24"}),
        ),
        ("sdp.logarithms",),
        reading=("iota >= 1, so that sqrt(iota) and iota are at most iota^p",),
    ),
)  # fmt: skip
