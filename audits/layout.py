"""What outputs look like, learned from the probe and fixed before the first bet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.canonical import tokens
from audits.encoding import NUMBER, cells, features
from audits.outputs import Block, is_numeric
from audits.scores import (
    Atoms,
    Identity,
    LinearDiscriminant,
    Score,
    View,
    float_bits,
    lowest_bit,
    lowest_bit_of_cells,
    only_bits,
    row_tokens,
    whole,
)

__all__ = ["Layout"]

WIDEST = 64
"""At most so many cells of an output are laid out for the scores; the token sees all of it."""


@dataclass(frozen=True)
class Layout:
    """How outputs become numbers.

    Attributes:
        plain: the outputs of the probe were single numbers, or arrays of finite numbers of one shape; blocks
            are arrays of numbers.
        shape: of a plain output; ``()`` for a single number.
        odd: the number that fills a plain output in the place of one that is not of that shape.
        cells: how many cells of any other output are laid out.
        fractions: among the numbers were some that are not whole, as floating-point noise is.
        ordered: the samples of a block stay in the order of their labels. Only for scores that do not see a
            sample's place, not even in the last bit (docs/notes/audit_pairs.md, Lemma 2).

    >>> layout = Layout.of([np.array([1.0, 2.0])])
    >>> layout.settled(np.array([0.5, None], dtype=object))
    array([ 0.5, 30. ])
    """

    plain: bool
    shape: tuple[int, ...]
    odd: float
    cells: int
    fractions: bool = False
    ordered: bool = False

    @classmethod
    def of(cls, blocks: Sequence[Block], *, nan: bool = False) -> Layout:
        """The layout that suits the blocks of a probe; ``nan`` says that NaN may come, as an output."""
        shapes, fractions = {block.shape[1:] for block in blocks}, any(map(_has_fractions, blocks))
        if len(shapes) == 1 and not nan and all(map(_is_plain, blocks)):
            largest = max(float(np.abs(block[np.isfinite(block)]).max(initial=0.0)) for block in blocks)
            return cls(True, shapes.pop(), min(10 * largest + 10, 1e300), 1, fractions)
        longest = max(sum(1 for _ in cells(row)) for block in blocks for row in block)
        return cls(False, (), 0.0, min(longest, WIDEST), fractions)

    @property
    def width(self) -> int:
        """How many numbers the scores see of one output."""
        return int(np.prod(self.shape)) if self.plain else 1 + 5 * self.cells

    def under(self, scores: Sequence[Score]) -> Layout:
        """The same, where the outputs are scored so: a number that is its own score may stand anywhere."""
        return replace(self, ordered=all(isinstance(score, Identity | Atoms) for score in scores))

    def settled(self, block: Block) -> Block:
        """A block of plain outputs as an array of numbers; any other block as it is.

        An output unlike those of the probe becomes a constant far above them: a fixed function of the
        output, so that a rare abort token is an event like any other.
        """
        if not self.plain or (_is_plain(block) and block.shape[1:] == self.shape):
            return block
        rows = np.full((len(block), *self.shape), self.odd)
        for place, value in enumerate(block):
            row = _numbers(value)
            if row is not None and row.shape == self.shape and _is_plain(row[None]):
                rows[place] = row
        return rows

    def numbers(self, block: Block) -> NDArray[np.float64]:
        """The block as a matrix ``(n, width)``."""
        if self.plain:
            return self.settled(block).reshape(len(block), -1).astype(np.float64)
        return features(block, self.cells)

    def chosen(self, given: Sequence[Score] | None) -> tuple[Score, ...]:
        """The scores of an audit: those given, or these; beside bits alone, those of these that see more."""
        if given is None:
            return self.scores()
        bits_alone = all(map(only_bits, given))
        return (*given, *(score for score in self.scores() if bits_alone and not only_bits(score)))

    def scores(self) -> tuple[Score, ...]:
        """The scores an audit uses unless it is given others, with their shares of the bets."""
        if self.plain and self.width == 1:
            return (Identity(), float_bits(weight=0.05)) if self.fractions else (Identity(),)
        view: View = whole if self.plain else partial(features, width=self.cells)
        words = row_tokens if self.plain else tokens
        learned = (
            LinearDiscriminant(view=view, weight=0.35),
            LinearDiscriminant(ridge=None, view=view, weight=0.35),
        )
        repeated = (Atoms(view=view, weight=0.15), Atoms(fewest=2, view=words, weight=0.1))
        bits = lowest_bit if self.plain else partial(lowest_bit_of_cells, width=self.cells)
        return (*learned, *repeated, *([float_bits(view=bits, weight=0.05)] if self.fractions else ()))


def _is_plain(block: Block) -> bool:
    """Whether the outputs are single numbers, or arrays of finite ones, which scores can add up."""
    return is_numeric(block) and (block.size == len(block) or bool(np.isfinite(block).all()))


def _has_fractions(block: Block) -> bool:
    """Whether a number in the block is not whole."""
    if is_numeric(block):
        return block.dtype.kind == "f" and bool((np.isfinite(block) & (block != np.rint(block))).any())
    found = (number for row in block for kind, number in cells(row) if kind == NUMBER)
    return any(math.isfinite(number) and number != round(number) for number in found)


def _numbers(value: Any) -> Block | None:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return None
    return array if is_numeric(array) else None
