"""Accountant of training with batches of a fixed size, drawn with or without replacement in each step.

The relation is ``replace``: the number of records is public. Without replacement, the upper bound is the one of Balle,
Barthe and Gaboardi as one dominating pair, composed. With replacement, a record may be drawn several times. The lower
bound comes from one dataset: all other records send the opposite of the record's vector.

Source: Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorems 9 and 10; Lebeda et al., arXiv:2405.20769 (the two
directions need one pair); this project's statement classic.fixed_batch_sgd, docs/notes/sampling.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.accountant.pairs.fixed_size import with_replacement, without_replacement
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.privacy_loss.enclosed_loss import EnclosedLoss
from dpproof.accountant.privacy_loss.notion import composed
from dpproof.accountant.sampling.between import Between

_MOST_RECORDS, _COPIES = 256, 24
"""The largest batch with a lower bound, and how many copies of a record count beyond four times their mean number."""


@dataclass(frozen=True)
class FixedBatchSGDParameters(Parameters):
    """Parameters of training with batches of a fixed size.

    >>> FixedBatchSGDParameters(noise_multiplier=1.0, steps=10, batch=9, dataset=8)
    Traceback (most recent call last):
    ValueError: batch (9) must be at most dataset (8) without replacement
    """

    noise_multiplier: float = parameter(
        Reals(0.05, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps")
    batch: int = parameter(Integers(1, 10**9), "records", "number of records of a batch")
    dataset: int = parameter(Integers(2, 10**12), "records", "public number of records of the dataset")
    replacement: bool = parameter(Flag(), "1", "whether a batch may have a record several times", False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.replacement and self.batch > self.dataset:
            raise ValueError(
                f"batch ({self.batch}) must be at most dataset ({self.dataset}) without replacement"
            )


def account(parameters: FixedBatchSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all noisy sums together, if one record is replaced by another.

    >>> training = FixedBatchSGDParameters(noise_multiplier=2.0, steps=100, batch=10, dataset=1000)
    >>> account(training, Adjacency.REPLACE).guarantee.epsilon("1e-6").upper
    0.9986

    Raises:
        UnprovedAdjacencyError: for another relation than ``replace``.
    """
    if adjacency is not Adjacency.REPLACE:
        raise UnprovedAdjacencyError(
            "fixed-batch-sgd",
            adjacency,
            "Use replace, because the sizes of the dataset and of a batch are public",
        )
    most, least = _most(parameters), _least(parameters)
    return PrivacyResult(
        most if least is None or most == least else Between(least, most, _PAIR),
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.fixed_batch_sgd",
        attained=None if least is None else Attained(least, _PAIR),
    )


_PAIR = (
    "a record whose vectors all equal one of the clipping norm, or its opposite, as all others' vectors do"
)


def _most(parameters: FixedBatchSGDParameters) -> Profile:
    """Return the guarantee that the dominating pair of one step implies."""
    noise, m, n = parameters.noise_multiplier, parameters.batch, parameters.dataset
    if (gaussian := _without_sampling(parameters)) is not None:
        return gaussian
    if not parameters.replacement:
        return composed(parameters.steps, without_replacement(_moved(noise, 1), m, n))
    most = min(m, _COPIES + 4 * -(-m // n), _MOST_RECORDS)
    pair = with_replacement(lambda copies: _moved(noise, copies), m, n, most)
    return EnclosedLoss((), (pair,), parameters.steps)


def _least(parameters: FixedBatchSGDParameters) -> Profile | None:
    """Return the guarantee of one pair of datasets; None for large batches with replacement."""
    noise, m, n = parameters.noise_multiplier, parameters.batch, parameters.dataset
    if (gaussian := _without_sampling(parameters)) is not None:
        return gaussian
    if not parameters.replacement:
        one = SubsampledGaussian(neighbours_of(Fraction(m, n))[0], noise / 2)
        return composed(parameters.steps, one, one.reversed())
    if m > _MOST_RECORDS:
        return None
    several = BinomialGaussianMixture(neighbours_of(Fraction(1, n))[0], noise / 2, m)
    return EnclosedLoss((several, several.reversed()), (), parameters.steps)


def _without_sampling(parameters: FixedBatchSGDParameters) -> Profile | None:
    """Return the exact guarantee if each batch is the whole dataset, or if there are no steps; otherwise None."""
    if parameters.steps == 0:
        return GaussianDP(0)
    if parameters.replacement or parameters.batch < parameters.dataset:
        return None
    return GaussianDP.of_square(4 * parameters.steps / exact(parameters.noise_multiplier) ** 2)


def _moved(noise: float, copies: int) -> SubsampledGaussian:
    """Return the pair of a sum that moves by two clipping norms for each copy, at a noise rounded down."""
    return SubsampledGaussian(1.0, neighbours_of(exact(noise) / (2 * copies))[0])


ACCOUNTANT = Accountant(
    "fixed-batch-sgd",
    "DP-SGD with batches of a fixed size, drawn with or without replacement",
    FixedBatchSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=FixedBatchSGDParameters(noise_multiplier=2.0, steps=10, batch=10, dataset=100),
)
