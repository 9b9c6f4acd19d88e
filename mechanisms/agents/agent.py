"""Private agents: they learn from users, one episode each, and act for the next ones under a certified guarantee.

An agent is made with `dpproof.agent`. It is driven by `Agent.train` in a Gymnasium
environment, or by `Agent.user` wherever users come from. The guarantee covers every policy that the agent uses, and
so everything that other users see. A user's own actions may depend on the same user's earlier observations: this is
joint differential privacy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from dpproof.accountant.claims.result import PrivacyResult
from dpproof.mechanisms.agents.interrupts import held_back
from dpproof.mechanisms.agents.journal import Event, JournalError, Memory
from dpproof.mechanisms.agents.learner import Chances, Floats, Learner, Path, Record
from dpproof.mechanisms.agents.policy import Policy
from dpproof.mechanisms.agents.promise import Promise
from dpproof.mechanisms.agents.session import Session
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.randomness import Randomness, guaranteed

_STOPPED = "the agent stopped after an error. Make it again from its journal, or make a new one."


class UserSeenError(ValueError):
    """Raised for a user who comes a second time. The guarantee is for one episode of each user."""


class BudgetSpentError(ValueError):
    """Raised when all users that the guarantee allows have taken part."""


class Agent:
    """A private agent. `making.agent` (`dpproof.agent`) makes it.

    Args:
        name: the algorithm's name.
        task: the public facts about the problem.
        promise: the guarantee.
        learner: the algorithm.
        randomness: the source of the noise, which decides whether the agent is a simulation.
        journal: where users are noted.
    """

    def __init__(
        self,
        name: str,
        task: Task,
        promise: Promise,
        learner: Learner,
        randomness: Randomness,
        journal: Memory,
    ) -> None:
        self._name, self._task, self._promise, self._learner = name, task, promise, learner
        self._randomness, self._journal = randomness, journal
        self._draws = Randomness.of(None if not randomness.simulated else randomness.spawn(1)[0]).generator
        self._open: set[bytes] = set()
        self._lost: set[bytes | None] = set()
        """Persons who were under way when the run stopped or Ctrl-C came, and have not come again."""
        self._users = self._running = self._under_way = 0
        self._lock = threading.RLock()
        self._process, self._broken = os.getpid(), False

    def __repr__(self) -> str:
        seen = f"{self.users} of {self._task.episodes} users seen"
        return f"<agent {self._name}: {seen}; {self._told}>"

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled.

        Raises:
            TypeError: always. A copy would draw noise on the same users twice. ``save`` writes what may be published.
        """
        raise TypeError(
            "An agent must not be copied, because noise on the same users would be drawn twice. Use save()."
        )

    @property
    def _told(self) -> str:
        if self.simulated:
            return "a simulation, which has no guarantee"
        p = self._promise
        return f"epsilon {p.epsilon} at delta {p.delta}, {p.adjacency.value}"

    @property
    def name(self) -> str:
        """The name of the algorithm."""
        return self._name

    @property
    def task(self) -> Task:
        """The public facts about the problem."""
        return self._task

    @property
    def promise(self) -> Promise:
        """The guarantee that was asked for, and the mechanism that keeps it."""
        return self._promise

    @property
    def simulated(self) -> bool:
        """Whether the noise comes from a seed. If so, no guarantee holds."""
        return self._randomness.simulated

    @property
    def users(self) -> int:
        """The number of users who have begun an episode."""
        return self._users

    @property
    def result(self) -> PrivacyResult:
        """The certified guarantee of all policies of the whole run, which also holds at every moment of it.

        Raises:
            SimulationError: the noise comes from a seed.
        """
        return guaranteed(self.simulated, self._promise.result)

    @property
    def policy(self) -> Policy:
        """The present policy. It is covered by the guarantee, and may be published."""
        with self._lock:
            return Policy(self._task.observations, self._task.actions, self._present())

    def act(self, observation: Any, step: int = 0) -> Any:
        """Return an action of the present policy for an observation at a step, counted from 0.

        Raises:
            ValueError: an observation that was not declared, or a step beyond the horizon.
        """
        return self.policy.act(observation, step, self._draws)

    def user(self, person: str | None = None) -> Session:
        """Return the session of the next user, a context manager.

        Leave the session normally to count the user. Leave it by an error, or by `Session.abort`, and the user is
        counted as absent: the place is used up, and nothing of the episode is kept.

        Sessions may overlap, also in several threads, unless the algorithm is ``sdp-pe``. A batch is over when so many
        users have begun, no matter which of them have finished. A user who ends later is counted in the next batch. So
        neither the policies of others nor their batches depend on how long a user takes.

        Args:
            person: a name that identifies the user. A person takes part once only. Without a name, the caller promises
                that the user is a new one.

        After a crash, a person whose episode was under way may come again, and keeps the place. A user without a name
        cannot be recognized: the place is used up, and the user must not come again.

        Raises:
            BudgetSpentError: all users that the guarantee allows have taken part.
            UserSeenError: the person has already taken part, or is taking part.
        """
        with self._lock:
            digest = None if person is None else self._journal.digest(person)
            again = digest is not None and digest in self._lost
            if digest is not None and (digest in self._open or self._journal.knows(digest)):
                raise UserSeenError(
                    f"person ({person!r}) has already taken part. The guarantee is for one episode of each user; give "
                    "a new person, or account for several episodes of a user by group privacy."
                )
            if not again:
                self._room()
            if self._running and not self._learner.overlapping:
                raise ValueError(
                    f"{self._name} takes one user at a time. End or abort the session of the last user."
                )
            draws = self._own_draws()
            with self._drawing():
                if not again:
                    self._journal.begin(digest)
                    self._begin()
                    self._lost.add(digest)  # until the session exists: Ctrl-C may come first
                weights = self._learner.for_user()
            self._running += 1
            self._lost.discard(digest)
            if digest is not None:
                self._open.add(digest)
            return Session(self._task, weights, digest, draws, self._finish)

    def _room(self) -> None:
        if self.users >= self._task.episodes:
            raise BudgetSpentError(
                f"episodes ({self._task.episodes}) are over. The guarantee covers no further user; the policy may "
                "still be used by act(), which costs nothing."
            )

    def _begin(self) -> None:
        self._users += 1
        self._learner.begin()

    def _finish(self, digest: bytes | None, path: Path | None) -> None:
        """Count a user, or pass over an absent one. A user whose path the learner cannot count is absent."""
        with self._lock:
            self._open.discard(digest or b"")
            self._running -= 1
            try:
                record = self._learner.absent() if path is None else self._learner.sent(path)
            except BaseException:
                self._note(digest, self._learner.absent())
                raise
            self._note(digest, record)

    def _note(self, digest: bytes | None, record: Record | None) -> None:
        with self._drawing():
            self._journal.end(digest, record)
            self._end(record)

    def _present(self) -> Chances:
        """Return the present policy. Some learners draw noise for it."""
        with self._drawing():
            return self._learner.weights

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Guard a block that draws noise or counts a user. All that it notes is in the journal at its end, or nothing.

        After an error in the block, memory and journal may differ. The agent then refuses to go on.
        """
        if self._broken:
            raise JournalError(_STOPPED)
        if self._process != os.getpid() and not self.simulated:
            raise JournalError(
                f"an agent must be used in the process ({self._process}) that made it, not in process {os.getpid()}. "
                "Two processes would draw different noise on the same users. Make the agent after the fork."
            )
        with held_back():
            try:
                with self._journal.transaction():
                    yield
            except BaseException as error:
                self._broken = True
                if isinstance(error, JournalError) or not isinstance(error, Exception):
                    raise
                raise JournalError(_STOPPED) from error

    def _own_draws(self) -> np.random.Generator:
        """Return the generator of one user's actions, which has the system's entropy of its own.

        If users shared one stream, later actions could tell how many draws, and so how many steps, a user took.
        """
        return self._draws if self.simulated else Randomness.of(None).generator

    def _end(self, record: Record | None) -> None:
        if record is None:
            self._learner.skip()
        else:
            self._learner.see(record)

    def replay(self, events: Iterator[Event]) -> None:
        """Repeat the events of a journal. `dpproof.agent` calls this method.

        A person who began and did not end may come again, and keeps the place. So no other user's place depends on
        whether this person had ended before the run stopped.
        """
        with self._journal.transaction():
            for event in events:
                self._repeat(event)
            _ = self._learner.weights  # a policy that was drawn for the next user

    def _repeat(self, event: Event) -> None:
        if event.ended:
            self._end(event.record)
            self._under_way -= 1
            self._lost.discard(event.person)
        else:
            self._begin()
            self._under_way += 1
            self._lost.add(event.person)

    def settle(self) -> None:
        """Count users who were under way when the run stopped as absent, if users come one at a time.

        There are several if Ctrl-C came while users began. `dpproof.agent` calls this method after a replay. The users
        may not come again.
        """
        if self._learner.overlapping:
            return
        named = [person for person in self._lost if person is not None]
        for person in [*named, *[None] * (self._under_way - len(named))]:
            self._note(person, self._learner.absent())
        self._lost.clear()

    def train(
        self,
        env: Any,
        episodes: int | None = None,
        seed: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Floats:
        """Learn from episodes in a Gymnasium environment. Each episode is a new user.

        Training that was interrupted goes on with another call. The user of the interrupted episode is absent.

        Args:
            env: an environment with the spaces that were declared.
            episodes: the number of episodes; as many as the guarantee still allows without it.
            seed: a seed for the environment. It makes the users reproducible, not the noise.
            progress: a function that gets the number of finished episodes and of all episodes after each one.

        Returns:
            The sum of rewards of each episode. No guarantee covers these sums: they are the users' data.

        Raises:
            ValueError: the spaces or the time limit of the environment do not fit, a reward is outside its range, or
                an observation was not declared. The user is absent then, and nothing is released.
        """
        wanted = self._task.episodes - self.users if episodes is None else episodes
        check_environment(self._task, env)
        returns = np.zeros(wanted)
        for number in range(wanted):
            with self.user() as user:
                returns[number] = _play(user, env, seed if number == 0 else None)
            if progress is not None:
                progress(number + 1, wanted)
        return returns

    def close(self) -> None:
        """Close the journal."""
        with self._lock:
            self._journal.close()

    def passport(self) -> bytes:
        """Return the content of the file that `save` writes."""
        from dpproof.mechanisms.agents.passport import packed  # it imports this module

        with self._lock:
            return packed(self)

    def save(self, path: str | FilePath) -> None:
        """Write the agent's passport: its policy and its guarantee, but no user's data and no seed.

        Raises:
            ValueError: the name of the file does not end in ``.npz``.
        """
        from dpproof.mechanisms.agents.passport import write  # it imports this module

        write(self, path)


def _play(user: Session, env: Any, seed: int | None) -> float:
    """Play one episode, and return the sum of its rewards."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    over = False
    while not over:
        action = user.act(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        user.observe(reward, observation, terminated=terminated, truncated=truncated)
        total += float(reward)
        over = terminated or truncated
    return total


def check_environment(task: Task, env: Any) -> None:
    """Raise an error unless an environment has the declared spaces and a time limit within the horizon.

    Raises:
        ValueError: the message names the value, the rule and the remedy.
    """
    for name, wanted, space in (
        ("observation", task.observations, env.observation_space),
        ("action", task.actions, env.action_space),
    ):
        if not wanted.fits(space):
            raise ValueError(
                f"the {name} space of env ({space}) must be the declared one with {wanted.size} "
                f"{'values' if wanted.end == wanted.size else 'numbers'}"
            )
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    if limit is not None and limit > task.horizon:
        raise ValueError(
            f"horizon ({task.horizon}) must be at least the time limit of env ({limit}). Make the agent with that "
            f"horizon, or wrap the environment: gymnasium.wrappers.TimeLimit(env, {task.horizon})."
        )
