"""Private counts on the command line: the true epsilon beside the printed one, honest noise, refusals."""

from __future__ import annotations

import math

import pytest

from tests.rows import rows

SIZES = ["--states", 6, "--actions", 2, "--horizon", 20, "--episodes", 20_000]
REPLACED = ["--adjacency", "replace", "--json"]
CAPPED = ["--cap", 7, "--every", 100, "--until", 10_000, "--cost-factor", 2]
CALIBRATED = {
    ("central-counts", "0"): 1755.0,
    ("local-counts", "0"): 120.0,
}
"""(6H - 3) levels, and 6H: the sums of all changes, over epsilon 1."""


@pytest.mark.parametrize(
    ("name", "words", "true"),
    [
        ("central-counts", [], 117 * 15 / (60 * math.log(20_000))),
        ("central-counts", ["--log-base", "binary"], 117 * 15 / (60 * math.log2(20_000))),
        ("central-counts", ["--start", "any"], 120 * 15 / (60 * math.log(20_000))),
        ("local-counts", [], 2.0),
    ],
)
def test_the_true_epsilon_stands_beside_the_printed_one(run, name, words, true):
    """6H - 3, or 6H, changes in 15 nodes, against 3H log K: the sheet's arithmetic."""
    found = run("account", name, *SIZES, "--printed-epsilon", 1, *words, *REPLACED, "--delta", 0).json
    assert found["epsilon"]["upper"] == pytest.approx(true, rel=1e-12)
    assert found["epsilon"]["lower"] <= found["epsilon"]["upper"]
    assert found["published"]["epsilon"]["upper"] == 1.0
    assert found["published"]["verdict"] != "PROVED"


@pytest.mark.parametrize("asked", CALIBRATED, ids=str)
def test_calibration_gives_the_noise_that_keeps_the_promise(run, asked):
    name, delta = asked
    found = run("calibrate", name, *SIZES, *REPLACED, "--target-epsilon", 1, "--delta", delta).json
    assert found["noise"] == {"name": "scale", "value": CALIBRATED[asked]}
    assert found["epsilon"]["upper"] <= 1 < found["minimal"]["epsilon_lower"]


def test_counts_in_batches_need_less_noise(run):
    """Beside the square root of every count, pooled: 2.2 times the deviation, and as many releases."""
    target = ["--target-epsilon", 1, "--delta", "1e-6"]
    found = run("calibrate", "batched-counts", *SIZES, *CAPPED, *REPLACED, *target).json
    words = ["--noise", "gaussian", "--counter", "square-root", "--visits", "summed", "--pooled"]
    other = run("calibrate", "central-counts", *SIZES, *words, *REPLACED, *target).json
    assert found["noise"]["value"] == pytest.approx(123.0247, abs=1e-4)
    assert found["epsilon"]["upper"] <= 1 < found["minimal"]["epsilon_lower"]
    assert other["noise"]["value"] > 2 * found["noise"]["value"]


@pytest.mark.parametrize("name", ["central-counts", "local-counts", "batched-counts"])
def test_each_is_explained(run, name):
    ran = run("explain", name)
    assert ran.code == 0
    assert ran.out.startswith(f"{name}: ")
    assert "neighbours: must be given" in ran.out


@rows("verb", [["account"], ["calibrate", "--target-epsilon", 1]], ids=str)
@rows(
    ("name", "words", "says"),
    [
        ("central-counts", ["--episodes", 1], "episodes (1) must be an integer in [2, 1e+12]: log K = 0"),
        ("central-counts", ["--episodes", 1, "--printed-epsilon", 1], "the printed noise is zero"),
        ("central-counts", ["--scale", 0], "scale (0.0) must be a number above 0"),
        ("local-counts", ["--scale", -1], "scale (-1.0) must be a number above 0"),
        ("local-counts", ["--printed-epsilon", 0], "printed_epsilon (0.0) must be a number above 0"),
        ("local-counts", ["--states", 0], "states (0) must be an integer"),
        ("batched-counts", ["--sigma", 0], "sigma (0.0) must be a number above 0"),
        ("batched-counts", ["--sigma", 1, "--cap", 21], "cap (21) must be at most horizon (20)"),
        ("batched-counts", ["--sigma", 1, "--every", 20_000], "every (20000) must be at most the last"),
        ("batched-counts", ["--sigma", 1, "--adjacency", "rewards-only"], "no guarantee of batched-counts"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(refused, verb, name, words, says):
    """The last word of a flag counts."""
    given = [verb[0], name, *SIZES, "--adjacency", "replace", "--delta", 0.1, *verb[1:], *words]
    assert says in refused(*given)
