"""What an audit looks at, said on the command line and in claim files; promises about real arithmetic."""

from __future__ import annotations

import json

import pytest

from dpproof.audits.data.outputs import as_block
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.names import SCORE_NAMES
from dpproof.claim_file import claim_from, entry_of

MODULE = """
import os
import numpy as np

def pairs():
    return 0.0, 1.0

def textbook(value, n, rng):
    return value + rng.laplace(0, 1.0, n)

def outside(value, n, rng):
    own = np.random.default_rng(int.from_bytes(os.urandom(8), "big"))
    return value + own.geometric(0.632, n) - own.geometric(0.632, n)

def failing(value, rng):
    if rng.random() < 0.01 + 0.3 * value:
        raise RuntimeError("out of order")
    return 0.0
"""
ASKED = ["--neighbours", "counters_of_a_user:pairs", "--adjacency", "replace", "--epsilon", 1, "--delta", 0]
FEW = ["--budget", 6_000, "--json"]


@pytest.fixture
def counters(tmp_path, monkeypatch):
    (tmp_path / "counters_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "counters_of_a_user"


def test_bits_alone_end_with_1_unless_the_claim_is_about_real_arithmetic(run, counters):
    typed = run("audit", f"{counters}:textbook", *ASKED, *FEW)
    (found,) = typed.json["audits"]
    assert (typed.code, found["verdict"]) == (1, "violation (floating point only)")
    assert found["without_bits"] == "inconclusive"
    real = run("audit", f"{counters}:textbook", *ASKED, *FEW, "--arithmetic", "real")
    (found,) = real.json["audits"]
    assert (real.code, found["verdict"], found["arithmetic"]) == (
        0,
        "violation (floating point only)",
        "real",
    )


@pytest.mark.slow
def test_scores_are_chosen_by_name(run, counters, tmp_path):
    chosen = run("audit", f"{counters}:textbook", *ASKED, *FEW, "--scores", "identity,trees")
    assert (chosen.code, chosen.json["audits"][0]["verdict"]) == (0, "inconclusive")
    kept = ["--scores", "float_bits", "--witnesses", tmp_path]
    assert run("audit", f"{counters}:textbook", *ASKED, *FEW, *kept).code == 1
    (witness,) = tmp_path.glob("*.json")
    again = run("audit", "--replay", witness, "--json")
    assert (again.code, again.json["audits"][0]["verdict"]) == (1, "violation (floating point only)")
    assert again.json["audits"][0]["witness"]["replay"]["options"] == {"scores": ["float_bits"]}


@pytest.mark.parametrize("name", SCORE_NAMES)
def test_an_unknown_score_is_refused_with_all_names(run, counters, name):
    refused = run("audit", f"{counters}:textbook", *ASKED, "--scores", "identitty")
    assert refused.code == 2
    assert "scores: 'identitty' must be one of" in refused.err
    assert name in refused.err


@pytest.mark.slow
def test_randomness_of_their_own_and_failures_are_options(run, counters):
    unseeded = run("audit", f"{counters}:outside", *ASKED, *FEW, "--not-seeded")
    assert (unseeded.code, unseeded.json["audits"][0]["witness"]["replay"]["seeded"]) == (0, False)
    assert "seeded=False" in run("audit", f"{counters}:outside", *ASKED, *FEW).err
    tokens = run("audit", f"{counters}:failing", *ASKED, *FEW, "--failures", "token")
    assert (tokens.code, tokens.json["audits"][0]["verdict"]) == (1, "violation")
    assert run("audit", f"{counters}:failing", *ASKED, *FEW, "--failures", "error").code == 2
    assert (
        "must be one of: error, token" in run("audit", f"{counters}:failing", *ASKED, "--failures", "no").err
    )


def test_what_says_nothing_is_refused(run):
    refused = run("audit", "laplace", "--scale", 1, "--scores", "identity")
    assert refused.code == 2
    assert "must be left out for laplace" in refused.err


ENTRY = {
    "name": "textbook",
    "mechanism": "counters_of_a_user:textbook",
    "neighbours": "counters_of_a_user:pairs",
    "adjacency": "replace",
    "epsilon": 1.0,
    "arithmetic": "real",
    "audit": {"scores": ["identity", "float_bits"], "budget": 6000},
}


def test_a_claim_names_its_scores_and_its_arithmetic():
    claim = claim_from(ENTRY)
    assert (claim.arithmetic, claim.audit["scores"]) == ("real", ["identity", "float_bits"])
    assert claim_from(entry_of(claim)) == claim
    with pytest.raises(ValueError, match=r"arithmetic \('rational'\) must be one of: floating-point, real"):
        claim_from({**ENTRY, "arithmetic": "rational"})
    with pytest.raises(ValueError, match=r"scores .* must be a list of: identity"):
        claim_from({**ENTRY, "audit": {"scores": ["bits"]}})


@pytest.mark.parametrize(("arithmetic", "verdict", "code"), [
    ("real", "inconclusive", 0),
    ("floating-point", "broken (floating point only)", 1),
])  # fmt: skip
def test_a_claim_file_is_checked_in_the_arithmetic_of_its_claims(
    run, counters, tmp_path, arithmetic, verdict, code
):
    path = counters_claim(counters, tmp_path, arithmetic)
    sarif = tmp_path / "found.sarif"
    ran = run("check", path, "--json", "--allow-outside", "--sarif", sarif)
    (claim,) = ran.json["claims"]
    assert (ran.code, claim["verdict"]) == (code, verdict)
    assert claim["audit"]["verdict"] == "violation (floating point only)"
    assert "floating" in sarif.read_text()


def counters_claim(counters, folder, arithmetic):
    path = folder / "claims.toml"
    path.write_text(
        f'[[claim]]\nname = "textbook"\nmechanism = "{counters}:textbook"\nneighbours = "{counters}:pairs"\n'
        f'adjacency = "replace"\nepsilon = 1.0\narithmetic = "{arithmetic}"\naudit = {{ budget = 6000 }}\n'
    )
    return path


@pytest.mark.parametrize(("arithmetic", "rule", "code", "kind"), [
    ("real", "tolerated (floating point only)", 0, "open"),
    ("floating-point", "broken (floating point only)", 1, "fail"),
])  # fmt: skip
def test_every_format_says_that_only_floating_point_is_refuted(
    run, counters, tmp_path, arithmetic, rule, code, kind
):
    """In its own words and without a tick, whether a claim tolerates it or not."""
    path, files = (
        counters_claim(counters, tmp_path, arithmetic),
        [tmp_path / f"found.{end}" for end in ("sarif", "md", "xml")],
    )
    written = ["--sarif", files[0], "--markdown", files[1], "--junit", files[2], "--html", tmp_path]
    ran = run("check", path, "--allow-outside", *written)
    sarif, markdown, junit = (file.read_text(encoding="utf-8") for file in files)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert ran.code == code
    (result,) = json.loads(sarif)["runs"][0]["results"]
    named = json.loads(sarif)["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (result["ruleId"], result["kind"]) == (rule.replace(" ", "-").translate({40: "", 41: ""}), kind)
    assert (named["id"], "floating-point" in named["shortDescription"]["text"]) == (result["ruleId"], True)
    assert f"| {rule} |" in markdown.replace("\\", "")
    assert f'"{rule}"' in junit
    assert "It would have noticed" in page or "Its power is not known." in page
    for text in (ran.out, markdown, junit, page):
        assert "floating" in text
        assert not {"\u2713", "\u2714", "\u2705"} & set(text)


def test_strict_holds_for_what_is_left_without_bits(run, counters, tmp_path):
    """Bits are tolerated; without them the audit is inconclusive, which --strict does not let pass."""
    path, junit = counters_claim(counters, tmp_path, "real"), tmp_path / "found.xml"
    ran = run("check", path, "--allow-outside", "--strict", "--junit", junit)
    assert ran.code == 1
    assert 'type="too weak"' in junit.read_text(encoding="utf-8")


def test_an_unknown_epsilon_is_said_in_words(run, counters):
    words = " ".join(run("audit", f"{counters}:textbook", *ASKED, "--budget", 300).out.split())
    assert "not known" in words
    assert " inf " not in words


def test_every_name_makes_scores_and_none_is_missing():
    layout = Layout.of([as_block([0.5, 1.5])])
    assert all(layout.named(name) for name in SCORE_NAMES)
    with pytest.raises(ValueError, match="Every output must be one number"):
        Layout.of([as_block([[0.5, 1.5]])]).named("identity")
