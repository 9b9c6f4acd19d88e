"""Dominating pairs of the primitive events of dp-accounting, which read all records.

The noise of an event is relative to the norm of one record's contribution. So replacing a record moves a sum twice
as far. Events that state a guarantee (an epsilon, or a rho) state it for the neighbouring relation that is asked for.
So does the sensitivity of a discrete Gaussian event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.interop.gaussian_mixtures import mixture_pair
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.exponential_mechanism import exponential_mechanism, permute_and_flip
from dpproof.accountant.pairs.fixed_size import Everything
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.randomised_response import truthful_response
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import Subsampled, visible_coin

RELATIONS = (Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.BY_SENSITIVITY)
Made = list[tuple[DominatingPair, int]]
"""Dominating pairs, each with the number of times it is composed."""


def known_relations() -> str:
    """Return the names of the relations of dp-accounting, for error messages."""
    return ", ".join(relation.value for relation in RELATIONS)


class UnsupportedEventError(ValueError):
    """Raised if dpproof has no guarantee for an event under the requested neighbouring relation."""

    def __init__(self, event: Any, adjacency: Adjacency, why: str) -> None:
        self.event, self.adjacency = event, adjacency
        what = f"event ({type(event).__name__}) is not supported" if event else "The guarantee has no event"
        super().__init__(f"{what} under {adjacency.value}. {why}")


def rho_of(event: Any, adjacency: Adjacency) -> Fraction | None:
    """Return the rho of an event that is known by zero-concentrated privacy; None for other events.

    These are ZCDpEvent, and discrete Gaussian noise in several dimensions, or in an unknown number of them.
    """
    name = type(event).__name__
    if name == "DiscreteGaussianDpEvent" and not _one_integer(event):
        return exact(event.sensitivity, "sensitivity") ** 2 / (2 * _sigma(event) ** 2)
    return _rho(event, adjacency) if name == "ZCDpEvent" else None


def _rho(event: Any, adjacency: Adjacency) -> Fraction:
    if event.xi:
        raise UnsupportedEventError(event, adjacency, f"Its xi ({event.xi!r}) must be 0.")
    if not 0 <= event.rho < math.inf:
        raise ValueError(f"rho ({event.rho!r}) must be at least 0 and finite")
    return Fraction(event.rho)


def gaussian_pair(rate: float, noise: float, adjacency: Adjacency) -> DominatingPair:
    """Return the pair of Gaussian noise on a sum over a Poisson sample."""
    if noise == 0:
        if rate == 1:
            return Everything()
        if adjacency is Adjacency.REPLACE:  # either record is visible in a sample
            return visible_coin(Everything(), rate)
        return Subsampled(Everything(), rate)
    return (ReplacedGaussian if adjacency is Adjacency.REPLACE else SubsampledGaussian)(rate, noise)


def _laplace(event: Any, adjacency: Adjacency) -> Made:
    noise = event.noise_multiplier
    return [(Laplace(noise / _moved(adjacency)) if noise else Everything(), 1)]


def _discrete_laplace(event: Any, adjacency: Adjacency) -> Made:
    rate = event.noise_parameter
    if not 0 <= rate < math.inf:
        raise ValueError(f"noise_parameter ({rate!r}) must be at least 0 and finite")
    shift = event.sensitivity * _moved(adjacency)
    return [(Geometric(1 / Fraction(rate), shift) if rate else Everything(), 1)]


def _moved(adjacency: Adjacency) -> int:
    """Return the L2 sensitivity of a sum, in units of the clipping norm."""
    return 2 if adjacency is Adjacency.REPLACE else 1


def _response(event: Any, adjacency: Adjacency) -> Made:
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


def _sigma(event: Any) -> Fraction:
    sigma = exact(event.sigma, "sigma")
    if sigma <= 0:
        raise ValueError(f"sigma ({event.sigma!r}) must be above 0")
    return sigma


def _one_integer(event: Any) -> bool:
    return bool(event.dimension == 1 and event.sensitivity == int(event.sensitivity) >= 1)


def _discrete_gaussian(event: Any, adjacency: Adjacency) -> Made:
    return [(DiscreteGaussian(_sigma(event) ** 2, int(event.sensitivity)), 1)]


def _approximate(event: Any, adjacency: Adjacency) -> Made:
    if event.epsilon == math.inf or event.delta >= 1:
        return [(Everything(), 1)]
    return [(dominating_pair(ApproxDP(event.epsilon, event.delta)), 1)]


def _exponential(event: Any, adjacency: Adjacency) -> Made:
    return [(exponential_mechanism(event.epsilon), 1)] if event.epsilon else []


def _permuted(event: Any, adjacency: Adjacency) -> Made:
    return [(permute_and_flip(event.epsilon), 1)] if event.epsilon else []


def _mixture(event: Any, adjacency: Adjacency) -> Made:
    if adjacency is Adjacency.REPLACE:
        why = "It describes a record that is added or removed. Use add-remove or by-sensitivity."
        raise UnsupportedEventError(event, adjacency, why)
    return [(mixture_pair(event.standard_deviation, event.sensitivities, event.sampling_probs), 1)]


def _tree(event: Any, adjacency: Adjacency) -> Made:
    if adjacency is Adjacency.ADD_REMOVE:
        raise UnsupportedEventError(
            event,
            adjacency,
            "An added record moves all later records to other leaves of the tree. Use replace.",
        )
    return [(gaussian_pair(1.0, event.noise_multiplier, adjacency), levels_of(event))]


def levels_of(event: Any) -> int:
    """Return the number of levels of the largest tree, which is the number of nodes that contain one step."""
    counts = [event.step_counts] if isinstance(event.step_counts, int) else list(event.step_counts)
    return max((int(count).bit_length() for count in counts), default=0)


MAKERS: Mapping[str, Callable[[Any, Adjacency], Made]] = {
    "NoOpDpEvent": lambda _event, _adjacency: [],
    "NonPrivateDpEvent": lambda _event, _adjacency: [(Everything(), 1)],
    "EpsilonDeltaDpEvent": _approximate,
    "GaussianDpEvent": lambda event, adjacency: [(gaussian_pair(1.0, event.noise_multiplier, adjacency), 1)],
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _response,
    "ExponentialMechanismDpEvent": _exponential,
    "PermuteAndFlipDpEvent": _permuted,
    "MixtureOfGaussiansDpEvent": _mixture,
    "SingleEpochTreeAggregationDpEvent": _tree,
}
"""The pairs of each primitive event, by the name of its class. Some classes exist in newer versions only."""
