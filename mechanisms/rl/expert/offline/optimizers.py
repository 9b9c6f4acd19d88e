"""What is done with a gradient: plain descent, or Adam. Both are post-processing of noisy gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch


class Optimizer(Protocol):
    """A rule for changing parameters in place."""

    @property
    def slots(self) -> int:
        """How many tensors of the parameters' size it keeps; they begin as 0."""
        ...

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """Change `theta` and `slots` (slots, parameters) in place; `step` counts from 1."""
        ...


@dataclass(frozen=True)
class SGD:
    """Against the gradient, times the learning rate: what Algorithms 3 and 4 print.

    >>> theta = torch.ones(1)
    >>> SGD(0.5).update(theta, torch.ones(1), torch.zeros(0, 1), 1)
    >>> float(theta)
    0.5
    """

    learning_rate: float
    slots = 0

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """See `Optimizer.update`."""
        theta.add_(gradient, alpha=-self.learning_rate)


@dataclass(frozen=True)
class Adam:
    """Kingma and Ba, arXiv:1412.6980v9, Algorithm 1, with their constants."""

    learning_rate: float
    slots = 2

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """See `Optimizer.update`."""
        mean, square = slots
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        size = (square / (1 - 0.999**step)).sqrt_().add_(1e-8)
        theta.addcdiv_(mean, size, value=-self.learning_rate / (1 - 0.9**step))
