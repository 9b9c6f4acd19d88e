"""Conversion from and to dp-accounting's DpEvent.

An event is a tree of compositions of primitive events. Each primitive event has a dominating pair. If only a zCDP
guarantee is known, the event gets a pair with this guarantee. So all events can be composed. The noise of an event is
relative to the norm of one record's contribution. So replacing a record moves a sum twice as far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

from dp_accounting import dp_event as dp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE
from dpproof.accountant.guarantees.notions import ZCDP, BoundedLoss, GaussianDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile, ends_of
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.fixed_size import Everything, without_replacement
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.randomised_response import truthful_response
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import Subsampled, visible_coin
from dpproof.accountant.privacy_loss.notion import PrivacyLoss

_RELATIONS = (Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.BY_SENSITIVITY)


class UnsupportedEventError(ValueError):
    """Raised if dpproof has no guarantee for an event under the requested neighbouring relation."""

    def __init__(self, event: Any, adjacency: Adjacency, why: str) -> None:
        self.event, self.adjacency = event, adjacency
        what = f"event ({type(event).__name__}) is not supported" if event else "The guarantee has no event"
        super().__init__(f"{what} under {adjacency.value}. {why}")


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
        case dp.SampledWithoutReplacementDpEvent():
            return event.sample_size != 0 and bool(_steps(event.event))
        case dp.SingleEpochTreeAggregationDpEvent():
            return _levels(event) > 0
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
    if adjacency not in _RELATIONS:
        raise UnsupportedEventError(event, adjacency, f"Use one of: {_known()}")
    primitives = list(_flat(event, 1))
    rho = sum(
        (_rho(one, adjacency) * n for one, n in primitives if isinstance(one, dp.ZCDpEvent)), Fraction(0)
    )
    others = [(one, n) for one, n in primitives if not isinstance(one, dp.ZCDpEvent)]
    parts = [(pair, n * times) for one, n in others for pair, times in _primitive(one, adjacency)]
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


Made = list[tuple[DominatingPair, int]]


def _primitive(event: dp.DpEvent, adjacency: Adjacency) -> Made:
    maker = _MAKERS.get(type(event))
    if maker is None:
        raise UnsupportedEventError(event, adjacency, "dpproof has no guarantee for this kind of event.")
    return maker(event, adjacency)


def _rho(event: dp.ZCDpEvent, adjacency: Adjacency) -> Fraction:
    if event.xi:
        raise UnsupportedEventError(event, adjacency, f"Its xi ({event.xi!r}) must be 0.")
    if not 0 <= event.rho < math.inf:
        raise ValueError(f"rho ({event.rho!r}) must be at least 0 and finite")
    return Fraction(event.rho)


def _gaussian(rate: float, noise: float, adjacency: Adjacency) -> DominatingPair:
    if noise == 0:
        if rate == 1:
            return Everything()
        if adjacency is Adjacency.REPLACE:  # either record is visible in a sample
            return visible_coin(Everything(), rate)
        return Subsampled(Everything(), rate)
    return (ReplacedGaussian if adjacency is Adjacency.REPLACE else SubsampledGaussian)(rate, noise)


def _laplace(event: dp.LaplaceDpEvent, adjacency: Adjacency) -> Made:
    noise = event.noise_multiplier
    return [(Laplace(noise / _moved(adjacency)) if noise else Everything(), 1)]


def _discrete_laplace(event: dp.DiscreteLaplaceDpEvent, adjacency: Adjacency) -> Made:
    rate = event.noise_parameter
    if not 0 <= rate < math.inf:
        raise ValueError(f"noise_parameter ({rate!r}) must be at least 0 and finite")
    shift = event.sensitivity * _moved(adjacency)
    return [(Geometric(1 / Fraction(rate), shift) if rate else Everything(), 1)]


def _moved(adjacency: Adjacency) -> int:
    """Return the L2 sensitivity of a sum, in units of the clipping norm."""
    return 2 if adjacency is Adjacency.REPLACE else 1


def _response(event: dp.RandomizedResponseDpEvent, adjacency: Adjacency) -> Made:
    if adjacency is Adjacency.ADD_REMOVE:
        raise UnsupportedEventError(
            event, adjacency, "A missing record has no answer that could be randomised. Use replace."
        )
    uniform = Fraction(event.noise_parameter) / event.num_buckets
    if event.num_buckets == 1:
        return []
    if event.noise_parameter == 0:
        return [(Everything(), 1)]
    return [(truthful_response(1 - Fraction(event.noise_parameter) + uniform, event.num_buckets), 1)]


def _poisson(event: dp.PoissonSampledDpEvent, adjacency: Adjacency) -> Made:
    rate, primitives = event.sampling_probability, _steps(event.event)
    if rate == 0 or not primitives:
        return []
    if all(isinstance(one, dp.GaussianDpEvent) for one, _ in primitives):
        return [(_gaussian(rate, _joint_noise(primitives), adjacency), 1)]
    if isinstance(primitives[0][0], dp.RandomizedResponseDpEvent):
        raise UnsupportedEventError(
            event, adjacency, "A record outside the sample has no answer that could be randomised."
        )
    if len(primitives) != 1 or primitives[0][1] != 1 or adjacency is Adjacency.REPLACE:
        raise UnsupportedEventError(
            event,
            adjacency,
            "With replace, or several events on one sample, all events on the sample must be Gaussian.",
        )
    (pair, times), *more = _primitive(primitives[0][0], adjacency)
    if more or times != 1:
        raise UnsupportedEventError(
            event, adjacency, "A sampling event must contain a single event that runs once."
        )
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


def _fixed_size(event: dp.SampledWithoutReplacementDpEvent, adjacency: Adjacency) -> Made:
    if adjacency is not Adjacency.REPLACE:
        raise UnsupportedEventError(
            event, adjacency, "Sampling a fixed number of records is supported under adjacency replace only."
        )
    parts = parts_of(event.event, adjacency)
    if not parts:
        return []
    (pair, times), *more = parts
    if more or times != 1:
        raise UnsupportedEventError(
            event, adjacency, "A sampling event must contain a single event that runs once."
        )
    return [(without_replacement(pair, event.sample_size, event.source_dataset_size), 1)]


def _tree(event: dp.SingleEpochTreeAggregationDpEvent, adjacency: Adjacency) -> Made:
    if adjacency is Adjacency.ADD_REMOVE:
        raise UnsupportedEventError(
            event,
            adjacency,
            "An added record moves all later records to other leaves of the tree. Use replace.",
        )
    return [(_gaussian(1.0, event.noise_multiplier, adjacency), _levels(event))]


def _levels(event: dp.SingleEpochTreeAggregationDpEvent) -> int:
    """Return the number of levels of the largest tree, which is the number of nodes that contain one step."""
    counts = [event.step_counts] if isinstance(event.step_counts, int) else list(event.step_counts)
    return max((int(count).bit_length() for count in counts), default=0)


_MAKERS: Mapping[type[dp.DpEvent], Callable[[Any, Adjacency], Made]] = {
    dp.NoOpDpEvent: lambda _event, _adjacency: [],
    dp.NonPrivateDpEvent: lambda _event, _adjacency: [(Everything(), 1)],
    dp.GaussianDpEvent: lambda event, adjacency: [(_gaussian(1.0, event.noise_multiplier, adjacency), 1)],
    dp.LaplaceDpEvent: _laplace,
    dp.DiscreteLaplaceDpEvent: _discrete_laplace,
    dp.RandomizedResponseDpEvent: _response,
    dp.PoissonSampledDpEvent: _poisson,
    dp.SampledWithoutReplacementDpEvent: _fixed_size,
    dp.SingleEpochTreeAggregationDpEvent: _tree,
}


def event_of(guarantee: Profile, adjacency: Adjacency | str) -> dp.DpEvent:
    """Return an event of dp-accounting that promises at most as much privacy as ``guarantee``.

    Some accountants of dp-accounting double the sensitivity for replaced records, others do not. So the noise
    of the event is relative to the largest change by a replaced record. An accountant that doubles the
    sensitivity then gives a larger epsilon than this guarantee. Poisson-sampled Gaussian events are an
    exception: their noise is relative to the norm of one record. Use them only with accountants that double the
    sensitivity.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> event_of(GaussianDP(0.5), Adjacency.ADD_REMOVE)
    GaussianDpEvent(noise_multiplier=2.0)

    Raises:
        UnsupportedEventError: if no event describes the guarantee.
    """
    relation = Adjacency.of(adjacency)
    if relation not in _RELATIONS:
        raise UnsupportedEventError(None, relation, f"Use one of: {_known()}")
    return _event(guarantee, relation)


def _known() -> str:
    return ", ".join(relation.value for relation in _RELATIONS)


@singledispatch
def _event(guarantee: Profile, adjacency: Adjacency) -> dp.DpEvent:
    """Return the event of a notion; raise an error if it has none."""
    why = f"A {type(guarantee).__name__} guarantee cannot be written as a DpEvent. Use its epsilon and delta."
    raise UnsupportedEventError(None, adjacency, why)


@_event.register
def _of_gaussian(guarantee: GaussianDP, adjacency: Adjacency) -> dp.DpEvent:
    mu = ends_of(guarantee.mu, "mu")[1]
    if mu == 0:
        return dp.NoOpDpEvent()
    with precision(192):
        return dp.GaussianDpEvent(round_down(1 / arb_of(mu)))


@_event.register
def _of_concentrated(guarantee: ZCDP, adjacency: Adjacency) -> dp.DpEvent:
    with precision(192):
        return dp.ZCDpEvent(round_up(arb_of(ends_of(guarantee.rho, "rho")[1])))


@_event.register
def _of_bounded(guarantee: BoundedLoss, adjacency: Adjacency) -> dp.DpEvent:
    return _event(guarantee.loss, adjacency)


@_event.register
def _of_enclosed(guarantee: Enclosed, adjacency: Adjacency) -> dp.DpEvent:
    return _event(guarantee.less, adjacency)


@_event.register
def _of_loss(guarantee: PrivacyLoss, adjacency: Adjacency) -> dp.DpEvent:
    parts, *others = (tuple(one) for one in guarantee.alternatives)
    if others and others != [tuple((pair.reversed(), count) for pair, count in parts)]:
        raise UnsupportedEventError(
            None,
            adjacency,
            "The guarantee is the worst of several, so no single DpEvent describes it. Use its epsilon and delta.",
        )
    events = [_repeated(_of_pair(pair, adjacency), count) for pair, count in parts if count]
    return events[0] if len(events) == 1 else dp.ComposedDpEvent(events)


def _repeated(event: dp.DpEvent, count: int) -> dp.DpEvent:
    return event if count == 1 else dp.SelfComposedDpEvent(event, count)


def _of_pair(pair: DominatingPair, adjacency: Adjacency) -> dp.DpEvent:
    match pair:
        case ReplacedGaussian() if pair.rate == 1:
            return dp.GaussianDpEvent(pair.noise_multiplier / 2)
        case SubsampledGaussian() | ReplacedGaussian():
            step = dp.GaussianDpEvent(pair.noise_multiplier)
            return step if pair.rate == 1 else dp.PoissonSampledDpEvent(pair.rate, step)
        case Laplace():
            with precision(192):
                return dp.LaplaceDpEvent(round_down(arb_of(exact(pair.scale))))
        case Geometric():
            with precision(192):
                rate = round_up(1 / arb_of(Fraction(pair.scale)))
            return dp.DiscreteLaplaceDpEvent(rate, pair.shift)
    why = f"A {type(pair).__name__} cannot be written as a DpEvent. Use the epsilon and delta of the result."
    raise UnsupportedEventError(None, adjacency, why)
