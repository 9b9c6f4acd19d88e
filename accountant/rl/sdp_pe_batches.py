"""What one replaced user changes in a batch's counters, and what all of these changes promise together.

At every released step a replaced user leaves one cell of each family and enters another: one counter falls
by one, one rises. Bits, one sum each counter, so that a release is 2 h f independent shifted binomials, half
of them in each direction, for h steps and f families; two trajectories that differ in every cell attain it,
whatever the other users hold. A user is in one batch: the releases of other batches have the same law given
the past, so that all batches together promise what the weakest one does.

Source: Section V and Lemma 10 of the paper; docs/notes/sdp_batches.md.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReleaseShape"]


@dataclass(frozen=True)
class ReleaseShape:
    """The counters of one release: ``steps`` times (s, a) and (s, a, s'), and rewards where released.

    >>> ReleaseShape(6, 4, 2, rewards=True).changes
    18

    Raises:
        ValueError: for a number below 1.
    """

    steps: int
    states: int
    actions: int
    rewards: bool = True

    def __post_init__(self) -> None:
        for name in ("steps", "states", "actions"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} ({value!r}) must be an integer at least 1")

    @property
    def cells(self) -> int:
        """Counters N(h, s, a)."""
        return self.steps * self.states * self.actions

    @property
    def counters(self) -> int:
        """All counters that are released."""
        return self.cells * (1 + self.states + int(self.rewards))

    @property
    def changes(self) -> int:
        """Counters that fall by one at most when a user is replaced; as many rise."""
        return self.steps * (2 + int(self.rewards))
