"""What Opacus computes from the size of the dataset, and the guarantee of a step that divides by it.

Opacus 1.6.0 takes the sampling rate and the divisor of a step from the number of records n and the batch size b of the
user's data loader: rate = 1/ceil(n/b), and divisor = floor(n rate), up to rounding. Its accountants assume that both
are public. Under ``add-remove`` the number of records is private. Neighbours whose divisors differ get noise of
different scales.

This module is exact about the numbers of Opacus, and needs neither Opacus nor torch. Proofs and limits are in
docs/notes/opacus_divisor.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import RenyiDP
from dpproof.accountant.guarantees.profile import Enclosed
from dpproof.accountant.noise.dp_sgd import DPSGDParameters, account
from dpproof.accountant.numbers.binomial import mass
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian
from dpproof.accountant.smooth_sensitivity.notion import positive

SPLITS = 16
"""The number of ways in which `Step.delta` divides epsilon between its two parts."""
MOST_WEIGHTS = 1_000_000
"""The most trained weights for which an upper bound is computed."""
_BITS = 192


def sampling_rate(records: int, batch_size: int) -> Fraction:
    """Return the probability that a record is in a batch: one over the length of the user's data loader.

    >>> sampling_rate(49_999, 500)
    Fraction(1, 100)
    """
    whole(records, "records", 1)
    whole(batch_size, "batch_size", 1)
    return Fraction(1, -(-records // batch_size))


def batches(records: int, batch_size: int) -> int:
    """Return the number of steps of an epoch, in Opacus's floating-point arithmetic.

    The accountants are told the sampling rate 1/``batches``, which can be a little above `sampling_rate`.

    >>> sampling_rate(50_000, 64), batches(50_000, 64)
    (Fraction(1, 782), 781)

    Source: opacus/utils/uniform_sampler.py, line 52, of version 1.6.0.
    """
    return int(1 / float(sampling_rate(records, batch_size)))


def divisor(records: int, batch_size: int) -> int:
    """Return what Opacus divides the noisy sum of a step by, in its own floating-point arithmetic.

    The data loader must have no ``drop_last``, and no sampler that draws more or fewer records than the dataset has.
    At batch size 1, rounding can lead to the divisor 0.

    >>> divisor(50_000, 500), divisor(49_999, 500), divisor(50_001, 500), divisor(49, 1)
    (500, 499, 495, 0)

    Args:
        records: the number of records, at least 1.
        batch_size: the batch size of the data loader that the user gives to ``make_private``, at least 1.

    Source: opacus/privacy_engine.py, lines 440 and 441, of version 1.6.0.
    """
    return int(records * (1 / batches(records, batch_size)))


def full_batch(noise_multiplier: Number, records: int, weights: int) -> Enclosed:
    """Return the guarantee of one step on all records, divided by their private number, under ``add-remove``.

    The means of the clipped gradients of two neighbours are at most 2 C / n apart, where n is the larger number of
    records. Their noise has the standard deviations sigma C / n and sigma C / (n - 1). The result holds for all
    datasets with at least ``records`` records, if the batch size is at least their size. No smaller guarantee holds for
    all of these datasets. Opacus reports half the shift and equal scales.

    The steps of a training compose by `full_batch_steps`.

    >>> full_batch(10, 100, 1).epsilon("1e-5").upper
    0.869092

    Args:
        noise_multiplier: sigma, the standard deviation of the noise over the clipping norm C.
        records: the public least number of records, at least 1.
        weights: the number of trained weights, at most 10^6.

    Source: docs/notes/opacus_divisor.md, section 2; statement classic.smooth_gaussian.
    """
    return Enclosed(*_smooth(noise_multiplier, records, weights))


def full_batch_steps(noise_multiplier: Number, records: int, weights: int, steps: int) -> Enclosed:
    """Return the guarantee of several steps on all records, each divided by their private number.

    It is the Renyi guarantee of `full_batch`, added up. The lower ends are about the epsilon that this Renyi guarantee
    implies. The true epsilon of the steps may be smaller.

    >>> full_batch_steps(20, 1000, 10, 50).epsilon("1e-5").upper
    3.214740
    """
    whole(steps, "steps", 1)

    def added(one: RenyiDP) -> RenyiDP:
        return RenyiDP(lambda order: one.curve(order) * steps, one.orders)

    return Enclosed(*(added(one.renyi()) for one in _smooth(noise_multiplier, records, weights)))


def _smooth(noise_multiplier: Number, records: int, weights: int) -> tuple[SmoothGaussian, SmoothGaussian]:
    """Return the guarantee of a step on all records, for the log ratio rounded down and rounded up."""
    whole(records, "records", 1)
    whole(weights, "weights", 1, MOST_WEIGHTS)
    noise = positive(noise_multiplier, "noise_multiplier")
    less, more = (SmoothGaussian(noise / 2, ratio, weights) for ratio in _log_ratio(records + 1, records))
    return less, more


@dataclass(frozen=True)
class Step:
    """One step of Opacus with Poisson samples, on ``records`` records or on one record less.

    Both datasets must have the same sampling rate. Their divisors may differ.

    >>> Step(10, 5, 1, 2.0).delta("1.5").upper < 0.2
    True

    Args:
        records: the number of records of the larger dataset, at least 2.
        batch_size: the batch size of the user's data loader.
        weights: the number of trained weights, at most 10^6.
        noise_multiplier: the standard deviation of the noise over the clipping norm.

    Raises:
        ValueError: the two datasets have different sampling rates, or a number is outside its domain.
    """

    records: int
    batch_size: int
    weights: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        whole(self.records, "records", 2)
        whole(self.weights, "weights", 1, MOST_WEIGHTS)
        larger, smaller = (sampling_rate(n, self.batch_size) for n in (self.records, self.records - 1))
        if larger != smaller:
            raise ValueError(
                f"records ({self.records}) and one record less have the sampling rates {larger} and {smaller}. "
                "Their sampling rates differ, and no guarantee of this step is known. Use a public sampling rate."
            )

    @property
    def divisors(self) -> tuple[int, int]:
        """The divisors of the larger and of the smaller dataset."""
        return divisor(self.records, self.batch_size), divisor(self.records - 1, self.batch_size)

    @property
    def rate(self) -> Fraction:
        """The sampling rate."""
        return sampling_rate(self.records, self.batch_size)

    def delta(self, epsilon: Number) -> Bound:
        """Return bounds on delta at ``epsilon``; the lower bound is 0.

        The way from one dataset to its neighbour has two parts. The first changes the record and keeps the divisor: it
        has the accountant's guarantee. The second changes the divisor and keeps the records: given the batch, two
        spherical Gaussians have different means and scales. The delta of the second part is the average over batches.

        Source: docs/notes/opacus_divisor.md, section 3.
        """
        point = exact(epsilon, "epsilon")
        with precision(_BITS):  # a larger rate has a larger delta
            rate = round_up(arb_of(self.rate))
        claim = account(DPSGDParameters(rate, self.noise_multiplier, 1), Adjacency.ADD_REMOVE)
        if self.divisors[0] == self.divisors[1]:
            return Bound(0.0, claim.guarantee.delta(point).upper)

        def both(part: Fraction) -> float:
            first, second = claim.guarantee.delta(part).upper, self.rescaled(point - part).upper
            with precision(_BITS):
                ways = (
                    flint.arb(first) + arb_of(part).exp() * second,
                    flint.arb(second) + arb_of(point - part).exp() * first,
                )
                return max(round_up(way) for way in ways)

        return Bound(0.0, min(1.0, *(both(point * j / SPLITS) for j in range(SPLITS + 1))))

    def rescaled(self, epsilon: Number) -> Bound:
        """Return bounds on delta at ``epsilon`` for the same records divided by one or the other divisor."""
        larger, smaller = self.divisors
        least, gap = min(larger, smaller), abs(larger - smaller)
        _, log_ratio = _log_ratio(max(larger, smaller), least)

        def at(batch: int) -> float:
            if batch == 0:  # the means are equal; a tiny shift is an upper bound and has the same form
                batch_shift = Fraction(1, 10**12)
            else:
                batch_shift = Fraction(batch * gap, least) / exact(self.noise_multiplier)
            return SmoothGaussian(1 / batch_shift, log_ratio, self.weights).delta(epsilon).upper

        return Bound(0.0, min(1.0, _average(self.records - 1, self.rate, at)))


def _average(trials: int, rate: Fraction, of: Callable[[int], float]) -> float:
    """Return an upper bound on the mean of a function with values in [0, 1] of a binomial count.

    Counts of probability below 2^-60 get the value 1. The probabilities fall from the middle to both sides.
    """
    middle = math.floor((trials + 1) * rate)
    with precision(_BITS):
        total, rest = flint.arb(0), flint.arb(1)
        for counts in (range(middle, trials + 1), range(min(middle, trials + 1) - 1, -1, -1)):
            for count in counts:
                chance = mass(trials, rate, count)
                if chance < 2.0**-60:
                    break
                total, rest = total + chance * of(count), rest - chance
        return round_up(total + rest.max(flint.arb(0)))


def _log_ratio(larger: int, smaller: int) -> tuple[Fraction, Fraction]:
    """Return rational bounds on log(larger/smaller)."""
    with precision(_BITS):
        found = arb_of(Fraction(larger, smaller)).log()
        return Fraction(round_down(found)), Fraction(round_up(found))
