"""Accountant of truncated Poisson sampling: a batch that is too large keeps a random part of its records.

Each record is sampled by a coin of its own. If more than ``largest_batch`` records are sampled, a uniformly random set
of ``largest_batch`` of them is used. A public number bounds the records of every dataset. With probability 1 - tau, no
batch of a run is truncated, and the run is one of DP-SGD. So delta is at most that of DP-SGD plus (1 + e^epsilon) tau.
A dataset of one record never has a batch that is too large, and attains the guarantee of DP-SGD.

Source: Chua et al., arXiv:2411.04205 (truncated Poisson sampling); this project's statement classic.truncated_sgd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import BestOf, Profile
from dpproof.accountant.noise import dp_sgd
from dpproof.accountant.numbers.binomial import lower_tail
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.sampling.between import Between

_BITS = 192
_FARTHEST = 600
_SHARES = (Fraction(1, 2), Fraction(99, 100))
"""Shares of delta for which an epsilon of the inner guarantee is tried first."""


@dataclass(frozen=True)
class TruncatedSGDParameters(Parameters):
    """Parameters of DP-SGD in which a batch has at most a given number of records.

    >>> TruncatedSGDParameters(
    ...     sampling_rate=0.1, noise_multiplier=1.0, steps=10, largest_batch=0, largest_dataset=9
    ... )
    Traceback (most recent call last):
    ValueError: largest_batch (0) must be an integer at least 1
    """

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability of a record to be sampled in a step, by a coin of its own", safer=-1
    )
    noise_multiplier: float = parameter(
        Reals(1e-4, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps")
    largest_batch: int = parameter(Integers(1), "records", "number of records that a batch has at most")
    largest_dataset: int = parameter(
        Integers(1, 10**12), "records", "public number of records that a dataset has at most"
    )


def account(parameters: TruncatedSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all noisy sums together.

    >>> training = TruncatedSGDParameters(
    ...     sampling_rate=0.01, noise_multiplier=1.0, steps=1000, largest_batch=1000, largest_dataset=60_000
    ... )
    >>> account(training, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper
    2.124515

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
        raise UnprovedAdjacencyError("truncated-sgd", adjacency, "Use one of: add-remove, replace")
    poisson = dp_sgd.account(
        dp_sgd.DPSGDParameters(parameters.sampling_rate, parameters.noise_multiplier, parameters.steps),
        adjacency,
    )
    assert poisson.attained is not None
    pair = f"{poisson.attained.pair}; the dataset has no other records"
    all_steps = GaussianDP.of_square(4 * parameters.steps / exact(parameters.noise_multiplier) ** 2)
    most = BestOf((Coupled(poisson.guarantee, _truncated(parameters)), all_steps))
    return PrivacyResult(
        Between(poisson.guarantee, most, pair),
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.truncated_sgd",
        attained=Attained(poisson.guarantee, pair),
    )


def _truncated(parameters: TruncatedSGDParameters) -> float:
    """Return an upper bound on the probability that a batch of the run is truncated."""
    rest = parameters.largest_dataset - parameters.largest_batch - 1
    with precision(_BITS):
        one = lower_tail(parameters.largest_dataset, 1 - exact(parameters.sampling_rate), rest)
        if not one < 1:
            return 1.0
        return min(max(round_up(-((-one).log1p() * parameters.steps).expm1()), 0.0), 1.0)


@dataclass(frozen=True)
class Coupled(Profile):
    """The guarantee of a mechanism whose output differs from one with the guarantee ``inner`` with rare probability.

    On every input the two outputs are equal except with probability ``rare``. So delta(epsilon) is at most the inner
    one plus (1 + e^epsilon) rare. Only the upper bounds mean something; lower bounds are 0.

    >>> Coupled(GaussianDP(1), 1e-9).delta(1).upper > GaussianDP(1).delta(1).upper
    True
    """

    inner: Profile
    rare: float

    def _delta_at(self, point: Fraction) -> Bound:
        if 2 * self.rare >= 1:
            return Bound(0.0, 1.0)
        high, inner = self._sum(point), self.inner.delta(point)
        if self.rare and high > 2 * inner.upper:  # a smaller epsilon may have a smaller sum
            for near in (point * Fraction(j, 8) for j in range(8)):
                if inner.lower + (1 + math.exp(float(min(near, Fraction(700))))) * self.rare < high:
                    high = min(high, self._sum(near))
        return Bound(0.0, high)

    def _sum(self, point: Fraction) -> float:
        with precision(_BITS):
            more = (1 + arb_of(point).exp()) * arb_of(exact(self.rare))
            return min(round_up(arb_of(exact(self.inner.delta(point).upper)) + more), 1.0)

    def _epsilon_at(self, target: Fraction) -> Bound:
        if not self.rare:
            return Bound(0.0, self.inner.epsilon(target).upper)
        if 2 * exact(self.rare) > target:
            return Bound(0.0, math.inf)
        found = (self._met(target, share) for share in _SHARES)
        return Bound(0.0, next((point for point in found if point < math.inf), math.inf))

    def _met(self, target: Fraction, share: Fraction) -> float:
        """Return an epsilon whose sum is at most ``target``, from a first guess of the inner share; or infinity."""
        found, left = math.inf, target * share
        for _ in range(2):
            if left < LEAST_DELTA:
                return found
            point = self.inner.epsilon(left).upper
            if not point < _FARTHEST:
                return found
            with precision(_BITS):
                charge = exact(round_up((1 + arb_of(exact(point)).exp()) * arb_of(exact(self.rare))))
            if charge + left > target:
                return found
            found, left = min(found, point), target - charge
        return found


ACCOUNTANT = Accountant(
    "truncated-sgd",
    "DP-SGD with truncated Poisson samples: a batch has at most a given number of records",
    TruncatedSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=TruncatedSGDParameters(
        sampling_rate=0.1, noise_multiplier=1.0, steps=10, largest_batch=60, largest_dataset=200
    ),
)
