"""What is misspelt is answered with what may be meant; all that is missing is named at once."""

from __future__ import annotations

import pytest

from dpproof.accountant.claims.spelling import nearest

ASKED = ["--delta", "1e-6"]
SIZES = ["--states", 2, "--actions", 2, "--horizon", 2, "--episodes", 3]
RELATIONS = "add-remove, replace, rewards-only, expert, by-sensitivity"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["acount"], "Did you mean 'account'?"),
        (["account", "rlsv"], "did you mean 'rlsvi'?"),
        (["calibrate", "gausian"], "did you mean 'gaussian'?"),
        (["account", "rlsvi", "--state", 3], "--states"),
        (["account", "rlsvi", *SIZES, *ASKED, "--adjacency", "reward_only"], "did you mean 'rewards-only'?"),
        (["audit", "lapace", "--scale", 1], "did you mean 'laplace'?"),
        (["audit", "laplace", "--scales", 1], "did you mean '--scale'?"),
        (["audit", "rlsvi", *SIZES, "--adjacency", "replase"], "did you mean 'replace'?"),
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
        ({"adjacency": None}, f"adjacency is missing; there is no default: {RELATIONS}"),
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
            ["--states", "--actions", "--horizon", "--episodes", "--adjacency", RELATIONS],
        ),
        (["calibrate", "gaussian"], ["--target-epsilon", "--delta"]),
        (
            ["audit", "rlsvi", "--actions", 2],
            ["'states'", "'horizon'", "'episodes'", "--adjacency", RELATIONS],
        ),
        (["audit", "math:sin"], ["--epsilon", "--adjacency", "--neighbours", RELATIONS]),
        (["audit", "math:sin", "--epsilon", 1], ["--adjacency", "--neighbours"]),
    ],
)
def test_all_that_is_missing_is_named_at_once(refused, arguments, missing):
    said = refused(*arguments)
    assert [option for option in missing if option not in said] == []


def test_where_failures_are_said_to_be_outputs_is_explained(run):
    shown = run("explain", "failures").out
    assert 'audit = { failures = "token" }' in " ".join(shown.split())
    assert 'failures="token")' in shown
