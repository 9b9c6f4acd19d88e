"""Episodes of Minari datasets as columns that `read_episodes` and `read_expert_data` take. Minari is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EACH = ("actions", "rewards", "terminations", "truncations")


def minari_columns(
    dataset: Any, *, user: Callable[[Any], Any] | Sequence[Any] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a Minari dataset: one row for each step.

    An episode of Minari holds one more observation than steps. The last one becomes the next observation of the last
    step, so an episode that was cut off is complete.

    Args:
        dataset: an object with the method `iterate_episodes`, as `minari.load_dataset` returns it, or the episodes
            themselves. An episode needs the attributes `observations`, `actions`, `rewards`, `terminations` and
            `truncations`. Observations must be numbers or rows of numbers.
        user: the id of the user of each episode, or a function from an episode to this id. Without it there is no
            column of users, and `unit="episode"` must be given when the columns are read.

    >>> from types import SimpleNamespace
    >>> one = SimpleNamespace(observations=[3, 4, 5], actions=[0, 1], rewards=[0.0, 1.0],
    ...                       terminations=[False, True], truncations=[False, False])
    >>> found = minari_columns([one], user=["pilot 1"])
    >>> found["observations"].tolist(), found["next_observations"].tolist(), found["user"].tolist()
    ([3, 4], [4, 5], ['pilot 1', 'pilot 1'])

    Raises:
        ValueError: an episode lacks an attribute, has arrays whose lengths do not fit, or has no step, or the number of
            users is not that of the episodes.
    """
    episodes = list(_episodes(dataset))
    if not episodes:
        raise ValueError("dataset must hold at least one episode")
    parts = [_columns(number, episode) for number, episode in enumerate(episodes)]
    if user is not None:
        ids = list(map(user, episodes)) if callable(user) else list(user)
        if len(ids) != len(episodes):
            raise ValueError(f"user ({len(ids)} ids) must have {len(episodes)}, one for each episode")
        for name, part in zip(ids, parts, strict=True):
            part["user"] = _repeated(name, len(part["rewards"]))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _episodes(dataset: Any) -> Iterator[Any]:
    if hasattr(dataset, "iterate_episodes"):
        return iter(dataset.iterate_episodes())
    if isinstance(dataset, Iterable) and not isinstance(dataset, str | bytes | dict):
        return iter(dataset)
    kind = type(dataset).__name__
    raise ValueError(
        f"dataset (of type {kind}) must have the method iterate_episodes, or be a list of episodes"
    )


def _repeated(name: Any, steps: int) -> NDArray[Any]:
    found = np.empty(steps, dtype=object)
    found[:] = [name] * steps
    return found


def _columns(number: int, episode: Any) -> dict[str, NDArray[Any]]:
    lacking = [name for name in ("observations", *_EACH) if not hasattr(episode, name)]
    if lacking:
        raise ValueError(f"episode {number} (of type {type(episode).__name__}) lacks {', '.join(lacking)}")
    if isinstance(episode.observations, dict | tuple):
        kind = type(episode.observations).__name__
        rule = "must be an array. Flatten composite spaces first, for example with gymnasium.spaces.flatten"
        raise ValueError(f"episode {number}: observations (a {kind}) {rule}")
    seen, steps = np.asarray(episode.observations), len(episode.rewards)
    if not steps or len(seen) != steps + 1:
        raise ValueError(
            f"episode {number}: observations ({len(seen)}) must be one more than rewards ({steps}), at least one"
        )
    found = {"episode": np.full(steps, number), "observations": seen[:-1], "next_observations": seen[1:]}
    for name in _EACH:
        found[name] = np.asarray(getattr(episode, name))
        if len(found[name]) != steps:
            raise ValueError(f"episode {number}: {name} ({len(found[name])}) must have {steps} entries")
    return found
