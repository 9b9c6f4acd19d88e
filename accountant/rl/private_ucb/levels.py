"""Precision levels of private counts (Assumption 1 of the paper): the paper's levels, and certified ones.

A precision level bounds the error of private counts. There is one level for each kind of counts: visits,
costs and transitions. With probability 1 - delta all counts of all episodes are within their levels at the
same time. delta is split evenly over the three kinds and over the counters of each. A counter's level is the
quantile of its largest error over all releases (docs/notes/ucb_counters_exact.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.counting.error import factorised_union_bound, honaker_union_bound
from dpproof.accountant.counting.maximum import maximum_error_bound
from dpproof.accountant.counting.noise import MOST_TERMS, GaussianNoise, LaplaceNoise, Noise, NoiseLaw
from dpproof.accountant.counting.toeplitz import SquareRoot, banded_square_root
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.numbers.inversion import bracket
from dpproof.accountant.published import published
from dpproof.accountant.rl.private_ucb.changes import COSTS, TRANSITIONS, VISITS
from dpproof.accountant.rl.private_ucb.noise import printed_value
from dpproof.accountant.rl.private_ucb.parameters import (
    CentralCountsParameters,
    CountsParameters,
    LocalCountsParameters,
)

_BITS, _CELLS = 128, 512
_UNITS: dict[str, Noise] = {NoiseLaw.LAPLACE: LaplaceNoise(1), NoiseLaw.GAUSSIAN: GaussianNoise(1)}
Quantile = Callable[[int, Fraction], Bound]
"""A function that returns the level of one counter for noise of scale 1.

Its arguments are the number of independent noise terms that are added up, and the failure probability.
"""


@dataclass(frozen=True)
class CountLevels:
    """Bounds on the error of the three kinds of counts: visits, costs and transitions.

    The upper bounds are certified to hold. The lower bounds show how tight the upper bounds are.
    """

    visits: Bound
    costs: Bound
    transitions: Bound


def _levels(parameters: CountsParameters, failure: Fraction, quantile: Quantile) -> CountLevels:
    if parameters.integer:
        raise ValueError(
            f"noise ({parameters.noise!r}) must be laplace or gaussian, because error bounds are known for these only"
        )
    cells = parameters.tables * parameters.states * parameters.actions
    copies = {VISITS: parameters.states if parameters.visits == "summed" else 1}
    counters = {TRANSITIONS: cells * parameters.states}

    def level(family: str) -> Bound:
        unit = quantile(copies.get(family, 1), failure / (3 * counters.get(family, cells)))
        factor = exact(parameters.used_scale()) * parameters.factor(family)
        with precision(_BITS):
            low, high = (bound_of(arb_of(exact(end) * factor)) for end in (unit.lower, unit.upper))
        return Bound(low.lower, high.upper)

    return CountLevels(level(VISITS), level(COSTS), level(TRANSITIONS))


def central_levels(parameters: CentralCountsParameters, delta: Number) -> CountLevels:
    """Return certified bounds on the errors of all running counts, which hold with probability 1 - ``delta``.

    >>> from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters
    >>> parameters = CentralCountsParameters(6, 2, 20, 20000, printed_epsilon=1.0)
    >>> found, printed = central_levels(parameters, "0.1"), printed_levels(parameters, "0.1")
    >>> found.costs.upper, printed.costs.upper
    (17982.656191, 23342.959468)

    Raises:
        ValueError: for a delta outside (0, 1); for Laplace noise with the counter ``honaker``, because no
            closed form of the tail of its sums is known here.
    """
    if parameters.counter == "honaker" and parameters.noise != NoiseLaw.GAUSSIAN:
        raise ValueError(f"noise ({parameters.noise!r}) must be gaussian if counter is honaker")
    failure, find = inside_unit(delta), _COUNTERS[parameters.counter]
    return _levels(parameters, failure, lambda copies, beta: find(parameters, copies, beta))


def _tree(parameters: CentralCountsParameters, copies: int, beta: Fraction) -> Bound:
    return _tree_quantile(parameters.leaves, parameters.noise, copies, beta)


@lru_cache(maxsize=64)
def _tree_quantile(leaves: int, noise: str, copies: int, beta: Fraction) -> Bound:
    return maximum_error_bound(leaves, _Summed(_UNITS[noise], copies), beta, _CELLS)


def _honaker(parameters: CentralCountsParameters, copies: int, beta: Fraction) -> Bound:
    return _rooted(_honaker_quantile(parameters.leaves, beta), copies)


@lru_cache(maxsize=64)
def _honaker_quantile(leaves: int, beta: Fraction) -> Bound:
    return honaker_union_bound(leaves, 1, beta)


def _factorised(parameters: CentralCountsParameters, copies: int, beta: Fraction) -> Bound:
    return _rooted(_factorised_quantile(parameters.leaves, parameters.bands, beta), copies)


@lru_cache(maxsize=64)
def _factorised_quantile(leaves: int, bands: int | None, beta: Fraction) -> Bound:
    strategy = SquareRoot(leaves) if bands is None else banded_square_root(leaves, bands)
    return factorised_union_bound(strategy, 1, beta)


def _rooted(unit: Bound, copies: int) -> Bound:
    """Return the bound for a sum of several normal copies, each bounded by ``unit``."""
    with precision(_BITS):
        low, high = (
            bound_of(arb_of(exact(end)) * flint.arb(copies).sqrt()) for end in (unit.lower, unit.upper)
        )
    return Bound(low.lower, high.upper)


_COUNTERS: dict[str, Callable[[CentralCountsParameters, int, Fraction], Bound]] = {
    "tree": _tree,
    "honaker": _honaker,
    "square-root": _factorised,
}


@dataclass(frozen=True)
class _Summed:
    """The sum of several copies of a noise, as another noise."""

    noise: Noise
    copies: int

    @property
    def variance(self) -> Fraction:
        """See ``Noise.variance``."""
        return self.noise.variance * self.copies

    def tail(self, terms: int, point: Fraction) -> flint.arb:
        """See ``Noise.tail``."""
        return self.noise.tail(terms * self.copies, point)


def local_levels(parameters: LocalCountsParameters, delta: Number) -> CountLevels:
    """Return certified bounds on the errors of all running counts, which hold with probability 1 - ``delta``.

    A running count is the sum of the noisy counts that users send. The error before episode k is the value of
    a random walk after k - 1 symmetric steps. Let P be the probability that the last value of the walk
    exceeds x. Then the largest value exceeds x with a probability between P and 2 P (Levy).

    >>> parameters = LocalCountsParameters(6, 2, 20, 2000, printed_epsilon=1.0)
    >>> found, printed = local_levels(parameters, "0.1"), printed_levels(parameters, "0.1")
    >>> found.costs.upper, printed.costs.upper
    (15104.447577, 31453.633024)

    Raises:
        ValueError: for a delta outside (0, 1), or a single episode, because nothing is counted before it.
    """
    if parameters.episodes == 1:
        raise ValueError(
            "episodes (1) must be at least 2, because no user is counted before the first episode"
        )
    failure, steps = inside_unit(delta), parameters.episodes - 1
    return _levels(
        parameters, failure, lambda copies, beta: _walk_quantile(parameters.noise, steps * copies, beta)
    )


@lru_cache(maxsize=64)
def _walk_quantile(noise: str, terms: int, beta: Fraction) -> Bound:
    """Return bounds on the quantile of the largest value of a walk whose last value has ``terms`` terms."""
    start = 5 * float(terms * _UNITS[noise].variance) ** 0.5
    if noise == NoiseLaw.LAPLACE and terms > MOST_TERMS:
        return Bound(0.0, bracket(lambda x: 4 * _chernoff(terms, x), beta, start)[1])
    tail = _UNITS[noise].tail
    low, high = (bracket(lambda x, m=m: m * tail(terms, x), beta, start) for m in (2, 4))  # type: ignore[misc] # bound at once
    return Bound(low[0], high[1])


def _chernoff(terms: int, point: Fraction) -> flint.arb:
    """Return an upper bound on P(sum of Laplace variables > point): exp(-h x)(1 - h^2)^(-m), with rounded best h."""
    if point == 0:
        return flint.arb(1)
    m, x = float(terms), float(point)
    h = Fraction(min(x / (m + (m * m + x * x) ** 0.5), 1 - 2.0**-40))
    return (-arb_of(h * point) - terms * arb_of(1 - h * h).log()).exp()


def printed_levels(parameters: CountsParameters, delta: Number) -> CountLevels:
    """Return the paper's bounds on the errors of the counts, for the epsilon that the paper states for this noise.

    Logarithms are natural.

    Raises:
        ValueError: for a delta outside (0, 1].
    """
    failure = exact(delta, "delta")
    if not 0 < failure <= 1:
        raise ValueError(f"delta ({delta!r}) must be in (0, 1]")
    lemma = parameters.printed["scale"].split(".")[1]
    named = printed_value(parameters)
    with precision(_BITS):
        values = {**parameters.paper_sizes(), "delta": arb_of(failure)}
        ends = [arb_of(exact(end)) for end in (named.lower, named.upper)]
        first, second = (
            [published(f"ucb.{lemma}.{level}").formula.arb(**values, epsilon=end) for end in ends]
            for level in ("E1", "E2")
        )
        cells, triples = (Bound(bound_of(b).lower, bound_of(a).upper) for a, b in (first, second))
    return CountLevels(cells, cells, triples)
