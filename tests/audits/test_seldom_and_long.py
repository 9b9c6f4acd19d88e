"""Outputs that are seldom unlike the others, and outputs longer than what scores look at: neither hides."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.outputs import of_objects
from dpproof.audits.engine.power.event_classes import CLASSES
from dpproof.audits.engine.power.fresh_outputs import FARTHEST, Outputs
from dpproof.audits.engine.scores.layout import WIDEST, Layout
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit


def overflowing(value, n, rng):
    """Two normal numbers; one output in 77 overflows, with the sign that the data give it."""
    drawn = rng.normal(size=(n, 2))
    drawn[rng.random(n) < 0.013, 0] = np.inf if value else -np.inf
    return drawn


def words_with_an_end(value, n, rng):
    """A list of a word, a noisy bit, seventy zeros, and the data with hardly any noise."""
    flipped = rng.random(n) < 1 / (1 + np.e)
    return of_objects(
        [
            ["reply", int(value) ^ int(flip), *[0] * 70, int(value) + 1e-3 * noise]
            for flip, noise in zip(flipped, rng.normal(size=n), strict=True)
        ]
    )


@pytest.mark.parametrize("seed", [1, 13, 14])
def test_one_output_in_a_hundred_unlike_the_others_is_an_event_of_its_own(bits, seed):
    """Two infinities that few probes hold are not taken for the same odd output."""
    found = audit("overflow", PureDP(1.0), overflowing, bits, seed=seed, budget=8192, power=False)
    assert found.verdict is Finding.VIOLATION


@pytest.mark.slow
def test_what_follows_the_cells_that_scores_look_at_counts_in_the_measured_power(bits):
    found = audit("long", PureDP(1.0), words_with_an_end, bits, seed=0, budget=1500)
    assert found.verdict is Finding.INCONCLUSIVE
    assert "coordinate" in found.weakness


def test_events_lie_beyond_what_scores_look_at_and_the_rest_is_said():
    rows = of_objects([["a", *range(place, place + length)] for place, length in enumerate((3, 100, 600))])
    layout = Layout.of([rows])
    seen = Outputs(rows, layout)
    assert layout.cells == WIDEST
    assert seen.numbers[1, -(FARTHEST - WIDEST) :].max() == 100
    assert seen.cut
    assert not Outputs(rows[:2], layout).cut


def test_whole_numbers_are_looked_at_bit_by_bit_whatever_stands_beside_them(bits):
    """Low bits of a whole number are a required class in an array of doubles, too."""

    def parity(value, n, rng):
        even = rng.integers(0, 10**6, n) * 8 + np.array([0, 3, 5, 6])[rng.integers(0, 4, n)]
        return np.stack([(even ^ int(value)).astype(float), rng.normal(size=n)], axis=1)

    assert audit("bits", PureDP(1.0), parity, bits, seed=0).verdict is Finding.VIOLATION
    rng = np.random.default_rng(0)
    tables = parity(0, 100, rng), of_objects([{"n": int(x), "word": "a"} for x in rng.integers(0, 99, 100)])
    for rows in tables:
        sketch = Outputs(rows, Layout.of([rows]))
        assert "adjacent low bits of a number" in {one.name for one in CLASSES if one.applies(sketch)}


def test_a_tail_is_planted_only_where_there_is_one_of_its_mass(bits):
    """An answer of yes or no has no event of mass .1 or less, and the answer says that none was planted."""

    def response(value, n, rng):
        return (rng.random(n) < 1 / (1 + np.e)) ^ bool(value)

    found = audit("response", PureDP(1.0), response, bits, seed=0, budget=4000)
    assert found.verdict is Finding.CONSISTENT
    assert found.power.keys() == {"one coordinate beyond a threshold", "one value that repeats"}
    assert any(text.startswith("a tail of one coordinate: no event") for text in found.not_covered)
