"""The command lines of the shuffle model: the printed encoding, bits, the least threshold, a whole batch."""

import json

import pytest
from typer.testing import CliRunner

from dpproof.cli import app

COUNT = ["--users", "278566", "--adjacency", "replace", "--json"]
SIZES = ["--users", "4096", "--states", "4", "--actions", "2", "--horizon", "6"]
BATCH = [*SIZES, "--adjacency", "replace", "--json"]


def answered(*words, code=0):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return json.loads(done.output)


@pytest.mark.parametrize(("encoding", "low", "high"), [("sum", 0.25, 1.0), ("bits", 0.0, 1e-100)])
def test_account_says_what_an_encoding_leaks(encoding, low, high):
    words = ["--threshold", "139283", "--encoding", encoding, "--epsilon", "0.1"]
    delta = answered("account", "shuffled-count", *words, *COUNT)["delta"]
    assert low <= delta["lower"] <= delta["upper"] < high


def test_calibrate_finds_the_smallest_threshold():
    words = ["--encoding", "bits", "--target-epsilon", "0.1", "--delta", "1e-6"]
    found = answered("calibrate", "shuffled-count", *words, *COUNT)
    assert found["noise"]["value"] == pytest.approx(2829.6736, abs=1e-3)
    assert found["minimal"]["epsilon_lower"] > 0.1


def test_audit_finds_the_printed_encoding_by_default_and_says_who_it_was():
    words = ["--threshold", "139283", "--encoding", "sum"]
    found = answered("audit", "shuffled-count", *words, *COUNT, code=1)["audits"][0]
    assert found["verdict"] == "violation"
    assert found["witness"] is not None


def test_a_batch_is_calibrated_beside_the_printed_noise():
    words = ["--target-epsilon", "0.5", "--delta", "1e-6"]
    found = answered("calibrate", "shuffled-batch", *words, *BATCH)
    assert found["printed"]["deviation"]["ratio"] > 10
    assert found["printed"]["statement"] == "sdp.lemma10.privacy.bits"
