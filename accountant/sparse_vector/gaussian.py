"""Accountant of the sparse vector technique with Gaussian noise, for streams of a known largest length.

Gaussian noise of ``threshold_sigma`` is added to the threshold once, and of ``query_sigma`` to each query. Each query
is answered "above" or "below". The run stops after ``positives`` answers "above", or after ``queries`` answers.

The length must be known. In an endless stream, queries far below the threshold are answered "above" sooner or later,
and Gaussian noise tells from such an answer to which of two neighbours it belongs: no epsilon holds at a delta below 1.

The upper bound is the better of two guarantees. First, every answer is a post-processing of one Gaussian answer, so all
of them are mu-Gaussian DP with mu = sqrt(queries) S / query_sigma, where S is the sensitivity. Second, for every
epsilon_0, a comparison is randomised response with epsilon_0 unless a failure occurs. Its probability is at most the
delta of one comparison at epsilon_0. So all answers are a post-processing of the threshold's Gaussian pair and of coins
that are thrown until the c-th head, up to the failures of all comparisons.

The lower bound comes from one pair of neighbours and one event, whose two probabilities are integrals over the noise of
the threshold. The proof is in docs/notes/gaussian_sparse_vector.md.

Source: Zhu and Wang, "Improving sparse vector technique with Renyi differential privacy", 2020 (the mechanism). The
bounds are this project's statement classic.gaussian_sparse_vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Flag, Integers, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.sensitivity import LARGEST, Measured, check_monotone, queried, sensitivity_of
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import BestOf, Profile
from dpproof.accountant.numbers.arithmetic import cache, cached_property, math
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.coins_until_heads import CoinsUntilHeads
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.sampling.between import Between
from dpproof.accountant.sparse_vector.gaussian_pair import OneEvent

_BITS = 128
_SHARES: tuple[float, ...] = tuple(2.0 ** (place / 8) for place in range(-32, 65))
"""The values of epsilon_0 that are tried, divided by the distance of the two means of a comparison."""


@dataclass(frozen=True)
class GaussianSparseVectorParameters(Measured):
    """Parameters of the sparse vector technique with Gaussian noise, and the largest number of answers.

    >>> GaussianSparseVectorParameters(query_sigma=30.0, queries=100).threshold
    10.0
    """

    query_sigma: float = parameter(
        Reals(0, lower_open=True), "1", "standard deviation of the noise on each query"
    )
    queries: int = parameter(Integers(1), "queries", "halt after this many answers in all")
    positives: int = parameter(Integers(1), "answers", "halt after this many answers above the threshold", 1)
    threshold_sigma: float | None = parameter(
        Reals(0, lower_open=True),
        "1",
        "standard deviation of the noise on the threshold; else a third of that on queries",
        None,
    )
    monotone: bool = parameter(Flag(), "", "all queries move the same way between neighbours", False)
    sensitivity: float | None = parameter(Reals(0), "1", "sensitivity of each query", None)
    query: str | None = queried()

    @property
    def threshold(self) -> float:
        """The noise of the threshold: ``threshold_sigma``, or else a third of ``query_sigma``."""
        return self.query_sigma / 3 if self.threshold_sigma is None else self.threshold_sigma


@dataclass(frozen=True)
class FailingCoins(Profile):
    """Upper bounds on delta and epsilon of all answers. The lower bounds are 0.

    ``threshold`` and ``comparison`` are the distances of the two means of the threshold and of a comparison, in
    standard deviations. The bounds hold for every epsilon_0. Estimates choose it from a fixed list, for each question.

    >>> found = FailingCoins(Fraction(1, 10), Fraction(1, 15), queries=100, positives=1)
    >>> found.epsilon("1e-6").upper
    0.734115
    """

    threshold: Fraction
    comparison: Fraction
    queries: int
    positives: int

    def _delta_at(self, point: Fraction) -> Bound:
        _, place = min((self._estimate(place, float(point)), place) for place in range(len(_SHARES)))
        found = exact(self._coins(place).delta(point).upper) + exact(self._failure(place))
        with precision(_BITS):
            return Bound(0.0, min(round_up(arb_of(found)), 1.0))

    def _epsilon_at(self, target: Fraction) -> Bound:
        known = [
            (self._reach(place, float(target)), place)
            for place in range(len(_SHARES))
            if target - exact(self._failure(place)) >= LEAST_DELTA
        ]
        if not known:
            return Bound(0.0, math.inf)
        _, place = min(known)
        return Bound(0.0, self._coins(place).epsilon(target - exact(self._failure(place))).upper)

    def _epsilon_0(self, place: int) -> float:
        wanted: float = float(self.comparison) * _SHARES[place]
        return min(max(wanted, 2e-9), 500.0)

    @cached_property
    def _failures(self) -> tuple[float, ...]:
        points = (exact(self._epsilon_0(place)) for place in range(len(_SHARES)))
        with precision(_BITS):
            return tuple(round_up(self.queries * gaussian_delta(self.comparison, point)) for point in points)

    def _failure(self, place: int) -> float:
        """Return an upper bound on the probability that a comparison fails."""
        return self._failures[place]

    def _coins(self, place: int) -> Profile:
        return _shared(self.threshold, self._epsilon_0(place), self.positives)

    def _spread(self, place: int) -> float:
        """Return a Gaussian mu that is about as private as the threshold and the coins."""
        return math.sqrt(float(self.threshold) ** 2 + 2 * self.positives * self._epsilon_0(place) ** 2)

    def _estimate(self, place: int, point: float) -> float:
        """Return an estimate of delta."""
        certain = point - self.positives * self._epsilon_0(place)
        found = min(
            _gaussian_estimate(float(self.threshold), certain), _gaussian_estimate(self._spread(place), point)
        )
        return found + self._failure(place)

    def _reach(self, place: int, target: float) -> float:
        """Return an estimate of epsilon."""
        rest = max(target - self._failure(place), 1e-300)
        certain, spread = (_reach_estimate(mu, rest) for mu in (float(self.threshold), self._spread(place)))
        return min(certain + self.positives * self._epsilon_0(place), spread)


def _drop(mu: float, x: float) -> float:
    """Return an estimate of R(x) - R(x + mu) for Mills' ratio R and x >= 0."""
    return 4 / (3 * x + math.sqrt(x * x + 8)) - 4 / (3 * (x + mu) + math.sqrt((x + mu) ** 2 + 8))


def _gaussian_estimate(mu: float, epsilon: float) -> float:
    """Return an estimate of the delta of mu-Gaussian DP, 1 where it is not small."""
    x = epsilon / mu - mu / 2
    return 0.4 * math.exp(-min(x * x / 2, 700.0)) * _drop(mu, x) if x > 0 else 1.0


def _reach_estimate(mu: float, delta: float) -> float:
    """Return an estimate of the epsilon of mu-Gaussian DP at ``delta``."""
    x = 0.0
    for _ in range(6):
        x = math.sqrt(2 * max(math.log(max(0.4 * _drop(mu, x), 1e-300)) - math.log(delta), 0.0))
    return mu * x + mu * mu / 2


@cache
def _shared(threshold: Fraction, epsilon_0: float, positives: int) -> Profile:
    """Return the guarantee of the threshold's Gaussian pair and of coins until the last head."""
    with precision(_BITS):
        noise = round_down(arb_of(1 / threshold))
    parts: list[tuple[DominatingPair, int]] = [
        (SubsampledGaussian(1.0, noise), 1),
        (CoinsUntilHeads(epsilon_0), positives),
    ]
    return PrivacyLoss([parts])


def account(
    parameters: GaussianSparseVectorParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee of all answers together, between one pair of neighbours and an upper bound.

    >>> asked = GaussianSparseVectorParameters(query_sigma=30.0, queries=100)
    >>> print(account(asked).guarantee.epsilon("1e-6"))
    between 0.3957136 and 0.7341147
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST)
    check_monotone(parameters, adjacency)
    guarantee, pair = _guarantee(parameters, moved.moved)
    return PrivacyResult(
        guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "every indicator",
        "classic.gaussian_sparse_vector",
        attained=Attained(pair, _PAIR),
        notes=() if adjacency is Adjacency.BY_SENSITIVITY else (moved.rule,),
        sensitivity=moved,
    )


_PAIR = (
    "queries that move up, all answered below, then far lower ones that move down, one or all answered above"
)


def _guarantee(parameters: GaussianSparseVectorParameters, moved: Fraction) -> tuple[Profile, Profile]:
    """Return bounds on the guarantee of all answers, and the lower one alone: one event of one pair of neighbours."""
    if not moved:
        return PureDP(0), PureDP(0)
    threshold, query = (moved / exact(sigma) for sigma in (parameters.threshold, parameters.query_sigma))
    count, positives = parameters.queries, min(parameters.positives, parameters.queries)
    pair = OneEvent(threshold, query, count, positives, parameters.monotone)
    most: tuple[Profile, ...] = (GaussianDP.of_square(count * query**2),)
    if _LEAST <= threshold <= _MOST and query <= _MOST:
        far = query * (1 if parameters.monotone else 2)
        most = (*most, FailingCoins(threshold, far, count, positives))
    return Between(pair, BestOf(most), _PAIR), pair


_LEAST, _MOST = Fraction(1, 10**10), Fraction(10**3)
"""The bound by coins is used only if the threshold moves by between these many standard deviations of its noise."""

ACCOUNTANT = Accountant(
    "gaussian-sparse-vector",
    "Sparse vector technique with Gaussian noise",
    GaussianSparseVectorParameters,
    account,
    "query_sigma",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=GaussianSparseVectorParameters(query_sigma=30.0, queries=100, sensitivity=1.0),
)
