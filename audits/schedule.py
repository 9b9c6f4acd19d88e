"""When an audit looks: seldom while its wealth is far from what refutes, often once that is near."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Blocks", "Pace"]

FIRST = 10
"""The first block sets thresholds only."""
SHARES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
"""A block is one of these shares of the samples before it."""
PATIENCE = 0.44
"""At most this share of the samples that the wealth seems to lack is drawn before the next look."""
ENTRY = 4.0
"""About so many nats are lost to begin with: what the wealth has earned is counted from there."""


class Pace:
    """How soon to look again: the nearer the wealth is to what refutes, the sooner.

    It is told of earlier blocks alone, so the size of a block does not depend on its samples
    (docs/notes/audit_betting.md, Lemma 2).

    Attributes:
        share: of the samples so far; the next block is to hold so many.
    """

    def __init__(self) -> None:
        self.share = SHARES[0]

    def heed(self, log_wealth: float, hurdle: float) -> None:
        """Set the share, supposing that the wealth goes on to grow as it has grown so far."""
        earned = max(log_wealth + ENTRY, 1e-9)
        wanted = PATIENCE * (hurdle - log_wealth) / earned
        self.share = next((share for share in SHARES if share <= wanted), SHARES[-1])


@dataclass(frozen=True)
class Blocks:
    """The sizes of the blocks of a stream.

    Args:
        budget: samples in all.
        pace: may change from block to block.
        largest: the largest block; it never cuts below `FIRST`.
        smallest: the smallest but the last, for mechanisms that are dear to call.

    >>> blocks = Blocks(100)
    >>> list(blocks)[:4], sum(blocks)
    ([10, 10, 20, 40], 100)
    >>> blocks.pace.heed(4.0, 4.6)
    >>> list(blocks)[:4]
    [10, 1, 1, 1]
    """

    budget: int
    pace: Pace = field(default_factory=Pace)
    largest: int = 1 << 62
    smallest: int = 1

    def after(self, seen: int) -> int:
        """The size of the block after so many samples, at the pace of the moment; 0 when all are spent."""
        size = max(self.smallest, math.ceil(self.pace.share * seen) if seen else FIRST)
        return min(size, max(self.largest, FIRST), self.budget - seen)

    def __iter__(self) -> Iterator[int]:
        seen = 0
        while size := self.after(seen):
            seen += size
            yield size
