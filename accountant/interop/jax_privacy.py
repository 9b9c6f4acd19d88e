"""Guarantees of configuration objects of jax_privacy, which are read by their attributes. jax is not imported.

An execution plan carries its event of dp-accounting and its neighbouring relation; in jax_privacy 2.0.0 the relation is
only known from its batches. A ``BandMFConfig`` and the batch
selection strategies describe the same by numbers. The accountant assumes what jax_privacy states for these objects:
gradients are clipped by record, and the noise has the stated multiplier of the column norm of the strategy matrix.

Source: google-deepmind/jax_privacy at commit 8967688 (execution_plan.py, accounting.py, batch_selection.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dp_accounting import dp_event as dp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.interop.dp_events import event_of_training, privacy_loss_of
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.sampling import allocated
from dpproof.accountant.sampling.allocated import AllocatedSGDParameters

_RELATIONS = {
    "ADD_OR_REMOVE_ONE": Adjacency.ADD_REMOVE,
    "REPLACE_ONE": Adjacency.REPLACE,
    "REPLACE_SPECIAL": Adjacency.BY_SENSITIVITY,
}
REFUSED: Mapping[str, str] = {
    "BMinSepSampling": (
        "The steps of one record depend on each other, and no certified bound is known. "
        "dpproof.simulate bounds epsilon with a stated confidence."
    ),
    "UserSelectionStrategy": "The number of records of a user in a batch is not a part of the object.",
    "DPKerasConfig": (
        "It counts every batch as a Poisson sample, also if fit() shuffles the records. "
        "Describe the batches that are drawn by a batch selection strategy."
    ),
}
"""Objects of jax_privacy without a guarantee here, with the reason."""


class UnsupportedConfigurationError(ValueError):
    """Raised for an object of jax_privacy for which dpproof has no guarantee."""

    def __init__(self, configuration: object, why: str) -> None:
        super().__init__(f"configuration ({type(configuration).__name__}) is not supported. {why}")


def described(
    configuration: Any, *, noise_multiplier: float | None = None, records: int | None = None
) -> tuple[dp.DpEvent, Adjacency]:
    """Return a configuration of jax_privacy as an event of dp-accounting, with the relation for which it is meant.

    Args:
        configuration: a ``DPExecutionPlan``, a ``BandMFConfig``, or one of the batch selection strategies
            ``CyclicPoissonSampling`` and ``FixedBatchSampling``.
        noise_multiplier: the noise of each step over the clipping norm. Give it for a batch selection strategy, whose
            noise must be independent from step to step.
        records: the number of records in the dataset. Give it for ``FixedBatchSampling``.

    Raises:
        UnsupportedConfigurationError: for an object without a guarantee, or one that lacks a number.
    """
    kind = type(configuration).__name__
    if hasattr(configuration, "dp_event"):
        return configuration.dp_event, _relation_of(configuration)
    if kind in ALLOCATED:
        raise UnsupportedConfigurationError(
            configuration, "dp-accounting has no event for it. Use guarantee_of."
        )
    if kind not in READ:
        why = REFUSED.get(kind, f"Give one of: DPExecutionPlan, {', '.join((*READ, *ALLOCATED))}.")
        raise UnsupportedConfigurationError(configuration, why)
    return READ[kind](configuration, _noise_of(configuration, noise_multiplier), records)


def _relation_of(plan: Any) -> Adjacency:
    """Return the relation of a plan: the stated one, or else the relation for which its batches are meant."""
    if hasattr(plan, "neighboring_relation"):
        return _RELATIONS[plan.neighboring_relation.name]
    return described(getattr(plan, "batch_selection_strategy", None), noise_multiplier=1.0)[1]


def dp_sgd_of(configuration: Any) -> DPSGDParameters:
    """Return the parameters of DP-SGD under ``add-remove`` that a configuration describes.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class BandMFConfig:  # jax_privacy has the same attributes
    ...     strategy: tuple[float, ...] = (1.0,)
    ...     iterations: int = 100
    ...     expected_participations: float = 10
    ...     noise_multiplier: float = 2.0
    ...     num_examples: int | None = None
    ...     truncated_batch_size: int | None = None
    >>> dp_sgd_of(BandMFConfig())
    DPSGDParameters(sampling_rate=0.1, noise_multiplier=2.0, steps=100, records=1)

    Raises:
        UnsupportedConfigurationError: see `described`; or the configuration is another mechanism or relation.
    """
    event, relation = described(configuration)
    match event:
        case dp.SelfComposedDpEvent(
            event=dp.PoissonSampledDpEvent(
                sampling_probability=rate, event=dp.GaussianDpEvent(noise_multiplier=noise)
            ),
            count=steps,
        ) if relation is Adjacency.ADD_REMOVE:
            return DPSGDParameters(float(rate), float(noise), int(steps))
    why = f"It describes {event!r} under {relation.value}. It must describe steps of DP-SGD under add-remove."
    raise UnsupportedConfigurationError(configuration, why)


def _noise_of(configuration: Any, given: float | None) -> float:
    """Return the noise multiplier of a configuration, or the one that is given."""
    noise: float | None = getattr(configuration, "noise_multiplier", given)
    if noise is None:
        raise UnsupportedConfigurationError(
            configuration, "Its noise_multiplier is not set. Calibrate or give it."
        )
    return noise


def guarantee_of(
    configuration: Any, *, noise_multiplier: float | None = None, records: int | None = None
) -> Profile:
    """Return the guarantee of a configuration of jax_privacy, under the relation for which it is meant.

    The arguments are those of `described`. ``BallsInBinsSampling`` and ``RandomAllocationSampling`` are read, too. They
    are meant for add-remove, because each record draws its steps by itself.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class CyclicPoissonSampling:  # jax_privacy has the same attributes
    ...     sampling_prob: float
    ...     iterations: int
    ...     truncated_batch_size: int | None = None
    ...     cycle_length: int = 1
    >>> guarantee_of(CyclicPoissonSampling(0.01, 1000), noise_multiplier=1.0).epsilon("1e-6").upper
    2.12451517

    Raises:
        UnsupportedConfigurationError: see `described`.
    """
    if (kind := type(configuration).__name__) in ALLOCATED:
        noise = _noise_of(configuration, noise_multiplier)
        return allocated.account(ALLOCATED[kind](configuration, noise), Adjacency.ADD_REMOVE).guarantee
    event, relation = described(configuration, noise_multiplier=noise_multiplier, records=records)
    return privacy_loss_of(event, relation)


Read = tuple[dp.DpEvent, Adjacency]


def _banded(configuration: Any, noise: float, _records: int | None) -> Read:
    """Return a banded matrix factorisation with cyclic Poisson sampling: a training with fewer steps.

    Source: Choquette-Choo et al., arXiv:2306.08153, Theorem 1. A record can take part only in every b-th step,
    where b is the number of bands. So its contributions do not share a noise term.
    """
    _check_whole_batches(configuration)
    bands = len(configuration.strategy)
    rate = configuration.expected_participations * bands / configuration.iterations
    public = configuration.num_examples is not None
    return (
        event_of_training(rate, noise, math.ceil(configuration.iterations / bands)),
        Adjacency.BY_SENSITIVITY if public else Adjacency.ADD_REMOVE,
    )


def _cyclic(configuration: Any, noise: float, _records: int | None) -> Read:
    _check_whole_batches(configuration)
    cycle = configuration.cycle_length
    split = getattr(getattr(configuration, "partition_type", None), "name", "EQUAL_SPLIT")
    # with groups of equal sizes, an added record moves other records to other groups
    own = Adjacency.ADD_REMOVE if cycle == 1 or split == "INDEPENDENT" else Adjacency.BY_SENSITIVITY
    steps = math.ceil(configuration.iterations / cycle)
    return event_of_training(configuration.sampling_prob, noise, steps), own


def _fixed(configuration: Any, noise: float, records: int | None) -> Read:
    if records is None:
        raise UnsupportedConfigurationError(
            configuration, "Give the number of records in the dataset (records)."
        )
    kind = dp.SampledWithReplacementDpEvent if configuration.replace else dp.SampledWithoutReplacementDpEvent
    step = kind(records, configuration.batch_size, dp.GaussianDpEvent(noise))
    return dp.SelfComposedDpEvent(step, configuration.iterations), Adjacency.REPLACE


def _check_whole_batches(configuration: Any) -> None:
    if configuration.truncated_batch_size is not None:
        why = (
            "Its batches are truncated. For one group and independent noise, use the mechanism truncated-sgd."
        )
        raise UnsupportedConfigurationError(configuration, why)


READ: Mapping[str, Callable[[Any, float, int | None], Read]] = {
    "BandMFConfig": _banded,
    "CyclicPoissonSampling": _cyclic,
    "FixedBatchSampling": _fixed,
}


def _bins(configuration: Any, noise: float) -> AllocatedSGDParameters:
    """Return balls-in-bins sampling. The last cycle may be incomplete, which reveals less than a complete one."""
    cycle = configuration.cycle_length
    epochs = max(math.ceil(configuration.iterations / cycle), 1)
    return AllocatedSGDParameters(noise, cycle, epochs, fresh=False)


def _random_steps(configuration: Any, noise: float) -> AllocatedSGDParameters:
    return AllocatedSGDParameters(noise, configuration.iterations, chosen=configuration.total_participations)


ALLOCATED: Mapping[str, Callable[[Any, float], AllocatedSGDParameters]] = {
    "BallsInBinsSampling": _bins,
    "RandomAllocationSampling": _random_steps,
}
"""Strategies in which each record draws its steps once. dp-accounting has no event for them."""
