"""Exact pairs of neighbouring datasets on which Opacus 1.6.0 releases more than its accountants report.

Each class describes one configuration of Opacus, two neighbouring datasets under ``add-remove``, and an event. `masses`
returns the exact probabilities of the event. They are probabilities of the algorithm in real arithmetic, with ideal
random numbers. So P[event] - exp(epsilon) Q[event] is a certified lower bound on delta. No random number is drawn.

``python -m dpproof.audits.training.private_sizes`` prints all pairs. The same configurations of Opacus itself run in
``dpproof audit corpus --only "opacus engine"``. Neither torch nor Opacus is needed here.

Source: docs/notes/opacus_divisor.md; the code of Opacus 1.6.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.interop.opacus_sizes import batches, divisor, sampling_rate
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.numbers.binomial import lower_tail
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.audits.training.private_pair import DELTA, Masses, PrivatePair, average, middle_of, narrower

_CLIP = Fraction(1_000_000, 1_000_001)
"""Length of a clipped gradient of length 1 at clipping norm 1: Opacus divides by the length plus 1e-6."""


def read(plain: Mapping[str, Any]) -> PrivatePair:
    """Return the pair that ``plain``, the result of `PrivatePair.as_json`, describes.

    >>> read(SampleRate(batch_size=20).as_json()) == SampleRate(batch_size=20)
    True

    Raises:
        ValueError: no pair is of this kind.
    """
    given = dict(plain)
    kind = given.pop("kind", None)
    known = {one.kind: one for one in KINDS}
    if kind not in known:
        raise ValueError(f"kind ({kind!r}) must be one of: {', '.join(known)}")
    return known[kind](**given)


@dataclass(frozen=True)
class DatasetSize(PrivatePair):
    """The divisor of a step is computed from the private number of records. Every gradient of this pair is 0.

    >>> DatasetSize(records=48, batch_size=2, weights=21, steps=1).delta(1).lower
    0.739379

    Args:
        records: the number of records of the first dataset.
        batch_size: the batch size of the user's data loader.
        weights: the number of trained weights.
        noise_multiplier: the standard deviation of the noise over the clipping norm.
        steps: the number of steps, whose updates are all observed.

    Raises:
        ValueError: a number is too small, or Opacus divides by 0.
    """

    kind = "dataset size"
    setting = 'any clipping and any gradient mode, loss_reduction="mean"'
    first = "records with gradient 0"
    second = "one of these records less"
    released = "the sum of the squared updates of all weights and steps, over (learning rate * noise)^2,"
    small = True

    records: int = 50_000
    batch_size: int = 500
    weights: int = 1_000_000
    noise_multiplier: float = 1.0
    steps: int = 100

    def __post_init__(self) -> None:
        for name, least in (("records", 2), ("batch_size", 1), ("weights", 1), ("steps", 1)):
            whole(getattr(self, name), name, least)
        if 0 in self.divisors:
            raise ValueError(f"records ({self.records}) give the divisor 0. Use a larger batch_size.")

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`."""
        fewest = min(batches(n, self.batch_size) for n in (self.records, self.records - 1))
        return DPSGDParameters(1 / fewest, self.noise_multiplier, self.steps)

    @property
    def divisors(self) -> tuple[int, int]:
        """The divisors of the two datasets."""
        return divisor(self.records, self.batch_size), divisor(self.records - 1, self.batch_size)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It is half way between the two means."""
        return self.weights * self.steps * middle_of(*self.divisors)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`."""
        return narrower(self.weights * self.steps, *self.divisors)


@dataclass(frozen=True)
class AdaptiveNorm(PrivatePair):
    """Adaptive clipping divides a noisy count by the private size of the batch. No gradient of this pair is clipped.

    Every record is in every batch. The batch has ``records`` records, or one record less.

    Args:
        records: the number of records of the first dataset; the batch size is at least this number.
        noise_multiplier: the noise multiplier given to the engine.
        count_noise: the standard deviation of the noise of the count, ``unclipped_num_std``.
        steps: the number of steps, whose clipping norms are all observed.

    Raises:
        ValueError: ``records`` is below 2, or ``steps`` is below 1.
    """

    kind = "adaptive norm"
    setting = 'clipping="adaptive"'
    first = "records with gradient 0"
    second = "one of these records less"
    released = "the sum over all steps of (unclipped fraction - 1)^2, over count_noise^2,"
    small = True

    records: int = 20
    noise_multiplier: float = 100.0
    count_noise: float = 100.0
    steps: int = 1_000

    def __post_init__(self) -> None:
        whole(self.records, "records", 2)
        whole(self.steps, "steps", 1)

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`."""
        return DPSGDParameters(1.0, self.noise_multiplier, self.steps)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It is half way between the two means."""
        return self.steps * middle_of(self.records, self.records - 1)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`. The noise of the count has the same scale on both datasets, and cancels."""
        return narrower(self.steps, self.records, self.records - 1)


@dataclass(frozen=True)
class WeightedMean(PrivatePair):
    """A weighted mean loss divides each record's gradient by the weights of the whole batch.

    The model is linear with one input and two classes, and has weights 0. All inputs are 1. The records have class 0.
    The additional record has class 1.

    Args:
        records: the number of records of the second dataset.
        batch_size: the batch size of the user's data loader.
        weight: the weight of class 1 in the loss; class 0 has weight 1.
        clip: the clipping norm, below the length of a gradient, which is 0.707.
        noise_multiplier: the standard deviation of the noise over the clipping norm.
    """

    kind = "weighted mean"
    setting = 'torch.nn.CrossEntropyLoss(weight=...), loss_reduction="mean", gradients by hooks or functorch'
    first = "records of class 0, and one record of class 1"
    second = "the records of class 0"
    released = "the noisy sum in the direction of class 0, over the clipping norm,"
    small = True

    records: int = 255
    batch_size: int = 64
    weight: int = 1_000
    clip: float = 0.5
    noise_multiplier: float = 1.0

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`."""
        return DPSGDParameters(float(self._rate), self.noise_multiplier, 1)

    @property
    def _rate(self) -> Fraction:
        return sampling_rate(self.records + 1, self.batch_size)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It is half of the mean without the additional record."""
        return self.records * self._rate / 2

    def masses(self) -> Masses:
        """See `PrivatePair.masses`."""
        rate, noise = self._rate, arb_of(exact(self.noise_multiplier))
        most = arb_of(self.threshold)

        def below(mean: Callable[[int], flint.arb]) -> flint.arb:
            return average(self.records, rate, lambda batch: normal_tail((mean(batch) - most) / noise))

        absent, present = below(lambda batch: batch * self._clipped(flint.arb(1))), below(self._with_record)
        return arb_of(1 - rate) * absent + arb_of(rate) * present, absent

    def _with_record(self, batch: int) -> flint.arb:
        """Return the mean of the sum, in clipping norms, for this many records and the additional record."""
        share = arb_of(Fraction(batch + 1, batch + self.weight))
        return batch * self._clipped(share) - self._clipped(share * self.weight)

    def _clipped(self, factor: flint.arb) -> flint.arb:
        """Return the length of a clipped gradient in clipping norms, if its length was multiplied by ``factor``."""
        length, clip = factor / flint.arb(2).sqrt(), arb_of(exact(self.clip))
        return length / clip * (clip / (length + arb_of(Fraction(1, 10**6)))).min(flint.arb(1))


@dataclass(frozen=True)
class RandomBatch(PrivatePair):
    """With ``rand_on_empty=True`` an empty batch is replaced by a record of random bits, whose gradient is added.

    The loss is the sum of the outputs of a linear model with one weight. So the gradient of a record is its input. The
    three records have input 0, and the additional record has input -1. Clipping norm 1, batch size 2. Before the first
    batch with records Opacus cannot make a random record, and empty batches stay empty. The masses take this into
    account. Every step is accounted for.

    Args:
        noise_multiplier: the standard deviation of the noise over the clipping norm.
        steps: the number of steps, whose noisy sums are all observed.
        most: the event is that the noisy sums add up to at most this number.

    Raises:
        ValueError: ``steps`` is below 1.
    """

    kind = "random batch"
    setting = 'rand_on_empty=True, loss_reduction="sum" in the engine'
    first = "three records with gradient 0, and one record with gradient -1"
    second = "three records with gradient 0"
    released = "the noisy sums of all steps, added up,"
    small = True

    noise_multiplier: float = 10.0
    steps: int = 200
    most: float = -594.0

    def __post_init__(self) -> None:
        whole(self.steps, "steps", 1)

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`."""
        return DPSGDParameters(0.5, self.noise_multiplier, self.steps)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`."""
        return exact(self.most)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`."""
        return self._below(_gradient_sum(self.steps, 4)), self._below(_gradient_sum(self.steps, 3))

    def _below(self, law: flint.fmpq_poly) -> flint.arb:
        """Return the probability of the event, given the law of the sum of all gradients."""
        noise = arb_of(exact(self.noise_multiplier)) * flint.arb(self.steps).sqrt()
        ends = (_CLIP * (place - self.steps) - self.threshold for place in range(law.degree() + 1))
        tails = (normal_tail(arb_of(end) / noise) for end in ends)
        masses = (flint.arb(chance) * tail for chance, tail in zip(law.coeffs(), tails, strict=True))
        return sum(masses, flint.arb(0))


def _gradient_sum(steps: int, records: int) -> flint.fmpq_poly:
    """Return the law of the sum of all gradients of `RandomBatch`: the coefficient of x^j is the chance of j - steps.

    Of the random inputs, which are 0 or 1, one half are 1. With 4 records, one has gradient -1. ``full`` is the law
    of a batch with records, times its chance.
    """
    empty, taken = flint.fmpq(1, 2**records), flint.fmpq(records - 3, 2)
    full = flint.fmpq_poly([taken, 1 - empty - taken])
    after = full + flint.fmpq_poly([0, empty / 2, empty / 2])  # the law of a batch after one with records
    learnt, not_yet = flint.fmpq_poly([0]), flint.fmpq_poly([1])
    for _ in range(steps):
        learnt, not_yet = learnt * after + not_yet * full, not_yet * flint.fmpq_poly([0, empty])
    return learnt + not_yet


@dataclass(frozen=True)
class SkippedStep(PrivatePair):
    """The distributed sampler skips empty batches, and the number of steps is observed. One process, batch size 2.

    Args:
        noise_multiplier: the standard deviation of the noise over the clipping norm.
        draws: the number of batches that are drawn, a multiple of 2.
    """

    kind = "skipped step"
    setting = "DistributedUniformWithReplacementSampler: a module in DistributedDataParallel"
    first = "three records"
    second = "four records"
    released = "the number of batches that are empty and skipped"
    small = False

    noise_multiplier: float = 20.0
    draws: int = 200

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`. Opacus accounts for the steps that happen, at most ``draws``."""
        return DPSGDParameters(0.5, self.noise_multiplier, self.draws)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It is half way between the two means."""
        return Fraction(3 * self.draws, 32)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`."""
        least = ceil(self.threshold)
        empty = (Fraction(1, 2**records) for records in (3, 4))
        first, second = (1 - lower_tail(self.draws, chance, least - 1) for chance in empty)
        return first, second


@dataclass(frozen=True)
class SampleRate(PrivatePair):
    """The sampling rate of the other records is computed from the private number of records.

    All gradients have the clipping norm as their length, and one direction. One step.

    Args:
        batch_size: the batch size of the user's data loader; the first dataset has this many records.
        noise_multiplier: the standard deviation of the noise over the clipping norm.
    """

    kind = "sampling rate"
    setting = "any; shown with loss_reduction='sum'"
    first = "as many records as the batch size"
    second = "one record more"
    released = "the noisy sum, over the clipping norm,"
    small = False

    batch_size: int = 100
    noise_multiplier: float = 1.0

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`. The sampling rate is 1 on the first dataset and 1/2 on the second one."""
        return DPSGDParameters(1.0, self.noise_multiplier, 1)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It is half way between the two means, up to 1/4."""
        return Fraction(3 * self.batch_size, 4)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`."""
        noise, least = arb_of(exact(self.noise_multiplier)), arb_of(self.threshold)

        def above(batch: int) -> flint.arb:
            return normal_tail((least - arb_of(batch * _CLIP)) / noise)

        return above(self.batch_size), average(self.batch_size + 1, Fraction(1, 2), above)


KINDS: tuple[type[PrivatePair], ...] = (
    DatasetSize,
    AdaptiveNorm,
    WeightedMean,
    RandomBatch,
    SkippedStep,
    SampleRate,
)
"""All kinds of pairs; the defaults of each kind violate the reported epsilon."""


def main() -> None:
    """Print every pair: the reported epsilon, the delta of the event at this epsilon, and the true epsilon."""
    for pair in (one() for one in KINDS):
        reported = pair.guarantee.epsilon(DELTA).upper
        print(f"{pair.kind}: {pair.setting}")
        print(f"  datasets: {pair.first}; {pair.second}")
        print(f"  event: {pair.event}")
        print(f"  accounted: epsilon {reported} at delta {float(DELTA):g}")
        print(f"  event at this epsilon: delta is at least {pair.delta(reported).lower}")
        print(f"  true epsilon at delta {float(DELTA):g}: at least {pair.epsilon()}")
        print(f"  replay: {pair.as_json()}")


if __name__ == "__main__":
    main()
