"""Two numbers for a report of a guarantee: the regret of a Gaussian summary, and a loss that is rarely exceeded.

The summary itself is `Profile.gaussian_but_for`. The mathematics is in docs/notes/label.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cache, math
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, inside_unit
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_CELLS, _MOST, _CLOSE, _SMALL = 32, 800, 1e-2, 1e-6
_FARTHEST = 32.0
"""The search for the regret ends here. Beyond, the regret is below exp(-32)."""
_POINTS = 12
"""The number of epsilons in each of the three rounds of the search for a loss."""


def regret(guarantee: Profile, mu: Number) -> Bound:
    """Return bounds on the regret of reporting mu-Gaussian DP instead of a guarantee.

    Let f be the trade-off function of the guarantee, and G the trade-off function of mu-Gaussian DP. The regret is the
    least r >= 0 with f(alpha + r) - r <= G(alpha) at every alpha. The error rates that follow from mu alone are then
    at most r smaller than those of the guarantee. The regret is 0 if G equals f. It says nothing about the privacy of
    the mechanism.

    Source: Gomez, Kulynych, Kaissis, Calmon, Hayes, Balle and Honkela, arXiv:2503.10945v2; the form by privacy profiles
    is this project's (docs/notes/label.md).

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> regret(GaussianDP(1), 1).upper < 1e-3
    True

    Raises:
        ValueError: for a mu that is negative, infinite or undefined.
    """
    scale, delta = at_least_zero(mu, "mu"), cache(guarantee.sharing().delta)
    least, cells = 0.0, list[tuple[float, float, float]]()
    for a, b in pairwise([_FARTHEST * i / _CELLS for i in range(_CELLS + 1)]):
        low, high = _gap(delta, scale, a, b)
        least = max(least, low)
        heapq.heappush(cells, (-high, a, b))
    for _ in range(_MOST):
        high, a, b = -cells[0][0], *cells[0][1:]
        if high <= least * (1 + _CLOSE) + _SMALL:
            break
        heapq.heappop(cells)
        for one, other in ((a, (a + b) / 2), ((a + b) / 2, b)):
            low, most = _gap(delta, scale, one, other)
            least = max(least, low)
            heapq.heappush(cells, (-most, one, other))
    with precision(64):
        beyond = round_up((-arb_of(exact(_FARTHEST))).exp())
    return Bound(least, max(-cells[0][0], beyond, least))


def _gap(delta: Callable[[Number], Bound], mu: Fraction, a: float, b: float) -> tuple[float, float]:
    """Bounds on the largest (delta_mu(e) - delta(e)) / (1 + exp(e)) for e in [a, b]: the value at a, and a bound."""
    with precision(128):
        wanted, paid = gaussian_delta(mu, exact(a)), 1 + arb_of(exact(a)).exp()
        most = round_up(wanted / paid)
    if most <= _SMALL:  # whatever delta is
        return 0.0, max(most, 0.0)
    here, there = delta(a), delta(b)
    with precision(128):
        low = round_down((wanted - arb_of(exact(here.upper))) / paid)
        high = round_up((wanted - arb_of(exact(there.lower))) / paid)
    return max(low, 0.0), max(high, 0.0)


def loss_exceeded(guarantee: Profile, beta: Number) -> float:
    """Return an upper bound on the least privacy loss b that is exceeded with a probability of at most ``beta``.

    The privacy loss of an output is the logarithm of its probability under one neighbour divided by that under the
    other. Whoever gave the two neighbours even chances believes in the first with probability 1 / (1 + exp(-loss))
    after seeing the output. The bound holds in both directions, for every mechanism with this guarantee. It is infinite
    if delta stays at ``beta`` or above.

    Source: this project, docs/notes/label.md.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
    >>> loss_exceeded(PureDP(1), "1e-6"), round(loss_exceeded(GaussianDP(1), "1e-6"), 3)
    (1.0, 5.432)

    Raises:
        ValueError: for a beta outside (0, 1).
    """
    chance = inside_unit(beta, "beta")
    delta = guarantee.sharing().delta
    pure = guarantee.epsilon(0).upper
    first = guarantee.epsilon(chance / 2).upper
    if math.isinf(first):
        return pure
    found = {first: _loss(delta, chance, first), 0.0: _loss(delta, chance, 0.0)}
    for low, high in _rounds(found, first):
        for i in range(_POINTS):
            place = low + (high - low) * i / (_POINTS - 1)
            found.setdefault(place, _loss(delta, chance, place))
    return min([pure, *found.values()])


def _rounds(found: dict[float, float], first: float) -> Iterator[tuple[float, float]]:
    """Yield intervals of epsilons: around the first one, and twice around the best so far."""
    yield first / 2, min(found.values())
    for _ in range(2):
        places = sorted(found)
        best = places.index(min(places, key=lambda place: found[place]))
        yield places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]


def _loss(delta: Callable[[Number], Bound], beta: Fraction, epsilon: float) -> float:
    """Return an upper bound on epsilon - log(1 - delta(epsilon) / beta); infinity if delta is at least beta."""
    most = exact(delta(epsilon).upper)
    if most >= beta:
        return math.inf
    with precision(128):
        return round_up(arb_of(exact(epsilon)) - arb_of(1 - most / beta).log())
