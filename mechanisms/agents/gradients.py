"""The gradient that one user's trajectory adds to a policy's update: REINFORCE with an estimate of gains to come.

Source: Williams, Machine Learning 8 (1992); Sutton and Barto, Reinforcement Learning (2018), section 13.4. The
network is small, so its derivatives are written out with numpy. A test compares them with those of torch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpproof.mechanisms.agents.learner import Floats, Path
from dpproof.mechanisms.agents.network import softmax, split


def trajectory_gradient(
    numbers: Floats, widths: Sequence[int], path: Path, discount: float, value_weight: float
) -> Floats:
    """Return the gradient of the loss of one trajectory, averaged over its steps, with respect to a network's numbers.

    The loss of a step is -ln p(action) (g - v) + w (g - v)^2/2, where v is the network's estimate of the gains to
    come, and g is 1 - discount times the discounted sum of the gains that came. The factors g - v and g count as
    constants in the first term and in the second one. After an episode that was cut off, the estimate for its last
    observation stands for the gains that did not come.

    Args:
        numbers: float64 array (d,), the numbers of the network.
        widths: the widths of the network.
        path: the trajectory, with n steps. A step after the end would have gain 0.
        discount: the discount factor.
        value_weight: the weight w of the error of the estimate.

    >>> path = Path(np.array([[0.5], [np.nan]]), np.array([1]), np.array([1.0]))
    >>> trajectory_gradient(np.zeros(6), (1, 2), path, discount=0.5, value_weight=1.0).tolist()
    [0.125, -0.125, -0.25, 0.25, -0.25, -0.5]
    """
    layers, steps = list(split(numbers, widths)), len(path.actions)
    inputs = [np.nan_to_num(path.states)]
    for matrix, offsets in layers[:-1]:
        inputs.append(np.tanh(inputs[-1] @ matrix + offsets))
    outputs = inputs[-1] @ layers[-1][0] + layers[-1][1]
    rest = 0.0 if np.isnan(path.states[-1]).any() else float(outputs[-1, -1])
    missed = gains_to_come(path.gains, rest, discount) - outputs[:-1, -1]
    errors = np.empty((steps, outputs.shape[1]))
    errors[:, :-1] = softmax(outputs[:-1, :-1])
    errors[np.arange(steps), path.actions] -= 1
    errors[:, :-1] *= missed[:, None]
    errors[:, -1] = -value_weight * missed
    return _backwards(layers, [one[:-1] for one in inputs], errors / steps)


def _backwards(layers: Sequence[tuple[Floats, Floats]], inputs: Sequence[Floats], errors: Floats) -> Floats:
    """Return the derivatives with respect to all numbers, given those with respect to the outputs (n, outputs)."""
    found: list[Floats] = []
    for (matrix, _), seen in zip(reversed(layers), reversed(inputs), strict=True):
        found += [errors.sum(axis=0), (seen.T @ errors).ravel()]
        errors = (errors @ matrix.T) * (1 - seen**2)  # seen = tanh(...), whose derivative is 1 - tanh^2
    return np.concatenate(found[::-1])


def gains_to_come(gains: Floats, rest: float, discount: float) -> Floats:
    """Return for each step 1 - discount times the discounted sum of the gains from this step on.

    Args:
        gains: the gains of the steps.
        rest: this number for what would come after the last step.
        discount: the discount factor.

    >>> gains_to_come(np.array([1.0, 1.0]), 0.0, 0.5).tolist()
    [0.75, 0.5]
    """
    found, total = [], rest
    for gain in gains[::-1].tolist():
        total = (1 - discount) * gain + discount * total
        found.append(total)
    return np.array(found[::-1])
