"""Statements of this project about RLSVI: a tighter account, and neighbours that differ in states too."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from dpproof.accountant.published.rlsvi import PAPER, VERSION
from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.hints import expect, positive
from dpproof.proofs_check.papers.rlsvi.privacy import BETA, CELL, PAST, POST_PROCESSING, RUN, at
from dpproof.proofs_check.statement import Obligation, Statement, formula, make_goal

_STEP = {v: x for v, x in CELL.items() if v != "alpha"}
_MOVED = _STEP | {"d": "(-inf, inf)"}
_RANGE = ("1/N >= d", "d >= -1/N")
_EPISODE = "2/(S*H**2*log(2*H*S*A*k))"
_TIGHT = f"(N+1)/({BETA}*N**2)"
_PAPER_CELL = "4/(S*H**3*log(2*H*S*A))"
_NUMERATOR = ["*", "2", ["+", "N", "1"]]
_BY_RANGE = {"leaf": "positive", "multipliers": [[["/", _NUMERATOR,
             ["*", "S", ["^", "H", "3"], ["log", ["*", "2", "H", "S", "A", "k"]]]], 0, 1]]}  # fmt: skip
_SUMS = "a finite sum of nonnegative terms grows with its terms and their number"
_READING = (_SUMS, POST_PROCESSING)


def _cell(witness: str) -> Obligation:
    """Return the step from a change of the mean to the squared distance of a cell in units of its noise."""
    return Obligation(
        "moved", make_goal(_MOVED, f"{_TIGHT} >= d**2*(N+1)/{BETA}", *_RANGE),
        "a cell of variance beta_k/(N+1) whose mean moves by d, |d| <= 1/N", _BY_RANGE, at(_MOVED, d=witness),
    )  # fmt: skip


TIGHT = Statement(
    "rlsvi.tight", "project", "RLSVI is Gaussian-DP, paying for changed cells only",
    Source(PAPER, VERSION, "Algorithm 1", "rlsvi.tight"),
    "For neighbours that differ in one user's rewards, one cell a step changes in each later episode. The release of all "
    "tables is mu-GDP with mu^2 = sum over k = 2..K of 4/(S H^2 log(2HSAk)), at most the paper's 2 rho divided by S*A.",
    r"\mu^2=\sum_{k=2}^{K}\frac{4}{SH^2\log(2HSAk)}",
    (
        _cell("1"),
        Obligation("cell", make_goal(_STEP, f"2/{BETA} >= {_TIGHT}"), "N >= 1 visits", witness=at(_STEP)),
        Obligation("episode", make_goal(_STEP, f"H*(2/{BETA}) == 2*{_EPISODE}"), "H changed cells: mu_k^2 = 2 rho_k",
                   witness=at(_STEP)),
        Obligation("gain", make_goal(_STEP, f"2*A/(H**2*log(2*H*S*A)) >= S*A*{_EPISODE}"),
                   "an episode costs at most the S*A-th part of what it costs in Lemma 12", witness=at(_STEP)),
        Obligation("paper_rho", make_goal(RUN, f"K*(2*A/(H**2*log(2*H*S*A))) == {formula('rlsvi.rho')}"),
                   "K episodes of the paper: arithmetic only", witness=at(RUN)),
    ),
    ("rlsvi.eq2", "classic.adaptive_gaussians"),
    reading=(PAST, *_READING),
    not_covered="the trade-off function's numerical inversion; neighbours that differ in states or actions; the actions alone, "
    "which may reveal less than the tables (with A = 1 nothing). The comparison with the paper's rho is arithmetic only",
)  # fmt: skip

_POINT = {"g": "[0, inf)", "D": "[0, inf)"}
_POINT_LAW = {"p": "[0, inf)", "q": "[0, inf)", "v": "[0, inf)", "k": "[0, 1]"}
_POINT_GIVEN = ("v >= p - g*q", "D >= E(v)")
TIGHT_JOINT = Statement(
    "rlsvi.tight_joint", "project", "What all other users see is as private as the tables",
    Source(PAPER, VERSION, "Theorem 13", "rlsvi.tight_joint"),
    "For every user, the actions of all the other users are jointly private against a change of that user's rewards: "
    "mu-GDP with the mu of rlsvi.tight, hence (eps, delta)-JDP for each point of its curve.",
    r"M_{-k}(U)\ \text{is}\ \mu\text{-GDP}",
    (Obligation("others", make_goal(_POINT, "D + g*E(q*k) >= E(p*k)", *_POINT_GIVEN, random=_POINT_LAW),
                "g = exp(eps), v = (p - g q)_+ for the tables' densities p and q, D the delta of rlsvi.tight at eps; k: the chance, given the tables, that what the others do lies in B",
                expect([("v - k*(p - g*q)", positive(("k", 0), reflect=["k"]))], positive(("1", 1), ("1", 2))),
                mutation=make_goal(_POINT, "999/1000*D + g*E(q*k) >= E(p*k)", *_POINT_GIVEN, random=_POINT_LAW)),),
    ("rlsvi.tight", "rlsvi.lemma9"),
    reading=("as in rlsvi.lemma9 the others' actions depend on the policies, which the tables determine, and on their own data: k is one function of the tables; so at every eps", POST_PROCESSING),
    not_covered="the bound is that of the tables, the actions may reveal less",
)  # fmt: skip

PRINTED_GAUSSIAN = Statement(
    "rlsvi.printed_gaussian", "project", "The paper's own accounting is Gaussian-DP at its rho",
    Source(PAPER, VERSION, "Lemmas 11 and 12", "rlsvi.printed_gaussian"),
    "Paying like the paper for all S*A cells of each of H*K steps, each at a squared distance of at most "
    "4/(S H^3 log(2HSA)), the release of all tables is mu-GDP with mu^2 = 4AK/(H^2 log(2HSA)) = 2 rho of Lemma 12. Lemma 12 alone says only rho-zCDP, which "
    "is weaker: converting its curve without loss gives a larger epsilon than the Gaussian trade-off.",
    r"\mu^2=\frac{4AK}{H^2\log(2HSA)}=2\rho",
    (
        _cell("-1"),
        Obligation("cell", make_goal(_STEP, f"{_PAPER_CELL} >= {_TIGHT}"), "N >= 1 and k >= 1", witness=at(_STEP)),
        Obligation("cells", make_goal(RUN, f"S*A*H*K*({_PAPER_CELL}) == 4*A*K/(H**2*log(2*H*S*A))"),
                   "S*A cells, H steps, K episodes", witness=at(RUN)),
        Obligation("rho", make_goal(RUN, f"4*A*K/(H**2*log(2*H*S*A)) == 2*{formula('rlsvi.rho')}"),
                   "twice the rho of Lemma 12: arithmetic only", witness=at(RUN)),
    ),
    ("rlsvi.eq2", "classic.adaptive_gaussians"),
    reading=(PAST, *_READING),
    not_covered="the trade-off function's numerical inversion; it pays for cells that do not change (rlsvi.tight does not)",
)  # fmt: skip

_VISITS = {"alpha": "(1, 2)", "N": "[1, inf)"}
_B = {"B": "[1, inf)", "beta": "(0, inf)"}


def forward(n: str) -> str:
    """Return the variance term when a cell of n visits loses one."""
    return f"((log({n}+1) - log({n}))/2 + (log({n}+1) - log({n}+alpha))/(2*(alpha-1)))"


def backward(n: str) -> str:
    """Return the variance term in the other direction: a cell gains its n-th visit."""
    return f"((log({n}) - log({n}+1))/2 + (log({n}) - log({n}+1-alpha))/(2*(alpha-1)))"


_WORST = {"leaf": "mono", "var": "N", "dir": 1, "sub": {"leaf": "identity"}}
_GAP = {"N": "[1, inf)", "B": "[1, inf)", "x": "[0, inf)", "u": "[0, inf)"}
_MIX = "alpha*{second} + (1-alpha)*{first}"
_LOW, _HIGH = "(beta/(N+1))", "(beta/N)"
_MEAN_F = "alpha*B**2*(N+1)/(2*beta*N*(N+alpha))"
_MEAN_B = "alpha*B**2*(N+1)/(2*beta*N*(N+1-alpha))"
_OVER_N = ["/", "1", "N"]
_AT = at(_VISITS | _B, alpha="3/2")
_CURVE = {"alpha": "(1, 2)", "H": "[1, inf)"} | _B
_AT_CURVE = at(_CURVE, alpha="3/2", H="3", B="2")
_MEANS = "3*alpha*B**2/((1+alpha)*(2-alpha)*beta)"
_MEANS_LAST = "3*alpha/((1+alpha)*(2-alpha)*beta)"
_WORST_F, _WORST_B = "alpha*B**2*2/(2*beta*(1+alpha))", "alpha*B**2*2/(2*beta*(2-alpha))"
_LOG_RATIO = "log(2/((1+alpha)*(2-alpha)))/(2*(alpha-1))"
_BELOW_TWO = {"subst": {"alpha": ["-", "2", "w"]}, "vars": {"w": "(0, 1)"}, "sub": {"leaf": "identity"}}
_TOO_LITTLE = make_goal({"alpha": "(1, 2)"}, "1999/1000/(1+alpha)/(2-alpha) >= 1")
_UNEQUAL = {"alpha": "(1, inf)", "v": "(0, inf)", "s": "(0, inf)"} | dict.fromkeys("xmn", "(-inf, inf)")
_AT_UNEQUAL = {"alpha": "2", "v": "1", "s": "1", "x": "3", "m": "1", "n": "0"}
_U = "((s + (alpha-1)*v)/alpha)"
_LEFT = f"alpha*(-(x-m)**2/(2*v)) + (1-alpha)*(-(x-n)**2/(2*{_U}))"
_RIGHT = f"-(x - (alpha*{_U}*m + (1-alpha)*v*n)/s)**2*s/(2*{_U}*v) + alpha*(alpha-1)*(m-n)**2/(2*s)"
_NORMALISER = f"(log({_U}*v/s)/2 - alpha*log(v)/2 - (1-alpha)*log({_U})/2)/(alpha-1)"
_LOGS = f"(log({_U}) - log(v))/2 + (log({_U}) - log(s))/(2*(alpha-1))"
STATE_NEIGHBOURS = Statement(
    "rlsvi.state_neighbours", "project", "Neighbours whose whole trajectory differs, with clipped values",
    Source(PAPER, VERSION, "Section 4 (open question)", "rlsvi.state_neighbours"),
    "Replace one user, each of whom answers every policy with one fixed trajectory; values clipped to [0, c], B = 1 + c, 1 < alpha < 2. At each step one cell loses a visit "
    "and one gains one (or one cell keeps its count); means move by at most B/N and variances change between beta/N and "
    "beta/(N+1). Both Renyi divergences are largest at N = 1, where they add up to 3 alpha B^2/((1+alpha)(2-alpha) beta) + "
    "log(2/((1+alpha)(2-alpha)))/(2(alpha-1)). The run's bound is the sum over the H (K-1) steps of episodes k = 2..K with "
    "beta = beta_k, and B = 1 at the last step of each.",
    r"D_\alpha=\ln\frac{s_2}{s_1}+\frac{\ln(v_2/v_*)}{2(\alpha-1)}+\frac{\alpha(m_1-m_2)^2}{2v_*}",
    (
        Obligation("square", make_goal(_UNEQUAL, f"{_LEFT} == {_RIGHT}"), "completing the square", witness=_AT_UNEQUAL),
        Obligation("normaliser", make_goal({v: _UNEQUAL[v] for v in ("alpha", "v", "s")}, f"{_NORMALISER} == {_LOGS}"),
                   "the constants, over alpha - 1", witness={"alpha": "2", "v": "1", "s": "2"}),
        Obligation("mean_up", make_goal(_GAP, "B/N >= ((N-1)*u + x)/N - u", "B >= x"),
                   "u: mean of the other visits, x: the removed value",
                   {"leaf": "positive", "multipliers": [[_OVER_N, 0]]}, at(_GAP, u="0")),
        Obligation("mean_down", make_goal(_GAP, "B/N >= u - ((N-1)*u + x)/N", "B >= u"), "the other direction",
                   {"leaf": "positive", "multipliers": [[_OVER_N, 0]]}, at(_GAP, x="0")),
        Obligation("mixed_forward",
                   make_goal(_VISITS | _B, f"{_MIX.format(first=_LOW, second=_HIGH)} == beta*(N+alpha)/(N*(N+1))"),
                   "v* when the first variance is the smaller", witness=_AT),
        Obligation("mixed_backward",
                   make_goal(_VISITS | _B, f"{_MIX.format(first=_HIGH, second=_LOW)} == beta*(N+1-alpha)/(N*(N+1))"),
                   "v* when the first variance is the larger", witness=_AT),
        Obligation("mixed_positive", make_goal(_VISITS | _B, "beta*(N+1-alpha)/(N*(N+1)) > 0"), "finite for alpha < 2",
                   {"leaf": "positive", "reflect": ["alpha"]},
                   mutation=make_goal(_VISITS | _B, "beta*(N+999/1000-alpha)/(N*(N+1)) > 0")),
        Obligation("variance_forward", make_goal(_VISITS, f"{forward('1')} >= {forward('N')}"), "worst at one visit",
                   _WORST, at(_VISITS, alpha="3/2")),
        Obligation("variance_backward", make_goal(_VISITS, f"{backward('1')} >= {backward('N')}"), "worst at one visit",
                   _WORST, at(_VISITS, alpha="3/2")),
        Obligation("mean_forward",
                   make_goal(_VISITS | _B, f"{_WORST_F} >= {_MEAN_F}"), "worst at one visit",
                   witness=_AT),
        Obligation("mean_backward",
                   make_goal(_VISITS | _B, f"{_WORST_B} >= {_MEAN_B}"), "worst at one visit",
                   {"leaf": "positive", "reflect": ["alpha"]}, _AT),
        Obligation("same_cell", make_goal(_VISITS | _B, "alpha*B**2/beta >= alpha*B**2*(N+1)/(2*beta*N**2)"),
                   "one cell with an unchanged count, worst at one visit", witness=_AT),
        Obligation("same_cell_covered", make_goal({"alpha": "(1, 2)"}, "3/(1+alpha)/(2-alpha) >= 1"),
                   "both mean terms at one visit together pay for it", mutation=_TOO_LITTLE),
        Obligation("forward_not_negative", make_goal({"alpha": "(1, 2)"}, "alpha*log(2) >= log(1+alpha)"),
                   "the variance terms at one visit are not negative",
                   {"leaf": "mono", "var": "alpha", "dir": 1, "sub": {"leaf": "identity"}}, {"alpha": "10001/10000"}),
        Obligation("backward_not_negative", make_goal({"alpha": "(1, 2)"}, "(1-alpha)*log(2) >= log(2-alpha)"),
                   "the same in the other direction",
                   {"leaf": "mono", "var": "alpha", "dir": 1, "sub": {"leaf": "identity"}},
                   mutation=make_goal({"alpha": "(1, 2)"}, "(1-alpha)*(1001/1000) >= log(2-alpha)")),
        Obligation("curve_means", make_goal(_CURVE, f"{_WORST_F} + {_WORST_B} == {_MEANS}"),
                   "the two mean terms at one visit are those of the accountant's curve", _BELOW_TWO, _AT_CURVE),
        Obligation("curve_variances",
                   make_goal({"alpha": "(1, 2)"}, f"{forward('1')} + {backward('1')} == {_LOG_RATIO}"),
                   "the two variance terms at one visit are those of the accountant's curve", _BELOW_TWO, {"alpha": "3/2"}),
        Obligation("curve_episode",
                   make_goal(_CURVE, f"(H-1)*({_MEANS} + {_LOG_RATIO}) + ({_MEANS_LAST} + {_LOG_RATIO}) == "
                              f"3*alpha*((H-1)*B**2+1)/((1+alpha)*(2-alpha)*beta) + H*{_LOG_RATIO}"),
                   "an episode's H steps, the last one without next values: B = 1", _BELOW_TWO, _AT_CURVE),
    ),
    ("rlsvi.lemma7.densities",),
    reading=(
        "P = N(m, v), Q = N(n, u), s = alpha u + (1-alpha) v > 0: E_Q[(P/Q)^alpha] is the integral of the exponential of the square's left side over "
        "sqrt(2 pi) v^(alpha/2) u^((1-alpha)/2), and a Gaussian density of variance u v/s integrates to one; u = (s + (alpha-1) v)/alpha",
        "a trajectory meets one cell of each step: at most two cells of a step change between neighbours",
        "the tables of the past determine the policies and so the changed user's trajectories; with the other users' trajectories released they determine all counts and means",
        *_READING,
    ),
    not_covered="users who answer at random: given the past, tables are then mixtures of Gaussians; alpha >= 2, where the divergence at a cell of one visit is infinite; an algorithm "
    "that does not clip",
    laws=("gaussian.density",),
)  # fmt: skip

STATEMENTS = (TIGHT, TIGHT_JOINT, PRINTED_GAUSSIAN, STATE_NEIGHBOURS)
