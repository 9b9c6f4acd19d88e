"""Accountant of shuffled batches: the records are permuted and cut into batches, once or in each epoch.

No amplification is proved: the upper bound is that of a record in one known batch of each epoch. The lower bound comes
from explicit datasets, for which a record is in a uniformly random batch: the pair of random allocation. It refutes
claims that account for shuffled batches as if they were Poisson samples.

A dataset has as many records as a multiple of the number of steps. Under ``add-remove``, the last batch of the smaller
dataset has one record less. Under ``replace``, all batches have the same size.

Source: Chua et al., arXiv:2403.17673 (the lower bound); this project's statement classic.shuffled_sgd.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.sampling.allocated import AllocatedSGDParameters, least_private
from dpproof.accountant.sampling.between import Between


@dataclass(frozen=True)
class ShuffledSGDParameters(Parameters):
    """Parameters of training with shuffled batches.

    >>> ShuffledSGDParameters(noise_multiplier=1.0, steps=0)
    Traceback (most recent call last):
    ValueError: steps (0) must be an integer in [1, 100000]
    """

    noise_multiplier: float = parameter(
        Reals(0.1, 1e9), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(1, 100_000), "steps", "number of batches of an epoch")
    epochs: int = parameter(Integers(1, 1_000_000), "epochs", "number of epochs", 1)
    fresh: bool = parameter(Flag(), "1", "whether the records are permuted again in each epoch", True)


def account(parameters: ShuffledSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return bounds on the guarantee of all noisy sums together.

    >>> found = account(ShuffledSGDParameters(noise_multiplier=1.0, steps=100), Adjacency.REPLACE)
    >>> found.guarantee.epsilon("1e-6").lower
    6.393

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _CASES:
        raise UnprovedAdjacencyError("shuffled-sgd", adjacency, "Use one of: add-remove, replace")
    moved, square, pair = _CASES[adjacency]
    noise, epochs = parameters.noise_multiplier, parameters.epochs
    least = least_private(
        AllocatedSGDParameters(noise / moved, parameters.steps, epochs, fresh=parameters.fresh)
    )
    assert least is not None
    most = GaussianDP.of_square(square * epochs / exact(noise) ** 2)
    return PrivacyResult(
        Between(least, most, pair),
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.shuffled_sgd",
        attained=Attained(least, pair),
    )


_CASES = {
    Adjacency.ADD_REMOVE: (
        1,
        5,
        "a record whose vectors all equal one of the clipping norm, all others' being zero, against none",
    ),
    Adjacency.REPLACE: (
        2,
        4,
        "a record whose vectors all equal one of the clipping norm, or its opposite, as all others' vectors do",
    ),
}
"""For each relation: how far the pair's sums move in the record's batch, the largest squared distance of all sums of
an epoch, both in clipping norms, and the pair in words."""


ACCOUNTANT = Accountant(
    "shuffled-sgd",
    "DP-SGD with shuffled batches: the records are permuted and cut into batches",
    ShuffledSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=ShuffledSGDParameters(noise_multiplier=1.0, steps=10),
)
