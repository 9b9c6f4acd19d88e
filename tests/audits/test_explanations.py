"""Explanations of a violation on outputs whose noise is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpproof
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.engine.explaining import fresh as fresh_outputs
from dpproof.audits.engine.explaining.explanations import explained
from dpproof.audits.engine.explaining.facts import Fresh
from dpproof.audits.engine.sampling.callables import Mechanism
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.call import audit
from tests.rows import rows

N = 2000
SECOND = np.repeat([False, True], N)


def fresh(*numbers, epsilon=1.0):
    names = ("the first number", "the second number")
    held = {name: np.concatenate(sides).astype(float) for name, sides in zip(names, numbers, strict=False)}
    return Fresh(held, {}, SECOND, epsilon, 0.0, dpproof.PureDP(epsilon), False)


def moved(draw, by=1.0, scale=1.0):
    """Return outputs on both inputs: noise, and noise that is moved by a number."""
    return draw(), by + scale * draw()


def geometric(rng, scale):
    p = 1 - np.exp(-1 / scale)
    return rng.geometric(p, N) - rng.geometric(p, N)


def sometimes(rng):
    noise = rng.laplace(0, 1000, N)
    noise[rng.random(N) < 0.03] = 0.0
    return noise


CASES = [
    ("scale", lambda r: moved(lambda: r.laplace(0, 0.5, N))),
    ("scale", lambda r: moved(lambda: geometric(r, 0.6))),
    ("scale", lambda r: moved(lambda: np.rint(r.laplace(0, 30, N)), 60)),
    ("", lambda r: moved(lambda: r.laplace(0, 1.0, N))),
    ("normal", lambda r: moved(lambda: r.normal(0, 1, N))),
    ("normal", lambda r: moved(lambda: np.rint(r.normal(0, 2, N)), 3)),
    ("", lambda r: moved(lambda: r.laplace(0, 1, (N, 5)).mean(axis=1))),
    ("bounded", lambda r: moved(lambda: r.uniform(-2, 2, N))),
    ("bounded", lambda r: moved(lambda: r.integers(-20, 21, N))),
    ("bounded", lambda r: moved(lambda: r.exponential(1, N))),
    ("bounded", lambda r: moved(lambda: r.triangular(-2, 0, 2, N))),
    ("local", lambda r: moved(lambda: r.laplace(0, 1, N), 0, 4)),
    ("plain", lambda r: moved(lambda: sometimes(r), 7)),
    ("plain", lambda r: (np.zeros(N), geometric(r, 1))),
    ("grid", lambda r: moved(lambda: 100 * geometric(r, 1), 95)),
]


@rows(("kind", "made"), CASES)
def test_the_kind_of_noise_is_recognised(kind, made):
    for seed in range(2):
        assert explained(fresh(made(np.random.default_rng(seed))), None)[0] == kind


def test_noise_that_is_used_twice_is_recognised_with_any_factor():
    for factor in (1, -1, 2):
        z = [geometric(np.random.default_rng(side), 2) for side in (0, 1)]
        two = fresh((z[0], z[1] + 1), (factor * z[0], factor * z[1] + 3))
        assert explained(two, None)[0] == "reused"


def test_clipped_noise_is_not_taken_for_a_value_without_noise():
    rng = np.random.default_rng(0)
    found = explained(fresh(moved(lambda: np.clip(rng.laplace(0, 1, N), -2, 2))), None)
    assert found[0] in ("", "bounded")


def test_the_factor_is_a_smallest_one():
    rng = np.random.default_rng(0)
    words = explained(fresh(moved(lambda: rng.laplace(0, 0.25, N))), None)[1]
    assert words.startswith("noise that is at least 3.")


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e300])
def test_a_violation_with_huge_numbers_is_explained_without_a_warning(bits, scale):
    """Warnings are errors in the tests. Moments of these numbers overflow, and some are whole beyond 2^63."""

    def far(value, n, rng):
        return scale * np.clip(rng.standard_cauchy(n) + 10 * value, -1e6, 1e6)

    found = audit("far", PureDP(0.5), far, bits, seed=0, budget=20_000, power=False)
    assert found.verdict is Finding.VIOLATION
    assert found.shown is not None


def test_an_illustration_without_a_seed_draws_the_inputs_in_turn(bits):
    """The outputs of a function whose numbers grow with every call are as large on one input as on the other."""
    count = itertools.count()
    slow = Mechanism(lambda value, n, rng: [next(count) for _ in range(n)], seeded=False, sparing=1)
    first, second = (block.tolist() for block in fresh_outputs.drawn_on_each(slow, bits, 50, seed=0))
    assert first == [*range(0, 100, 2)]
    assert second == [*range(1, 100, 2)]
