"""Statements about shuffling: shuffled counts in both readings of SDP-PE, and clones."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sdp_pe import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import POSITIVE, expect, positive
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement, make_goal

_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"
_SHIFTED = {"c": "[0, inf)", "N": "[0, inf)", "k": "[1, inf)", "p": "(0, 1)", "s": "[1, inf)"}
_HERE, _THERE = "c*(N+1-k)*p/(k*(1-p))", "(N+1)*p >= k*(p + (1-p)*s)"
_AT_SHIFT = {"c": "1", "N": "2", "k": "1", "p": "1/2", "s": "2"}
_SIGNED = {"a": "[0, 1]", "x": "[0, 1]", "d": "(-inf, inf)"}
_BEST = ("a*d >= 0", "a*d >= d")
_MASSES = {"A": "[0, 1]", "c": "[0, 1]", "s": "[1, inf)"}
_NOISE = {"q": "[0, 1/2]", "s": "[1, inf)"}
_COIN = {"A": "(-inf, inf)", "h": "(-inf, inf)"}
_PRINTED = {"n": "[1, inf)", "epsilon": "(0, 1)", "beta": "(0, 1)"}

BITS = Statement(
    "classic.shuffled_bits", "project", "Shuffled bits are a binomial sum, and its divergence is attained",
    Source(PAPER, VERSION, "Section V, each bit its own message", "classic.shuffled_bits"),
    "Users send their bit and their noise bits as separate messages, N noise bits of chance p in all. What the shuffler shows is "
    "the sum, so that replacing a user's bit compares Binomial(N, p) with the same shifted by 1, whatever the others hold. With s = "
    "e^epsilon and K the integer part of (N+1)p/(p + (1-p)s): delta(epsilon) = P[X = K] - (s - 1) P[X < K], and the like with 1-p.",
    r"\delta(\varepsilon)=P[X=K]-(e^{\varepsilon}-1)\,P[X<K]",
    (
        Obligation("below", make_goal(_SHIFTED, f"{_HERE} >= s*c", _THERE),
                   "c = P[X = k-1]: up to K the mass of k exceeds s times that of the shifted law",
                   positive(("c/(k*(1-p))", 0)), _AT_SHIFT),
        Obligation("above", make_goal(_SHIFTED, f"s*c >= {_HERE}", "k*(p + (1-p)*s) >= (N+1)*p"), "above K it does not",
                   positive(("c/(k*(1-p))", 0)), _AT_SHIFT),
        Obligation("event", make_goal({}, "E(a*d) >= E(x*d)", *_BEST, random=_SIGNED),
                   "d: the mass of k less s times the shifted one, a: whether k <= K, x: any event; a sum over k is N + 2 times a mean over one drawn uniformly",
                   expect([("(a - x)*d", positive(("1 - x", 0), ("x", 1)))], positive(("1", 2))),
                   mutation=make_goal({}, "999/1000*E(a*d) >= E(x*d)", *_BEST, random=_SIGNED)),
        Obligation("value", make_goal(_MASSES, "(A + c) - s*A == c - (s-1)*A"), "A = P[X < K], c = P[X = K]: P[X <= K] - s P[X + 1 <= K]",
                   witness={"A": "1/2", "c": "1/4", "s": "2"}),
    ),
    reading=("the shuffler shows how many of the messages are ones, which is the sum; the others' bits shift both laws alike",
             "the mass of k is c (N+1-k)/k times p/(1-p); at k = 0 the shifted law has no mass, at k = N+1 the other one has none",
             "in the other order X and X + 1 change places: N - X is Binomial(N, 1-p)"),
    not_covered="the arithmetic of the accountant (docs/notes/binomial.md); users who send other messages than the protocol's",
    laws=("binomial.mass",),
)  # fmt: skip

SUMS = Statement(
    "classic.shuffled_sums", "project", "With more users than tau, the printed sums are no better shuffled than signed",
    Source(PAPER, VERSION, "Section V, z_i sent as one number", "classic.shuffled_sums"),
    "With n > tau users and noise bits of chance q = tau/(2n): among users who all hold 1, only a user who holds 0 can send the message "
    "0, which happens with chance 1 - q; and one user's message alone, unshuffled, has delta(epsilon) = 1 - q at every epsilon. So the "
    "shuffled sums have delta = 1 - tau/(2n), exactly. With n <= tau and m fair bits each, delta is at least 2^-m and at most that "
    "of one message, Binomial(m, 1/2) against the same shifted by 1.",
    r"\delta(\varepsilon)=1-\frac{\tau}{2n}\quad(n>\tau)",
    (
        Obligation("alone", make_goal(_NOISE, "s*(1-q) >= q"), "of one message, only the outcome 0 tells bit 0 from bit 1",
                   witness={"q": "1/2", "s": "1"}),
        Obligation("other_way", make_goal(_NOISE, "1 - q >= 1 - s*q"), "the other direction is no larger, outcome 1 included",
                   witness={"q": "1/2", "s": "1"}),
        Obligation("other_way_leak", make_goal(_NOISE, "1 - q >= q"), "the other direction is no larger, outcome 2 alone",
                   witness={"q": "1/2", "s": "1"}),
    ),
    rests_on=("sdp.lemma10.privacy.messages.exact", "classic.post_processing"),
    reading=("for n > tau this is sdp.lemma10.privacy.messages.exact",
             "for n <= tau: among users who all hold 1 the message 0 has chance 2^-m if one of them holds 0 instead, and else never; and the shuffled messages are a function of one user's "
             "message and of others' messages, which do not depend on that user's bit"),
    not_covered="for n <= tau, how much of one message's delta the shuffling hides: classic.shuffled_sums.few",
    laws=("binomial.mass",),
)  # fmt: skip


def _processed(factor: str) -> dict[str, object]:
    return dict(make_goal({"s": "[1, inf)", "beta": "[0, 1]"}, f"s*E(b*u) + {factor}*beta >= E(a*u)", "beta >= E(c)", "s*b + c >= a", "E(c*u) >= 0",
                           random={"a": "[0, inf)", "b": "[0, inf)", "c": "[0, inf)", "u": "[0, 1]"}))  # fmt: skip


def _event(factor: str) -> dict[str, object]:
    return dict(make_goal({}, f"{factor}*E(a*d) >= E(x*d)", *_BEST, random=_SIGNED))


_FEWER = expect(
    [("u*(s*b+c-a)", positive(("u", 1))), ("c*(1-u)", positive(reflect=["u"]))],
    positive(("1", 0), ("1", 3), ("1", 4)),
)
_JOINT = expect([("(a - x)*d", positive(("1 - x", 0), ("x", 1)))], positive(("1", 2)))
_CELL = {"u": "[0, 1]", "w": "[0, 1]"}
_RATIOS = dict.fromkeys(("A", "B", "c", "t"), "[0, inf)")

COUNTERS = Statement(
    "classic.shuffled_counters", "project", "All counters that a replaced user changes, and all batches",
    Source(PAPER, VERSION, "Lemma 10, each bit its own message", "classic.shuffled_counters"),
    "A batch releases f families of counters at h steps, each the shuffled bits of its own, N noise bits of chance p. For replacement of one user's data its delta(epsilon) is at most that of 2hf "
    "independent pairs: hf of X + 1 against X and hf of X against X + 1, X ~ Binomial(N, p); two trajectories that differ in every family's cell at every step attain it, whatever the others hold. "
    "B batches, each user in one, and each chosen by earlier batches' messages, have the largest of the batches' deltas at most.",
    r"\delta(\varepsilon)\le\delta\bigl((X+1,X)^{\otimes hf}\otimes(X,X+1)^{\otimes hf}\bigr)",
    (
        Obligation("cells", make_goal({}, "E(u) >= E(u*(1-w))", random=_CELL),
                   "u, w: whether a cell is the user's before and after. E is the mean over a family's cells at a step: one counter falls at most",
                   expect([], POSITIVE),
                   mutation=make_goal({}, "99/100*E(u) >= E(u*(1-w))", random=_CELL)),
        Obligation("product", make_goal(_RATIOS, "(c*A)*(t*B) == (c*t)*(A*B)"), "A, B masses of two counters under D', c, t their ratios",
                   witness={"A": "1", "B": "1", "c": "1", "t": "1"}),
        Obligation("event", _event("1"), "d: the joint mass less s times the other one, a: whether the product of the ratios is at least s, x: any event: the delta of the product", _JOINT, mutation=_event("999/1000")),
        Obligation("fewer", _processed("1"),
                   "a and b the densities of 2hf changed ones, c the excess of a over s b, u the chance that what is drawn lies in a set",
                   _FEWER, mutation=_processed("99/100")),
    ),
    ("classic.shuffled_bits", "sdp.lemma10.privacy.batches", "classic.post_processing"),
    reading=(
        "fewer changes are processing: the counters that do not change are drawn anew, as their law is known (fewer)", "in each family at each step one counter falls at most (cells, times the number of cells); exchanged, one rises at most", "the masses of independent counters multiply, and so do their ratios (product)", "by classic.shuffled_bits a counter shows its true count and X, the others' part of which is the same under both: a counter that falls compares X + 1 with X, one that rises X with X + 1",
        "a user's data at a step are one cell of the visits, one of the transitions and a reward of 0 or 1 in one cell; noise bits of different counters are independent",
        "(epsilon, beta)-DP of the 2hf pairs means that c = max(a - s b, 0) has mass at most beta, s = e^epsilon",
        "exchanging the two users exchanges the kinds of pairs, of which there are as many of one as of the other: both directions are one number",
    ),
    not_covered="the arithmetic of the accountant (docs/notes/sdp_batches.md, section 6); with one cell a step visits do not change, and the value is an upper end; users who send other messages than the protocol's",
)  # fmt: skip

_FEW = {"n": "[1, inf)", "k": "[0, inf)"}
_VALUE = {"m": "[1, inf)", "z": "[1, inf)"}

FEW_SUMS = Statement(
    "classic.shuffled_sums.few", "project", "With at most tau users, the printed sums hide as among half as many alike",
    Source(PAPER, VERSION, "Section V, z_i sent as one number, n <= tau", "classic.shuffled_sums.few"),
    "With n <= tau users and m = ceil(tau/n) fair bits each, let D(n) be the delta of the shuffled sums where all others hold 1. With S the sum of n independent R = (m-B)/(B+1), B ~ Binomial(m, 1/2), D(n) is the "
    "larger of 2^-m + E(S/n - e^epsilon)_+ and E(1 - e^epsilon S/n)_+. Whatever the others hold, delta is at most D(ceil((n+1)/2)) and at most D(1), that of one message; D(n) is attained.",
    r"D(n)\le\delta(\varepsilon)\le D\bigl(\lceil\tfrac{n+1}2\rceil\bigr)",
    (
        Obligation("ratio", make_goal(_VALUE, "(m - (z-1))/z == (m+1-z)/z"), "of a message z = B + 1: the ratio of the masses of m fair bits at z and z - 1", witness={"m": "1", "z": "1"}),
        Obligation("mirror", make_goal({"v": "[1, inf)", "z": "[1, inf)"}, "((v+z)-v)/v == 1/(((v+z)-z)/z)"),
                   "v = m + 1 - z", witness={"v": "1", "z": "1"}),
        Obligation("event", _event("1"), "d: the mass of a multiset less s times the other one, a: whether the mean of its messages' ratios is at least s, x: any event", _JOINT, mutation=_event("999/1000")),
        Obligation("half", make_goal(_FEW, "2*(n-k) >= n+1", "n+1 >= 2*(k+1)"), "k others hold 1: of k + 1 and n - k, whose sum is n + 1, the larger is at least half of it",
                   positive(("1", 0)), {"n": "1", "k": "0"}),
        Obligation("fewer", _processed("1"),
                   "a and b the densities of what is told, u the chance that the shuffled messages lie in a set",
                   _FEWER, mutation=_processed("99/100")),
    ),
    ("classic.shuffled_sums", "classic.post_processing"),
    reading=(
        "for others who hold 0, z and m + 1 - z change places and the ratio becomes its inverse (mirror): the directions are exchanged", "more users who hold the same bit are processing of fewer; and so is not telling which messages come from those who hold the other one", "if the user holds 1, all messages are n independent B + 1; if 0, one of them, each as likely, is B instead: the mass of a multiset is that of the other law times the mean over its messages of the ratio of the mass of "
        "B at z to that at z - 1; a message 0, of chance 2^-m, has no other law",
        "telling which messages come from others who hold 0 leaves k + 1 users among alike; telling those of others who hold 1 leaves n - k; what is told does not depend on the user's bit",
    ),
    not_covered="whether others who are all alike are the worst, so that delta is D(n); the arithmetic of the accountant (docs/notes/shuffling.md, section 6)",
    laws=("binomial.mass",),
)  # fmt: skip

PRINTED_SUMS = Statement(
    "classic.printed_sums", "statement", "Privacy of one counter, with the printed encoding",
    Source(PAPER, VERSION, "Lemma 10 (proof, step 1)", "classic.printed_sums"),
    "With each z_i sent as one number and tau = 96 log(2/beta)/epsilon^2 < n, the shuffled messages are (epsilon, beta)-DP. They are not: "
    "delta is 1 - tau/(2n) at every epsilon.",
    r"1-\frac{\tau}{2n}\le\beta",
    (
        Obligation(
            "printed",
            make_goal(_PRINTED, "beta >= 1 - 96*log(2/beta)/(2*n*epsilon**2)", "n > 96*log(2/beta)/epsilon**2"),
            "the delta of the printed encoding",
            {"point": {"n": "10000", "epsilon": "1/2", "beta": "1/10"}},
            mutation=make_goal(_PRINTED, "1 >= 1 - 96*log(2/beta)/(2*n*epsilon**2)", "n > 96*log(2/beta)/epsilon**2"),
        ),
    ),
    ("classic.shuffled_sums",),
    corrected_by="classic.shuffled_bits",
    judgement=Judgement(Severity.SUBSTANTIVE, "The messages show more than their sum; whoever runs the printed encoding is not private above the threshold."),
)  # fmt: skip

PRINTED_THRESHOLD = Statement(
    "classic.printed_threshold", "quoted", "Privacy of one counter, each bit its own message",
    Source(PAPER, VERSION, "Lemma 10 (proof, step 1)", "classic.printed_threshold"),
    "For epsilon, beta in (0, 1) and tau = 96 log(2/beta)/epsilon^2, the shuffled bits are (epsilon, beta)-DP.",
    r"\tau=\frac{96\log(2/\beta)}{\varepsilon^2}",
    parts=("sdp.lemma10.privacy.sum",),
    reading=("with each bit a message of its own the shuffler shows how many are ones, the noisy sum",),
    not_covered="the composition over counters; epsilon of 1 or more",
)  # fmt: skip

CLONES = Statement(
    "classic.clones", "quoted", "Privacy amplification by shuffling: hiding among clones",
    Source("arXiv:2012.12803", "v2", "Theorem 3.2", "classic.clones"),
    "n users send messages of e0-differentially private randomisers, shuffled. For neighbours that replace one user's data the privacy "
    "profile is at most that of (A+D, C-A+1-D) against (A+1-D, C-A+D), C ~ Binomial(n-1, e^-e0), A ~ Binomial(C, 1/2), D Bernoulli with "
    "chance e^e0/(1+e^e0), all independent but for A given C.",
    r"C\sim\mathrm{Bin}(n-1,e^{-\varepsilon_0}),\;A\sim\mathrm{Bin}(C,\tfrac12)",
    reason=f"the reduction to clones: {_QUOTED}",
    not_covered="randomisers that are private up to a delta",
)  # fmt: skip

CLOSED_FORM = Statement(
    "classic.clones_closed_form", "quoted", "Privacy amplification by shuffling, in closed form",
    Source("arXiv:2012.12803", "v2", "Theorem 3.1", "classic.clones_closed_form"),
    "For e0 <= log(n/(16 log(2/delta))) the shuffled messages of n e0-differentially private randomisers are (epsilon, delta)-DP with "
    "epsilon = log(1 + (e^e0 - 1)/(e^e0 + 1) (8 sqrt(e^e0 log(4/delta)/n) + 8 e^e0/n)).",
    r"\log\Bigl(1+\tfrac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}\bigl(8\sqrt{e^{\varepsilon_0}\log(4/\delta)/n}+8e^{\varepsilon_0}/n\bigr)\Bigr)",
    reason=f"the closed form of the clones' bound: {_QUOTED}",
    not_covered="local epsilons beyond its hypothesis",
)  # fmt: skip

CLONE_STEP = Statement(
    "classic.clone_step", "project", "One clone more: the difference of two deltas is one mass",
    Source("arXiv:2012.12803", "v2", "Theorem 3.2", "classic.clone_step"),
    "Let delta_c be the delta given c clones. One clone more halves the excess at the threshold: the excess h'(k) = (h(k) + h(k-1))/2, so "
    "that delta_c - delta_{c+1} is half of |h(k)| at the new threshold k, a single term of known sign.",
    r"\delta_c-\delta_{c+1}=\tfrac12\,|h_c(k)|",
    (
        Obligation("telescope", make_goal(_COIN, "((A + h) + A)/2 == (A + h) - h/2"),
                   "A the sum of h below k, h = h(k): the sum of (h(j) + h(j-1))/2 up to k is that of h, less h(k)/2",
                   witness={"A": "1", "h": "1"}),
    ),
    ("classic.clones", "classic.post_processing", "classic.shuffled_bits"),
    reading=("given c clones the first count is k with some mass and the other law's; h(k) is the difference of the mass under the one and e^epsilon times that under the other, of one sign "
             "below a threshold and of the other above: the best event is where it is positive (as in classic.shuffled_bits)",),
    not_covered="the arithmetic of the accountant (docs/notes/shuffling.md)",
)  # fmt: skip

STATEMENTS = (
    BITS,
    SUMS,
    COUNTERS,
    FEW_SUMS,
    PRINTED_SUMS,
    PRINTED_THRESHOLD,
    CLONES,
    CLOSED_FORM,
    CLONE_STEP,
)
