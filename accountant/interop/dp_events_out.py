"""Conversion of guarantees to events of dp-accounting. docs/reference/interop.md lists what has an event.

Some events exist in newer versions of dp-accounting only. With an older version, guarantees that need them are refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

from dp_accounting import dp_event as dp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, BoundedLoss, GaussianDP
from dpproof.accountant.guarantees.profile import Enclosed, Profile, ends_of
from dpproof.accountant.interop.dp_primitives import RELATIONS, UnsupportedEventError, known_relations
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.pairs.fixed_size import Everything
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.theorems.selection import Selected


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
    if relation not in RELATIONS:
        raise UnsupportedEventError(None, relation, f"Use one of: {known_relations()}")
    return _event(guarantee, relation)


def _newer(name: str, adjacency: Adjacency, **fields: Any) -> dp.DpEvent:
    """Return an event of a class that only newer versions of dp-accounting have."""
    made = getattr(dp, name, None)
    if made is None:
        why = f"It needs a {name}, which the installed dp-accounting does not have. Install a newer version."
        raise UnsupportedEventError(None, adjacency, why)
    return made(**fields)


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
def _of_approximate(guarantee: ApproxDP, adjacency: Adjacency) -> dp.DpEvent:
    epsilon, delta = (
        ends_of(end, name)[1]
        for end, name in ((guarantee.epsilon_parameter, "epsilon"), (guarantee.delta_parameter, "delta"))
    )
    if epsilon == delta == 0:
        return dp.NoOpDpEvent()
    with precision(192):
        fields = {"epsilon": round_up(arb_of(epsilon)), "delta": round_up(arb_of(delta))}
    return _newer("EpsilonDeltaDpEvent", adjacency, **fields)


@_event.register
def _of_selected(guarantee: Selected, adjacency: Adjacency) -> dp.DpEvent:
    runs, mean = guarantee.runs, exact(guarantee.runs.mean)
    shape = math.inf if runs.shape is None else float(exact(runs.shape))
    if Fraction(float(mean)) != mean or (runs.shape is not None and Fraction(shape) != exact(runs.shape)):
        why = "The mean and the shape of the number of runs must be doubles."
        raise UnsupportedEventError(None, adjacency, why)
    return dp.RepeatAndSelectDpEvent(_event(guarantee.base, adjacency), float(mean), shape)


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
        case BinomialGaussianMixture():
            return _of_mixture(pair)
        case Everything():
            return dp.NonPrivateDpEvent()
        case RandomisedResponse(categories=2):
            with precision(192):
                epsilon = round_up(arb_of(exact(pair.epsilon)))
            return _newer("EpsilonDeltaDpEvent", adjacency, epsilon=epsilon, delta=0.0)
        case BoundedRange():
            with precision(192):
                epsilon = round_up(arb_of(exact(pair.epsilon)))
            return _newer("ExponentialMechanismDpEvent", adjacency, epsilon=epsilon)
        case DiscreteGaussian():
            with precision(192):
                sigma = round_down(arb_of(exact(pair.variance)).sqrt())
            fields = {"sigma": sigma, "sensitivity": float(pair.shift), "dimension": 1}
            return _newer("DiscreteGaussianDpEvent", adjacency, **fields)
        case Atoms() if adjacency is Adjacency.REPLACE and (answer := _of_answers(pair)):
            return answer
    why = f"A {type(pair).__name__} cannot be written as a DpEvent. Use the epsilon and delta of the result."
    raise UnsupportedEventError(None, adjacency, why)


def _of_mixture(pair: BinomialGaussianMixture) -> dp.DpEvent:
    """Return the mixture of Gaussians. The weight of no record is rounded down, which is less private."""
    rate, records = Fraction(pair.rate), pair.records
    weights = [
        float(math.comb(records, k) * rate**k * (1 - rate) ** (records - k)) for k in range(1, records + 1)
    ]
    weights = [math.nextafter(weight, 1.0) for weight in weights]
    counts = [float(k) for k in range(records + 1)]
    return dp.MixtureOfGaussiansDpEvent(pair.noise_multiplier, counts, [1 - math.fsum(weights), *weights])


def _of_answers(pair: Atoms) -> dp.DpEvent | None:
    """Return the randomised response with this pair; None if it has another form.

    The noise parameter is rounded down, which is less private.
    """
    p, q = [exact(mass) for mass in pair.p], [exact(mass) for mass in pair.q]
    if len(p) != 3 or q != p[::-1] or p[1] != q[1] or not p[2]:
        return None
    answers = p[1] / p[2] + 2
    if answers.denominator != 1:
        return None
    with precision(192):
        return dp.RandomizedResponseDpEvent(round_down(arb_of(p[2] * answers)), int(answers))
