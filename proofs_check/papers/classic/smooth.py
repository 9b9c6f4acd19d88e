"""Statements about noise scaled by a smooth bound on local sensitivity."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import IDENTITY, mono, positive
from dpproof.proofs_check.statement import Obligation, Statement, make_goal

_NRS = "Nissim, Raskhodnikova and Smith, Smooth sensitivity and sampling in private data analysis"
_NOTE = "docs/notes/smooth_sensitivity.md"
_SHIFT = (
    f"the volume common to two symmetric convex bodies falls as one moves away (Brunn and Minkowski; {_NOTE})"
)
_ENVELOPE = f"where a set maximises P - k Q, the derivative holds the set fixed ({_NOTE})"
_BESSEL = "I_(n+1)/I_n satisfies Riccati's equation, rises in its argument, and is at most Amos's bound"
_CHI = "the density and the two derivatives of the non-central chi-square distribution function"
_POSITIVE = {"a": "(0, inf)", "w": "(0, inf)", "g": "(-inf, inf)"}
_TURN = {"a": "(0, inf)", "q": "(0, inf)", "w": "(0, inf)", "d": "[1, inf)", "T": "(-inf, inf)"}
_SQUARE = "(T - d)**2*w/(2*q*a**2*(1 + w))"

PAIR = Statement(
    "classic.smooth_gaussian_pair", "project", "Two spherical Gaussians of different variance: a hockey stick of positive terms",
    Source(_NRS, ", 2007", "Gaussian noise", "classic.smooth_gaussian_pair"),
    "For P = N(0, s1^2 I) and Q = N(m, s2^2 I) in dimension d the loss exceeds epsilon inside or outside a ball, of radius q times the distance c of "
    "its centre from the wider law's mean, 1 - q^2 = (1 - exp(-s))(b - d s)/a^2 with s the log ratio of variances, a the shift in units of the smaller "
    "deviation, b = a^2 -+ 2 epsilon. delta(epsilon) is a sum of positive Bessel terms, for odd d with a one-dimensional difference.",
    r"1-q^2=(1-e^{-s})\,(b-ds)/a^2",
    (
        Obligation("ball", make_goal(_POSITIVE, "1 - ((a*(1+w)/w)**2 - g*(1+w)/w)/(a*(1+w)/w)**2 == g*w/((1+w)*a**2)"),
                   "w = exp(s) - 1, g = b - d s: radius over distance", witness={"a": "1", "w": "1", "g": "1"}),
        Obligation("centre", make_goal({"a": "(0, inf)", "w": "(0, inf)"}, "a*(1+w)/w - a == (a*(1+w)/w)/(1+w)"),
                   "the narrower mean's distance is the wider's over the ratio of variances",
                   witness={"a": "1", "w": "1"}),
    ),
    rules=(_CHI, _BESSEL, "F_d - F_(d+2) = 2 f_(d+2) for non-central chi-square laws"),
    reading=("a ball's chance under either law is a non-central chi-square one; both laws have one Bessel argument, the wider's distance times the radius over its variance (centre)",),
    not_covered="covariances that are not spherical",
    laws=("gaussian.density",),
)  # fmt: skip

GAUSSIAN = Statement(
    "classic.smooth_gaussian", "project", "Gaussian noise scaled by a smooth bound: three pairs are the worst",
    Source(_NRS, ", 2007", "Gaussian noise", "classic.smooth_gaussian"),
    "Over all pairs of neighbours with means apart by at most the smaller bound and log ratio of scales within +-beta, in any dimension and at every "
    "epsilon, delta is largest at the largest shift and at ratio 1, exp(beta) or exp(-beta).",
    r"\delta=\max\{\delta_{0},\delta_{\beta},\delta_{-\beta}\}",
    (
        Obligation("turn", make_goal(_TURN, f"{_SQUARE} >= 0"),
                   "w = exp(s) - 1: the size of the first term of G' at a zero of G",
                   mutation=make_goal(_TURN, f"{_SQUARE} >= 1/1000")),
        Obligation("square", make_goal(_TURN, f"(d - T)*w/(2*q*a**2*(1 + w))*(T - d) == 0 - {_SQUARE}"),
                   "q' (u A' - 1) at a zero of G is minus a square", witness={"a": "1", "q": "1", "w": "1", "d": "1", "T": "2"}),
    ),
    ("classic.smooth_gaussian_pair",), (_SHIFT, _ENVELOPE, _CHI, _BESSEL),
    reading=(f"the derivative of delta along the ratio has the sign of q - A(q u) = -G ({_NOTE}, section 2)",
             "at a zero of G the first term of G' is at most 0 (turn, square) and the second is negative, as the Bessel ratio rises: G passes from + to - only, and delta falls before and rises after that",
             f"where q^2 <= 0 the set is empty, and delta falls to 0 before and rises from 0 after it ({_NOTE}, section 2)"),
    not_covered="a smoothing chosen from the private data; a smooth bound in another norm",
)  # fmt: skip

_FIRST = {"A": "[0, inf)", "a": "[0, inf)", "c": "[0, inf)"}
_SECOND = "(log({0}) - z*log(1 + (1-1/{0})/z))"
RENYI = Statement(
    "classic.smooth_gaussian_renyi", "project", "Gaussian noise scaled by a smooth bound: its Renyi curve",
    Source(_NRS, ", 2007", "Gaussian noise", "classic.smooth_gaussian_renyi"),
    "At every order 1 + z < 1 + 1/(exp(2 beta) - 1) the largest Renyi divergence over all admissible pairs is that of the wider Gaussian from the "
    "narrower at the largest shift a and the full ratio: a^2 (z+1)/(2 g) - (d/2)(2 beta + log(g)/z), g = 1 - (exp(2 beta) - 1) z.",
    r"D_{1+z}=\frac{a^2(1+z)}{2g}-\frac d2\left(2\beta+\frac{\log g}{z}\right)",
    (
        Obligation("distance", make_goal(_FIRST, "A**2*c >= a**2*c", "A >= a"), "the first term rises with the distance of the means",
                   positive(("c*(A+a)", 0)), {"A": "1", "a": "1", "c": "1"}),
        Obligation("wide_first", make_goal({"g": "(0, 1]", "v": "(0, 1]"}, "1/(g*v) >= 1/g"), "P wider: g falls as the ratio grows, and the first term rises",
                   positive(reflect=["v"]), {"g": "1", "v": "1"}),
        Obligation("wide_second", make_goal({"z": "(0, inf)", "q": "[0, inf)", "w": "[0, inf)"}, f"{_SECOND.format('((1+q)*(1+w))')} >= {_SECOND.format('(1+q)')}"),
                   "the second rises, too: 1/g is 1 + q at a ratio and (1+q) (1+w) at a larger one; s = log(1 + (1-g)/z)", mono("w", 1, IDENTITY), {"z": "1", "q": "1", "w": "0"}),
        Obligation("narrow_first", make_goal({"x": "[0, inf)", "z": "(0, inf)"}, "(1 + x) + x*z >= 1"),
                   "P narrower, x = e^s - 1: the first term is below that at equal scales", witness={"x": "0", "z": "1"}),
        Obligation("narrow_second", make_goal({"z": "(0, inf)", "k": "[0, 1)"}, "log(1 + z*k/(z+k)) - log(1-k) >= 2*z*log(1 + k/z)"),
                   "and the second below the wide pair's at the same ratio, k = 1 - g: the sum of z s and log(g) for both signs of s", mono("k", 1, IDENTITY), {"z": "1", "k": "1/1000"}),
    ),
    rests_on=("rlsvi.state_neighbours",),
    reading=("log M(z) of a pair with log ratio s of variances is (shift)^2 z (z+1)/(2 g) - (d/2)(s z + log g), g = 1 - (e^s - 1) z > 0, by the Gaussian integral (as in rlsvi.state_neighbours); "
             "divided by z it is the divergence of order 1 + z",
             "a pair with P narrower has s < 0 and, in units of its smaller deviation, e^|s| + (e^|s| - 1) z in place of g in the first term",
             "the wide pair at ratio |s| is above the narrow one, and rises with |s| and the shift: the largest is at 2 beta and a"),
    not_covered="the tightest composition of delta(epsilon) curves, which is below what the Renyi curve gives",
    laws=("gaussian.density",),
)  # fmt: skip

_LAPLACE = {"r": "(1, inf)", "y": "(1, inf)"}
LAPLACE = Statement(
    "classic.smooth_laplace", "project", "Laplace noise scaled by a smooth bound: three pairs are the worst",
    Source(_NRS, ", 2007", "Laplace noise", "classic.smooth_laplace"),
    "For one real answer, over all shifts of at most the smaller bound and log ratios within +-beta, delta is largest at the largest shift and at ratio "
    "1, exp(beta) or exp(-beta); its value is elementary. No pure privacy holds with beta above 0.",
    r"\delta=\max\{\delta_{0},\delta_{\beta},\delta_{-\beta}\}",
    (
        Obligation("far", make_goal(_LAPLACE, "0 > (1 - r*y)/(r - 1)"), "the far end moves inwards as the ratio grows",
                   mutation=make_goal(_LAPLACE, "0 > (1 - r*y)/(r - 1) + 2")),
        Obligation("near", make_goal({"r": "(1, inf)", "y": "(0, 1)"}, "0 > 0 - (1 + r*y)/(r + 1)"), "the near end moves inwards, too",
                   mutation=make_goal({"r": "(1, inf)", "y": "(0, 1)"}, "0 > 2 - (1 + r*y)/(r + 1)")),
    ),
    (), (_SHIFT, _ENVELOPE, f"y exp(-y) rises up to 1 and falls after it; one change of sign ({_NOTE})"),
    not_covered="answers of several coordinates; a smoothing chosen from the private data",
    laws=("laplace.density",),
)  # fmt: skip

_TWO = {"n": "(0, inf)", "z": "[0, inf)", "h": "[0, inf)"}
PURE = Statement(
    "classic.smooth_pure", "project", "Polynomial tails scaled by a smooth bound: pure privacy, exactly",
    Source(_NRS, ", 2007", "generalised Cauchy noise", "classic.smooth_pure"),
    "For one real answer and noise of density exp(-phi(|z|)), phi rising and z phi'(z) nondecreasing (Student's t, 1/(1 + |z|^g)), the supremum of the "
    "privacy loss is that at the largest shift and at equal scales or scales exp(beta) apart.",
    r"\varepsilon=\max_{s\in\{0,\beta\},\pm}\sup_x L_s^{\pm}(x)",
    (
        Obligation("student", make_goal(_TWO, "(z+h)**2*(n + z**2) >= z**2*(n + (z+h)**2)"),
                   "z phi' = (n+1) z^2/(n + z^2) is nondecreasing", witness={"n": "1", "z": "1", "h": "0"}),
        Obligation("cauchy", make_goal({"u": "[0, inf)", "h": "[0, inf)"}, "(u+h)*(1+u) >= u*(1+u+h)"),
                   "z phi' = g u/(1 + u) with u = z^g is nondecreasing", witness={"u": "1", "h": "0"}),
        Obligation("quadratic", make_goal({"a": "(0, inf)", "n": "(0, inf)", "p": "(0, inf)", "q": "(0, inf)", "x": "[0, inf)"},
                   "(x + a)*(n*p**2 + x**2) - x*(n*q**2 + (x + a)**2) == n*p**2*a - x*(a**2 + n*q**2 - n*p**2) - a*x**2"),
                   "Student's t: the sign of the loss's derivative", witness={"a": "1", "n": "1", "p": "1", "q": "1", "x": "1/2"}),
    ),
    (), (_SHIFT, f"a supremum of convex functions of the log ratio is convex ({_NOTE})"),
    not_covered="the profile at delta above 0, where the mechanism itself gives less than pure privacy implies; several coordinates",
    laws=("student.density",),
)  # fmt: skip

_ADD = {"x": "(0, inf)", "y": "(0, inf)"}
LOG_NORMAL = Statement(
    "classic.smooth_log_normal", "project", "Laplace-log-normal noise scaled by a smooth bound is concentrated",
    Source("arXiv:1906.02830", "v1", "Proposition 3", "classic.smooth_log_normal"),
    "Noise X exp(w Y), X Laplace and Y standard normal, scaled by a beta-smooth bound, is rho-zCDP with rho = (beta/w + exp(3 w^2/2)/noise)^2/2.",
    r"\rho=\tfrac12\left(\beta/w+e^{3w^2/2}/\text{noise}\right)^2",
    (
        Obligation("sum", make_goal(_ADD, "((x+y)/y)/((x+y)/y - 1)*(x**2/2) + ((x+y)/y)*(y**2/2) == (x+y)**2/2"),
                   "Hoelder's two terms at k = (x+y)/y", witness={"x": "1", "y": "1"}),
        Obligation("moments", make_goal({"w": "(0, inf)"}, "2*w**2 - w**2/2 == 3*w**2/2"),
                   "E V^2/E V for a log-normal V", witness={"w": "1"}),
    ),
    ("rlsvi.lemma6.divergence",),
    ("a pure loss of e is e^2/2-zCDP (Bun and Steinke, arXiv:1605.02065)",
         f"Hoelder's inequality for Renyi divergences ({_NOTE})"),
    not_covered="the exact Renyi divergence, which is smaller; several coordinates",
    laws=("laplace.density", "log-normal.moments"),
)  # fmt: skip


def _quoted(name: str, item: str, says: str, not_covered: str) -> Statement:
    identity, title = f"classic.{name}", f"{item} scaled by a smooth bound, as printed"
    return Statement(identity, "quoted", title, Source(_NRS, ", 2007", item, identity), says,
                     reason=f"{title}: a theorem of the literature, quoted; its proof is not re-checked here",
                     not_covered=not_covered)  # fmt: skip


PUBLISHED = (
    _quoted("smooth_gaussian_published", "Gaussian noise",
            "For epsilon, delta in (0, 1): noise >= 5 sqrt(2 log(2/delta))/epsilon and beta <= epsilon/(4 (d + log(2/delta))) give (epsilon, delta)-privacy.",
            "epsilon of 1 and above"),
    _quoted("smooth_laplace_published", "Laplace noise",
            "For one answer and epsilon, delta in (0, 1): noise >= 2/epsilon and beta <= epsilon/(2 log(2/delta)) give (epsilon, delta)-privacy.",
            "epsilon of 1 and above; several coordinates"),
    _quoted("smooth_cauchy_published", "generalised Cauchy noise",
            "For density 1/(1 + |z|^g), g > 1: noise >= 2(g+1)/epsilon and beta <= epsilon/(2(g+1)) give epsilon-privacy.", "several coordinates"),
)  # fmt: skip

STATEMENTS = (PAIR, GAUSSIAN, RENYI, LAPLACE, PURE, LOG_NORMAL, *PUBLISHED)
