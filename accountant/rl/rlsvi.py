"""RLSVI's accountant (being extended)."""

from __future__ import annotations

from dataclasses import dataclass

from accountant.adjacency import Adjacency
from accountant.parameters import Integers, Parameters, Reals, parameter

__all__ = ["RLSVIParameters", "guarantee"]


@dataclass(frozen=True)
class RLSVIParameters(Parameters):
    """The sizes of a tabular episodic problem and the scale of RLSVI's exploration noise.

    >>> RLSVIParameters(states=6, actions=2, horizon=20, episodes=0)
    Traceback (most recent call last):
    ValueError: episodes (0) must be an integer at least 1
    """

    states: int = parameter(Integers(1), "states", "number of states S")
    actions: int = parameter(Integers(1), "actions", "number of actions A")
    horizon: int = parameter(Integers(1), "steps", "steps per episode H")
    episodes: int = parameter(Integers(1), "episodes", "number of episodes K, one user each")
    beta_scale: float = parameter(
        Reals(0, lower_open=True), "1", "factor on the paper's noise variance beta_k", 1.0
    )
    clip: float | None = parameter(
        Reals(0), "reward", "clip values of the next step to [0, clip]; the paper does not clip", None
    )


def guarantee(parameters: RLSVIParameters, adjacency: Adjacency) -> object:
    """Placeholder."""
    raise ValueError
