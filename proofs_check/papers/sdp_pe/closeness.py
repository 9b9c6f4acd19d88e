"""The paper "Near-Optimal Reinforcement Learning with Shuffle Differential Privacy": supporting lemmas, closeness of models.

Lemmas 12 to 15. The derivations: docs/notes/sdp_closeness.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sdp_pe import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    cases,
    enumerated,
    expect,
    have,
    mono,
    point,
    positive,
    sos,
    split,
    subst,
)
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

OPEN, HALF = "(0, inf)", "[0, inf)"
REAL = "(-inf, inf)"


def _source(item: str, identity: str) -> Source:
    return Source(PAPER, VERSION, item, identity)


_C = "(1-exp(-1))"
_PATH = {"S": HALF, "a": "[0, 1]", "P": "[0, 1]", "X": "[0, 1]"}
_DRIFT = f"S*a*(1-exp(P/2)*(1-{_C}*P))"
_FAIR = "E(S*a*exp(P/2)*(X-P)) == 0"


def _step(start: str) -> dict[str, object]:
    return dict(make_goal({}, f"{start} >= E(S*(1-a) + S*a*exp(P/2)*(1-{_C}*X))", _FAIR, random=_PATH))


_HIT = {"S": HALF, "u": "[0, 1]"}
LEMMA12 = Statement(
    "sdp.lemma12", "quoted", "Few successes are unlikely, at any time", _source("Lemma 12", "sdp.lemma12"),
    "For every filtration F_i, Bernoulli variables X_i that are F_i-measurable with P(X_i = 1 | F_(i-1)) = P_i, and every W: with chance at most e^-W there is a "
    "k <= n with sum over t <= k of X_t below half the sum of P_t, less W.",
    r"P\Bigl[\exists k\le n:\sum_{t\le k}X_t<\tfrac12\sum_{t\le k}P_t-W\Bigr]\le e^{-W}",
    (
        Obligation("values", make_goal({"X": "[0, 1]"}, f"exp(-X) == 1-{_C}*X", integers=("X",)), "e^-X of an X that is 0 or 1",
                   enumerated("X", IDENTITY), {"X": "0"}),
        Obligation("step", _step("E(S)"), "one step does not raise the expectation: S the stopped product of e^(P/2 - X), a the indicator that it has not stopped",
                   expect([(_DRIFT, have(f"exp(-P/2) - 1 + {_C}*P >= 0", mono("P", 1, POSITIVE), positive(("S*a*exp(P/2)", 1))))],
                          positive(("1", 1), (_C, 0))),
                   mutation=_step("99/100*E(S)")),
        Obligation("markov", make_goal({"W": REAL}, "exp(-W) >= E(u)", "1 >= E(S)", "S >= exp(W)*u", random=_HIT),
                   "u the indicator that the sum falls short at some time: then the product stopped above e^W",
                   expect([("S-exp(W)*u", positive(("1", 1)))], positive(("exp(-W)", 0), ("exp(-W)", 2))),
                   mutation=make_goal({"W": REAL}, "99/100*exp(-W) >= E(u)", "1 >= E(S)", "S >= exp(W)*u", random=_HIT)),
    ),
    reading=(
        "S_k is the product of e^(P_t/2 - X_t) over t <= k, stopped at the first k at which the sum falls short; S_0 = 1, and E(S_k) <= 1 by induction over the step",
        "P(X = 1 | F) = P means E(w (X - P)) = 0 for bounded F-measurable w; the weight S a e^(P/2) is one",
    ),
)  # fmt: skip

_PAIR = {"s": "(0, 1/3)"}
_BEYOND = "(s/2+1/6)/s + (1-(s/2+1/6))/(1-s)"
_SMALL = {"D": OPEN, "C": HALF, "b": OPEN}
_CHOICE = "b*D/(D+2*b*C)"
_COVER = {"v": HALF}
_UNDER = {"x": "[0, 1]", "l": "(-inf, 0]", "r": "(-inf, 0]"}
_STEP_UP = {"t": OPEN, "s": OPEN, "C": HALF, "D": REAL}
_CLOSER = {"t": OPEN, "C": HALF, "b": OPEN}
_SHARE = "b*t/(t+2*b*C)"
_NEAR_BEST = (
    Obligation("logarithm", make_goal({"q": "(1/2, 2]"}, "log(q) >= (q-1) - 2*(q-1)**2"),
               "moving a mixture by a share s towards x changes the sum of logarithms by the sum of log(1 + s z_i), z_i = x_i/y_i - 1; q = 1 + s z_i",
               have("log(q) >= (q-1)/q", split("q", "1", mono("q", -1, POSITIVE), mono("q", 1, POSITIVE)),
                    have("(q-1)/q - (q-1) + 2*(q-1)**2 >= 0", sos(("1", "q-1"), over="q/(2*q-1)"), positive(("1", 0), ("1", 1)))), {"q": "10001/10000"}),
    Obligation("bounded", make_goal(_UNDER, "exp(-(l+r)) >= x/exp(l)"), "l = log y_i, r the sum of the other logarithms, l + r = F: x_i/y_i <= exp(-F)",
               have("exp(-r) >= 1", mono("r", -1, RANGE), positive(("exp(-l)", 0), reflect=["x"])), {"x": "1", "l": "0", "r": "0"}),
    Obligation("near", make_goal(_STEP_UP, "t >= D", "s*t/2 >= s*D - s**2*C", "t >= 2*s*C"), "a mixture within s t/2 of the least upper bound has D <= t", positive(("1/s", 0), ("1/2", 1)),
               {"t": "1", "s": "1", "C": "1/2", "D": "1"}),
    Obligation("share", make_goal(_CLOSER, f"b >= {_SHARE}"), "a share that is small enough", POSITIVE, {"t": "1", "C": "0", "b": "1"}),
    Obligation("enough", make_goal(_CLOSER, f"t >= 2*{_SHARE}*C"), "and its other property", POSITIVE, {"t": "1", "C": "1000000", "b": "1"}),
)  # fmt: skip
LEMMA13 = (
    Statement(
        "sdp.lemma13", "quoted", "A mixture that covers every member", _source("Lemma 13", "sdp.lemma13"),
        "For every subset of m-fold products of simplices there is a distribution over it with mean y such that the maximum over members x of the sum of x_i/y_i is m d. "
        "For the set of pairs (t, 1-t), 0 < t < 1/3 (d = 2, m = 1) there is none: at every mean (s, 1-s) the member t = (s + 1/3)/2 has a sum above 2.",
        r"\exists\mathcal D:\;\max_{x\in\mathcal X}\sum_i\frac{x_i}{y_i}=md",
        (
            Obligation("printed", make_goal(_PAIR, f"2 >= {_BEYOND}"), "at the mean (s, 1-s) no member has a sum above m d = 2",
                       point(s="1/6"), mutation=make_goal(_PAIR, f"{_BEYOND} >= 2")),
            Obligation("every_mean", make_goal(_PAIR, f"{_BEYOND} > 2"), "at every mean (s, 1-s) of members",
                       positive(reflect=["s"]), {"s": "333/1000"}),
        ),
        corrected_by="sdp.lemma13.closed",
        reading=("the mean of members with 0 < t < 1/3 is a pair (s, 1-s) with 0 < s < 1/3",),
        not_covered="the time to compute the mixture; coordinates that no member charges, where the printed quotient is 0/0. The paper uses the lemma for the finite set of "
        "active policies: sdp.lemma13.closed up to any t > 0, which is enough for Lemma 17, and sdp.lemma13.attained",
        judgement=Judgement(Severity.REPAIRABLE, "A maximum is printed where only an infimum is approached; for the finite sets of the paper the lemma holds."),
    ),
    Statement(
        "sdp.lemma13.closed", "project", "Mixtures that cover every member of a finite set", _source("Lemma 13", "sdp.lemma13"),
        "For every finite set of m-fold products of simplices of dimension d and every t > 0 there is a distribution over it with mean y such that the maximum over members x of the "
        "sum of x_i/y_i, over the coordinates that some member charges, is at most m d + t; it is at least m d if every coordinate is charged. So the infimum over distributions is at most m d.",
        r"\inf_{\mathcal D}\max_{x\in\mathcal X}\sum_{i:\,y_i>0}\frac{x_i}{y_i}\le md",
        (
            *_NEAR_BEST,
            Obligation("total", make_goal({"x": HALF, "y": OPEN}, "x/y == (x/y - 1) + 1"), "the sum of x_i/y_i is that of the z_i and m d",
                       IDENTITY, {"x": "1", "y": "1"}),
            Obligation("equal", make_goal({"V": HALF, "n": HALF}, "V >= n", "E(v) == n", "V >= v", random=_COVER),
                       "v: the sum of x_i/y_i for a member drawn from the mixture itself, of mean n = m d; V: the largest of them",
                       expect([("V-v", positive(("1", 1)))], positive(("1", 2), ("1", 0))),
                       mutation=make_goal({"V": HALF, "n": HALF}, "V >= 101/100*n", "E(v) == n", "V >= v", random=_COVER)),
        ),
        reading=(
            "F is the sum of log y_i over the charged coordinates: at most 0, and finite for the uniform mixture, so that it has a least upper bound F*; take a mixture with F >= F* - s t/2, "
            "s to be chosen. No maximiser is needed: nothing here rests on compactness or continuity",
            "moving it by a share s towards a member x changes F by the sum of log(1 + s z_i), z_i = x_i/y_i - 1, which is then at most s t/2; D is the sum of the z_i, C a bound on twice the sum of their squares",
            "let t <= 1 and s <= 1: by bounded the z_i lie between -1 and M = exp(1 - F*), for every such mixture and member; b = 1/(2M + 2) makes |s z_i| < 1/2 for s <= b, and C may be 2 m d (M + 1)^2: s depends on neither mixture nor member",
            "the infimum is a number below m d + t for every t > 0, so at most m d",
        ),
        not_covered="that some mixture attains m d (sdp.lemma13.attained); sets with infinitely many members",
    ),
    Statement(
        "sdp.lemma13.attained", "project", "A mixture that attains the least coverage", _source("Lemma 13", "sdp.lemma13"),
        "For every finite set of m-fold products of simplices of dimension d the mixture that maximises the sum of log y_i has a maximum over members of the sum of x_i/y_i of at most m d, "
        "over the coordinates that some member charges, and exactly m d if every coordinate is charged.",
        r"\max_{x\in\mathcal X}\sum_{i:\,y_i>0}\frac{x_i}{y_i}\le md",
        (
            Obligation("share", make_goal(_SMALL, f"b >= {_CHOICE}"), "a share that is small enough", POSITIVE, {"D": "1", "C": "0", "b": "1"}),
            Obligation("limit", make_goal(_SMALL, f"D > {_CHOICE}*C"),
                       "0 >= s D - s^2 C fails at that share if D, the sum of the z_i, is positive: so it is not",
                       have("D/2 >= D/2", IDENTITY, POSITIVE), mutation=make_goal(_SMALL, f"D/4 > {_CHOICE}*C")),
        ),
        ("sdp.lemma13.closed",),
        rules=("extreme value theorem: an upper semicontinuous function on a simplex has a maximum",),
        reading=("for the maximiser the sum of log(1 + s z_i) is at most 0, for every share s and member; the rest is as in sdp.lemma13.closed",),
        not_covered="nothing that the paper's proofs need: sdp.lemma17.mixture makes do with sdp.lemma13.closed",
    ),
)  # fmt: skip

_SIZES = dict.fromkeys(("B", "H", "X", "A", "K"), "[1, inf)") | {"delta": "(0, 1)"}
_UNION = "2*B*H*X**2*A*exp(-log(2*H*A*K/delta))"
_STEP3 = "sqrt(2*i/m) + 4*E*i/m"
_FAINT = {"E": OPEN, "H": "[1, inf)", "i": OPEN, "m": OPEN}
_LOUD = {"E": "[3, inf)", "H": "[1, inf)", "i": "[1, inf)", "m": OPEN}
_SEEN = {"H": "[2, inf)", "K": "[1, inf)", "E": OPEN, "delta": "(0, 1)", "p": "(0, 1)"}
_SEEN_GIVEN = ("1+E/4 > 6*E*H**2*log(2*H*K/delta)", "p > 4*delta")
_ONE = "(1-1/H)*(1+E/4)/(1+E/2)"
_COUNTS = {"N": "[1, inf)", "k": HALF, "M": "[1, inf)", "m": HALF, "P": "[0, 1]", "E": "[3, inf)", "d": HALF}
_NEAR = ("M >= N", "N+E >= M", "m+E >= k", "k+E >= m")
_ROOTS = {"E": "[3, inf)", "v": "[7/5, inf)", "r": HALF, "s": HALF}
_G, _A = "sqrt(r**2+v*r+2*E*v**2)", "(2*E*v**2-v**2/3-2*E)"
_T = f"(v*r+{_A})"
_ABOVE = ("v**2 >= 2", "v*s + v**2/3 + 2*E >= s**2 - r**2")
_ROOT_OF_QUADRATIC = have(f"({_G}-2*v)*({_G}+2*v) >= 0", POSITIVE, have(f"{_G} >= 2*v", positive((f"1/({_G}+2*v)", 2)),
    have(f"{_T}+v*{_G} >= 1/2", POSITIVE, have(f"{_T} >= v*{_G}", cases(f"v*{_G}-{_T}", positive(("2", 5, 4)), positive(("1", 5))),
    cases(f"s-{_G}",
          have(f"0 >= (s-{_G})*(s+{_G}-v)", positive(("1", 5), ("1", 1)),
               have(f"s+{_G} >= 4*v", positive(("1", 6), ("2", 3)), positive(("2", 7), ("1", 6, 8), ("2*v", 6)))),
          positive((f"{_G}+s", 6)))))))  # fmt: skip
_THIRD = have("(1/(3*H)-sqrt(2*i/m))*(1/(3*H)+sqrt(2*i/m)) >= 0", positive(("1/(9*H**2*m)", 0)),
              have("1/(3*H) >= sqrt(2*i/m)", positive(("1/(1/(3*H)+sqrt(2*i/m))", 1)), positive(("1", 2), ("2/(3*H*m)", 0))))  # fmt: skip
_IOTA = "iota = log(2HAK/delta)"
LEMMA14 = (
    Statement(
        "sdp.lemma14", "statement", "The crude model is close to the absorbing one", _source("Lemma 14", "sdp.lemma14"),
        "For every privatizer that meets Assumption 4 (with some E > 0): with chance at least 1 - 4 delta, in all stages and for all (h,x,a,x') outside W, the absorbing model is within a "
        "factor 1 -+ 1/H of the crude one; inside W both are 0. For small E it is not: with H = 2 and one episode a layer, a next state of chance p that is seen once "
        "gets the crude probability (1+E/4)/(1+E/2), and stays outside W.",
        r"(1-\tfrac1H)\tilde P^{cru}\le P'\le(1+\tfrac1H)\tilde P^{cru}",
        (
            Obligation("step", make_goal(_FAINT, f"1/H >= {_STEP3}", "m > 6*E*H**2*i"), "the proof's third line: counts above C1 E H^2 iota, C1 = 6, give 1/H",
                       point(E="1/12", H="2", i="1", m="21/10"), mutation=make_goal(_FAINT, f"4*(1 + 1/E) >= {_STEP3}", "m > 6*E*H**2*i")),
            Obligation("once", make_goal(_SEEN, f"p >= {_ONE}", *_SEEN_GIVEN, integers=("H", "K")),
                       "the lemma's own claim on an event of chance p > 4 delta: X = 2 next states, A = 1, stage 1 with L_1/H = 1 episode, counts released exactly but for E/2 and E/4",
                       point(H="2", K="100", E="1/10000", delta="1/100", p="1/4"),
                       mutation=make_goal(_SEEN, f"1 >= {_ONE}", *_SEEN_GIVEN, integers=("H", "K"))),
        ),
        reading=(
            "a privatizer that adds E/(2X) to exact counts of (x,a,x') and E/2 to those of (x,a), X = 2, meets Assumption 4 surely",
            "with L_1 = 2 and H = 2 the first layer of the first stage is explored by L_1/H = 1 episode; its next state is the one of chance p with chance p, and then its count 1 + E/4 is above 6 E H^2 iota",
        ),
        corrected_by="sdp.lemma14.large_error",
        not_covered="E of at least 3 is what fails to be said: the paper's privatizer has a far larger one, and the lemma survives for it (sdp.lemma14.large_error)",
        judgement=Judgement(Severity.REPAIRABLE, "It needs an error level E of at least 3, which the paper's own privatizer has."),
    ),
    Statement(
        "sdp.lemma14.large_error", "project", "The crude model is close to the absorbing one, for E of at least 3", _source("Lemma 14", "sdp.lemma14"),
        "Let Assumption 4 hold for all releases of the run together with chance at least 1 - 3 delta, with E >= 3, and let iota >= 1. Then with chance at least 1 - 3 delta - 2BHX^2A e^-iota, in all "
        "stages and for all (h,x,a,x') whose released count is above 6 E H^2 iota, |P' - P~| <= sqrt(2 P~ iota/N~(x,a)) + 4 E iota/N~(x,a) <= P~/H; inside W both are 0. "
        f"With {_IOTA} and K >= B X^2 that chance is at least 1 - 4 delta, and iota >= 1 where this is not negative.",
        r"|P'-\tilde P|\le\sqrt{\frac{2\tilde P\iota}{\tilde N(x,a)}}+\frac{4E\iota}{\tilde N(x,a)}\le\frac{\tilde P}{H}\qquad(E\ge3,\;K\ge BX^2)",
        (
            Obligation("above", make_goal(_COUNTS, "d+2*E >= P*M-m", *_NEAR, "d >= N*P-k"),
                       "N visits of which k go to x', M and m their released counts, |k - NP| <= d: the deviation of released counts, one side",
                       positive(("P", 1), ("1", 2), ("1", 4), reflect=["P"]), {"N": "10", "k": "9", "M": "13", "m": "6", "P": "1", "E": "3", "d": "1"}),
            Obligation("below", make_goal(_COUNTS, "d+E >= m-P*M", *_NEAR, "d >= k-N*P"), "the other side",
                       positive(("P", 0), ("1", 3), ("1", 4)), {"N": "10", "k": "6", "M": "10", "m": "9", "P": "1/2", "E": "3", "d": "1"}),
            Obligation("deviation", make_goal({"n": OPEN, "M": OPEN, "P": "(0, 1]", "i": OPEN}, "sqrt(2*i)*sqrt(P*M) + 2*i/3 >= sqrt(2*n*P*i) + 2*i/3", "M >= n"),
                       "Bernstein's d = sqrt(2 N P iota) + 2 iota/3 with the released count for N",
                       have("(sqrt(2*i)*sqrt(P*M)-sqrt(2*n*P*i))*(sqrt(2*i)*sqrt(P*M)+sqrt(2*n*P*i)) >= 0", positive(("2*P*i", 0)),
                            positive(("1/(sqrt(2*i)*sqrt(P*M)+sqrt(2*n*P*i))", 1))),
                       {"n": "1", "M": "1", "P": "1", "i": "1"}),
            Obligation("large", make_goal(_ROOTS, "r**2 + v*r + 2*E*v**2 >= s**2", *_ABOVE),
                       "r^2 = m, s^2 = PM, v^2 = 2 iota: the quadratic inequality solved, PM - m <= sqrt(2 m iota) + 4 E iota", _ROOT_OF_QUADRATIC,
                       mutation=make_goal(_ROOTS, "r**2 + v*r >= s**2", *_ABOVE)),
            Obligation("small", make_goal(_ROOTS, "v*r + 2*E*v**2 >= r**2-s**2", "v*s + v**2/3 + E >= r**2 - s**2", "v**2 >= 2"), "m - PM <= sqrt(2 m iota) + 4 E iota",
                       cases("r-s", positive(("1", 0), ("v", 2)), positive(("r+s", 2))),
                       mutation=make_goal(_ROOTS, "v*r >= r**2-s**2", "v*s + v**2/3 + E >= r**2 - s**2", "v**2 >= 2")),
            Obligation("step", make_goal(_LOUD, f"1/H >= {_STEP3}", "m > 6*E*H**2*i"), "counts above C1 E H^2 iota, C1 = 6, give 1/H", _THIRD,
                       {"E": "3", "H": "1", "i": "1", "m": "18001/1000"}),
            Obligation("iota", make_goal({"H": "[1, inf)", "A": "[1, inf)", "K": "[1, inf)", "delta": "(0, 1/4]"}, "log(2*H*A*K/delta) >= 1"),
                       "iota is at least 1 where 1 - 4 delta is not negative", mono("H", 1, mono("A", 1, mono("K", 1, mono("delta", -1, RANGE)))),
                       mutation=make_goal({"H": "[1, inf)", "A": "[1, inf)", "K": "[1, inf)", "delta": "(0, 1/4]"}, "log(2*H*A*K/delta) >= 3")),
            Obligation("union", make_goal(_SIZES, f"delta >= {_UNION}", "K >= B*X**2"), "B H X^2 A quadruples, two tails of chance e^-iota each: together delta",
                       positive(("delta/K", 0)), dict.fromkeys(("B", "H", "X", "A", "K"), "1") | {"delta": "1/2"}),
        ),
        ("sdp.binomial_tails",),
        reading=(
            "Assumption 4 fails with chance at most 3 delta more: 4 delta in all (union)", "sdp.binomial_tails for every P in (0, 1]",
            "given which episodes of a layer's batch visit (x,a), their next states are independent draws from P(.|x,a): k is Binomial(N, P); with N = 0 a count is at most E and x' is in W; P = 0 is trivial",
            "outside W the absorbing model has the true probabilities, and P~ = m/M; inside W both are set to 0 (Definition 5 and the paper's estimate); a larger C_1 only makes W larger",
        ),
        not_covered="iota has no X in it, so that the union bound needs K >= B X^2; with log(2 B H X^2 A/delta) for iota it needs nothing",
    ),
)  # fmt: skip

_PRODUCT = {"A": HALF, "B": HALF, "x": HALF, "y": HALF, "c": OPEN, "H": "[1, inf)"}
_SUMS = dict.fromkeys(("a", "b", "p", "q"), HALF)
_WITHIN = {"H": "[1, inf)", "h": "[1, inf)"}
_FROM2 = {"H": "[2, inf)", "h": "[1, inf)"}
_HALF_PIECES = split("u", "1/4", mono("u", 1, IDENTITY), split("u", "3/8", split("u", "5/16", split("u", "9/32", POSITIVE, POSITIVE), mono("u", -1, RANGE)),
                                                               mono("u", -1, IDENTITY)))  # fmt: skip
_AT = {"A": "1", "B": "1", "c": "1", "H": "2"}
LEMMA15 = Statement(
    "sdp.lemma15", "statement", "Visiting chances in the crude and the absorbing model", _source("Lemma 15", "sdp.lemma15"),
    "Let the transitions of the two models be within a factor 1 -+ 1/H of each other, or both 0 (Lemma 14). Then for every policy, every H >= 1 and every (h,x,a), x not the absorbing "
    "state, the chances of visiting (x,a) at step h satisfy V(P~)/4 <= V(P') <= 3 V(P~).",
    r"\tfrac14V^\pi(1_{hxa},\tilde P)\le V^\pi(1_{hxa},P')\le3V^\pi(1_{hxa},\tilde P)",
    (
        Obligation("longer", make_goal(_PRODUCT, "c*(1+1/H)*(B*y) >= A*x", "c*B >= A", "(1+1/H)*y >= x"), "one transition more: A, B the chances of a path in both models, x, y those of the step",
                   positive(("x", 0), ("c*B", 1)), _AT | {"x": "3/2", "y": "1"}),
        Obligation("longer_below", make_goal(_PRODUCT, "A*x >= c*(1-1/H)*(B*y)", "A >= c*B", "x >= (1-1/H)*y"), "the same from below",
                   positive(("x", 0), ("c*B", 1)), _AT | {"x": "1/2", "y": "1"}),
        Obligation("exponent", make_goal(_WITHIN, "1 >= (h-1)*log(1+1/H)", "H >= h"), "a path to step h <= H has h - 1 transitions: (1+1/H)^(h-1) <= e",
                   have("1/H >= log(1+1/H)", subst("H", "1/u", "u", "(0, 1]", have("u >= log(1+u)", mono("u", 1, POSITIVE), positive(("1", 1)))),
                        positive(("h-1", 1), ("1/H", 0))), {"H": "1000000", "h": "1000000"}),
        Obligation("exponent_below", make_goal(_FROM2, "(h-1)*log(1-1/H) >= -1", "H >= h"), "(1-1/H)^(h-1) >= 1/e for H >= 2; for H = 1 a path has no transition",
                   have("log(1-1/H) >= -1/(H-1)", subst("H", "1/u", "u", "(0, 1/2]", have("log(1-u)*(1-u)+u >= 0", mono("u", 1, POSITIVE), positive(("1/(1-u)", 1)))),
                        positive(("h-1", 1), ("1/(H-1)", 0))), {"H": "1000000", "h": "1000000"}),
        Obligation("three", make_goal({"z": "[0, 1]"}, "3 >= exp(z)"), "e <= 3", mono("z", -1, RANGE), mutation=make_goal({"z": "[0, 1]"}, "27/10 >= exp(z)")),
        Obligation("quarter", make_goal({"z": "[-1, 0]"}, "exp(z) >= 1/4"), "1/e >= 1/4", mono("z", 1, RANGE), mutation=make_goal({"z": "[-1, 0]"}, "exp(z) >= 37/100")),
        Obligation("printed_quarter", make_goal({"H": "[2, inf)"}, "H*log(1-1/H) >= -2*log(2)"), "the printed (1-1/H)^H >= 1/4 for H >= 2",
                   subst("H", "1/u", "u", "(0, 1/2]", have("log(1-u)+2*log(2)*u >= 0", _HALF_PIECES, positive(("1/u", 0)))), {"H": "2"}),
        Obligation("printed_three", make_goal({"H": "[1, inf)"}, "1 >= H*log(1+1/H)"), "the printed (1+1/H)^H <= 3, by way of e",
                   subst("H", "1/u", "u", "(0, 1]", have("u >= log(1+u)", mono("u", 1, POSITIVE), positive(("1/u", 0)))), {"H": "1000000"}),
        Obligation("paths", make_goal(_SUMS, "3*(b+q) >= a+p", "3*b >= a", "3*q >= p"), "adding up over paths", positive(("1", 0), ("1", 1)), {"a": "3", "b": "1", "p": "3", "q": "1"}),
        Obligation("paths_below", make_goal(_SUMS, "a+p >= (b+q)/4", "a >= b/4", "p >= q/4"), "the same from below", positive(("1", 0), ("1", 1)), {"a": "1", "b": "4", "p": "1", "q": "4"}),
    ),
    reading=(
        "the chance of a path is the product of the policy's action probabilities, the first state's and h - 1 transitions; a path to x never meets the absorbing state before; induction over its length, "
        "and over the number of paths to (h,x,a)",
        "inside W both models' transitions are 0, which satisfies both bounds",
    ),
    not_covered="the printed proof writes (x_h, a_h) in W where any pair is meant",
)  # fmt: skip

STATEMENTS = (LEMMA12, *LEMMA13, *LEMMA14, LEMMA15)
