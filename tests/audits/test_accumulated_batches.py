"""The exact pair of accumulated Poisson batches, against mpmath."""

from __future__ import annotations

import mpmath
import pytest

from dpproof.accountant.numbers.enclosures import precision, round_down, round_up
from dpproof.audits.training.accumulated_batches import AccumulatedBatches
from dpproof.audits.training.private_pair import DELTA


@pytest.mark.parametrize(("parts", "noise"), [(2, 1.0), (5, 0.5), (3, 4.0)])
def test_the_masses_are_a_binomial_mixture_of_normal_tails(parts, noise):
    pair = AccumulatedBatches(parts, noise)
    with precision(256):
        first, second = ((round_down(mass), round_up(mass)) for mass in pair.masses())
    with mpmath.workdps(40):
        least, rate = pair.parts + 3 * mpmath.mpf(noise), mpmath.mpf(1) / parts
        tails = [mpmath.ncdf(-(least - k) / noise) for k in range(parts + 1)]
        exact = sum(
            mpmath.binomial(parts, k) * rate**k * (1 - rate) ** (parts - k) * t for k, t in enumerate(tails)
        )
    assert first[0] <= exact <= first[1]
    assert second[0] <= tails[0] <= second[1]


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_account_of_one_sample_is_violated(rounds):
    pair = AccumulatedBatches(rounds=rounds)
    reported = pair.guarantee.epsilon(DELTA).upper
    assert pair.delta(reported).lower > 5 * DELTA
    assert pair.epsilon() > reported + 0.5


def test_an_account_that_counts_the_record_in_every_batch_is_kept():
    """The control: at the epsilon of a record that counts in all batches of the update, the event shows nothing."""
    pair = AccumulatedBatches()
    counted = AccumulatedBatches(noise_multiplier=0.5, rounds=1)  # twice the sensitivity
    assert pair.delta(counted.guarantee.epsilon(DELTA).upper).upper <= DELTA


def test_one_batch_is_no_accumulation():
    with pytest.raises(ValueError, match="parts"):
        AccumulatedBatches(parts=1)
