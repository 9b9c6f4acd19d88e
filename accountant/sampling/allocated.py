"""Accountant of random allocation: in each epoch, a record takes part in k steps that are drawn at random.

The k of t steps are drawn without replacement, independently for each record. With ``fresh`` the draw is repeated in
each epoch. Without it, a record takes part in the same steps of each epoch (balls-in-bins sampling).

k = 1: a record's outputs have the density ratio of a mean of t independent Gaussian ratios, and the bounds enclose the
exact guarantee. k > 1: k compositions of one of floor(t/k) steps bound it from above, and the number of outputs above a
threshold, or the sum of all outputs, bounds it from below. Replacement: by group privacy, as removal and addition.

Noise from a banded matrix factorisation is allowed for one step an epoch in the same place. Steps that are as many
places apart as there are bands do not share noise, so 1 of floor(t/bands) bounds the guarantee from above.

Source: Feldman and Shenfeld, arXiv:2502.08202 (random allocation); Chua et al., arXiv:2412.16802 (balls and bins); the
theorems here are this project's, statement classic.allocated_sgd, docs/notes/sampling_schemes.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import BestOf, Profile, WorstOf
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs import threshold_counts
from dpproof.accountant.pairs.random_allocation import LEAST_NOISE, RandomAllocation
from dpproof.accountant.pairs.threshold_counts import ThresholdCounts
from dpproof.accountant.privacy_loss.enclosed_loss import EnclosedLoss
from dpproof.accountant.sampling.between import Between, divided
from dpproof.accountant.theorems.group_privacy import group_privacy


@dataclass(frozen=True)
class AllocatedSGDParameters(Parameters):
    """Parameters of training in which a record takes part in randomly drawn steps of each epoch.

    >>> AllocatedSGDParameters(noise_multiplier=1.0, steps=10, chosen=11)
    Traceback (most recent call last):
    ValueError: chosen (11) must be at most steps (10)
    """

    noise_multiplier: float = parameter(
        Reals(LEAST_NOISE, 1e9), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(1, 100_000), "steps", "number of steps of an epoch")
    epochs: int = parameter(Integers(1, 1_000_000), "epochs", "number of epochs", 1)
    chosen: int = parameter(
        Integers(1), "steps", "number of steps of an epoch in which a record takes part", 1
    )
    fresh: bool = parameter(Flag(), "1", "whether the steps are drawn again in each epoch", True)
    bands: int = parameter(
        Integers(1), "bands", "number of bands of the encoder matrix of the noise; 1 for independent noise", 1
    )
    column_norm: float = parameter(
        Reals(1e-3, 1e6),
        "1",
        "largest column norm of the encoder matrix; 1 for independent noise",
        1.0,
        safer=-1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chosen > self.steps:
            raise ValueError(f"chosen ({self.chosen}) must be at most steps ({self.steps})")
        if self.bands > 1 and (self.fresh or self.chosen > 1 or self.bands > self.steps):
            raise ValueError(
                f"bands ({self.bands}) must be 1 unless fresh is false, chosen is 1 and bands is at most steps. "
                "For other draws no guarantee is proved with correlated noise."
            )


def account(parameters: AllocatedSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all noisy sums together.

    >>> training = AllocatedSGDParameters(noise_multiplier=1.0, steps=100)
    >>> account(training, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper
    0.8581

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
        raise UnprovedAdjacencyError("allocated-sgd", adjacency, "Use one of: add-remove, replace")
    most, least = most_private(parameters), least_private(parameters)
    pair = _PAIR
    if adjacency is Adjacency.REPLACE:
        removed = group_privacy(replace(most, coarse=True) if isinstance(most, EnclosedLoss) else most, 2)
        most, pair = BestOf((removed, _given_steps(parameters, 2))), _REPLACED
        least = None if least is None else WorstOf((least, _sums(parameters, 2)))
    attained = Attained(least, pair) if least is not None and _is_plain(parameters) else None
    found = most if most == least else Between(least or GaussianDP(0), most, pair)
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.allocated_sgd",
        attained=attained,
    )


_PAIR = "a record whose vectors all equal one of the clipping norm, all others' being zero, against none"
_REPLACED = (
    "a record whose vectors all equal one of the clipping norm, or all its opposite, or are all zero, all others' "
    "being zero"
)


def most_private(parameters: AllocatedSGDParameters) -> Profile:
    """Return a guarantee for ``add-remove``. Its upper bounds hold always.

    The lower bounds hold if ``chosen`` is 1, the noise is independent and its deviation is at least ``LEAST_NOISE``.
    """
    square, count = _repeated(parameters)
    size = parameters.steps // max(parameters.bands, parameters.chosen)
    times = count * parameters.chosen
    low, high = divided(parameters.noise_multiplier, square)
    given = _given_steps(parameters, 1)
    if size == 1 or low < LEAST_NOISE:
        return given
    above = RandomAllocation(size, low, True)
    below: tuple[RandomAllocation, ...] = ()
    if _is_plain(parameters) and parameters.chosen == 1:
        least = RandomAllocation(size, high, False)
        below = (least, least.reversed())
    return EnclosedLoss(below, (above, above.reversed()), times, known=given)


def least_private(parameters: AllocatedSGDParameters) -> Profile | None:
    """Return a guarantee whose lower bounds one pair of neighbours attains; None if no such pair is computed."""
    square, count = _repeated(parameters)
    low, high = divided(parameters.noise_multiplier, square)
    k, t = parameters.chosen, parameters.steps
    if k == t:
        return most_private(parameters)
    if not _is_plain(parameters):
        return None
    if k == 1 and low >= LEAST_NOISE:
        return most_private(parameters)
    sums = _sums(parameters, 1)
    if t > threshold_counts.MOST_STEPS or high < LEAST_NOISE:
        return sums
    pairs = [ThresholdCounts(t, k, high, at) for at in threshold_counts.thresholds(t, k, high)]
    return WorstOf((EnclosedLoss((*pairs, *(pair.reversed() for pair in pairs)), (), count), sums))


def _given_steps(parameters: AllocatedSGDParameters, moved: int) -> GaussianDP:
    """Return the guarantee for a known draw: each use of the record moves one output by ``moved`` norms at most."""
    square, count = _repeated(parameters)
    distance = moved**2 * parameters.chosen * count * square
    return GaussianDP.of_square(distance / exact(parameters.noise_multiplier) ** 2)


def _sums(parameters: AllocatedSGDParameters, moved: int) -> Profile:
    """Return the guarantee of the sum of all outputs, which each use of the record moves by ``moved`` norms."""
    square, count = _repeated(parameters)
    distance = Fraction((moved * parameters.chosen) ** 2, parameters.steps) * count * square
    return GaussianDP.of_square(distance / exact(parameters.noise_multiplier) ** 2)


def _repeated(parameters: AllocatedSGDParameters) -> tuple[Fraction, int]:
    """Return the factor on the squared distance, and how often the steps are drawn."""
    norm = exact(parameters.column_norm) ** 2
    return (norm, parameters.epochs) if parameters.fresh else (norm * parameters.epochs, 1)


def _is_plain(parameters: AllocatedSGDParameters) -> bool:
    return parameters.bands == 1 and parameters.column_norm == 1


ACCOUNTANT = Accountant(
    "allocated-sgd",
    "DP-SGD in which a record takes part in randomly drawn steps: random allocation and balls-in-bins",
    AllocatedSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=AllocatedSGDParameters(noise_multiplier=1.0, steps=10),
)
