"""Compilation of functions by numba at their first call. The machine code is cached next to the source file.

numba renews the cache when the source file changes. It does not notice a change in another file whose
functions are inlined or called. So compiled functions that call each other are in one file. The one exception is
`environments.successors`. After a change of that file, delete the cache by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def njit(function: FunctionT) -> FunctionT:
    """Return ``function`` compiled by numba at its first call.

    The machine code releases Python's interpreter lock. It does IEEE arithmetic in the order of the source.
    """
    return cast(FunctionT, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def borrowing(function: FunctionT) -> FunctionT:
    """Return ``function`` compiled like `njit`. The function must not create arrays.

    The compiled code has no reference counts and takes half the time.

    The caller must keep a reference to every array that it passes. If Python passes a random generator to the
    function, use `njit` instead. The reason is that numba takes a reference to the generator, and the code made here
    never releases this reference.
    """
    made = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return cast(FunctionT, made)


def inlined(function: FunctionT) -> FunctionT:
    """Return ``function``, made so that numba copies its code into every compiled caller.

    The callers are twice as fast, because the optimiser sees how the arrays are used.
    """
    made = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return cast(FunctionT, made)
