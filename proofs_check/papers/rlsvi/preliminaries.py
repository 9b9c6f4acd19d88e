"""The definitions and lemmas of section 2 of the RLSVI paper: divergences, composition, conversion, billboard.

Neighbours are those of Remark 2 (see proofs_check/papers/rlsvi/privacy.py, whose statements rest on these).
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from collections.abc import Iterable

from dpproof.accountant.published.rlsvi import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, expect, mono, positive, split, subst
from dpproof.proofs_check.statement import DEFINITION, Judgement, Obligation, Severity, Statement, make_goal

ORDER = {"alpha": "(1, inf)"}
DELTA = {"delta": "(0, 1)"}
POSITIVE = "(0, inf)"
REAL = "(-inf, inf)"
NEIGHBOURS = "Neighbours: one user's rewards differ, her states and actions do not (Remark 2). "


def source(item: str, identity: str) -> Source:
    """Return the place of an item of the paper."""
    return Source(PAPER, VERSION, item, identity)


def at(variables: Iterable[str], **values: str) -> dict[str, str]:
    """Return the point with these values, every other variable being 1 (alpha 2, delta 1/2)."""
    rest = {"alpha": "2", "delta": "1/2"}
    return {v: values.get(v, rest.get(v, "1")) for v in variables}


DEFINITIONS = (
    Statement(
        "rlsvi.definition3", "definition", "Renyi differential privacy",
        source("Definition 3", "rlsvi.definition3"),
        f"{NEIGHBOURS}For eps > 0 and alpha > 1 a mechanism is (alpha, eps)-RDP if the Renyi divergence of order alpha between its "
        "output laws on any two neighbouring user sequences is at most eps; it is infinite if an event has probability 0 under Q but not under P.",
        r"D_\alpha(P\|Q)=\frac{1}{\alpha-1}\log E_Q[(P/Q)^\alpha]\le\varepsilon",
        reason=DEFINITION,
        not_covered="the printed formula does not say what the divergence is where Q vanishes and P does not; the usual convention, infinite, is "
        "added. The printed outputs are action sequences; Lemma 11 uses the word for tables of real numbers and Lemma 12 for policies",
    ),
    Statement(
        "rlsvi.definition4", "definition", "Joint differential privacy",
        source("Definition 4", "rlsvi.definition4"),
        f"{NEIGHBOURS}For eps > 0: for every k, every two user sequences that differ in user k only, and every set of action sequences of all the "
        "other users, the (eps, delta) inequality holds for what those others receive.",
        r"P(M_{-k}(U)\in B)\le e^{\varepsilon}P(M_{-k}(U')\in B)+\delta",
        reason=DEFINITION,
        not_covered="the printed definition leaves the range of delta to Definition 1, [0, 1)",
    ),
)  # fmt: skip

GAUSS = ORDER | {"v": POSITIVE}
_EXPONENT = (
    "alpha*(-(x-m)**2/(2*v)) + (1-alpha)*(-(x-n)**2/(2*v))"
    " == -(x-alpha*m-(1-alpha)*n)**2/(2*v) + alpha*(alpha-1)*(m-n)**2/(2*v)"
)
_AS_VARIANCE = make_goal(
    ORDER | {"Delta": POSITIVE, "epsilon": POSITIVE},
    "epsilon == alpha*Delta**2/(2*(alpha*Delta**2/(2*epsilon)))",
)
LEMMA6 = (
    Statement(
        "rlsvi.lemma6", "statement", "The Gaussian mechanism is (alpha, eps)-RDP", source("Lemma 6", "rlsvi.lemma6"),
        "Adding N(0, sigma^2) to a query of sensitivity Delta costs alpha Delta^2/(2 sigma^2) at order alpha; "
        "in particular a stated choice of sigma is said to give exactly (alpha, eps)-RDP.",
        r"D_\alpha\le\frac{\alpha\Delta^2}{2\sigma^2}",
        parts=("rlsvi.lemma6.divergence", "rlsvi.lemma6.bound", "rlsvi.lemma6.specifically"),
        corrected_by="rlsvi.lemma6.variance",
        not_covered="the bound itself stands (parts divergence and bound); what is refuted, and corrected, is the closing sentence alone",
        judgement=Judgement(Severity.SLIP, "The bound holds. Only the sentence after it fails, which takes a variance for a standard deviation and is not used."),
    ),
    Statement(
        "rlsvi.lemma6.divergence", "statement", "Renyi divergence of two Gaussians of equal variance",
        source("Lemma 6 (proof)", "rlsvi.lemma6"),
        "For all means m, n, variance v > 0 and alpha > 1 the divergence is alpha (m-n)^2/(2v): completing the square.",
        r"D_\alpha(N(m,v)\|N(n,v))=\frac{\alpha(m-n)^2}{2v}",
        (Obligation("exponent", make_goal(GAUSS | dict.fromkeys("xmn", REAL), _EXPONENT), "completing the square",
                    witness=at([*GAUSS, *"xmn"], x="3", n="0")),
         Obligation("divergence", make_goal(GAUSS | dict.fromkeys("mn", REAL), "alpha*(alpha-1)*(m-n)**2/(2*v)/(alpha-1) == alpha*(m-n)**2/(2*v)"),
                    "what is left of the exponent, over alpha - 1", witness=at([*GAUSS, *"mn"], n="0"))),
        reading=("E_Q[(P/Q)^alpha] is the integral over x of the exponential of the left side, divided by sqrt(2 pi v); the first term "
                 "on the right is the exponent of a Gaussian density, which integrates to one",),
        laws=("gaussian.density",),
    ),
    Statement(
        "rlsvi.lemma6.bound", "statement", "Divergence bounded by the sensitivity", source("Lemma 6", "rlsvi.lemma6"),
        "If the two query values differ by at most Delta, the divergence is at most alpha Delta^2/(2 sigma^2).",
        r"\frac{\alpha d^2}{2\sigma^2}\le\frac{\alpha\Delta^2}{2\sigma^2}",
        (
            Obligation(
                "sensitivity",
                make_goal(GAUSS | {"d": REAL, "Delta": "[0, inf)"}, "alpha*Delta**2/(2*v) >= alpha*d**2/(2*v)",
                           "Delta >= d", "Delta >= -d"),
                "a larger distance costs more",
                {"leaf": "positive", "multipliers": [[["/", "alpha", ["*", "2", "v"]], 0, 1]]},
                at([*GAUSS, "d", "Delta"]),
            ),
        ),
        ("rlsvi.lemma6.divergence",),
    ),
    Statement(
        "rlsvi.lemma6.specifically", "statement", "The stated choice of sigma, as printed",
        source("Lemma 6 (last sentence)", "rlsvi.lemma6"),
        "With the subscript read as the lemma defines it, a standard deviation: sigma = alpha Delta^2/(2 eps) gives "
        "(alpha, eps)-RDP. It does not: the subscript is a variance.",
        r"\sigma=\frac{\alpha\Delta^2}{2\varepsilon}\;\Rightarrow\;\frac{\alpha\Delta^2}{2\sigma^2}\le\varepsilon",
        (
            Obligation(
                "printed",
                make_goal(ORDER | {"Delta": POSITIVE, "epsilon": POSITIVE},
                           "epsilon >= alpha*Delta**2/(2*(alpha*Delta**2/(2*epsilon))**2)"),
                "the divergence at the printed sigma",
                {"point": {"alpha": "2", "Delta": "1", "epsilon": "2"}},
                mutation=_AS_VARIANCE,
            ),
        ),
        corrected_by="rlsvi.lemma6.variance",
        judgement=Judgement(Severity.SLIP, "The subscript of the noise is a variance where the lemma defines a standard deviation; the bound, which is all that is used later, holds."),
    ),
    Statement(
        "rlsvi.lemma6.variance", "project", "The stated choice, with the subscript read as a variance",
        source("Lemma 6 (last sentence)", "rlsvi.lemma6"),
        "sigma^2 = alpha Delta^2/(2 eps) gives a divergence of at most eps, and of exactly eps for two data sets whose query values are Delta apart.",
        r"\sigma^2=\frac{\alpha\Delta^2}{2\varepsilon}",
        (
            Obligation(
                "corrected",
                _AS_VARIANCE,
                "the divergence at the corrected variance",
                witness=at([*ORDER, "Delta", "epsilon"]),
            ),
        ),
        ("rlsvi.lemma6.bound",),
    ),
    Statement(
        "rlsvi.lemma6.printed_domain", "project", "Where the printed choice of sigma does hold",
        source("Lemma 6 (last sentence)", "rlsvi.lemma6"),
        "The printed sentence is true when the printed sigma is at least one: 2 eps <= alpha Delta^2.",
        r"2\varepsilon\le\alpha\Delta^2",
        (
            Obligation(
                "printed",
                make_goal(ORDER | {"Delta": POSITIVE, "epsilon": POSITIVE},
                           "epsilon >= alpha*Delta**2/(2*(alpha*Delta**2/(2*epsilon))**2)",
                           "alpha*Delta**2 >= 2*epsilon"),
                "the printed inequality under the extra hypothesis",
                {"leaf": "positive", "multipliers": [[["/", "epsilon", ["*", "alpha", ["^", "Delta", "2"]]], 0]]},
                at([*ORDER, "Delta", "epsilon"]),
            ),
        ),
        ("rlsvi.lemma6.bound",),
        domain="2*epsilon <= alpha*Delta^2",
    ),
)  # fmt: skip

_LOGS = ORDER | dict.fromkeys(("i", "o", "epsilon1", "epsilon2"), "[0, inf)")
_BOTH = {"e1": "[0, inf)", "e2": "[0, inf)"}
_RATIOS = dict.fromkeys("abc", "[0, inf)")
_BOTH_GIVEN = ("e2 >= c", "E(a*b) == E(a*c)", "e1 >= E(a)")
LEMMA7 = (
    Statement(
        "rlsvi.lemma7", "quoted", "Adaptive composition of RDP", source("Lemma 7", "rlsvi.lemma7"),
        "(alpha, eps1)-RDP, then (alpha, eps2)-RDP for every first output x, gives (alpha, eps1 + eps2)-RDP.",
        r"\varepsilon_1+\varepsilon_2", parts=("rlsvi.lemma7.densities",),
        rules=("disintegration: for any two transition kernels the density ratio of both outputs is the first one's times the second one's given "
               "the first, jointly measurable, and the double integral is an iterated one (Tonelli's theorem for a kernel)",),
        not_covered="a slip of the pen: the hypothesis prints eps where the conclusion has eps1; it is read as eps1 throughout. Where both outputs "
        "have joint densities, which is all that the paper uses, nothing is assumed (rlsvi.lemma7.densities)",
    ),
    Statement(
        "rlsvi.lemma7.densities", "quoted", "Adaptive composition of RDP, for outputs with a joint density", source("Lemma 7", "rlsvi.lemma7"),
        "If the two outputs have, under each data set, a joint density with respect to one product of two measures (outputs of finitely many values, Gaussian noise): "
        "(alpha, eps1)-RDP, then (alpha, eps2)-RDP for every first output x, gives (alpha, eps1 + eps2)-RDP: the inner "
        "integral is at most exp((alpha-1) eps2) for every x, the outer one at most exp((alpha-1) eps1).",
        r"E[\cdot]\le e^{(\alpha-1)\varepsilon_2}e^{(\alpha-1)\varepsilon_1}",
        (
            Obligation(
                "product",
                make_goal(_LOGS,
                           "epsilon1 + epsilon2 >= (i + o)/(alpha - 1)",
                           "(alpha - 1)*epsilon2 >= i", "(alpha - 1)*epsilon1 >= o"),
                "logarithms i, o of the two bounds on the integrals",
                {"leaf": "positive", "multipliers": [[["/", "1", ["-", "alpha", "1"]], j] for j in (0, 1)]},
                at(_LOGS),
            ),
            Obligation(
                "conditional",
                make_goal(_BOTH, "e1*e2 >= E(a*b)", *_BOTH_GIVEN, random=_RATIOS),
                "a, b: the density ratios of the two outputs to the power alpha, c the mean of b given the first output",
                expect([("a*(e2 - c)", positive(("a", 0)))], positive(("-1", 1), ("e2", 2), ("1", 3))),
                mutation=make_goal(_BOTH, "999/1000*e1*e2 >= E(a*b)", *_BOTH_GIVEN, random=_RATIOS),
            ),
        ),
        reading=("expectations under Q; e1 and e2 are exp((alpha-1) eps1) and exp((alpha-1) eps2), i and o the logarithms of the two integrals",
                 "a joint density is the first output's times the second one's given the first, so that the ratio of both outputs is a product too; "
                 "c(x) is the integral of b over the second output at the first output x, the mean of b given x: E[a b] = E[a c], as a depends on x alone; "
                 "c is at most e2 because the second mechanism is private for every first output",
                 "more outputs by induction"),
        not_covered="outputs without a joint density (rlsvi.lemma7)",
    ),
)  # fmt: skip

_OVER = ["/", "1", ["-", "alpha", "1"]]
_EVENT = ORDER | dict.fromkeys("cCqD", POSITIVE)
_EVENT_LAW = {"m": "[0, inf)", "r": "[0, inf)", "a": "[0, 1]"}
_EVENT_GIVEN = ("m >= C*(1 + alpha*(r/c - 1))", "E(a) == q", "E(a*r) == c*q", "D >= E(m)", "E(m) >= E(m*a)")
LEMMA8 = Statement(
    "rlsvi.lemma8", "quoted", "From RDP to approximate DP", source("Lemma 8", "rlsvi.lemma8"),
    "(alpha, eps)-RDP implies (eps + log(1/delta)/(alpha-1), delta)-DP for every delta in (0, 1); the divergence is infinite where Q vanishes and P "
    "does not (rlsvi.definition3). For an event of probabilities p, q: if p <= delta there is nothing to show; otherwise p <= exp(eps') q.",
    r"\varepsilon+\frac{\log(1/\delta)}{\alpha-1}",
    (
        Obligation(
            "event",
            make_goal(ORDER | DELTA | {"p": "(0, 1]", "q": "(0, 1]", "epsilon": "[0, inf)"},
                       "epsilon + log(1/delta)/(alpha-1) + log(q) >= log(p)",
                       "(alpha-1)*epsilon >= alpha*log(p) + (1-alpha)*log(q)", "log(p) >= log(delta)"),
            "p > delta and the divergence of the event give p <= exp(eps') q, in logarithms",
            {"leaf": "positive", "multipliers": [[_OVER, 0], [_OVER, 1]]},
            {"alpha": "2", "delta": "4999999/10000000", "p": "1/2", "q": "1/100", "epsilon": "3218876/1000000"},
        ),
        Obligation("tangent", make_goal(ORDER | {"t": REAL}, "exp(alpha*t) >= 1 + alpha*(exp(t) - 1)"), "r/c = exp(t): r^alpha lies above its tangent at c",
                   subst("alpha", "1 + b", "b", POSITIVE, split("t", "0", mono("t", -1, IDENTITY), mono("t", 1, IDENTITY))), {"alpha": "2", "t": "1/100"}),
        Obligation("data_processing", make_goal(_EVENT, "D >= C*q", *_EVENT_GIVEN, random=_EVENT_LAW),
                   "a: the event; r: the density ratio, m = r^alpha, c = p/q, C = c^alpha, D the bound exp((alpha-1) eps) on E_Q[m]",
                   expect([("m*(1 - a)", positive(reflect=["a"])), ("a*(m - C*(1 + alpha*(r/c - 1)))", positive(("a", 0)))],
                          positive(("1", 3), ("1", 4), ("1", 6), ("C*(1 - alpha)", 1), ("C*alpha/c", 2))),
                   mutation=make_goal(_EVENT, "999/1000*D >= C*q", *_EVENT_GIVEN, random=_EVENT_LAW)),
    ),
    rests_on=("rlsvi.definition3",),
    reading=("expectations under Q: q = E[a], p = E[a r] = c q, so that C q = p^alpha q^(1-alpha) <= exp((alpha-1) eps), the hypothesis of the first obligation in logarithms",
             "where r = 0 the tangent is C (1 - alpha) <= 0; a m <= m, which the last hypothesis repeats: E[a m] is finite",
             "the divergence being finite, Q(B) = 0 forces P(B) = 0 (rlsvi.definition3); then, and where P(B) <= delta, nothing is left to show"),
    not_covered="the printed formula of the divergence without that convention, for which the lemma fails: P = (1/2, 1/2), Q = (0, 1), alpha = 2 give -2 log 2 and "
    "log 2, but P has half its mass where Q has none",
)  # fmt: skip

_BILL = {"g": "[0, inf)", "delta": "[0, 1]"}
_BILL_LAW = {"p": "[0, inf)", "q": "[0, inf)", "a": "[0, 1]", "k": "[0, 1]"}
_BILL_GIVEN = ("a*(p - g*q) >= 0", "a*(p - g*q) >= p - g*q", "delta >= E(a*p) - g*E(a*q)")
LEMMA9 = Statement(
    "rlsvi.lemma9", "quoted", "Billboard lemma", source("Lemma 9", "rlsvi.lemma9"),
    "If a released value is (eps, delta)-DP, then what each user computes from it and from their own data is (eps, delta)-JDP.",
    r"\{f_i(\Pi_iU,M'(U))\}\ \text{is JDP}",
    (
        Obligation("others", make_goal(_BILL, "delta + g*E(q*k) >= E(p*k)", *_BILL_GIVEN, random=_BILL_LAW),
                   "k: the chance, given the released value, that what all the others compute lies in B; a: the event p > g q of released values",
                   expect([("(a - k)*(p - g*q)", positive(("1 - k", 0), ("k", 1)))], positive(("1", 2), ("1", 3))),
                   mutation=make_goal(_BILL, "999/1000*delta + g*E(q*k) >= E(p*k)", *_BILL_GIVEN, random=_BILL_LAW)),
    ),
    reading=("g = exp(eps); p and q are the densities of the released value for two user sequences that differ in user i only, with respect to a common law",
             "the others' data are the same in both sequences, so that k is one function of the released value, with values in [0, 1]; randomness "
             "of the f_j is independent of the mechanism's",
             "the third hypothesis is the mechanism's guarantee for the event p > g q"),
    not_covered="nothing; for f_j that are functions, as printed, k is 0 or 1. In words: docs/notes/rlsvi_billboard.md",
)  # fmt: skip

STATEMENTS = (*DEFINITIONS, *LEMMA6, *LEMMA7, LEMMA8, LEMMA9)
