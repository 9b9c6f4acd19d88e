"""Composition of (epsilon, delta) mechanisms, proved from the definition; and the two places where the paper composes.

Random variables live under the law Q of what is released under the neighbour; r, with E(r) = 1, is the density of P.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from accountant.published.expert import PAPER, VERSION
from accountant.sources import Source
from proofs_check.hints import IDENTITY, POSITIVE, RANGE, expect, have, mono, positive, split, subst, taylor
from proofs_check.papers.expert_release import NEIGHBOURS
from proofs_check.statement import Claim, Obligation, Statement, formula, make_claim

__all__ = ["STATEMENTS"]

OPEN, HALF, UNIT, REAL, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "(-inf, inf)", "[1, inf)"
NOTE = "docs/notes/expert_composition.md"


def _source(item: str, name: str) -> Source:
    return Source(PAPER, VERSION, item, name)


_SIGNS = {"s": "[-1, 1]", "x": REAL, "a": HALF, "b": HALF}
_CHORD = "(1+s)/2*exp(y) + (1-s)/2*exp(-y) >= exp(y*s)"
_SLOPE = "k/y*(exp(y)-exp(-y))/2"
_HISTORY = {"W": HALF, "v": HALF}
_CUT = {"A": HALF, "B": HALF, "r": HALF, "a": HALF}
_FINAL = {"u": REAL, "s": UNIT, "A": HALF, "B": HALF}


def _moment(factor: str) -> Claim:
    return make_claim({"y": OPEN, "k": MANY, "d": UNIT}, f"{factor}*(exp(y)+exp(-y))/2*(1+k*d) >= E(exp(y*s))",
                      _CHORD, "E(exp(x)) + E(a) - E(b) == 1", "d >= E(b)", "E(x) == y/k*E(s)", random=_SIGNS)  # fmt: skip


def _step(rate: str) -> Claim:
    return make_claim(
        {"m": REAL, "n": HALF},
        f"exp(m*n + {rate}) >= E(W*v)",
        "exp(m*n) >= E(W)",
        "0 >= E(W*(v-exp(m)))",
        random=_HISTORY,
    )


def _cut(factor: str) -> Claim:
    return make_claim(
        {"d": UNIT},
        f"E(A - B) + {factor}*d >= E(A*r - B*(r-a))",
        "E((A-B)*(r-1)) == 0",
        "0 >= E(B*(a-d))",
        "1 >= E(B)",
        random=_CUT,
    )


def _final(factor: str) -> Claim:
    return make_claim({"E": OPEN, "k": MANY, "t": HALF}, f"exp(E)*E(exp(k*u)) + {factor}*t >= E(s*A) - exp(E)*E(s)", "t >= E(A - B)", "A >= B",
                      "exp(E)*exp(u) >= B", random=_FINAL)  # fmt: skip


COMPOSITION = Statement(
    "expert.composition", "project", "Advanced composition, from the definition",
    _source("Theorem 5.5 (proof)", "expert.composition"),
    "T adaptively chosen mechanisms, each (eps, d)-DP in both directions given everything released before, are together (E, T d + exp(-(k-1) E + T (k^2 eps^2/2 + k d)))-DP for every "
    "E > 0 and every k >= 1.",
    r"\delta=Td+\exp\left(-(k-1)E+T\left(\tfrac{k^2\varepsilon^2}{2}+kd\right)\right)",
    (
        Obligation("chord", make_claim({"u": HALF, "w": HALF}, "w*exp(u+w) + u*exp(-u-w) >= (u+w)*exp(w-u)"), "exp lies below its chord over [-y, y], at y s, y = u + w and s = (w - u)/y",
                   have("exp(2*u) >= 1+2*u", taylor("u", "0", 2), have("exp(-2*w) >= 1-2*w", taylor("w", "0", 2), positive(("w*exp(w-u)", 0), ("u*exp(w-u)", 1)))),
                   {"u": "0", "w": "1"}),
        Obligation("moment", _moment("1"), "one step: x = eps s is the loss cut off to [-eps, eps], y = k eps, and exp(x) = r - a + b with a = (r - e^eps)_+ and b = (e^-eps - r)_+",
                   have("y*(exp(y)+exp(-y)) >= exp(y)-exp(-y)", mono("y", 1, RANGE),
                        expect([("(1+s)/2*exp(y) + (1-s)/2*exp(-y) - exp(y*s)", positive(("1", 0))), ("exp(x) - 1 - x", taylor("x", "0", 2))],
                               positive(("1", 5), (_SLOPE, 6), (f"-{_SLOPE}", 1), (_SLOPE, 2), (_SLOPE, 3), ("k*d/(2*y)", 4)))), mutation=_moment("1/2")),
        Obligation("square", make_claim({"y": HALF}, "2*exp(y**2/2) >= exp(y) + exp(-y)"), "cosh y <= exp(y^2/2)",
                   split("y", "1/2", taylor("y", "0", 4), split("y", "2", taylor("y", "1/2", 4), subst("y", "2+t", "t", "[0, inf)", POSITIVE))), {"y": "0"}),
        Obligation("linear", make_claim({"k": HALF}, "exp(k) >= 1 + k"), "1 + k d <= exp(k d)", taylor("k", "0", 2), {"k": "0"}),
        Obligation("step", _step("m"), "n steps and one more, m = k^2 eps^2/2 + k d: W = exp(k X) with X the sum of the cut losses so far, v that of the next step",
                   expect([], positive(("1", 1), ("exp(m)", 0))), mutation=_step("m - 1/1000")),
        Obligation("cut", _cut("1"), "cutting the densities off at e^eps costs d a step: A is the product of the r so far, B that of min(r, e^eps)",
                   expect([], positive(("-1", 0), ("1", 1), ("d", 2))), mutation=_cut("1/2")),
        Obligation("event", _final("1"), "an event S, s = 1 on it: t = T d, X = E + u, B <= exp(X)",
                   expect([("exp(E)*exp(k*u) + A - B - s*A + s*exp(E)",
                            split("u", "0", have("1 >= exp(u)", RANGE, positive(("1-s", 1), ("s", 2), ("s*exp(E)", 3))),
                                  have("exp((k-1)*u) >= 1", RANGE, positive(("1-s", 1), ("s", 2), ("exp(E)*exp(u)", 3), reflect=["s"]))))], positive(("1", 0), ("1", 3))),
                   mutation=_final("1/2")),
    ),
    reading=("(eps, d)-DP in both directions, given everything released before: E[(r - e^eps)_+] <= d and E[(1 - e^eps r)_+] <= d, so that E(a) <= d and E(b) <= d",
             "given the past, E(W (v - exp(m))) <= 0, E((A-B)(r-1)) = 0 and E(B (a-d)) <= 0 for the weights W, A - B and B, which are functions of the past",
             "induction over the steps: E(exp(k X)) <= exp(T m) and E(A - B) <= T d; exp(E) E(exp(k u)) = exp(-(k-1) E) E(exp(k X)); the chord at u = y(1-s)/2, w = y(1+s)/2", f"written out in {NOTE}"),
    not_covered="releases under Pi that cannot occur under Pi' (here pmin > 0 and Laplace noise exclude them; in general they are part of a)",
)  # fmt: skip

_LOG = "log(2/delta)"
_EACH = f"(2*{formula('expert.each_epsilon')})"
_ORDER = f"(8*{_LOG}/E)"
_BUDGET = {"E": OPEN, "delta": "(0, 1)", "T": MANY}
_PAPERS = {"E": "[5, 10]", "delta": "[3/10000, 1/3000]"}
THEOREM_55 = Statement(
    "expert.theorem5_5", "statement", "The release of T stable prefixes", _source("Theorem 5.5", "expert.theorem5_5"),
    "Under Assumptions 1 to 3, Algorithm 2 with eps' = eps_1/sqrt(32 T log(2/delta_1)) is (eps_1, delta_1)-DP.",
    r"\varepsilon'=\frac{\varepsilon_1}{\sqrt{32T\log(2/\delta_1)}}",
    (
        Obligation("each", make_claim(_BUDGET, f"{_EACH} == E/sqrt(8*T*{_LOG})"), "what Theorem 5.3 gives one iteration", IDENTITY, {"E": "1", "delta": "1/2", "T": "1"}),
        Obligation("exponent", make_claim(_BUDGET, f"({_ORDER}-1)*E - T*(({_ORDER}*{_EACH})**2/2 + {_ORDER}*(delta/(2*T))) >= {_LOG}", f"3*{_LOG} >= E + 4*{_LOG}*delta/E"),
                   "any T: expert.composition with k = 8 log(2/delta_1)/eps_1", positive(("1", 0)),
                   mutation=make_claim(_BUDGET, f"({_ORDER}-1)*E - T*(({_ORDER}*{_EACH})**2/2 + {_ORDER}*(delta/(2*T))) >= {_LOG}", f"4*{_LOG} >= E + 4*{_LOG}*delta/E")),
        Obligation("order", make_claim({"E": OPEN, "delta": "(0, 1)"}, f"8*{_LOG} >= E", f"3*{_LOG} >= E + 4*{_LOG}*delta/E"), "that k is at least 1", positive(("1", 0)),
                   mutation=make_claim({"E": OPEN, "delta": "(0, 1)"}, f"2*{_LOG} >= E", f"3*{_LOG} >= E + 4*{_LOG}*delta/E")),
        Obligation("tail", make_claim({"delta": "(0, 1)", "t": HALF}, f"delta/2 >= exp(-({_LOG}+t))"), "the exponential is at most delta_1/2", POSITIVE, {"delta": "1/2", "t": "0"}),
        Obligation("total", make_claim(_BUDGET, "T*(delta/(2*T)) + delta/2 == delta"), "and the T iterations spend the other half", IDENTITY, {"E": "1", "delta": "1/2", "T": "1"}),
        Obligation("papers_parameters", make_claim(_PAPERS, f"3*{_LOG} >= E + 4*{_LOG}*delta/E"), "the experiments: eps_1 from 5 to 10, delta_1 = 9/10 or 1 times 1/3000, every T",
                   mutation=make_claim(_PAPERS, f"{_LOG} >= E + 4*{_LOG}*delta/E")),
        Obligation("few", make_claim(_BUDGET, f"E**2 >= (T*{_EACH})**2", f"8*{_LOG} >= T"), "T <= 8 log(2/delta_1): the epsilons simply add up to at most eps_1, by expert.basic_composition",
                   positive((f"E**2/(8*{_LOG})", 0)), mutation=make_claim(_BUDGET, f"E**2 >= (T*{_EACH})**2", f"9*{_LOG} >= T")),
    ),
    ("expert.theorem5_3", "expert.composition", "expert.basic_composition", "expert.shuffled_walk"),
    reading=(NEIGHBOURS, "Algorithm 2 is T iterations of A (section 5), each of which draws its expert uniformly and its trajectory afresh, whatever was released before; that Algorithm 2 as printed, without replacement, keeps "
             "the guarantee at the settings of the experiments, too, is expert.shuffled_walk",
             "Theorem 5.3 for (Pi, Pi') and for (Pi', Pi), so in both directions; l = log(2/delta_1), natural logarithms"),
    domain="with T trajectories drawn afresh: eps_1 + 4 delta_1 log(2/delta_1)/eps_1 <= 3 log(2/delta_1) and any T, or T <= 8 log(2/delta_1) and any eps_1; walking through the shuffled data set as printed: every setting of the "
    "experiments (3000 experts or one more or less, 20 trajectories each)",
    not_covered="the walk through a shuffled data set at other settings (expert.redraw); larger eps_1 with T > 8 log(2/delta_1), where the composition fails (expert.composition_every_budget) and only Algorithm 2 itself could "
    "still hold; eps_1 below about 4 delta_1/3. Theorem 3.20 of Dwork and Roth, quoted, gives eps_1 (e^eps - 1)/eps <= 4 log(2/delta_1), eps = 2 eps'",
)  # fmt: skip

_COINS = formula("expert.each_epsilon", T="16", delta="1/2")
_ODDS = f"exp(2*{_COINS})"
_STICK = f"({_ODDS}**16 + 16*{_ODDS}**15 - exp(E)*(1 + 16*{_ODDS}))/(1+{_ODDS})**16"
EVERY = Statement(
    "expert.composition_every_budget", "project", "The composition step without its hypothesis", _source("Theorem 5.5 (proof)", "expert.composition_every_budget"),
    "As the proof of Theorem 5.5 uses it, for every eps_1 > 0: T mechanisms that are each (eps_1/sqrt(8 T log(2/delta_1)), delta_1/(2T))-DP are together (eps_1, delta_1)-DP. "
    "(Corollary 3.21 of Dwork and Roth asks for eps_1 < 1.)",
    r"\sum_{j\ge15}\binom{16}{j}\frac{e^{j\varepsilon}-e^{\varepsilon_1+(16-j)\varepsilon}}{(1+e^\varepsilon)^{16}}\le\tfrac12",
    (
        Obligation("coins", make_claim({"E": OPEN}, f"1/2 >= {_STICK}"), "T = 16 randomised responses, delta_1 = 1/2: the event of at least 15 truthful answers, at eps_1 = 50",
                   {"point": {"E": "50"}}, mutation=make_claim({"E": OPEN}, f"1/2 >= {_STICK}", "E == 1")),
    ),
    reading=("randomised response tells the truth with odds e^eps and is (eps, 0)-DP; Pr(S) - e^eps_1 Pr'(S) for the event of at least 15 of 16 answers for the first data set is the sum",),
    corrected_by="expert.theorem5_5",
    not_covered="Algorithm 2 itself at such budgets",
)  # fmt: skip

_SUM = {"p": HALF, "q": HALF, "x": HALF, "f": UNIT, "g": UNIT, "h": UNIT}


def _sum(factor: str) -> Claim:
    return make_claim({"e1": HALF, "e2": HALF, "d1": UNIT, "d2": UNIT}, f"exp(e1+e2)*E(q*g) + {factor}*d1 + d2 >= E(p*f)", "exp(e1)*q + x >= p", "d1 >= E(x)",
                      "h + d2 >= f", "exp(e2)*g >= h", "E(p) == 1", random=_SUM)  # fmt: skip


BASIC = Statement(
    "expert.basic_composition", "project", "Two mechanisms after each other", _source("Theorem 5.6 (proof)", "expert.basic_composition"),
    "If the first release is (eps_1, delta_1)-DP and the second, given the first, (eps_2, delta_2)-DP, both together are (eps_1 + eps_2, delta_1 + delta_2)-DP.",
    r"\varepsilon=\varepsilon_1+\varepsilon_2,\qquad\delta=\delta_1+\delta_2",
    (
        Obligation("sum", _sum("1"), "p and q are the densities of the release under Pi and Pi', f and g the chances of the event given it, h the smaller of 1 and e^eps_2 g",
                   expect([("exp(e1+e2)*q*g + x + d2*p - p*f",
                            have("x*(1-h) >= 0", positive(reflect=["h"]), positive(("h", 0), ("exp(e1)*q", 3), ("p", 2), ("1", 5))))], positive(("1", 5), ("1", 1), ("-d2", 4))),
                   mutation=_sum("1/2")),
    ),
    reading=("(eps_1, delta_1)-DP: the excess x = (p - e^eps_1 q)_+ has E(x) <= delta_1; (eps_2, delta_2)-DP given the first release: f <= e^eps_2 g + delta_2, so f <= h + delta_2 with h = min(1, e^eps_2 g)",),
)  # fmt: skip

THEOREM_56 = Statement(
    "expert.theorem5_6", "statement", "Release and training together", _source("Theorem 5.6", "expert.theorem5_6"),
    "Algorithm 3 is (eps_1 + eps_2, delta_1 + delta_2)-DP, by sequential composition of the release of the stable prefixes, (eps_1, delta_1)-DP, and of DP-SGD on what is left, whose noise ensures (eps_2, delta_2)-DP.",
    r"\varepsilon=\varepsilon_1+\varepsilon_2,\qquad\delta=\delta_1+\delta_2",
    BASIC.obligations,
    (),
    ("training is (eps_2, delta_2)-DP given the release, for the law that the trajectories left over have given it: stronger than DP-SGD's guarantee for every fixed data set, from which the sum does not follow (expert.reuse)",
     "the release is (eps_1, delta_1)-DP, which is Theorem 5.5 on its domain"),
    reading=(NEIGHBOURS, "'noise scaled as to ensure (eps_2, delta_2) expert-level DP' (section 4) is the hypothesis on training; that the printed rate ensures it is expert.amplification, which is refuted"),
    not_covered="the hypothesis itself, which is about the law of what is left given the release: DP-SGD is private for every fixed data set, and from that the sum does not follow where training reads the very trajectories "
    "that were drawn for the release (expert.reuse, a finite example); whether Algorithm 3 with its clipped Gaussian steps, c_min and pmin keeps the sum is not decided here; the released policy follows by post-processing",
)  # fmt: skip

STATEMENTS = (COMPOSITION, BASIC, THEOREM_55, EVERY, THEOREM_56)
