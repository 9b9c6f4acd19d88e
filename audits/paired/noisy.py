"""Numbers with noise that has not been released yet: an offset plus a factor times a draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dpproof.audits.paired.trace import Draw, Family, Trace, here

MIRRORED = {
    np.less: np.greater,
    np.less_equal: np.greater_equal,
    np.greater: np.less,
    np.greater_equal: np.less_equal,
}


class Noisy(NDArrayOperatorsMixin):
    """An array ``offset + factor * noise``. Sums and multiples stay of this form; any other use releases it.

    In a replay, the released numbers are those of the recorded run.
    """

    def __init__(
        self, trace: Trace, draw: Draw, noise: Any, ids: Any, offset: Any, factor: Any, added: bool
    ) -> None:
        self._trace, self._draw, self._noise, self._ids = trace, draw, noise, ids
        self._offset, self._factor, self._added = offset, factor, added

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return np.shape(self._noise)

    def __len__(self) -> int:
        return len(self._noise)

    def __getitem__(self, where: Any) -> Noisy:
        shape = self.shape
        offset, factor = (np.broadcast_to(one, shape)[where] for one in (self._offset, self._factor))
        return Noisy(
            self._trace, self._draw, self._noise[where], self._ids[where], offset, factor, self._added
        )

    def __iter__(self) -> Iterator[Noisy]:
        return (self[place] for place in range(len(self)))

    def _moved(self, offset: Any, factor: Any, added: bool) -> Noisy:
        shape = np.broadcast_shapes(np.shape(offset), np.shape(factor), self.shape)
        noise, ids = (np.broadcast_to(one, shape) for one in (self._noise, self._ids))
        return Noisy(self._trace, self._draw, noise, ids, offset, factor, added or self._added)

    def release(self) -> Any:
        """Return the numbers, which count as released from now on."""
        shape = self.shape
        if not self._added:
            self._draw.escaped = self._draw.escaped or here()
            return _scalar(np.asarray(self._noise * self._factor + self._offset))
        listed = (np.broadcast_to(one, shape) for one in (self._offset, self._factor))
        offset, factor = (np.asarray(one, float).ravel() for one in listed)
        ids, noise = np.ravel(self._ids), np.ravel(self._noise)
        found = [
            self._one(int(ids[at]), float(offset[at]), float(factor[at]), float(noise[at]))
            for at in range(ids.size)
        ]
        return _scalar(np.array(found).reshape(shape))

    def _one(self, at: int, offset: float, factor: float, noise: float) -> float:
        """Return one released number: a recorded one, or one that follows from an earlier release of the noise."""
        draw, trace = self._draw, self._trace
        if at in draw.released:
            first, scaled = draw.values[at]
            again = draw.released[at]
            return offset + factor / scaled * (again - first) if scaled else offset + factor * noise
        draw.values[at] = (offset, factor)
        out = offset + factor * noise
        if trace.before is not None:
            out = trace.before.draws[trace.draws.index(draw)].released.get(at, out)
        draw.released[at] = out
        return out

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", (None,))[0]
        if out is self:  # x += y
            out, options = None, {}
        if method == "__call__" and set(options) <= {"out"}:
            found = self._affine(function, inputs)
            if found is not NotImplemented and out is None:
                return found
            if found is not NotImplemented:  # array += noise
                out[...] = resolved(found)
                return out
        plain = [one.release() if isinstance(one, Noisy) else one for one in inputs]
        return getattr(function, method)(*plain, **options)

    def _affine(self, function: Any, inputs: tuple[Any, ...]) -> Any:
        """Return a sum or a multiple in the same form, or the outcome of a comparison with a uniform number."""
        if function is np.negative:
            return self._moved(-self._offset, -self._factor, False)
        if len(inputs) != 2:
            return NotImplemented
        left, right = inputs
        if isinstance(left, Noisy) and isinstance(right, Noisy):
            if function not in MIRRORED and left is not right:
                for one in (left, right):
                    one._draw.escaped = one._draw.escaped or here()
            return NotImplemented
        other, first = (right, True) if left is self else (left, False)
        if function in MIRRORED and self._draw.family is Family.UNIFORM and not self._added:
            return self._coin(function if first else MIRRORED[function], other)
        if np.asarray(other).dtype.kind not in "biuf":
            return NotImplemented
        return self._sum(function, other, first)

    def _sum(self, function: Any, other: Any, first: bool) -> Any:
        if self._draw.family in (Family.UNIFORM, Family.OTHER):
            return NotImplemented
        other = np.asarray(other, float)
        if function is np.add:
            return self._moved(self._offset + other, self._factor, True)
        if function is np.subtract:
            sign = 1 if first else -1
            return self._moved(sign * (self._offset - other), sign * self._factor, True)
        if function is np.multiply:
            return self._moved(self._offset * other, self._factor * other, False)
        if function is np.true_divide and first:
            return self._moved(self._offset / other, self._factor / other, False)
        return NotImplemented

    def _coin(self, function: Any, threshold: Any) -> Any:
        """Return whether the uniform number is on one side of a threshold, as in the recorded run."""
        draw, trace = self._draw, self._trace
        limits = np.broadcast_to(np.asarray(threshold, float), self.shape)
        below = function in (np.less, np.less_equal)
        out = np.asarray(function(self._noise, limits))
        if trace.before is not None:
            old = trace.before.draws[trace.draws.index(draw)]
            flat = [
                old.released.get(int(at), bool(one))
                for at, one in zip(np.ravel(self._ids), out.ravel(), strict=True)
            ]
            out = np.array(flat, bool).reshape(out.shape)
        for at, limit, one in zip(np.ravel(self._ids), limits.ravel(), out.ravel(), strict=True):
            if int(at) in draw.released:
                draw.escaped = draw.escaped or here()
            draw.values[int(at)] = (float(limit if below else 1 - limit), 1.0)
            draw.released[int(at)] = bool(one)
        return bool(out) if out.ndim == 0 else out

    def argmax(self, axis: Any = None) -> Any:
        """Return the place of the largest number, without a release of the numbers."""
        return self._selected(1, axis)

    def argmin(self, axis: Any = None) -> Any:
        """Return the place of the smallest number, without a release of the numbers."""
        return self._selected(-1, axis)

    def _selected(self, sign: int, axis: Any) -> Any:
        draw, trace = self._draw, self._trace
        if axis is not None or draw.released or not self._added or np.size(self._ids) < 2:
            return (
                np.asarray(self.release()).argmax(axis)
                if sign > 0
                else np.asarray(self.release()).argmin(axis)
            )
        scores = np.broadcast_to(np.asarray(self._offset, float), self.shape).ravel()
        factor = np.broadcast_to(np.asarray(self._factor, float), self.shape).ravel()
        draw.scores, draw.values = sign * scores, {0: (0.0, float(factor[0]))}
        picked = int(np.argmax(sign * (scores + factor * np.ravel(self._noise))))
        old = None if trace.before is None else trace.before.draws[trace.draws.index(draw)]
        draw.picked = picked if old is None or old.picked is None else old.picked
        return draw.picked

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in (np.argmax, np.argmin) and args and args[0] is self and not options:
            return self.argmax() if function is np.argmax else self.argmin()
        return function(*resolved(args), **resolved(options))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.asarray(self.release(), dtype)

    def __float__(self) -> float:
        return float(self.release())

    def __int__(self) -> int:
        return int(self.release())

    def __bool__(self) -> bool:
        return bool(self.release())

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits) if digits is not None else round(float(self))

    def __format__(self, how: str) -> str:
        return format(self.release(), how)

    def __repr__(self) -> str:
        return repr(self.release())

    __hash__ = None  # type: ignore[assignment]  # as an array

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self.release()), name)


def _scalar(found: NDArray[Any]) -> Any:
    return found[()] if found.ndim == 0 else found


def resolved(value: Any) -> Any:
    """Return a value in which all numbers with noise are released."""
    if isinstance(value, Noisy):
        return value.release()
    if isinstance(value, dict):
        return {key: resolved(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(resolved(one) for one in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([resolved(one) for one in value.ravel().tolist()]).reshape(value.shape)
    return value


def drawn(trace: Trace, family: Family, name: str, noise: Any, scale: Any, loc: Any) -> Any:
    """Return a fresh draw as an array with noise.

    ``noise`` has scale 1. ``loc`` is the number that the primitive itself adds, None if it adds none.
    """
    noise = np.asarray(noise)
    made = Draw(family, name, (f"shape {noise.shape}",), here())
    trace.draw(made)
    ids = np.arange(noise.size).reshape(noise.shape)
    offset, factor = (
        np.broadcast_to(np.asarray(0 if one is None else one, float), noise.shape) for one in (loc, scale)
    )
    return Noisy(trace, made, noise, ids, offset, factor, loc is not None and bool(np.any(offset)))
