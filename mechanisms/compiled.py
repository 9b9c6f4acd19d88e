"""Compilation of functions by numba at their first call; the machine code is kept beside their file.

The kept code is renewed when its own file changes, but not when another file changes whose functions it inlines
or calls. So compiled functions that call each other are in one file, except `environments.successors`. Whoever
changes that file deletes the kept code.
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
    """Compile, like `njit`, a function that makes no arrays, without reference counts; a run takes half the time.

    Arrays it is given are borrowed: their caller holds them. A generator taken from Python would never be
    given back (numba takes a reference when it unboxes one): whoever takes one is compiled by `njit`.
    """
    made = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return cast(FunctionT, made)


def inlined(function: FunctionT) -> FunctionT:
    """Compile into every caller, so that the optimiser sees through the arrays; twice as fast."""
    made = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return cast(FunctionT, made)
