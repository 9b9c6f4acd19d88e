"""The time budget of audits, checked before every call of a mechanism and after every block of samples.

A Python function that is running cannot be stopped; the audit waits until it returns. A request to an external
program is stopped when the time is over. An audit that is stopped claims nothing, so stopping needs no share of the
error probability.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)

_SHARE: ContextVar[float] = ContextVar("share", default=math.inf)

OPTIONAL = 0.75
"""Optional work gets at most this share of the remaining time. The rest is for the work that must follow."""

_LAST: ContextVar[int | None] = ContextVar("last", default=None)


class OutOfTimeError(BaseException):
    """Raised when the time budget is spent. It is not an `Exception`, so it never counts as an output.

    Attributes:
        during: the part of the audit in which the time ended.
        left: the parts of the audit that were left out, as a text.
    """

    during, left = "", ""

    def __init__(self) -> None:
        super().__init__("The time budget is spent.")

    def __reduce__(self) -> tuple[type[OutOfTimeError], tuple[()]]:
        """Return the data for pickling, so that worker processes can raise this exception."""
        return OutOfTimeError, ()


@contextmanager
def during(part: str, left: str) -> Iterator[None]:
    """Add ``part`` and ``left`` to an `OutOfTimeError` that is raised in the ``with`` block.

    >>> try:
    ...     with during("the search", "the audit"):
    ...         raise OutOfTimeError
    ... except OutOfTimeError as error:
    ...     error.during
    'the search'
    """
    try:
        yield
    except OutOfTimeError as error:
        if not error.during:
            error.during, error.left = part, left
        raise


@contextmanager
def ending_at(until: float | None) -> Iterator[None]:
    """Let audits in the ``with`` block raise `OutOfTimeError` at the time ``until`` of ``time.monotonic``.

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
def one_of(waiting: int) -> Iterator[None]:
    """Limit optional work in the ``with`` block to an equal share of the remaining time.

    Args:
        waiting: the number of jobs that have the remaining time together, with the one in the ``with`` block.

    >>> with ending_at(time.monotonic() + 60), one_of(3), optional():
    ...     time_left() <= 20
    True
    """
    before = _SHARE.set(min(_SHARE.get(), time.monotonic() + time_left() / waiting))
    try:
        yield
    finally:
        _SHARE.reset(before)


@contextmanager
def optional() -> Iterator[None]:
    """Limit optional work to three quarters of the remaining time, and to the share that `one_of` sets.

    >>> with ending_at(time.monotonic() + 60), optional():
    ...     time_left() <= 45
    True
    """
    with ending_at(min(_SHARE.get(), time.monotonic() + OPTIONAL * time_left())):
        yield


@contextmanager
def ending_where(last: int | None) -> Iterator[None]:
    """Let audits in the ``with`` block end after ``last`` samples if they have refuted their claim by then.

    A replay uses this limit to stop where the time budget stopped the original audit.

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
    """Return the number of samples after which the time budget ended the replayed audit; None if it did not."""
    return _LAST.get()


def time_left() -> float:
    """Return the remaining seconds; infinity if there is no time budget."""
    until = _UNTIL.get()
    return math.inf if until == math.inf else until - time.monotonic()


def check_time() -> None:
    """Raise an error if the time budget is spent.

    Raises:
        OutOfTimeError: the time budget is spent.
    """
    if time_left() <= 0:
        raise OutOfTimeError
