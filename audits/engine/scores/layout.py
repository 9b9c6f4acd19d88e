"""The layout of outputs: their conversion to numbers, chosen after the probe and fixed before the first bet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.alike import INTEGER, NUMBER, TEXT
from dpproof.audits.data.canonical import is_whole, plain
from dpproof.audits.data.encoding import cells, exact_numbers, features, integers_of, tokens
from dpproof.audits.data.exact import Wide, exactly, low_bytes, wide_columns, wider
from dpproof.audits.data.outputs import (
    Block,
    array_of,
    as_numbers,
    finite,
    is_numeric,
    is_plain,
    joined,
    whole_numbers,
)
from dpproof.audits.engine.scores.atoms import (
    Atoms,
    float_bits,
    low_bytes_of_cells,
    lowest_bit,
    lowest_bit_of_cells,
    only_bits,
    row_tokens,
)
from dpproof.audits.engine.scores.boosting import BoostedTrees
from dpproof.audits.engine.scores.classifiers import Classifier, logistic, trees
from dpproof.audits.engine.scores.kernel import Kernel
from dpproof.audits.engine.scores.linear import BestCoordinate, BitParity, LinearDiscriminant
from dpproof.audits.engine.scores.names import EDITION, check_scores
from dpproof.audits.engine.scores.parts import bag, tiles
from dpproof.audits.engine.scores.products import Norm, Products, SparseProjection, Spread
from dpproof.audits.engine.scores.protocol import Identity, Score, View, flattened, whole
from dpproof.audits.engine.scores.remainders import Remainders, units_of

WIDEST = 64
"""The largest number of cells (numbers and words) of an output that scores see, except the score ``tokens``."""
FEW = 64
"""The bytes of whole numbers are used as a score only if the range of the numbers is at least this."""
LOW = 8
"""The kernel is a default score of outputs with at most this many columns. With more it needs too many samples."""
SIDE = 4
"""Arrays with at least this many rows and columns are looked at as images, too."""
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Layout:
    """The rule that converts outputs to numbers for the scores, chosen from a few outputs called the probe.

    Attributes:
        plain: whether the outputs of the probe were single numbers, or arrays of finite numbers of one shape. Then
            blocks are arrays of numbers.
        shape: the shape of an output if ``plain`` is true; ``()`` for a single number.
        odd: if ``plain`` is true, the number that fills the row of an output with another form than in the probe.
        cells: if ``plain`` is false, the number of cells (numbers and words) of an output that are used.
        fractions: whether some numbers of the probe were not whole, as with floating-point noise.
        dtype: if ``plain`` is true, the type of a block: doubles, 64-bit integers, or Python numbers if neither fits.
        wide: the conversion of integers that no double represents exactly; None if the probe had no such integers.
        count: the number of lowest bytes that vary in the whole numbers of the probe.
        bits: whether each output of the probe held several numbers, and all of them were 0 or 1.
        loose: if ``plain`` is false, whether the outputs differ in their form or hold many different texts.
        edition: the edition of the default scores. Before edition 2 they do not see interactions, the parts of
            objects, and images. Before edition 4 they do not see remainders.
        units: the columns of numbers whose remainders are used, each with its unit.
        ordered: whether the samples of a block stay in the order of their labels. This is allowed only if no score
            depends on a sample's place, not even in the last bit (docs/notes/audit_pairs.md, Lemma 2).

    >>> layout = Layout.of([np.array([1.0, 2.0])])
    >>> layout.settled(np.array([0.5, None], dtype=object))
    array([ 0.5, 30. ])
    """

    plain: bool
    shape: tuple[int, ...]
    odd: float
    cells: int
    fractions: bool = False
    dtype: np.dtype[Any] = DOUBLE
    wide: Wide | None = None
    count: int = 0
    bits: bool = False
    loose: bool = False
    edition: int = EDITION
    units: tuple[tuple[int, float], ...] = ()
    ordered: bool = False

    @classmethod
    def of(cls, blocks: Sequence[Block], *, nan: bool = False) -> Layout:
        """Return the layout for the first outputs, ``blocks``; ``nan`` is True if NaN is an allowed output."""
        fractions, block = any(map(_has_fractions, blocks)), as_numbers(joined(blocks))
        if not nan and len({part.shape[1:] for part in blocks}) == 1 and is_plain(block):
            dtype = _dtype(block)
            rows = block.reshape(len(block), -1)
            odd = min(10 * _reach(rows[finite(rows)]) + 10, _largest(dtype))
            wide = None if dtype.kind == "f" else Wide.of(np.where(whole_numbers(rows), rows, 0))
            count, bits = _varying_bytes(rows), rows.shape[1] > 1 and bool(((rows == 0) | (rows == 1)).all())
            found = cls(True, block.shape[1:], odd, 1, fractions, dtype, wide, count, bits)
            return replace(found, units=found._units(block))
        longest = min(max(sum(1 for _ in cells(row)) for row in block), WIDEST)
        integers = integers_of(block, longest)
        count, loose = _varying_bytes(integers), _is_loose(block)
        found = cls(False, (), 0.0, longest, fractions, DOUBLE, Wide.of(integers), count, loose=loose)
        return replace(found, units=found._units(block))

    def _units(self, block: Block) -> tuple[tuple[int, float], ...]:
        """Return the columns of numbers that take enough values to have remainders, each with its unit."""
        numbers = self.numbers(block)
        step = 1 if self.wide is None else self.wide.columns_each
        columns = list(range(0, numbers.shape[1], step) if self.native else range(1, 1 + self.cells))
        if not self.native:
            kinds = numbers[:, 1 + self.cells : 1 + 2 * self.cells]
            columns = [one for one in columns if np.isin(kinds[:, one - 1], (NUMBER, INTEGER)).all()]
        return units_of(numbers, columns)

    @property
    def width(self) -> int:
        """The number of columns to which one output is converted for the scores."""
        each = 1 if self.wide is None else self.wide.columns_each
        return int(np.prod(self.shape)) * each if self.native else 1 + (4 + each) * self.cells

    @property
    def native(self) -> bool:
        """Whether blocks are arrays of a numeric numpy type."""
        return self.plain and self.dtype.kind != "O"

    @property
    def single(self) -> bool:
        """Whether an output is one number."""
        return self.plain and int(np.prod(self.shape)) == 1

    def under(self, scores: Sequence[Score]) -> Layout:
        """Return the layout for these scores; ``ordered`` is true if no score depends on a sample's place."""
        return replace(self, ordered=all(map(_ignores_places, scores)))

    def settled(self, block: Block) -> Block:
        """Return the block as an array of type `dtype` if ``plain`` is true; otherwise return it unchanged.

        An output may have another form than the outputs of the probe, for example a rare abort message. It is replaced
        by the constant ``odd``, which is far above the numbers of the probe. The conversion is a fixed function of the
        output, so these outputs form a valid event. No number is rounded.
        """
        if not self.plain:
            return block
        whole_block = self._fitting(block)
        if whole_block is not None:
            return whole_block
        rows = np.full((len(block), *self.shape), self.odd, self.dtype)
        for place, value in enumerate(block):
            row = array_of(value)
            fitting = None if row is None else self._fitting(row[None])
            if fitting is not None:
                rows[place] = fitting[0]
        return rows

    def _fitting(self, block: Block) -> Block | None:
        """Convert the block to the layout's type; return None if an output is unlike those of the probe."""
        block = as_numbers(block) if self.dtype.kind == "O" else block
        if block.shape[1:] != self.shape or not is_plain(block):
            return None
        found = exactly(block, self.dtype)
        if found is None or self.single or self.wide is not None or found.dtype.kind == "f":
            return found
        return None if wider(found).any() else found

    def numbers(self, block: Block) -> NDArray[np.float64]:
        """Return the block as a matrix ``(n, width)``."""
        return flattened(self.view(self.settled(block)))

    @cached_property
    def view(self) -> View:
        """The function that converts outputs to exact columns of doubles, for scores that add up numbers."""
        if not self.native:
            return partial(features, width=self.cells, wide=self.wide)
        return whole if self.wide is None else partial(wide_columns, wide=self.wide)

    def named(self, name: str) -> tuple[Score, ...]:
        """Return the scores with this name, which is one of `dpproof.audits.engine.scores.names`.

        Raises:
            ValueError: no score has this name, or it cannot be used for the outputs.
        """
        check_scores([name])
        if name == "identity" and not self.single:
            raise ValueError("score (identity): Every output must be one number. Choose another score.")
        if name == "low_bytes":
            return (self._low_bytes(self.count or 1),)
        made: Mapping[str, tuple[Score, ...]] = {
            "identity": (Identity(),),
            "linear": (LinearDiscriminant(), LinearDiscriminant(ridge=None)),
            "atoms": (Atoms(),),
            "tokens": (Atoms(fewest=2, view=row_tokens if self.plain else tokens),),
            "float_bits": (float_bits(),),
            "logistic": (logistic(),),
            "trees": (trees(),),
            "boosted": (BoostedTrees(),),
            "kernel": (Kernel(),),
            "products": (Products(), Norm(), Spread()),
            "sparse": (SparseProjection(),),
            "remainders": (self._remainders(),),
            "parts": (SparseProjection(view=bag), BoostedTrees(view=bag)),
        }
        return tuple(map(self._exact, made[name]))

    def chosen(self, given: Sequence[Score | str] | None) -> tuple[Score, ...]:
        """Return the scores of an audit: the given ones, or the default ones if none are given.

        If all given scores see only floating-point bits, default scores that see more are added.

        Raises:
            ValueError: as for `named`.
        """
        if given is None:
            return self.scores()
        parts = [self.named(one) if isinstance(one, str) else (self._exact(one),) for one in given]
        found = [score for part in parts for score in part]
        bits_alone = all(map(only_bits, found))
        more = (score for score in self.scores() if bits_alone and not only_bits(score))
        return (*found, *more)

    def _exact(self, score: Score) -> Score:
        if isinstance(score, OF_NUMBERS) and score.view is whole:
            return replace(score, view=self.view)
        if isinstance(score, Atoms) and score.view is lowest_bit:
            return replace(score, view=self._bits)
        return score

    @cached_property
    def _bits(self) -> View:
        """The view of the lowest set bits of numbers that are not whole."""
        if self.native and self.dtype.kind == "f":
            return lowest_bit
        return partial(lowest_bit_of_cells, width=int(np.prod(self.shape)) if self.native else self.cells)

    def _low_bytes(self, count: int, weight: float = 1.0) -> Score:
        if self.plain:
            return Atoms(view=partial(low_bytes, count=count), weight=weight)
        return Atoms(view=partial(low_bytes_of_cells, width=self.cells, count=count), weight=weight)

    def scores(self) -> tuple[Score, ...]:
        """Return the default scores of an audit, with their weights."""
        return (*self._values(), *self._digits())

    def _values(self) -> tuple[Score, ...]:
        words = row_tokens if self.plain else tokens
        if self.single:
            repeated = Atoms(fewest=2, view=words, weight=0.05)
            return (Identity(), repeated) if self.dtype.kind != "f" else (Identity(),)
        learned = (LinearDiscriminant(ridge, view=self.view, weight=0.35) for ridge in (1e-10, None))
        more = (BestCoordinate(view=self.view, weight=0.3), *((BitParity(weight=0.1),) if self.bits else ()))
        values, whole_outputs = Atoms(view=self.view, weight=0.15), Atoms(fewest=2, view=words, weight=0.1)
        return (*learned, values, whole_outputs, *more, *(self._rich() if self.edition > 1 else ()))

    def _rich(self) -> Iterator[Score]:
        """Generate the scores of interactions, of the parts of objects, and of images."""
        yield SparseProjection(view=self.view, weight=0.1)
        yield Products(view=self.view, weight=0.1)
        yield Norm(view=self.view, weight=0.08)
        yield Spread(view=self.view, weight=0.08)
        yield BoostedTrees(view=self.view, weight=0.1)
        if self.width <= LOW:
            yield Kernel(view=self.view, weight=0.1)
        if self.loose:
            yield SparseProjection(view=bag, weight=0.2)
            yield BoostedTrees(view=bag, weight=0.1)
        if self.native and self.wide is None and len(self.shape) > 1 and min(self.shape[:2]) >= SIDE:
            yield LinearDiscriminant(None, view=tiles, weight=0.1)

    def _digits(self) -> Iterator[Score]:
        """Generate the scores of low bits of floating-point numbers, bytes of whole numbers, and remainders."""
        if self.fractions:
            yield float_bits(view=self._bits, weight=0.05)
        if self.count:
            yield self._low_bytes(self.count, 0.05)
        if self.units and self.edition > 3:
            yield self._remainders(0.05)

    def _remainders(self, weight: float = 1.0) -> Score:
        columns, units = zip(*self.units or [(0, 1.0)], strict=True)
        numbers = tuple(map(self.number_of, columns))
        return Remainders(columns=numbers, units=units, view=self.digits, weight=weight)

    @cached_property
    def digits(self) -> View:
        """The function that converts outputs to numbers whose digits are exact; `view` has differences of some."""
        if self.plain:
            return whole
        return self.view if self.wide is None else partial(exact_numbers, width=self.cells)

    def number_of(self, column: int) -> int:
        """Return the column of a number in `digits`, from its first column in `view`."""
        if not self.plain:
            return column
        if not self.native:
            return 0  # one Python number, which has several columns in the view
        return column if self.wide is None else column // self.wide.columns_each


OF_NUMBERS = (
    Atoms,
    LinearDiscriminant,
    Classifier,
    BoostedTrees,
    Kernel,
    Products,
    Norm,
    Spread,
    SparseProjection,
)
"""The scores that get exact columns of doubles instead of the output itself."""


def _is_loose(block: Block) -> bool:
    """Whether the outputs differ in the number or the kinds of their cells, or hold many different texts."""
    flat = [list(cells(row)) for row in block]
    words = {cell for row in flat for cell in row if cell[0] not in (NUMBER, TEXT)}
    return len({tuple(kind for kind, _ in row) for row in flat}) > 1 or len(words) > FEW


def _ignores_places(score: Score) -> bool:
    """Whether the score of a row does not depend on the place of the row in its block."""
    return (
        isinstance(score, Identity | Atoms | Remainders)
        and getattr(score.view, "func", score.view) in ONE_BY_ONE
    )


ONE_BY_ONE = (
    whole,
    features,
    exact_numbers,
    wide_columns,
    row_tokens,
    tokens,
    lowest_bit,
    lowest_bit_of_cells,
    low_bytes,
    low_bytes_of_cells,
)
"""The conversions of outputs whose result for a row does not depend on the row's place in the block."""


def _varying_bytes(rows: Block) -> int:
    """Return the number of lowest bytes of whole numbers to use; 0 if the values repeat often."""
    if rows.size > len(rows) * WIDEST:
        return 0
    whole = whole_numbers(rows)
    columns = np.where(whole, rows, 0).T[whole.all(axis=0)]
    spread = [int(max(column)) - int(min(column)) for column in columns]
    most = max(spread, default=0)
    return 0 if most < FEW else min(8, max(1, -(-most.bit_length() // 8)))


def _dtype(block: Block) -> np.dtype[Any]:
    """Return the type of plain blocks, the widest of its kind."""
    return (
        DOUBLE
        if block.dtype.kind == "f"
        else np.dtype({"u": np.uint64, "O": object}.get(block.dtype.kind, np.int64))
    )


def _reach(finite: Block) -> float:
    """Return the largest absolute value of the numbers, exact for integers."""
    ends = (finite.min(), finite.max()) if finite.size else (0, 0)
    sizes: list[float] = [abs(float(end) if finite.dtype.kind == "f" else plain(end)) for end in ends]
    return sizes[0] if sizes[0] > sizes[1] else sizes[1]


def _largest(dtype: np.dtype[Any]) -> float:
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 1e300 if dtype.kind == "f" else 10**300


def _has_fractions(block: Block) -> bool:
    """Whether a number in the block is not whole."""
    if is_numeric(block):
        return block.dtype.kind == "f" and bool((np.isfinite(block) & (block != np.rint(block))).any())
    found = (number for row in block for kind, number in cells(row) if kind == NUMBER)
    return any(not is_whole(number) and math.isfinite(number) for number in found)
