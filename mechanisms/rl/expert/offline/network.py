"""Networks of linear layers and ReLU, optimisers, and sums of clipped gradients in one matrix product.

The gradient of one example with respect to a layer's weights is the outer product of two vectors: the derivative d
with respect to the layer's result, and the layer's input a. With respect to the biases it is d. So the squared norm
of the whole gradient is the sum over the layers of |d|^2 (|a|^2 + 1), and a weighted sum over a batch is one product of
matrices for each layer. Gradient descent and Adam are post-processing of noisy gradients.

Source: Goodfellow, arXiv:1510.01799v2 (square norms of the gradients of linear layers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch

from dpproof.mechanisms import _checks

LEAST = 2.0**-100
"""If clipping would multiply a gradient by less than this number, the example counts as 0.

Single precision represents this number, and its products with numbers above 2^-26, exactly.
"""


@dataclass(frozen=True)
class Layers:
    """The shape of a network of linear layers with ReLU.

    All parameters are in one flat tensor: the weights of the first layer, its biases, and so on.

    Attributes:
        sizes: the numbers of inputs, of units of each hidden layer, and of outputs.

    >>> Layers((4, 64, 2)).count
    450

    Raises:
        ValueError: fewer than two sizes, or one that is no positive integer.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the sizes."""
        if len(self.sizes) < 2:
            raise ValueError(
                f"sizes {self.sizes!r} must hold at least two numbers: first the inputs, last the outputs"
            )
        for size in self.sizes:
            _checks.at_least("a size", size, 1)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return sum((rows + 1) * columns for rows, columns in pairwise(self.sizes))

    def views(self, theta: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return weights (outputs, inputs) and biases (outputs,) of each layer, as views of the flat tensor."""
        found, at = [], 0
        for inputs, outputs in pairwise(self.sizes):
            end = at + inputs * outputs
            found.append((theta[at:end].view(outputs, inputs), theta[end : end + outputs]))
            at = end + outputs
        return found

    def initial(self, rng: np.random.Generator, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return random parameters before training, uniform in [-1, 1]/sqrt(number of inputs of the layer)."""
        parts = [
            rng.uniform(-1, 1, (inputs + 1) * outputs) / math.sqrt(inputs)
            for inputs, outputs in pairwise(self.sizes)
        ]
        return torch.as_tensor(np.concatenate(parts), dtype=dtype)

    def outputs(self, theta: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs of the network, a tensor (n, sizes[-1]). The inputs are a tensor (n, sizes[0])."""
        return self.forward(theta, inputs).outputs

    def forward(self, theta: torch.Tensor, inputs: torch.Tensor) -> Pass:
        """Return the outputs of the network, with all that a backward pass needs."""
        layers, activations = self.views(theta), [inputs]
        for weights, biases in layers[:-1]:
            activations.append(torch.addmm(biases, activations[-1], weights.T).clamp_min_(0))
        weights, biases = layers[-1]
        return Pass(layers, activations, torch.addmm(biases, activations[-1], weights.T))


@dataclass(frozen=True, eq=False)
class Pass:
    """The result of one forward pass: the weights, biases and input of each layer, and the outputs."""

    layers: list[tuple[torch.Tensor, torch.Tensor]]
    activations: list[torch.Tensor]
    outputs: torch.Tensor

    def signals(self, last: torch.Tensor) -> list[torch.Tensor]:
        """Return, for each layer, the derivatives of the losses with respect to the layer's result before ReLU.

        ``last`` (n, outputs) are the derivatives with respect to the network's outputs, one loss for each example.
        """
        found = [last]
        for (weights, _), activation in zip(self.layers[:0:-1], self.activations[:0:-1], strict=True):
            found.append((found[-1] @ weights) * (activation > 0))
        return found[::-1]

    def square_norms(self, signals: list[torch.Tensor]) -> torch.Tensor:
        """Return the squared norm of each example's gradient (n,), in double precision.

        The argument is the result of the method ``signals``. In single precision the square of a small derivative
        would be 0, even for a large input.
        """
        found = torch.zeros(len(self.outputs), dtype=torch.float64)
        for activation, signal in zip(self.activations, signals, strict=True):
            found += signal.double().square().sum(1) * (activation.square().sum(1) + 1)
        return found

    def weighted_sum(self, signals: list[torch.Tensor], factors: torch.Tensor) -> torch.Tensor:
        """Return the sum of the examples' gradients as a flat tensor. ``factors`` (n,) multiply the gradients.

        ``signals`` is the result of the method ``signals``.
        """
        parts = []
        for activation, signal in zip(self.activations, signals, strict=True):
            scaled = signal * factors[:, None]
            parts += [(scaled.T @ activation).reshape(-1), scaled.sum(0)]
        return torch.cat(parts)

    def clipped_sum(self, last: torch.Tensor, clip: float) -> torch.Tensor:
        """Return the sum of the examples' gradients, each clipped to norm at most `clip`, as a flat tensor.

        In single precision a clipped gradient may exceed `clip` by a few units in the last place. An example counts
        as 0 if its numbers are too large for single precision. It also counts as 0 if it would be multiplied by
        less than `LEAST`.

        >>> layers = Layers((2, 3, 1))
        >>> theta = layers.initial(np.random.default_rng(0), torch.float64)
        >>> one = layers.forward(theta, torch.ones(1, 2, dtype=torch.float64))
        >>> float(one.clipped_sum(torch.full((1, 1), 50.0, dtype=torch.float64), 2.0).norm())
        2.0
        """
        signals = self.signals(last)
        factors = clip / self.square_norms(signals).sqrt_().clamp_min_(clip)
        kept = factors >= LEAST
        if bool(kept.all()):
            return self.weighted_sum(signals, factors.to(last.dtype))
        some = Pass(self.layers, [a[kept] for a in self.activations], self.outputs[kept])
        return some.weighted_sum([d[kept] for d in signals], factors[kept].to(last.dtype))


class Optimizer(Protocol):
    """Interface of optimisers: rules that change parameters by a gradient, in place."""

    @property
    def slots(self) -> int:
        """Number of tensors of the parameters' size that the optimiser stores. They are 0 at the beginning."""
        ...

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """Change the parameters `theta` and the stored tensors `slots` (slots, parameters) in place.

        `step` counts from 1.
        """
        ...


@dataclass(frozen=True)
class SGD:
    """The optimiser that takes plain gradient steps, as printed in Algorithms 3 and 4.

    >>> theta = torch.ones(1)
    >>> SGD(0.5).update(theta, torch.ones(1), torch.zeros(0, 1), 1)
    >>> float(theta)
    0.5
    """

    learning_rate: float
    slots = 0

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """Change `theta` in place, by minus the learning rate times `gradient`."""
        theta.add_(gradient, alpha=-self.learning_rate)


@dataclass(frozen=True)
class Adam:
    """The optimiser Adam of Kingma and Ba, arXiv:1412.6980v9, Algorithm 1, with their constants."""

    learning_rate: float
    slots = 2

    def update(self, theta: torch.Tensor, gradient: torch.Tensor, slots: torch.Tensor, step: int) -> None:
        """Change `theta` and the state `slots` of the optimiser, of shape (2, parameters), in place.

        `step` counts from 1.
        """
        mean, square = slots
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        size = (square / (1 - 0.999**step)).sqrt_().add_(1e-8)
        theta.addcdiv_(mean, size, value=-self.learning_rate / (1 - 0.9**step))
