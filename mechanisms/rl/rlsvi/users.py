"""Users with fixed responses, which are the data of a release of RLSVI.

A user has a next state and a reward for every step h, state s and action a. These responses determine one episode
under any policy. Two sequences of users are neighbours in the sense of arXiv:2606.01952v1, Remark 2, when they
differ in the rewards of one user only. If the released tables are the same, two neighbours visit the same states
and actions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP


@dataclass(frozen=True, eq=False)
class Users:
    """The next state and the reward that each of K users has for every step, state and action.

    There are H steps, S states and A actions. The arrays are copied and made read-only.

    Attributes:
        next_states: int64 array (K, H, S, A) of states 0, ..., S-1.
        rewards: float64 array (K, H, S, A) of values in [0, 1].
        start: the state in which every user starts.

    Raises:
        ValueError: the two shapes differ, one of K, H, S and A is 0, or a state or reward is NaN or outside its range.

    >>> users = Users([[[[0]]], [[[0]]]], [[[[0.5]]], [[[1.0]]]])
    >>> users.count, users.horizon, users.states, users.actions
    (2, 1, 1, 1)
    """

    next_states: NDArray[np.int64]
    rewards: NDArray[np.float64]
    start: int = 0

    def __post_init__(self) -> None:
        """Check and freeze the fields."""
        rewards = _checks.unit_interval("rewards", self.rewards)
        if rewards.ndim != 4 or 0 in rewards.shape:
            raise ValueError(
                f"the shape of rewards {rewards.shape} must be (users, steps, states, actions), each at least 1"
            )
        next_states = _checks.indices("next_states", self.next_states, rewards.shape[2])
        if next_states.shape != rewards.shape:
            raise ValueError(f"the shape of next_states {next_states.shape} must be {rewards.shape}")
        start = _checks.index("start", self.start, rewards.shape[2])
        for name, value in (("rewards", rewards), ("next_states", next_states), ("start", start)):
            object.__setattr__(self, name, value)

    @property
    def count(self) -> int:
        """Number K of users, one per episode."""
        return int(self.rewards.shape[0])

    @property
    def horizon(self) -> int:
        """Number H of steps."""
        return int(self.rewards.shape[1])

    @property
    def states(self) -> int:
        """Number S of states."""
        return int(self.rewards.shape[2])

    @property
    def actions(self) -> int:
        """Number A of actions."""
        return int(self.rewards.shape[3])

    @classmethod
    def draw(cls, environment: TabularMDP, count: int, rng: np.random.Generator) -> Users:
        """Return `count` users whose responses are independent draws from the environment.

        >>> from dpproof.mechanisms.environments.river_swim import river_swim
        >>> Users.draw(river_swim(), 3, np.random.default_rng(0)).next_states.shape
        (3, 20, 6, 2)
        """
        S, A = environment.rewards.shape
        shape = (_checks.at_least("count", count, 1), environment.horizon, S, A)
        next_states = np.empty(shape, np.int64)
        for s, a in np.ndindex(S, A):
            next_states[:, :, s, a] = rng.choice(S, size=shape[:2], p=environment.transitions[s, a])
        return cls(next_states, np.broadcast_to(environment.rewards, shape), environment.start)

    def with_rewards(self, user: int, rewards: ArrayLike) -> Users:
        """Return the same users, but user number `user` gets new `rewards`: a number or an array (H, S, A).

        >>> users = Users([[[[0]]], [[[0]]]], [[[[0.5]]], [[[1.0]]]])
        >>> users.with_rewards(1, 0.0).rewards.ravel()
        array([0.5, 0. ])
        """
        changed = self.rewards.copy()
        changed[_checks.index("user", user, self.count)] = rewards
        return replace(self, rewards=changed)


def differ_only_in_rewards_of_one_user(users: Users, other: Users) -> int:
    """Return the number of the one user whose rewards differ. The two sequences must be equal in all else.

    Source: arXiv:2606.01952v1, Remark 2. Raises ValueError if there is another difference, or none.

    >>> users = Users([[[[0]]], [[[0]]]], [[[[0.5]]], [[[1.0]]]])
    >>> differ_only_in_rewards_of_one_user(users, users.with_rewards(1, 0.25))
    1
    >>> differ_only_in_rewards_of_one_user(users, users)
    Traceback (most recent call last):
    ValueError: users and other are equal. Neighbours must differ in the rewards of one user.
    """
    if users.rewards.shape != other.rewards.shape:
        raise ValueError(f"the shapes {users.rewards.shape} and {other.rewards.shape} must be equal")
    if users.start != other.start:
        raise ValueError(f"the starts {users.start} and {other.start} must be equal")
    moved = np.argwhere(users.next_states != other.next_states)
    if moved.size:
        place = tuple(int(i) for i in moved[0])
        pair = f"{users.next_states[place]} and {other.next_states[place]}"
        raise ValueError(
            f"next_states at (user, step, state, action) {place} must be the same in both inputs, not {pair}"
        )
    changed = np.flatnonzero((users.rewards != other.rewards).any(axis=(1, 2, 3)))
    if not changed.size:
        raise ValueError("users and other are equal. Neighbours must differ in the rewards of one user.")
    if changed.size > 1:
        raise ValueError(f"only one user's rewards may differ, not those of users {changed[:5].tolist()}")
    return int(changed[0])


def check_sizes(parameters: RLSVIParameters, data: TabularMDP | Users) -> None:
    """Raise ValueError unless `data` has as many states, actions and steps as the parameters say."""
    for name in ("states", "actions", "horizon"):
        given, wanted = getattr(data, name), getattr(parameters, name)
        if given != wanted:
            raise ValueError(f"{name} ({given}) must be {wanted}, as in the parameters")


def check_users(parameters: RLSVIParameters, users: Users) -> None:
    """Raise ValueError unless the users have the parameters' sizes, and there is one user per episode."""
    check_sizes(parameters, users)
    if users.count != parameters.episodes:
        raise ValueError(f"users ({users.count}) must be {parameters.episodes}, the number of episodes")
