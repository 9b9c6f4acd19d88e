"""The schedule of an audit's checks: rare while the wealth is far from refuting, frequent when it is close."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

FIRST = 10
"""The first block sets thresholds only."""
SHARES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
"""A block is one of these shares of the samples before it."""
SINGLY = 256
"""From so many samples on a block's size is settled one block ahead; sooner, that would cost samples."""
AHEAD = 8
"""At most so many blocks are drawn at once."""
PATIENCE = 0.4
"""At most this share of the samples that the wealth seems to lack is drawn before the next look."""
ENTRY = 4.0
"""About so many nats are lost to begin with: what the wealth has earned is counted from there."""


class Pace:
    """The distance to the next check of the wealth: smaller when the wealth is closer to refuting.

    It is told of earlier blocks alone, so the size of a block does not depend on its samples
    (docs/notes/audit_betting.md, Lemma 2).

    Attributes:
        share: of the samples so far; the next block is to hold so many.
    """

    def __init__(self) -> None:
        self.share = SHARES[0]

    def heed(self, log_wealth: float, hurdle: float) -> None:
        """Set the share, assuming that the wealth continues to grow as it has grown so far."""
        earned = max(log_wealth + ENTRY, 1e-9)
        wanted = PATIENCE * (hurdle - log_wealth) / earned
        self.share = next((share for share in SHARES if share <= wanted), SHARES[-1])


@dataclass(frozen=True)
class Blocks:
    """The sizes of the blocks of a stream, and of those that may be drawn ahead with each block.

    From `SINGLY` samples on the size of a block is settled before the block before it is drawn, so that two
    can always be drawn at once. More are foretold where blocks have come to be the largest at the first pace,
    which seldom changes then. Whoever draws fewer ahead sees the same sizes.

    Args:
        budget: samples in all.
        pace: may change from block to block.
        largest: the largest block; it never cuts below `FIRST`.
        smallest: the smallest but the last, for mechanisms that are dear to call.

    >>> blocks = Blocks(100)
    >>> [sizes[0] for sizes in blocks]
    [10, 10, 20, 40, 20]
    >>> blocks.pace.heed(4.0, 4.6)
    >>> [sizes[0] for sizes in blocks][:4]
    [10, 1, 1, 1]
    """

    budget: int
    pace: Pace = field(default_factory=Pace)
    largest: int = 1 << 62
    smallest: int = 1

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The size of the next block, of the one after it, and of more that are likely."""
        seen, size = 0, self._after(0)
        while size:
            seen += size
            foretold = self._foretold(seen)
            yield (size, *foretold)
            size = foretold[0] if foretold else self._after(seen)

    def _foretold(self, seen: int) -> list[int]:
        """The sizes of the blocks after that many samples: none yet, the next one, or as many as are likely."""
        if seen < SINGLY:
            return []
        following = self._after(seen)
        likely = following >= self.largest and self.pace.share == SHARES[0]
        places = range(AHEAD - 1 if likely else 1)
        return [size for place in places if (size := self._after(seen + place * following))]

    def _after(self, seen: int) -> int:
        """The size of the block after that many samples, at the present pace; 0 when all are spent."""
        size = max(self.smallest, math.ceil(self.pace.share * seen) if seen else FIRST)
        return max(0, min(size, max(self.largest, FIRST), self.budget - seen))
