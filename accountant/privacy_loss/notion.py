"""``PrivacyLoss``: the guarantee of a composition of mechanisms with known dominating pairs.

This package has two methods, which both give certified lower and upper bounds. The first, in this file,
inverts the moment-generating function if it is known and its integrand decays. The search for epsilon is not
certified, but one evaluation of the profile certifies each of the two bounds. The second method uses a grid
of losses. A pair that is used only once needs neither method, because its profile is a difference of two
probabilities. Gaussians compose to one Gaussian. Derivations: docs/notes/saddle_inversion.md and
docs/notes/loss_grid.md.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.inversion import check_least, first_step, neighbours
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
from dpproof.accountant.privacy_loss.grid import StepTooSmallError
from dpproof.accountant.privacy_loss.planning import GridTooLargeError
from dpproof.accountant.privacy_loss.saddle import (
    Contour,
    Inapplicable,
    Line,
    Parts,
    coarse_delta,
    coarse_epsilon,
    contour,
    line_at,
    saddle_for_delta,
    saddle_for_epsilon,
)
from dpproof.accountant.privacy_loss.single import (
    delta_in_closed_form,
    delta_of_pair,
    epsilon_in_closed_form,
    epsilon_of_pair,
    infinite_mass,
    largest_loss,
)

_FLATTEST = 0.25
"""The smallest distance between the line and the pole at 0, in units of 1 over the loss's standard deviation."""


def delta_by_inversion(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of a composition at ``epsilon``, from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """
    below, above = neighbours(epsilon)
    line = _away_from_pole(parts, saddle_for_epsilon(parts, float(epsilon)))
    found = contour(parts, line, min(line.log_delta(float(epsilon)), -1e-9))
    high = found.delta(below)
    low = high if below == above else found.delta(above)
    return min(low[0], 1.0), min(high[1], 1.0)


def epsilon_by_inversion(parts: Parts, delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 at ``delta`` in (0, 1), from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    line = _away_from_pole(parts, saddle_for_delta(parts, min(goal, -1e-9)))
    found = contour(parts, line, goal)
    guess, wrong = _solve(found, line, goal)
    if guess <= 0 and found.delta(0.0)[1] <= delta:
        return 0.0, 0.0
    return _below(found, max(guess, 0.0), wrong, delta), _above(found, max(guess, 0.0), wrong, delta)


def _away_from_pole(parts: Parts, line: Line) -> Line:
    if not line.variance > 0:
        raise Inapplicable("the variance of the privacy loss is not above 0 in double precision")
    least = _FLATTEST / math.sqrt(line.variance)
    return line if line.c >= least else line_at(parts, least)


def _solve(found: Contour, line: Line, goal: float) -> tuple[float, float]:
    """Return the place where the middle of the certified bounds meets the goal, and the uncertainty of the place.

    ``sign_change`` is not used, because the contour gives no information far from the saddle point, so there
    is no bracket.
    """
    epsilon, slope, width = line.saddle_epsilon(), -line.c, 0.0
    previous: tuple[float, float] | None = None
    for _ in range(30):
        low, high = found.delta(epsilon)
        if low <= 0:
            raise Inapplicable("rounding hides delta")
        gap, width = math.log(low / 2 + high / 2) - goal, (high - low) / high
        if previous and previous[0] != epsilon and (gap - previous[1]) / (epsilon - previous[0]) < 0:
            slope = (gap - previous[1]) / (epsilon - previous[0])
        previous = epsilon, gap
        moved = -gap / slope
        if abs(moved) <= max(1e-15 * abs(epsilon), width / 4 / abs(slope)):
            break
        epsilon += moved
    return epsilon, max(width / abs(slope), 4e-16 * abs(epsilon), 1e-320)


def _above(found: Contour, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or above ``guess`` whose delta is certified to be at most ``delta``."""
    end = guess + 2.0**60 * step
    if (high := first_step(lambda epsilon: found.delta(epsilon)[1] <= delta, guess, step, end)) < end:
        return high
    raise Inapplicable("no epsilon near the saddle point is certified to meet delta")


def _below(found: Contour, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or below ``guess``, at least 0, whose delta is certified to be above ``delta``."""
    return first_step(lambda epsilon: found.delta(epsilon)[0] > delta, guess, -step, 0.0)


Ends = tuple[float, float]
Composition = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs in one direction, each with the number of times it is composed."""
_FARTHEST = Fraction(10**12)
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
    _merged: tuple[tuple[tuple[DominatingPair, int], ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError("alternatives ([]) must hold at least one composition")
        merged = dict.fromkeys(_merge(parts) for parts in self.alternatives)
        object.__setattr__(self, "_merged", tuple(merged))

    def __reduce__(self) -> tuple[type[PrivacyLoss], tuple[Sequence[Composition]]]:
        """Return the arguments of a copy. Listed outcomes are not copied."""
        return type(self), (self.alternatives,)

    @cached_property
    def _closed(self) -> tuple[ProfileInArb | None, ...]:
        """The profile of each alternative in Arb, if it has a closed form or few outcomes; otherwise None."""
        return tuple(_closed_form(parts) for parts in self._merged)

    def _delta_at(self, point: Fraction) -> Bound:
        return self._largest(lambda parts, closed: _delta(parts, closed, point))

    def _epsilon_at(self, target: Fraction) -> Bound:
        if target > 0:
            check_least(target)
        if any(infinite_mass(parts)[0] > target for parts in self._merged):
            return Bound(math.inf, math.inf)
        return self._largest(lambda parts, closed: _epsilon(parts, closed, target))

    def _largest(self, ask: Callable[[Composition, ProfileInArb | None], Ends]) -> Bound:
        ends = [ask(*one) for one in zip(self._merged, self._closed, strict=True)]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))


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
    only = _only(parts)
    return finite_profile(parts, FEW_OUTCOMES) if only is None else profile_of(only)


def _delta(parts: Composition, closed: ProfileInArb | None, epsilon: Fraction) -> Ends:
    if not parts:
        return 0.0, 0.0
    if epsilon >= largest_loss(parts)[1] and (closed is None or infinite_mass(parts)[1] == 0):
        return infinite_mass(parts)
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.delta(epsilon)
        return found.lower, found.upper
    if closed is not None:
        return delta_in_closed_form(closed, epsilon)
    if epsilon > _FARTHEST:
        return 0.0, _delta(parts, closed, _FARTHEST)[1]
    if (only := _only(parts)) is not None:
        return delta_of_pair(only, epsilon)
    return _first_route(
        lambda: delta_by_inversion(_characteristics(parts), epsilon),
        lambda: delta_by_grid(parts, epsilon),
        lambda: delta_in_closed_form(_by_many_outcomes(parts), epsilon),
        lambda: coarse_delta(parts, _characteristics(parts), epsilon),
    )


def _epsilon(parts: Composition, closed: ProfileInArb | None, delta: Fraction) -> Ends:
    if not parts:
        return 0.0, 0.0
    most = largest_loss(parts) if infinite_mass(parts)[1] <= delta else (0.0, math.inf)
    if delta == 0:
        return most
    if most[1] == 0:
        return 0.0, 0.0
    if (gaussian := _as_one_gaussian(parts)) is not None:
        found = gaussian.epsilon(delta)
        return found.lower, found.upper
    if closed is not None:
        low, high = epsilon_in_closed_form(closed, delta)
    else:
        low, high = _epsilon_by_routes(parts, delta)
    return min(low, most[1]), min(high, most[1])


def _epsilon_by_routes(parts: Composition, delta: Fraction) -> Ends:
    if (only := _only(parts)) is not None:
        return epsilon_of_pair(only, delta)
    return _first_route(
        lambda: epsilon_by_inversion(_characteristics(parts), delta),
        lambda: epsilon_by_grid(parts, delta),
        lambda: epsilon_in_closed_form(_by_many_outcomes(parts), delta),
        lambda: coarse_epsilon(parts, _characteristics(parts), delta),
    )


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


def _first_route(inversion: _Route, grid: _Route, many: _Route, coarse: _Route) -> Ends:
    """Return the first answer that exists: by inversion, by the grid, by many outcomes, or a coarse one.

    Many outcomes are also listed if the grid's answer is wide.
    """
    with contextlib.suppress(Inapplicable):
        return inversion()
    try:
        low, high = _on_grid(grid)
    except GridTooLargeError as failed:
        for other in (many, coarse):
            with contextlib.suppress(Inapplicable):
                return other()
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
