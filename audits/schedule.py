"""When an audit looks: at the ends of blocks that grow geometrically."""

from __future__ import annotations

import math
from collections.abc import Iterator

__all__ = ["block_sizes"]

FIRST, SMALLEST = 10, 1
"""The first block sets thresholds only; later ones hold at least the smallest number."""
FINE, COARSE, MANY = 0.018, 0.16, 250
"""A block is the fine share of the few samples before it; the share grows with the root of their number, in
units of `MANY`, up to the coarse one. Looks cost time, and late ones save few samples for each."""


def block_sizes(budget: int, largest: int | None = None, smallest: int = SMALLEST) -> Iterator[int]:
    """The sizes of the blocks of a stream of ``budget`` samples; they do not depend on the samples.

    ``largest`` keeps the blocks of mechanisms with long outputs small; it never cuts below `FIRST`.
    ``smallest`` spares mechanisms that are dear to call.

    >>> list(block_sizes(100))[:3], sum(block_sizes(100))
    ([10, 1, 1], 100)
    """
    seen = 0
    while seen < budget:
        size = max(smallest, math.ceil(_share(seen) * seen) if seen else FIRST)
        if largest is not None:
            size = min(size, max(largest, FIRST))
        size = min(size, budget - seen)
        seen += size
        yield size


def _share(seen: int) -> float:
    return min(COARSE, FINE * math.sqrt(1 + seen / MANY))
