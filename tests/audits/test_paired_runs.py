"""Two runs of a mechanism with the same noise: what is found, where, and what is left undecided."""

import math
import random
import re
import secrets
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paired_runs import cases
from dpproof import compare_runs
from dpproof.audits.paired.finding import Answer
from tests.rows import rows

LINES = Path(cases.__file__).read_text(encoding="utf-8").splitlines()
MORE, LESS = [0.9, 0.2, 0.7], [0.9, 0.2]


@pytest.mark.slow
@rows("case", cases.CASES, ids=lambda case: case.name)
def test_each_case_has_its_answer(case):
    found = case.compare()
    assert found.answer is case.answer, found
    if found.answer is Answer.DIFFERENCE:
        places = re.findall(r"[^ ,]+/(\w+\.py):(\d+)", found.seen[0].place)
        assert any(case.line in LINES[int(line) - 1] for name, line in places if name == "cases.py"), found


def test_the_loss_is_that_of_the_accountant():
    found = compare_runs(
        lambda data, rng: [len(data) + rng.normal(0, 4), 3.0], MORE, LESS, epsilon=1, delta=1e-5
    )
    assert found.answer is Answer.NO_DIFFERENCE
    exact = found.loss.delta(0.5)
    z = [(0.125 - 0.5 * 4), (-0.125 - 0.5 * 4)]
    assert float(exact.upper) == pytest.approx(
        (math.erfc(-z[0] / math.sqrt(2)) - math.exp(0.5) * math.erfc(-z[1] / math.sqrt(2))) / 2, rel=1e-9
    )


@rows(
    "noise",
    [
        lambda rng: np.random.laplace(0, 1),
        lambda rng: np.random.default_rng().laplace(scale=1.0),
        lambda rng: np.random.RandomState().laplace(scale=1.0),
        lambda rng: random.gauss(0, 1),
        lambda rng: secrets.SystemRandom().normalvariate(0, 1),
        lambda rng: 2 * np.random.randn() - 3,
        lambda rng: -rng.standard_normal(2)[0] / 2,
    ],
    ids=["function", "own generator", "legacy", "random", "secrets", "multiple", "element"],
)
def test_each_primitive_is_under_replay(noise):
    found = compare_runs(lambda data, rng: len(data) + noise(rng), MORE, LESS, epsilon=0.01, delta=1e-9)
    assert [one.kind for one in found.seen] == ["sensitivity"]


def test_the_loss_of_a_choice_is_that_of_its_two_laws():
    """The losses of a random choice and of added noise are composed, and rare outcomes count towards delta."""

    def both(data, rng):
        return rng.choice(2, p=[0.1 * len(data), 1 - 0.1 * len(data)]), len(data) + rng.laplace()

    found = compare_runs(both, MORE, LESS, epsilon=1.5)
    assert float(found.loss.epsilon(0).upper) == pytest.approx(1 + math.log(0.3 / 0.2), rel=1e-6)
    rare = compare_runs(
        lambda data, rng: int(rng.choice(2, p=[1 - 1e-9 ** len(data), 1e-9 ** len(data)])),
        [1], [1, 2], epsilon=1, delta=1e-6,
    )  # fmt: skip
    assert rare.answer is Answer.NO_DIFFERENCE


def test_a_norm_of_noisy_numbers_is_a_use_that_is_followed():
    def norm(data, rng):
        noisy = len(data) + rng.laplace(0, 1, 2)
        return noisy @ noisy

    assert compare_runs(norm, MORE, LESS, epsilon=2).answer is Answer.NO_DIFFERENCE


def test_an_exception_before_the_first_draw_is_a_difference_in_spite_of_random_answers():
    def checked(data, rng):
        if len(data) < 3:
            raise ValueError(data)
        return rng.choice(2, p=[0.5, 0.5])

    assert compare_runs(checked, MORE, LESS, epsilon=1).answer is Answer.DIFFERENCE
    later = compare_runs(
        lambda data, rng: checked(data, rng) + 1 // (len(data) - 3), [1] * 4, MORE, epsilon=1
    )
    assert later.answer is Answer.UNDECIDED


def test_a_change_beyond_the_range_of_the_accountant_has_an_answer():
    found = compare_runs(lambda data, rng: 1e5 * len(data) + rng.normal(), MORE, LESS, epsilon=1, delta=1e-5)
    assert found.answer is Answer.DIFFERENCE


def _torch_noise(generator):
    torch = pytest.importorskip("torch")
    return float(torch.randn(1, generator=generator(torch)))


@rows(
    "noise, seed",
    [
        (lambda data: np.random.default_rng(5).laplace(), "5"),
        (lambda data: np.random.default_rng(int(100 * sum(data))).laplace(), "computed from the data"),
        (lambda data: np.random.RandomState(seed=5).laplace(), "5"),
        (lambda data: np.random.Generator(np.random.PCG64(5)).laplace(), "5"),
        (lambda data: np.random.default_rng(np.random.SeedSequence(5)).laplace(), "5"),
        (lambda data: (np.random.seed(5), np.random.laplace())[1], "5"),
        (lambda data: (random.seed(5), random.gauss(0, 1))[1], "5"),
        (lambda data: random.Random(5).gauss(0, 1), "5"),
        (lambda data: _torch_noise(lambda torch: torch.Generator().manual_seed(5)), "5"),
        (lambda data: _torch_noise(lambda torch: torch.manual_seed(5)), "5"),
    ],
    ids=[
        "default_rng", "data", "RandomState", "PCG64", "SeedSequence", "numpy", "random", "Random", "torch generator",
        "torch",
    ],
)  # fmt: skip
def test_noise_of_a_given_seed_is_no_noise(noise, seed):
    found = compare_runs(lambda data: len(data) + noise(data), MORE, LESS, epsilon=1)
    assert found.answer is Answer.DIFFERENCE
    assert found.seen[0].kind == "seed"
    assert f"The seed of this generator is {seed}. Noise of a seed that is written" in found.seen[0].text
    assert f"{__file__}:" in found.seen[0].place


def test_a_seed_that_was_drawn_is_a_doubt_and_no_difference():
    """As in a forest, which draws a seed for each tree."""

    def forest(data, rng):
        seeds = rng.integers(1 << 31, size=3).tolist()
        return [np.random.RandomState(seed).laplace(len(data)) for seed in seeds]

    found = compare_runs(forest, MORE, LESS, epsilon=1)
    assert found.answer is Answer.UNDECIDED
    assert "The seed of this generator was drawn in the run." in found.seen[0].text


def test_a_small_seed_that_was_drawn_by_chance_is_a_given_seed():
    def chosen(data, rng):
        rng.integers(5, 6)
        return np.random.RandomState(5).laplace(len(data))

    assert "The seed of this generator is 5." in compare_runs(chosen, MORE, LESS, epsilon=1).seen[0].text


def test_a_seeded_choice_that_agrees_is_undecided():
    def chosen(data):
        return np.random.default_rng(5).choice(2, p=[0.9 - len(data) / 100, 0.1 + len(data) / 100])

    assert compare_runs(chosen, MORE, LESS, epsilon=0.1).answer is Answer.UNDECIDED


@rows(
    "generator",
    [
        lambda rng: np.random.default_rng(rng),
        lambda rng: np.random.default_rng(np.random.SeedSequence().spawn(2)[1]),
        lambda rng: rng.spawn(1)[0],
        lambda rng: (np.random.seed(), np.random)[1],
    ],
    ids=["passed", "sequence", "spawned", "entropy"],
)
def test_a_generator_of_the_caller_or_of_entropy_is_noise(generator):
    found = compare_runs(lambda data, rng: len(data) + generator(rng).laplace(), MORE, LESS, epsilon=1)
    assert found.answer is Answer.NO_DIFFERENCE, found


def test_the_classes_of_generators_stay_classes():
    """A function may ask whether it got a generator, and may derive a class from one."""
    kept = np.random.RandomState(0)

    def kinds(data):
        derived = type("Own", (np.random.RandomState,), {})
        return [isinstance(kept, np.random.RandomState), isinstance(kept, derived), type(derived()).__name__]

    assert compare_runs(kinds, MORE, LESS, epsilon=1).answer is Answer.NO_DIFFERENCE
    assert kinds([]) == [True, False, "Own"]


PLACES = [(np.random, "laplace"), (np.random, "RandomState"), (np.random, "seed"), (random, "random"),
          (random.Random, "seed"), (secrets, "randbelow")]  # fmt: skip


def test_the_primitives_are_put_back():
    before = [getattr(place, name) for place, name in PLACES]
    compare_runs(lambda data: len(data) + np.random.laplace(), MORE, LESS, epsilon=1)
    assert [getattr(place, name) for place, name in PLACES] == before


def test_randomness_outside_of_the_replay_is_no_finding():
    own = np.random.Generator(np.random.PCG64(0))
    found = compare_runs(lambda data, rng: len(data) + own.laplace(), MORE, LESS, epsilon=1)
    assert found.answer is Answer.UNDECIDED
    assert "dpproof observes none of the randomness of this function" in found.seen[1].text


@rows("epsilon, delta", [(math.inf, 0), (-1, 0), (1, 1)], ids=str)
def test_what_is_no_claim_is_an_error(epsilon, delta):
    with pytest.raises(ValueError, match="must have a finite epsilon"):
        compare_runs(len, MORE, LESS, epsilon=epsilon, delta=delta)
