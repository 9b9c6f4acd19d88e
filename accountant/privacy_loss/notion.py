"""PrivacyLoss: the guarantee of a composition of mechanisms with known dominating pairs.

Two routes stand behind it, both certified on both sides. The moment-generating function is inverted where
it is known and its integrand decays; everything else goes to a grid of losses. A pair used once needs
neither: its profile is a difference of two masses; Gaussians compose to one. Derivations:
docs/notes/saddle_inversion.md and docs/notes/loss_grid.md.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.chernoff import coarse_delta, coarse_epsilon
from dpproof.accountant.privacy_loss.crossing import check_least
from dpproof.accountant.privacy_loss.inverting import delta_by_inversion, epsilon_by_inversion
from dpproof.accountant.privacy_loss.largest import infinite_mass, largest_loss
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Parts
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair

__all__ = ["Composition", "PrivacyLoss"]

Ends = tuple[float, float]
Composition = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs in one direction, with the number of times each is composed."""
_FARTHEST = Fraction(10**12)
_BITS = 192


@dataclass(frozen=True)
class PrivacyLoss:
    """The privacy profile of composed dominating pairs: the largest over the ``alternatives``.

    One alternative for each direction of the neighbouring relation (a user removed, a user added). The
    pairs of one alternative dominate adaptively composed mechanisms if each dominates its mechanism at
    every epsilon, also below 0 (Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 10).

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> step = SubsampledGaussian(0.01, 1.0)
    >>> training = PrivacyLoss([[(step, 100_000)], [(step.reversed(), 100_000)]])
    >>> training.epsilon("1e-6").upper
    27.6725977

    Raises:
        ValueError: without alternatives, or for a count that is no integer at least 0.
    """

    alternatives: Sequence[Composition]
    _merged: tuple[tuple[tuple[DominatingPair, int], ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError("alternatives ([]) must hold at least one composition")
        object.__setattr__(self, "_merged", tuple(_merge(parts) for parts in self.alternatives))

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = exact(epsilon, "epsilon")
        if point < 0:
            raise ValueError(f"epsilon ({epsilon!r}) must be at least 0")
        return self._largest(lambda parts: _delta(parts, point))

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = exact(delta, "delta")
        if not 0 <= target < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        if target > 0:
            check_least(target)
        return self._largest(lambda parts: _epsilon(parts, target))

    def _largest(self, ask: Callable[[Composition], Ends]) -> Bound:
        ends = [ask(parts) for parts in self._merged]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))


def _merge(parts: Composition) -> tuple[tuple[DominatingPair, int], ...]:
    """Equal pairs together; counts checked, zeros left out."""
    counts: Counter[DominatingPair] = Counter()
    for pair, count in parts:
        if isinstance(count, bool) or int(count) != count or count < 0:
            raise ValueError(f"count ({count!r}) must be an integer at least 0")
        counts[pair] += int(count)
    return tuple((pair, count) for pair, count in counts.items() if count)


def _delta(parts: Composition, epsilon: Fraction) -> Ends:
    if not parts:
        return 0.0, 0.0
    if epsilon >= largest_loss(parts)[1]:
        return infinite_mass(parts)
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.delta(epsilon)
        return found.lower, found.upper
    if epsilon > _FARTHEST:
        return 0.0, _delta(parts, _FARTHEST)[1]
    if (only := _only(parts)) is not None:
        return delta_of_pair(only, epsilon)
    return _first_route(
        lambda: delta_by_inversion(_characteristics(parts), epsilon),
        lambda: _grid().delta_by_grid(parts, epsilon),
        lambda: coarse_delta(parts, _characteristics(parts), epsilon),
    )


def _epsilon(parts: Composition, delta: Fraction) -> Ends:
    if not parts:
        return 0.0, 0.0
    low, high = infinite_mass(parts)
    if low > delta:
        return math.inf, math.inf
    most = largest_loss(parts) if high <= delta else (0.0, math.inf)
    if delta == 0:
        return most
    if most[1] == 0:
        return 0.0, 0.0
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.epsilon(delta)
        return found.lower, found.upper
    low, high = _epsilon_by_routes(parts, delta)
    return min(low, most[1]), min(high, most[1])


def _epsilon_by_routes(parts: Composition, delta: Fraction) -> Ends:
    if (only := _only(parts)) is not None:
        return epsilon_of_pair(only, delta)
    return _first_route(
        lambda: epsilon_by_inversion(_characteristics(parts), delta),
        lambda: _grid().epsilon_by_grid(parts, delta),
        lambda: coarse_epsilon(parts, _characteristics(parts), delta),
    )


def _as_one_gaussian(parts: Composition) -> GaussianDP | None:
    """Gaussians of equal variances compose to one; the squares of their distances add up."""
    squares = [(getattr(pair, "square", None), count) for pair, count in parts]
    known = [square * count for square, count in squares if square is not None]
    if len(known) < len(squares):
        return None
    with precision(_BITS):
        return GaussianDP(bound_of(arb_of(sum(known, Fraction(0))).sqrt()))


def _only(parts: Composition) -> DominatingPair | None:
    """The pair, where there is one and it is used once."""
    (pair, count), *others = parts
    return pair if count == 1 and not others else None


def _grid() -> ModuleType:
    """The grid's route; loaded when asked, because its transforms are slow to load."""
    return importlib.import_module("dpproof.accountant.privacy_loss.by_grid")


def _first_route(inversion: Callable[[], Ends], grid: Callable[[], Ends], coarse: Callable[[], Ends]) -> Ends:
    """The first answer; the coarse one instead of a grid that is too large, if it exists."""
    try:
        return inversion()
    except Inapplicable:
        try:
            return grid()
        except MemoryError as too_large:
            try:
                return coarse()
            except Inapplicable:
                raise too_large from None


def _characteristics(parts: Composition) -> Parts:
    found = [
        (part, count) for part, count in ((pair.characteristic(), count) for pair, count in parts) if part
    ]
    if len(found) < len(parts):
        raise Inapplicable("a pair's moment-generating function is not known")
    return found
