"""Formulas of textbooks and general papers, shown beside the exact answers. Logarithms are natural.

Variables by topic:

- Basic noise: ``s`` the sensitivity of everything released together, ``sigma`` and ``b`` the scale of the
  noise, ``T`` the number of answers, ``delta`` the failure probability.
- Composition and the sparse vector: ``k`` mechanisms (or positive answers), each (``epsilon``, delta)-DP; ``slack``
  the additional delta; ``E`` a target epsilon; ``x``, ``y``, ``w`` the sensitivity over the scale of threshold, query
  and answer.
- Continual counting by the binary mechanism: ``L`` levels of the tree, ``m`` terms of a sum, ``b`` the scale of
  Laplace noise, ``beta`` the failure probability, ``epsilon`` the privacy parameter.
- Noise scaled by a smooth bound on local sensitivity: ``noise`` the scale of the noise over the smooth bound
  (1/alpha), ``beta`` the smoothing (of the bound itself, not of its square), ``d`` the dimension, ``g`` the exponent
  of generalised Cauchy noise, ``w`` the spread of log-normal noise, ``delta`` the failure probability.

Each condition on smooth noise is one formula: the printed alpha or beta, solved for epsilon. All conditions of a
theorem must hold, so its epsilon is the largest of them.
"""

from __future__ import annotations

from typing import Any

from dpproof.accountant.published.formula import Formula, PublishedFormula
from dpproof.accountant.published.sources import Source

_POSITIVE, _COUNT, _SHARE = "(0, inf)", "[1, inf)", "(0, 1)"
_NOISE = dict.fromkeys(("s", "sigma", "b"), _POSITIVE) | {"T": _COUNT, "delta": _SHARE}
_COMPOSED = dict.fromkeys(("epsilon", "E", "x", "y", "w"), _POSITIVE) | {"k": _COUNT, "slack": _SHARE}
_COUNTING = {"L": _COUNT, "m": _COUNT, "b": _POSITIVE, "beta": _SHARE, "epsilon": _POSITIVE}
_SMOOTH = {
    "noise": _POSITIVE,
    "beta": "[0, inf)",
    "d": _COUNT,
    "g": "(1, inf)",
    "w": _POSITIVE,
    "delta": _SHARE,
}
_BOOK = ("Dwork and Roth, The Algorithmic Foundations of Differential Privacy", " (2014)")
_KOV, _LYU, _BS = ("arXiv:1311.0776", "v4"), ("arXiv:1603.01699", "v4"), ("arXiv:1906.02830", "v1")
_CSS = ("Chan, Shi and Song, Private and continual release of statistics", " (2011)")
_NRS = ("Nissim, Raskhodnikova and Smith, Smooth sensitivity and sampling in private data analysis", ", 2007")
_Rows = dict[str, tuple[str, str, str]]


def _entries(
    paper: tuple[str, str], domain: dict[str, str], rows: _Rows, statement: str = ""
) -> tuple[PublishedFormula, ...]:
    """Return the formulas of one paper, from a map of each formula's key to (name of the value, item, text)."""
    return tuple(
        PublishedFormula(
            f"classic.{key}",
            name,
            Formula(text),
            domain,
            Source(*paper, item, f"classic.{statement or key.partition('.')[0]}"),
        )
        for key, (name, item, text) in rows.items()
    )


PUBLISHED = (
    *_entries(
        _BOOK,
        _NOISE,
        {
            "gaussian_classical": ("epsilon", "Theorem A.1", "s*sqrt(2*log(5/(4*delta)))/sigma"),
            "laplace_basic": ("epsilon", "Theorems 3.6 and 3.14", "T*s/b"),
        },
    ),
    *_entries(
        _BOOK,
        _COMPOSED,
        {
            "advanced": (
                "epsilon",
                "Theorem 3.20",
                "sqrt(2*k*log(1/slack))*epsilon + k*epsilon*(exp(epsilon) - 1)",
            ),
            "advanced_corollary": ("epsilon", "Corollary 3.21", "E/(2*sqrt(2*k*log(1/slack)))"),
        },
    ),
    *_entries(
        _KOV,
        _COMPOSED,
        {
            "kairouz_oh_viswanath_closed": (
                "epsilon",
                "Theorem 3.4",
                "(exp(epsilon) - 1)*epsilon*k/(exp(epsilon) + 1) + epsilon*sqrt(2*k*log(1/slack))",
            )
        },
    ),
    *_entries(
        _LYU,
        _COMPOSED,
        {
            "sparse_vector_lyu": ("epsilon", "Theorem 4", "x + 2*k*y + k*w"),
            "sparse_vector_monotone": ("epsilon", "Theorem 5", "x + k*y + k*w"),
        },
    ),
    *_entries(
        _CSS,
        _COUNTING,
        {
            "laplace_sum_tail": ("error", "Lemma 2.8", "b*sqrt(8*m*log(2/beta))"),
            "laplace_sum_tail.terms": ("m", "Lemma 2.8 (hypothesis)", "log(2/beta)"),
            "binary_mechanism_error": (
                "error",
                "Theorem 3.6, with the constants of Lemma 2.8",
                "L/epsilon*sqrt(8*L*log(2/beta))",
            ),
        },
        "laplace_sum_tail",
    ),
    *_entries(
        _NRS,
        _SMOOTH,
        {
            "smooth_gaussian_published.noise": ("epsilon", "Gaussian noise", "5*sqrt(2*log(2/delta))/noise"),
            "smooth_gaussian_published.smoothing": ("epsilon", "Gaussian noise", "4*beta*(d + log(2/delta))"),
            "smooth_laplace_published.noise": ("epsilon", "Laplace noise", "2/noise"),
            "smooth_laplace_published.smoothing": ("epsilon", "Laplace noise", "2*beta*log(2/delta)"),
            "smooth_cauchy_published.noise": ("epsilon", "generalised Cauchy noise", "2*(g + 1)/noise"),
            "smooth_cauchy_published.smoothing": ("epsilon", "generalised Cauchy noise", "2*(g + 1)*beta"),
        },
    ),
    *_entries(
        _BS,
        _SMOOTH,
        {"smooth_log_normal.epsilon": ("epsilon", "Proposition 3", "beta/w + exp(3*w**2/2)/noise")},
    ),
)


def conditions(identity: str, **values: Any) -> Any:
    """Return the least epsilon that meets all conditions of a theorem, as an enclosure.

    Each condition is a lower bound on epsilon. The result is the largest of these bounds. ``identity`` is the
    name of the theorem's statement. ``values`` are the variables of its formulas. The result has the current
    working precision.

    >>> from flint import arb
    >>> conditions("classic.smooth_laplace_published", noise=arb(4), beta=arb(0), delta=arb(0.5))
    0.500000
    """
    printed = [entry for entry in PUBLISHED if entry.source.statement == identity]
    found = printed[0].formula.arb(**values)
    for entry in printed[1:]:
        found = found.max(entry.formula.arb(**values))
    return found
