"""Statements of this project about RLSVI: a tighter account, and neighbours that differ in states too."""

# ruff: noqa: E501 - a statement is a table; its rows are long

from __future__ import annotations

from accountant.published.rlsvi import PAPER, VERSION
from accountant.sources import Source
from proofs_check.papers.rlsvi import BETA, CELL, RUN
from proofs_check.statement import Obligation, Statement, formula, make_claim

__all__ = ["STATEMENTS"]

_STEP = {v: x for v, x in CELL.items() if v != "alpha"}
_EPISODE = "2/(S*H**2*log(2*H*S*A*k))"
_TIGHT = f"(N+1)/({BETA}*N**2)"
TIGHT = Statement(
    "rlsvi.tight", "project", "RLSVI is Gaussian-DP, paying for changed cells only",
    Source(PAPER, VERSION, "Algorithm 1", "rlsvi.tight"),
    "For neighbours that differ in one user's rewards, one cell a step changes in each later episode. The release of all "
    "tables is mu-GDP with mu^2 = sum over k = 2..K of 4/(S H^2 log(2HSAk)), at least S*A below the paper's 2 rho.",
    r"\mu^2=\sum_{k=2}^{K}\frac{4}{SH^2\log(2HSAk)}",
    (
        Obligation("cell", make_claim(_STEP, f"2/{BETA} >= {_TIGHT}"), "N >= 1 visits"),
        Obligation("episode", make_claim(_STEP, f"H*(2/{BETA}) == 2*{_EPISODE}"), "H changed cells: mu_k^2 = 2 rho_k"),
        Obligation("gain", make_claim(_STEP, f"2*A/(H**2*log(2*H*S*A)) >= S*A*{_EPISODE}"),
                   "an episode costs at least S*A less than in Lemma 12"),
        Obligation("paper_rho", make_claim(RUN, f"K*(2*A/(H**2*log(2*H*S*A))) == {formula('rlsvi.rho')}"),
                   "K episodes of the paper"),
    ),
    ("rlsvi.eq2",),
    ("adaptive Gaussian composition under a deterministic budget (docs/notes/rlsvi_tight.md)",
     "a finite sum of nonnegative terms grows with its terms and their number"),
    not_covered="the trade-off function's numerical inversion; neighbours that differ in states or actions",
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
STATE_NEIGHBOURS = Statement(
    "rlsvi.state_neighbours", "project", "Neighbours whose whole trajectory differs, with clipped values",
    Source(PAPER, VERSION, "Section 4 (open question)", "rlsvi.state_neighbours"),
    "Replace one user's trajectory, values clipped to [0, c], B = 1 + c, 1 < alpha < 2. At each step one cell loses a visit "
    "and one gains one (or one cell keeps its count); means move by at most B/N and variances change between beta/N and "
    "beta/(N+1). Both Renyi divergences are largest at N = 1.",
    r"D_\alpha=\ln\frac{s_2}{s_1}+\frac{\ln(v_2/v_*)}{2(\alpha-1)}+\frac{\alpha(m_1-m_2)^2}{2v_*}",
    (
        Obligation("mean_up", make_claim(_GAP, "B/N >= ((N-1)*u + x)/N - u", "B >= x"),
                   "u: mean of the other visits, x: the removed value",
                   {"leaf": "positive", "multipliers": [[_OVER_N, 0]]}),
        Obligation("mean_down", make_claim(_GAP, "B/N >= u - ((N-1)*u + x)/N", "B >= u"), "the other direction",
                   {"leaf": "positive", "multipliers": [[_OVER_N, 0]]}),
        Obligation("mixed_forward",
                   make_claim(_VISITS | _B, f"{_MIX.format(first=_LOW, second=_HIGH)} == beta*(N+alpha)/(N*(N+1))"),
                   "v* when the first variance is the smaller"),
        Obligation("mixed_backward",
                   make_claim(_VISITS | _B, f"{_MIX.format(first=_HIGH, second=_LOW)} == beta*(N+1-alpha)/(N*(N+1))"),
                   "v* when the first variance is the larger"),
        Obligation("mixed_positive", make_claim(_VISITS | _B, "beta*(N+1-alpha)/(N*(N+1)) > 0"), "finite for alpha < 2",
                   {"leaf": "positive", "reflect": ["alpha"]}, None),
        Obligation("variance_forward", make_claim(_VISITS, f"{forward('1')} >= {forward('N')}"), "worst at one visit",
                   _WORST),
        Obligation("variance_backward", make_claim(_VISITS, f"{backward('1')} >= {backward('N')}"), "worst at one visit",
                   _WORST),
        Obligation("mean_forward",
                   make_claim(_VISITS | _B, f"alpha*B**2*2/(2*beta*(1+alpha)) >= {_MEAN_F}"), "worst at one visit"),
        Obligation("mean_backward",
                   make_claim(_VISITS | _B, f"alpha*B**2*2/(2*beta*(2-alpha)) >= {_MEAN_B}"), "worst at one visit",
                   {"leaf": "positive", "reflect": ["alpha"]}),
        Obligation("same_cell", make_claim(_VISITS | _B, "alpha*B**2/beta >= alpha*B**2*(N+1)/(2*beta*N**2)"),
                   "one cell with an unchanged count, worst at one visit"),
        Obligation("same_cell_covered", make_claim({"alpha": "(1, 2)"}, "3/(1+alpha)/(2-alpha) >= 1"),
                   "both mean terms at one visit together pay for it", None, None),
        Obligation("forward_not_negative", make_claim({"alpha": "(1, 2)"}, "alpha*log(2) >= log(1+alpha)"),
                   "the variance terms at one visit are not negative",
                   {"leaf": "mono", "var": "alpha", "dir": 1, "sub": {"leaf": "identity"}}),
        Obligation("backward_not_negative", make_claim({"alpha": "(1, 2)"}, "(1-alpha)*log(2) >= log(2-alpha)"),
                   "the same in the other direction",
                   {"leaf": "mono", "var": "alpha", "dir": 1, "sub": {"leaf": "identity"}}),
    ),
    ("rlsvi.lemma7.as_meant",),
    ("Renyi divergence between Gaussians of different variance (docs/notes/rlsvi_state_neighbours.md)",),
    not_covered="alpha >= 2, where the divergence at a cell of one visit is infinite; an algorithm that does not clip",
)  # fmt: skip

STATEMENTS = (TIGHT, STATE_NEIGHBOURS)
