"""The paper's two privatizers (central and local), with the paper's noise or with calibrated noise.

For the noise that the paper prints use ``CentralPrivatizer(CentralCountsParameters(S, A, H, K,
printed_epsilon=1.0))``. For the least noise with a proved guarantee use
``CentralPrivatizer.meeting(CentralCountsParameters(S, A, H, K), Adjacency.REPLACE, 1.0, 0.0)``. Other parameters
select other noise distributions, counters and tables of counts.

Source: Chowdhury and Zhou (AAAI 2022), Section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb import central_counts as private_ucb
from dpproof.accountant.rl.private_ucb import local_counts as private_ucb_local
from dpproof.accountant.rl.private_ucb.levels import CountLevels, central_levels, local_levels, printed_levels
from dpproof.accountant.rl.private_ucb.parameters import (
    CentralCountsParameters,
    CountsParameters,
    LocalCountsParameters,
)
from dpproof.mechanisms import _checks
from dpproof.mechanisms.counting.paths import (
    DRAWS,
    FactorisedPaths,
    Floats,
    HonakerPaths,
    NoisePaths,
    TreePaths,
    WalkPaths,
    power_of_two,
)
from dpproof.mechanisms.counting.tree import tree_noise
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Levels
from dpproof.mechanisms.rl.trajectories import Trajectories

Columns = NDArray[np.int64] | slice
ALL = slice(None)
"""An index that selects all counters."""
Doubles = NDArray[np.float64]


def _laplace(rng: np.random.Generator, shape: tuple[int, ...]) -> Doubles:
    return rng.laplace(size=shape)


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Doubles:
    return rng.normal(size=shape)


RELEASE_DRAWS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Doubles]] = {
    NoiseLaw.LAPLACE: _laplace,
    NoiseLaw.GAUSSIAN: _gaussian,
}
"""Functions that draw noise of scale 1 in double precision. The keys are the values of ``parameters.noise``."""


def _check_real(parameters: CountsParameters) -> None:
    """Refuse discrete distributions, because simulated real noise does not have their guarantee."""
    if parameters.integer:
        rule = "laplace or gaussian for simulated noise. For integer noise use PrivateCounts or local_report."
        raise ValueError(f"noise ({parameters.noise!r}) must be {rule}")


def _upper(levels: CountLevels) -> Levels:
    return Levels(levels.visits.upper, levels.costs.upper, levels.transitions.upper)


def _count_noise(
    parameters: CountsParameters, paths: NoisePaths, rng: np.random.Generator, block: int
) -> Iterator[CountNoise]:
    """Yield the noise of all families, scaled and shaped as tables.

    Summed visits are made from transitions.
    """
    T, S, A, K = parameters.tables, parameters.states, parameters.actions, parameters.episodes
    scale = parameters.used_scale()
    sources = {
        name: paths.blocks(rng, K, T * S * A * (S if name == "transitions" else 1), block)
        for name in parameters.families
    }
    first = 0
    while first < K:
        found: dict[str, Floats] = {}
        for name, source in sources.items():
            rows = next(source) * np.float32(scale * float(parameters.factor(name)))
            found[name] = rows.reshape(len(rows), T, S, A, *((S,) if name == "transitions" else ()))
        visits = found["visits"] if "visits" in found else found["transitions"].sum(axis=-1)
        yield CountNoise(first, visits, found["costs"], found["transitions"])
        first += len(visits)


def noise_scales(parameters: CountsParameters) -> NDArray[np.float64]:
    """Return the noise scale of each counter: first the counters of visits, then of costs, then of transitions.

    Visits are left out if they are sums of transitions.

    >>> noise_scales(LocalCountsParameters(1, 1, 1, 9, scale=2.0, cost_factor=0.5)).tolist()
    [2.0, 1.0, 2.0]
    """
    cells = parameters.tables * parameters.states * parameters.actions
    scales = [
        np.full(cells * (parameters.states if name == "transitions" else 1), float(parameters.factor(name)))
        for name in parameters.families
    ]
    return parameters.used_scale() * np.concatenate(scales)


@dataclass(frozen=True)
class CentralPrivatizer:
    """The CENTRAL-PRIVATIZER: a trusted server releases noisy counts of all users before every episode.

    >>> parameters = CentralCountsParameters(6, 2, 20, 100, printed_epsilon=1.0)
    >>> privatizer = CentralPrivatizer(parameters)
    >>> next(privatizer.noise(np.random.default_rng(0))).transitions.shape
    (100, 20, 6, 2, 6)
    """

    parameters: CentralCountsParameters

    def __post_init__(self) -> None:
        """Check the distribution of the noise."""
        _check_real(self.parameters)

    @classmethod
    def meeting(
        cls, parameters: CentralCountsParameters, adjacency: Adjacency | str, epsilon: Any, delta: Any
    ) -> Self:
        """Return a privatizer with the least noise that makes it (epsilon, delta)-private under ``adjacency``.

        Everything but the noise scale is as in ``parameters``.

        >>> sizes = CentralCountsParameters(6, 2, 20, 20000)
        >>> CentralPrivatizer.meeting(sizes, Adjacency.REPLACE, 1, 0).parameters.scale
        1755.0
        """
        return cls(private_ucb.ACCOUNTANT.least_noise(parameters, adjacency, epsilon, delta)[0])

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the noise of all episodes' counts in blocks, as ``Privatizer.noise`` describes.

        For the counters ``tree`` and ``honaker``, the number of episodes in a block is the least power of two that is
        at least ``block``.
        """
        return _count_noise(self.parameters, self.paths(), rng, block)

    def paths(self) -> NoisePaths:
        """Return an object that draws the noise of the running counts, with noise scale 1."""
        draw = DRAWS[self.parameters.noise]
        if self.parameters.counter == "square-root":
            return FactorisedPaths(draw, self.parameters.strategy)
        return HonakerPaths(draw) if self.parameters.counter == "honaker" else TreePaths(draw)

    def levels(self, delta: float) -> Levels:
        """Return certified error bounds of the counts at failure probability ``delta``. See ``central_levels``."""
        return _upper(central_levels(self.parameters, delta))

    def printed_levels(self, delta: float) -> Levels:
        """Return the error bounds of the paper's Lemma 5.1. They hold only if the lemma is true."""
        return _upper(printed_levels(self.parameters, delta))

    def sample(self, data: Trajectories, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the noisy counts after each of the first K - 1 users in ``n`` runs.

        The result is an array (n, K - 1, counters). K is the number of episodes. The noise of the tree counter is in
        double precision, and the noise of other counters in single precision.

        Raises:
            ValueError: there are not K trajectories, their sizes are not those of the parameters, or ``n`` is below 1.
        """
        if data.count != self.parameters.episodes:
            raise ValueError(
                f"users ({data.count}) must be {self.parameters.episodes}, the number of episodes"
            )
        return self.release(data.counts(self.parameters)[:-1], n, rng)

    def release(
        self, leaves: NDArray[np.float64], n: int, rng: np.random.Generator, columns: Columns = ALL
    ) -> NDArray[np.float64]:
        """Return the noisy counts after each user of ``leaves`` in ``n`` runs.

        The result is an array (n, users, counters).

        Args:
            leaves: what every user adds to each counter, (users, counters), at most K - 1 users for K episodes.
            n: how many runs.
            rng: the generator of the noise.
            columns: an index that selects the counters in ``leaves`` among all counters. The default is all.
        """
        factors, (users, counters) = noise_scales(self.parameters)[columns], leaves.shape
        noise = self.release_noise(_checks.at_least("n", n, 1), users, counters, rng)
        return leaves.cumsum(axis=0) + noise * factors

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Doubles:
        """Return an array (runs, users, counters): noise of scale 1 for running counts after each user."""
        if self.parameters.counter == "tree":
            draw = RELEASE_DRAWS[self.parameters.noise]
            paths = tree_noise(users, (runs, counters), lambda shape: draw(rng, shape))
            return np.ascontiguousarray(paths.swapaxes(1, 2))
        (rows,) = self.paths().blocks(rng, users + 1, runs * counters, power_of_two(users + 1))
        return rows[1:].reshape(users, runs, counters).swapaxes(0, 1).astype(np.float64)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of all releases together. The users must trust the server that counts.

        ``dpproof.accountant.rl.private_ucb.central_counts.account`` computes the guarantee.
        """
        return private_ucb.account(self.parameters, Adjacency.of(adjacency))


@dataclass(frozen=True)
class LocalPrivatizer:
    """The LOCAL-PRIVATIZER: every user sends their own counts with noise, and the server adds them up.

    >>> privatizer = LocalPrivatizer(LocalCountsParameters(6, 2, 20, 100, printed_epsilon=1.0))
    >>> privatizer.account(Adjacency.REPLACE).guarantee.epsilon(0).upper
    2.0
    """

    parameters: LocalCountsParameters

    def __post_init__(self) -> None:
        """Check the distribution of the noise."""
        _check_real(self.parameters)

    @classmethod
    def meeting(
        cls, parameters: LocalCountsParameters, adjacency: Adjacency | str, epsilon: Any, delta: Any
    ) -> Self:
        """Return a privatizer with the least noise that makes it (epsilon, delta)-private under ``adjacency``.

        Everything but the noise scale is as in ``parameters``.
        """
        return cls(private_ucb_local.ACCOUNTANT.least_noise(parameters, adjacency, epsilon, delta)[0])

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the noise of all episodes' counts in blocks, as ``Privatizer.noise`` describes."""
        return _count_noise(self.parameters, self.paths(), rng, block)

    def paths(self) -> NoisePaths:
        """Return an object that draws the noise of the server's sums, with noise scale 1 for each user."""
        return WalkPaths(DRAWS[self.parameters.noise])

    def levels(self, delta: float) -> Levels:
        """Return certified error bounds of the counts at failure probability ``delta``. See ``local_levels``."""
        return _upper(local_levels(self.parameters, delta))

    def printed_levels(self, delta: float) -> Levels:
        """Return the error bounds of the paper's Lemma 5.4. They hold only if the lemma is true."""
        return _upper(printed_levels(self.parameters, delta))

    def sample(self, data: Trajectories, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return an array (n, users, counters): the noisy counts that each user sends in ``n`` runs.

        Raises:
            ValueError: the sizes of the trajectories are not those of the parameters, or ``n`` is below 1.
        """
        return self.release(data.counts(self.parameters), n, rng)

    def release(
        self, leaves: NDArray[np.float64], n: int, rng: np.random.Generator, columns: Columns = ALL
    ) -> NDArray[np.float64]:
        """Return an array (n, users, counters): the noisy counts that each user sends in ``n`` runs.

        ``leaves`` are the users' true counts. See ``CentralPrivatizer.release`` for the arguments.
        """
        factors, (users, counters) = noise_scales(self.parameters)[columns], leaves.shape
        noise = self.release_noise(_checks.at_least("n", n, 1), users, counters, rng)
        return leaves + noise * factors

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Doubles:
        """Return an array (runs, users, counters): noise of scale 1 for the counts that each user sends."""
        return RELEASE_DRAWS[self.parameters.noise](rng, (runs, users, counters))

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of the noisy counts that one user sends, without any trusted server."""
        return private_ucb_local.account(self.parameters, Adjacency.of(adjacency))
