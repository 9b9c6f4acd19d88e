"""Gymnasium environments: RiverSwim, the chain and HIV treatment. They need the extra `environments`.

Importing this module registers the environments. Gymnasium imports the module if its name is part of the id:
`gymnasium.make("dpproof.mechanisms.environments.gym:dpproof/RiverSwim-v0")`, and likewise `dpproof/Chain-v0`
and `dpproof/HIVTreatment-v0`. Gymnasium before version 1.0 calls `register` through the entry-point group
`gymnasium.envs`, and so do programs that still read this group.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch
from dpproof.mechanisms.environments.chain import chain
from dpproof.mechanisms.environments.hiv import ADAMS_2004, ERNST_2006, EXPERTS, HIVTreatment
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP

_SETTINGS = {"experts": EXPERTS, "ernst-2006": ERNST_2006, "adams-2004": ADAMS_2004}


class HIVTreatmentEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc] # gymnasium ships no types here
    """The treatment of one HIV patient, with Gymnasium's interface. Observations are log10 concentrations.

    >>> env = HIVTreatmentEnv(EXPERTS)
    >>> env.reset(seed=0)[0].round(3).tolist()[:2], env.step(3)[2:4]
    ([5.214, 0.699], (False, False))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (the base class asks for a dict)

    def __init__(self, treatment: HIVTreatment) -> None:
        self.treatment = treatment
        self.observation_space = Box(-10.0, 12.0, (6,), np.float32)
        self.action_space = Discrete(4)
        self._batch: Batch | None = None
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a new episode; return the first observation and an empty dict. `options` is not used."""
        super().reset(seed=seed)
        self._batch, self._steps = self.treatment.begin(1, self.np_random), 0
        return self._batch.observations()[0], {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Give the drugs of `action`; return the observation, the reward, terminated, truncated and an empty dict.

        Raises:
            ValueError: the action is not one of 0, ..., 3.
            RuntimeError: the episode has not begun, or is over.
        """
        if not self.action_space.contains(action):
            raise ValueError(f"action ({action!r}) must be one of 0, ..., 3")
        if self._batch is None:
            raise RuntimeError("No episode is running. Call reset before step.")
        seen, rewards, _ = self._batch.step(np.array([action]))
        self._steps += 1
        cut = self._steps >= self.treatment.horizon
        if cut:
            self._batch = None
        return seen[0], float(rewards[0]), False, cut, {}


def make_hiv_treatment(setting: str = "experts") -> HIVTreatmentEnv:
    """Return the environment of HIV treatment with one of three settings from the literature.

    The settings are `experts` (50 steps of 20 days), `ernst-2006` and `adams-2004`.

    Raises:
        ValueError: for an unknown setting.
    """
    if setting not in _SETTINGS:
        raise ValueError(f"setting ({setting!r}) must be one of: {', '.join(_SETTINGS)}")
    return HIVTreatmentEnv(_SETTINGS[setting])


_NAMESPACE = "dpproof"
_ENTRY_POINTS = {
    "RiverSwim-v0": "make_river_swim",
    "Chain-v0": "make_chain",
    "HIVTreatment-v0": "make_hiv_treatment",
}


class TabularEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc] # gymnasium ships no types here
    """A `TabularMDP` with Gymnasium's interface. States and actions are integers (`Discrete` spaces).

    An episode terminates in a state that it can never leave and in which no action pays a reward. It is truncated
    after `mdp.horizon` steps. Nothing is rendered.

    >>> env = TabularEnv(river_swim(horizon=2))
    >>> env.reset(seed=0)[0], env.step(0), env.step(0)[1:4]
    (0, (0, 0.005, False, False, {}), (0.005, False, True))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (the base class asks for a dict)

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp
        self.observation_space = Discrete(mdp.states)
        self.action_space = Discrete(mdp.actions)
        stays = mdp.transitions[range(mdp.states), :, range(mdp.states)] == 1
        self._ends = (stays & (mdp.rewards == 0)).all(axis=1)
        self._sums = mdp.transitions.cumsum(axis=2)
        self._last = mdp.states - 1 - (mdp.transitions[:, :, ::-1] > 0).argmax(axis=2)
        self._state = -1
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start a new episode; return the start state and an empty dict. `options` is not used."""
        super().reset(seed=seed)
        self._state, self._steps = self.mdp.start, 0
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take `action`; return the new state, the reward, terminated, truncated and an empty dict.

        Raises:
            ValueError: the action is not one of 0, ..., A-1.
            RuntimeError: the episode has not begun, or is over.
        """
        if not self.action_space.contains(action):
            raise ValueError(f"action ({action!r}) must be one of 0, ..., {self.mdp.actions - 1}")
        if self._state < 0:
            raise RuntimeError("No episode is running. Call reset before step.")
        cell = self._state, int(action)
        drawn = np.searchsorted(self._sums[cell], self.np_random.random(), side="right")
        self._state = int(min(drawn, self._last[cell]))
        self._steps += 1
        ended, cut = bool(self._ends[self._state]), self._steps >= self.mdp.horizon
        reward, after = float(self.mdp.rewards[cell]), self._state
        if ended or cut:
            self._state = -1
        return after, reward, ended, cut, {}


def make_river_swim(states: int = 6, horizon: int = 20) -> TabularEnv:
    """Return the environment of `river_swim` with Gymnasium's interface."""
    return TabularEnv(river_swim(states, horizon))


def make_chain(states: int = 40, horizon: int = 200, start: int = 0) -> TabularEnv:
    """Return the environment of `chain` with Gymnasium's interface."""
    return TabularEnv(chain(states, horizon, start))


def register() -> None:
    """Register the environments with Gymnasium. A second call changes nothing.

    >>> gymnasium.make("dpproof/RiverSwim-v0").unwrapped.mdp.horizon
    20
    """
    for name, function in _ENTRY_POINTS.items():
        if f"{_NAMESPACE}/{name}" not in gymnasium.registry:
            gymnasium.register(f"{_NAMESPACE}/{name}", entry_point=f"{__name__}:{function}")


register()
