"""An exact pair on which jax_privacy's Keras interface releases more than its account, if it accumulates batches.

With ``poisson_sampling_in_fit=True`` every batch is a Poisson sample of its own, at rate ``batch_size/train_size``.
With ``gradient_accumulation_steps=k`` an update adds k of these batches, and the noise of all k together has the
standard deviation of one. So a record may count up to k times in one update. The account takes an update for one
Poisson sample at k times the rate, in which a record counts at most once.

``python -m dpproof.audits.training.accumulated_batches`` prints the pair. jax_privacy is not needed. The code of
jax_privacy 2.0.0 runs in ``benchmarks/jax_privacy_sizes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.audits.training.private_pair import DELTA, Masses, PrivatePair, average


@dataclass(frozen=True)
class AccumulatedBatches(PrivatePair):
    """One update that accumulates ``parts`` Poisson samples, each with rate 1/``parts``.

    >>> pair = AccumulatedBatches()
    >>> pair.delta(pair.guarantee.epsilon("1e-5").upper).lower > 1e-5
    True

    Args:
        parts: the number of accumulated batches, at least 2.
        noise_multiplier: the standard deviation of an update's noise over the clipping norm.
        rounds: the number of steps that the account composes, at least 1. In 2.0.0, ``train_steps`` is to be the
            number of batches; later the documentation names the number of updates.

    Raises:
        ValueError: for fewer than 2 parts, or no round.
    """

    kind = "accumulated batches"
    setting = "DPKerasConfig(poisson_sampling_in_fit=True, gradient_accumulation_steps=parts)"
    first = "parts * batch_size records, one with a gradient of the clipping norm, the others with gradient 0"
    second = "the same number of records, all with gradient 0"
    released = "the update of the weight, times parts * batch_size, over the clipping norm,"
    small = False

    parts: int = 2
    noise_multiplier: float = 1.0
    rounds: int = 2

    def __post_init__(self) -> None:
        whole(self.parts, "parts", 2)
        whole(self.rounds, "rounds", 1)

    @property
    def claim(self) -> DPSGDParameters:
        """See `PrivatePair.claim`. The rate of the account is that of all parts together, here 1."""
        return DPSGDParameters(1.0, self.noise_multiplier, self.rounds)

    @property
    def threshold(self) -> Fraction:
        """See `PrivatePair.threshold`. It lies above ``parts``, so far that chance alone hardly reaches it."""
        return self.parts + 3 * exact(self.noise_multiplier)

    def masses(self) -> Masses:
        """See `PrivatePair.masses`. The number of batches with the record is binomial."""
        noise, least = arb_of(exact(self.noise_multiplier)), arb_of(self.threshold)

        def above(times: int) -> flint.arb:
            return normal_tail((least - times) / noise)

        return average(self.parts, Fraction(1, self.parts), above), above(0)


def main() -> None:
    """Print the account, the delta of the event at its epsilon, and the true epsilon."""
    for pair in (AccumulatedBatches(), AccumulatedBatches(rounds=1)):
        reported = pair.guarantee.epsilon(DELTA).upper
        print(
            f"{pair.kind}, {pair.parts} batches, noise {pair.noise_multiplier}, {pair.rounds} steps in the account"
        )
        print(f"  setting: {pair.setting}")
        print(f"  datasets: {pair.first}; {pair.second}")
        print(f"  event: {pair.event}")
        print(f"  account: epsilon {reported} at delta {float(DELTA):g}")
        print(f"  event at this epsilon: delta is at least {pair.delta(reported).lower}")
        print(f"  true epsilon at delta {float(DELTA):g}: at least {pair.epsilon()}")


if __name__ == "__main__":
    main()
