"""``dpproof audit``: the contract's keys, verdicts and exit codes, witnesses, replay, and every refusal."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dpproof.answers import audit as auditing
from dpproof.answers import corpus
from dpproof.audits.time_budget import OutOfTimeError
from dpproof.claim_file import claim_from, entry_of, read_claims
from dpproof.cli import show
from tests.rows import rows, tiered

ROOT = Path(__file__).resolve().parents[2]

KEYS = {"claim", "verdict", "epsilon_lower", "delta", "confidence", "samples", "would_have_seen", "witness"}
SIZES = ["--states", 1, "--actions", 1, "--horizon", 1, "--episodes", 2]
ONE_CELL = ["rlsvi", *SIZES, "--adjacency", "rewards-only"]
CALLABLE = ["--adjacency", "replace", "--epsilon", 1.0, "--delta", 0]


def test_rlsvi_keeps_its_tight_claim(run):
    ran = run("audit", *ONE_CELL, "--json")
    answer = ran.json
    (found,) = answer["audits"]
    assert (ran.code, ran.err, answer["schema"]) == (0, "", 1)
    assert found.keys() >= KEYS
    assert (found["claim"], found["verdict"]) == ("rlsvi", "consistent")
    assert (found["delta"], found["confidence"], found["samples"]) == (1e-6, 0.99, 100_000)
    certified = run("account", *ONE_CELL, "--delta", "1e-6", "--json").json["epsilon"]["upper"]
    assert 0 < found["epsilon_lower"] <= certified < found["would_have_seen"] <= 2 * certified


def test_equal_seeds_give_equal_bytes(run):
    few = [*ONE_CELL, "--budget", 500, "--json"]
    assert run("audit", *few).out == run("audit", *few).out
    assert run("audit", *few).out != run("audit", *few, "--seed", 1).out


def test_flags_may_be_joined_by_an_equals_sign(run):
    joined = [f"{name}={value}" for name, value in zip(SIZES[::2], SIZES[1::2], strict=True)]
    few = ["--adjacency", "rewards-only", "--budget", 300, "--json"]
    assert run("audit", "rlsvi", *joined, *few).json == run("audit", "rlsvi", *SIZES, *few).json


def test_what_could_not_be_seen_is_inf(run):
    (found,) = run("audit", *ONE_CELL, "--budget", 10, "--json").json["audits"]
    assert (found["verdict"], found["would_have_seen"]) == ("inconclusive", "inf")


RESPONSES = ["audit", "corpus", "--only", "Randomised response, 1"]


def test_cases_of_the_corpus_get_their_verdicts_and_their_witnesses_replay(run, tmp_path):
    ran = run(*RESPONSES, "--workers", 1, "--witnesses", tmp_path / "found", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.json["audits"]) == 3
    for found in ran.json["audits"]:
        assert found.keys() >= KEYS
        assert found["verdict"] == found["expected"] == found["found"]
    first = {found["claim"]: found["witness"] for found in ran.json["audits"]}
    written = sorted((tmp_path / "found").iterdir())
    assert len(written) == 2
    again = run("audit", "--replay", written[-1], "--json")
    (found,) = again.json["audits"]
    assert again.code == 1
    assert found["witness"] == first[found["claim"]]


@pytest.mark.slow
def test_processes_find_the_same_as_this_one(run):
    few = [*RESPONSES, "--budget", 3000, "--json"]
    assert run(*few, "--workers", 2).out == run(*few, "--workers", 1).out
    few = ["audit", "laplace", "--scale", 1, "--budget", 300, "--json"]
    assert run(*few, "--workers", 2).out == run(*few).out


def test_a_case_that_must_raise_is_found_when_it_does(run):
    ran = run("audit", "corpus", "--only", "NaN at times", "--workers", 1, "--json")
    (found,) = ran.json["audits"]
    assert (ran.code, found["verdict"], found["found"]) == (0, None, "MechanismError")
    assert found.keys() >= KEYS
    assert "NaN" in found["error"]


def test_a_case_without_a_budget_has_its_own(run):
    ran = run("audit", "corpus", "--only", "rlsvi on its claim", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")


def test_a_corpus_that_misses_a_verdict_is_an_error(run):
    ran = run("audit", "corpus", "--only", "response, 1.5", "--budget", 10, "--json", "--workers", 1)
    assert ran.code == 1
    assert "dpproof: randomised response, 1.5 claimed as 1: expected violation, found incon" in ran.err
    assert {found["samples"] for found in ran.json["audits"]} == {10}


def test_a_case_without_its_package_is_skipped_visibly(run, monkeypatch):
    known = corpus.importlib.util.find_spec
    monkeypatch.setattr(
        corpus.importlib.util, "find_spec", lambda name: None if name == "opendp" else known(name)
    )
    arguments = ["audit", "corpus", "--only", "OpenDP", "--workers", 1]
    ran = run(*arguments)
    assert ran.code == 0
    assert "the package opendp is not installed" in ran.out
    assert "0 as expected, 0 not, 1 skipped" in ran.out
    assert run(*arguments, "--json").json["audits"][0]["found"] == "skipped"


def test_an_interrupted_corpus_keeps_what_is_finished(run, tmp_path, monkeypatch):
    audited, real = [], corpus._outcome

    def once(case, options):
        audited.append(case)
        if len(audited) > 2:
            raise KeyboardInterrupt
        return real(case, options)

    monkeypatch.setattr(corpus, "_outcome", once)
    few = ["--workers", 1, "--budget", 3000, "--witnesses", tmp_path / "found", "--json"]
    ran = run("audit", "corpus", "--only", "counts, local", *few)
    assert ran.code == 3
    assert "interrupted after 2 of 5 cases" in ran.err
    assert [found["verdict"] for found in ran.json["audits"]] == ["consistent", "violation"]
    assert len(list((tmp_path / "found").iterdir())) == 1


def test_a_primitive_is_audited_against_its_own_guarantee(run, tmp_path):
    arguments = ["audit", "geometric", "--scale", 0.5, "--budget", 3000, "--json"]
    (found,) = run(*arguments).json["audits"]
    assert (found["claim"], found["claimed_epsilon"], found["delta"]) == ("geometric", 2.0, 0.0)
    assert 1 < found["epsilon_lower"] <= 2
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(found["witness"]), encoding="utf-8")
    again = run("audit", "--replay", path, "--json")
    assert (again.code, again.json["audits"][0]) == (0, found)


PROGRAM = """
import json, random, sys
request = json.loads(sys.stdin.readline())
rng = random.Random(request["seed"])
for _ in range(request["n"]):
    print(json.dumps(request["data"] if rng.random() < float(sys.argv[1]) else rng.random() < 0.5))
"""


@pytest.fixture
def survey(tmp_path, user_module):
    """A claim file on a program that answers truthfully with this chance, and the rest of its entry."""

    def _write(chance, more=""):
        (tmp_path / "survey.py").write_text(PROGRAM, encoding="utf-8")
        words = json.dumps([sys.executable, "-S", "-E", str(tmp_path / "survey.py"), str(chance)])
        path = tmp_path / "survey.toml"
        path.write_text(
            f'[[claim]]\nname = "survey"\ncommand = {words}\nneighbours = "{user_module}:answers"\n'
            f'adjacency = "replace"\nepsilon = 1.0\n{more}',
            encoding="utf-8",
        )
        return path

    return _write


@pytest.mark.slow
def test_a_program_is_audited_and_its_witness_replays(run, survey, tmp_path):
    path = survey(0.99, "audit = { budget = 400 }\n")
    ran = run("audit", path, "--json", "--witnesses", tmp_path / "found")
    assert (ran.code, ran.json["audits"][0]["verdict"]) == (1, "violation")
    again = run("audit", "--replay", tmp_path / "found" / "survey.json", "--json")
    assert (again.code, again.json["audits"]) == (1, ran.json["audits"])


def test_a_claim_on_a_program_is_written_as_it_is_read(survey):
    (claim,) = read_claims(survey(0.5, "audit = { failures = 'token', timeout = 5 }\n"))
    assert claim.command[-1] == "0.5"
    assert claim.outside
    assert claim_from(entry_of(claim)) == claim


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("mechanism = 'laplace'\n", "command and mechanism exclude each other"),
        ("audit = 3\n", "audit (3) must be a table"),
        ("audit = { frobs = 1 }\n", "audit: key ('frobs') must be one of: budget"),
        ("audit = { budget = 0 }\n", "audit: budget (0) must be an integer at least 1"),
        ("audit = { seeded = 1 }\n", "audit: seeded (1) must be true or false"),
        ("audit = { nan = 'maybe' }\n", "audit: nan ('maybe') must be one of: error, token"),
        ("parameters = { a = 1 }\n", "parameters (a) must be left out"),
    ],
)
def test_a_bad_claim_on_a_program_is_refused(refused, survey, more, says):
    path = survey(0.5)
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    assert says in refused("audit", path)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("[]", "command ([]) must be a list of texts"),
        ("'run'", "command ('run') must be a list of texts"),
        ("[1]", "command (1) must be text"),
        ("['./nowhere', 'x']", "command ('./nowhere') must be the path of a program"),
    ],
)
def test_a_command_that_is_none_is_refused(refused, tmp_path, user_module, command, says):
    path = tmp_path / "claims.toml"
    path.write_text(
        f"[[claim]]\nname = 'a'\ncommand = {command}\nadjacency = 'replace'\nepsilon = 1.0\n"
        f"neighbours = '{user_module}:pairs'\n",
        encoding="utf-8",
    )
    assert says in refused("audit", path)


def test_the_examples_can_be_audited(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(ROOT)
    claims = read_claims(ROOT / "examples" / "audit.toml", auditing.check_auditable)
    assert len(claims) > 5


@pytest.mark.slow
def test_the_examples_come_out_as_their_names_say(run, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(ROOT)
    ran = run("audit", "examples/audit.toml", "--witnesses", tmp_path, "--json")
    assert ran.code == 1
    broken = {found["claim"] for found in ran.json["audits"] if found["verdict"] == "violation"}
    assert broken == {
        "four answers for the price of one",
        "hasty counter",
        "wards, with refusals",
        "survey, too truthful",
    }
    written = sorted(tmp_path.iterdir())
    assert len(written) == len(broken)
    assert run("audit", "--replay", written[0]).code == 1


@pytest.fixture
def witness(run):
    """A witness of a consistent audit with few samples."""
    (found,) = run("audit", *ONE_CELL, "--budget", 3000, "--json").json["audits"]
    return found["witness"]


@pytest.fixture
def stored(tmp_path):
    """Write a witness to a file."""

    def _store(content):
        path = tmp_path / "witness.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return _store


def test_a_witness_replays(run, witness, stored):
    ran = run("audit", "--replay", stored(witness), "--json")
    assert ran.code == 0
    assert ran.json["audits"][0]["witness"] == witness


def _within(witness, **changes):
    return {**witness, "replay": {**witness["replay"], **changes}}


DAMAGE = [
    (lambda w: {**w, "seed": 1}, "came out differently"),
    (lambda w: {**w, "samples": 3}, "samples came out differently"),
    (lambda w: {**w, "verdict": "violation"}, "verdict came out differently"),
    (lambda w: {**w, "e_value": w["e_value"] * (1 + 1e-12)}, "e_value came out differently"),
    (
        lambda w: {**w, "counts": {**w["counts"], "won": w["counts"]["won"] + 1}},
        "counts came out differently",
    ),
    (lambda w: {**w, "more": 1}, "more came out differently"),
    (lambda w: _within(w, noise_rule="REUSED_NOISE"), "came out differently"),
    (lambda w: _within(w, budget=2999), "came out differently"),
    (lambda w: _within(w, parameters={"states": 0}), "parameter ('actions') is missing"),
    (lambda w: _within(w, noise_rule="LOUD"), "'LOUD'"),
    (lambda w: _within(w, audit="ucb"), "audit ('ucb') must be one of"),
    (lambda w: _within(w, budget="3000"), "budget ('3000') must be of type int"),
    (lambda w: _within(w, audit=["rlsvi"]), "audit (['rlsvi']) must be one of: "),
    (lambda w: {**w, "seed": "0"}, "seed ('0') must be of type int"),
    (lambda w: {**w, "seed": True}, "seed (True) must be of type int"),
    (lambda w: {**w, "alpha": float("nan")}, "alpha (nan) must be in [1e-300, 1)"),
    (lambda w: {**w, "replay": None}, "replay (None) must be of type dict"),
    (lambda w: {}, "verdict (None) must be of type str"),
    (lambda w: [w], "must be a JSON object"),
    (lambda w: "null", "must be a JSON object"),
    (lambda w: "{", "not a witness"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGE)
def test_a_damaged_witness_is_refused(refused, witness, stored, damage, says):
    assert says in refused("audit", "--replay", stored(damage(witness)), "--json")


def test_a_witness_that_is_no_file_is_refused(refused, tmp_path):
    assert "nowhere.json" in refused("audit", "--replay", tmp_path / "nowhere.json")
    assert str(tmp_path) in refused("audit", "--replay", tmp_path)


@pytest.mark.parametrize(
    ("function", "verdict", "code"), [("good", "consistent", 0), ("bad", "violation", 1)]
)
def test_a_users_callable_is_audited(run, user_module, function, verdict, code):
    pair = ["--neighbours", f"{user_module}:pairs"]
    ran = run("audit", f"{user_module}:{function}", *CALLABLE, *pair, "--budget", 60_000, "--json")
    (found,) = ran.json["audits"]
    assert (ran.code, found["verdict"]) == (code, verdict)


@pytest.mark.parametrize(
    ("function", "neighbours", "says"),
    [
        ("good", "three", "must return two inputs or a list of pairs, not 3 objects"),
        ("good", "failing_pairs", "must return two inputs or a list of pairs: no data today"),
        ("failing", "pairs", "raised RuntimeError (out of order)"),
        ("not_a_number", "pairs", "are or contain NaN"),
        ("nosuch", "pairs", "nosuch') cannot be loaded"),
        ("", "pairs", ":') must have the form package.module:name"),
        ("np", "pairs", ":np') must name a function"),
    ],
)
def test_a_callable_that_cannot_be_audited_is_refused(refused, user_module, function, neighbours, says):
    target, pair = f"{user_module}:{function}", f"{user_module}:{neighbours}"
    assert says in refused("audit", target, *CALLABLE, "--neighbours", pair)


def test_a_module_that_fails_to_load_is_refused(refused, tmp_path, monkeypatch):
    (tmp_path / "unfinished_module.py").write_text("def (", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    target = "unfinished_module:run"
    assert f"mechanism ({target!r}) cannot be loaded" in refused(
        "audit", target, *CALLABLE, "--neighbours", target
    )


SIZED = ["audit", "rlsvi", "--adjacency", "rewards-only"]


@rows(
    ("arguments", "says"),
    [
        (["audit"], "target is missing. Give a claim file"),
        (["audit", "nosuch"], "target ('nosuch') must be an existing claim file"),
        (["audit", "nosuch.toml"], "target ('nosuch.toml') must be an existing claim file"),
        (["audit", "."], "target ('.') must be an existing claim file"),
        (
            ["audit", "rlsvi", *SIZES],
            "--adjacency is missing and has no default. Choose one of: rewards-only.",
        ),
        (SIZED, "parameter ('states') is missing"),
        ([*SIZED, *SIZES, "--states", 0], "states (0) must be an integer at least 1"),
        ([*SIZED, *SIZES, "--states", "x"], "states ('x') must be an integer at least 1"),
        ([*SIZED, *SIZES, "--episodes", 0], "episodes (0) must be an integer at least 1"),
        ([*SIZED, *SIZES, "--horizon", 0], "horizon (0) must be an integer at least 1"),
        ([*SIZED, *SIZES, "--states"], "option ('--states') has no value"),
        ([*SIZED, *SIZES, "--frobs", 1], "option ('--frobs') is neither an option of `dpproof audit` nor"),
        ([*SIZED, *SIZES, "stray"], "option ('stray') is neither an option of `dpproof audit` nor"),
        ([*SIZED, *SIZES, "--beta-scale", "nan"], "beta_scale (nan) must be a number above 0"),
        ([*SIZED, *SIZES, "--delta", "nan"], "delta (nan) must be in [0, 1)"),
        ([*SIZED, *SIZES, "--delta", 1], "delta (1.0) must be in [0, 1)"),
        (
            [*SIZED, *SIZES, "--delta", 0],
            "delta (0.0) must be larger, such as 1e-5. The claim has no finite epsilon",
        ),
        ([*SIZED, *SIZES, "--alpha", "nan"], "alpha (nan) must be in [1e-300, 1)"),
        ([*SIZED, *SIZES, "--alpha", 0], "alpha (0.0) must be in [1e-300, 1)"),
        ([*SIZED, *SIZES, "--budget", 0], "budget (0) must be an integer at least 1"),
        ([*SIZED, *SIZES, "--seed", -1], "seed (-1) must be an integer at least 0"),
        ([*SIZED, *SIZES, "--epsilon", -3], "epsilon (-3.0) must be"),
        ([*SIZED, *SIZES, "--neighbours", "a:b"], "neighbours ('a:b') must be left out for rlsvi"),
        (["audit", "rlsvi", *SIZES, "--adjacency", "users"], "adjacency ('users') must be one of"),
        (["audit", "rlsvi", *SIZES, "--adjacency", "replace"], "no proved guarantee for rlsvi"),
        (
            ["audit", "rlsvi", *SIZES, "--clip", 1, "--adjacency", "replace"],
            "has no audit for rlsvi. Use one of: rewards-only",
        ),
        (["audit", "corpus", "--only", "no such case"], "only ('no such case') must be part of the name"),
        (["audit", "corpus", "--workers", 0], "workers (0) must be an integer at least 1"),
        (["audit", "corpus", "--alpha", 1], "alpha (1.0) must be a number in [1e-300, 1)"),
        (["audit", "laplace", "--scale", 1, "--only", "a"], "only ('a') must be left out"),
        (
            ["audit", "laplace", "--scale", 1, "--workers", 2, "--cluster", "a"],
            "workers (2) must be left out",
        ),
        (["audit", "laplace", "--scale", 1, "--compositions", 0], "compositions (0) must be above 0"),
        (["audit", "laplace", "--scale", 1, "--sensitivity", 0], "sensitivity (0) must be above 0"),
        (["audit", "corpus", "--seed", -1], "seed (-1) must be an integer at least 0"),
        (["audit", "corpus", "--delta", 0.1], "delta (0.1) must be left out if the target is corpus"),
        (["audit", "corpus", "--frobs"], "option ('--frobs') must be left out if the target is corpus"),
        (["audit", "rlsvi", "--replay", "w.json"], "target ('rlsvi') must be left out with --replay"),
        (["audit", "--budget", 9, "--replay", "w.json"], "budget (9) must be left out with --replay"),
        (["audit", "math:sin", "--adjacency", "replace"], "--epsilon is missing"),
        (["audit", "math:sin", "--epsilon", 1], "--adjacency is missing"),
        (["audit", "math:sin", *CALLABLE], "--data is missing"),
        (["audit", "math:sin", *CALLABLE, "--data", "ages.csv"], "write a function that loads it"),
        (["audit", "mymean.py:f", *CALLABLE, "--data", "math:pi"], "Leave out .py: mymean:f"),
        (["audit", "mymean.py", *CALLABLE], "Name a function in it: mymean:FUNCTION"),
        (["explain", "lapace"], "is unknown; did you mean 'laplace'?"),
        (["audit", "math:sin", *CALLABLE, "--frobs"], "option ('--frobs') is unknown"),
        (
            ["audit", "math:sin", *CALLABLE, "--epsilon", "nan", "--data", "math:pi"],
            "epsilon (nan) must be",
        ),
    ],
)
def test_bad_input_is_refused(refused, arguments, says):
    assert says in refused(*arguments)


def test_a_folder_that_cannot_be_made_is_refused_before_any_work(refused, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert f"witnesses ({str(folder)!r}) must be a folder" in refused(
            "audit", *ONE_CELL, "--witnesses", folder
        )


@pytest.mark.slow
def test_a_claim_file_is_audited_claim_by_claim(run, claim_file, tmp_path):
    path = claim_file({"name": "[/b] kept", "delta": 1e-3}, {"name": "[/b]-kept", "epsilon": 0.1})
    ran = run("audit", path, "--json", "--witnesses", tmp_path / "found")
    assert (ran.code, ran.err) == (1, "")
    verdicts = [(found["claim"], found["verdict"]) for found in ran.json["audits"]]
    assert verdicts == [("[/b] kept", "consistent"), ("[/b]-kept", "violation")]
    (written,) = (tmp_path / "found").iterdir()
    assert json.loads(written.read_text(encoding="utf-8"))["claim"] == "[/b]-kept"


def test_options_that_a_claim_file_holds_itself_are_refused(refused, claim_file):
    path = claim_file({})
    assert "adjacency ('replace') must be left out" in refused("audit", path, "--adjacency", "replace")
    assert "epsilon (3.0) must be left out" in refused("audit", path, "--epsilon", 3)


@pytest.mark.slow
def test_witnesses_of_like_named_claims_do_not_overwrite_each_other(run, claim_file, tmp_path):
    path = claim_file(*({"name": name, "epsilon": 0.1} for name in ("a b", "a/b", "a-b", "é" * 300)))
    ran = run("audit", path, "--json", "--witnesses", tmp_path / "found")
    written = [json.loads(place.read_text(encoding="utf-8")) for place in (tmp_path / "found").iterdir()]
    assert ran.code == 1
    assert {found["claim"] for found in written} == {"a b", "a/b", "a-b", "é" * 300}


def test_people_see_the_verdict(run, claim_file):
    ran = run("audit", claim_file({"name": "[/b] kept"}), "--budget", 10)
    assert ran.code == 0
    assert "[/b] kept" in ran.out
    assert "inconclusive" in ran.out


COUNTS = ["--states", 2, "--actions", 1, "--horizon", 1, "--episodes", 2, "--adjacency", "replace"]


@pytest.mark.parametrize("name", ["central-counts", "local-counts"])
def test_printed_noise_breaks_the_promise_that_is_given_and_the_witness_replays(run, name, tmp_path):
    few = ["--budget", 20_000, "--json"]
    ran = run("audit", name, *COUNTS, "--printed-epsilon", 1, "--epsilon", 1, *few, "--witnesses", tmp_path)
    (found,) = ran.json["audits"]
    assert (ran.code, found["claim"], found["verdict"], found["delta"]) == (1, name, "violation", 0.0)
    again = run("audit", "--replay", tmp_path / f"{name}.json", "--json")
    assert (again.code, again.json["audits"]) == (1, [found])


def test_a_promise_is_kept_where_the_noise_is_its(run):
    found = run("audit", "local-counts", *COUNTS, "--scale", 6, "--epsilon", 1, "--budget", 20_000, "--json")
    assert found.json["audits"][0]["verdict"] == "consistent"


def test_a_sharpened_audit_spends_its_budget_after_a_violation_and_finds_more(run, tmp_path, refused):
    asked = ["audit", "laplace", "--scale", 0.5, "--epsilon", 1, "--budget", 5000, "--json"]
    (first,) = run(*asked).json["audits"]
    (sharp,) = run(*asked, "--sharpen", "--witnesses", tmp_path / "found").json["audits"]
    assert first["samples"] < sharp["samples"] == 5000
    assert first["epsilon_lower"] < sharp["epsilon_lower"] <= 2
    again = run("audit", "--replay", tmp_path / "found" / "laplace.json", "--json")
    assert (again.code, again.json["audits"]) == (1, [sharp])
    assert "sharpen (True) must be left out if the target is corpus" in refused(
        "audit", "corpus", "--sharpen"
    )


@pytest.mark.parametrize("name", tiered(["expert-release", "selective-dpsgd"], fast=1))
def test_the_witness_of_an_audit_by_name_is_one_that_the_command_line_replays(run, tmp_path, name):
    flags = {
        "expert-release": "--trajectories 5 --length 20 --least-probability .05 --experts 100 --per-expert 5 "
        "--scale 3 --draws fresh",
        "selective-dpsgd": "--sampling-rate .5 --branch-probability .5 --steps 2 --noise-multiplier 1",
    }[name].split()
    ran = run("audit", name, *flags, "--adjacency", "expert", "--budget", 500, "--json")
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(ran.json["audits"][0]["witness"]), encoding="utf-8")
    assert run("audit", "--replay", path, "--json").json == ran.json


def test_a_run_of_opacus_is_audited_by_the_corpus_and_its_witness_replays(run, tmp_path):
    pytest.importorskip("opacus")
    few = ["--only", "Poisson samples, half the noise", "--workers", 1, "--json"]
    ran = run("audit", "corpus", *few, "--witnesses", tmp_path / "found")
    (found,) = ran.json["audits"]
    assert (ran.code, found["verdict"], found["found"]) == (0, "violation", "violation")
    (path,) = (tmp_path / "found").iterdir()
    again = run("audit", "--replay", path, "--json")
    assert (again.code, again.json["audits"][0]["witness"]) == (1, found["witness"])


NOISE = {
    "mechanism": "gaussian",
    "parameters": {"sigma": 2.0, "compositions": 1},
    "adjacency": "by-sensitivity",
}


@pytest.mark.parametrize(
    ("stated", "options", "each"),
    [("alpha = 0.03", [], 0.01), ("", [], 0.01 / 3), ("alpha = 0.03", ["--alpha", "0.3"], 0.1)],
)
def test_the_alpha_of_a_file_is_split_among_its_claims_as_in_check(run, claim_file, stated, options, each):
    path = claim_file(*({"name": name, **NOISE} for name in "abc"))
    path.write_text(f"[budget]\n{stated}\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    found = run("audit", path, "--budget", 100, "--json", *options).json["audits"]
    assert [entry["confidence"] for entry in found] == pytest.approx([1 - each] * 3, abs=1e-12)
    if not options:
        checked = run("check", path, "--json").json["claims"]
        assert [entry["audit"]["confidence"] for entry in checked] == [entry["confidence"] for entry in found]


def test_the_seconds_of_a_file_hold_for_its_audits(run, claim_file):
    path = claim_file({"name": "a", **NOISE}, {"name": "b", **NOISE})
    path.write_text("[budget]\nseconds = 1e-9\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    ran = run("audit", path, "--json")
    assert (ran.code, ran.json["audits"], ran.json["out_of_time"]) == (3, [], ["a", "b"])
    assert ran.err.splitlines() == [
        f"dpproof: {name}: not audited: The time budget is spent." for name in "ab"
    ]


def test_a_refutation_without_time_for_its_checks_ends_with_3(run, claim_file, user_module, monkeypatch):
    """The finding is kept, as a suspicion, by `audit` and by `check`."""

    def late(*_arguments):
        raise OutOfTimeError

    monkeypatch.setattr("dpproof.audits.engine.runner.check_fresh_calls", late)
    claim = {"mechanism": f"{user_module}:bad", "parameters": None, "neighbours": f"{user_module}:pairs"}
    path = claim_file({**claim, "epsilon": 1.0, "delta": None})
    ran = run("audit", path, "--json")
    (entry,) = ran.json["audits"]
    assert (ran.code, entry["verdict"], entry["unconfirmed"]) == (3, "inconclusive", True)
    ran = run("check", path, "--json")
    (entry,) = ran.json["claims"]
    assert (ran.code, entry["verdict"], entry["audit"]["unconfirmed"]) == (3, "out of time", True)
    assert "the bets refute the claim, but the time budget was spent" in " ".join(entry["remarks"])


OWN = """
def total(values, n, rng):
    return sum(values) + rng.laplace(0, 1.0, n)

def data():
    return [0.0, 3.0, 1.0]
"""


def test_data_are_audited_on_extreme_neighbours_from_the_command_line_and_from_claims(
    run, refused, tmp_path, monkeypatch
):
    (tmp_path / "own_of_a_user.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    asked = ["audit", "own_of_a_user:total", *CALLABLE, "--data", "own_of_a_user:data", "--budget", 5000]
    picture, folder = tmp_path / "found.svg", tmp_path / "witnesses"
    ran = run(*asked, "--plot", picture, "--witnesses", folder)
    (witness,) = folder.iterdir()
    assert ran.code == 1
    assert "The claim of epsilon 1 is false: epsilon is at least" in ran.out
    assert f"dpproof audit --replay {witness}" in ran.out
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    (found,) = run(*asked, "--json").json["audits"]
    assert found["witness"] == json.loads(witness.read_text(encoding="utf-8"))
    assert run("audit", "--replay", witness, "--json").json["audits"][0]["words"] == found["words"]
    claim = {"name": "total", "mechanism": "own_of_a_user:total", "adjacency": "replace", "epsilon": 1.0}
    held = claim_from({**claim, "data": "own_of_a_user:data", "audit": {"budget": 5000}})
    assert claim_from(entry_of(held)) == held
    file = tmp_path / "own.toml"
    lines = [f"{key} = {value!r}" for key, value in {**claim, "data": held.data}.items()]
    file.write_text("\n".join(["[[claim]]", *lines, "audit = { budget = 5000 }"]), encoding="utf-8")
    table = tmp_path / "found.md"
    assert run("check", file, "--markdown", table).code == 1
    assert "The claim of epsilon 1 is false: epsilon is at least" in table.read_text(encoding="utf-8")
    both = [*asked, "--neighbours", "own_of_a_user:data"]
    assert "not both" in refused(*both)


def test_a_name_with_colons_is_printed_as_it_is(capsys):
    show.answer({}, False, lambda console: console.print("mine:sound: inconclusive"))
    assert capsys.readouterr().out == "mine:sound: inconclusive\n"


TRAINING = """
from functools import partial

import torch

from dpproof import audit_training
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.corpus.own_training import NoNoise

rng = torch.Generator().manual_seed(0)
records = torch.randn(60, 400, generator=rng), torch.randint(4, (60,), generator=rng)
model = torch.nn.Linear(400, 4, bias=False)
torch.nn.init.zeros_(model.weight)
train = NoNoise(DPSGDParameters(1.0, 4.0, 1))
audited = partial(audit_training, train, model, records, canaries=300, family=False)
"""
DP_SGD = ["dp-sgd", "--sampling-rate", 1, "--noise-multiplier", 4, "--steps", 1, "--adjacency"]


def test_a_training_of_ones_own_is_refuted_and_its_witness_replays(run, refused, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    (tmp_path / "own_noiseless.py").write_text(TRAINING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    own = ["--training", "own_noiseless:audited"]
    ran = run("audit", *DP_SGD, "add-remove", *own, "--witnesses", tmp_path / "found", "--json")
    (found,) = ran.json["audits"]
    assert (ran.code, found["verdict"], found["samples"]) == (1, "violation", 1)
    (path,) = (tmp_path / "found").iterdir()
    again = run("audit", "--replay", path, "--json")
    assert (again.code, again.json["audits"][0]["witness"]) == (1, found["witness"])
    assert "must be dp-sgd with --training" in refused("audit", "laplace", "--scale", 1, *own)
    assert "under --adjacency add-remove" in refused("audit", *DP_SGD, "replace", *own)
    assert "attack ('step') must be one of: one run, black box, sizes" in refused(
        "audit", *DP_SGD, "add-remove", *own, "--view", "step"
    )
    other = ["--training", "own_noiseless:DPSGDParameters"]
    assert "functools.partial(audit_training" in refused("audit", *DP_SGD, "add-remove", *other)
