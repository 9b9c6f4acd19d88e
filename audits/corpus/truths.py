"""The true epsilons of the test cases, computed without the accountant: by sums over outcomes and by Arb integrals.

The truth of a case is the smallest epsilon that holds for its pair of inputs. An audit on this pair cannot find a
larger one, up to its error probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import flint

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.audits.corpus.vectors import SparseVector

BITS = 96
REACH = 100
"""Integrals end this many noise scales beyond the last kink of the density; the rest is added as an error."""

Law = list[flint.arb]
Function = Callable[[Any, float], Any]
"""A function of a complex number that is analytic on several pieces; the float is a point of the chosen piece."""


def largest_ratio(first: Callable[[], Law], second: Callable[[], Law]) -> Bound:
    """Return the pure epsilon of two distributions on finitely many outcomes: the largest |ln P(x) / Q(x)|.

    >>> def law(*chances):
    ...     return lambda: [arb_of(exact(chance)) for chance in chances]
    >>> largest_ratio(law("0.5", "0.5"), law("0.25", "0.75")).upper
    0.693...
    """
    with precision(BITS):
        ratios = [abs((p / q).log()) for p, q in zip(first(), second(), strict=True)]
        return bound_of(reduce(lambda a, b: a.max(b), ratios), "mechanism", "the pair of the case")


def argmax_ratio(
    first: Sequence[Number], second: Sequence[Number], scale: Number, *, one_sided: bool
) -> Bound:
    """Return the pure epsilon of `dpproof.audits.corpus.vectors.noisy_argmax` on two vectors of counts.

    >>> round(argmax_ratio([1, 1, 1, 1, 1], [2, 0, 0, 0, 0], 20, one_sided=False).upper, 4)
    0.0927
    """

    def law(counts: Sequence[Number]) -> Law:
        return [_wins(i, counts, scale, _exponential if one_sided else _laplace) for i in range(len(counts))]

    return largest_ratio(lambda: law(first), lambda: law(second))


def first_above_ratio(variant: SparseVector, first: Sequence[Number], second: Sequence[Number]) -> Bound:
    """Return the pure epsilon, on two inputs, of a sparse vector variant that stops at its first answer "above".

    Raises:
        ValueError: the variant does not stop at its first answer "above", releases values, or has no noise on its
            queries.
    """
    if variant.cutoff != 1 or variant.released or variant.value_scale is not None or not variant.query_scale:
        raise ValueError(
            f"variant ({variant}) must stop at its first answer 'above', release no values, and have query noise"
        )
    return largest_ratio(lambda: _first_above(variant, first), lambda: _first_above(variant, second))


def _first_above(variant: SparseVector, queries: Sequence[Number]) -> Law:
    q = [exact(x) - exact(variant.threshold) for x in queries]
    width = max(variant.threshold_scale, variant.query_scale)
    density, _ = _laplace(variant.threshold_scale)
    _, below = _laplace(variant.query_scale)

    def integrand(k: int) -> Function:
        def value(x: object, inside: float) -> Any:
            product = density(x, inside)
            for i, query in enumerate(q[: k + 1]):
                chance = below(x - arb_of(query), inside - float(query))
                product *= 1 - chance if i == k else chance
            return product

        return value

    placed = [_integral(integrand(k), [0, *map(float, q)], width) for k in range(len(q))]
    return [*placed, 1 - sum(placed, flint.arb(0))]


def _wins(
    i: int, counts: Sequence[Number], scale: Number, noise: Callable[[Number], tuple[Function, Function]]
) -> flint.arb:
    density, below = noise(scale)
    gaps = [exact(counts[i]) - exact(x) for j, x in enumerate(counts) if j != i]

    def integrand(x: object, inside: float) -> Any:
        product = density(x, inside)
        for gap in gaps:
            product *= below(x + arb_of(gap), inside + float(gap))
        return product

    return _integral(integrand, [0, *(-float(gap) for gap in gaps)], float(scale))


def _integral(function: Function, kinks: list[float], width: float) -> flint.arb:
    """Return the integral of a function with tails at most those of a Laplace density of scale ``width``."""
    cuts = sorted({min(kinks) - REACH * width, *kinks, max(kinks) + REACH * width})
    total = flint.arb(0, 1) * flint.arb(-REACH).exp() * 2
    for a, b in pairwise(cuts):
        for low, high in _halves(a, b):
            piece = flint.acb.integral(lambda x, _, m=(a + b) / 2: function(x, m), low, high)
            total += piece.real
    return total


def _halves(a: float, b: float) -> Iterator[tuple[float, float]]:
    """Divide a long piece into ten, because the integrand decreases quickly."""
    step = (b - a) / 10
    yield from ((a + k * step, a + (k + 1) * step if k < 9 else b) for k in range(10))


def _laplace(scale: Number) -> tuple[Function, Function]:
    """Return the density and the cumulative distribution function of the Laplace distribution."""
    b = arb_of(exact(scale))

    def density(x: flint.acb, inside: float) -> flint.acb:
        return (-(x if inside > 0 else -x) / b).exp() / (2 * b)

    def below(x: flint.acb, inside: float) -> flint.acb:
        return 1 - (-x / b).exp() / 2 if inside > 0 else (x / b).exp() / 2

    return density, below


def _exponential(scale: Number) -> tuple[Function, Function]:
    """Return the density and the cumulative distribution function of the exponential distribution."""
    b = arb_of(exact(scale))

    def density(x: flint.acb, inside: float) -> flint.acb:
        return (-x / b).exp() / b if inside > 0 else 0 * x

    def below(x: flint.acb, inside: float) -> flint.acb:
        return 1 - (-x / b).exp() if inside > 0 else 0 * x

    return density, below
