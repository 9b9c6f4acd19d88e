"""Private counts of real users: a stream for the central model, and one user's report for the local model.

The noise of `mechanisms.rl.private_ucb.privatizers` is for simulations, which add it to true counts. Here users'
trajectories are counted. `PrivateCounts` refuses those that it must not count. For K episodes it stores O(log K)
numbers for each counter. With `SecureNoise` the noise consists of integers, and costs are rounded to multiples of
1/grains. The parameters must then name a discrete distribution, so that the guarantee is that of the drawn noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.rl.private_ucb import central_counts as private_ucb
from dpproof.accountant.rl.private_ucb.parameters import (
    CentralCountsParameters,
    CountsParameters,
    LocalCountsParameters,
)
from dpproof.mechanisms import _checks
from dpproof.mechanisms.counting.streaming import FreshNoise, SecureNoise, StreamingTree
from dpproof.mechanisms.randomness import guaranteed

Floats = NDArray[np.float64]
_BITS = 192
_WHOLE = 1 << 53


class NoiseSource(Protocol):
    """Interface of a source of noise for private counts.

    A result with any other source than ``counting.streaming.SecureNoise`` is a simulation.
    """

    @property
    def integer(self) -> bool:
        """Whether the noise consists of integers.

        If so, the counted values must be integers, and the distribution must be discrete.
        """
        ...

    def __call__(self, law: str, scale: float) -> FreshNoise:
        """Return a function that draws independent noise with this distribution and scale."""
        ...


class Counts(NamedTuple):
    """Three tables of counts: visits (T, S, A), summed costs (T, S, A), and transitions (T, S, A, S).

    There are S states and A actions. T is the number of steps, or 1 if all steps share one table.
    """

    visits: Floats
    costs: Floats
    transitions: Floats


@dataclass(frozen=True)
class SimulatedNoise:
    """Noise for simulations, from a given generator and in floating point. No guarantee holds for it.

    >>> SimulatedNoise(np.random.default_rng(0))("laplace", 1.0)(3).shape
    (3,)
    """

    rng: np.random.Generator
    integer: bool = field(default=False, init=False)

    def __call__(self, law: str, scale: float) -> FreshNoise:
        """Return a function that draws independent noise with this distribution and scale."""
        draw = {NoiseLaw.LAPLACE: self.rng.laplace, NoiseLaw.GAUSSIAN: self.rng.normal}[NoiseLaw(law)]
        return lambda count: draw(0.0, scale, count)


def user_counts(
    parameters: CountsParameters, states: ArrayLike, actions: ArrayLike, costs: ArrayLike
) -> Counts:
    """Return the true counts of one user's visits, costs and transitions.

    Args:
        parameters: the sizes of the problem, with H steps.
        states: the H + 1 visited states, numbered from 0.
        actions: the H actions, numbered from 0.
        costs: the H costs in [0, 1].

    >>> parameters = LocalCountsParameters(2, 1, 2, 9, pooled=True)
    >>> user_counts(parameters, [0, 1, 1], [0, 0], [0.5, 1.0]).costs.tolist()
    [[[0.5], [1.0]]]

    Raises:
        ValueError: for an unknown state or action, a cost outside [0, 1], or a trajectory of another length.
    """
    H = parameters.horizon
    s, a = (
        _checks.indices("states", states, parameters.states),
        _checks.indices("actions", actions, parameters.actions),
    )
    c = _checks.unit_interval("costs", costs)
    for name, value, length in (("states", s, H + 1), ("actions", a, H), ("costs", c, H)):
        if value.shape != (length,):
            raise ValueError(f"the shape of {name} {value.shape} must be {(length,)}")
    T, S, A = parameters.tables, parameters.states, parameters.actions
    found = Counts(np.zeros((T, S, A)), np.zeros((T, S, A)), np.zeros((T, S, A, S)))
    table = np.zeros(H, np.int64) if parameters.pooled else np.arange(H)
    np.add.at(found.visits, (table, s[:-1], a), 1.0)
    np.add.at(found.costs, (table, s[:-1], a), c)
    np.add.at(found.transitions, (table, s[:-1], a, s[1:]), 1.0)
    return found


def _check(parameters: CountsParameters, noise: NoiseSource, users: int) -> None:
    """Refuse noise that does not match the parameters, and sums that doubles would round."""
    if noise.integer and not parameters.integer:
        raise ValueError(f"noise ({parameters.noise!r}) must be discrete, because integer noise is drawn")
    if parameters.integer and not noise.integer:
        raise ValueError(
            f"noise ({parameters.noise!r}) must be laplace or gaussian, "
            "because this function draws noise that is a real number, not an integer"
        )
    steps = users * parameters.horizon
    if parameters.integer and steps * (parameters.grains or 1) > _WHOLE:
        most = f"2^53 / {steps}. Costs are multiples of 1/grains, and doubles would round sums over {steps} steps."
        raise ValueError(f"grains ({parameters.grains}) must be at most {most}")


def _units(counts: Counts, family: str, parameters: CountsParameters) -> Floats:
    """Return the counts in units of the noise. For integer noise they are integers."""
    values: Floats = getattr(counts, family).reshape(-1)
    return np.rint(values * parameters.units(family)) if parameters.integer else values


def _scale(parameters: CountsParameters, family: str) -> float:
    """Return the scale in units, rounded up."""
    in_counts = exact(parameters.used_scale()) * parameters.factor(family)
    with precision(_BITS):
        return round_up(arb_of(in_counts * parameters.units(family)))


class PrivateCounts:
    """Private counts of users who arrive one after another, made by a trusted server with binary trees.

    It is a streaming version of the CENTRAL-PRIVATIZER. Episodes are numbered from 0. Before episode k, k users have
    been counted.

    >>> parameters = CentralCountsParameters(2, 1, 2, 100, scale=30.0)
    >>> counts = PrivateCounts(parameters, SimulatedNoise(np.random.default_rng(0)))
    >>> counts.update(0, states=[0, 1, 1], actions=[0, 0], costs=[0.5, 1.0])
    >>> counts.release(1).transitions.shape
    (2, 2, 1, 2)

    Args:
        parameters: the sizes, the noise and the counted tables. ``parameters.counter`` must be ``tree``. With
            discrete noise a user's summed costs are rounded to multiples of 1/grains.
        noise: the source of the noise.

    Raises:
        ValueError: for another counter, integer noise without a discrete law, a discrete law without it, or
            grains so fine that a sum of them could leave the integers that doubles hold.
    """

    def __init__(self, parameters: CentralCountsParameters, noise: NoiseSource) -> None:
        _check(parameters, noise, parameters.episodes)
        if parameters.counter != "tree":
            raise ValueError(
                f"counter ({parameters.counter!r}) must be tree, because only tree counters can be released as a stream"
            )
        self._parameters = parameters
        self._secure = type(noise) is SecureNoise
        shapes = self._shapes()
        self._trees = {
            name: StreamingTree(
                parameters.leaves,
                int(np.prod(shapes[name])),
                noise(parameters.noise, _scale(parameters, name)),
            )
            for name in parameters.families
        }

    @property
    def parameters(self) -> CentralCountsParameters:
        """The sizes, the noise and the counted tables. They cannot be changed."""
        return self._parameters

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled, because a copy would count the same users again with other noise.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "Private counts must not be copied, because noise on the same users would be drawn twice."
        )

    @property
    def simulated(self) -> bool:
        """Whether the noise comes from another source than ``SecureNoise``. If so, no guarantee holds."""
        return not self._secure

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of all releases together, if the server that counts is trusted.

        ``dpproof.accountant.rl.private_ucb.central_counts.account`` computes it.

        Raises:
            SimulationError: the noise is not that of ``SecureNoise``.
        """
        return guaranteed(
            self.simulated, lambda: private_ucb.account(self.parameters, Adjacency.of(adjacency))
        )

    @property
    def episode(self) -> int:
        """The number of the present episode. It equals the number of users counted so far."""
        return next(iter(self._trees.values())).time

    @property
    def numbers_held(self) -> int:
        """The number of values that the counters hold in memory."""
        return sum(tree.numbers_held for tree in self._trees.values())

    def update(self, episode: int, states: ArrayLike, actions: ArrayLike, costs: ArrayLike) -> None:
        """Count the user of the present episode.

        Raises:
            ValueError: ``episode`` is not the present episode, no release would count its user because it is the last
                one, or the trajectory does not fit the parameters. Nothing is counted then.
        """
        asked = _checks.at_least("episode", episode, 0)
        if asked < self.episode:
            raise ValueError(
                f"episode ({asked}) must be {self.episode}. The user of episode {asked} is already counted."
            )
        if asked > self.episode:
            raise ValueError(f"episode ({asked}) must be {self.episode}. Give the users in order.")
        if asked >= self.parameters.leaves:
            raise ValueError(
                f"episode ({asked}) must be below {self.parameters.leaves}, because no release counts the last user"
            )
        counts = user_counts(self.parameters, states, actions, costs)
        leaves = {name: _units(counts, name, self.parameters) for name in self._trees}
        for name, tree in self._trees.items():
            tree.update(leaves[name])

    def release(self, episode: int) -> Counts:
        """Return the private counts before ``episode``, which must be the present episode.

        Raises:
            ValueError: ``episode`` is not the present episode.
        """
        found = {
            name: tree.release(episode).reshape(self._shapes()[name]) / self.parameters.units(name)
            for name, tree in self._trees.items()
        }
        visits = found["visits"] if "visits" in found else found["transitions"].sum(axis=-1)
        return Counts(visits, found["costs"], found["transitions"])

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        p = self.parameters
        cells = (p.tables, p.states, p.actions)
        return {"visits": cells, "costs": cells, "transitions": (*cells, p.states)}


def local_report(
    parameters: LocalCountsParameters,
    noise: NoiseSource,
    states: ArrayLike,
    actions: ArrayLike,
    costs: ArrayLike,
) -> Counts:
    """Return what one user sends in the local model: the user's own counts, with noise on each.

    With ``SecureNoise`` the guarantee is ``accountant.rl.private_ucb.local_counts.account(parameters, ...)``.
    With any other noise the report is a simulation without a guarantee.

    >>> parameters = LocalCountsParameters(2, 1, 2, 9, printed_epsilon=1.0)
    >>> noise = SimulatedNoise(np.random.default_rng(0))
    >>> local_report(parameters, noise, [0, 1, 1], [0, 0], [0.5, 1.0]).visits.shape
    (2, 2, 1)

    Raises:
        ValueError: as ``user_counts``; as ``PrivateCounts`` for noise of another kind than the parameters'.
    """
    _check(parameters, noise, 1)
    counts = user_counts(parameters, states, actions, costs)
    found = {}
    for name in parameters.families:
        true = _units(counts, name, parameters)
        noisy = true + noise(parameters.noise, _scale(parameters, name))(true.size)
        found[name] = (noisy / parameters.units(name)).reshape(getattr(counts, name).shape)
    visits = found["visits"] if "visits" in found else found["transitions"].sum(axis=-1)
    return Counts(visits, found["costs"], found["transitions"])
