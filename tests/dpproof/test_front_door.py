"""The front door as a person meets it: exit codes and streams, hints for misspelt words, narrow terminals."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.claims.spelling import nearest
from dpproof.cli.layout import fitted, print_table, table
from dpproof.mechanisms.rl.rlsvi.users import Users

SIZES = ["--states", "1", "--actions", "1", "--horizon", "1", "--adjacency", "rewards-only"]


def dpproof(*arguments, **options):
    code = "from dpproof.cli import main; main()"
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.slow
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


ASKED = ["--delta", "1e-6"]
SMALL = ["--states", 2, "--actions", 2, "--horizon", 2, "--episodes", 3]
RELATIONS = "add-remove, replace, rewards-only, expert, by-sensitivity"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["acount"], "did you mean 'account'?"),
        (["account", "rlsv"], "did you mean 'rlsvi'?"),
        (["calibrate", "gausian"], "did you mean 'gaussian'?"),
        (["account", "rlsvi", "--state", 3], "--states"),
        (
            ["account", "rlsvi", *SMALL, *ASKED, "--adjacency", "reward_only"],
            "did you mean 'rewards-only'?",
        ),
        (["audit", "lapace", "--scale", 1], "did you mean 'laplace'?"),
        (["audit", "laplace", "--scales", 1], "did you mean '--scale'?"),
        (["audit", "rlsvi", *SMALL, "--adjacency", "replase"], "did you mean 'replace'?"),
        (["verify", "rlsvi.corolary14"], "did you mean 'rlsvi.corollary14'?"),
        (["verify", "privateucb"], "did you mean 'private-ucb'?"),
        (["explain", "selective-dpsg"], "did you mean 'selective-dpsgd'?"),
        (["explain", "rlsvi.tigth"], "did you mean 'rlsvi.tight'?"),
        (["check", "paper"], "did you mean 'papers'?"),
        (["reproduce", "exper"], "did you mean 'expert'?"),
    ],
)
def test_what_is_misspelt_is_answered_with_what_may_be_meant(refused, arguments, meant):
    assert meant in refused(*arguments)


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ({"mechanism": "rlvsi"}, "did you mean 'rlsvi'?"),
        ({"adjacency": "reward-only"}, "did you mean 'rewards-only'?"),
        ({"adjacency": None}, f"adjacency is missing and has no default. Choose one of: {RELATIONS}"),
        ({"epsiln": 1.0}, "did you mean 'epsilon'?"),
        ({"parameters": {"state": 2}}, "did you mean 'states'?"),
        ({"audit": {"budgt": 2}}, "did you mean 'budget'?"),
    ],
)
def test_in_claim_files_too(refused, claim_file, change, meant):
    assert meant in refused("check", claim_file(change))


def test_nothing_is_guessed_where_nothing_is_close(refused):
    assert "did you mean" not in refused("account", "qqqq")
    assert nearest(["replace"], ["replace"]) == ""


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["account", "rlsvi", "--actions", 2], ["--states", "--horizon", "--episodes", "--adjacency"]),
        (
            ["account", "rlsvi"],
            ["--states", "--actions", "--horizon", "--episodes", "--adjacency", "replace, rewards-only"],
        ),
        (["calibrate", "gaussian"], ["--target-epsilon", "--delta"]),
        (
            ["audit", "rlsvi", "--actions", 2],
            ["'states'", "'horizon'", "'episodes'", "--adjacency", "Choose one of: rewards-only."],
        ),
        (["audit", "math:sin"], ["--epsilon", "--adjacency", "--data", "neighbours", RELATIONS]),
        (["audit", "math:sin", "--epsilon", 1], ["--adjacency", "--data", "neighbours"]),
    ],
)
def test_all_that_is_missing_is_named_at_once(refused, arguments, missing):
    said = refused(*arguments)
    assert [option for option in missing if option not in said] == []


def test_where_failures_are_said_to_be_outputs_is_explained(run):
    shown = run("explain", "failures").out
    assert 'audit = { failures = "token" }' in " ".join(shown.split())
    assert 'failures="token")' in shown


LONG = [
    "--states",
    6,
    "--actions",
    2,
    "--horizon",
    20,
    "--episodes",
    1000,
    "--adjacency",
    "rewards-only",
]
THOMPSON = ["--arms", 5, "--rounds", 1000, "--pulls", 20, "--adjacency", "rewards-only"]
VERBS = {
    "account": (
        ["account", "rlsvi", *LONG, "--delta", "1e-6"],
        ["rlsvi.printed_gaussian", "11.08077", "1.633809"],
    ),
    "calibrate": (
        ["calibrate", "thompson", *THOMPSON, "--target-epsilon", 2, "--delta", "1e-6", "--what-if"],
        ["236.9059236345558", "849.9006", "rounds 2000"],
    ),
    "audit": (
        ["audit", "laplace", "--scale", 1, "--budget", 3000],
        ["laplace", "consistent", "3000"],
    ),
    "verify": (["verify", "rlsvi", "--verbose"], ["PROVED ON A SUBDOMAIN", "rlsvi.lemma6.printed_domain"]),
    "explain": (["explain", "central-counts"], ["printed_epsilon", "cost_factor", "required"]),
}


@pytest.mark.parametrize("width", [80, 60, 30])
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_cut(run, monkeypatch, verb, width):
    monkeypatch.setenv("COLUMNS", str(width))
    arguments, words = VERBS[verb]
    shown = run(*arguments).out
    assert "…" not in shown
    assert [word for word in words if word not in shown and width > 30] == []


def test_remarks_of_claims_stand_below_their_table_at_full_width(run, claim_file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("check", claim_file({"epsilon": 0.1}), "--no-audits").out.splitlines()
    assert not any("…" in line for line in lines)
    remark = next(line for line in lines if line.startswith("ward: "))
    assert remark.startswith("ward: a pair of neighbours exceeds it: first user's rewards all 0 against all")


def shown(width):
    """A table of two long words, as a console of this width shows it."""
    rows = table("statement", "verdict", title="Found")
    rows.add_row("rlsvi.printed_gaussian_costs", "PROVED ON A SUBDOMAIN")
    console = Console(width=width)
    with console.capture() as captured:
        print_table(rows, console)
    return captured.get()


def test_a_table_narrows_to_its_longest_words_and_is_stacked_below_that():
    assert "PROVED ON A SUBDOMAIN" in shown(80)
    assert max(map(len, shown(44).splitlines())) <= 44
    assert "rlsvi.printed_gaussian_costs" in shown(44)
    assert "statement: rlsvi.printed_gaussian_costs\nverdict: PROVED ON A SUBDOMAIN" in shown(43)


def test_widths_add_up_to_the_room_there_is():
    for room in range(6, 40):
        widths = fitted([1, 2, 3], [4, 20, 3], room)
        assert widths is not None
        assert sum(widths) == min(room, 27)
        assert all(
            low <= width <= high for low, width, high in zip([1, 2, 3], widths, [4, 20, 3], strict=True)
        )


FIRST = {
    "account": (["account", "rlsvi", *LONG, "--delta", "1e-6"], "Epsilon is at most"),
    "calibrate": (
        ["calibrate", "gaussian", "--target-tpr", ".2", ".01"],
        "is the least noise that is certified",
    ),
    "verify": (["verify", "rlsvi"], "3 REFUTED"),
    "one statement": (["verify", "rlsvi.tight"], "rlsvi.tight is PROVED GIVEN"),
}


@pytest.mark.parametrize("verb", FIRST)
def test_ten_lines_answer_the_question(run, verb):
    arguments, answer = FIRST[verb]
    plain, verbose = (run(*arguments, *more).out.splitlines() for more in ((), ("--verbose",)))
    assert any(answer in line for line in plain[:10])
    assert plain[:3] == verbose[:3]
    assert len(verbose) >= len(plain)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing option --target-epsilon, --delta"),
        (["--target-epsilon", 1], "Missing option --delta"),
        (["--target-advantage", ".1", "--target-tpr", ".2", ".1"], "exactly one"),
        (["--target-advantage", ".1", "--what-if"], "only with --target-epsilon"),
    ],
)
def test_a_calibration_has_one_target(refused, arguments, says):
    assert says in refused("calibrate", "gaussian", *arguments)
