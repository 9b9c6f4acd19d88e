"""The constants of policy gradients, which change how well an agent learns and never its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof.mechanisms import _checks
from dpproof.mechanisms.agents.network import LARGEST, size_of


@dataclass(frozen=True)
class GradientConstants:
    """Constants of policy gradients. None of them changes the guarantee. Choose them without looking at users' data.

    Attributes:
        hidden: the numbers of units of the hidden layers of the network.
        batches: the largest number of batches, at least 2, because no release holds the last batch.
        clip_norm: gradients are clipped to this L2 norm.
        learning_rate: the step size of Adam in the first batch, at most 10^6. It falls to 0 in the last one.
        momentum: Adam's factor for averages of gradients, in [0, 1).
        discount: the discount factor of later rewards, in [0, 1).
        value_weight: the weight of the error of the estimated gains in the gradient.

    >>> GradientConstants(clip_norm=0.0)
    Traceback (most recent call last):
    ValueError: clip_norm (0.0) must be a finite number above 0
    """

    hidden: tuple[int, ...] = (32,)
    batches: int = 50
    clip_norm: float = 0.05
    learning_rate: float = 0.05
    momentum: float = 0.9
    discount: float = 0.99
    value_weight: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, (tuple, list)):
            raise ValueError(
                f"hidden ({self.hidden!r:.80}) must be a tuple of numbers of units, such as (32,)"
            )
        self._set("hidden", tuple(_checks.at_least("hidden", width, 1) for width in self.hidden))
        self._set("batches", _checks.at_least("batches", self.batches, 2))
        for name in ("clip_norm", "learning_rate", "value_weight", "momentum", "discount"):
            self._set(name, _real(name, getattr(self, name)))
        for name in ("clip_norm", "learning_rate", "value_weight"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be a finite number above 0")
        if self.learning_rate > _FASTEST:
            raise ValueError(
                f"learning_rate ({self.learning_rate!r}) must be at most {_FASTEST:.0e}. The numbers of the network "
                "would leave the range of float32."
            )
        for name in ("momentum", "discount"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be in [0, 1)")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def widths(self, inputs: int, actions: int) -> tuple[int, ...]:
        """Return the widths of a network for observations of so many numbers.

        Raises:
            ValueError: the network would be too large.
        """
        found = (inputs, *self.hidden, actions)
        if size_of(found) > LARGEST:
            raise ValueError(
                f"hidden ({self.hidden}) makes a network of {size_of(found)} numbers, but at most {LARGEST} are "
                "possible. Use fewer units."
            )
        return found

    def every(self, episodes: int) -> int:
        """Return the number of users of a batch."""
        return -(-episodes // self.batches)


_FASTEST = 1e6


def _real(name: str, value: Any) -> float:
    """Return a number of Python or numpy as a float, which a journal can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} ({value!r:.80}) must be a real number")
    return float(value)
