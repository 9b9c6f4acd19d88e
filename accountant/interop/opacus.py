"""An accountant for Opacus. After importing this module, use ``PrivacyEngine(accountant="dpproof")``.

This module needs the extra ``torch``: ``pip install 'dpproof[torch]'``.
"""

from __future__ import annotations

from typing import Any

from opacus.accountants import IAccountant
from opacus.accountants.registry import register_accountant

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.privacy_loss.notion import PrivacyLoss


class CertifiedOpacusAccountant(IAccountant):  # type: ignore[misc] # Opacus's interface is untyped
    """An Opacus accountant with certified results, for Poisson-sampled Gaussian steps under ``add-remove``.

    The result assumes that each step divides by a public number, samples at a public rate, and clips the gradient of
    each record by itself. Opacus 1.6.0 computes the first two from the number of records. See docs/how-to/training.md
    and docs/notes/opacus_divisor.md.

    ``history`` holds triples (noise_multiplier, sample_rate, steps), as for Opacus's own accountants.
    """

    def __init__(self) -> None:
        super().__init__()

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one training step with this noise multiplier and this sampling rate."""
        done = self.history[-1] if self.history else None
        if done and done[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, done[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def account(self) -> PrivacyLoss:
        """Return the guarantee of all steps recorded so far.

        Raises:
            ValueError: if no recorded step can use a record.
        """
        parts: list[tuple[DominatingPair, int]] = [
            (SubsampledGaussian(rate, noise), steps) for noise, rate, steps in self.history if rate and steps
        ]
        if not parts:
            raise ValueError(
                "history must hold at least one step at a sample_rate above 0. Train the model first."
            )
        return PrivacyLoss([parts, [(pair.reversed(), count) for pair, count in parts]])

    def epsilon(self, delta: float) -> Bound:
        """Return a lower and an upper bound on epsilon at ``delta``."""
        return self.account().epsilon(delta)

    def get_epsilon(self, delta: float, *_: Any, **__: Any) -> float:
        """Return the upper bound on epsilon at ``delta``."""
        return self.epsilon(delta).upper

    def __len__(self) -> int:
        """Return the number of steps counted."""
        return sum(int(steps) for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name under which Opacus finds this accountant."""
        return "dpproof"


register_accountant(CertifiedOpacusAccountant.mechanism(), CertifiedOpacusAccountant, force=True)
