"""Statements about Renyi curves, groups of records and trade-off functions."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, mono, positive, split
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"
_NOTE = "docs/notes/group_privacy.md"
_CHAIN = {"k": "(1, inf)", "a": "(1, inf)"}
_AT = {"k": "2", "a": "2"}
_FIRST = "(k*(a-1)+1)"
_REST = "(k*a/(k-1))"


def _quoted(
    name: str, title: str, source: tuple[str, str, str], says: str, latex: str, not_covered: str
) -> Statement:
    identity = f"classic.{name}"
    return Statement(identity, "quoted", title, Source(*source, identity), says, latex,
                     reason=f"{title}: {_QUOTED}", not_covered=not_covered)  # fmt: skip


SAMPLED = _quoted(
    "sampled_gaussian_renyi", "The Renyi divergence of the sampled Gaussian mechanism",
    ("arXiv:1908.10530", "v1", "Theorems 4 and 5"),
    "Poisson sampling at rate q, a sum of vectors of norm at most 1 and noise N(0, sigma^2 I): both Renyi divergences of order alpha > 1 "
    "between neighbours that differ in one record are at most that of (1-q) N(0, sigma^2) + q N(1, sigma^2) from N(0, sigma^2).",
    r"D_\alpha((1-q)\mathcal N(0,\sigma^2)+q\,\mathcal N(1,\sigma^2)\,\|\,\mathcal N(0,\sigma^2))",
    "neighbours that replace a record",
)  # fmt: skip

PURE = _quoted(
    "pure_renyi", "Randomised response is the least private epsilon-DP mechanism in every Renyi divergence",
    ("arXiv:1605.02065", "v1", "Proposition 3.3"),
    "If two laws are within e^epsilon of each other, their Renyi divergence of order alpha is at most that of two coins with losses +-epsilon.",
    r"D_\alpha\le\frac{1}{\alpha-1}\log\frac{\sinh(\alpha\varepsilon)-\sinh((\alpha-1)\varepsilon)}{\sinh\varepsilon}",
    "nothing",
)  # fmt: skip

TRIANGLE = _quoted(
    "renyi_triangle", "The weak triangle inequality of Renyi divergences", ("arXiv:1702.07476", "v3", "Proposition 11"),
    "For laws P, Q, R, alpha > 1 and p > 1 with 1/p + 1/p' = 1: (alpha-1) D_alpha(P||Q) <= (p alpha - 1)/p D_{p alpha}(P||R) + "
    "(alpha - 1) D_{p'(alpha-1)+1}(R||Q). It is Holder's inequality.",
    r"(\alpha-1)D_\alpha(P\|Q)\le\tfrac{p\alpha-1}{p}D_{p\alpha}(P\|R)+(\alpha-1)D_{p'(\alpha-1)+1}(R\|Q)",
    "nothing",
)  # fmt: skip

GROUP_RENYI = Statement(
    "classic.group_renyi", "project", "Group privacy along a Renyi curve",
    Source("this project", "", _NOTE, "classic.group_renyi"),
    "If D_x <= c(x) between neighbours at the orders x_j = k(a-1) + j, j = 1..k, then D_a <= k a sum over j of c(x_j)/x_j between data k records apart. "
    "A linear curve rho x gives k^2 rho a, which Gaussians attain.",
    r"D_a\le k\,a\sum_{j=1}^{k}\frac{c(k(a-1)+j)}{k(a-1)+j}",
    (
        Obligation("rest", make_goal(_CHAIN, f"{_FIRST}/((k-1)*(a-1))*(a-1) + 1 == {_REST}"),
                   "with p a = k(a-1) + 1 the other order of the triangle inequality is k a/(k-1)", witness=_AT),
        Obligation("links", make_goal(_CHAIN | {"j": "[0, inf)"}, f"(k-1)*({_REST}-1) + j == k*(a-1) + j + 1"),
                   "k - 1 links from that order on are the remaining links", witness=_AT | {"j": "1"}),
        Obligation("weights", make_goal(_CHAIN, f"(k-1)*(a-1)/{_FIRST}*((k-1)*{_REST}*({_REST}-1)) == k*a*(a-1)"),
                   "the weights of the remaining links, times 1/p', are those of the whole chain", witness=_AT),
        Obligation("first", make_goal(_CHAIN, f"k*a*(a-1)/(k*(a-1)*{_FIRST}) == a/{_FIRST}"),
                   "the weight of the first link is 1/p", witness=_AT),
    ),
    ("classic.renyi_triangle",),
    reading=("induction over the links of a finite chain",),
    not_covered="the best split for a curve that is not linear",
)  # fmt: skip

GROUP_APPROX = _quoted(
    "group_approx", "Group privacy of approximate differential privacy",
    ("Vadhan, The Complexity of Differential Privacy", " (2017)", "Lemma 2.2"),
    "An (epsilon, delta)-DP mechanism is (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))-DP between data k records apart.",
    r"\left(k\varepsilon,\ \tfrac{e^{k\varepsilon}-1}{e^\varepsilon-1}\,\delta\right)", "the rest of the privacy profile",
)  # fmt: skip

GROUP_ZCDP = _quoted(
    "group_zcdp", "Group privacy of zero-concentrated differential privacy", ("arXiv:1605.02065", "v1", "Proposition 1.9"),
    "A rho-zCDP mechanism is k^2 rho-zCDP between data k records apart.", r"k^2\rho", "nothing",
)  # fmt: skip

GROUP_TRADE_OFF = _quoted(
    "group_trade_off", "Group privacy of a trade-off function", ("arXiv:1905.02383", "v3", "Section 2.5"),
    "If f is a symmetric trade-off function of a mechanism for neighbours, 1 - (1-f) composed k times is one for data k records apart; "
    "for mu-Gaussian privacy this is k mu.",
    r"1-(1-f)^{\circ k},\qquad G_\mu\mapsto G_{k\mu}", "nothing",
)  # fmt: skip

DUALITY = _quoted(
    "trade_off_duality", "Trade-off functions and privacy profiles are conjugate", ("arXiv:1905.02383", "v3", "Propositions 5 and 6"),
    "A mechanism has a symmetric trade-off function f exactly if it is (epsilon, 1 + f*(-e^epsilon))-DP for all epsilon >= 0; from a profile "
    "delta the strongest f is the supremum of max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).",
    r"f(\alpha)=\sup_{\varepsilon\ge0}\max\{0,1-\delta(\varepsilon)-e^{\varepsilon}\alpha,e^{-\varepsilon}(1-\delta(\varepsilon)-\alpha)\}",
    "nothing",
)  # fmt: skip

KAHANE = _quoted(
    "kahane", "Kahane's convexity inequality", ("Kahane, Ann. Sci. Math. Quebec 9", " (1985)", "the lemma on convex functions"),
    "Let X, Y be centred Gaussian vectors with Cov X <= Cov Y entry by entry, w >= 0 weights, F convex of polynomial growth. Then "
    "E F(sum w_i exp(X_i - Var X_i/2)) <= E F(sum w_i exp(Y_i - Var Y_i/2)).",
    r"\mathbb E F\Bigl(\sum w_i e^{X_i-\frac12\mathrm{Var}X_i}\Bigr)\le\mathbb E F\Bigl(\sum w_i e^{Y_i-\frac12\mathrm{Var}Y_i}\Bigr)",
    "nothing; a short proof is in " + _NOTE,
)  # fmt: skip

GROUP_SAMPLED = Statement(
    "classic.group_sampled_gaussian", "project", "A user with k sampled records is dominated in one dimension",
    Source("this project", "", f"{_NOTE}, section 3", "classic.group_sampled_gaussian"),
    "Each of a user's k records (norm at most 1, any directions) joins a sum independently with chance q, noise N(0, sigma^2 I). Sum over j of Bin(k,q)(j) N(j, sigma^2) "
    "against N(0, sigma^2) dominates adding and removing the user, in every f-divergence.",
    r"\left(\sum_j\tbinom kjq^j(1-q)^{k-j}\mathcal N(j,\sigma^2),\ \mathcal N(0,\sigma^2)\right)",
    (
        Obligation("covariance",
                   make_goal({"s": "[0, inf)", "t": "[0, inf)", "r": "[-1, 1]"}, "s*t >= s*t*r"),
                   "inner products of sums of at most s and t unit vectors are at most s t", witness={"s": "1", "t": "1", "r": "1"}),
    ),
    ("classic.kahane",),
    ("divergences are jointly convex: the other records' sampling is a mixture over shifts", "Cauchy-Schwarz and the triangle inequality"),
    not_covered="sampling in which a user's records join together or not at all",
)  # fmt: skip

_ORDERS = {"y": "(0, inf)", "b": "(0, inf)"}
_TWO_LOGS = ("log(y*(b+1)/(b*(y+1))) >= 1 - b*(y+1)/(y*(b+1))", "log((b+1)/(y+1)) >= 1 - (y+1)/(b+1)")
_CHORD = {"w": "[0, 1]"} | dict.fromkeys("FGCdh", "(-inf, inf)")
CONVEX = Statement(
    "classic.conversion_convex", "project", "The closed conversions are convex in the order",
    Source("this project", "", "docs/notes/renyi.md, section 2", "classic.conversion_convex"),
    "Where (a - 1) curve(a) is convex, so is the logarithm of Mironov's and of Canonne, Kamath and Steinke's delta: the part that does not come from the curve, "
    "(a-1) log(a-1) - a log a, is convex.",
    r"g(x)\ge g(a)+(x-a)\log\frac{a-1}a,\qquad g(a)=(a-1)\log(a-1)-a\log a",
    (
        Obligation("logarithm", make_goal({"z": "(0, inf)"}, "log(z) >= 1 - 1/z"), "used at z = y (b+1)/(b (y+1)) and at z = (b+1)/(y+1)",
                   split("z", "1", mono("z", -1, IDENTITY), mono("z", 1, IDENTITY)), {"z": "1001/1000"}),
        Obligation("tangent", make_goal(_ORDERS, "y*log(y) - (y+1)*log(y+1) >= b*log(b) - (b+1)*log(b+1) + (y-b)*(log(b) - log(b+1))", *_TWO_LOGS),
                   "y = x - 1, b = a - 1: the function lies above its tangent at every order", positive(("y", 0), ("1", 1)), {"y": "2", "b": "2"}),
        Obligation("chord", make_goal(_CHORD, "w*F + (1-w)*G >= C", "F >= C + (1-w)*h*d", "G >= C - w*h*d"),
                   "F, G, C the values at a + (1-w) h, a - w h and a, d the slope at a: convex", positive(("w", 0), ("1-w", 1)),
                   {"w": "1/2", "F": "2", "G": "0", "C": "1", "d": "1", "h": "2"}),
    ),
    reading=("a sum of convex functions and a linear one is convex",),
    not_covered="the optimal conversion, whose lower end comes from a pair of coins",
)  # fmt: skip

STATEMENTS = (
    SAMPLED, PURE, TRIANGLE, GROUP_RENYI, GROUP_APPROX, GROUP_ZCDP, GROUP_TRADE_OFF, DUALITY, KAHANE, GROUP_SAMPLED, CONVEX,
)  # fmt: skip
