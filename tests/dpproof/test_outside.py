"""The front door from outside: the process's exit code and streams, and data that the library refuses."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.rl.rlsvi.users import Users

SIZES = ["--states", "1", "--actions", "1", "--horizon", "1", "--adjacency", "rewards-only"]


def dpproof(*arguments, **options):
    code = "from dpproof.cli import main; main()"
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_a_process_answers_on_standard_output_only():
    done = dpproof("account", "rlsvi", *SIZES, "--episodes", "2", "--delta", "1e-6", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["name"] == "rlsvi"


def test_a_process_refuses_on_standard_error_only():
    done = dpproof("account", "rlsvi", *SIZES, "--episodes", "0", "--delta", "1e-6", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dpproof: episodes (0) must be an integer at least 1\n"


def test_callables_of_the_folder_one_stands_in_are_found(tmp_path):
    (tmp_path / "standing_here.py").write_text(
        "def pairs():\n    return 0.0, 1.0\n\n"
        "def bad(value, n, rng):\n    return value + rng.laplace(0, 0.2, n)\n",
        encoding="utf-8",
    )
    pair = ["--neighbours", "standing_here:pairs", "--adjacency", "replace", "--epsilon", "1", "--delta", "0"]
    done = dpproof("audit", "standing_here:bad", *pair, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["audits"][0]["verdict"] == "violation"


@pytest.mark.parametrize("reward", [-0.1, 1.5, np.nan, np.inf, -np.inf, np.nextafter(1, 2)])
def test_rewards_outside_the_unit_interval_are_refused(reward):
    # Python floats in both messages, so that the value can be read.
    with pytest.raises(ValueError, match=r"rewards .*must be in \[0, 1\]") as users:
        Users([[[[0]]], [[[0]]]], [[[[0.5]]], [[[reward]]]])
    with pytest.raises(ValueError, match=r"rewards .*must be in \[0, 1\]") as episodes:
        Episodes.rectangular([[0, 0]], [[0, 0]], [[0.5, reward]])
    assert f"({float(reward)!r})" in str(users.value)
    assert f"({float(reward)!r})" in str(episodes.value)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_the_ends_of_the_unit_interval_are_rewards(reward):
    assert Users([[[[0]]]], [[[[reward]]]]).rewards.item() == reward
    assert Episodes.rectangular([[0]], [[0]], [[reward]]).rewards.item() == reward
