"""Tests whether equal outputs occur in blocks or within a call, and not in a random order.

A row is one output of a mechanism. Independent rows of one input are in a random order, given how often each value
occurs, whatever their distribution is. So values that occur often are not suspicious. The probability that the tests
reject a correct mechanism is below one in a million (docs/notes/audit_pairs.md, Theorem 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dpproof.audits.data.canonical import canonical_text, hashed
from dpproof.audits.data.encoding import tokens
from dpproof.audits.data.exact import EXACT
from dpproof.audits.data.outputs import Block, as_block, is_numeric

LEVEL = 1e-11
"""The largest probability of a false alarm in one test. An audit makes fewer than 55,000 tests."""
LONGEST = 1 << 17
"""The largest number of rows of a tested block. If a longer block repeats, the tests find parts of it."""
COLUMNS = 4
"""The largest number of columns that are tested besides whole rows."""
ENOUGH = 1 << 9
"""The largest number of repetitions that a test counts; more are not needed for an alarm."""
MIXERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)

Ids = NDArray[np.uint64]
Labelled = tuple[Ids, Ids]
"""For each of the two inputs, a number for each row, in the order drawn; equal rows have equal numbers."""


def row_ids(block: Block) -> list[Ids]:
    """Return a number for each row, the same for equal rows; for longer outputs also numbers for some columns.

    Equal outputs have equal numbers in all blocks, whatever the types of the blocks. In the example, the output 1 is
    a double in the first block. In the second block it is a Python object, because this block also holds a word.

    >>> numbers, mixed = np.array([1.0, 2.0]), np.array([1, "abort"], dtype=object)
    >>> bool(row_ids(numbers)[0][0] == row_ids(mixed)[0][0])
    True
    """
    if not is_numeric(block):
        never_numeric = all(isinstance(row, dict | str) for row in block)
        return [tokens(block)[:, 0] if never_numeric else np.array(list(map(_row_id, block)), np.uint64)]
    bits = _number_bits(np.ascontiguousarray(block.reshape(len(block), -1)))
    if bits.shape[1] <= 1:
        return [bits.ravel()]
    weights = np.random.default_rng(0).integers(1 << 63, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    chosen = np.unique(np.linspace(0, bits.shape[1] - 1, COLUMNS).astype(int))
    return [(bits * weights).sum(axis=1), *(bits[:, column].copy() for column in chosen)]


def _row_id(row: object) -> int:
    """Return the number of one row, if possible the number that it would have in an array of numbers."""
    block = as_block([row])
    return int(row_ids(block)[0][0]) if is_numeric(block) else hashed(canonical_text(row))


def _number_bits(numbers: NDArray[np.generic]) -> Ids:
    """Return the bits of numbers as doubles; a whole number beyond 2^53 has the bits of its integer."""
    doubles = numbers.astype(np.float64)
    if numbers.dtype.kind in "fb":
        return doubles.view(np.uint64)
    whole = numbers.astype(np.int64).view(np.uint64)
    return np.where(np.abs(doubles) <= EXACT, doubles.view(np.uint64), whole)


@dataclass(frozen=True)
class Repeats:
    """Counts of equal rows, from which `chance` bounds the probability that two rows are equal.

    Attributes:
        counts: how often each value occurs on each input, as an array (2, values).
    """

    counts: NDArray[np.float64]

    @classmethod
    def of(cls, labelled: Labelled) -> Repeats | None:
        """Return the counts of the rows of two inputs; None if no two rows are equal."""
        pooled = np.concatenate(labelled)
        if not _any_equal(pooled):
            return None
        values, places = np.unique(pooled, return_inverse=True)
        split = len(labelled[0])
        parts = (places[:split], places[split:])
        return cls(np.array([np.bincount(part, minlength=values.size) for part in parts], np.float64))

    def chance(self, removed: int) -> float:
        """Return a bound on the probability that two rows are equal.

        The bound holds for any ``removed`` other rows of each input that are already known. It is the smaller of two
        bounds: one for a random order of the observed rows, one for independent rows.
        """
        return min(self._in_random_order(removed), self._law)

    @cached_property
    def _law(self) -> float:
        """An upper bound, at level `LEVEL`, on the probability that two rows of an input are equal."""
        sizes = self.counts.sum(axis=1)
        seen = [
            (count * (count - 1)).sum() / (n * (n - 1)) for count, n in zip(self.counts, sizes, strict=True)
        ]
        return max(_largest(float(share), n // 2) for share, n in zip(seen, sizes, strict=True))

    def _in_random_order(self, removed: int) -> float:
        first, second = self.counts
        left = self.counts.sum(axis=1) - removed
        if left.min() < 2:
            return 1.0
        alone = [
            (count * (count - 1)).sum() / (n * (n - 1)) for count, n in zip(self.counts, left, strict=True)
        ]
        return float(min(1.0, max(*alone, (first * second).sum() / left.prod())))


def _largest(share: float, trials: float) -> float:
    """Return an upper confidence bound, at level `LEVEL`, on a probability that was observed as this share."""
    low, high = share, 1.0
    for _ in range(60):
        chance = (low + high) / 2
        unlikely = trials * _divergence(share, chance) > -math.log(LEVEL)
        low, high = (low, chance) if unlikely else (chance, high)
    return high


def _divergence(share: float, chance: float) -> float:
    """Return the relative entropy of two coins; infinity if only the first can have some outcome."""
    parts = ((share, chance), (1 - share, 1 - chance))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in parts if p > 0)


def blocks_repeat(labelled: Labelled) -> bool:
    """Return whether blocks of 2, 4, 8, ... rows repeat more often than in a random order.

    >>> rng = np.random.default_rng(0)
    >>> fresh, block = rng.integers(1 << 40, size=(2, 512)).astype(np.uint64), np.arange(64, dtype=np.uint64)
    >>> blocks_repeat((fresh[0], fresh[1])), blocks_repeat((np.tile(block, 8), fresh[1]))
    (False, True)
    """
    repeats = Repeats.of(labelled)
    if repeats is None:
        return False
    rows, fewer = sum(map(len, labelled)), min(map(len, labelled))
    for length, windows in _windows(labelled):
        most = min(ENOUGH, fewer // length)
        expected = rows**2 / 2 * repeats.chance(0) ** length
        if expected >= most:
            continue  # so many repetitions that all which fit would be no surprise
        found = _disjoint_pairs(windows, length, most)
        if found == 0:
            return False
        if _surprising(found, math.log(rows**2 / 2), length, repeats):
            return True
    return False


def calls_repeat(labelled: Labelled, size: int) -> bool:
    """Return whether equal rows come from one call more often than in a random order.

    Args:
        labelled: the rows of calls one after another.
        size: the number of rows of each call.
    """
    repeats = Repeats.of(labelled)
    if repeats is None:
        return False
    found, pairs = 0, 0
    for ids in labelled:
        for call in ids.reshape(-1, size):
            found += int((np.unique(call, return_counts=True)[1] // 2).sum())
            pairs += size * (size - 1) // 2
    return _surprising(found, math.log(pairs), 1, repeats)


def equal_in_turn(labelled: Labelled) -> bool:
    """Return whether the rows 1 and 2, 3 and 4, and so on are equal more often than in a random order.

    >>> fresh = np.random.default_rng(0).integers(50, size=(2, 1000)).astype(np.uint64)
    >>> equal_in_turn((fresh[0], fresh[1])), equal_in_turn((np.sort(fresh[0]), fresh[1]))
    (False, True)
    """
    repeats = Repeats.of(labelled)
    if repeats is None:
        return False
    found = sum(len(_in_turn(ids)) for ids in labelled)
    return _surprising(found, math.log(sum(map(len, labelled)) / 2), 1, repeats)


def value_in_runs(ids: Ids) -> bool:
    """Return whether some value occurs twice in a row too often for a random order.

    The test divides the rows into pairs: rows 1 and 2, rows 3 and 4, and so on. Let k be the number of pairs in which
    both rows have this value. The test computes how many sets of k such pairs are expected in a random order, and
    multiplies this by the number of values, because each value is tested. A product that is too small is an alarm.
    The false alarms for all numbers of rows together have probability at most `LEVEL`, so the number of rows may
    depend on the data.

    >>> busy = np.arange(1000) // 20 % 10 == 3
    >>> value_in_runs(busy.astype(np.uint64)), value_in_runs(np.sort(busy)[::-1].astype(np.uint64))
    (True, True)
    >>> value_in_runs(np.random.default_rng(0).permutation(busy).astype(np.uint64))
    False
    """
    again = _in_turn(ids)
    if not again.size:
        return False
    places, rows = len(ids) // 2, len(ids)
    values, counts = np.unique(ids, return_counts=True)
    twice, found = np.unique(again, return_counts=True)
    count = counts[np.searchsorted(values, twice)]
    log_sets = _log_choose(places, found) + _log_falling(count, 2 * found) - _log_falling(rows, 2 * found)
    return bool((log_sets + math.log(len(values)) <= math.log(LEVEL / rows**2)).any())


def _in_turn(ids: Ids) -> Ids:
    """Return the values of the pairs of rows (1 and 2, 3 and 4, ...) that are equal."""
    pairs = ids[: len(ids) // 2 * 2].reshape(-1, 2)
    return np.asarray(pairs[pairs[:, 0] == pairs[:, 1], 0])


def _log_choose(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _log_falling(n: NDArray[np.int64] | int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log of n (n - 1) ... (n - k + 1)."""
    return np.asarray(gammaln(np.asarray(n) + 1) - gammaln(np.asarray(n) - k + 1))


def _surprising(found: int, log_pairs: float, length: int, repeats: Repeats, level: float = LEVEL) -> bool:
    """Whether the probability of so many disjoint pairs of equal windows is at most `LEVEL`.

    By Markov's inequality the probability is at most the expected number of sets of k such pairs, divided by the
    number of such sets among the pairs found. Several k are tried.
    """
    for k in (2**i for i in range(found.bit_length())):
        removed = 2 * k * length
        chance = repeats.chance(removed)
        log_sets = k * (log_pairs + length * math.log(chance)) - math.lgamma(k + 1)
        log_found = math.lgamma(found + 1) - math.lgamma(k + 1) - math.lgamma(found - k + 1)
        if log_sets - log_found <= math.log(LEVEL):
            return True
    return False


def _windows(labelled: Labelled) -> Iterator[tuple[int, tuple[Ids, Ids]]]:
    """Generate a 64-bit hash for each window of 2, 4, 8, ... rows; equal windows have equal hashes."""
    first, second = (_mixed(ids) for ids in labelled)
    length = 1
    while 2 * length <= min(LONGEST, len(first), len(second)):
        first, second = (_mixed(ids[:-length] * MIXERS[1] + ids[length:]) for ids in (first, second))
        length *= 2
        yield length, (first, second)


def _mixed(ids: Ids) -> Ids:
    """Scramble numbers with the last step of splitmix64."""
    ids = ids + MIXERS[0]
    ids = (ids ^ (ids >> np.uint64(30))) * MIXERS[1]
    ids = (ids ^ (ids >> np.uint64(27))) * MIXERS[2]
    return np.asarray(ids ^ (ids >> np.uint64(31)))


def _any_equal(ids: Ids) -> bool:
    ordered = np.sort(ids)
    return bool((ordered[1:] == ordered[:-1]).any())


def _disjoint_pairs(windows: tuple[Ids, Ids], length: int, most: int) -> int:
    """Return the number of pairs of equal windows that were found, without shared rows; at most ``most``."""
    pooled = np.concatenate(windows)
    split = len(windows[0])
    places = np.arange(len(pooled))
    places[split:] += length - 1  # the first rows of windows, in one count over both inputs
    order = np.argsort(pooled, kind="stable")
    ordered = pooled[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if again.size == 0:
        return 0
    repeated = np.unique(np.concatenate([again, again + 1]))
    return _paired(ordered[repeated].tolist(), places[order[repeated]].tolist(), length, most)


def _paired(values: Sequence[int], places: Sequence[int], length: int, most: int) -> int:
    """Pair equal windows from left to right, and count the pairs. A window that shares a used row is skipped."""
    used, found = set[int](), 0
    waiting: tuple[int, int] | None = None
    for value, place in zip(values, places, strict=True):
        if not used.isdisjoint(range(place, place + length)):
            continue
        if waiting is None or waiting[0] != value:
            waiting = (value, place)
        elif place >= waiting[1] + length and used.isdisjoint(range(waiting[1], waiting[1] + length)):
            used.update(range(place, place + length), range(waiting[1], waiting[1] + length))
            found, waiting = found + 1, None
            if found >= most:
                break
    return found
