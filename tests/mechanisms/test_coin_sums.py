"""Sums of coins are exactly binomial: the words decide each coin as the binary digits of its probability say."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from dpproof.mechanisms.noise.coin_sums import coin_sums
from dpproof.mechanisms.randomness import Entropy
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder


class Words:
    """A generator whose words are given."""

    def __init__(self, words):
        self.words = list(words)

    def integers(self, low, high, size, dtype):
        assert (low, high, dtype) == (0, 1 << 64, np.uint64)
        return np.array([self.words.pop(0) for _ in range(size)], np.uint64)


def top(bits, used):
    """A word whose last `used` bits, which are shifted down from the top, are `bits`."""
    return int("".join(map(str, bits)), 2) << (64 - used) if used else 0


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(5, 8)])
def test_all_words_of_three_coins_have_the_binomial_law(chance):
    """Every sequence of digits of three coins, each of the same probability, is enumerated."""
    depth, trials = 3, 3
    found = {k: Fraction(0) for k in range(trials + 1)}

    def walk(words, weight):
        try:
            k = int(coin_sums(trials, chance, 1, Words(words))[0])
        except IndexError:
            held = _needed(chance, words, trials)
            for bits in product((0, 1), repeat=held):
                walk([*words, top(bits, held)], weight / 2**held)
            return
        found[k] += weight

    walk([], Fraction(1))
    assert depth * trials >= 3
    assert found == {k: comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in found}


def _needed(chance, words, trials):
    """How many coins are undecided after the given words, by the definition of the digits."""
    held, rest = trials, chance
    for word in words:
        rest *= 2
        ones = int(word).bit_count()
        held = ones if rest >= 1 else held - ones
        rest -= rest >= 1
    return held


def test_large_sums_are_cut_into_blocks_and_have_their_variance(monkeypatch):
    monkeypatch.setattr("dpproof.mechanisms.noise.coin_sums._MOST_WORDS", 40)
    drawn = coin_sums(1001, Fraction(1, 3), 4000, np.random.default_rng(0))
    deviation = np.sqrt(1001 * 2 / 9)
    assert abs(drawn.mean() - 1001 / 3) < 6 * deviation / np.sqrt(4000)
    assert drawn.std() == pytest.approx(deviation, rel=0.07)
    fair = coin_sums(65, Fraction(1, 2), 4000, np.random.default_rng(1))
    assert fair.std() == pytest.approx(np.sqrt(65) / 2, rel=0.07)
    assert (fair <= 65).all()


def test_edges_and_refusals():
    rng = np.random.default_rng(0)
    assert coin_sums(0, Fraction(1, 3), 2, rng).tolist() == [0, 0]
    assert coin_sums(7, Fraction(0), 2, rng).tolist() == [0, 0]
    assert coin_sums(7, Fraction(1), 2, rng).tolist() == [7, 7]
    assert coin_sums(7, Fraction(1, 3), 0, rng).shape == (0,)
    with pytest.raises(ValueError, match="chance"):
        coin_sums(7, Fraction(3, 2), 1, rng)
    with pytest.raises(ValueError, match="trials"):
        coin_sums(-1, Fraction(1, 2), 1, rng)


class IntegersOnly(Entropy):
    """Entropy that refuses every draw in floating point."""

    def random(self, *args, **kwargs):
        raise AssertionError("a number in floating point was drawn")

    binomial = random


@pytest.mark.parametrize("threshold", [30.0, 4.0])
def test_an_encoder_draws_whole_numbers_only_from_entropy(threshold, monkeypatch):
    monkeypatch.setattr("dpproof.mechanisms.randomness.Entropy", IntegersOnly)
    encoder, rng = BitEncoder(10, threshold), IntegersOnly()
    sums = encoder.sums(np.full(50, 3), rng)
    assert ((sums >= 3) & (sums <= 3 + 10 * encoder.noise_bits)).all()
    assert encoder.encode(np.ones((10, 2), int), rng).shape == (10, encoder.messages, 2)
