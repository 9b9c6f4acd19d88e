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
        lambda rng: np.random.default_rng(3).laplace(scale=1.0),
        lambda rng: random.gauss(0, 1),
        lambda rng: secrets.SystemRandom().normalvariate(0, 1),
        lambda rng: 2 * np.random.randn() - 3,
        lambda rng: -rng.standard_normal(2)[0] / 2,
    ],
    ids=["function", "own generator", "random", "secrets", "multiple", "element"],
)
def test_each_primitive_is_under_replay(noise):
    found = compare_runs(lambda data, rng: len(data) + noise(rng), MORE, LESS, epsilon=0.01, delta=1e-9)
    assert [one.kind for one in found.seen] == ["sensitivity"]


def test_the_primitives_are_put_back():
    before = np.random.laplace, random.random, secrets.randbelow
    compare_runs(lambda data: len(data) + np.random.laplace(), MORE, LESS, epsilon=1)
    assert (np.random.laplace, random.random, secrets.randbelow) == before


def test_randomness_outside_of_the_replay_is_no_finding():
    own = np.random.Generator(np.random.PCG64(0))
    found = compare_runs(lambda data, rng: len(data) + own.laplace(), MORE, LESS, epsilon=1)
    assert found.answer is Answer.UNDECIDED


@rows("epsilon, delta", [(math.inf, 0), (-1, 0), (1, 1)], ids=str)
def test_what_is_no_claim_is_an_error(epsilon, delta):
    with pytest.raises(ValueError, match="must have a finite epsilon"):
        compare_runs(len, MORE, LESS, epsilon=epsilon, delta=delta)
