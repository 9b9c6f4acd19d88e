"""When an audit looks: at the ends of blocks that grow geometrically."""

from __future__ import annotations

import math
from collections.abc import Iterator

__all__ = ["block_sizes"]

FIRST, SMALLEST, GROWTH = 16, 8, 0.12
"""The first block sets thresholds only; a later one is this share of those before, at least the smallest."""


def block_sizes(budget: int, largest: int | None = None) -> Iterator[int]:
    """The sizes of the blocks of a stream of ``budget`` samples; they do not depend on the samples.

    ``largest`` keeps the blocks of mechanisms with long outputs small; it never cuts below `FIRST`.

    >>> list(block_sizes(100))[:3], sum(block_sizes(100))
    ([16, 8, 8], 100)
    """
    seen = 0
    while seen < budget:
        size = FIRST if seen == 0 else max(SMALLEST, math.ceil(GROWTH * seen))
        if largest is not None:
            size = min(size, max(largest, FIRST))
        size = min(size, budget - seen)
        seen += size
        yield size
