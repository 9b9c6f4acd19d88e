"""``PrivacyLoss``: the guarantee of a composition of mechanisms with known dominating pairs.

This package has two methods, which both give certified lower and upper bounds. The first (``by_inversion``)
inverts the moment-generating function if it is known and its integrand decays. The second (``by_grid``) uses
a grid of losses. Compositions with few outcomes are computed exactly, and so is a pair that is used only once,
whose profile is a difference of two probabilities. Gaussians compose to one Gaussian. Derivations:
docs/notes/saddle_inversion.md and docs/notes/loss_grid.md.
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.inversion import LEAST_DELTA, check_least
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.outcomes import (
    FEW_OUTCOMES,
    MANY_OUTCOMES,
    ProfileInArb,
    finite_profile,
    likely_profile,
    profile_of,
)
from dpproof.accountant.privacy_loss.by_grid import delta_by_grid, epsilon_by_grid
from dpproof.accountant.privacy_loss.by_inversion import Ends, delta_by_inversion, epsilon_by_inversion
from dpproof.accountant.privacy_loss.chernoff import Coarse, chernoff
from dpproof.accountant.privacy_loss.grid import StepTooSmallError
from dpproof.accountant.privacy_loss.planning import GridTooLargeError
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Parts
from dpproof.accountant.privacy_loss.saddle_search import saddle_for_epsilon
from dpproof.accountant.privacy_loss.sharing import Shared
from dpproof.accountant.privacy_loss.single import (
    delta_in_closed_form,
    delta_of_pair,
    epsilon_by_shares,
    epsilon_in_closed_form,
    epsilon_of_pair,
    infinite_mass,
    largest_loss,
)

Composition = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs in one direction, each with the number of times it is composed."""
_FARTHEST = Fraction(10**12)
_FAR = 64
"""Chernoff's bound comes first at epsilons above this, or above as many deviations of the privacy loss. Often it is
below the smallest delta of doubles."""
_WIDE = 1e-4
"""The relative width of a grid's answer beyond which another route is tried."""


@dataclass(frozen=True)
class PrivacyLoss(Profile):
    """The guarantee of a composition of mechanisms with known dominating pairs.

    ``alternatives`` holds one list of dominating pairs with their counts for each direction of the
    neighbouring relation (a user removed, a user added). Delta and epsilon are the largest over these lists.
    The pairs of one list dominate adaptively composed mechanisms if each pair dominates its mechanism at
    every epsilon, including negative ones (Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 10).

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> step = SubsampledGaussian(0.01, 1.0)
    >>> training = PrivacyLoss([[(step, 100_000)], [(step.reversed(), 100_000)]])
    >>> training.epsilon("1e-6").upper
    27.6725977

    Raises:
        ValueError: without alternatives, or for a count that is no integer at least 0.
    """

    alternatives: Sequence[Composition]
    rough: Number | None = field(default=None, compare=False)
    """None if each answer is computed for itself. A number if answers share work; see ``sharing``."""
    _ways: tuple[_Way, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError("alternatives ([]) must hold at least one composition")
        merged = dict.fromkeys(_merge(parts) for parts in self.alternatives)
        object.__setattr__(self, "_ways", tuple(map(_Way, merged)))

    def __reduce__(self) -> tuple[type[PrivacyLoss], tuple[Sequence[Composition], Number | None]]:
        """Return the arguments of a copy. Listed outcomes are not copied."""
        return type(self), (self.alternatives, self.rough)

    def sharing(self, rough: Number = 0) -> PrivacyLoss:
        """Return the same guarantee as an object whose answers share work.

        An answer may have fewer digits. It does not depend on the questions before it. If delta is proved to be at
        most ``rough``, its lower bound may be 0. Bounds on delta that differ by less than ``rough``/500 are narrow
        enough.
        """
        found = PrivacyLoss(self.alternatives, rough)
        object.__setattr__(found, "_ways", self._ways)
        return found

    def routes(self) -> list[tuple[Composition, FirstRoute]]:
        """Return each composition, and the route that answers it first."""
        return [(way.parts, way.first) for way in self._ways]

    def _delta_at(self, point: Fraction) -> Bound:
        ends = [_delta(way, point, self.rough) for way in self._ways]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))

    def _epsilon_at(self, target: Fraction) -> Bound:
        if target > 0:
            check_least(target)
        if any(way.infinite[0] > target for way in self._ways):
            return Bound(math.inf, math.inf)
        low, high = 0.0, 0.0
        for way in self._ways:
            found = _epsilon(way, target, low, self.rough is not None)
            low, high = max(low, found[0]), max(high, found[1])
        return Bound(low, high)


class FirstRoute(enum.Enum):
    """The route that answers a composition first."""

    CLOSED_FORM = "a closed form, or a list of outcomes, in ball arithmetic"
    INVERSION = "inversion of the moment-generating function"
    GRID = "a grid of losses, composed by a Fourier transform"


class _Way:
    """A composition in one direction of the neighbouring relation, and what its answers share."""

    def __init__(self, parts: tuple[tuple[DominatingPair, int], ...]) -> None:
        self.parts = parts

    @cached_property
    def closed(self) -> ProfileInArb | None:
        """The profile in Arb, if it has a closed form or few outcomes; otherwise None."""
        return _closed_form(self.parts)

    @cached_property
    def first(self) -> FirstRoute:
        """The route that answers first."""
        if self.closed is not None or _as_one_gaussian(self.parts) is not None:
            return FirstRoute.CLOSED_FORM
        return FirstRoute.GRID if self.shared.characteristics is None else FirstRoute.INVERSION

    @cached_property
    def infinite(self) -> Ends:
        """Bounds on the probability of an infinite loss."""
        return infinite_mass(self.parts)

    @cached_property
    def largest(self) -> Ends:
        """Bounds on the largest finite loss."""
        return largest_loss(self.parts)

    @cached_property
    def coarse(self) -> Coarse:
        """Chernoff's bounds."""
        return Coarse.of(self.parts)

    @cached_property
    def shared(self) -> Shared:
        """The integrals and grids that several answers use."""
        try:
            return Shared(self.parts, _characteristics(self.parts))
        except Inapplicable:
            return Shared(self.parts, None)


def _merge(parts: Composition) -> tuple[tuple[DominatingPair, int], ...]:
    """Merge equal pairs, check the counts, and drop pairs with count 0."""
    counts: Counter[DominatingPair] = Counter()
    for pair, count in parts:
        if isinstance(count, bool) or int(count) != count or count < 0:
            raise ValueError(f"count ({count!r}) must be an integer at least 0")
        counts[pair] += int(count)
    return tuple((pair, count) for pair, count in counts.items() if count)


def _closed_form(parts: Composition) -> ProfileInArb | None:
    if not parts:
        return None
    (pair, count), *others = parts
    return finite_profile(parts, FEW_OUTCOMES) if others else profile_of(pair, count)


def _delta(way: _Way, epsilon: Fraction, rough: Number | None) -> Ends:
    parts = way.parts
    if not parts:
        return 0.0, 0.0
    if epsilon >= way.largest[1] and (way.closed is None or way.infinite[1] == 0):
        return way.infinite
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.delta(epsilon)
        return found.lower, found.upper
    if way.closed is not None:
        return delta_in_closed_form(way.closed, epsilon)
    if epsilon > _FARTHEST:
        return 0.0, _delta(way, _FARTHEST, rough)[1]
    if (only := _only(parts)) is not None:
        return delta_of_pair(only, epsilon)
    if (most := _negligible(way, epsilon, rough)) is not None:
        return 0.0, most
    if rough is not None and (known := way.shared.delta(epsilon, rough)) is not None:
        return known
    return _first_route(
        lambda: delta_by_inversion(_characteristics(parts), epsilon),
        lambda: delta_by_grid(parts, epsilon),
        lambda: delta_in_closed_form(_by_many_outcomes(parts), epsilon),
        lambda: way.coarse.delta(epsilon),
    )


def _negligible(way: _Way, epsilon: Fraction, rough: Number | None) -> float | None:
    """Return Chernoff's bound on delta if it is at most ``rough``, or at most the smallest delta of doubles."""
    if rough or epsilon > _FAR or epsilon > _FAR * _spread(way.parts):
        with contextlib.suppress(ArithmeticError):
            most = way.coarse.upper(epsilon)
            return most if most <= LEAST_DELTA or exact(most) <= exact(rough or 0) else None
    return None


def _spread(parts: Composition) -> float:
    """Return about the standard deviation of the privacy loss, or infinity if no divergence is known."""
    bounds = [(getattr(pair, "divergence", None), count) for pair, count in parts]
    return math.sqrt(2 * sum(math.inf if bound is None else bound() * count for bound, count in bounds))


def _epsilon(way: _Way, delta: Fraction, known: float, shares: bool) -> Ends:
    """Return bounds on the epsilon of one composition. An upper bound of ``known`` is narrow enough."""
    parts = way.parts
    if not parts:
        return 0.0, 0.0
    most = way.largest if way.infinite[1] <= delta else (0.0, math.inf)
    if delta == 0:
        return most
    if most[1] <= known:
        return 0.0, most[1]
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.epsilon(delta)
        return found.lower, found.upper
    if way.closed is not None:
        low, high = epsilon_in_closed_form(way.closed, delta)
    elif _never_far(parts, delta):
        return 0.0, 0.0
    elif shares and _only(parts) is None and (answer := way.shared.epsilon(delta, known)) is not None:
        low, high = answer
    else:
        low, high = _epsilon_by_routes(way, delta, known)
        high = epsilon_by_shares(parts, delta) if high == math.inf else high
    return min(low, most[1]), min(high, most[1])


def _never_far(parts: Composition, delta: Fraction) -> bool:
    """Whether Pinsker's inequality proves that delta at epsilon 0, the total variation distance, is small enough.

    The divergence of a step is bounded in one direction only, so all steps must be of one kind.
    """
    if len(parts) > 1:
        return False
    bounds = [(getattr(pair, "divergence", None), count) for pair, count in parts]
    known = [bound() * count for bound, count in bounds if bound is not None]
    return len(known) == len(bounds) and math.fsum(known) / 2 * (1 + 1e-12) <= delta * delta


def _by_chernoff(parts: Composition, delta: Fraction, known: float) -> Ends:
    """Return (0, ``known``) if Chernoff's bound proves that the delta at ``known`` is at most ``delta``.

    Raises:
        Inapplicable: if it does not.
    """
    some = _characteristics(parts)
    line = saddle_for_epsilon(some, known)
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    if known > 0 and chernoff([line], known) <= log_delta - 1e-9 * (1 + abs(log_delta)):
        return 0.0, known
    raise Inapplicable("Chernoff's bound does not prove that another direction has a larger epsilon")


def _epsilon_by_routes(way: _Way, delta: Fraction, known: float) -> Ends:
    parts = way.parts
    if (only := _only(parts)) is not None:
        return epsilon_of_pair(only, delta)
    return _first_route(
        lambda: _by_inversion_or(parts, delta, known),
        lambda: epsilon_by_grid(parts, delta),
        lambda: epsilon_in_closed_form(_by_many_outcomes(parts), delta),
        lambda: way.coarse.epsilon(delta),
        known,
    )


def _by_inversion_or(parts: Composition, delta: Fraction, known: float) -> Ends:
    """Return the answer of the inversion, or (0, ``known``) if that is proved."""
    try:
        return epsilon_by_inversion(_characteristics(parts), delta)
    except Inapplicable:
        return _by_chernoff(parts, delta, known)


def _as_one_gaussian(parts: Composition) -> GaussianDP | None:
    """Return one Gaussian for Gaussians of equal variances, whose squared distances add up; None for other pairs."""
    squares = [(getattr(pair, "square", None), count) for pair, count in parts]
    known = [square * count for square, count in squares if square is not None]
    if len(known) < len(squares):
        return None
    return GaussianDP.of_square(sum(known, Fraction(0)))


def _only(parts: Composition) -> DominatingPair | None:
    """Return the pair if there is only one and it is used once; otherwise None."""
    (pair, count), *others = parts
    return pair if count == 1 and not others else None


def _by_many_outcomes(parts: Composition) -> ProfileInArb:
    if (found := likely_profile(parts, MANY_OUTCOMES)) is None:
        raise Inapplicable("the composition has too many outcomes to list them")
    return found


_Route = Callable[[], Ends]


def _first_route(inversion: _Route, grid: _Route, many: _Route, coarse: _Route, enough: float = 0.0) -> Ends:
    """Return the first answer that exists: by inversion, by the grid, by many outcomes, or a coarse one.

    If the answer of the inversion is wide, it is intersected with that of the grid. Many outcomes are also listed
    if the grid's answer is wide. An upper end of at most ``enough`` is never too wide.
    """
    with contextlib.suppress(Inapplicable):
        low, high = inversion()
        if high > enough and low < (1 - _WIDE) * high:
            with contextlib.suppress(GridTooLargeError):
                other = _on_grid(grid)
                low, high = max(low, other[0]), min(high, other[1])
        return low, high
    try:
        low, high = _on_grid(grid)
    except GridTooLargeError as failed:
        for route in (many, coarse):
            with contextlib.suppress(ArithmeticError):
                return route()
        raise failed
    if low < (1 - _WIDE) * high:
        with contextlib.suppress(Inapplicable):
            return many()
    return low, high


def _on_grid(grid: _Route) -> Ends:
    """Return the answer of a grid. A grid whose numbers leave the range of doubles has none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = grid()
    except (StepTooSmallError, ArithmeticError) as error:
        raise GridTooLargeError(_BEYOND_DOUBLES) from error
    if math.isnan(low + high):
        raise GridTooLargeError(_BEYOND_DOUBLES)
    return low, high


_BEYOND_DOUBLES = (
    "The privacy losses are too large for a grid in double precision. Ask for delta 0, or use more noise."
)


def _characteristics(parts: Composition) -> Parts:
    found = [
        (part, count) for part, count in ((pair.characteristic(), count) for pair, count in parts) if part
    ]
    if len(found) < len(parts):
        raise Inapplicable("the moment-generating function of at least one pair is not known")
    return found


def composed(count: int, *pairs: DominatingPair) -> Profile:
    """Return the guarantee of a mechanism that is used ``count`` times.

    ``pairs`` are the dominating pairs of the mechanism: one for each direction of the neighbouring relation,
    or a single one if both directions have the same privacy losses.

    >>> composed(0).epsilon(0).upper
    0.0
    """
    if count == 0:
        return PureDP(0)

    return PrivacyLoss(tuple(((pair, count),) for pair in pairs))
