"""Preserving expert-level privacy in offline reinforcement learning: the coin of Algorithm 3, and how data are drawn.

``x`` stands for the coin's probability p, ``z`` for e^epsilon, ``s`` for the noise multiplier.
"""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from accountant.published.expert import PAPER, VERSION
from accountant.sources import Source
from proofs_check.hints import IDENTITY, POSITIVE, expect, have, positive
from proofs_check.papers.expert_release import NEIGHBOURS
from proofs_check.statement import Claim, Obligation, Statement, formula, make_claim

__all__ = ["STATEMENTS"]

OPEN, HALF, UNIT, REAL, MANY = "(0, inf)", "[0, inf)", "[0, 1]", "(-inf, inf)", "[1, inf)"
_COIN = {"x": "(0, 1]", "b": MANY, "m": MANY, "z": "(1, inf)", "s": OPEN}
NOTE = "docs/notes/expert_coin.md"


def _source(item: str, name: str) -> Source:
    return Source(PAPER, VERSION, item, name)


def _stick(rate: str) -> str:
    """The hockey stick of (1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2) at epsilon = log z."""
    odds = f"(1 + (z-1)/{rate})"
    low, high = (f"(s*log({odds}) {sign} 1/(2*s))/sqrt(2)" for sign in "-+")
    return f"{rate}*(erfc({low}) - {odds}*erfc({high}))/2"


_Q, _BATCH = formula("expert.rate"), "(b/m)"
_BOUND = make_claim(_COIN, f"{_stick(_Q)} >= x*{_stick(_BATCH)}", "m >= b")
AMPLIFICATION = Statement(
    "expert.amplification", "statement", "The coin as subsampling", _source("Section 4 and Appendix B.2", "expert.amplification"),
    "Algorithm 3 (each step a DP-SGD step with probability p, else a plain step on the stable prefixes) is as private as DP-SGD with Poisson subsampling at the rate q = p b/m: in "
    "particular its first step has, for every eps > 0, at most the hockey-stick divergence of the Gaussian mechanism subsampled at q.",
    r"q=p\cdot\frac{b}{m}",
    (
        Obligation("first_step", _BOUND, "p = 1/2, b = 1 of m = 2, noise multiplier 1, e^eps = 5/4: the step's divergence is 0.0659, the accountant's 0.0477",
                   {"point": {"x": "1/2", "b": "1", "m": "2", "z": "5/4", "s": "1"}}, mutation=make_claim(_COIN, f"{_stick(_Q)} >= x*{_stick(_BATCH)}", "m >= b", "x == 1", "z == 2", "s == 1")),
    ),
    reading=(NEIGHBOURS, "one step, one parameter, clip 1: the differing expert's gradient is 1, all others 0; the plain step on the released prefixes moves the parameter by a known amount, which a noisy step hits "
             "with probability 0: the coin is visible, and the divergence is p times that of the noisy step",
             "the hockey stick of (1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2) at e^eps = z is q (Phi(-s l + 1/(2s)) - odds Phi(-s l - 1/(2s))), odds = 1 + (z-1)/q, l = log odds, Phi(t) = erfc(-t/sqrt 2)/2"),
    corrected_by="expert.amplification_visible",
    not_covered="nothing: one step is enough to refute it",
)  # fmt: skip

_FLIP = {"c": UNIT, "d": HALF}
_APART = (("c",), ("d",))
_TILT = {"w": UNIT, "r": HALF}
_RATES = {"x": UNIT, "q": UNIT, "z": MANY}


def _mixture(factor: str) -> Claim:
    return make_claim(
        {"x": UNIT}, f"{factor}*x*E(d) >= E(c*d)", "E(c) == x", random=_FLIP, independent=_APART
    )


def _mixture_least(factor: str) -> Claim:
    return make_claim(
        {"x": UNIT}, f"E(c*d) >= {factor}*x*E(d)", "E(c) == x", random=_FLIP, independent=_APART
    )


def _order(factor: str) -> Claim:
    return make_claim(
        {"x": UNIT},
        f"1 - x + {factor}*x*E(d) >= E((1-c) + c*d)",
        "E(c) == x",
        random=_FLIP,
        independent=_APART,
    )


def _compared(rate: str) -> Claim:
    return make_claim(_RATES, f"x*E(w*(q*(r-1) - (z-1))) >= E(w*({rate}*(r-1) - (z-1)))", random=_TILT)


def _steps(rate: str) -> Claim:
    return make_claim(
        {"M": OPEN, "P": HALF},
        f"{rate}*P >= E(W*v)",
        "P >= E(W)",
        "0 >= E(W*(v-M))",
        random={"W": HALF, "v": HALF},
    )


VISIBLE = Statement(
    "expert.amplification_visible", "project", "The coin is seen", _source("Section 4 and Appendix B.2", "expert.amplification_visible"),
    "Let a DP-SGD step at the rate b/m have hockey-stick divergence D(eps) and, for an order a > 1, the moment R = exp((a-1) eps_{b/m}(a)). The pair of coin and step has exactly p D(eps) for eps >= 0 and the "
    "moment 1 - p + p R, N steps at most (1 - p + p R)^N: RDP of log(1 - p + p R)/(a-1) a step. Both are at least what the rate p b/m gives, and for eps > 0, 0 < p < 1 more. The printed rate is "
    "right if the plain step, too, adds the noise and moves the mean by as much as an empty batch does.",
    r"\delta(\varepsilon)=p\,D(\varepsilon),\qquad\frac{N}{a-1}\log\left(1-p+p\,e^{(a-1)\varepsilon_{b/m}(a)}\right)",
    (
        Obligation("divergence_most", _mixture("1"), "c is the coin, d the excess density of the noisy step; the plain step's is (1 - e^eps)_+ = 0", expect([], positive(("-E_d", 0))), mutation=_mixture("1/2")),
        Obligation("divergence_least", _mixture_least("1"), "and not less", expect([], positive(("E_d", 0))), mutation=_mixture_least("2")),
        Obligation("moment", _order("1"), "d is the noisy step's density ratio to the power a", expect([], positive(("1-E_d", 0))), mutation=_order("1/2")),
        Obligation("steps", _steps("M"), "N steps, given the past: M = 1 - p + p R", expect([], positive(("M", 0), ("1", 1))), mutation=_steps("M/2")),
        Obligation("printed_is_less", _compared("x*q"), "for every event w: what the printed rate counts, (1-x)(z-1) Pr(w) less, r the density of N(1, s^2) to N(0, s^2)",
                   expect([("w*(1-x)*(z-1)", positive(reflect=["x"]))], positive(("1", 0))), mutation=_compared("q")),
        Obligation("order_two", make_claim({"x": UNIT, "q": UNIT, "y": HALF}, "1 - x + x*(1 + q**2*y) >= 1 + (x*q)**2*y"), "order 2: the moment at rate q is 1 + q^2 y, y = e^(1/s^2) - 1", have("1 - x >= 0", positive(reflect=["x"]), positive(("x*q**2*y", 0))),
                   {"x": "1", "q": "1", "y": "1"}),
        Obligation("hidden", make_claim({"x": UNIT, "q": UNIT}, "(1-x) + x*(1-q) == 1 - x*q"), "a plain step with the law of an empty batch: one mixture at rate p q", IDENTITY, {"x": "1/2", "q": "1/2"}),
    ),
    reading=("the coin is independent of the data and of the step's noise; a plain step has the same law under both expert sets given the released prefixes",
             "(1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2) at order 2: E[(1 - q + q r)^2] = 1 + q^2 (E[r^2] - 1) and E[r^2] = exp(1/s^2)", f"written out in {NOTE}"),
    not_covered="that the Poisson-subsampled Gaussian dominates one DP-SGD step (classic.poisson and its neighbours); batches of fixed size b, whose privacy is for replaced experts, not for added ones",
)  # fmt: skip

_NEXT = {"N": MANY} | dict.fromkeys(("n", "c", "k", "j"), HALF)
_DRAWS = {"m": "[2, inf)", "N": MANY}
REDRAW = Statement(
    "expert.redraw", "project", "Algorithm 2 does not draw afresh", _source("Theorem 5.5 (proof)", "expert.redraw"),
    "As the proof of Theorem 5.5 has it, Algorithm 2 simply executes A T times: given that its first trajectory came from some expert, its second comes from the same expert with probability 1/m.",
    r"\frac{N-1}{mN-1}=\frac1m",
    (
        Obligation("same_expert", make_claim(_DRAWS, "(N-1)/(m*N-1) == 1/m", integers=("m", "N")), "2 experts with 2 trajectories each: 1/3, not 1/2", {"point": {"m": "2", "N": "2"}},
                   mutation=make_claim(_DRAWS, "(N-1)/(m*N-1) == 1/m - (m-1)/(m*(m*N-1))", integers=("m", "N"))),
    ),
    reading=("Algorithm 2 walks through a shuffled data set of N trajectories of each of m experts, without replacement; A draws an expert uniformly each time",),
    corrected_by="expert.redraw_difference",
    not_covered="how much privacy this changes: expert.shuffled_walk bounds it at the settings of the experiments",
)  # fmt: skip

DIFFERENCE = Statement(
    "expert.redraw_difference", "project", "By how much a shuffled data set differs from fresh draws", _source("Theorem 5.5 (proof)", "expert.redraw_difference"),
    "The second draw repeats the first expert less often than a fresh one by exactly (m-1)/(m (m N - 1)) <= 1/(m N), and any sequence of T experts has at most (m N)^T/((m N)(m N - 1)...(m N - T + 1)) times the "
    "probability that fresh draws give it; each factor is at most 1 + (T-1)/(m N - T + 1).",
    r"\frac1m-\frac{N-1}{mN-1}=\frac{m-1}{m(mN-1)}",
    (
        Obligation("difference", make_claim(_DRAWS, "1/m - (N-1)/(m*N-1) == (m-1)/(m*(m*N-1))"), "the difference", IDENTITY, {"m": "3", "N": "2"}),
        Obligation("small", make_claim(_DRAWS, "1/(m*N) >= (m-1)/(m*(m*N-1))"), "at most 1/(mN)", POSITIVE, mutation=make_claim(_DRAWS, "1/(2*m*N) >= (m-1)/(m*(m*N-1))")),
        Obligation("factor", make_claim(_NEXT, "N/(1+n+c+k)*(1 + (n+c)/(1+k)) >= (N-j)/(1+c+k)"),
                   "the next draw after n = T-1-c draws, j of them from the expert, of m N = T + k trajectories", POSITIVE, {"N": "1", "n": "0", "c": "0", "k": "0", "j": "0"}),
    ),
    reading=("given n draws without replacement, j of them from an expert, the next comes from this expert with probability (N - j)/(m N - n)",),
    not_covered="the converse factor, for which see expert.shuffled_walk",
)  # fmt: skip

_WEIGHT = {"z": "(1, inf)", "m": "[2, inf)"}
REUSE = Statement(
    "expert.reuse", "project", "Sequential composition on data that were drawn for the release", _source("Theorem 5.6 (proof)", "expert.reuse"),
    "If the release is (eps_1, delta_1)-DP over the draw of the logged trajectories, and training is (eps_2, delta_2)-DP for every fixed data set and release (as DP-SGD is), both together are "
    "(eps_1 + eps_2, delta_1 + delta_2)-DP.",
    r"\tfrac1m e^{3\varepsilon_2}+\left(1-\tfrac1m\right)e^{\varepsilon_2}\le e^{\varepsilon_2}",
    (
        Obligation("training", make_claim({"z": "(1, inf)", "g": "(0, 1/2]"}, "z*(1 - g) >= 1 - g/z"), "answering 0 with probability g = c e^(eps_2 V) <= 1/2 is (eps_2, 0)-DP when one expert moves V by 1: the other answer",
                   positive(reflect=["g"]), {"z": "1000001/1000000", "g": "1/2"}),
        Obligation("together", make_claim(_WEIGHT, "z >= (1/m)*z**3 + (1-1/m)*z", integers=("m",)), "m = 2, e^eps_2 = 2: the factor is 5, not 2", {"point": {"z": "2", "m": "2"}},
                   mutation=make_claim(_WEIGHT, "z**3 >= (1/m)*z**3 + (1-1/m)*z", integers=("m",))),
    ),
    reading=("m experts with one trajectory each, of two actions; the release is the first action of an expert drawn uniformly, all experts play it alike: eps_1 = delta_1 = 0; the remaining data are this expert's second "
             "action and the others' trajectories. Expert x and the others play different second actions",
             "V counts +1 for an expert whose whole trajectory remains, +1 for x's second action alone, -1 for another's alone: V = m if x was drawn, m - 2 if another was, m - 3 without x; one expert's data move V by 1"),
    corrected_by="expert.theorem5_6",
    not_covered="Algorithm 3 itself: training by Gaussian noise on clipped gradients, c_min and pmin, which make the factor at most about 1 + e^(2 eps_2)(e^eps' - 1) for one iteration",
)  # fmt: skip

STATEMENTS = (AMPLIFICATION, VISIBLE, REDRAW, DIFFERENCE, REUSE)
