"""Scores from products of two coordinates: correlations, norms, and directions in which the outputs spread.

A linear score does not see that two coordinates move together, or that all of them are a little larger. The products
of two standardised coordinates, and the squares among them, show both. These scores are fitted to earlier samples
like all others, so they only decide how fast a violation is found (docs/notes/audit_betting.md, Lemma 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import Floats, Ints, Learned, Scorer, flattened

MOST = 1 << 14
"""A fit uses at most this many of the latest samples."""
LIMIT = 256
"""Products of at most this many coordinates are compared. The coordinates whose squares differ most are chosen."""
KEPT = 32
"""The largest number of coordinates or products that a sparse score adds up."""
FARTHEST = 12.0
"""Standardised coordinates are clipped at this value, so that a few extreme ones do not decide all products."""
DIRECTIONS = 3
"""The number of directions in which the spread differs most that `Spread` adds up."""


@dataclass(frozen=True)
class SparseProjection(Learned):
    """A score that is a linear discriminant of the few coordinates whose means differ clearly.

    A coordinate is used if its means differ by more than the largest difference that is expected among so many
    coordinates without an effect. In many dimensions the score needs fewer samples than a discriminant of all
    coordinates, if the fault is in a few of them.
    """

    kind = "sparse projection"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples; 0 unless both labels occur twice."""
        x, y = flattened(outputs[-MOST:]), labels[-MOST:]
        if not _both(y):
            return _nothing
        standard = _Standard.of(x)
        z = standard(x)
        clear = _clear(_difference(z, z**2, y))
        discriminant = LinearDiscriminant(None).fit(z[:, clear], y)
        chosen = standard.only(clear)
        return lambda drawn: discriminant(chosen(flattened(drawn)))


@dataclass(frozen=True)
class Products(Learned):
    """A score that is a linear discriminant of the few products of two coordinates whose means differ clearly.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 4000)
    >>> outputs = rng.normal(size=(4000, 5))
    >>> outputs[:, 1] += outputs[:, 0] * labels
    >>> scores = Products().fit(outputs[:2000], labels[:2000])(outputs[2000:])
    >>> bool(scores[labels[2000:] == 1].mean() > scores[labels[2000:] == 0].mean())
    True
    """

    kind = "products"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples; 0 unless both labels occur twice."""
        x, y = flattened(outputs[-MOST:]), labels[-MOST:]
        if not _both(y):
            return _nothing
        standard = _Standard.of(x, y)
        z = standard(x)
        first, second = np.triu_indices(z.shape[1])
        clear = _clear(_product_difference(z, y)[first, second])
        first, second = first[clear], second[clear]
        discriminant = LinearDiscriminant(None).fit(z[:, first] * z[:, second], y)

        chosen, others = standard.only(first), standard.only(second)

        def scorer(drawn: NDArray[np.generic]) -> Floats:
            at = flattened(drawn)
            return discriminant(chosen(at) * others(at))

        return scorer


@dataclass(frozen=True)
class Norm(Learned):
    """A score that is the squared distance of an output from the centre, in units of the coordinates' spreads."""

    kind = "norm"
    oriented: bool = False

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores; the centre and the spreads come from the samples."""
        standard = _Standard.of(flattened(outputs[-MOST:]))

        def scorer(drawn: NDArray[np.generic]) -> Floats:
            z = standard(flattened(drawn))
            return np.asarray(np.einsum("ij,ij->i", z, z))

        return scorer


@dataclass(frozen=True)
class Spread(Learned):
    """A score from the directions along which the variances of the two inputs' outputs differ most.

    The score adds up the squared parts of an output along these directions, weighted by the difference of the two
    variances. It is the witness of a kernel that is the square of the scalar product, restricted to the largest
    eigenvalues of the difference.
    """

    kind = "spread"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples; 0 unless both labels occur twice."""
        x, y = flattened(outputs[-MOST:]), labels[-MOST:]
        if not _both(y):
            return _nothing
        standard = _Standard.of(x, y)
        z = standard(x)
        zero, one = (_covariance(z[y == label]) for label in (0, 1))
        directions, gaps = _directions(zero, one, len(z))
        return lambda drawn: (standard(flattened(drawn)) @ directions) ** 2 @ gaps


def _covariance(z: Floats) -> Floats:
    centred = z - z.mean(axis=0)
    return np.asarray(centred.T @ centred / len(z))


def _directions(zero: Floats, one: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the whitened directions with the largest difference of variances, and these differences."""
    share = len(zero) / (n + len(zero))
    values, vectors = np.linalg.eigh((zero + one) / 2 * (1 - share) + share * np.eye(len(zero)))
    whitening = vectors / np.sqrt(np.maximum(values, 1e-12))
    gaps, turned = np.linalg.eigh(whitening.T @ (one - zero) @ whitening)
    largest = np.argsort(-np.abs(gaps), kind="stable")[:DIRECTIONS]
    return whitening @ turned[:, largest], gaps[largest]


@dataclass(frozen=True)
class _Standard:
    """The standardisation of some coordinates: minus the centre, over the spread, clipped at `FARTHEST`."""

    columns: Ints
    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, x: Floats, labels: Ints | None = None) -> _Standard:
        """Return the standardisation; with labels, of the `LIMIT` coordinates whose squares differ most."""
        centre = np.median(x, axis=0)
        spread = np.sqrt(np.mean(np.minimum(np.abs(x - centre), 1e150) ** 2, axis=0))
        spread = np.where(spread > 0, spread, 1.0)
        every = cls(np.arange(x.shape[1]), centre, spread)
        if labels is None or x.shape[1] <= LIMIT:
            return every
        z = every(x) ** 2
        best = np.sort(np.argsort(-np.abs(_difference(z, z**2, labels)), kind="stable")[:LIMIT])
        return cls(best, centre[best], spread[best])

    def only(self, places: Ints) -> _Standard:
        """Return the standardisation of the coordinates at these places."""
        return _Standard(self.columns[places], self.centre[places], self.spread[places])

    def __call__(self, x: Floats) -> Floats:
        """Return the standardised coordinates."""
        found = x[:, self.columns]
        found -= self.centre  # in place, which is several times faster
        found /= self.spread
        return np.clip(found, -FARTHEST, FARTHEST, out=found)


def _both(labels: Ints) -> bool:
    return bool(np.bincount(labels, minlength=2).min() >= 2)


def _nothing(drawn: NDArray[np.generic]) -> Floats:
    return np.zeros(len(drawn))


def _difference(x: Floats, squares: Floats, labels: Ints) -> Floats:
    """Return the difference of the two means of each column, in estimated standard deviations."""
    means = [x[labels == b].mean(axis=0) for b in (0, 1)]
    return _in_deviations(means, [squares[labels == b].mean(axis=0) for b in (0, 1)], labels)


def _product_difference(z: Floats, labels: Ints) -> Floats:
    """Return the difference of the two mean products of each pair of columns, in estimated standard deviations."""
    parts = [z[labels == b] for b in (0, 1)]
    means, squares = ([part.T @ part / len(part) for part in kept] for kept in (parts, [p**2 for p in parts]))
    return _in_deviations(means, squares, labels)


def _in_deviations(means: list[Floats], squares: list[Floats], labels: Ints) -> Floats:
    sizes = np.bincount(labels, minlength=2)
    variance = sum(np.maximum(s - m**2, 0.0) / n for s, m, n in zip(squares, means, sizes, strict=True))
    gap = means[1] - means[0]
    return np.asarray(gap / np.sqrt(variance + 1e-12 * gap**2 + 1e-300))


def _clear(deviations: Floats) -> Ints:
    """Return the places of the largest differences that chance does not explain: at least 1, at most `KEPT`."""
    size = np.abs(deviations)
    order = np.argsort(-size, kind="stable")[:KEPT]
    return np.sort(order[: max(1, int((size[order] >= np.sqrt(2 * np.log(max(size.size, 2)))).sum()))])
