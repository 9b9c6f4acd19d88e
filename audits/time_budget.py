"""The time that audits in here may take: looked at before every call of a mechanism and after every block.

A call of somebody's function cannot be ended from outside: it is over when it returns. A request to a program
is: it may take no longer than what is left. Stopping is no finding, so that it needs no share of the error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)

_LAST: ContextVar[int | None] = ContextVar("last", default=None)


class OutOfTimeError(BaseException):
    """The time budget is spent; no `Exception`, so that nothing takes it for an output of a mechanism."""

    def __init__(self) -> None:
        super().__init__("the time budget is spent")

    def __reduce__(self) -> tuple[type[OutOfTimeError], tuple[()]]:
        """Make the exception one that can be pickled, so that worker processes can raise it."""
        return OutOfTimeError, ()


@contextmanager
def ending_at(until: float | None) -> Iterator[None]:
    """Let audits in here end with `OutOfTimeError` at ``until``, on the clock of ``time.monotonic``.

    >>> with ending_at(time.monotonic() + 60):
    ...     0 < time_left() <= 60
    True
    >>> time_left()
    inf
    """
    before = _UNTIL.set(_UNTIL.get() if until is None else min(until, _UNTIL.get()))
    try:
        yield
    finally:
        _UNTIL.reset(before)


@contextmanager
def ending_where(last: int | None) -> Iterator[None]:
    """Let audits in here that have refuted their claim end after so many samples, as time ended them once.

    >>> with ending_where(500):
    ...     last_sample()
    500
    """
    before = _LAST.set(last)
    try:
        yield
    finally:
        _LAST.reset(before)


def last_sample() -> int | None:
    """The sample after which an audit that is run again was ended by its time; None if it was not."""
    return _LAST.get()


def time_left() -> float:
    """The seconds that are left, of infinitely many where nobody said."""
    until = _UNTIL.get()
    return math.inf if until == math.inf else until - time.monotonic()


def check_time() -> None:
    """End what runs if its time is spent.

    Raises:
        OutOfTimeError: it is.
    """
    if time_left() <= 0:
        raise OutOfTimeError
