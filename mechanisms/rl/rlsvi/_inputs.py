"""What the compiled part of RLSVI is given: checked sizes, the scale of the noise, the environment's law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms.environments.successors import Law
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.rlsvi._kernels import Scale
from dpproof.mechanisms.rl.rlsvi.users import Users


def check_sizes(parameters: RLSVIParameters, data: TabularMDP | Users) -> None:
    """Raise ValueError unless the states, actions and steps of `data` are those of the parameters."""
    for name in ("states", "actions", "horizon"):
        given, wanted = getattr(data, name), getattr(parameters, name)
        if given != wanted:
            raise ValueError(f"{name} ({given}) must be as in the parameters, {wanted}")


def check_users(parameters: RLSVIParameters, users: Users) -> None:
    """Raise ValueError unless the users fit the parameters, one user per episode."""
    check_sizes(parameters, users)
    if users.count != parameters.episodes:
        raise ValueError(f"users ({users.count}) must be as many as episodes, {parameters.episodes}")


def noise_widths(parameters: RLSVIParameters) -> NDArray[np.float64]:
    """Return the noise's standard deviation over sqrt(beta_k) by the number of visits: 1/sqrt(N + 1)."""
    widths: NDArray[np.float64] = 1 / np.sqrt(np.arange(1.0, parameters.episodes + 2))
    return widths


def scale_of(parameters: RLSVIParameters, widths: NDArray[np.float64]) -> Scale:
    """Return beta_k without its logarithm, log(2HSA), the ends V is clipped to, and the noise's widths."""
    S, A, H = parameters.states, parameters.actions, parameters.horizon
    floor, ceiling = (-math.inf, math.inf) if parameters.clip is None else (0.0, float(parameters.clip))
    beta = 0.5 * parameters.beta_scale * S * H**3
    return Scale(beta, math.log(2 * H * S * A), floor, ceiling, widths)


def law_of(environment: TabularMDP) -> Law:
    """Return the environment with the possible successors of every (s, a) in front."""
    possible = environment.transitions > 0
    order = np.argsort(~possible, axis=2, kind="stable")
    chances = np.take_along_axis(environment.transitions, order, axis=2)
    return Law(
        environment.rewards, possible.sum(axis=2), order, chances, chances.cumsum(axis=2), environment.start
    )
