"""Which data a step of selective DP-SGD reads, by the accountant's word for who sees the coin.

The gradient of a step is `private` times (the clipped sum of a private batch) / b, plus `plain` times the
mean gradient of released transitions, plus, if `noisy`, noise of deviation sigma C / b. The experts of a
private batch are drawn at `rate` times the accounted rate. b and the rate are public numbers of the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters


@dataclass(frozen=True)
class Branch:
    """What one step reads; see the module."""

    private: bool
    plain: float
    noisy: bool
    rate: float = 1.0


PRIVATE: Final = Branch(private=True, plain=0.0, noisy=True)
PLAIN: Final = Branch(private=False, plain=1.0, noisy=False)
COVERED: Final = Branch(private=False, plain=1.0, noisy=True)


def _visible(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    return PRIVATE if rng.random() < training.branch_probability else PLAIN


def _hidden(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """A plain step has the noise of a private one."""
    return PRIVATE if rng.random() < training.branch_probability else COVERED


def _fixed(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """Exactly `noisy_steps` of all steps are private, spread evenly."""
    begun = noisy_steps_begun(training, step), noisy_steps_begun(training, step + 1)
    return PRIVATE if begun[1] > begun[0] else PLAIN


def _independent(training: SelectiveDPSGDParameters, step: int, rng: np.random.Generator) -> Branch:
    """Every step reads both, and each expert has a coin of its own: of chance p b/m."""
    p = training.branch_probability
    return Branch(private=True, plain=1 - p, noisy=True, rate=p)


COINS: Final[Mapping[str, Callable[[SelectiveDPSGDParameters, int, np.random.Generator], Branch]]] = {
    "visible": _visible,
    "hidden": _hidden,
    "fixed": _fixed,
    "independent": _independent,
}
"""(training, number of the step from 0, generator) -> what the step reads."""


def noisy_steps_begun(training: SelectiveDPSGDParameters, steps: int) -> int:
    """How many of the first `steps` steps of a fixed schedule are private.

    >>> half = SelectiveDPSGDParameters(0.1, 0.5, 1.0, 10, coin="fixed")
    >>> [noisy_steps_begun(half, steps) for steps in range(11)]
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    """
    return steps * training.noisy_steps // training.steps if training.steps else 0
