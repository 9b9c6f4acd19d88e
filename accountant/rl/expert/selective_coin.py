"""A step that a visible coin turns on, with the moment-generating function that lets it be composed fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.pairs.base import Characteristic, DominatingPair, Floats, Tilted
from dpproof.accountant.pairs.visible_coin import VisibleChoice, visible_coin

__all__ = ["CoinedStep", "coined_step"]

_ULP = 2.0**-52


@dataclass(frozen=True)
class CoinedStep(VisibleChoice):
    """``visible_coin`` whose moment-generating function is known wherever the step's own is.

    With M that of the step and p the coin's probability it is 1 - p + p M: the coin is shown, and a step that
    it leaves out has the loss 0 (docs/notes/expert_accounting.md, section 1).

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> from dpproof.accountant.privacy_loss.notion import PrivacyLoss
    >>> step = coined_step(SubsampledGaussian(0.01, 1.0), 0.5)
    >>> PrivacyLoss([[(step, 1000)]]).epsilon("1e-6").upper
    1.581936
    """

    def reversed(self) -> CoinedStep:
        """See ``DominatingPair.reversed``."""
        return CoinedStep(super().reversed().branches)

    def characteristic(self) -> Characteristic | None:  # type: ignore[override] # the base knows of none
        """See ``DominatingPair.characteristic``; None where the step has none."""
        (weight, step), *_ = self.branches
        inner = step.characteristic()
        return None if inner is None else _Coined(inner, float(exact(weight)))


def coined_step(step: DominatingPair, probability: Number) -> CoinedStep:
    """``step`` with that probability, otherwise nothing, and the coin is shown.

    Raises:
        ValueError: unless 0 < probability <= 1.
    """
    return CoinedStep(visible_coin(step, probability).branches)


@dataclass(frozen=True)
class _Coined:
    """1 - p + p M(z); ``share`` is p to the nearest double, a relative error of half an ulp."""

    step: Characteristic
    share: float

    def tilted(self, c: float) -> Tilted:
        """See ``Characteristic.tilted``; log(1 - p + p M) moves by no more than log M does."""
        inner = self.step.tilted(c)
        value, weight = _log_mixed(inner.log_mgf, self.share)
        mean = weight * inner.mean
        spread = weight * (inner.variance + inner.mean**2) - mean**2

        def uniform() -> tuple[Floats, Floats]:
            weights, widths = inner.uniform()
            return weights * max(weight * (1 - _doubt(value, inner)), 0.0), widths

        return Tilted(value, _error(value, inner), mean, max(spread, 0.0), uniform)

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """See ``Characteristic.minus_one``: the step's own, times the weight p M/(1 - p + p M) of a step."""
        inner = self.step.tilted(c)
        value, weight = _log_mixed(inner.log_mgf, self.share)
        values, errors = self.step.minus_one(c, step, count)
        return weight * values, 1.01 * weight * (errors + _doubt(value, inner) * np.abs(values))


def _log_mixed(log_mgf: float, share: float) -> tuple[float, float]:
    """log(1 - p + p M), without cancellation near M = 1, and p M/(1 - p + p M)."""
    if log_mgf > 30:
        value = log_mgf + math.log(share) + math.log1p((1 - share) / share * math.exp(-log_mgf))
    else:
        value = math.log1p(share * math.expm1(log_mgf))
    return value, min(share * math.exp(log_mgf - value), 1.0)


def _error(value: float, inner: Tilted) -> float:
    """That of the step's own, and 32 ulp of every term: elementary functions at 4 ulp each."""
    size = abs(value) + (abs(inner.log_mgf) + 750.0 if inner.log_mgf > 30 else 0.0)
    return 1.01 * inner.log_mgf_error + 32 * _ULP * size


def _doubt(value: float, inner: Tilted) -> float:
    """The relative error of the weight exp(log p + log M - log(1 - p + p M)), M at least 1."""
    return (
        2 * inner.log_mgf_error + 2 * _error(value, inner) + 8 * _ULP * (abs(inner.log_mgf) + abs(value) + 8)
    )
