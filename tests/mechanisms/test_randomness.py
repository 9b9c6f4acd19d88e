"""Entropy and simulations. References: counts with a stated alpha; what pickle writes."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mechanisms.discrete_noise import geometric_noise
from mechanisms.randomness import Entropy, Randomness, SimulationError, guaranteed

ALPHA = 1e-9


@pytest.mark.parametrize(
    "source", [0, [1, 2], np.random.SeedSequence(3), np.random.default_rng(4), np.int64(5)]
)
def test_a_seed_or_a_generator_makes_a_simulation(source):
    found = Randomness.of(source)
    assert found.simulated
    with pytest.raises(SimulationError, match="no guarantee"):
        guaranteed(found.simulated, lambda: pytest.fail("the guarantee was computed"))


def test_without_a_seed_entropy_is_drawn_and_the_guarantee_stands():
    found = Randomness.of(None)
    assert not found.simulated
    assert guaranteed(found.simulated, lambda: "it") == "it"
    assert Randomness.of(found) is found
    assert not Randomness.of(found.generator).simulated


@pytest.mark.parametrize("source", [-1, "x", 0.5, {}])
def test_a_seed_that_is_none_is_refused(source):
    with pytest.raises(ValueError, match=r"seed .* must be whole, at least 0"):
        Randomness.of(source)


@pytest.mark.parametrize("rng", [Entropy(), Randomness.of(None).spawn(2)[1].generator])
@pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 4), (0, 1 << 62), (5, 6), (0, 3 * (1 << 60))])
def test_entropys_integers_are_uniform(rng, low, high):
    drawn = rng.integers(low, high, 60_000)
    assert drawn.dtype == np.int64
    assert low <= drawn.min() <= drawn.max() < high
    parts = min(high - low, 50)
    cells = np.array([(int(x) - low) * parts // (high - low) for x in drawn])
    if parts > 1:
        assert stats.chisquare(np.bincount(cells, minlength=parts)).pvalue > ALPHA


def test_every_bit_of_a_word_is_fair():
    words = Entropy().integers(0, 1 << 62, 20_000)
    for bit in range(62):
        assert stats.binomtest(int((words >> bit & 1).sum()), len(words)).pvalue > ALPHA / 62


def test_entropys_integers_have_the_forms_of_numpys():
    rng, numpys = Entropy(), np.random.default_rng(0)
    for arguments in ((3,), (0, 3), (0, 3, 4), (0, 3, (2, 5)), (0, 3, 0), (np.array([2, 3]),)):
        assert np.shape(rng.integers(*arguments)) == np.shape(numpys.integers(*arguments))
    with pytest.raises(ValueError, match="low >= high"):
        rng.integers(3, 3)


def test_exact_samplers_read_the_operating_systems_entropy_only(monkeypatch):
    """Two generators with the same key still differ: their integers come from elsewhere."""
    monkeypatch.setattr("mechanisms.randomness.secrets.randbits", lambda _bits: 7)
    same = [Entropy() for _ in range(2)]
    assert same[0].random() == same[1].random()
    first, second = (geometric_noise(Fraction(1000), 50, rng) for rng in same)
    assert (first != second).any()


def test_two_sources_of_entropy_differ_and_none_is_saved():
    one, other = (Randomness.of(None).generator for _ in range(2))
    assert one.random() != other.random()
    for held in (one, Randomness.of(None)):
        with pytest.raises(TypeError, match="must not be saved"):
            pickle.dumps(held)
