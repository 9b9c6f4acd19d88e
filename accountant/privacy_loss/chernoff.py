"""Chernoff's bounds on delta, from the moment-generating function M of the composed loss at a real c > 0.

(1 - e^(-x))^+ <= e^(cx) c^c/(1 + c)^(1 + c) for every c > 0, so delta(epsilon) is at most M(c) e^(-c epsilon)
c^c/(1 + c)^(1 + c). If no other method applies, this is the upper bound. The lower bound then is the largest delta of a
single pair, because a composition is no more private than one use of one of its pairs.

M is the product of the pairs' functions. If the function of a pair is not known, the probabilities of cells of losses
bound it from above: every loss is at most the upper edge of its cell. Losses above the last edge count as infinite.
The probability of an infinite loss is added to delta (docs/notes/composition.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.pairs.base import DominatingPair, Floats, distinct
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Line, chernoff_factor, line_at
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair, infinite_mass


def chernoff(lines: Sequence[Line], epsilon: float) -> float:
    """Return the logarithm of the best Chernoff bound on delta at ``epsilon``."""
    logs = [x.log_mgf + x.log_mgf_error + chernoff_factor(x.c) - x.c * epsilon for x in lines]
    best = min(logs, default=0.0)
    return best + 1e-9 * (1 + abs(best))


_TRIED = tuple(2.0 ** (k / 2) for k in range(-40, 41))
_SLACK = 1e-9
"""The rounding error of a sum of logarithms, relative to 1 plus the sum of their sizes. It is much smaller."""
_FACTORS = np.array([chernoff_factor(c) for c in _TRIED])
_PLACES = np.array(_TRIED)
_EDGES = 2000
_FARTHEST_LOSS = 1e6
_TOO_SMALL = 1e-280
"""Losses that are less likely than this count as infinite. Double precision does not represent their masses."""


@dataclass(frozen=True)
class Coarse:
    """Certified but wide bounds on the privacy profile of a composition, at every epsilon.

    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> low, high = Coarse.of([(Laplace(1.0), 40)]).delta(Fraction(30))
    >>> low, high < 0.0014
    (0.0, True)
    """

    pairs: tuple[tuple[DominatingPair, int], ...]
    bounds: tuple[Moments, ...]
    """Bounds on log(M(c) c^c/(1 + c)^(1 + c)) at each tried c: by known functions M if there are any, and by cells."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[DominatingPair, int]]) -> Coarse:
        """Return the bounds for dominating pairs, each with the number of times it is composed.

        Raises:
            ArithmeticError: if the probabilities of a pair are NaN.
        """
        return cls(tuple(pairs), tuple(_composed(pairs, ask) for ask in (_moments, _by_cells)))

    def upper(self, epsilon: Fraction) -> float:
        """Return an upper bound on delta at ``epsilon``."""
        return max(min(_upper(found, float(epsilon)) for found in self.bounds), LEAST_DELTA)

    def delta(self, epsilon: Fraction) -> tuple[float, float]:
        """Return bounds on delta at ``epsilon``."""
        low = max(self._of_one(lambda pair: delta_of_pair(pair, epsilon)[0]), infinite_mass(self.pairs)[0])
        return low, max(self.upper(epsilon), low)

    def epsilon(self, delta: Fraction) -> tuple[float, float]:
        """Return bounds on the smallest epsilon >= 0 whose delta is at most ``delta``, which is above 0."""
        low = self._of_one(lambda pair: epsilon_of_pair(pair, delta)[0])
        return low, max(min(_farthest(found, delta) for found in self.bounds), low)

    def _of_one(self, ask: Callable[[DominatingPair], float]) -> float:
        """Return the largest lower bound of a single pair; 0 for pairs that double precision cannot hold."""
        found = [0.0]
        for pair, _ in self.pairs:
            try:
                found.append(ask(pair))
            except ArithmeticError:
                continue
        return max(found)


Moments = tuple[Floats, float]
"""Upper bounds on log M(c) at each tried c, and on the probability of the losses that M does not contain."""


def _composed(pairs: Sequence[tuple[DominatingPair, int]], ask: Callable[[Any], Moments]) -> Moments:
    """Return the bounds for a composition, with the factor of Chernoff's bound."""
    logs, sizes = np.zeros(len(_TRIED)), np.zeros(len(_TRIED))
    for pair, count in pairs:
        found = ask(pair)[0]
        logs += count * found
        sizes += count * np.abs(found)
    infinite = math.fsum(count * ask(pair)[1] for pair, count in pairs)
    logs = logs + _FACTORS + _SLACK * (1 + sizes)
    if np.isnan(logs).any() or math.isnan(infinite):
        raise ArithmeticError("A probability of a privacy loss is NaN.")
    return logs, infinite * (1 + _SLACK)


def _upper(found: Moments, epsilon: float) -> float:
    """Return Chernoff's bound on delta at ``epsilon``."""
    best = float((found[0] - _PLACES * epsilon + _SLACK * (1 + _PLACES * epsilon)).min())
    return min((math.exp(min(best, 0.0)) + found[1]) * (1 + _SLACK), 1.0)


def _farthest(found: Moments, delta: Fraction) -> float:
    """Return an epsilon at which Chernoff's bound is at most ``delta``."""
    left = delta - Fraction(found[1]) * (1 + Fraction(1, 10**9))
    if left <= 0:
        return math.inf
    exponents = found[0] - (math.log(left.numerator) - math.log(left.denominator))
    ends = np.maximum(exponents + _SLACK * (1 + np.abs(exponents)), 0.0) / _PLACES
    return float(ends.min()) * (1 + 1e-12)


@lru_cache(maxsize=64)
def _moments(pair: DominatingPair) -> Moments:
    """Return the bounds from the moment-generating function of a pair; by cells if it is not known."""
    part = pair.characteristic()
    if part is None:
        return _by_cells(cast(Any, pair))
    logs = []
    for c in _TRIED:
        try:
            line = line_at([(part, 1)], c)
        except Inapplicable:
            logs.append(math.inf)
            continue
        logs.append(line.log_mgf + line.log_mgf_error)
    found = np.array(logs)
    return np.where(np.isfinite(found), found, math.inf), pair.cells(np.zeros(1)).infinite[1]


@lru_cache(maxsize=64)
def _by_cells(pair: DominatingPair) -> Moments:
    """Return the bounds from the probabilities of cells of losses."""
    least, most = (min(max(end, -_FARTHEST_LOSS), _FARTHEST_LOSS) for end in pair.loss_range())
    places = np.geomspace(1e-9, 1.0, _EDGES)
    edges = distinct(np.concatenate([-abs(least) * places, abs(most) * places]))
    cells = pair.cells(edges)
    if not cells.p.any():
        return np.zeros(len(_TRIED)), 1.0
    masses = cells.p * (1 + np.asarray(cells.p_error))
    slack = cells.slack + 1e-15 * float(np.abs(edges).max())
    tops = np.append(edges + slack, pair.loss_range()[1])
    totals = np.cumsum(masses[::-1])[::-1] * (1 + 1e-12)
    last = int(np.argmax(np.append(totals <= _TOO_SMALL, True)))  # from here on the masses hardly matter
    last = min(last, len(tops) - 1) if math.isinf(tops[-1]) else last
    beyond = float(totals[last]) if last < len(tops) else 0.0
    masses, tops = masses[:last], tops[:last]
    with np.errstate(divide="ignore"):
        exponents = np.log(masses)[None, :] + _PLACES[:, None] * tops[None, :]
    largest = exponents.max(axis=1)
    sums = np.exp(exponents - largest[:, None]).sum(axis=1)
    sizes = _PLACES * float(np.abs(tops).max()) + 800
    found = largest + np.log(sums) + 1e-12 * sizes
    return found, beyond + cells.infinite[1]
