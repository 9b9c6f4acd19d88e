"""Random trajectories of the chain of states of Balle, Gomrokchi and Precup, section 6, and their statistics.

In each state but the last, a trajectory stays or moves on. The step that reaches the last state pays 1, and the
trajectory ends there. The paper does not specify the start state. Here it is uniform over the states before the
last.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms import _checks
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits, first_visits

_BLOCK = 20_000


def chain_episodes(
    states: int, trajectories: int, rng: np.random.Generator, stay: float = 0.5, first_user: int = 0
) -> Episodes:
    """Return random trajectories on the chain, one trajectory for each user.

    Users are numbered from `first_user` on. In every state but the last, a trajectory stays with probability `stay`.

    >>> batch = chain_episodes(3, 2, np.random.default_rng(0))
    >>> batch.count, int(batch.rewards.sum())
    (2, 2)

    Raises:
        ValueError: for fewer than two states, no trajectory, or `stay` outside [0, 1).
    """
    last = _checks.at_least("states", states, 2) - 1
    count = _checks.at_least("trajectories", trajectories, 1)
    if not 0 <= stay < 1:
        raise ValueError(f"stay ({stay!r}) must be in [0, 1)")
    begin = rng.integers(0, last, count)
    held = rng.geometric(1 - stay, (count, last))
    held[np.arange(last) < begin[:, None]] = 0
    times = np.column_stack([held, np.ones(count, np.int64)])
    walked = np.repeat(np.tile(np.arange(states), count), times.ravel())
    lengths = times.sum(axis=1)
    rewards = np.zeros(len(walked))
    rewards[np.cumsum(lengths) - 2] = 1.0
    users = np.arange(first_user, first_user + count)
    return Episodes(walked, np.zeros(len(walked), np.int64), rewards, lengths, users)


def _blocks(trajectories: int) -> Iterator[int]:
    while trajectories > 0:
        yield min(trajectories, _BLOCK)
        trajectories -= _BLOCK


def chain_visits(
    states: int,
    trajectories: int,
    discount: float,
    rng: np.random.Generator,
    return_bound: float | None = None,
) -> FirstVisits:
    """Return the first-visit statistics of random trajectories on the chain.

    The trajectories are made in blocks, which keeps the memory small.
    """
    total: FirstVisits | None = None
    for count in _blocks(_checks.at_least("trajectories", trajectories, 1)):
        batch = chain_episodes(states, count, rng)
        found = first_visits(batch, states, discount, return_bound=return_bound)
        total = found if total is None else total + found
    assert total is not None, "there is at least one block"
    return total
