"""Error of the private counts in "Differentially Private Regret Minimization in Episodic MDPs".

lam stands for log(6SAT/delta), respectively log(6 S^2 A T/delta), l for log K, and errors are counted in units of the noise's
scale b. The paper fixes no base of the logarithm; natural ones are the harder reading, see the statements. Derivations are in docs/notes/ucb_counters.md.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.proofs_check.hints import IDENTITY, RANGE, expect, have, mono, point, positive, split
from dpproof.proofs_check.papers.private_ucb.privacy import source
from dpproof.proofs_check.statement import (
    Goal,
    Judgement,
    Obligation,
    Severity,
    Statement,
    formula,
    make_goal,
)

_RUN = dict.fromkeys(("S", "A", "H"), "[1, inf)")
_ALL = _RUN | {"eps": "(0, inf)", "delta": "(0, 1]"}
_MGF = (
    "for |h| < 1 a Laplace variable X of scale 1 has E exp(hX) = 1/(1 - h^2): the integral of exp(hx - |x|)/2"
)
_SIDES = "the law of the noise is symmetric: |Y| > t costs twice Y > t"
_INDICATOR = "u is the indicator of the event Y > t, w = exp(hY) and T = exp(ht), so that w >= u T"
_UNION = "an event that a release errs too much is the union over k, h, s, a (and s') of the three families' events"

_BAR = {"M": "[0, inf)", "x": "[0, 1)"}
_PARTS = {"w": "[0, inf)", "z": "[0, inf)"}
_MARKOV = {"u": "[0, 1]", "w": "[0, inf)"}
_THREE = dict.fromkeys(("u", "a", "b", "c"), "[0, 1]")
LAPLACE_SUM = Statement(
    "ucb.laplace_sum", "project", "Chernoff's bound for a sum of Laplace variables", source("Lemma 5.1 (proof)", "ucb.lemma5_1.utility"),
    "A sum Y of m independent Laplace variables of scale 1 has P(Y > t) <= exp(-ht) (1 - h^2)^(-m) for every h in [0, 1) and t.",
    r"P(Y>t)\le e^{-ht}(1-h^2)^{-m}",
    (
        Obligation("product", make_goal(_BAR, "M/(1-x) >= E(w*z)", "M >= E(w)", "E(z) == 1/(1-x)", random=_PARTS, independent=(("w",), ("z",))),
                   "one more term: w = exp(hY), z = exp(hX), x = h^2, M the bound so far", expect([], positive(("E_z", 0), ("-M", 1))),
                   mutation=make_goal(_BAR, "M/(1-x) >= 2*E(w*z)", "M >= E(w)", "E(z) == 1/(1-x)", random=_PARTS, independent=(("w",), ("z",)))),
        Obligation("markov", make_goal({"T": "(0, inf)"}, "E(w)/T >= E(u)", "w >= u*T", random=_MARKOV), "the probability of the event is E u",
                   expect([("w - u*T", positive(("1", 0)))], positive(("1/T", 1))),
                   mutation=make_goal({"T": "(0, inf)"}, "E(w)/T >= 2*E(u)", "w >= u*T", random=_MARKOV)),
    ),
    reading=(_MGF, _INDICATOR, "induction over m from the empty sum, M = 1"),
    laws=("laplace.mgf",),
)  # fmt: skip

_SUM = {"lam": "(0, inf)", "L": "[1, inf)", "m": "[0, inf)"}
_LOG = Obligation(
    "log", make_goal({"x": "[0, 3/4]"}, "2*x + log(1-x) >= 0"), "1/(1-x) <= exp(2x) up to x = 3/4",
    split("x", "1/2", mono("x", 1, RANGE), mono("x", -1, RANGE)), mutation=make_goal({"x": "[0, 3/4]"}, "x + log(1-x) >= 0"),
)  # fmt: skip
_SMALL = (
    Obligation("product", make_goal(_SUM, "sqrt(lam/(2*L))*sqrt(8*L*lam) == 2*lam"), "h t for h^2 = lam/(2L), t^2 = 8 L lam",
               IDENTITY, {"lam": "1", "L": "1", "m": "1"}),
    Obligation("exponent", make_goal(_SUM, "2*lam - m*(2*(lam/(2*L))) >= lam", "L >= m"), "h t + m log(1 - h^2) >= 2 lam - 2 m h^2 >= lam",
               positive(("lam/L", 0)), {"lam": "1", "L": "1", "m": "1"}),
)  # fmt: skip
_LARGE = (
    Obligation("large_product", make_goal(_SUM, "sqrt(1/2)*(sqrt(8)*lam) == 2*lam"), "h t for h^2 = 1/2, t = sqrt(8) lam", IDENTITY,
               {"lam": "1", "L": "1", "m": "1"}),
    Obligation("large", make_goal(_SUM, "2*lam + m*log(1/2) >= lam", "L >= m", "lam >= L"), "h t + m log(1/2) >= lam",
               have("1 >= log(2)", RANGE, positive(("log(2)", 0), ("log(2)", 1), ("lam", 2))), mutation=make_goal(_SUM, "2*lam + 2*m*log(1/2) >= lam", "L >= m", "lam >= L")),
)  # fmt: skip
_BUDGET = Obligation(
    "budget",
    make_goal(_RUN | {"T": "[1, inf)", "delta": "(0, 1]"},
               "2*(2*S*A*T*exp(-log(6*S*A*T/delta))) + 2*S**2*A*T*exp(-log(6*S**2*A*T/delta)) == delta"),
    "two families of SAH counters, one of S^2AH, K releases each, twice exp(-lam) a release", IDENTITY,
    dict.fromkeys((*_RUN, "T", "delta"), "1"),
)  # fmt: skip
_COVER = Obligation(
    "union", make_goal({}, "E(a) + E(b) + E(c) >= E(u)", "a + b + c >= u", random=_THREE), "the union bound, in indicators",
    expect([("a + b + c - u", positive(("1", 0)))], positive(("1", 1))),
    mutation=make_goal({}, "E(a) + E(b) >= E(u)", "a + b + c >= u", random=_THREE),
)  # fmt: skip

_BEYOND = {"K": "[1, inf)", "m": "[0, inf)", "r": "[3/2, 8/3]"}
_WIDE = (
    Obligation("wide", make_goal(_BEYOND, "K*(sqrt(2/3)*sqrt(8*r)) - m*log(3) >= K*r", "K >= m"), "h^2 = 2/3: h t - m log 3 >= lam for lam = K r",
               have("sqrt(2/3)*sqrt(8*r) - log(3) >= r", mono("r", -1, RANGE), positive(("K", 1), ("log(3)", 0))), mutation=make_goal(_BEYOND, "K*(sqrt(2/3)*sqrt(8*r)) - m*log(3) >= 11/10*K*r", "K >= m")),
)  # fmt: skip

_EVENT = "exp(2*S*A*H*log(1 - exp(-({first}))) + S**2*A*H*log(1 - exp(-({second})))) >= 1 - delta"
_SIZES = ("S", "A", "H")


def _first_release(first: str, second: str) -> Goal:
    """The exact probability, at K = 2, that every error is within its level, against 1 - delta."""
    return make_goal(_ALL, _EVENT.format(first=first, second=second), integers=_SIZES)


def _level(lemma: str, level: str) -> str:
    values = {"K": "2", "epsilon": "eps"}
    return f"{formula(f'ucb.{lemma}.{level}', **values)}/{formula(f'ucb.{lemma}.scale', **values)}"


def _printed(lemma: str) -> Goal:
    return _first_release(_level(lemma, "E1"), _level(lemma, "E2"))


_ONE, _TWO = "log(12*S*A*H/delta)", "log(12*S**2*A*H/delta)"
_MENDED = _first_release(f"sqrt(8)*{_ONE}", f"sqrt(8)*{_TWO}")
_FIRST_READ = (
    "at K = 2 the counts before episode 2 are those of one episode: each counter's error is one Laplace variable of its own, within t b with "
    "probability 1 - exp(-t); before episode 1 the counts are 0 for all",
    "T = KH = 2H",
)


def _small(delta: str) -> dict[str, str]:
    return {"S": "1", "A": "1", "H": "1", "eps": "1", "delta": delta}


_EXPERIMENT = {"S": "6", "A": "2", "H": "20", "eps": "1"}
_STEPS = {"n": "[0, inf)", "F": "[0, inf)", "G": "[0, inf)"}
_SPREAD = "(sqrt(2/3)*sqrt(8*l*lam) + lam + l)"
_RATIO = {"l": "(0, inf)", "lam": "(0, inf)"}
_NATURAL = _RUN | {"K": "[2, inf)", "eps": "(0, inf)", "delta": "(0, 1]"}


def _units(lemma: str, inside: str, low: str) -> tuple[Obligation, ...]:
    return tuple(
        _unit(lemma, *level, inside, low) for level in (("units", "E1", "S"), ("units_triples", "E2", "S**2"))
    )


def _unit(lemma: str, name: str, level: str, states: str, inside: str, low: str) -> Obligation:
    text = f"{formula(f'ucb.{lemma}.{level}', epsilon='eps')}/{formula(f'ucb.{lemma}.scale', epsilon='eps')}"
    return Obligation(
        name, make_goal(_NATURAL | {"K": f"[{low}, inf)"}, f"{text} == sqrt(8*{inside}*log(6*{states}*A*K*H/delta))"),
        f"the printed level {level} in units of the noise's scale", IDENTITY, {"K": "3"} | _small("1/2"),
    )  # fmt: skip


CENTRAL = (
    Statement(
        "ucb.lemma5_1.utility", "statement", "CENTRAL-PRIVATIZER satisfies Assumption 1", source("Lemma 5.1", "ucb.lemma5_1.utility"),
        "For every delta in (0, 1] the levels E1 = (3H/eps) sqrt(8 log^3 K log(6SAT/delta)) and E2 with 6S^2AT are said to hold with probability 1 - delta. "
        "For small delta or few episodes they are too small: at S = A = H = 1, K = 2, delta = 1/1000 the levels fail with probability 0.0022.",
        r"E_1=\frac{3H}{\varepsilon}\sqrt{8\log^3K\log(6SAT/\delta)}",
        parts=("ucb.lemma5_1.utility.printed", "ucb.lemma5_1.utility.domain"), corrected_by="ucb.central_error",
        not_covered="delta between the part that is refuted and the domain that is proved, for other sizes",
        judgement=Judgement(Severity.REPAIRABLE, "The levels are right where the failure probability is not too small; ucb.central_error has levels of the same order for every one."),
    ),
    Statement(
        "ucb.lemma5_1.utility.hypothesis", "statement", "The hypothesis of the tail bound that is used", source("Lemma 5.1 (proof)", "ucb.lemma5_1.utility"),
        "The tail of a sum of log K Laplace variables is taken from Chan et al. (classic.laplace_sum_tail) at the failure 2/delta' = 6SAT/delta. It needs log(2/delta') to be at most "
        "the number of terms, and T = KH makes it larger than the natural log K always, and than log2 K at K = 2.",
        r"\log(6SAT/\delta)\le\log K",
        (
            Obligation("natural", make_goal(_NATURAL, "log(K) >= log(6*S*A*K*H/delta)", integers=("S", "A", "H", "K")), "ln K terms", point(K="2", **_small("1/2")),
                       mutation=make_goal(_NATURAL, "log(6*S*A*K*H/delta) >= log(K)", integers=("S", "A", "H", "K"))),
            Obligation("base_two", make_goal(_NATURAL, "log(K)/log(2) >= log(6*S*A*K*H/delta)", integers=("S", "A", "H", "K")), "log2 K terms", point(K="2", **_small("1/2")),
                       mutation=make_goal(_NATURAL, "log(6*S*A*K*H/delta) >= log(K)", integers=("S", "A", "H", "K"))),
        ),
        corrected_by="ucb.lemma5_1.utility.domain",
        not_covered="the lemma itself: its levels hold on a domain of their own, and fail elsewhere by ucb.lemma5_1.utility.printed",
        judgement=Judgement(Severity.REPAIRABLE, "The quoted tail bound is used outside its hypothesis; a bound without it gives the same order."),
    ),
    Statement(
        "ucb.lemma5_1.utility.printed", "statement", "The levels of the CENTRAL-PRIVATIZER, as printed", source("Lemma 5.1", "ucb.lemma5_1.utility"),
        "At K = 2 the probability that all counts are within the levels is (1 - exp(-E1/b))^(2SAH) (1 - exp(-E2/b))^(S^2AH). It is below 1 - delta "
        "for S = A = H = 1 at delta = 1/1000 with natural logarithms, and at delta = 10^-6 with logarithms to base 2, or with log2 K and ln(6SAT/delta). For S = 6, A = 2, H = 20 "
        "it is so at delta = 1/2.",
        r"P\ge1-\delta",
        (
            Obligation("natural", _printed("lemma5_1"), "the printed levels", point(**_small("1/1000")), mutation=_MENDED),
            Obligation("paper", _printed("lemma5_1"), "the same at the sizes of the paper's experiment", point(**_EXPERIMENT, delta="1/2"), mutation=_MENDED),
            Obligation("base_two", _first_release(f"sqrt(8*{_ONE}/log(2))", f"sqrt(8*{_TWO}/log(2))"), "all logarithms to base 2",
                       point(**_small("1/1000000")), mutation=_MENDED),
            Obligation("mixed", _first_release(f"sqrt(8*{_ONE})", f"sqrt(8*{_TWO})"), "log2 K for the tree, the natural logarithm of 6SAT/delta",
                       point(**_small("1/1000000")), mutation=_MENDED),
        ),
        reading=_FIRST_READ, corrected_by="ucb.central_error",
        laws=("laplace.tail",),
        judgement=Judgement(Severity.REPAIRABLE, "The levels are right where the failure probability is not too small; ucb.central_error has levels of the same order for every one."),
    ),
    Statement(
        "ucb.lemma5_1.utility.domain", "project", "Where the printed levels of the CENTRAL-PRIVATIZER hold", source("Lemma 5.1", "ucb.lemma5_1.utility"),
        "If 6 S^2 A H <= delta K^2 and K >= 2, the printed levels hold with probability 1 - delta, for the printed scale of noise and all logarithms natural, all to "
        "base 2, or log2 K and ln(6SAT/delta). The release before episode k sums as many P-sums as k - 1 has binary ones; h^2 = 2/3 in Chernoff's bound gives powers of 3.",
        r"\sum_{t<K}3^{\mathrm{ones}(t)}\le K^2,\qquad\sqrt{2/3}\,\sqrt{8\,l\,\lambda}\ge\lambda+l\iff l/3\le\lambda\le3l",
        (
            Obligation("even", make_goal(_STEPS, "(2*n)**2 >= 4*F", "n**2 >= F"), "F(2n) = 4 F(n) for F(n) the sum of 3^ones(t) over t < n",
                       positive(("4", 0)), {"n": "1", "F": "1", "G": "1"}),
            Obligation("odd", make_goal(_STEPS, "(2*n+1)**2 >= 3*F + G", "n**2 >= F", "(n+1)**2 >= G"), "F(2n+1) = 3 F(n) + F(n+1)",
                       positive(("3", 0), ("1", 1)), {"n": "0", "F": "0", "G": "1"}),
            Obligation("factor", make_goal({"h": "[0, inf)"}, "1/(1 - sqrt(2/3)**2) == 3"), "one term costs the factor 3", IDENTITY, {"h": "1"}),
            *_units("lemma5_1", "log(K)", "2"),
            Obligation("exponent", make_goal(_RATIO, "l - lam >= 2*l - sqrt(2/3)*sqrt(8*l*lam)", "3*l >= lam", "lam >= l"),
                       "K^2 exp(-h t) <= K exp(-lam) for h = sqrt(2/3), t = sqrt(8 l lam), in logarithms",
                       positive((f"1/{_SPREAD}", 0, 1), (f"2*l/(3*{_SPREAD})", 0)), {"l": "1", "lam": "3"}),
            Obligation("base_two", make_goal(_RATIO, "sqrt(8*l*lam)/log(2) >= sqrt(8*l*lam)"), "to base 2 the level is larger in units of the scale",
                       have("1 >= log(2)", RANGE, positive(("sqrt(8*l*lam)/log(2)", 0))), mutation=make_goal(_RATIO, "log(2)*sqrt(8*l*lam) >= sqrt(8*l*lam)")),
            Obligation("mixed", make_goal(_RATIO, "sqrt(8*(l/log(2))*lam) >= sqrt(8*l*lam)"), "with log2 K and a natural logarithm too",
                       have("1 >= log(2)", RANGE, have("8*(l/log(2))*lam >= 8*l*lam", positive(("8*l*lam/log(2)", 0)),
                                                       positive(("1/(sqrt(8*(l/log(2))*lam) + sqrt(8*l*lam))", 1)))),
                       mutation=make_goal(_RATIO, "sqrt(8*(l*log(2))*lam) >= sqrt(8*l*lam)")),
            _BUDGET, _COVER,
        ),
        ("ucb.laplace_sum",),
        reading=(_SIDES, _UNION, "derived in docs/notes/ucb_counters.md; strong induction over the even and odd numbers, F(1) = 1: even t = 2s has the ones of s, odd t = 2s + 1 one more",
                 "log(6SAT/delta) >= log K, as T = KH; log(6 S^2 A T/delta) <= 3 log K is 6 S^2 A H <= delta K^2"),
        domain="6*S^2*A*H <= delta*K^2, K >= 2, delta that of the levels",
        not_covered="at K = 1 nothing is released; sizes outside the domain, where ucb.central_error gives other levels",
    ),
    Statement(
        "ucb.central_error", "project", "Levels of the CENTRAL-PRIVATIZER for every delta", source("Lemma 5.1", "ucb.lemma5_1.utility"),
        "Noise of scale b on each P-sum and at most L P-sums a release: with probability 1 - delta all counts err by at most sqrt(8) b max(sqrt(L lam), lam), "
        "lam = log(6SAT/delta) for N and C and log(6 S^2 A T/delta) for N'. At the paper's scale L = floor(log2 K), at that of ucb.central_privacy alike.",
        r"E=\sqrt8\,b\max(\sqrt{L\lambda},\lambda)",
        (_LOG, *_SMALL, *_LARGE, _BUDGET, _COVER), ("ucb.laplace_sum",),
        reading=(_SIDES, _UNION, "a release sums m <= L P-sums; for lam <= L h^2 = lam/(2L) is at most 1/2, for lam >= L h^2 = 1/2"),
        laws=("laplace.density",),
    ),
)  # fmt: skip

LOCAL = (
    Statement(
        "ucb.lemma5_4.utility", "statement", "LOCAL-PRIVATIZER satisfies Assumption 1", source("Lemma 5.4", "ucb.lemma5_4.utility"),
        "For every delta in (0, 1] the levels E1 = (3H/eps) sqrt(8 K log(6SAT/delta)) and E2 with 6S^2AT are said to hold with probability 1 - delta. "
        "They do for log(6 S^2 A T/delta) <= 8K/3, and fail at S = A = H = 1, K = 2, delta = 10^-8.",
        r"E_1=\frac{3H}{\varepsilon}\sqrt{8K\log(6SAT/\delta)}",
        parts=("ucb.lemma5_4.utility.printed", "ucb.lemma5_4.utility.domain"), corrected_by="ucb.local_error",
        not_covered="delta between the part that is refuted and the domain that is proved, for other sizes",
        judgement=Judgement(Severity.REPAIRABLE, "The levels are right unless the failure probability is exponentially small in K; ucb.local_error has levels of the same order for every one."),
    ),
    Statement(
        "ucb.lemma5_4.utility.printed", "statement", "The levels of the LOCAL-PRIVATIZER, as printed", source("Lemma 5.4", "ucb.lemma5_4.utility"),
        "At K = 2 the probability that all counts are within the levels is (1 - exp(-E1/b))^(2SAH) (1 - exp(-E2/b))^(S^2AH); it is below 1 - delta "
        "for S = A = H = 1, delta = 10^-8 with natural logarithms (for S = 6, A = 2, H = 20 at 10^-5), and for delta = 10^-14 with logarithms to base 2.",
        r"P\ge1-\delta",
        (
            Obligation("natural", _printed("lemma5_4"), "the printed levels", point(**_small("1/100000000")), mutation=_MENDED),
            Obligation("paper", _printed("lemma5_4"), "the same at the sizes of the paper's experiment", point(**_EXPERIMENT, delta="1/100000"), mutation=_MENDED),
            Obligation("base_two", _first_release(f"sqrt(16*{_ONE}/log(2))", f"sqrt(16*{_TWO}/log(2))"), "the logarithm to base 2",
                       point(**_small("1/100000000000000")), mutation=_MENDED),
        ),
        reading=_FIRST_READ, corrected_by="ucb.local_error",
        laws=("laplace.tail",),
        judgement=Judgement(Severity.REPAIRABLE, "The levels are right unless the failure probability is exponentially small in K; ucb.local_error has levels of the same order for every one."),
    ),
    Statement(
        "ucb.lemma5_4.utility.domain", "project", "Where the printed levels of the LOCAL-PRIVATIZER hold", source("Lemma 5.4", "ucb.lemma5_4.utility"),
        "If log(6 S^2 A T/delta) <= 8K/3, the printed levels hold with probability 1 - delta (natural logarithm; to base 2 they are larger).",
        r"\sqrt{8K\lambda},\quad h^2=\min(\lambda/(2K),2/3)",
        (_LOG, *_SMALL, *_WIDE, *_units("lemma5_4", "K", "1"), _BUDGET, _COVER), ("ucb.laplace_sum",),
        reading=(_SIDES, _UNION, "L = K: the count before episode k has m = k - 1 <= K noises; for lam <= 3K/2 h^2 = lam/(2K) is at most 3/4, for lam = K r beyond it h^2 = 2/3"),
        domain="3*log(6*S^2*A*K*H/delta) <= 8*K, delta that of the levels",
        not_covered="sizes outside the domain, where ucb.local_error gives other levels",
    ),
    Statement(
        "ucb.local_error", "project", "Levels of the LOCAL-PRIVATIZER for every delta", source("Lemma 5.4", "ucb.lemma5_4.utility"),
        "Noise of scale b on each entry: with probability 1 - delta all counts err by at most sqrt(8) b max(sqrt(K lam), lam), lam as in ucb.central_error.",
        r"E=\sqrt8\,b\max(\sqrt{K\lambda},\lambda)",
        (_LOG, *_SMALL, *_LARGE, _BUDGET, _COVER), ("ucb.laplace_sum",),
        reading=(_SIDES, _UNION, "L = K: a count has m <= K noises; for lam <= K h^2 = lam/(2K) is at most 1/2, for lam >= K h^2 = 1/2"),
        laws=("laplace.density",),
    ),
)  # fmt: skip

STATEMENTS = (LAPLACE_SUM, *CENTRAL, *LOCAL)
