"""Probabilities of intervals under a normal distribution in double precision, with a proved relative error.

All of them use Mills' ratio R(y) = Q(y)/phi(y). Here Q is the upper tail and phi the density. R is computed
by its Taylor series around the largest entry below y in a table. The terms of the series bound the error.
Short intervals use a series without cancellation.
"""

from __future__ import annotations

import math

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cache, np
from dpproof.accountant.numbers.enclosures import precision

Floats = NDArray[np.float64]

_U = 2.0**-53
_NODES, _DEGREE, _END, _FEW = 32, 9, 40, 16
_ROOT = math.sqrt(2 * math.pi)
SMALLEST_MASS = 1e-290
"""Smaller probabilities are replaced by this number, with relative error 1: they are in [0, 2e-290]."""
_EMPTY = 60.0
"""From this distance on, the tail is below the smallest mass."""
_FAR = 1e8
"""From this distance on, every mass is far below the smallest one. Arguments are clipped to it."""
_FARTHEST = 1e100
"""From this distance on, logarithms of tails are clipped."""


@cache
def _row(j: int) -> tuple[float, ...]:
    """(-1)^n R^(n)(x) / n! at the node x = j/32, correct up to one ulp; R' = x R - 1.

    R^(n+1) = x R^(n) + n R^(n-1), so that a_n = (-1)^n R^(n)/n! has (n + 1) a_(n+1) = a_(n-1) - x a_n.
    """
    with precision(256):
        x = flint.arb(j) / _NODES
        ratio = (x * x / 2).exp() * (x / flint.arb(2).sqrt()).erfc() * (flint.arb.pi() / 2).sqrt()
        row = [ratio, 1 - x * ratio]
        for n in range(1, _DEGREE):
            row.append((row[n - 1] - x * row[n]) / (n + 1))
        return tuple(float(a) for a in row)


@cache
def _table() -> Floats:
    """The rows of all nodes as one array, with one column for each node."""
    return np.array([_row(j) for j in range(_NODES * _END + 1)]).T.copy()


def _mills(y: Floats) -> Floats:
    """R(y) for y >= 0, with relative error at most 4 u (docs/notes/loss_grid.md, section 1)."""
    node = np.minimum(np.floor(y * _NODES), _NODES * _END).astype(np.intp)
    d = np.minimum(y, float(_END)) - node / _NODES
    # The rows of a few nodes come sooner than the table.
    few = y.ndim == 1 and y.size <= _FEW
    table = np.array([_row(j) for j in node.tolist()]).reshape(-1, _DEGREE + 1).T if few else _table()
    place = np.arange(y.size) if few else node
    value = table[_DEGREE][place]
    for n in range(_DEGREE - 1, -1, -1):
        value = np.asarray(table[n][place] - d * value)
    far = y > _END
    if far.any():
        value[far] = _mills_far(y[far])
    return np.asarray(value)


def _mills_far(y: Floats) -> Floats:
    """R(y) = (1 - y^-2 + 3 y^-4 - 15 y^-6 + ...)/y. Its terms bound the error; the 7th is below 1e-17 at 40."""
    s = 1 / (y * y)
    series = 1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s)))))
    return np.asarray(series / y)


def _density(y: Floats) -> Floats:
    """phi(y) with relative error at most 22 u for |y| <= 40.

    y = t + r with t^2 exact, and y^2 = t^2 + r (y + t).
    """
    t = np.rint(y * 16) / 16
    return np.asarray(np.exp(t * t / -2) * np.exp((y - t) * (y + t) / -2) / _ROOT)


_TAIL_ERROR, _SHORT_ERROR = 28 * _U, 48 * _U


def upper_tail(y: Floats) -> Floats:
    """Return Q(y) = P(N(0,1) >= y) with relative error at most 28 u, where u is 2^-53.

    A value below ``SMALLEST_MASS`` is replaced by ``SMALLEST_MASS``.

    >>> float(upper_tail(np.array([1.0]))[0])
    0.15865525393145705

    Source: this project, docs/notes/loss_grid.md, section 1.
    """
    a = np.minimum(np.abs(y), _EMPTY)
    tail = np.maximum(_density(a) * _mills(a), SMALLEST_MASS)
    return np.asarray(np.where(y < 0, 1 - tail, tail))


def log_upper_tail(y: Floats) -> tuple[Floats, Floats]:
    """Return log Q(y), and bounds on its absolute errors, for every y up to 1e100.

    For y >= 0, log Q(y) is -y^2/2 plus the logarithm of Mills' ratio over the root of 2 pi. Each logarithm errs
    by 8 u of its size, the ratio by 4 u, and every other operation by u.

    >>> value, error = log_upper_tail(np.array([100.0]))
    >>> round(float(value[0]), 6), float(error[0]) < 1e-11
    (-5005.524209, True)
    """
    a = np.minimum(np.abs(y), _FARTHEST)
    mills = np.log(_mills(a) / _ROOT)
    far = mills - a * a / 2
    near = np.log1p(-upper_tail(a))
    value = np.where(y < 0, near, far)
    far_error = _U * (2 * a * a + 10 * np.abs(mills) + 10)
    return value, np.where(y < 0, 1.01 * (2 * _TAIL_ERROR + 10 * _U) * np.exp(-a * a / 2) + 1e-289, far_error)


def interval_masses(edges: Floats, shift: tuple[float, float] = (0.0, 0.0)) -> tuple[Floats, Floats]:
    """Return the probabilities that N(shift, 1) is below the first edge, between two edges, or above the last one.

    Also return proved relative errors.

    Args:
        edges: increasing doubles, which may be infinite.
        shift: the mean as a double, and a bound on its absolute error. The returned errors cover the error of
            the mean.

    >>> masses, errors = interval_masses(np.array([-1.0, 1.0]))
    >>> [round(float(m), 12) for m in masses], float(errors.max()) < 1e-14
    ([0.158655253931, 0.682689492137, 0.158655253931], True)

    Source: this project, docs/notes/loss_grid.md, section 1.
    """
    edges = np.clip(edges, -_FAR, _FAR)
    masses, errors = np.empty(len(edges) + 1), np.empty(len(edges) + 1)
    ends = np.array([shift[0] - edges[0], edges[-1] - shift[0]])
    masses[[0, -1]] = upper_tail(ends)
    errors[[0, -1]] = _TAIL_ERROR + _by_moving(ends, shift[1] + _U * (np.abs(ends) + 1e-300))
    for start in range(0, len(edges) - 1, _BLOCK):
        block = slice(start + 1, start + 1 + len(edges[start + 1 : start + 1 + _BLOCK]))
        masses[block], errors[block] = _between(edges[start : start + 1 + _BLOCK], *shift)
    tiny = masses < 2 * SMALLEST_MASS
    masses[tiny], errors[tiny] = 2 * SMALLEST_MASS, 1.0
    return masses, errors


_BLOCK = 2**14
"""The number of cells that are computed at a time, so that they fit into the processor's cache."""


def _between(edges: Floats, place: float, off: float) -> tuple[Floats, Floats]:
    """Masses of N(place, 1) between the edges. Short cells use the series, and long cells a difference of tails."""
    half = np.diff(edges) / 2
    middle = (edges[:-1] + half) - place
    short = (half <= 1 / 16) & (np.abs(middle) * half <= 1 / 4) & (np.abs(middle) <= _END)
    if short.all():
        return _short_cells(middle, half, place, off)
    masses, errors = np.empty(len(half)), np.empty(len(half))
    masses[short], errors[short] = _short_cells(middle[short], half[short], place, off)
    y = edges - place
    moved = off + _U * (np.abs(y) + 1e-300)
    low, high, long = y[:-1], y[1:], ~short
    masses[long], errors[long] = _difference(low[long], high[long], np.maximum(moved[:-1], moved[1:])[long])
    return masses, errors


def _short_cells(m: Floats, u: Floats, place: float, off: float) -> tuple[Floats, Floats]:
    """Masses of the cells from m - u to m + u, with m relative to ``place``, and their relative errors."""
    size = np.abs(m)
    away = off + _U * (2 * size + abs(place) + u)
    return _density(m) * 2 * u * _series(m, u), _SHORT_ERROR + _by_moving(size + u, away)


def _by_moving(y: Floats, distance: Floats) -> Floats:
    """Bound the relative change of a mass near y if its interval moves by ``distance``, by Q'/Q <= y + 1."""
    return np.asarray(np.expm1(np.minimum((np.maximum(y, 0) + 1) * distance * 1.01, 50)))


def _series(m: Floats, u: Floats) -> Floats:
    """The mean of phi(m + t)/phi(m) over |t| <= u: the sum of He_n(m) u^n / (n + 1)! over even n up to 10."""
    x, v = m * u, u * u
    before, now = np.ones_like(m), x
    total = before.copy()
    for n in range(1, 10):
        before, now = now, x * now - n * v * before
        if n % 2:
            total += now / math.factorial(n + 2)
    return total


def _difference(low: Floats, high: Floats, moved: Floats) -> tuple[Floats, Floats]:
    """Q(low) - Q(high), reflected to the side where both tails are small, and its relative error."""
    flip = low + high < 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    far, near = upper_tail(b), upper_tail(a)
    mass = near - far
    error = (
        (near + far) * (_TAIL_ERROR + _U) + near * _by_moving(np.abs(a), moved) + far * _by_moving(b, moved)
    ) + SMALLEST_MASS  # what a tail may have been raised by
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(mass > 0, error / mass, 1.0)
    return np.where(relative < 0.5, mass, near), np.where(relative < 0.5, relative, 1.0)
