"""Calibration: the least noise certified to meet a target, and slightly less noise certified to miss it.

A search in floating-point numbers proposes a noise scale. Two certified evaluations of the guarantee, one on
each side, confirm it. The search only evaluates ``delta(epsilon)``, which a numerical guarantee computes in
one evaluation. The result is the least noise for the guarantee. If no pair of neighbours attains the
guarantee, the mechanism itself may need less.

``Target`` is an (epsilon, delta) to meet. ``AttackTarget`` is a true positive rate that no attack may exceed.
``Judge`` decides, with a certificate, whether a noise scale meets such a target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.inversion import first_whole, neighbours_of

__all__ = ["NoNoiseNeededError", "TargetError", "UnreachableTargetError", "calibrate_noise"]


class TargetError(ValueError):
    """Raised if there is no least noise that meets a target."""


class UnreachableTargetError(TargetError):
    """Raised if no noise that the search tries meets the target."""


class NoNoiseNeededError(TargetError):
    """Raised if the target is met with almost no noise."""


@dataclass(frozen=True)
class Target:
    """A target for calibration: the exact epsilon and delta that the noise has to meet.

    Raises:
        ValueError: for a negative epsilon, or a delta outside [0, 1).
    """

    epsilon: Fraction
    delta: Fraction
    below: float = field(init=False)
    """The largest double that is at most epsilon. The noise that meets the target is checked at this value."""
    above: float = field(init=False)
    """The smallest double above epsilon. The noise that misses the target is checked at this value."""

    def __post_init__(self) -> None:
        at_least_zero(self.epsilon, "epsilon")
        below_one(self.delta, "delta")
        for name, value in zip(("below", "above"), neighbours_of(self.epsilon), strict=True):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return f"epsilon ({float(self.epsilon)!r}) at delta ({float(self.delta)!r})"

    def meets(self, guarantee: Profile) -> bool:
        """Return whether the guarantee is certified to imply the target's (epsilon, delta)."""
        if self.delta == 0:
            return guarantee.epsilon(0).upper <= self.below
        return guarantee.delta(self.below).upper <= self.delta

    def misses(self, guarantee: Profile) -> bool:
        """Return whether the guarantee's epsilon is certified to be larger than the double ``above``."""
        if self.delta == 0:
            return guarantee.epsilon(0).lower > self.above
        return guarantee.delta(self.above).lower > self.delta

    def gap(self, guarantee: Profile) -> tuple[float, float]:
        """Return an estimated distance from the target, and the uncertainty of this estimate.

        The distance is above 0 if the guarantee seems to miss the target. Nothing is certified. If the target
        has a delta above 0, the function computes -sqrt(-2 log delta) for the guarantee's delta and for the
        target's delta. The distance is the difference of these two numbers. For Gaussian noise it is about
        linear in the noise. If the target has delta 0, the distance is a difference of logarithms of epsilon.
        """
        if self.delta == 0:
            return _spread(guarantee.epsilon(0), _log, float(self.epsilon))
        return _spread(guarantee.delta(self.below), _score, float(self.delta))


@dataclass(frozen=True)
class AttackTarget:
    """A target for calibration: the largest true positive rate that an attack may have at ``false_positive``.

    >>> print(AttackTarget(Fraction(1, 5), Fraction(1, 100)))
    true positive rate (0.2) at false positive rate (0.01)

    Raises:
        ValueError: unless 0 < false_positive < true_positive < 1.
    """

    true_positive: Fraction
    false_positive: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.false_positive < self.true_positive < 1:
            given = f"{float(self.true_positive):g}, {float(self.false_positive):g}"
            rule = "must be the true positive rate and then the smaller false positive rate, both above 0 and below 1"
            raise ValueError(f"target_tpr ({given}) {rule}")

    def __str__(self) -> str:
        rates = float(self.true_positive), float(self.false_positive)
        return f"true positive rate ({rates[0]!r}) at false positive rate ({rates[1]!r})"

    def meets(self, guarantee: Profile) -> bool:
        """Return whether every attack is certified to have at most the target's true positive rate."""
        return exact(guarantee.trade_off(self.false_positive).lower) >= 1 - self.true_positive

    def misses(self, guarantee: Profile) -> bool:
        """Return whether the guarantee is certified to allow an attack with a larger true positive rate."""
        return exact(guarantee.trade_off(self.false_positive).upper) < 1 - self.true_positive

    def gap(self, guarantee: Profile) -> tuple[float, float]:
        """Return an estimated distance from the target, and the uncertainty of this estimate.

        The distance is above 0 if the guarantee seems to miss the target. Nothing is certified. Let rate be
        the true minus the false positive rate. The function computes -sqrt(-2 log rate) for the guarantee and
        for the target. The distance is the difference of these two numbers.
        """
        missed = guarantee.trade_off(self.false_positive)
        most, least = (1 - end - float(self.false_positive) for end in (missed.lower, missed.upper))
        found = Bound(max(least, 0.0), max(most, 0.0))
        return _spread(found, _score, float(self.true_positive - self.false_positive))


class Goal(Protocol):
    """A goal that calibrated noise has to meet: a `Target` or an `AttackTarget`."""

    def meets(self, guarantee: Profile) -> bool:
        """Return whether the guarantee is certified to meet the goal."""
        ...

    def misses(self, guarantee: Profile) -> bool:
        """Return whether the guarantee is certified to miss the goal.

        A `Target` is missed if epsilon is certified to be larger than the double after the target's epsilon.
        """
        ...

    def gap(self, guarantee: Profile) -> tuple[float, float]:
        """Return an estimated distance from the goal, and the uncertainty of this estimate.

        The distance is above 0 if the guarantee seems to miss the goal. Nothing is certified.
        """
        ...


@dataclass
class Judge:
    """A judge that decides whether a noise scale meets a target.

    ``guarantee`` returns the guarantee for a noise scale. Decisions are certified. Distances from the target
    are estimates, and ``known`` stores them.
    """

    guarantee: Callable[[Any], Profile]
    target: Goal
    known: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def meets(self, noise: Any) -> bool:
        """Return whether this noise is certified to meet the target."""
        return self.target.meets(self.guarantee(noise))

    def misses(self, noise: Any) -> bool:
        """Return whether this noise is certified to miss the target."""
        return self.target.misses(self.guarantee(noise))

    def gap(self, noise: Any) -> tuple[float, float]:
        """Return the estimated distance of this noise from the target, and the uncertainty of this estimate.

        The distance is above 0 if the target seems to be missed. Nothing is certified.
        """
        if noise not in self.known:
            try:
                self.known[noise] = self.target.gap(self.guarantee(noise))
            except (ArithmeticError, MemoryError):  # a delta too far below the target to tell: less noise
                self.known[noise] = (-1.0, 0.0)
        return self.known[noise]


def _spread(found: Bound, scale: Callable[[float], float], target: float) -> tuple[float, float]:
    low, high, goal = scale(found.lower or found.upper), scale(found.upper), scale(target)
    return (low + high) / 2 - goal, high - low


def _log(value: float) -> float:
    return math.log(value) if 0 < value < math.inf else math.copysign(750.0, value - 1)


def _score(delta: float) -> float:
    return -math.sqrt(max(-2 * _log(delta), 0.0))


Chosen = TypeVar("Chosen", bound=Parameters)


def calibrate_noise(
    parameters: Chosen,
    name: str,
    guarantee_of: Callable[[Chosen], Profile],
    epsilon: Number,
    delta: Number,
    *,
    safer: int = 1,
) -> tuple[Chosen, Chosen]:
    """Return two sets of parameters: one certified to meet a target, and one certified to miss it.

    The first set has the least noise that the search can certify: its epsilon at ``delta`` is at most
    ``epsilon``. The second set has slightly less noise. Its epsilon at ``delta`` is above the smallest double
    that is larger than ``epsilon``. The two sets differ only in the parameter ``name``. If this parameter is
    a real number, its two values have a relative difference of at most about 1e-9, or as small as the
    accuracy of the guarantee allows. The search begins at the value of ``name`` in ``parameters``.

    >>> from fractions import Fraction
    >>> from dpproof.accountant.claims.parameters import Reals, parameter
    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> @dataclass(frozen=True)
    ... class Sigma(Parameters):
    ...     sigma: float = parameter(Reals(0, lower_open=True), "1", "noise")
    >>> meets, misses = calibrate_noise(
    ...     Sigma(1.0), "sigma", lambda p: GaussianDP(1 / Fraction(p.sigma)), 1, "1e-5"
    ... )
    >>> meets.sigma, 0 < meets.sigma - misses.sigma < 1e-9
    (3.730632, True)

    Args:
        parameters: all other parameters, and the value at which the search begins.
        name: the parameter that is searched. Its domain is an interval.
        guarantee_of: returns the guarantee under given parameters. More noise must mean a smaller delta.
        epsilon: the epsilon of the target, at least 0.
        delta: the delta of the target, in [0, 1).
        safer: 1 if a larger value of the parameter is more private, -1 if a smaller one is.

    Raises:
        ValueError: for a target outside its domain.
        UnreachableTargetError: if the target is certified to be missed as far as the search goes.
        NoNoiseNeededError: if it is certified to be met with as little noise as the search tries.
        ArithmeticError: if the guarantee is not exact enough to decide.
    """
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    return meet(parameters, name, guarantee_of, target, safer=safer)


def meet(
    parameters: Chosen, name: str, guarantee_of: Callable[[Chosen], Profile], target: Goal, *, safer: int = 1
) -> tuple[Chosen, Chosen]:
    """Return two sets of parameters: one certified to meet ``target``, and one certified to miss it.

    See `calibrate_noise`. Here the target may be a `Target` or an `AttackTarget`.
    """
    domain = next(field for field in parameters.fields() if field.name == name).metadata["domain"]
    judge = Judge(lambda x: guarantee_of(replace(parameters, **{name: x})), target)
    scale = _Scale(domain.lower, domain.upper, domain.kind is int, safer)
    find = _whole if scale.whole else _real
    meets, misses = find(judge, scale, scale.to_scale(getattr(parameters, name)), name)
    return replace(parameters, **{name: meets}), replace(parameters, **{name: misses})


@dataclass(frozen=True)
class _Scale:
    """The searched field on a scale that rises with privacy: logarithms of reals, whole numbers unchanged."""

    lower: float
    upper: float
    whole: bool
    safer: int

    def to_scale(self, value: float) -> float:
        return self.safer * (value if self.whole else math.log(value))

    def to_value(self, place: float) -> Any:
        if self.whole:
            return int(min(max(self.safer * place, self.lower), self.upper))
        return min(max(math.exp(self.safer * place), self.ends()[0]), self.ends()[1])

    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value to try. If an end of the domain is open, the value is just inside."""
        inside = math.nextafter(self.upper, 0)
        return max(math.nextafter(self.lower, 1), _LEAST), min(inside, _MOST)

    def reach(self) -> tuple[float, float]:
        """The positions on the scale of the least private and of the most private value that is tried."""
        ends = (max(self.lower, -_WHOLE), min(self.upper, _WHOLE)) if self.whole else self.ends()
        low, high = sorted(self.to_scale(end) for end in ends)
        return low, high


_LEAST, _MOST, _WHOLE = 1e-6, 1e15, 2.0**62
_FINEST, _COARSEST, _FARTHEST = 2.0**-33, 0.5, 0.1


def _bracket(judge: Judge, scale: _Scale, start: float, name: str) -> tuple[float, float]:
    """Return positions on both sides of the change of sign, found in growing steps from ``start``."""
    first, last = scale.reach()
    place = min(max(start, first), last)
    side = judge.gap(scale.to_value(place))[0] > 0
    end, step = (last if side else first), (1.0 if scale.whole else math.log(2.0))
    while True:
        if place == end:
            raise _beyond(judge, scale, end, side, name)
        before = place
        place = min(place + step, end) if side else max(place - step, end)
        if (judge.gap(scale.to_value(place))[0] > 0) != side:
            return (before, place) if side else (place, before)
        step *= 2 if scale.whole else 1.5


def _beyond(judge: Judge, scale: _Scale, end: float, side: bool, name: str) -> Exception:
    """Build the exception for a bracket without a sign change."""
    value = scale.to_value(end)
    if side and judge.misses(value):
        most = f"Even {name} = {value!r}, the most noise that dpproof tries, is not enough."
        return UnreachableTargetError(f"{judge.target} cannot be met. {most}")
    if not side and judge.meets(value):
        least = f"The least noise that dpproof tries, {name} = {value!r}, already meets the target."
        return NoNoiseNeededError(f"{judge.target} needs almost no noise. {least}")
    return ArithmeticError(
        f"The bounds at {name} = {value!r} are too wide to decide whether {judge.target} is met."
    )


def _whole(judge: Judge, scale: _Scale, start: float, name: str) -> tuple[int, int]:
    """Search whole numbers by bisection. The results are adjacent integers if the guarantee can decide at both."""
    low, high = _bracket(judge, scale, start, name)
    high = first_whole(lambda place: judge.gap(scale.to_value(place))[0] <= 0, int(low), int(high))
    low = high - 1
    return (
        _certified(judge.meets, scale, high, 1.0, judge.target),
        _certified(judge.misses, scale, low, -1.0, judge.target),
    )


def _real(judge: Judge, scale: _Scale, start: float, name: str) -> tuple[float, float]:
    low, high = _bracket(judge, scale, start, name)
    root, step = _root(lambda place: judge.gap(scale.to_value(place)), low, high)
    meets = _certified(judge.meets, scale, root + step, step, judge.target)
    misses = _certified(judge.misses, scale, root - step, -step, judge.target)
    if abs(meets - misses) > _FARTHEST * meets:
        known = f"{name} = {meets!r} is certified to meet {judge.target}, and {name} = {misses!r} to miss it"
        raise ArithmeticError(f"{known}. In between, the bounds are too wide to find the least noise.")
    return meets, misses


def _root(gap: Callable[[float], tuple[float, float]], low: float, high: float) -> tuple[float, float]:
    """Return the position where the gap changes sign, and the step below which positions cannot be distinguished.

    The search uses secants through the last two positions, or the middle of the bracket if they leave it or
    are slow. The gap is known only up to an uncertainty, so ``sign_change`` is not used. The search ends when
    the uncertainty hides the sign.
    """
    places, values, root = [low, high], [gap(low)[0], gap(high)[0]], high
    slow = False
    for _ in range(60):
        slope = max((values[-2] - values[-1]) / (places[-1] - places[-2]), 1e-3)
        root = places[-1] + values[-1] / slope
        if slow or not low < root < high:
            root = (low + high) / 2
        value, blur = gap(root)
        low, high = (root, high) if value > 0 else (low, root)
        slow = not slow and abs(value) > abs(values[-1]) / 2
        places, values = [places[-1], root], [values[-1], value]
        if abs(value) <= max(blur / 2, slope * _FINEST) or high - low <= _FINEST:
            break
    return root, min(max(blur / slope, _FINEST), _COARSEST)


def _certified(decided: Callable[[Any], bool], scale: _Scale, place: float, step: float, target: Goal) -> Any:
    """Return the first value, from ``place`` on in growing steps, at which the question is decided."""
    first, last = scale.reach()
    while first <= place <= last:
        value = scale.to_value(place)
        if decided(value):
            return value
        place, step = place + step, step * 4
    near = f"The bounds on privacy near a noise parameter of {scale.to_value(place)!r}"
    raise ArithmeticError(f"{near} are too wide to decide whether {target} is met.")
