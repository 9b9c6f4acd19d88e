"""The RiverSwim environment. A swimmer earns 1 at the upper end of a river, and 0.005 at the lower end.

The states are numbered from the lower end, where episodes start. Action `LEFT` always drifts one state down.
Action `RIGHT` swims against the current: it may move up, stay, or fall back.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP

LEFT: Final = 0
RIGHT: Final = 1


def river_swim(states: int = 6, horizon: int = 20) -> TabularMDP:
    """Return the RiverSwim environment with `states` (at least 3) states and `horizon` steps per episode.

    With the defaults, the optimal value of an episode is 3.397. The policy that always swims right has nearly this
    value.

    >>> river_swim().optimal_values()[0, 0]
    np.float64(3.397263959)
    """
    states = _checks.at_least("states", states, 3)
    transitions = np.zeros((states, 2, states))
    for s in range(states):
        transitions[s, LEFT, max(s - 1, 0)] = 1.0
    transitions[0, RIGHT, :2] = 0.4, 0.6
    for s in range(1, states - 1):
        transitions[s, RIGHT, s - 1 : s + 2] = 0.05, 0.6, 0.35
    transitions[-1, RIGHT, -2:] = 0.4, 0.6
    rewards = np.zeros((states, 2))
    rewards[0, LEFT], rewards[-1, RIGHT] = 0.005, 1.0
    return TabularMDP(transitions, rewards, horizon)
