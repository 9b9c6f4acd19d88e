"""``PrivacyLoss``: the guarantee of a composition of mechanisms with known dominating pairs.

This package has two methods, which both give certified lower and upper bounds. The first, in this file,
inverts the moment-generating function if it is known and its integrand decays. The search for epsilon is not
certified, but one evaluation of the profile certifies each of the two bounds. The second method uses a grid
of losses. A pair that is used only once needs neither method, because its profile is a difference of two
probabilities. Gaussians compose to one Gaussian. Derivations: docs/notes/saddle_inversion.md and
docs/notes/loss_grid.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, precision
from dpproof.accountant.numbers.inversion import check_least, first_step, neighbours
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.by_grid import delta_by_grid, epsilon_by_grid
from dpproof.accountant.privacy_loss.jump_outlook import Jumping
from dpproof.accountant.privacy_loss.rare_jumps import Parted, chernoff, parted
from dpproof.accountant.privacy_loss.saddle import (
    MOST_NODES,
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
from dpproof.accountant.privacy_loss.single import delta_of_pair, epsilon_of_pair, infinite_mass, largest_loss

Ends = tuple[float, float]
Integral = Contour | Parted
Saddle = Callable[[Parts, float], Line]
"""A function that returns a line near the saddle point. The number is by how much its log delta is misjudged."""
_RAREST = math.log(1e-300)
_FEW_NODES, _NARROW, _FAR_OFF = 1 << 14, 1e-7, 2.0
_FLATTEST = 0.25
"""The smallest distance between the line and the pole at 0, in units of 1 over the loss's standard deviation."""


def delta_by_inversion(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of a composition at ``epsilon``, from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """
    below, above = neighbours(epsilon)

    def saddle(some: Parts, _: float) -> Line:
        return _away_from_pole(some, saddle_for_epsilon(some, float(epsilon)))

    def ends(found: Integral) -> Ends:
        high = found.delta(below)
        low = high if below == above else found.delta(above)
        return min(low[0], 1.0), min(high[1], 1.0)

    def in_parts(part: Jumping, times: int) -> Parted:
        return parted(part, times, log_delta=_RAREST, epsilon=float(epsilon))

    return _best(parts, saddle, lambda line: min(line.log_delta(float(epsilon)), -1e-9), in_parts, ends)


def epsilon_by_inversion(parts: Parts, delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 at ``delta`` in (0, 1), from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)

    def saddle(some: Parts, off: float) -> Line:
        return _away_from_pole(some, saddle_for_delta(some, min(goal + off, -1e-9)))

    def ends(found: Integral) -> Ends:
        guess, wrong = _solve(found, goal)
        if guess <= 0 and found.delta(0.0)[1] <= delta:
            return 0.0, 0.0
        return _below(found, max(guess, 0.0), wrong, delta), _above(found, max(guess, 0.0), wrong, delta)

    def in_parts(part: Jumping, times: int) -> Parted:
        return parted(part, times, log_delta=goal)

    return _best(parts, saddle, lambda _: goal, in_parts, ends)


def _best(
    parts: Parts,
    saddle: Saddle,
    log_delta: Callable[[Line], float],
    in_parts: Callable[[Jumping, int], Parted],
    ends: Callable[[Integral], Ends],
) -> Ends:
    """Return the first narrow answer: by one integral, by parts with and without rare jumps, or by more points.

    Bounds of several methods are combined.
    """
    methods: list[Callable[[], Integral]] = [lambda: _centred(parts, saddle, log_delta, MOST_NODES)]
    first = parts[0][0]
    if len(parts) == 1 and isinstance(first, Jumping) and first.may_jump:
        methods.insert(0, lambda: in_parts(first, parts[0][1]))
        methods.insert(0, lambda: _centred(parts, saddle, log_delta, _FEW_NODES))
    low, high, refused = 0.0, math.inf, Inapplicable("no method applies")
    for method in methods:
        try:
            found = ends(method())
        except Inapplicable as error:
            refused = error
            continue
        low, high = max(low, found[0]), min(high, found[1])
        if high - low <= _NARROW * high:
            return low, high
    if math.isinf(high):
        raise refused
    return low, high


def _centred(parts: Parts, saddle: Saddle, log_delta: Callable[[Line], float], most: int) -> Contour:
    """Return the integral on one line. If the line is far from the saddle point, take the line that corrects this."""
    off = 0.0
    for _ in range(3):
        line = saddle(parts, off)
        found = contour(parts, line, log_delta(line), most)
        here = line.saddle_epsilon()
        low, high = found.delta(here) if here > 0 else (0.0, 0.0)
        if low <= 0:
            break
        off = line.log_delta(here) - math.log(low / 2 + high / 2)
        if abs(off) < _FAR_OFF:
            break
    return found


def _away_from_pole(parts: Parts, line: Line) -> Line:
    if not line.variance > 0:
        raise Inapplicable("the variance of the privacy loss is not above 0 in double precision")
    least = _FLATTEST / math.sqrt(line.variance)
    return line if line.c >= least else line_at(parts, least)


def _solve(found: Integral, goal: float) -> tuple[float, float]:
    """Return the place where the middle of the certified bounds meets the goal, and the uncertainty of the place.

    ``sign_change`` is not used, because the contour gives no information far from the saddle point, so there
    is no bracket.
    """
    (epsilon, slope), width = found.aim, 0.0
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


def _above(found: Integral, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or above ``guess`` whose delta is certified to be at most ``delta``."""
    end = guess + 2.0**60 * step
    if (high := first_step(lambda epsilon: found.delta(epsilon)[1] <= delta, guess, step, end)) < end:
        return high
    raise Inapplicable("no epsilon near the saddle point is certified to meet delta")


def _below(found: Integral, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or below ``guess``, at least 0, whose delta is certified to be above ``delta``."""
    return first_step(lambda epsilon: found.delta(epsilon)[0] > delta, guess, -step, 0.0)


Composition = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs in one direction, each with the number of times it is composed."""
_FARTHEST = Fraction(10**12)
_BITS = 192


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
        object.__setattr__(self, "_merged", tuple(_merge(parts) for parts in self.alternatives))

    def _delta_at(self, point: Fraction) -> Bound:
        return self._largest(lambda parts: _delta(parts, point))

    def _epsilon_at(self, target: Fraction) -> Bound:
        if target > 0:
            check_least(target)
        if any(infinite_mass(parts)[0] > target for parts in self._merged):
            return Bound(math.inf, math.inf)
        low, high = 0.0, 0.0
        for parts in self._merged:
            found = _epsilon(parts, target, low)
            low, high = max(low, found[0]), max(high, found[1])
        return Bound(low, high)

    def _largest(self, ask: Callable[[Composition], Ends]) -> Bound:
        ends = [ask(parts) for parts in self._merged]
        return Bound(max(low for low, _ in ends), max(high for _, high in ends))


def _merge(parts: Composition) -> tuple[tuple[DominatingPair, int], ...]:
    """Merge equal pairs, check the counts, and drop pairs with count 0."""
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
        lambda: delta_by_grid(parts, epsilon),
        lambda: coarse_delta(parts, _characteristics(parts), epsilon),
    )


def _epsilon(parts: Composition, delta: Fraction, known: float) -> Ends:
    """Return bounds on the epsilon of one composition. An upper bound of ``known`` is narrow enough."""
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
    if _never_far(parts, delta):
        return 0.0, 0.0
    low, high = _epsilon_by_routes(parts, delta, known)
    return min(low, most[1]), min(high, most[1])


def _never_far(parts: Composition, delta: Fraction) -> bool:
    """Whether Pinsker's inequality proves that delta at epsilon 0, the total variation distance, is small enough."""
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


def _epsilon_by_routes(parts: Composition, delta: Fraction, known: float) -> Ends:
    if (only := _only(parts)) is not None:
        return epsilon_of_pair(only, delta)
    return _first_route(
        lambda: _by_inversion_or(parts, delta, known),
        lambda: epsilon_by_grid(parts, delta),
        lambda: coarse_epsilon(parts, _characteristics(parts), delta),
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
    with precision(_BITS):
        return GaussianDP(bound_of(arb_of(sum(known, Fraction(0))).sqrt()))


def _only(parts: Composition) -> DominatingPair | None:
    """Return the pair if there is only one and it is used once; otherwise None."""
    (pair, count), *others = parts
    return pair if count == 1 and not others else None


def _first_route(inversion: Callable[[], Ends], grid: Callable[[], Ends], coarse: Callable[[], Ends]) -> Ends:
    """Return the first answer that exists: by inversion, by the grid, or coarse if the grid would be too large."""
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
