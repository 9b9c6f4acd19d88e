"""The chain environment. Each step stays or moves on with probability 1/2, and the end gives a reward.

There is only one action. Source: Balle, Gomrokchi and Precup, "Differentially private policy evaluation" (ICML
2016, section 6), which does not state how episodes start. Here all episodes start in one state. An episode cannot
leave the last state. In the paper a step pays 1 if it reaches the last state. Here each step pays the mean of this
reward given the state before the step: one half in the second-to-last state, and 0 elsewhere. The values are the
same, and the rewards are not random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP

_STAY = 0.5


def chain(states: int = 40, horizon: int = 200, start: int = 0) -> TabularMDP:
    """Return the chain environment with `states` (at least 2) states and `horizon` steps per episode.

    >>> chain(3, horizon=2).policy_values([[0] * 3] * 2)[0]
    array([0.25, 0.75, 0.  ])
    """
    states = _checks.at_least("states", states, 2)
    transitions = _STAY * np.eye(states) + (1 - _STAY) * np.eye(states, k=1)
    transitions[-1, -1] = 1.0
    rewards = np.zeros((states, 1))
    rewards[-2] = 1 - _STAY
    return TabularMDP(transitions[:, None, :], rewards, horizon, start)


def chain_values(states: int = 40, discount: float = 0.99) -> NDArray[np.float64]:
    """Return the discounted values (S,) of the states of the chain without a horizon, for `discount` in [0, 1).

    Let d be the discount, p = 1/2 the probability to move, and j >= 1 the number of moves to the last state. The
    value is p/(1-dp) * (dp/(1-dp))^(j-1). It is 0 in the last state.

    >>> chain_values()[[0, 38, 39]]
    array([0.463024..., 0.990099..., 0.        ])
    """
    discount = _checks.discount(discount)
    steps = np.arange(_checks.at_least("states", states, 2) - 1, 0, -1)
    hold = 1 - discount * _STAY
    move = 1 - _STAY
    return np.append(move / hold * (discount * move / hold) ** (steps - 1), 0.0)
