"""Accountant of cyclic Poisson sampling: the groups of records take turns, and a step samples one group.

Each record belongs to one of b groups, by a public rule that does not depend on the other records. Step i = 0, 1, ...
samples the records of group i modulo b, each by a coin of its own. So a record has a coin at most once in b steps, and
the guarantee is that of DP-SGD with ceil(steps / b) steps. A record of group 0 attains it.

The noise may be correlated between steps by a matrix factorisation with at most b bands. Then the noise is divided by
the largest norm of a column of the encoder matrix.

Source: Choquette-Choo et al., arXiv:2306.08153v2, Theorem 4 (cyclic sampling with banded noise); this project's
statement classic.cyclic_sgd.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise import dp_sgd
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.sampling.between import divided


@dataclass(frozen=True)
class CyclicSGDParameters(Parameters):
    """Parameters of training in which groups of records take turns and each step samples one group.

    >>> CyclicSGDParameters(sampling_rate=0.1, noise_multiplier=1.0, steps=10, groups=0)
    Traceback (most recent call last):
    ValueError: groups (0) must be an integer at least 1
    """

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability of a record of the step's group to be in the sample", safer=-1
    )
    noise_multiplier: float = parameter(
        Reals(1e-4, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps")
    groups: int = parameter(Integers(1), "groups", "number of groups of records, which take turns")
    column_norm: float = parameter(
        Reals(1e-3, 1e6),
        "1",
        "largest column norm of the encoder matrix, which has at most as many bands as groups; 1 for independent noise",
        1.0,
        safer=-1,
    )


def account(parameters: CyclicSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all noisy sums together, for a record of the group with the most steps.

    A replaced record keeps its group.

    >>> training = CyclicSGDParameters(sampling_rate=0.1, noise_multiplier=1.0, steps=1000, groups=10)
    >>> account(training, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper
    8.0587

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _PAIRS:
        raise UnprovedAdjacencyError("cyclic-sgd", adjacency, "Use one of: add-remove, replace")
    found = _guarantee(parameters, adjacency)
    pair = _PAIRS[adjacency] if parameters.column_norm == 1 else None
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.cyclic_sgd",
        attained=Attained(found, pair) if pair else None,
    )


_PAIRS = {
    Adjacency.ADD_REMOVE: "a record of group 0 whose vectors all equal one of the clipping norm, all others' being "
    "zero, against none",
    Adjacency.REPLACE: "a record of group 0 whose vectors all equal one of the clipping norm, or its opposite, all "
    "others' being zero",
}


def _guarantee(parameters: CyclicSGDParameters, adjacency: Adjacency) -> Profile:
    """Return the guarantee of DP-SGD for the steps of group 0, at the noise over the column norm."""
    turns = -(-parameters.steps // parameters.groups)
    if parameters.sampling_rate == 0 or turns == 0:
        return GaussianDP(0)
    low, high = divided(parameters.noise_multiplier, exact(parameters.column_norm) ** 2)
    more, less = (_training(parameters.sampling_rate, noise, turns, adjacency) for noise in (high, low))
    return more.enclosing(less)


def _training(rate: float, noise: float, turns: int, adjacency: Adjacency) -> Profile:
    return dp_sgd.account(dp_sgd.DPSGDParameters(rate, noise, turns), adjacency).guarantee


ACCOUNTANT = Accountant(
    "cyclic-sgd",
    "DP-SGD in which groups of records take turns: cyclic Poisson sampling",
    CyclicSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=CyclicSGDParameters(sampling_rate=0.1, noise_multiplier=1.0, steps=20, groups=2),
)
