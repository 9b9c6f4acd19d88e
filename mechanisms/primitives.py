"""Every noise primitive of the catalogue as one mechanism: a guarantee from the accountant, and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dpproof.accountant.claims.result import accountant_for
from dpproof.mechanisms.counting import running_counts
from dpproof.mechanisms.noise import noisy_sums, selection
from dpproof.mechanisms.noise import samplers as noise
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.private_ucb import batched_users, counted_users
from dpproof.mechanisms.rl.sdp_pe import privatizer_release as shuffle_privatizer_release
from dpproof.mechanisms.rl.sdp_pe import shuffled_count
from dpproof.mechanisms.rl.thompson import thompson
from dpproof.mechanisms.smooth_sensitivity import noise as smooth_noise
from dpproof.mechanisms.sparse_vector import technique as sparse_vector

if TYPE_CHECKING:
    from dpproof.accountant.claims.adjacency import Adjacency
    from dpproof.accountant.claims.result import PrivacyResult

__all__ = ["SAMPLERS", "Primitive"]

SAMPLERS: Mapping[str, Callable[..., NDArray[Any]]] = {
    "gaussian": noise.gaussian,
    "laplace": noise.laplace,
    "geometric": noise.geometric,
    "discrete-gaussian": noise.discrete_gaussian,
    "binomial": noise.binomial,
    "randomised-response": noise.randomised_response,
    "exponential": selection.exponential,
    "permute-and-flip": selection.permute_and_flip,
    "tree": running_counts.gaussian_tree,
    "laplace-tree": running_counts.laplace_tree,
    "matrix-counting": running_counts.factorised,
    "sparse-vector": sparse_vector.sparse_vector,
    "dp-sgd": noisy_sums.noisy_sums,
    "smooth-gaussian": smooth_noise.smooth_gaussian,
    "smooth-laplace": smooth_noise.smooth_laplace,
    "smooth-cauchy": smooth_noise.smooth_cauchy,
    "smooth-student": smooth_noise.smooth_student,
    "smooth-log-normal": smooth_noise.smooth_log_normal,
    "shuffled-count": shuffled_count.shuffled_count,
    "shuffled-batch": shuffle_privatizer_release.shuffled_batch,
    "central-counts": counted_users.central_counts,
    "local-counts": counted_users.local_counts,
    "batched-counts": batched_users.batched_counts,
    "thompson": thompson.release,
}
"""Command-line name -> sampler, called as ``sampler(parameters, data, n, rng)``."""


@dataclass(frozen=True)
class Primitive:
    """A primitive by its command-line name, with its accountant's parameters.

    >>> import numpy as np
    >>> from dpproof.accountant.noise.laplace import LaplaceParameters
    >>> once = Primitive("laplace", LaplaceParameters(scale=2.0))
    >>> once.sample([0.0], 3, np.random.default_rng(0)).shape
    (3, 1)

    Raises:
        ValueError: for a name that has no sampler.
    """

    name: str
    parameters: Any

    def __post_init__(self) -> None:
        if self.name not in SAMPLERS:
            raise ValueError(f"primitive ({self.name!r}) must be one of: {', '.join(SAMPLERS)}")

    def account(self, adjacency: Adjacency) -> PrivacyResult:
        """The accountant's guarantee of one run; it covers the released bits only where `sample` is exact."""
        found = accountant_for(self.name).account(self.parameters, adjacency)
        sampler = SAMPLERS[self.name]
        drawn_here = found.exact_sampler == f"{sampler.__module__}.{sampler.__qualname__}"
        return found if drawn_here else replace(found, exact_sampler=None)

    def sample(self, data: Any, n: int, rng: Source = None) -> NDArray[Any]:
        """Draw ``n`` independent releases on ``data``, whose form is the sampler's.

        A seed or a generator makes a simulation, of which no guarantee holds.
        """
        return SAMPLERS[self.name](self.parameters, data, n, Randomness.of(rng).generator)
