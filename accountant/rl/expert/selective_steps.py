"""Privacy loss of one step of selective DP-SGD for each way to sample batches, and its composition.

In each step a random coin decides whether the step is noisy. The composition depends on who sees this coin. A
step with a visible coin has a moment-generating function, so it can be composed fast. Proofs:
docs/notes/expert_accounting.md, sections 1 to 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import BestOf, Enclosed, Profile
from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Characteristic, DominatingPair, Floats, Tilted
from dpproof.accountant.pairs.fixed_size import FixedSize
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.pairs.subsampled import VisibleChoice, visible_coin
from dpproof.accountant.privacy_loss.notion import composed
from dpproof.accountant.published import published

_ULP = 2.0**-52


@dataclass(frozen=True)
class CoinedStep(VisibleChoice):
    """The dominating pair of a step that is taken with probability p. Everybody sees whether it is taken.

    A step that is not taken has the privacy loss 0. So the loss has the moment-generating function 1 - p + p
    M, where M is that of a step that is taken (docs/notes/expert_accounting.md, section 1).

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
        """See ``DominatingPair.characteristic``. It is None if none is known for the step that is taken."""
        (weight, step), *_ = self.branches
        inner = step.characteristic()
        return None if inner is None else _Coined(inner, float(exact(weight)))


def coined_step(step: DominatingPair, probability: Number) -> CoinedStep:
    """Return the dominating pair of a step that is taken with ``probability``.

    Everybody sees whether the step is taken. If not, the output does not depend on the data.

    Raises:
        ValueError: unless 0 < probability <= 1.
    """
    return CoinedStep(visible_coin(step, probability).branches)


@dataclass(frozen=True)
class _Coined:
    """The function 1 - p + p M(z). ``share`` is p rounded to the nearest double."""

    step: Characteristic
    share: float

    def tilted(self, c: float) -> Tilted:
        """See ``Characteristic.tilted``. The error of log(1 - p + p M) is at most that of log M."""
        inner = self.step.tilted(c)
        value, weight = _log_mixed(inner.log_mgf, self.share)
        mean = weight * inner.mean
        spread = weight * (inner.variance + inner.mean**2) - mean**2

        def uniform() -> tuple[Floats, Floats]:
            weights, widths = inner.uniform()
            return weights * max(weight * (1 - _doubt(value, inner)), 0.0), widths

        return Tilted(value, _error(value, inner), mean, max(spread, 0.0), uniform)

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """See ``Characteristic.minus_one``.

        It is the value for the step that is taken, times the weight p M/(1 - p + p M).
        """
        inner = self.step.tilted(c)
        value, weight = _log_mixed(inner.log_mgf, self.share)
        values, errors = self.step.minus_one(c, step, count)
        return weight * values, 1.01 * weight * (errors + _doubt(value, inner) * np.abs(values))


def _log_mixed(log_mgf: float, share: float) -> tuple[float, float]:
    """Return log(1 - p + p M), without cancellation near M = 1, and p M/(1 - p + p M)."""
    if log_mgf > 30:
        value = log_mgf + math.log(share) + math.log1p((1 - share) / share * math.exp(-log_mgf))
    else:
        value = math.log1p(share * math.expm1(log_mgf))
    return value, min(share * math.exp(log_mgf - value), 1.0)


def _error(value: float, inner: Tilted) -> float:
    """Return the error of the step's own value plus 32 ulp of every term: elementary functions at 4 ulp each."""
    size = abs(value) + (abs(inner.log_mgf) + 750.0 if inner.log_mgf > 30 else 0.0)
    return 1.01 * inner.log_mgf_error + 32 * _ULP * size


def _doubt(value: float, inner: Tilted) -> float:
    """Return the relative error of the weight exp(log p + log M - log(1 - p + p M)), M at least 1."""
    return (
        2 * inner.log_mgf_error + 2 * _error(value, inner) + 8 * _ULP * (abs(inner.log_mgf) + abs(value) + 8)
    )


class _Training(Protocol):
    @property
    def sampling_rate(self) -> float: ...
    @property
    def branch_probability(self) -> float: ...
    @property
    def noise_multiplier(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def coin(self) -> str: ...
    @property
    def noisy_steps(self) -> int: ...


@dataclass(frozen=True)
class Kind:
    """A kind of noisy step of selective DP-SGD: how its batch is drawn, and which data sets are neighbours.

    Attributes:
        pairs: returns the dominating pairs of a step, given the sampling rate and the noise multiplier.
        attained: a description of the neighbours that attain the pairs; None if none are known.
        moved: the largest change of a batch's sum by one expert, in units of the clipping norm, if every
            expert is in the batch.
    """

    pairs: Callable[[float, float], tuple[DominatingPair, ...]]
    attained: str | None
    moved: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Composed:
    """The guarantee of all steps of selective DP-SGD together.

    Attributes:
        guarantee: the privacy profile.
        statement: the name of the statement that proves the guarantee.
        pair: a description of the neighbours that attain the guarantee; None if none are known.
        notes: the assumptions and remarks that belong to the guarantee.
    """

    guarantee: Profile
    statement: str
    pair: str | None
    notes: tuple[str, ...]


def _both(pair: DominatingPair) -> tuple[DominatingPair, ...]:
    return (pair, pair.reversed())


def _poisson(rate: float, noise: float) -> tuple[DominatingPair, ...]:

    return _both(SubsampledGaussian(rate, noise))


def _poisson_replaced(rate: float, noise: float) -> tuple[DominatingPair, ...]:

    return (ReplacedGaussian(rate, noise),)


def _exact(rate: float, noise: float) -> tuple[DominatingPair, ...]:
    """Return the pairs if an expert replaces another one: the sum moves by 2, which is the same as half the noise."""
    return _both(SubsampledGaussian(rate, noise / 2))


def _exact_replaced(rate: float, noise: float) -> tuple[DominatingPair, ...]:

    return (FixedSize(SubsampledGaussian(1.0, noise / 2), rate),)


_SAME = "an expert whose gradients all equal one of the clipping norm"
_LARGER = "exactly b experts, whatever their number: the rate is at least b/m for the larger of the two sets"
STEPS: Mapping[tuple[str, Adjacency], Kind] = {
    ("poisson", Adjacency.EXPERT): Kind(
        _poisson, f"{_SAME}, all others' being zero, against no such expert", 1
    ),
    ("poisson", Adjacency.REPLACE): Kind(
        _poisson_replaced,
        f"{_SAME}, or its opposite, all others' being zero",
        2,
    ),
    ("exact", Adjacency.EXPERT): Kind(
        _exact,
        f"{_SAME}, all others' being its opposite, against no such expert",
        2,
        (_LARGER,),
    ),
    ("exact", Adjacency.REPLACE): Kind(_exact_replaced, None, 2),
}
"""The kind of a noisy step for each way to draw a batch and each neighbouring relation."""

_PROVED = "expert.training"


def _visible(training: _Training, kind: Kind) -> Composed:
    """Return the composition with visible coins: each step is, with probability p, a noisy step."""
    pairs = kind.pairs(training.sampling_rate, training.noise_multiplier)
    steps = tuple(coined_step(pair, training.branch_probability) for pair in pairs)
    return Composed(composed(training.steps, *steps), _PROVED, kind.attained, kind.notes)


def _hidden(training: _Training, kind: Kind) -> Composed:
    """Return the composition with hidden coins. It is post-processing of visible coins, so at least as private."""
    seen = _visible(training, kind)
    return Composed(seen.guarantee, _PROVED, None, (*kind.notes, _AS_VISIBLE))


_AS_VISIBLE = (
    "the upper end is that of a visible coin: the others' sum, where they agree, shows the kind of step"
)


def _scheduled(training: _Training, kind: Kind) -> Composed:
    pairs = kind.pairs(training.sampling_rate, training.noise_multiplier)
    count = f"a public schedule with exactly {training.noisy_steps} noisy steps"
    return Composed(composed(training.noisy_steps, *pairs), _PROVED, kind.attained, (*kind.notes, count))


def printed_rate(probability: float, rate: float) -> tuple[float, float]:
    """Return bounds on the paper's sampling rate of a step: the product of ``probability`` and ``rate``.

    ``probability`` is the probability that a step is noisy. ``rate`` is the probability that an expert is in
    the batch of a noisy step.

    >>> printed_rate(0.5, 0.25)
    (0.125, 0.125)
    """
    with precision(128):
        values = {"x": arb_of(exact(probability)), "b": arb_of(exact(rate)), "m": arb_of(exact(1))}
        product = published("expert.rate").formula.arb(**values)
        return round_down(product), round_up(product)


def _independent(training: _Training, kind: Kind) -> Composed:
    """Return the composition if every step is noisy and the two coins act as one with the product of their rates."""
    ends = printed_rate(training.branch_probability, training.sampling_rate)
    less, more = (composed(training.steps, *kind.pairs(rate, training.noise_multiplier)) for rate in ends)
    found = more if ends[0] == ends[1] else Enclosed(less, more)
    return Composed(found, _PROVED, kind.attained, kind.notes)


COINS: Mapping[str, Callable[[_Training, Kind], Composed]] = {
    "visible": _visible,
    "hidden": _hidden,
    "independent": _independent,
    "fixed": _scheduled,
}
"""The functions that compose all steps, by the value of ``coin``, which says who sees which steps are noisy."""


def composed_steps(training: _Training, kind: Kind) -> Composed:
    """Return the guarantee of all steps of ``training``, if its noisy steps are of the given ``kind``.

    >>> from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
    >>> training = SelectiveDPSGDParameters(0.1, 0.5, 2.0, 100, coin="fixed")
    >>> composed_steps(training, STEPS["poisson", Adjacency.EXPERT]).notes
    ('a public schedule with exactly 50 noisy steps',)
    """
    if 0 in (training.sampling_rate, training.branch_probability, training.steps):
        return Composed(PureDP(0), _PROVED, kind.attained, (*kind.notes, "no step reads experts' data"))
    found = COINS[training.coin](training, kind)
    if training.noise_multiplier >= _LITTLE:
        return found
    return replace(found, guarantee=BestOf((found.guarantee, _unsampled(training, kind))))


_LITTLE = 0.02
"""Below this noise, losses are too large for a grid. The bound without sampling and coins has a closed form."""


def _unsampled(training: _Training, kind: Kind) -> Profile:
    """Return the composition if every step moves by an expert's largest change. Sampling reveals no more."""
    with precision(128):
        moved = arb_of(exact(kind.moved) / exact(training.noise_multiplier))
        return GaussianDP(exact(round_up(moved * flint.arb(training.steps).sqrt())))
