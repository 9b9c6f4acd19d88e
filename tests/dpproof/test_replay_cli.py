"""``dpproof audit --replay`` after the implementation was changed: news, exit codes, broken files."""

from __future__ import annotations

import json
import re
import sys

import pytest

BAD = "def bad(value, n, rng):\n    return value + rng.laplace(0, 0.4, n)"
OTHER = "def bad(value, n, rng):\n    return value + rng.laplace(0, 0.41, n)"
MENDED = "def bad(value, n, rng):\n    return value + rng.geometric(0.632, n) - rng.geometric(0.632, n)"
PROMISE = ["--adjacency", "replace", "--epsilon", 1, "--delta", 0, "--budget", 60_000]


@pytest.fixture
def change(user_module, tmp_path):
    """Replace the mechanism ``bad`` of the user's module by another, as if in another process."""

    def _change(text):
        path = tmp_path / f"{user_module}.py"
        kept = re.sub(r"def bad\(.*\n.*", "", path.read_text(encoding="utf-8"))
        path.write_text(f"{kept}\n{text}\n", encoding="utf-8")
        sys.modules.pop(user_module, None)

    return _change


@pytest.fixture
def found(run, user_module, tmp_path):
    """The witness of an audit of ``bad``, as a file."""
    pair = ["--neighbours", f"{user_module}:pairs"]
    ran = run("audit", f"{user_module}:bad", *PROMISE, *pair, "--json")
    assert ran.code == 1
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(ran.json["audits"][0]["witness"]), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_mended_implementation_is_no_longer_a_violation(run, found, change):
    change(MENDED)
    ran = run("audit", "--replay", found)
    assert (ran.code, ran.err) == (0, "")
    assert f"{found}: no longer a violation: the audit that found one is now consistent" in ran.out
    (answer,) = run("audit", "--replay", found, "--json").json["audits"]
    assert (answer["recorded_verdict"], answer["verdict"]) == ("violation", "consistent")
    assert answer["news"].startswith("no longer a violation")


def test_an_implementation_that_is_mended_in_part_is_still_a_violation(run, found, change):
    change(OTHER)
    ran = run("audit", "--replay", found)
    assert (ran.code, ran.err) == (1, "")
    assert "still a violation, by an implementation that has changed" in ran.out


@pytest.mark.slow
def test_one_that_is_broken_since_is_now_a_violation(run, user_module, change, tmp_path):
    pair = ["--neighbours", f"{user_module}:pairs"]
    change(MENDED)
    ran = run("audit", f"{user_module}:bad", *PROMISE, *pair, "--json")
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(ran.json["audits"][0]["witness"]), encoding="utf-8")
    change(BAD)
    again = run("audit", "--replay", path)
    assert (ran.code, again.code) == (0, 1)
    assert "now a violation: the audit that was consistent finds one" in again.out


def test_what_is_as_before_is_no_news(run, found):
    ran = run("audit", "--replay", found, "--json")
    assert ran.code == 1
    assert "news" not in ran.json["audits"][0]


BROKEN = [
    ({"verdict": "consistent"}, "verdict came out differently"),  # all figures of a violation beside it
    ({"pair": "others"}, "pair came out differently"),
    ({"more": 1}, "more came out differently"),
    ({"seed": "0"}, "seed ('0') must be of type int"),
    ({"verdict": ["violation"]}, "verdict (['violation']) must be of type str"),
]


@pytest.mark.parametrize(("damage", "says"), BROKEN)
def test_a_broken_file_is_bad_input(refused, found, damage, says):
    found.write_text(
        json.dumps({**json.loads(found.read_text(encoding="utf-8")), **damage}), encoding="utf-8"
    )
    assert says in refused("audit", "--replay", found)


def test_a_changed_figure_of_this_projects_own_code_is_bad_input(run, refused, tmp_path):
    sizes = ["--states", 2, "--actions", 1, "--horizon", 1, "--episodes", 2, "--adjacency", "replace"]
    promise = ["--printed-epsilon", 1, "--epsilon", 1, "--budget", 20_000, "--json"]
    (audit,) = run("audit", "local-counts", *sizes, *promise).json["audits"]
    path = tmp_path / "witness.json"
    path.write_text(json.dumps({**audit["witness"], "samples": 3}), encoding="utf-8")
    assert audit["verdict"] == "violation"
    assert "samples came out differently" in refused("audit", "--replay", path)
