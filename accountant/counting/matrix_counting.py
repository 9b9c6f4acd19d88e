"""The accountant of continual counting by a factorised matrix with Gaussian noise.

Running counts are released as B (C x + noise), C the square root of the running count or its first bands.
One user moves C x by a vector of known largest norm; the run is that one Gaussian mechanism. It stays so
for streams chosen in view of the releases, because C is lower triangular: Gaussian noise on C x, one row
after the other, is an adaptive Gaussian composition under a fixed budget (docs/notes/counting.md).

Source: Fichtenberger, Henzinger and Upadhyay, Constant matters (ICML 2023); Kalinin and Lampert,
arXiv:2405.13763; the norm over patterns is proved in the note.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint

from accountant.accounted import Accountant, Accounted, Attained
from accountant.adjacency import Adjacency, UnprovedAdjacencyError
from accountant.counting.factorisation import participation_norm
from accountant.counting.gaussian_tree import calibrated_sigma
from accountant.counting.toeplitz import MOST_LEAVES, SquareRoot, Strategy, banded_square_root
from accountant.enclosures import arb_of, bound_of, exact, precision
from accountant.notions import GaussianDP
from accountant.parameters import Integers, Parameters, Reals, parameter
from accountant.trust import TrustModel

__all__ = ["ACCOUNTANT", "MatrixCountingParameters", "guarantee", "strategy_of"]

_BITS = 192
_RELEASED = "the noisy C x, and with it every running count"


@dataclass(frozen=True)
class MatrixCountingParameters(Parameters):
    """A stream, the Gaussian noise on each entry of C x, and what one user may contribute.

    >>> MatrixCountingParameters(leaves=16, sigma=1.0, bands=17)
    Traceback (most recent call last):
    ValueError: bands (17) must be at most leaves (16)
    """

    leaves: int = parameter(Integers(1, MOST_LEAVES), "leaves", "length of the stream")
    sigma: float = parameter(
        Reals(0, lower_open=True), "count", "standard deviation of the noise on each entry of C x"
    )
    bands: int | None = parameter(Integers(1), "bands", "leading coefficients kept; all without it", None)
    sensitivity: float = parameter(
        Reals(0, lower_open=True), "count", "how far one user moves a leaf, at most", 1.0
    )
    participations: int = parameter(Integers(1), "leaves", "leaves that one user moves", 1)
    separation: int = parameter(Integers(1), "leaves", "least distance between leaves of one user", 1)
    restarts: int = parameter(Integers(0), "runs", "fresh runs after the first; a user may be in all", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bands is not None and self.bands > self.leaves:
            raise ValueError(f"bands ({self.bands}) must be at most leaves ({self.leaves})")


def strategy_of(parameters: MatrixCountingParameters) -> Strategy:
    """The matrix C of these parameters.

    >>> strategy_of(MatrixCountingParameters(16, 1.0, bands=3)).bands
    3
    """
    if parameters.bands is None:
        return SquareRoot(parameters.leaves)
    return banded_square_root(parameters.leaves, parameters.bands)


def guarantee(
    parameters: MatrixCountingParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> Accounted:
    """Gaussian differential privacy with mu = norm * sensitivity / sigma.

    ``add-remove``: a user's leaves are 0 without the user, everybody else's stay in place; a pair attains
    mu. ``replace``: the user's leaves may be others afterwards, which costs at most sqrt(2) times as much,
    because leaving some and entering others overlap nonnegatively.

    >>> guarantee(MatrixCountingParameters(16384, 10.0)).guarantee.epsilon("1e-6").upper
    0.851362

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _CHANGES:
        known = ", ".join(relation.value for relation in _CHANGES)
        raise UnprovedAdjacencyError("matrix-counting", adjacency, f"proved relations: {known}")
    with precision(_BITS):
        mu = bound_of(_mu(parameters, adjacency))
    pair = "streams that differ by the whole sensitivity at the leaves 1, 1 + separation, ..."
    attained = Attained(GaussianDP(mu), pair) if _CHANGES[adjacency] == 1 else None
    return Accounted(
        GaussianDP(mu),
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        "classic.matrix_counting",
        attained=attained,
    )


_CHANGES = {Adjacency.BY_SENSITIVITY: 1, Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE: 2}
"""How many users' squared norms a change costs."""


def _mu(parameters: MatrixCountingParameters, adjacency: Adjacency) -> flint.arb:
    norm = participation_norm(strategy_of(parameters), parameters.participations, parameters.separation)
    scale = arb_of(exact(parameters.sensitivity) / exact(parameters.sigma))
    return (norm * (parameters.restarts + 1) * _CHANGES[adjacency]).sqrt() * scale


def _calibrate(
    parameters: MatrixCountingParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[MatrixCountingParameters, MatrixCountingParameters]:
    """The smallest sigma that meets (epsilon, delta), and one just below that does not."""
    guarantee(parameters, adjacency)
    with precision(_BITS):
        sigma = calibrated_sigma([_mu(replace(parameters, sigma=1.0), adjacency)], epsilon, delta)
    return replace(parameters, sigma=sigma.upper), replace(parameters, sigma=sigma.lower)


ACCOUNTANT = Accountant(
    "matrix-counting",
    "Continual counting by the square root of the running count, Gaussian noise",
    MatrixCountingParameters,
    guarantee,
    "sigma",
    _calibrate,
    Adjacency.BY_SENSITIVITY,
)
