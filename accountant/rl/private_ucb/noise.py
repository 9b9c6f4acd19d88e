"""Guarantees of noise on the counts of PRIVATE-UCB, and the least noise that meets a target.

A user changes visits, costs and transitions by known amounts, each in ``nodes`` noisy values. The guarantee
is the composition of one shifted pair of Laplace distributions for each change, or one Gaussian mechanism of
known norm (docs/notes/ucb_counters_exact.md). If the composition cannot be computed, the largest privacy loss
still gives pure privacy.

Discrete distributions have their own pairs. Discrete Laplace noise has the same largest loss as the
continuous one, but reaches it with a larger probability, so it is less private at delta above 0. So a scale
found for continuous noise is not valid for discrete noise. The least noise that meets a target has a closed
form in some cases; otherwise a search finds it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeVar

import flint

from dpproof.accountant.claims.calibration import Target, UnreachableTargetError, calibrate_noise
from dpproof.accountant.claims.result import PublishedGuarantee
from dpproof.accountant.counting.gaussian_tree import calibrated_sigma
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import ZCDP, BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    bound_of,
    exact,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.published import published
from dpproof.accountant.rl.private_ucb.changes import Change, Changes, Moves
from dpproof.accountant.rl.private_ucb.parameters import CountsParameters

_LEAST_SCALE, _LARGEST_SCALE = 2e-3, 1e12  # of the grids of losses that are tried
_LARGEST_WHOLE, _MOST_SHIFT, _MOST_LOSS = (
    1e12,
    10**5,
    600,
)  # the largest shift is that of ``dpproof.accountant.pairs.geometric``


class Step(NamedTuple):
    """A group of noisy values that one user changes by the same amount.

    Attributes:
        scale: the scale of the noise.
        size: the change, in the same unit.
        times: the number of values.
    """

    scale: flint.arb
    size: int
    times: int


def composed(law: str, steps: Sequence[Step]) -> Profile | None:
    """Return the guarantee of all ``steps`` together. Call it inside ``precision``.

    ``law`` is ``laplace`` or ``discrete-laplace``. Return None if some step has so much or so little noise
    that it cannot be composed. If the scale is only known by a lower and an upper bound, the guarantees at
    these bounds enclose the true one, because less noise is less private (docs/notes/ucb_counters_exact.md).
    """
    ends = [_ENDS[NoiseLaw(law)](step) for step in steps]
    if any(end is None for end in ends):
        return None
    less, more = (_loss(law, side, steps) for side in zip(*(end for end in ends if end), strict=True))
    return less if less == more else Enclosed(more, less)


def _relative(step: Step) -> tuple[float, float] | None:
    """Return the doubles just below and above the scale, in units of the shift; None outside the pairs' range."""
    ends = bound_of(step.scale / step.size)
    inside = ends.lower > _LEAST_SCALE and ends.upper < _LARGEST_SCALE
    return (ends.lower, ends.upper) if inside else None


def _whole(step: Step) -> tuple[float, float] | None:
    """Return the doubles just below and above the scale, in units in which the shift is a whole number."""
    ends = bound_of(step.scale)
    inside = step.size <= min(_MOST_SHIFT, _MOST_LOSS * ends.lower) and ends.upper < _LARGEST_WHOLE
    return (ends.lower, ends.upper) if inside else None


_ENDS = {NoiseLaw.LAPLACE: _relative, NoiseLaw.DISCRETE_LAPLACE: _whole}


def _loss(law: str, scales: Sequence[float], steps: Sequence[Step]) -> Profile:

    counts: Counter[DominatingPair] = Counter()
    for scale, step in zip(scales, steps, strict=True):
        counts[_pair(law, scale, step.size)] += step.times
    return PrivacyLoss([list(counts.items())])


def _pair(law: str, scale: float, size: int) -> DominatingPair:

    return Laplace(scale) if law == NoiseLaw.LAPLACE else Geometric(scale, size)


_BITS = 192
_NOT_COMPOSED = "the scale is out of the range that is composed: above delta 0 too, this is pure privacy's"


@dataclass(frozen=True)
class Moved:
    """The largest changes of the counts by one user.

    Attributes:
        parameters: the sizes, the noise and the kinds of counts that are released.
        changes: the largest change of each kind of counts: visits, costs, transitions.
        nodes: the number of noisy values in which each change occurs.
    """

    parameters: CountsParameters
    changes: Changes
    nodes: int

    def families(self) -> Iterable[tuple[Change, Fraction]]:
        """Return the change of each released kind of counts, with its noise in units of the noise scale."""
        return [(self.changes[name], self.parameters.factor(name)) for name in self.parameters.families]

    def total(self) -> Fraction:
        """Return the sum of the changes of all noisy values.

        Each change is divided by the noise on its kind of counts, in units of the noise scale.
        """
        return self.nodes * sum((change.total / factor for change, factor in self.families()), Fraction(0))

    def squares(self) -> Fraction:
        """Return the sum of the squared changes of all counts.

        Each count is taken once, although it is part of ``nodes`` noisy values.

        Each change is divided by the noise on its kind of counts, in units of the noise scale.
        """
        return sum((change.squares / factor**2 for change, factor in self.families()), Fraction(0))


def pure_epsilon(moved: Moved) -> Fraction | Bound:
    """Return the largest privacy loss under Laplace noise: the sum of all changes divided by the noise scale.

    It is a fraction if the scale is given, otherwise a lower and an upper bound.

    >>> from dpproof.accountant.rl.private_ucb.changes import added
    >>> from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
    >>> parameters = LocalCountsParameters(6, 2, 20, 9, scale=60.0)
    >>> pure_epsilon(Moved(parameters, added(parameters.sizes), 1))
    Fraction(1, 1)
    """
    scale = moved.parameters.scale
    if scale is not None:
        return moved.total() / exact(scale)
    with precision(_BITS):
        return bound_of(arb_of(moved.total()) / moved.parameters.noise_scale())


def laplace(moved: Moved) -> tuple[Profile, Profile | None]:
    """Return the guarantee of Laplace noise, and the guarantee that the worst pair of neighbours attains.

    The second is None if the losses cannot be composed.
    """
    most = pure_epsilon(moved)
    dominated, attained = (_composed(moved, side) for side in (_dominating, _attained))
    if dominated is None or attained is None:
        return PureDP(most), None  # the pair attains this at delta 0 only
    found = BoundedLoss(most, dominated)
    return found, (found if attained == dominated else BoundedLoss(most, attained))


_LAWS = {
    NoiseLaw.DISCRETE_LAPLACE: "the noise is integer: its counts are composed as geometric pairs, classic.geometric",
    NoiseLaw.DISCRETE_GAUSSIAN: "the noise is integer: it is taken as zCDP (arXiv:2004.00010, Theorem 4)",
}


def law_notes(parameters: CountsParameters, attained: Profile | None) -> tuple[str, ...]:
    """Return the notes that apply: that the noise is integer, and that only pure privacy is stated."""
    pure_only = attained is None and not NoiseLaw(parameters.noise).gaussian
    return (
        *((_LAWS[NoiseLaw(parameters.noise)],) if parameters.integer else ()),
        *((_NOT_COMPOSED,) if pure_only else ()),
    )


def _dominating(change: Change) -> Moves:
    return change.dominating


def _attained(change: Change) -> Moves:
    return change.attained


def _composed(moved: Moved, side: Callable[[Change], Moves]) -> Profile | None:
    """Return the composed pairs of all changes for the noise that is drawn; None outside the pairs' range."""
    parameters = moved.parameters
    with precision(_BITS):
        unit = parameters.noise_scale()
        steps = [
            Step(unit * arb_of(parameters.factor(name) * units), size * units, count * moved.nodes)
            for name, units in ((name, parameters.units(name)) for name in parameters.families)
            for size, count in side(moved.changes[name])
        ]
        return composed(parameters.noise, steps)


def discrete_gaussian(mu: Bound) -> ZCDP:
    """Return the guarantee of discrete Gaussian noise, which is (mu^2/2)-zCDP.

    mu is that of continuous Gaussian noise with the same scale, which is mu-GDP.

    Source: Canonne, Kamath and Steinke, arXiv:2004.00010, Theorem 4; zCDP adds up (Bun and Steinke).
    """
    with precision(_BITS):
        low, high = (bound_of(arb_of(exact(end)) ** 2 / 2) for end in (mu.lower, mu.upper))
    return ZCDP(Bound(low.lower, high.upper))


def gaussian(moved: Moved, norm: flint.arb) -> flint.arb:
    """Return the mu of Gaussian noise on the counts. Call it inside ``precision``.

    If one count changes by 1, the noisy values of its counter change by a vector. ``norm`` is the squared L2
    norm of this vector.
    """
    return (norm * arb_of(moved.squares())).sqrt() / moved.parameters.noise_scale()


def printed_value(parameters: CountsParameters) -> Bound:
    """Return the epsilon that the paper states for this noise.

    It is ``printed_epsilon`` if given. Otherwise the paper's formula for the scale is solved for epsilon.

    >>> from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
    >>> printed_value(LocalCountsParameters(6, 2, 20, 9, scale=30.0)).upper
    2.0
    """
    if parameters.printed_epsilon is not None:
        return exactly(float(parameters.printed_epsilon))
    with precision(_BITS):
        formula = published(parameters.printed["epsilon"]).formula
        return bound_of(formula.arb(**parameters.paper_sizes(), b=parameters.noise_scale()))


def published_guarantee(parameters: CountsParameters, statement: str) -> PublishedGuarantee | None:
    """Return the paper's own answer: pure privacy with the paper's epsilon. None if the paper has no such noise."""
    if not parameters.as_printed:
        return None
    value = printed_value(parameters)

    def epsilon(delta: Number) -> Bound:
        below_one(delta, "delta")
        return value

    return PublishedGuarantee(statement, epsilon, PureDP(value), statement)


_FEW, _A_LITTLE = 64, 2.0**-15
Chosen = TypeVar("Chosen", bound=CountsParameters)


def least_scale(
    unit: Chosen,
    moved: Moved,
    mu: flint.arb,
    guarantee_of: Callable[[Chosen], Profile],
    epsilon: Number,
    delta: Number,
) -> tuple[Chosen, Chosen]:
    """Return parameters with the least ``scale`` that meets the target, and with a smaller one that does not.

    Args:
        unit: the parameters with noise of scale 1.
        moved: the largest changes of the counts by one user.
        mu: the mu of Gaussian noise of scale 1.
        guarantee_of: returns the guarantee under given parameters.
        epsilon: the epsilon of the target.
        delta: the delta of the target.

    Raises:
        ValueError: for a bad target, or one that no noise meets, such as epsilon 0 and delta 0, or delta 0
            with Gaussian noise.
    """
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    if target.epsilon == 0 and target.delta == 0:
        raise UnreachableTargetError(
            f"{target} cannot be met, because no noise hides a user completely. Use a larger epsilon."
        )
    ends = _METHODS[NoiseLaw(unit.noise)](unit, moved, mu, guarantee_of, target)
    return unit.with_scale(ends[1]), unit.with_scale(ends[0])


Ends = tuple[float, float]


def _gaussian(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Profile], target: Target
) -> Ends:
    if target.delta == 0:
        raise UnreachableTargetError(f"{target} cannot be met, because Gaussian noise needs a delta above 0.")
    with precision(_BITS):
        found = calibrated_sigma([mu], target.epsilon, target.delta)
    return found.lower, found.upper


def _laplace(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Profile], target: Target
) -> Ends:
    if target.delta == 0:
        return pure_ends(moved.total(), target)
    pure = _nearly_pure(unit, moved, guarantee_of, target)
    return pure or _searched(unit, moved, mu, guarantee_of, target)


def _nearly_pure(
    unit: Chosen, moved: Moved, guarantee_of: Callable[[Chosen], Profile], target: Target
) -> Ends | None:
    """Return the scale of pure privacy if slightly less noise certifiably misses the target; otherwise None.

    All ``moves`` values have their largest loss at the same time with probability at least 2^-moves. So a
    delta far below that allows almost no less noise than pure privacy. The guess saves a long search, and the
    miss is certified.
    """
    moves = moved.nodes * sum(count for change, _ in moved.families() for _, count in change.dominating)
    if target.epsilon == 0 or moves > _FEW or target.delta > target.epsilon * _A_LITTLE / 2 ** (moves + 2):
        return None
    _, enough = pure_ends(moved.total(), target)
    short = enough * (1 - _A_LITTLE)
    misses = guarantee_of(unit.with_scale(short)).delta(target.above).lower > target.delta
    return (short, enough) if misses else None


def _discrete_gaussian(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Profile], target: Target
) -> Ends:
    if target.delta == 0:
        raise UnreachableTargetError(f"{target} cannot be met, because Gaussian noise needs a delta above 0.")
    return _searched(unit, moved, mu, guarantee_of, target)


def _searched(
    unit: Chosen, moved: Moved, mu: flint.arb, guarantee_of: Callable[[Chosen], Profile], target: Target
) -> Ends:
    """Return the scale by the general search, which starts at the scale for Gaussian noise."""
    with precision(_BITS):
        start = float((mu / arb_of(Fraction(gaussian_mu(target.epsilon, target.delta)[0]))).mid())
    pair = calibrate_noise(unit.with_scale(start), "scale", guarantee_of, target.epsilon, target.delta)
    meets, misses = (chosen.scale or math.nan for chosen in pair)
    return misses, meets


def pure_ends(total: Fraction, target: Target) -> Ends:
    """Return two doubles around total/epsilon: a scale that misses the target with delta 0, and one that meets it.

    ``total`` is the sum of all absolute changes by one user. Laplace noise of scale b has the privacy loss
    total/b.

    >>> pure_ends(Fraction(60), Target(Fraction(1), Fraction(0)))[1]
    60.0

    Raises:
        UnreachableTargetError: if a scale is outside double precision.
    """
    with precision(_BITS):
        enough = round_up(arb_of(total / exact(target.below)))
        short = round_down(arb_of(total / exact(math.nextafter(target.above, math.inf))))
    if not 0 < short < enough < math.inf:
        raise UnreachableTargetError(
            f"{target} needs a noise scale outside double precision. Use a less extreme target."
        )
    return short, enough


_METHODS = {
    NoiseLaw.LAPLACE: _laplace,
    NoiseLaw.GAUSSIAN: _gaussian,
    NoiseLaw.DISCRETE_LAPLACE: _laplace,
    NoiseLaw.DISCRETE_GAUSSIAN: _discrete_gaussian,
}
