"""The gradient that one user's trajectory adds to a policy's update. It is computed by torch, which is an extra."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.agents.learner import Floats, Path
from dpproof.mechanisms.agents.network import Network, split

if TYPE_CHECKING:
    from torch import Tensor


def check_torch() -> None:
    """Raise an error if torch is not installed.

    Raises:
        ModuleNotFoundError: torch is not installed; the message names the command that installs it.
    """
    if find_spec("torch") is None:
        raise ModuleNotFoundError("policy-gradient needs torch: pip install 'dpproof[torch]'", name="torch")


def trajectory_gradient(
    numbers: Floats, widths: Sequence[int], path: Path, discount: float, value_weight: float
) -> Floats:
    """Return the gradient of the loss of one trajectory, averaged over its steps, with respect to a network's numbers.

    The loss of a step is -ln p(action) (g - v) + w (g - v)^2/2, where v is the network's estimate of the gains to
    come, and g is 1 - discount times the discounted sum of the gains that came. The factor g - v of the first term is
    a constant. After an episode that was cut off, the estimate for its last observation stands for the gains to come.

    Args:
        numbers: float64 array (d,), the numbers of the network.
        widths: the widths of the network.
        path: the trajectory, with gains that are 0 after the end of an episode.
        discount: the discount factor.
        value_weight: the weight w of the error of the estimate.
    """
    import torch  # an extra

    leaf = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    outputs = _forward(leaf, widths, torch.from_numpy(path.states[:-1]))
    chances = torch.log_softmax(outputs[:, :-1], dim=1)
    chosen = chances[torch.arange(len(path.actions)), torch.from_numpy(path.actions)]
    came = torch.from_numpy(gains_to_come(numbers, widths, path, discount))
    missed = came - outputs[:, -1]
    loss = (value_weight / 2 * missed**2 - chosen * missed.detach()).mean()
    loss.backward()  # type: ignore[no-untyped-call] # torch has no type here
    found: Floats = np.zeros_like(numbers) if leaf.grad is None else leaf.grad.numpy()
    return found


def _forward(numbers: Tensor, widths: Sequence[int], seen: Tensor) -> Tensor:
    import torch  # an extra

    *hidden, (matrix, offsets) = split(numbers, widths)
    for weights, shifts in hidden:
        seen = torch.tanh(seen @ weights + shifts)
    return seen @ matrix + offsets


def gains_to_come(numbers: Floats, widths: Sequence[int], path: Path, discount: float) -> Floats:
    """Return for each step 1 - discount times the discounted sum of the gains from this step on.

    >>> ended = Path(np.array([[0.0], [0.0], [np.nan]]), np.array([0, 0]), np.array([1.0, 1.0]))
    >>> gains_to_come(np.zeros(6), (1, 1, 1), ended, 0.5).tolist()
    [0.75, 0.5]
    """
    last = path.states[-1]
    network = Network(tuple(widths), numbers.astype(np.float32), len(path.actions))
    sum_ = 0.0 if np.isnan(last).any() else float(network.outputs(last)[-1])
    found = np.empty(len(path.gains))
    for step in range(len(found) - 1, -1, -1):
        sum_ = (1 - discount) * float(path.gains[step]) + discount * sum_
        found[step] = sum_
    return found
