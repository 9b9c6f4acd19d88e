"""Conversion from dp-accounting's DpEvent. docs/reference/interop.md lists the events that have a guarantee.

An event is a tree of compositions of primitive events. Each primitive event has a dominating pair. If only a guarantee
of an event is known, the event gets a pair with this guarantee. So all events can be composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dp_accounting import dp_event as dp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE
from dpproof.accountant.guarantees.notions import ZCDP
from dpproof.accountant.interop.dp_primitives import (
    MAKERS,
    RELATIONS,
    Made,
    UnsupportedEventError,
    gaussian_pair,
    known_relations,
    levels_of,
    rho_of,
)
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.fixed_size import poisson_replaced, with_replacement, without_replacement
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import Subsampled
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sampling import truncated
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected


def event_of_training(sampling_rate: float, noise_multiplier: float, steps: int) -> dp.DpEvent:
    """Return DP-SGD as an event of dp-accounting.

    >>> event_of_training(0.01, 1.0, 1000).count
    1000
    """
    step = dp.PoissonSampledDpEvent(sampling_rate, dp.GaussianDpEvent(noise_multiplier))
    return dp.SelfComposedDpEvent(step, steps)


def privacy_loss_of(event: dp.DpEvent, adjacency: Adjacency | str) -> PrivacyLoss:
    """Return the guarantee of an event of dp-accounting, in both directions of the neighbouring relation.

    ``by-sensitivity`` is dp-accounting's REPLACE_SPECIAL, in which a record is replaced by an empty one.

    >>> privacy_loss_of(event_of_training(0.01, 1.0, 1000), Adjacency.ADD_REMOVE).epsilon("1e-6").upper
    2.12451517

    Raises:
        UnsupportedEventError: for an event for which dpproof has no guarantee.
        ValueError: for an event without a step that uses records, or for parameters outside their domain.
    """
    parts = parts_of(event, Adjacency.of(adjacency))
    if not _steps(event):
        rule = "must hold at least one step that uses records. Otherwise nothing is run on the data."
        raise ValueError(f"event ({type(event).__name__}) {rule}")
    return PrivacyLoss([parts, [(pair.reversed(), count) for pair, count in parts]])


def _steps(event: dp.DpEvent) -> list[tuple[dp.DpEvent, int]]:
    """Return the primitives that are run and can use a record, each with the number of times it occurs."""
    return [(one, n) for one, n in _flat(event, 1) if n and _uses_records(one)]


def _uses_records(event: dp.DpEvent) -> bool:
    """Whether a primitive can use a record. An empty sample or an empty step cannot."""
    match event:
        case dp.PoissonSampledDpEvent():
            return event.sampling_probability != 0 and bool(_steps(event.event))
        case dp.SampledWithoutReplacementDpEvent() | dp.SampledWithReplacementDpEvent():
            return event.sample_size != 0 and bool(_steps(event.event))
        case dp.SingleEpochTreeAggregationDpEvent():
            return levels_of(event) > 0
        case dp.RepeatAndSelectDpEvent():
            return bool(_steps(event.event))
        case dp.NoOpDpEvent():
            return False
    return True


_CONTRIBUTION = "a user whose contribution to every release is the largest that is allowed"
_ATTAINED = {
    Adjacency.ADD_REMOVE: f"{_CONTRIBUTION}, all others' being zero, against none",
    Adjacency.REPLACE: f"{_CONTRIBUTION}, or its opposite (another answer, if answers are randomised), "
    "all others' being zero",
    Adjacency.BY_SENSITIVITY: f"{_CONTRIBUTION}, or zero, all others' being zero",
}


def attained_by(event: dp.DpEvent, adjacency: Adjacency | str) -> str | None:
    """Return in words which neighbours reach the guarantee of an event, or None if none are known.

    They are known for compositions of these events: Gaussian noise, continuous or discrete Laplace noise, an output
    without privacy, a Poisson sample of one such event, and (under ``replace``) randomised response.

    >>> attained_by(event_of_training(0.01, 1.0, 1000), "by-sensitivity")
    "a user whose contribution to every release is the largest that is allowed, or zero, all others' being zero"
    >>> attained_by(dp.ZCDpEvent(0.5), "add-remove") is None
    True
    """
    relation = Adjacency.of(adjacency)
    attained = all(_is_attained(one, relation) for one, _ in _steps(event))
    return _ATTAINED.get(relation) if attained else None


def _is_attained(event: dp.DpEvent, adjacency: Adjacency) -> bool:
    """Whether a primitive's pair is its output on two neighbours: neither a surrogate nor rounded."""
    match event:
        case dp.PoissonSampledDpEvent():
            inner = _steps(event.event)
            return len(inner) == 1 and inner[0][1] == 1 and _is_attained(inner[0][0], adjacency)
        case dp.RandomizedResponseDpEvent():
            return adjacency is Adjacency.REPLACE
        case dp.DiscreteLaplaceDpEvent():
            return bool(event.noise_parameter > 0)  # at 0 no such distribution exists
    return isinstance(event, dp.NonPrivateDpEvent | dp.GaussianDpEvent | dp.LaplaceDpEvent)


def parts_of(event: dp.DpEvent, adjacency: Adjacency) -> list[tuple[DominatingPair, int]]:
    """Return the dominating pairs of an event's primitive events, each with the number of times it is composed.

    The pairs are for the direction in which the first neighbour has the record. A zCDP event stands for any
    mechanism with this guarantee. So a lower bound on its delta need not hold for the actual mechanism.

    Raises:
        UnsupportedEventError: for an event for which dpproof has no guarantee.
    """
    if adjacency not in RELATIONS:
        raise UnsupportedEventError(event, adjacency, f"Use one of: {known_relations()}")
    primitives = list(_flat(event, 1))
    known = [(one, n, rho_of(one, adjacency)) for one, n in primitives]
    rho = sum((own * n for _, n, own in known if own is not None), Fraction(0))
    others = [(one, n) for one, n, own in known if own is None]
    cut = [(one, n) for one, n in others if type(one).__name__ == _TRUNCATED]
    others = [(one, n) for one, n in others if type(one).__name__ != _TRUNCATED]
    parts = [(_truncated(one, n, adjacency), 1) for one, n in cut if n]
    parts += [(pair, n * times) for one, n in others for pair, times in _primitive(one, adjacency)]
    return parts + ([(dominating_pair(ZCDP(rho, CANONNE_KAMATH_STEINKE)), 1)] if rho else [])


def _flat(event: dp.DpEvent, count: int) -> Iterator[tuple[dp.DpEvent, int]]:
    """Yield the primitives under compositions, each with the number of times it occurs."""
    match event:
        case dp.SelfComposedDpEvent():
            if isinstance(event.count, bool) or int(event.count) != event.count or event.count < 0:
                raise ValueError(f"count ({event.count!r}) must be an integer at least 0")
            yield from _flat(event.event, count * event.count)
        case dp.ComposedDpEvent():
            for inner in event.events:
                yield from _flat(inner, count)
        case _:
            yield event, count


def _primitive(event: dp.DpEvent, adjacency: Adjacency) -> Made:
    name = type(event).__name__
    maker = _SAMPLED.get(name) or MAKERS.get(name)
    if maker is None:
        raise UnsupportedEventError(event, adjacency, REFUSED.get(name, _UNKNOWN))
    return maker(event, adjacency)


_NOISE = ("GaussianDpEvent", "LaplaceDpEvent", "DiscreteLaplaceDpEvent", "NonPrivateDpEvent")
"""Events whose pair for a replaced record is also valid for a removed one."""


def _as_one(event: dp.DpEvent, adjacency: Adjacency) -> DominatingPair:
    """Return one pair that dominates an event in both directions, and is its own reverse.

    If the event has such a pair, it is returned. Otherwise it is a pair with at least the profile of the event.
    """
    parts = parts_of(event, adjacency)
    if len(parts) == 1 and parts[0][1] == 1 and parts[0][0].reversed() == parts[0][0]:
        return parts[0][0]
    return dominating_pair(privacy_loss_of(event, adjacency), points=_POINTS, smallest=_SMALLEST)


def _poisson(event: dp.PoissonSampledDpEvent, adjacency: Adjacency) -> Made:
    rate, primitives = event.sampling_probability, _steps(event.event)
    names = [type(one).__name__ for one, _ in primitives]
    if rate == 0 or not primitives:
        return []
    if all(isinstance(one, dp.GaussianDpEvent) for one, _ in primitives):
        return [(gaussian_pair(rate, _joint_noise(primitives), adjacency), 1)]
    if "RandomizedResponseDpEvent" in names:
        why = "A record outside the sample has no answer that could be randomised."
        raise UnsupportedEventError(event, adjacency, why)
    if "SingleEpochTreeAggregationDpEvent" in names:
        why = "A record that is left out of the sample moves all later records to other leaves of the tree."
        raise UnsupportedEventError(event, adjacency, why)
    if adjacency is Adjacency.REPLACE:
        if not set(names) <= set(_NOISE):
            why = "Its guarantee is for a replaced record, but sampling leaves out a record. Use add-remove."
            raise UnsupportedEventError(event, adjacency, why)
        return [(poisson_replaced(_as_one(event.event, adjacency), rate), 1)]
    parts = parts_of(event.event, adjacency)
    single = len(parts) == 1 and parts[0][1] == 1
    pair = parts[0][0] if single else _as_one(event.event, adjacency)
    return [(pair if rate == 1 else Subsampled(pair, rate), 1)]


def _joint_noise(gaussians: list[tuple[Any, int]]) -> Any:
    """Return the noise multiplier of a single Gaussian mechanism that is no more private than all of them."""
    for one, _ in gaussians:
        if not 0 <= one.noise_multiplier < math.inf:
            raise ValueError(f"noise_multiplier ({one.noise_multiplier!r}) must be at least 0 and finite")
    if any(one.noise_multiplier == 0 for one, _ in gaussians):
        return 0.0
    if len(gaussians) == 1 and gaussians[0][1] == 1:
        noise = gaussians[0][0].noise_multiplier
        return float(noise) if float(noise) == noise else noise  # the pair refuses what is no double
    total = sum((n / Fraction(one.noise_multiplier) ** 2 for one, n in gaussians), Fraction(0))
    return math.sqrt(1 / total) * (1 - 2.0**-50)


def _without_replacement(event: dp.SampledWithoutReplacementDpEvent, adjacency: Adjacency) -> Made:
    _check_replaced(event, adjacency)
    if not parts_of(event.event, adjacency):
        return []
    pair = _as_one(event.event, adjacency)
    return [(without_replacement(pair, event.sample_size, event.source_dataset_size), 1)]


def _with_replacement(event: dp.SampledWithReplacementDpEvent, adjacency: Adjacency) -> Made:
    _check_replaced(event, adjacency)
    primitives = _steps(event.event)
    if not event.sample_size or not primitives:
        return []
    group = _copies_of(primitives)
    if group is None:
        why = "The guarantee is only known for Gaussian events, or one Laplace event, on a sample with replacement."
        raise UnsupportedEventError(event, adjacency, why)
    mean = event.sample_size / event.source_dataset_size
    most = math.ceil(mean + 12 * math.sqrt(mean)) + 24
    return [(with_replacement(group, event.sample_size, event.source_dataset_size, most), 1)]


def _copies_of(primitives: list[tuple[dp.DpEvent, int]]) -> Callable[[int], DominatingPair] | None:
    """Return the pair of a sample with k copies of the replaced record, as a function of k, if it is known."""
    (first, count), *others = primitives
    if all(isinstance(one, dp.GaussianDpEvent) for one, _ in primitives) and (
        noise := _joint_noise(primitives)
    ):
        return lambda k: ReplacedGaussian(1.0, noise if k == 1 else noise / k * (1 - 2.0**-50))
    maker = MAKERS.get(type(first).__name__)
    if others or count > 1 or maker is None:
        return None
    match maker(first, Adjacency.REPLACE)[0][0]:
        case Laplace() as pair:
            return lambda k: Laplace(exact(pair.scale) / k)
        case Geometric() as pair:
            return lambda k: Geometric(pair.scale, pair.shift * k)
    return None


def _check_replaced(event: dp.DpEvent, adjacency: Adjacency) -> None:
    if adjacency is not Adjacency.REPLACE:
        why = "Sampling a fixed number of records is supported under adjacency replace only."
        raise UnsupportedEventError(event, adjacency, why)


def _selected(event: dp.RepeatAndSelectDpEvent, adjacency: Adjacency) -> Made:
    if not _steps(event.event):
        return []
    runs = Runs(event.mean, None if event.shape == math.inf else event.shape)
    return [
        (
            dominating_pair(
                Selected(privacy_loss_of(event.event, adjacency), runs), points=_POINTS, smallest=_SMALLEST
            ),
            1,
        )
    ]


_TRUNCATED = "TruncatedSubsampledGaussianDpEvent"


def _truncated(event: Any, steps: int, adjacency: Adjacency) -> DominatingPair:
    """Return a pair of several steps with truncated Poisson samples, from the profile of all of them."""
    if adjacency is Adjacency.BY_SENSITIVITY:
        why = "The guarantee of truncated samples is proved for add-remove and replace."
        raise UnsupportedEventError(event, adjacency, why)
    training = truncated.TruncatedSGDParameters(
        event.sampling_probability,
        event.noise_multiplier,
        steps,
        event.truncated_batch_size,
        event.dataset_size,
    )
    return dominating_pair(
        truncated.account(training, adjacency).guarantee, points=2 * _POINTS, smallest=_SMALLEST
    )


_POINTS, _SMALLEST = 96, 1e-14
"""Pairs of whole events: the number of losses on each side of 0, and a delta that counts as an infinite loss."""
_SAMPLED: Mapping[str, Callable[[Any, Adjacency], Made]] = {
    "PoissonSampledDpEvent": _poisson,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SampledWithReplacementDpEvent": _with_replacement,
    "RepeatAndSelectDpEvent": _selected,
}
COMPOSED = ("SelfComposedDpEvent", "ComposedDpEvent", "ZCDpEvent")
"""Events that have no pair of their own: compositions, and zero-concentrated privacy, whose rhos are added first."""
REFUSED: Mapping[str, str] = {
    "DpEvent": "It is the base class of all events, and describes nothing.",
    "UnsupportedDpEvent": "It stands for an operation that has no description.",
}
"""The events without a guarantee, with the reason."""
_UNKNOWN = "dpproof does not know this kind of event."


def mapped() -> frozenset[str]:
    """Return the names of the classes of events that have a guarantee under at least one relation."""
    return frozenset((*MAKERS, *_SAMPLED, *COMPOSED, _TRUNCATED))
