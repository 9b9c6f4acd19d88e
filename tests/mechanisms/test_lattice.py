"""Running sums on a lattice, against exact fractions: the released integers, and the sums decoded from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.mechanisms.counting.lattice import LatticeSums


def silent(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6).map(lambda rest: [7, *rest]),
    st.lists(st.integers(-50, 50), min_size=1, max_size=7),
    st.lists(st.integers(-50, 50), min_size=7, max_size=7),
)
def test_released_integers_and_decoded_sums_follow_the_definition(
    encoder: list[int], leaves: list[int], noise: list[int]
) -> None:
    leaves = leaves[: len(encoder)]
    rest = iter(noise)
    sums = LatticeSums(encoder, 1, 1000, lambda n: np.array([next(rest)]))
    seen: list[int] = []
    for t, leaf in enumerate(leaves):
        sums.add([0], [leaf])
        released = int(sums.close()[0])
        assert released == sum(encoder[i] * leaves[t - i] for i in range(t + 1)) + noise[t]
        seen.append(released)
        assert sums.running[0] == pytest.approx(float(decoded(encoder, seen)), rel=1e-9, abs=1e-9)


def decoded(encoder: list[int], seen: list[int]) -> Fraction:
    """Return the running sum by solving C x = y exactly, one leaf after another."""
    found: list[Fraction] = []
    for t, y in enumerate(seen):
        found.append(
            (y - sum((Fraction(encoder[i]) * found[t - i] for i in range(1, t + 1)), Fraction(0)))
            / encoder[0]
        )
    return sum(found, Fraction(0))


def test_without_noise_the_decoded_sums_are_the_true_sums() -> None:
    sums = LatticeSums([4, 2, 1, 1], 2, 100, silent)
    for _ in range(4):
        sums.add([0, 1, 1], [3, 1, 1])
        sums.close()
    assert sums.running == pytest.approx([12, 8])


def test_a_counter_listed_twice_gets_both_amounts() -> None:
    sums = LatticeSums([1], 1, 10, silent)
    sums.add([0, 0], [1, 2])
    assert sums.close().tolist() == [3]


def test_every_counter_gets_noise_whether_it_is_zero_or_not() -> None:
    asked: list[int] = []
    sums = LatticeSums([1, 1], 5, 10, lambda n: (asked.append(n), np.ones(n, np.int64))[1])
    assert sums.close().tolist() == [1] * 5
    assert asked == [5]


def test_the_stream_ends() -> None:
    sums = LatticeSums([1], 1, 10, silent)
    sums.close()
    with pytest.raises(ValueError, match=r"leaf number 2 cannot be closed"):
        sums.close()


@pytest.mark.parametrize("encoder", [[], [0, 1]])
def test_an_encoder_that_cannot_be_inverted_is_rejected(encoder: list[int]) -> None:
    with pytest.raises(ValueError, match=r"must begin with an integer above 0"):
        LatticeSums(encoder, 1, 1, silent)


def test_sums_that_doubles_would_round_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"below 2\^53"):
        LatticeSums([1 << 40], 1, 1 << 13, silent)
