"""Compilation of functions by numba at their first call. The machine code is cached next to the source file.

numba renews the cache when the source file changes. It does not notice a change in another file whose
functions are inlined or called. So compiled functions that call each other are in one file, except
`environments.successors`. After a change of that file, delete the cache by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def njit(function: FunctionT) -> FunctionT:
    """Compile at the first call, without the interpreter lock and with IEEE arithmetic in source order."""
    return cast(FunctionT, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def borrowing(function: FunctionT) -> FunctionT:
    """Compile, like `njit`, a function that makes no arrays.

    It runs without reference counts, in half the time.

    The caller must keep a reference to every array that it passes. Compile a function that Python calls with
    a generator by `njit` instead: numba takes a reference to the generator, and this function would never
    release it.
    """
    made = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return cast(FunctionT, made)


def inlined(function: FunctionT) -> FunctionT:
    """Compile into every caller, so that the optimiser sees through the arrays. This is twice as fast."""
    made = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return cast(FunctionT, made)
