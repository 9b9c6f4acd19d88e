"""HIV treatment under Gymnasium's interface; needs the extra `environments`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Batch
from dpproof.mechanisms.environments.hiv import ADAMS_2004, ERNST_2006, EXPERTS, HIVTreatment

__all__ = ["HIVTreatmentEnv", "make_hiv_treatment"]

_SETTINGS = {"experts": EXPERTS, "ernst-2006": ERNST_2006, "adams-2004": ADAMS_2004}


class HIVTreatmentEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc] # gymnasium ships no types here
    """One patient of `HIVTreatment`: log10 concentrations are seen, an episode is cut after `horizon` steps.

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
        """Return to the first state; `options` has no meaning here."""
        super().reset(seed=seed)
        self._batch, self._steps = self.treatment.begin(1, self.np_random), 0
        return self._batch.observations()[0], {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Give the drugs of `action`; the new observation, the reward, terminated, truncated, an empty dict.

        Raises:
            ValueError: the action is not one of 0, ..., 3.
            RuntimeError: the episode has not begun, or is over.

        """
        if not self.action_space.contains(action):
            raise ValueError(f"action ({action!r}) must be one of 0, ..., 3")
        if self._batch is None:
            raise RuntimeError("step before reset: the episode must begin with reset")
        seen, rewards, _ = self._batch.step(np.array([action]))
        self._steps += 1
        cut = self._steps >= self.treatment.horizon
        if cut:
            self._batch = None
        return seen[0], float(rewards[0]), False, cut, {}


def make_hiv_treatment(setting: str = "experts") -> HIVTreatmentEnv:
    """Return HIV treatment as set in `experts` (50 steps of 20 days), `ernst-2006` or `adams-2004`.

    Raises:
        ValueError: for an unknown setting.
    """
    if setting not in _SETTINGS:
        raise ValueError(f"setting ({setting!r}) must be one of: {', '.join(_SETTINGS)}")
    return HIVTreatmentEnv(_SETTINGS[setting])
