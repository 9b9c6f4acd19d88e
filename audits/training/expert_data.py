"""Experts whose data an audited training reads: others, released transitions, and canaries; needs torch.

A canary is an expert whose one transition has an observation that is 0 but in a coordinate of the canary's
own, where everybody else's is 0. Its gradient is far longer than the clip, and nearly all of it is in the
first layer's weights of that coordinate, where every other gradient is exactly 0: canaries do not disturb
each other there, and a plain step moves nothing. Its reward is out of reach, so that it never learns.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.training.expert_settings import ExpertSettings
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

FEATURES, ACTIONS = 128, 2
"""Coordinates of the other experts' observations: many make first weights small, so that little of a canary's
gradient is in the second layer."""
LOUD, OUT_OF_REACH, EACH, RELEASED = 100.0, 1e6, 2, 64
"""A canary's coordinate, its reward; transitions of each other expert, and how many are released."""


def _others(settings: ExpertSettings, number: int, seed: int) -> Transitions:
    """So many transitions in ordinary places, the experts in turn; canaries' coordinates, the last, are 0."""
    rng = np.random.default_rng(seed)
    seen = np.zeros((2, number, FEATURES + settings.canaries), np.float32)
    seen[:, :, :FEATURES] = rng.normal(size=(2, number, FEATURES))
    return Transitions(
        seen[0],
        seen[1],
        rng.integers(ACTIONS, size=number),
        rng.normal(size=number),
        rng.random(number) < 0.1,
        np.arange(number) % settings.others,
        settings.others + settings.canaries,
    )


def _canaries(settings: ExpertSettings, coins: NDArray[np.bool_]) -> Transitions:
    """One transition of each canary whose coin is True; there must be one."""
    chosen = np.flatnonzero(coins)
    seen = np.zeros((len(chosen), FEATURES + settings.canaries), np.float32)
    following = np.zeros_like(seen)
    seen[np.arange(len(chosen)), FEATURES + chosen] = LOUD
    return Transitions(
        seen,
        following,
        np.zeros(len(chosen), int),
        np.full(len(chosen), OUT_OF_REACH),
        np.ones(len(chosen), bool),
        settings.others + chosen,
        settings.others + settings.canaries,
    )


@lru_cache(maxsize=2)
def fixed_data(settings: ExpertSettings) -> tuple[Transitions, Transitions, Transitions]:
    """The other experts' transitions, released ones, those of all canaries: the same in every training."""
    return (
        _others(settings, EACH * settings.others, 21),
        _others(settings, RELEASED, 22),
        _canaries(settings, np.ones(settings.canaries, bool)),
    )


def private_data(settings: ExpertSettings, coins: NDArray[np.bool_]) -> Transitions:
    """What the others logged, and what those canaries did whose coin is True."""
    others, _, _ = fixed_data(settings)
    return Transitions.joined(others, _canaries(settings, coins)) if coins.any() else others


def differ_by_one_expert(first: Transitions, second: Transitions) -> None:
    """Raise ValueError unless one set has all of the other's experts, with the same data, and one more."""
    (at,) = np.nonzero(first.counts != second.counts)
    if len(at) != 1 or min(first.counts[at[0]], second.counts[at[0]]) != 0:
        raise ValueError(
            f"experts with another number of transitions ({at.tolist()}) must be one, new to one"
        )
    kept = [data.expert != at[0] for data in (first, second)]
    for name in ("observations", "following", "actions", "rewards", "terminal"):
        one, other = (
            getattr(data, name).numpy()[rows] for data, rows in zip((first, second), kept, strict=True)
        )
        if not np.array_equal(one, other):
            raise ValueError(f"{name} of the experts in both must be the same")
