"""The schedule of an audit: how many samples it draws before it next checks whether the claim is refuted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

FIRST = 10
"""The number of samples in the first block, which is used to set thresholds and not bet on."""
SHARES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
"""The size of a block is one of these shares of the number of samples before it."""
SINGLY = 256
"""From this number of samples on, the size of a block is fixed before the previous block is drawn."""
AHEAD = 8
"""The largest number of blocks that are drawn at once."""
PATIENCE = 0.4
"""The next check comes after at most this share of the samples that seem to be missing for a refutation."""
ENTRY = 4.0
"""The log wealth of the bets falls by about this much at the start. Growth is measured from this lower value."""


class Pace:
    """A rule for the size of the next block of samples: smaller when the bets are closer to refuting the claim.

    The rule sees only earlier blocks, so the size of a block does not depend on its own samples
    (docs/notes/audit_betting.md, Lemma 2).

    Attributes:
        share: the size of the next block, as a share of the samples so far.
    """

    def __init__(self) -> None:
        self.share = SHARES[0]

    def heed(self, log_wealth: float, hurdle: float) -> None:
        """Set ``share`` from the log wealth of the bets. A log wealth of ``hurdle`` refutes the claim."""
        earned = max(log_wealth + ENTRY, 1e-9)
        wanted = PATIENCE * (hurdle - log_wealth) / earned
        self.share = next((share for share in SHARES if share <= wanted), SHARES[-1])


@dataclass(frozen=True)
class Blocks:
    """The sizes of an audit's blocks of samples, each with the sizes of the blocks that may be drawn ahead.

    After the first `SINGLY` samples, the size of a block is fixed before the previous block is drawn. So two blocks
    can always be drawn at once. More blocks may be drawn ahead if blocks have the largest size and the ``share`` of
    the pace is 1. The sizes do not depend on how many blocks are drawn ahead.

    Args:
        budget: the total number of samples.
        pace: the rule for the size of the next block. Its ``share`` may change from block to block.
        largest: the largest size of a block. A value below `FIRST` is replaced by `FIRST`.
        smallest: the smallest size of a block, for mechanisms that are expensive to call. Only the last block may be
            smaller.

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
        """Generate for each block its size and the sizes of the blocks that may be drawn ahead with it."""
        seen, size = 0, self._after(0)
        while size:
            seen += size
            foretold = self._foretold(seen)
            yield (size, *foretold)
            size = foretold[0] if foretold else self._after(seen)

    def _foretold(self, seen: int) -> list[int]:
        """Return the sizes of the blocks that may be drawn ahead after ``seen`` samples: none, one, or several."""
        if seen < SINGLY:
            return []
        following = self._after(seen)
        likely = following >= self.largest and self.pace.share == SHARES[0]
        places = range(AHEAD - 1 if likely else 1)
        return [size for place in places if (size := self._after(seen + place * following))]

    def _after(self, seen: int) -> int:
        """Return the size of the block after ``seen`` samples, at the present pace; 0 if the budget is spent."""
        size = max(self.smallest, math.ceil(self.pace.share * seen) if seen else FIRST)
        return max(0, min(size, max(self.largest, FIRST), self.budget - seen))
