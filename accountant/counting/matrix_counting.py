"""Accountant of continual counting by a factorised matrix with Gaussian noise.

Running counts of a stream x are released as B (C x + noise). B C is the matrix of running counts, and C is
its square root or the first bands of the square root. One user changes C x by a vector whose largest norm is
known, so the run is one Gaussian mechanism. This also holds for streams that depend on earlier releases. C is
lower triangular, so Gaussian noise on C x, one row after the other, is an adaptive Gaussian composition under
a fixed budget (docs/notes/counting.md).

Source: Fichtenberger, Henzinger and Upadhyay, Constant matters (ICML 2023); Kalinin and Lampert,
arXiv:2405.13763. The note proves the norm over patterns of participation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.sensitivity import Measured, contributed, contribution
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.gaussian_tree import calibrated_sigma, finite_mu
from dpproof.accountant.counting.sensitivity import (
    NONNEGATIVE,
    SIGNED,
    assumed,
    contributions,
    restarts,
    sensitivity,
)
from dpproof.accountant.counting.toeplitz import (
    MOST_LEAVES,
    SquareRoot,
    Strategy,
    banded_square_root,
    participation_norm,
)
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision

_BITS = 192
_RELEASED = "the noisy C x, and with it every running count"


@dataclass(frozen=True)
class MatrixCountingParameters(Measured):
    """Parameters of a matrix counter: the length of the stream, the Gaussian noise, and what one user may contribute.

    >>> MatrixCountingParameters(leaves=16, sigma=1.0, bands=17)
    Traceback (most recent call last):
    ValueError: bands (17) must be at most leaves (16)
    """

    leaves: int = parameter(Integers(1, MOST_LEAVES), "leaves", "length of the stream")
    sigma: float = parameter(
        Reals(0, lower_open=True), "count", "standard deviation of the noise on each entry of C x", safer=1
    )
    bands: int | None = parameter(Integers(1), "bands", "leading coefficients kept; all without it", None)
    sensitivity: float | None = sensitivity()
    participations: int = parameter(Integers(1), "leaves", "leaves that one user moves", 1)
    separation: int = parameter(
        Integers(1), "leaves", "least distance between leaves of one user within one run", 1
    )
    restarts: int = restarts("runs")
    contributions: str = contributions()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bands is not None and self.bands > self.leaves:
            raise ValueError(f"bands ({self.bands}) must be at most leaves ({self.leaves})")


def strategy_of(parameters: MatrixCountingParameters) -> Strategy:
    """Return the factorisation B C of the running-count matrix that these parameters choose.

    For a stream x, the counter releases B (C x + noise). C is the square root of the running-count matrix, or
    the first bands of the square root.

    >>> strategy_of(MatrixCountingParameters(16, 1.0, bands=3)).bands
    3
    """
    if parameters.bands is None:
        return SquareRoot(parameters.leaves)
    return banded_square_root(parameters.leaves, parameters.bands)


def account(
    parameters: MatrixCountingParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee: Gaussian DP with mu = norm * sensitivity / sigma.

    x is the stream, and noise is added to C x, where C is a factor of the running-count matrix. norm is the
    largest L2 norm of one user's change of C x, if the user changes each entry of x by at most 1.
    ``add-remove``: without the user, the user contributes 0, and the others' entries stay in place. A pair of
    streams attains mu. ``replace``: the user may have other values, and at other entries. If values may have
    either sign, mu doubles. A pair of streams in which all values of the user have opposite signs attains
    this. If values are nonnegative, mu grows by at most the factor sqrt(2).

    >>> account(MatrixCountingParameters(16384, 10.0)).guarantee.epsilon("1e-6").upper
    0.851362

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
        ValueError: for a mu too large for double precision.
    """
    if adjacency not in _RELATIONS:
        known = ", ".join(relation.value for relation in _RELATIONS)
        raise UnprovedAdjacencyError("matrix-counting", adjacency, f"Use one of: {known}")
    with precision(_BITS):
        mu = finite_mu(_mu(parameters, adjacency), parameters.sigma)
    pair = "streams that differ as far as allowed at the leaves 1, 1 + separation, ..."
    attained = Attained(GaussianDP(mu), pair) if _changes(parameters, adjacency) != 2 else None
    return PrivacyResult(
        GaussianDP(mu),
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        "classic.matrix_counting",
        attained=attained,
        notes=assumed(parameters.contributions, adjacency),
        sensitivity=contribution(parameters, adjacency),
    )


_RELATIONS = (Adjacency.BY_SENSITIVITY, Adjacency.ADD_REMOVE, Adjacency.REPLACE)
_REPLACED = {SIGNED: 4, NONNEGATIVE: 2}


def _changes(parameters: MatrixCountingParameters, adjacency: Adjacency) -> int:
    """Return the squared norm of a change, as a multiple of that of one user's contributions."""
    return _REPLACED[parameters.contributions] if adjacency is Adjacency.REPLACE else 1


def _mu(parameters: MatrixCountingParameters, adjacency: Adjacency) -> flint.arb:
    norm = participation_norm(strategy_of(parameters), parameters.participations, parameters.separation)
    scale = arb_of(contributed(parameters, adjacency) / exact(parameters.sigma))
    return (norm * (parameters.restarts + 1) * _changes(parameters, adjacency)).sqrt() * scale


def _calibrate(
    parameters: MatrixCountingParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[MatrixCountingParameters, MatrixCountingParameters]:
    """Return the smallest sigma that meets (epsilon, delta), and one just below it that does not."""
    account(parameters, adjacency)
    with precision(_BITS):
        sigma = calibrated_sigma([_mu(replace(parameters, sigma=1.0), adjacency)], epsilon, delta)
    return replace(parameters, sigma=sigma.upper), replace(parameters, sigma=sigma.lower)


ACCOUNTANT = Accountant(
    "matrix-counting",
    "Continual counting by the square root of the running count, Gaussian noise",
    MatrixCountingParameters,
    account,
    "sigma",
    _calibrate,
    Adjacency.BY_SENSITIVITY,
    example=MatrixCountingParameters(leaves=16, sigma=10.0, sensitivity=1.0),
)
