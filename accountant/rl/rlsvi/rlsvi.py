"""Accountant of RLSVI: the paper's epsilon, the exact epsilon of the paper's analysis, and a tight one.

Each user is one of K episodes with H steps, S states and A actions. The release is every perturbed table
Q_h^k of action values. Policies and actions follow by post-processing and the billboard lemma. Under
``rewards-only`` a changed user changes one entry of the data in each step. So the whole run is a Gaussian
mechanism of mu^2 = 2 rho, rho = sum_{k=2}^K 2/(S H^2 log(2HSAk)) (docs/notes/rlsvi_tight.md). Sums of 1/log(c
k) are added term by term at first and then enclosed by two integrals. Under ``replace`` the visit counts
change too. The accountant covers this if values are clipped (docs/notes/rlsvi_state_neighbours.md), but the
guarantee is too weak to be useful.

Source: arXiv:2606.01952v1; the tight statements are this project's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down, round_up
from dpproof.accountant.published import published

_DIRECT = 16384


def sum_of_reciprocal_logs(scale: int, first: int, last: int) -> flint.arb:
    """Return an enclosure of sum_{k=first}^{last} 1/log(scale * k), for scale * first > 1.

    The function f(k) = 1/log(scale k) is decreasing and convex. So for m <= n
    (f(m) + f(n))/2 + int_m^n f  <=  sum_{k=m}^n f(k)  <=  int_{m-1/2}^{n+1/2} f.
    The integral of f is li(scale x)/scale. Beyond the first 16,384 terms the two bounds differ by less than
    1e-10 of the whole sum.

    >>> sum_of_reciprocal_logs(2, 2, 1).str()
    '0'
    """
    if last < first:
        return flint.arb(0)
    split = min(last, first + _DIRECT - 1)
    head = sum((_term(scale, flint.arb(k)) for k in range(first, split + 1)), flint.arb(0))
    if split == last:
        return head
    start = split + 1
    half = flint.arb(1) / 2
    high = _integral(scale, start - half, last + half)
    ends = _term(scale, flint.arb(start)) + _term(scale, flint.arb(last))
    low = ends / 2 + _integral(scale, flint.arb(start), flint.arb(last))
    return head + low.union(high)


def _term(scale: int, k: flint.arb) -> flint.arb:
    return 1 / (scale * k).log()


def _integral(scale: int, low: flint.arb, high: flint.arb) -> flint.arb:
    return ((scale * high).li() - (scale * low).li()) / scale


_BITS = 192


@dataclass(frozen=True)
class RLSVIParameters(Parameters):
    """Parameters of RLSVI: the sizes of a tabular episodic problem, and the scale of the exploration noise.

    >>> RLSVIParameters(states=6, actions=2, horizon=20, episodes=0)
    Traceback (most recent call last):
    ValueError: episodes (0) must be an integer at least 1
    """

    states: int = parameter(Integers(1), "states", "number of states S")
    actions: int = parameter(Integers(1), "actions", "number of actions A")
    horizon: int = parameter(Integers(1), "steps", "steps per episode H")
    episodes: int = parameter(Integers(1), "episodes", "number of episodes K, one user each")
    beta_scale: float = parameter(
        Reals(0, lower_open=True), "1", "factor on the paper's noise variance beta_k", 1.0, safer=1
    )
    clip: float | None = parameter(
        Reals(0),
        "reward",
        "clip the next step's values to [0, clip]; the paper does not clip",
        None,
        safer=-1,
    )

    @property
    def log_scale(self) -> int:
        """The constant 2HSA inside the paper's logarithms, for H steps, S states and A actions."""
        return 2 * self.horizon * self.states * self.actions

    @property
    def beta_factor(self) -> Fraction:
        """The factor of log(2HSAk) in the noise variance beta_k of episode k: beta_scale S H^3/2."""
        return exact(self.beta_scale) * self.states * self.horizon**3 / 2

    @property
    def beta_double(self) -> float:
        """The field `beta_factor` as a double. It is infinite from 2^1023 on, and 0 below 2^-1021."""
        factor = self.beta_factor
        if factor < Fraction(1, 2**1021):
            return 0.0
        return float(factor) if factor < 2**1023 else math.inf

    @staticmethod
    def divisor(visits: Any) -> Any:
        """Return N + 1 for N visits of a state and action. The variance of their noise is beta_k/(N + 1).

        ``visits`` is a number or an array of numbers. The samplers and the accountant use this function.
        """
        return visits + 1


def rho(parameters: RLSVIParameters) -> Bound:
    """Return the zCDP parameter of a whole run under ``rewards-only``: sum_{k=2}^K 2/(S H^2 log(2HSAk)).

    S, A, H and K are the numbers of states, actions, steps and episodes. This is for ``beta_scale`` 1;
    otherwise the sum is divided by ``beta_scale``.

    >>> rho(RLSVIParameters(6, 2, 20, 1000)).upper
    0.069378

    Source: this project's statement rlsvi.tight.
    """
    with precision(_BITS):
        return bound_of(_rho(parameters))


def _rho(parameters: RLSVIParameters) -> flint.arb:
    alone = arb_of(Fraction(parameters.divisor(1), 2))  # the cost of a cell with one visit, times beta_k
    return parameters.horizon * alone * _sum_of_reciprocal_betas(parameters)


def _sum_of_reciprocal_betas(parameters: RLSVIParameters) -> flint.arb:
    """sum_{k=2}^K 1/beta_k."""
    logs = sum_of_reciprocal_logs(parameters.log_scale, 2, parameters.episodes)
    return logs / arb_of(parameters.beta_factor)


def beta_above(parameters: RLSVIParameters, episode: int) -> Fraction:
    """Return the noise variance of an ``episode`` = 1, 2, ... for a state and action without visits, rounded up.

    The result is a double, given as a fraction.

    Raises:
        ValueError: if the variance is too large for a double.

    >>> float(beta_above(RLSVIParameters(6, 2, 20, 1000), 1))
    148170.866...
    """
    with precision(_BITS):
        log = (flint.arb(parameters.log_scale) * episode).log()
        above = round_up(arb_of(parameters.beta_factor) * log)
    if above == math.inf:
        raise ValueError(
            f"beta_scale ({parameters.beta_scale!r}) must be smaller: the noise variance is too large for a double"
        )
    return exact(above)


def published_rho(parameters: RLSVIParameters) -> Bound:
    """Return the zCDP parameter that the paper's Lemma 12 proves: 2AK/(H^2 log(2HSA)).

    S, A, H and K are the numbers of states, actions, steps and episodes.

    >>> published_rho(RLSVIParameters(6, 2, 20, 1000)).upper
    1.619752
    """
    with precision(_BITS):
        return bound_of(_published("rlsvi.rho", parameters))


def _published(name: str, parameters: RLSVIParameters, **more: flint.arb) -> flint.arb:
    sizes = {
        "S": flint.arb(parameters.states),
        "A": flint.arb(parameters.actions),
        "H": flint.arb(parameters.horizon),
        "K": flint.arb(parameters.episodes),
    }
    return published(name).formula.arb(**sizes, **more)


def _published_guarantee(parameters: RLSVIParameters) -> PublishedGuarantee | None:
    if parameters.beta_scale != 1:
        return None  # the paper speaks of its own noise only

    def epsilon(failure: Fraction) -> Bound:
        with precision(_BITS):
            return bound_of(_published("rlsvi.corollary14", parameters, delta=arb_of(failure)))

    with precision(_BITS):
        mu = bound_of((2 * _published("rlsvi.rho", parameters)).sqrt())
    return PublishedGuarantee(
        "rlsvi.corollary14", at_positive_delta(epsilon), GaussianDP(mu), "rlsvi.printed_gaussian"
    )


def attained_mu(parameters: RLSVIParameters) -> Bound:
    """Return a mu such that a run cannot be more private than mu-GDP: one pair of neighbours attains it.

    In this pair the first user's rewards are all 0 or all 1. With two states or more, the first user leaves
    the start state after one step, and no other user does so. So at every step but the first, the first
    user's state and action have one visit in all later episodes. In the start state there are at most k - 1
    visits before episode k, for any policies. The two bounds of the result differ only by the small error of
    the computation.
    """
    shared = parameters.horizon if parameters.states == 1 else 1
    last = min(parameters.episodes, 1 + _TERMS)
    with precision(_BITS):
        alone = (parameters.horizon - shared) * 2 * _sum_of_reciprocal_betas(parameters)
        terms = (
            flint.arb(parameters.divisor(k - 1))
            / ((k - 1) ** 2 * (flint.arb(parameters.log_scale) * k).log())
            for k in range(2, last + 1)
        )
        followed = shared * sum(terms, flint.arb(0)) / arb_of(parameters.beta_factor)
        return bound_of((alone + followed).sqrt())


_TERMS = 4096  # the terms fall like 1/k^2; leaving the rest out keeps the lower end a lower end
_SAMPLER = "dpproof.RLSVI.publish"
_RELEASED = "every perturbed table Q of every episode"


def _pair(parameters: RLSVIParameters) -> str:
    """Return the pair behind ``attained_mu``, in words."""
    where = "in states nobody visits after the first step" if parameters.states > 1 else "in the only state"
    return f"first user's rewards all 0 against all 1, {where}"


def account(parameters: RLSVIParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of all released tables of action values, in the central model.

    By the billboard lemma (``dpproof.accountant.claims.trust.billboard``), the users' actions are jointly
    private with the same parameters.

    >>> found = account(RLSVIParameters(6, 2, 20, 1000), Adjacency.REWARDS_ONLY)
    >>> found.guarantee.epsilon("1e-6").upper, found.published.epsilon("1e-6").upper
    (1.633810, 11.080765)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _PROVED:
        known = ", ".join(relation.value for relation in _PROVED)
        raise UnprovedAdjacencyError("rlsvi", adjacency, f"Use one of: {known}")
    return _PROVED[adjacency](parameters)


def _rewards_only(parameters: RLSVIParameters) -> PrivacyResult:
    with precision(_BITS):
        mu = bound_of((2 * _rho(parameters)).sqrt())
    return PrivacyResult(
        GaussianDP(mu),
        Adjacency.REWARDS_ONLY,
        TrustModel.CENTRAL,
        _RELEASED,
        "rlsvi.tight",
        "rlsvi.tight_joint",
        _published_guarantee(parameters),
        Attained(GaussianDP(attained_mu(parameters)), _pair(parameters)),
        exact_sampler=_SAMPLER,
    )


def _replace(parameters: RLSVIParameters) -> PrivacyResult:
    if parameters.clip is None:
        why = "Visit counts and values change with the states. Give clip to bound the values."
        raise UnprovedAdjacencyError("rlsvi", Adjacency.REPLACE, why)
    with precision(_BITS):
        total = _sum_of_reciprocal_betas(parameters)

    def curve(order: flint.arb) -> flint.arb:
        return _state_curve(parameters, total, order)

    found = RenyiDP(curve, Orders(below=Fraction(2)), CANONNE_KAMATH_STEINKE)
    return PrivacyResult(
        GaussianDP(0) if parameters.episodes == 1 else found,  # one episode's tables see nobody's data
        Adjacency.REPLACE,
        TrustModel.CENTRAL,
        _RELEASED,
        "rlsvi.state_neighbours",
        "rlsvi.lemma9",
        notes=("the noise variance itself depends on the visit counts, so epsilon grows like H K / 4",),
        exact_sampler=_SAMPLER,
    )


def _state_curve(parameters: RLSVIParameters, total: flint.arb, order: flint.arb) -> flint.arb:
    """Return the Renyi curve for replaced trajectories, finite for orders in (1, 2).

    Statement rlsvi.state_neighbours; ``total`` is the sum of 1/beta_k.

    At every later episode and step one cell loses a visit and one gains one; N = 1 is the worst count.
    """
    span = 1 + arb_of(exact(parameters.clip or 0.0))
    squares = (parameters.horizon - 1) * span**2 + 1  # the last step has no next values
    means = 3 * order * squares / ((1 + order) * (2 - order)) * total
    log_ratio = (2 / ((1 + order) * (2 - order))).log() / (2 * (order - 1))
    return means + parameters.horizon * (parameters.episodes - 1) * log_ratio


_PROVED = {Adjacency.REWARDS_ONLY: _rewards_only, Adjacency.REPLACE: _replace}


def _calibrate(
    parameters: RLSVIParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[RLSVIParameters, RLSVIParameters]:
    """Return the smallest beta_scale that meets (epsilon, delta), and one just below it that does not."""
    if adjacency is not Adjacency.REWARDS_ONLY:
        account(parameters, adjacency)
        raise ValueError(
            f"adjacency ({adjacency.value!r}) has no calibration, because more noise does not lower "
            "epsilon enough. Use rewards-only."
        )
    if parameters.episodes == 1:
        raise ValueError("episodes (1) must be at least 2, because one episode needs no noise")
    meets, misses = gaussian_mu(exact(epsilon, "epsilon"), exact(delta, "delta"))
    with precision(_BITS):
        unit = 2 * _rho(replace(parameters, beta_scale=1.0))
        enough, short = (unit / arb_of(exact(mu)) ** 2 for mu in (meets, misses))
        margin = 1 + flint.arb(2) ** -50
        scales = round_up(enough * margin), round_down(short / margin)
    if not (scales[1] > 0 and scales[0] < math.inf):
        raise ValueError(
            f"epsilon ({epsilon!r}) needs a noise scale outside double precision. Use a less extreme epsilon."
        )
    return replace(parameters, beta_scale=scales[0]), replace(parameters, beta_scale=scales[1])


ACCOUNTANT = Accountant(
    "rlsvi",
    "Randomised least-squares value iteration",
    RLSVIParameters,
    account,
    "beta_scale",
    _calibrate,
    unsampled="an agent runs it, and publishes what it releases: dpproof.RLSVI",
    unit="user",
    example=RLSVIParameters(states=2, actions=2, horizon=2, episodes=4, clip=1.0),
)
