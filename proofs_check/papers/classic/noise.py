"""Statements about noise primitives: quoted theorems, and what each accountant's answer rests on."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_BOOK, _EDITION = "Dwork and Roth, The Algorithmic Foundations of Differential Privacy", " (2014)"
_QUOTED = "a theorem of the literature, quoted; its proof is not re-checked here"


def _quoted(
    name: str, title: str, source: tuple[str, str, str], says: str, latex: str, not_covered: str
) -> Statement:
    identity = f"classic.{name}"
    return Statement(identity, "quoted", title, Source(*source, identity), says, latex,
                     reason=f"{title}: {_QUOTED}", not_covered=not_covered)  # fmt: skip


_GAUSSIAN = {"s": "(0, inf)", "sigma": "(0, inf)", "T": "[1, inf)"}
_LAPLACE = {"x": "(-inf, inf)", "s": "(0, inf)", "b": "(0, inf)"}
_SAMPLED = {"x": "(-inf, inf)", "sigma": "(0, inf)"}
_RATIO = {"q": "[0, 1]", "r": "(0, inf)"}

GAUSSIAN_PROFILE = _quoted(
    "gaussian_profile", "The privacy profile of a Gaussian pair", ("arXiv:1805.06530", "v2", "Theorem 8"),
    "The Gaussian mechanism of standard deviation sigma on a query of L2 sensitivity s is (epsilon, delta)-DP if and only if "
    "Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) <= delta, mu = s/sigma.",
    r"\delta(\varepsilon)=\Phi(\tfrac{\mu}{2}-\tfrac{\varepsilon}{\mu})-e^{\varepsilon}\Phi(-\tfrac{\mu}{2}-\tfrac{\varepsilon}{\mu})",
    "noise drawn in floating point",
)  # fmt: skip

GAUSSIAN_COMPOSITION = _quoted(
    "gaussian_composition", "Adaptive composition of Gaussian differential privacy", ("arXiv:1905.02383", "v3", "Corollary 2"),
    "The adaptive composition of mechanisms that are mu_i-GDP is mu-GDP with mu^2 the sum of the mu_i^2.",
    r"\mu=\sqrt{\mu_1^2+\dots+\mu_T^2}",
    "budgets chosen adaptively",
)  # fmt: skip

GAUSSIAN = Statement(
    "classic.gaussian", "project", "All answers of a Gaussian mechanism are one Gaussian pair",
    Source("arXiv:1905.02383", "v3", "Theorem 1 and Corollary 2", "classic.gaussian"),
    "T adaptive answers of L2 sensitivity s, each with N(0, sigma^2) added to every coordinate, are mu-GDP with mu = s sqrt(T)/sigma; "
    "inputs whose answers differ by s in the same direction every time attain it.",
    r"\mu=\frac{s\sqrt{T}}{\sigma}",
    (
        Obligation("composed", make_goal(_GAUSSIAN, "(s*sqrt(T)/sigma)**2 == T*(s/sigma)**2"),
                   "T answers of mu_i = s/sigma each", witness=dict.fromkeys(_GAUSSIAN, "2")),
    ),
    ("classic.gaussian_profile", "classic.adaptive_gaussians"),
    not_covered="that the answers have the sensitivity given; noise drawn in floating point",
)  # fmt: skip

GAUSSIAN_CLASSICAL = _quoted(
    "gaussian_classical", "The classical Gaussian mechanism", (_BOOK, _EDITION, "Theorem A.1"),
    "For epsilon in (0, 1) and c^2 > 2 ln(1.25/delta), noise of standard deviation sigma >= c s/epsilon on a query of L2 "
    "sensitivity s gives (epsilon, delta)-DP.",
    r"\varepsilon=\frac{s\sqrt{2\ln(1.25/\delta)}}{\sigma}",
    "epsilon of 1 or more, where the formula is no theorem; its value is the limit of what is proved, as c is above its bound",
)  # fmt: skip

DOMINATING_COMPOSITION = _quoted(
    "dominating_composition", "Adaptive composition of dominating pairs", ("arXiv:2106.08567", "v4", "Theorem 10"),
    "If (P_i, Q_i) dominates M_i whatever the earlier outputs are, the pair of products dominates the adaptive composition: its "
    "hockey-stick divergence bounds that of every pair of neighbours, at every epsilon.",
    r"H_{e^\varepsilon}(M(D)\,\|\,M(D'))\le H_{e^\varepsilon}(P_1\times\dots\times P_T\,\|\,Q_1\times\dots\times Q_T)",
    "pairs chosen adaptively",
)  # fmt: skip

POISSON = _quoted(
    "poisson_subsampling", "Dominating pairs under Poisson subsampling", ("arXiv:2106.08567", "v4", "Theorem 11"),
    "If (P, Q) dominates M when a user is removed, then ((1-q) Q + q P, Q) dominates M after Poisson sampling at rate q when one is "
    "removed, and (Q, (1-q) Q + q P) when one is added, (Q, P) dominating M then.",
    r"\left((1-q)Q+qP,\;Q\right)",
    "sampling without replacement; neighbours that replace a user",
)  # fmt: skip

DP_SGD = Statement(
    "classic.dp_sgd", "project", "Poisson-sampled Gaussian steps: two pairs, one for each direction",
    Source("arXiv:2106.08567", "v4", "Theorems 10 and 11", "classic.dp_sgd"),
    "T steps, each the sum over a Poisson sample at rate q of vectors clipped to norm C, plus N(0, sigma^2 C^2) in every coordinate. "
    "For add/remove of one user delta(epsilon) is the larger of the hockey-stick divergences of the T-fold products of "
    "((1-q) N(0, sigma^2) + q N(1, sigma^2), N(0, sigma^2)) and of the same pair reversed. One user whose vectors are all the same, of "
    "norm C, all others' being zero, attains it.",
    r"L(x)=\ln\left(1-q+q\,e^{(2x-1)/(2\sigma^2)}\right)",
    (
        Obligation("exponent", make_goal(_SAMPLED, "x**2/(2*sigma**2) - (x-1)**2/(2*sigma**2) == (2*x-1)/(2*sigma**2)"),
                   "the log ratio of N(1, sigma^2) to N(0, sigma^2)", witness={"x": "2", "sigma": "2"}),
        Obligation("least", make_goal(_RATIO, "1 - q + q*r >= 1 - q"),
                   "r > 0 the ratio of the densities: the loss of the mixture is above log(1 - q)",
                   mutation=make_goal(_RATIO, "1 - q + q*r >= 1001/1000 - q")),
    ),
    ("classic.gaussian_profile", "classic.dominating_composition", "classic.poisson_subsampling"),
    reading=("the sum of the clipped vectors has one term of norm at most C more or less when one user comes or goes",),
    not_covered="the numerical inversion, whose errors are bounded where it stands; samples that are not drawn by Poisson's coins; "
    "noise drawn in floating point",
    laws=("gaussian.density",),
)  # fmt: skip

LAPLACE = Statement(
    "classic.laplace", "project", "All answers of a Laplace mechanism are a product of Laplace pairs",
    Source("arXiv:2106.08567", "v4", "Theorem 10", "classic.laplace"),
    "T adaptive answers, each a number of sensitivity s with Laplace noise of scale b added, are dominated by the T-fold product of "
    "(Lap(0, b), Lap(s, b)), and inputs whose answers differ by s in the same direction every time attain it. With delta = 0 "
    "that is T s/b.",
    r"\left(\mathrm{Lap}(0,b)^T,\;\mathrm{Lap}(s,b)^T\right)",
    (
        Obligation("before", make_goal(_LAPLACE, "((s-x) - (0-x))/b == s/b"), "the loss (|x-s| - |x|)/b at x <= 0",
                   witness={"x": "-2", "s": "1", "b": "1"}),
        Obligation("most", make_goal(_LAPLACE, "s/b >= ((s-x) - x)/b", "x >= 0", "s >= x"),
                   "the loss at 0 <= x <= s, from above", {"leaf": "positive", "multipliers": [[["/", "2", "b"], 0]]},
                   {"x": "0", "s": "1", "b": "1"}),
        Obligation("least", make_goal(_LAPLACE, "((s-x) - x)/b >= -s/b", "x >= 0", "s >= x"),
                   "and from below", {"leaf": "positive", "multipliers": [[["/", "2", "b"], 1]]},
                   {"x": "1", "s": "1", "b": "1"}),
        Obligation("after", make_goal(_LAPLACE, "((x-s) - x)/b == -s/b"), "the loss at x >= s",
                   witness={"x": "2", "s": "1", "b": "1"}),
    ),
    ("classic.dominating_composition", "classic.log_concave_shifts"),
    not_covered="the numerical inversion, whose errors are bounded where it stands; that the answers have the sensitivity given; "
    "noise drawn in floating point",
    laws=("laplace.density",),
)  # fmt: skip

LAPLACE_BASIC = _quoted(
    "laplace_basic", "Laplace mechanism and basic composition", (_BOOK, _EDITION, "Theorems 3.6 and 3.14"),
    "The Laplace mechanism of scale b on a query of L1 sensitivity s is s/b-DP, and T mechanisms that are epsilon-DP are together "
    "T epsilon-DP.",
    r"\varepsilon=\frac{T s}{b}",
    "delta above 0, where less is lost",
)  # fmt: skip

_NUMERICAL = "the numerical inversion, whose errors are bounded where it stands"
_SAMPLER = "noise drawn by a sampler that is not exact"
_COMPOSED, _SHIFTS = "classic.dominating_composition", "classic.log_concave_shifts"

GEOMETRIC = Statement(
    "classic.geometric", "project", "All answers of a geometric mechanism are a product of geometric pairs",
    Source("arXiv:2106.08567", "v4", "Theorem 10", "classic.geometric"),
    "T adaptive answers, each a whole number of sensitivity s with noise of mass ~ exp(-|x|/b) added, are dominated by the T-fold product "
    "of the noise and the noise shifted by s, and inputs whose answers differ by s in the same direction every time attain it. With "
    "delta = 0 that is T s/b.",
    r"L(x)=\frac{|x-s|-|x|}{b}",
    (
        Obligation("between", make_goal(_LAPLACE, "((s-x) - x)/b == (s-2*x)/b"), "the loss at 0 <= x <= s",
                   witness={"x": "1", "s": "3", "b": "1"}),
    ),
    (_SHIFTS, _COMPOSED),
    not_covered=f"{_NUMERICAL}; that the answers have the sensitivity given; {_SAMPLER}",
    laws=("geometric.mass",),
)  # fmt: skip

DISCRETE_GAUSSIAN = Statement(
    "classic.discrete_gaussian", "project", "All numbers of a discrete Gaussian mechanism are a product of pairs",
    Source("arXiv:2106.08567", "v4", "Theorem 10", "classic.discrete_gaussian"),
    "T adaptive answers, each a whole number of sensitivity s with noise of mass ~ exp(-x^2/(2 sigma^2)) added, are dominated by the T-fold "
    "product of the noise and the noise shifted by s, and inputs whose answers differ by s in the same direction every time attain it.",
    r"L(x)=\frac{s^2-2sx}{2\sigma^2}",
    (
        Obligation("loss", make_goal(_LAPLACE, "((x-s)**2 - x**2)/(2*b) == (s**2 - 2*s*x)/(2*b)"), "b the variance",
                   witness={"x": "1", "s": "3", "b": "1"}),
    ),
    (_SHIFTS, _COMPOSED),
    not_covered=f"{_NUMERICAL}; vectors of sensitivity s, whose coordinates are answers of their own; {_SAMPLER}",
    laws=("discrete-gaussian.mass",),
)  # fmt: skip

BINOMIAL = Statement(
    "classic.binomial", "project", "All counts of a binomial mechanism are a product of binomial pairs",
    Source("arXiv:2106.08567", "v4", "Theorem 10", "classic.binomial"),
    "T adaptive counts, each with the heads of n coins of probability p added, that move by at most 1 between neighbours, all in one "
    "direction, are dominated by the T-fold product of (Bin(n, p), Bin(n, p) + 1), or of the same reversed; inputs whose counts differ by 1 "
    "every time attain it. Counts that may move in either direction are dominated by the T-fold product of any pair that dominates both.",
    r"L(x)=\ln\frac{(n+1-x)\,p}{x\,(1-p)}",
    (
        Obligation("loss", make_goal({"n": "[1, inf)", "x": "[1, inf)", "p": "(0, 1)"},
                                      "((n+1-x)/x)*(p/(1-p)) == (n+1-x)*p/(x*(1-p))"),
                   "the mass of x over that of x - 1", witness={"n": "4", "x": "2", "p": "1/2"}),
    ),
    (_SHIFTS, _COMPOSED),
    not_covered=f"{_NUMERICAL}; counts of a sensitivity above 1; {_SAMPLER}",
    laws=("binomial.mass",),
)  # fmt: skip

RESPONSE = Statement(
    "classic.randomised_response", "project", "Randomised response by a probability of a random answer",
    Source("arXiv:2106.08567", "v4", "Theorem 10", "classic.randomised_response"),
    "One of k answers is drawn uniformly with probability g, and is the truth otherwise: the truth has probability 1 - g + g/k and every other "
    "answer g/k. Of two truths one answer each tells them apart, with losses of plus and minus log(1 + k(1-g)/g); T questions are "
    "the T-fold product, attained.",
    r"L=\pm\ln\left(1+\frac{k(1-\gamma)}{\gamma}\right)",
    (
        Obligation("ratio", make_goal({"g": "(0, 1]", "k": "[2, inf)"}, "(1 - g + g/k)/(g/k) == 1 + k*(1-g)/g"),
                   "the odds of the truth against another answer", witness={"g": "1/2", "k": "2"}),
        Obligation("total", make_goal({"g": "(0, 1]", "k": "[2, inf)"}, "(1 - g + g/k) + (k-1)*(g/k) == 1"),
                   "the answers' probabilities", witness={"g": "1/2", "k": "2"}),
    ),
    (_COMPOSED,),
    not_covered=_NUMERICAL,
)  # fmt: skip

CHOICES = Statement(
    "classic.exponential", "project", "All choices of an exponential mechanism",
    Source("arXiv:1905.04273", "v2", "Section 3", "classic.exponential"),
    "T adaptive choices with chances ~ exp(u(r)/b), every utility moving by at most s between neighbours, are dominated by the T-fold product of "
    "the pair of classic.bounded_range with range 2 s/b; s/b where all utilities move in one direction.",
    r"\varepsilon=\frac{2s}{b}",
    (
        Obligation("range", make_goal({"s": "(0, inf)", "b": "(0, inf)"}, "(2*s/b)/(2*s) == 1/b"),
                   "exp(epsilon u/(2 s)) is exp(u/b) at epsilon = 2 s/b", witness={"s": "1", "b": "2"}),
    ),
    ("classic.bounded_range", "classic.exponential_range", _COMPOSED),
    not_covered=f"{_NUMERICAL}; that some choice attains it: a given set of utilities may lose less; {_SAMPLER}",
)  # fmt: skip

PERMUTED = Statement(
    "classic.permuted", "project", "All choices of permute-and-flip",
    Source("arXiv:2010.12603", "v1", "Theorem 1", "classic.permuted"),
    "T adaptive choices by permute-and-flip with coins of chance exp((u(r) - max u)/b), every utility moving by at most s between neighbours, are "
    "dominated by the T-fold product of randomised response at 2 s/b.",
    r"\varepsilon=\frac{2s}{b}",
    (
        Obligation("range", make_goal({"s": "(0, inf)", "b": "(0, inf)"}, "(2*s/b)/(2*s) == 1/b"),
                   "exp(epsilon u/(2 s)) is exp(u/b) at epsilon = 2 s/b", witness={"s": "1", "b": "2"}),
    ),
    ("classic.permute_and_flip", "classic.kairouz_oh_viswanath", _COMPOSED),
    not_covered=f"{_NUMERICAL}; that some choice attains it; {_SAMPLER}",
)  # fmt: skip

_STAIRS = {"f": "(0, 1)", "g": "[0, 1]", "u": "(0, 1]"}
_ALL = "2*(g*(1-f) + f)"

STAIRCASE = Statement(
    "classic.staircase", "project", "All answers of a staircase mechanism are a product of three-point pairs",
    Source("Geng and Viswanath, IEEE Transactions on Information Theory 62 (2), 925", " (2016)", "the staircase mechanism", "classic.staircase"),
    "Noise on steps of width w, the innermost of half width g w, whose density falls by f = e^(-w/b) at every step. T adaptive answers, each "
    "a number of sensitivity u w, u <= 1, with this noise added, are dominated by the T-fold product of the pair with losses w/b, 0 and -w/b, "
    "P having the mass p on the first and f p on the last, and inputs whose answers differ by u w in the same direction every time attain it. "
    "With delta = 0 that is T w/b.",
    r"p=\frac{(1-f)\min(u,2g)+uf}{2\,(g(1-f)+f)}",
    (
        Obligation("density", make_goal({"f": "(0, 1)", "g": "[0, 1]"}, f"2*((1-f)*g + (1-f)*(f/(1-f))) == {_ALL}"),
                   "both sides' steps, f/(1-f) = f + f^2 + ...: the density of the innermost is (1-f) over this sum", witness={"f": "1/2", "g": "1/2"}),
        Obligation("near", make_goal(_STAIRS, f"(1+f)*(u*(1-f) + u*f) + ((1-f)*(2*g-u) + f*(2-2*u)) == {_ALL}"),
                   "the three masses, u <= 2g", witness={"f": "1/2", "g": "1/2", "u": "1/2"}),
        Obligation("far", make_goal(_STAIRS, f"(1+f)*(2*g*(1-f) + u*f) + f*((1-f)*(2-2*g-u) + f*(2-2*u)) == {_ALL}"),
                   "the three masses, u >= 2g", witness={"f": "1/2", "g": "1/4", "u": "1"}),
        Obligation("nearer", make_goal({"f": "(0, 1)", **dict.fromkeys("mnuv", "[0, 1]")}, "(1-f)*n + v*f >= (1-f)*m + u*f", "n >= m", "v >= u"),
                   "a smaller shift u <= v, m = min(u, 2g), n = min(v, 2g), has less mass on the losses that are not 0",
                   {"leaf": "positive", "multipliers": [[["-", "1", "f"], 0], ["f", 1]]},
                   {"f": "1/2", "m": "1/2", "n": "1/2", "u": "1/2", "v": "1/2"}),
    ),
    (_COMPOSED,),
    reading=("which outcomes a shift moves across the end of a step, docs/notes/staircase.md, sections 2 and 3",),
    not_covered=f"{_NUMERICAL}; that the answers have the sensitivity given; noise drawn in floating point",
)  # fmt: skip

STATEMENTS = (
    GAUSSIAN_PROFILE, GAUSSIAN_COMPOSITION, GAUSSIAN, GAUSSIAN_CLASSICAL, DOMINATING_COMPOSITION, POISSON, DP_SGD,
    LAPLACE, LAPLACE_BASIC, GEOMETRIC, DISCRETE_GAUSSIAN, BINOMIAL, RESPONSE, CHOICES, PERMUTED, STAIRCASE,
)  # fmt: skip
