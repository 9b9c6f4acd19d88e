"""Progress reports of an audit to an observer; they do not affect the result."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], None]
"""A callback that receives the number of samples drawn so far and the budget."""
QUIET, WIDTH = 3.0, 60
"""The seconds before the progress line appears, and the width of the line in characters."""
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def watcher() -> Watcher | None:
    """Return the callback that is told about drawn samples in this context; None if there is none."""
    return _WATCHER.get()


@contextmanager
def watched(tell: Watcher) -> Iterator[None]:
    """Call ``tell`` for every block of samples that audits draw in the ``with`` block.

    If an audit searches among several pairs, each pair has a count of its own.

    >>> from dpproof.audits.engine.sampling.blocks import draw_blocks
    >>> from dpproof.audits.data.pairs import Neighbours
    >>> bits, seen = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1"), []
    >>> with watched(lambda drawn, budget: seen.append((drawn, budget))):
    ...     drawn = list(draw_blocks(lambda value, n, rng: rng.random(n), bits, 0, 12, None))
    >>> seen
    [(10, 12), (12, 12)]
    """
    before = _WATCHER.set(tell)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@contextmanager
def on_screen() -> Iterator[None]:
    """Show how many samples the ``with`` block has drawn: a line on standard error, in a terminal or notebook.

    The line appears after `QUIET` seconds, and is removed at the end. Nothing is shown inside `watched`.
    """
    if watcher() is not None or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    next_line = [time.monotonic() + QUIET]

    def tell(drawn: int, budget: int) -> None:
        if time.monotonic() >= next_line[0]:
            next_line[0] = time.monotonic() + 1
            print(f"\r{drawn} of at most {budget} samples ", end="", file=sys.stderr, flush=True)

    started = next_line[0]
    try:
        with watched(tell):
            yield
    finally:
        if next_line[0] != started:
            print(f"\r{' ' * WIDTH}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def counting() -> Iterator[list[int]]:
    """Give a list that counts the samples drawn in the ``with`` block, one number for each stream."""
    counts: list[int] = []
    tell = watcher()

    def count(drawn: int, budget: int) -> None:
        if counts and drawn > counts[-1]:
            counts[-1] = drawn
        else:
            counts.append(drawn)
        if tell is not None:
            tell(drawn, budget)

    with watched(count):
        yield counts
