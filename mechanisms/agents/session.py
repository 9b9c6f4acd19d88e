"""The episode of one user with a private agent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from dpproof.mechanisms.agents.learner import Chances, Path
from dpproof.mechanisms.agents.policy import drawn
from dpproof.mechanisms.agents.task import Task


class End(Protocol):
    """Interface of a function that counts a user who has ended, or passes over an absent one."""

    def __call__(self, digest: bytes | None, path: Path | None) -> None:
        """Note that the user with this digest has ended, with this path or absent."""
        ...


@dataclass(eq=False, repr=False)
class Session:
    """The episode of one user. `Agent.user` makes it; use it as a context manager. Threads may share it.

    The policy is that of the moment when the session began. Observations that the user makes and actions that are
    chosen stay in the session until it ends normally.
    """

    _task: Task
    _weights: Chances
    _digest: bytes | None
    _rng: np.random.Generator
    _end: End
    _states: list[Any] = field(default_factory=list)
    _actions: list[int] = field(default_factory=list)
    _gains: list[float] = field(default_factory=list)
    _done: bool = False
    _closed: bool = False
    _lock: Any = field(default_factory=threading.RLock)

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled.

        Raises:
            TypeError: always. The user would be counted once for each copy.
        """
        raise TypeError(
            "A session must not be copied, because its user would be counted twice. Share the session itself."
        )

    def __repr__(self) -> str:
        return f"<session of a user, {'ended' if self._closed else 'open'}>"

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return len(self._gains)

    @property
    def done(self) -> bool:
        """Whether the episode is over: it ended, was cut off, or has as many steps as the horizon."""
        return self._done or self.step == self._task.horizon

    def act(self, observation: Any) -> Any:
        """Return the action for an observation. It must be the one that the last step led to.

        Raises:
            ValueError: an observation that was not declared or is not the last one, or an episode that is over.
        """
        with self._lock:
            self._running("act")
            state = self._task.observations.number(observation)
            if state != (self._states or [state])[-1]:
                raise ValueError(
                    f"observation ({observation!r:.80}) must be the last one that observe() was given"
                )
            action = drawn(self._weights[self.step, state], self._rng)
            self._states[self.step :] = [state]
            self._actions[self.step :] = [action]
            return self._task.actions.value(action)

    def observe(
        self,
        reward: float,
        observation: Any,
        *,
        terminated: bool = False,
        truncated: bool = False,
        action: Any = None,
    ) -> None:
        """Note what followed the last action.

        Args:
            reward: the reward, in the declared range.
            observation: the next observation.
            terminated: whether the episode ended in this observation, so that no reward can follow.
            truncated: whether the episode was cut off, by a time limit for example.
            action: the action that was taken, if it is another one than ``act`` returned.

        Raises:
            ValueError: a value that was not declared, or a call before ``act``. The session is unchanged then.
        """
        with self._lock:
            self._running("observe")
            if len(self._actions) == self.step:
                raise ValueError("observe() must come after act(). Call act(observation) in every step.")
            gain = self._task.gain(reward)
            chosen = self._actions[-1] if action is None else self._task.actions.number(action)
            after = self._task.observations.end if terminated else self._task.observations.number(observation)
            self._actions[-1] = chosen
            self._gains.append(gain)
            self._states.append(after)
            self._done = bool(terminated or truncated)

    def abort(self) -> None:
        """End the session without the user's data. The user counts as absent if there is a place left."""
        with self._lock:
            if not self._closed:
                self._end(self._digest, None)
            self._closed = True

    def finish(self) -> None:
        """End the session and count the user. Leaving the context manager normally does the same.

        Raises:
            ValueError: the learner cannot count the episode. The user is absent then.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._end(self._digest, self._path())

    def _path(self) -> Path | None:
        """Return the episode; None for one without a step."""
        n = self.step
        if not n:
            return None
        return Path(np.array(self._states), np.array(self._actions[:n]), np.array(self._gains))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def _running(self, name: str) -> None:
        if self._closed:
            raise ValueError(f"{name}() must not be called after the session has ended")
        if self._done:
            raise ValueError(f"{name}() must not be called after the episode is over")
        if self.step == self._task.horizon:
            raise ValueError(
                f"horizon ({self._task.horizon}) must be at least the number of steps of an episode. Make the agent "
                "with a longer horizon, or cut episodes off with gymnasium.wrappers.TimeLimit."
            )
