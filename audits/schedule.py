"""When an audit looks: at the ends of blocks that grow geometrically."""

from __future__ import annotations

import math
from collections.abc import Iterator

__all__ = ["block_sizes"]

FIRST, SMALLEST = 8, 2
"""The first block sets thresholds only; later ones hold at least the smallest number."""
FINE, COARSE, MANY = 0.03, 0.12, 30_000
"""A block is this share of the samples before it, the coarse one once there are many: looks cost time."""


def block_sizes(budget: int, largest: int | None = None) -> Iterator[int]:
    """The sizes of the blocks of a stream of ``budget`` samples; they do not depend on the samples.

    ``largest`` keeps the blocks of mechanisms with long outputs small; it never cuts below `FIRST`.

    >>> list(block_sizes(100))[:3], sum(block_sizes(100))
    ([8, 2, 2], 100)
    """
    seen = 0
    while seen < budget:
        size = FIRST if seen == 0 else max(SMALLEST, math.ceil((FINE if seen < MANY else COARSE) * seen))
        if largest is not None:
            size = min(size, max(largest, FIRST))
        size = min(size, budget - seen)
        seen += size
        yield size
