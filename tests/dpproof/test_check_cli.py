"""``dpproof check``: claims kept and broken, exit codes, the record of the papers, and every refusal."""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dpproof
import dpproof.answers.claims as claims_module
import dpproof.cli.check as check_module
from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP
from dpproof.accountant.rl.rlsvi.rlsvi import attained_mu, rho
from dpproof.answers import audit as auditing
from dpproof.answers import papers as ledger
from dpproof.answers.audit import NoAuditError
from dpproof.answers.claims import check_claim
from dpproof.audits.corpus.rlsvi import CASES
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import MechanismError, as_mechanism, outputs
from dpproof.audits.time_budget import OutOfTimeError, ending_at
from dpproof.outcome import Outcome
from dpproof.proofs_check.registry import papers
from tests.rows import tiered

SMALL = {"states": 2, "actions": 2, "horizon": 2, "episodes": 4}
PARAMETERS = accountant_for("rlsvi").parameters.read(SMALL)


@pytest.fixture
def unaudited(monkeypatch):
    """Let no claim be audited, so that a verdict rests on the accounting alone."""

    def refuse(claim, **_options):
        raise NoAuditError(f"{claim.name} is left alone")

    monkeypatch.setattr(auditing, "audit_claim", refuse)


@pytest.fixture
def few_samples(monkeypatch):
    """Let every audit of a claim end after ten samples, which say nothing."""
    audit = auditing.audit_claim
    monkeypatch.setattr(auditing, "audit_claim", lambda claim, **o: audit(claim, budget=10, **o))


@pytest.fixture
def claims_of_all_kinds(claim_file, user_module):
    """One claim kept, one broken, two on callables of which one is broken."""
    own = {"parameters": None, "adjacency": "replace", "neighbours": f"{user_module}:pairs"}
    own |= {"epsilon": 1.0, "delta": None}
    return claim_file(
        {"name": "kept", "epsilon": 3.0},
        {"name": "broken", "epsilon": 2.0},
        {"name": "good noise", "mechanism": f"{user_module}:good", **own},
        {"name": "bad noise", "mechanism": f"{user_module}:bad", **own},
    )


def test_a_claim_file_gets_its_verdicts_and_its_report(run, claims_of_all_kinds, tmp_path):
    folder = tmp_path / "report" / "of today"
    ran = run("check", claims_of_all_kinds, "--json", "--html", folder)
    answer = ran.json
    assert (ran.code, ran.err, answer["schema"]) == (1, "", 1)
    kept, broken, good, bad = answer["claims"]
    assert [entry["claim"] for entry in answer["claims"]] == ["kept", "broken", "good noise", "bad noise"]
    assert kept["verdict"] == "kept"
    assert kept["audit"]["verdict"] in ("consistent", "inconclusive")
    assert broken["verdict"] == "broken"
    assert broken["account"]["mechanism"]["lower"] > 2
    assert broken["account"]["mechanism"]["attained_by"] in broken["remarks"][0]
    assert (good["verdict"], good["audit"]["verdict"]) == ("consistent", "consistent")
    assert (bad["verdict"], bad["audit"]["verdict"]) == ("broken", "violation")
    assert good["account"] is None
    assert answer["report"] == (folder / "index.html").as_posix()
    assert [path.name for path in folder.iterdir()] == ["index.html"]


@pytest.mark.usefixtures("few_samples")
def test_people_see_the_verdicts(run, claim_file):
    ran = run("check", claim_file({"name": "[/red] ward", "epsilon": 3.0}))
    assert (ran.code, ran.err) == (0, "")
    assert "[/red]" in ran.out
    assert "kept" in ran.out
    assert "2.895802" in ran.out  # 2.8958011..., rounded up: what is shown is certified, too


@pytest.mark.parametrize("verb", ["check", "audit"])
@pytest.mark.usefixtures("few_samples")
def test_a_terminal_that_shows_progress_shows_any_name(run, claim_file, monkeypatch, verb):
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run(verb, claim_file({"name": "[/red] ward"}))
    assert ran.code == 0
    assert "[/red] ward" in ran.err
    assert "Traceback" not in ran.err


def test_a_folder_named_like_markup_is_printed(run, claim_file, tmp_path, monkeypatch):
    monkeypatch.setattr("dpproof.cli.check.papers", dict)
    ran = run("check", "papers", "--html", tmp_path / "[/red]")
    assert ran.code == 0
    assert f"Report: {tmp_path}/[/red]/index.html" in ran.out


@pytest.mark.usefixtures("unaudited")
@pytest.mark.parametrize(("epsilon", "code"), [(3.0, 0), (2.0, 1), (2.7, 3), (2.53, 3)])
def test_the_exit_code_is_that_of_the_worst_claim(run, claim_file, epsilon, code):
    # A pair attains 2.52 and 2.896 is certified: between them nothing is proved and nothing refuted.
    assert run("check", claim_file({"name": "ward", "epsilon": epsilon}), "--json").code == code
    both = claim_file({"name": "kept", "epsilon": 3.0}, {"name": "ward", "epsilon": epsilon})
    assert run("check", both, "--json").code == code


@pytest.mark.usefixtures("unaudited")
def test_broken_outweighs_not_certified(run, claim_file):
    path = claim_file({"name": "unclear", "epsilon": 2.7}, {"name": "broken", "epsilon": 2.0})
    assert run("check", path, "--json").code == 1


@pytest.mark.usefixtures("few_samples")
def test_strict_counts_an_inconclusive_audit(run, claim_file):
    path = claim_file({})
    ran = run("check", path, "--json")
    assert ran.json["claims"][0]["audit"]["verdict"] == "inconclusive"
    assert ran.code == 0
    assert run("check", path, "--json", "--strict").code == 1


@pytest.mark.usefixtures("unaudited")
def test_a_claim_at_delta_zero_is_broken_by_gaussian_noise(run, claim_file):
    (entry,) = run("check", claim_file({"epsilon": 50.0, "delta": 0}), "--json").json["claims"]
    assert entry["verdict"] == "broken"
    assert entry["account"]["epsilon"]["upper"] == "inf"


@pytest.mark.usefixtures("unaudited")
def test_a_guarantee_whose_statement_lost_its_proof_keeps_no_promise(monkeypatch, run, claim_file):
    """Without a certificate the statement is OPEN; the claim had a tick all the same."""
    path = claim_file({"epsilon": 50.0, "delta": 1e-6})
    (entry,) = run("check", path, "--json").json["claims"]
    assert entry["verdict"] == "kept"
    monkeypatch.setattr(
        "dpproof.proofs_check.registry._outcome", lambda entry, obligation, *_: (obligation.name, None)
    )
    ran = run("check", path, "--json")
    (entry,) = ran.json["claims"]
    assert (ran.code, entry["verdict"]) == (3, "not certified")
    assert entry["account"]["verdict"] == "OPEN"
    assert any("which is OPEN; see dpproof verify" in text for text in entry["remarks"])


def _verdict(adjacency=Adjacency.REWARDS_ONLY, parameters=SMALL, **promise):
    return check_claim(Claim("ward", "rlsvi", parameters, adjacency, promise)).verdict.value


@pytest.mark.slow
@pytest.mark.usefixtures("unaudited")
def test_a_promised_curve_is_compared_in_its_own_unit():
    proved, attained = rho(PARAMETERS).upper, attained_mu(PARAMETERS).lower
    assert _verdict(rho=proved) == "kept"
    assert _verdict(rho=math.nextafter(rho(PARAMETERS).lower, 0)) == "not certified"
    assert _verdict(rho=attained**2 / 2 * (1 - 1e-12)) == "broken"
    assert _verdict(mu=math.sqrt(2 * proved) * (1 + 1e-15)) == "kept"
    assert _verdict(mu=math.sqrt(2 * proved) * (1 - 1e-14)) == "not certified"
    assert _verdict(mu=attained * (1 - 1e-12)) == "broken"


@pytest.mark.usefixtures("unaudited")
def test_one_point_of_a_promised_curve_proves_no_other():
    # The conversion of rho loses: at 1e-6 this promise allows more than the mechanism spends, and yet a
    # pair of neighbours breaks it.
    sizes = {"states": 6, "actions": 2, "horizon": 20, "episodes": 1000}
    spent = GaussianDP(attained_mu(accountant_for("rlsvi").parameters.read(sizes)).lower)
    certified = accountant_for("rlsvi").account(PARAMETERS.read(sizes), Adjacency.REWARDS_ONLY).guarantee
    assert ZCDP(0.064).epsilon(1e-6).upper > certified.epsilon(1e-6).upper > spent.epsilon(1e-6).lower
    assert _verdict(parameters=sizes, rho=0.064) == "broken"


@pytest.mark.usefixtures("unaudited")
@pytest.mark.parametrize("promise", [{"rho": 1e9}, {"mu": 1e5}])
def test_a_renyi_curve_of_few_orders_proves_no_curve_of_all(promise):
    assert _verdict(Adjacency.REPLACE, {**SMALL, "clip": 1.0}, **promise) == "not certified"
    assert _verdict(Adjacency.REPLACE, {**SMALL, "clip": 1.0}, epsilon=1e3, delta=1e-6) == "kept"


def test_a_claim_without_an_audit_says_so(run, claim_file):
    path = claim_file({"adjacency": "replace", "parameters": {**SMALL, "clip": 1.0}, "epsilon": 1e3})
    ran = run("check", path, "--json")
    (entry,) = ran.json["claims"]
    assert (ran.code, entry["verdict"], entry["audit"]) == (0, "kept", None)
    assert "has no audit for rlsvi" in entry["remarks"][0]


@pytest.mark.parametrize("where", ["file", "file/below", "file/further/below"])
def test_a_report_that_cannot_be_written_is_refused_before_any_work(refused, claim_file, tmp_path, where):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for target in ("papers", claim_file({})):
        assert "must be a folder that can be written to" in refused(
            "check", target, "--html", tmp_path / where, "--json"
        )


@pytest.mark.parametrize("target", ["paper", "nowhere.toml", ".", ""])
def test_an_unknown_target_is_refused(refused, target):
    assert f"target ({target!r}) must be 'papers', 'deployments' or an existing claim file" in refused(
        "check", target
    )


def test_nothing_is_written_when_the_work_fails(run, claim_file, tmp_path, monkeypatch):
    def fails(*_arguments, **_options):
        raise RuntimeError("lost")

    monkeypatch.setattr(check_module, "check_claims", fails)
    ran = run("check", claim_file({}), "--html", tmp_path / "report", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "could not be certified: RuntimeError: lost" in ran.err
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_the_papers_come_out_as_recorded(run, tmp_path):
    ran = run("check", "papers", "--json", "--html", tmp_path)
    paper, counts, *_ = found = ran.json["papers"]
    assert (ran.code, ran.err) == (0, "")
    assert [found["departures"] for found in ran.json["papers"]] == [[] for _ in papers()]
    assert {one["paper"]: one["account"] is None for one in found} == {
        one.name: one.deployment is None for one in papers().values()
    }
    assert all(audit["verdict"] == audit["expected"] for one in found for audit in one["audits"])
    assert len(counts["audits"]) == len(ledger.corpus_cases("private-ucb")) > 10
    assert counts["account"]["epsilon"]["upper"] == pytest.approx(2.953505)
    assert counts["experiment"]["figures"] == [f"private_ucb/{x}.svg" for x in ("printed", "least", "pooled")]
    assert f"{paper['account']['epsilon']['upper']:.6f}" == "1.633810"
    assert [found["verdict"] for found in paper["audits"]] == [case.expected.value for case in CASES]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    figures = [
        figure
        for found in ran.json["papers"]
        if found["experiment"]
        for figure in found["experiment"]["figures"]
    ]
    assert page.count('src="data:image/svg+xml;base64,') == len(figures) > 9
    assert all(f'id="{entry["id"]}"' in page for found in ran.json["papers"] for entry in found["statements"])


@pytest.mark.slow
@pytest.mark.usefixtures("another_record")
def test_papers_that_depart_from_the_record_are_an_error(run, monkeypatch):
    monkeypatch.setattr(ledger, "corpus_cases", lambda _paper: ())
    ran = run("check", "papers", "--json")
    assert ran.code == 1
    assert ran.json["papers"][0]["departures"] == ["rlsvi.eq2: recorded REFUTED, found PROVED"]
    assert "not as recorded: rlsvi.eq2" in " ".join(run("check", "papers").out.split())


@pytest.mark.slow
def test_a_case_of_the_corpus_that_is_missed_is_an_error(run, monkeypatch):
    class Wrong:
        name, reason, expected = "sound", "a test", CASES[2].expected

        def audit(self, **options):
            return CASES[0].audit(**options, budget=10)

    monkeypatch.setattr(ledger, "corpus_cases", lambda paper: (Wrong(),) * (paper == "rlsvi"))
    ran = run("check", "papers", "--json")
    assert ran.code == 1
    assert ran.json["papers"][0]["departures"] == ["sound: expected violation, found inconclusive"]


def test_without_audits_only_what_is_proved_speaks(run, claims_of_all_kinds):
    ran = run("check", claims_of_all_kinds, "--no-audits", "--json")
    assert [entry["audit"] for entry in ran.json["claims"]] == [None] * 4
    assert [entry["verdict"] for entry in ran.json["claims"]] == [
        "kept",
        "broken",
        "not certified",
        "not certified",
    ]


def test_a_spent_time_budget_is_said_and_nothing_is_guessed(run, claim_file):
    path = claim_file({"name": "kept", "epsilon": 3.0})
    path.write_text("[budget]\nseconds = 1e-9\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    (entry,) = run("check", path, "--json").json["claims"]
    assert (entry["verdict"], entry["audit"]) == ("kept", None)
    assert entry["remarks"] == ["not audited: The time budget is spent. 0 samples were drawn."]


@pytest.mark.usefixtures("few_samples")
def test_findings_are_written_in_every_format(run, claim_file, tmp_path):
    files = {"sarif": "found.sarif", "junit": "found.xml", "markdown": "found.md"}
    options = [word for name, file in files.items() for word in (f"--{name}", tmp_path / file)]
    ran = run("check", claim_file({"name": "kept", "epsilon": 3.0}), *options)
    assert ran.code == 0
    for file in files.values():
        assert "kept" in (tmp_path / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("option", "file"), [("--sarif", "x.txt"), ("--junit", "x.md"), ("--markdown", "no/x.md")]
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(
    refused, claim_file, tmp_path, option, file
):
    assert f"{option.removeprefix('--')} (" in refused("check", claim_file({}), option, tmp_path / file)


def test_an_audit_ends_when_its_time_is_spent(monkeypatch):
    """A call of the mechanism takes a thousandth of a second in the beginning, and twenty seconds later on."""
    clock = itertools.chain((call / 1000 for call in range(100)), itertools.count(1, 20))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    ledger = check_claim(
        Claim("noise", "gaussian", {"sigma": 1.0}, Adjacency.BY_SENSITIVITY, {"mu": 1.0}), until=100, seed=0
    )
    assert (ledger.verdict, ledger.audit) == (Outcome.KEPT, None)
    assert "The time budget is spent. " in ledger.remarks[0]
    assert " 0 samples" not in ledger.remarks[0]


ENDING = """
class Own(BaseException):
    pass

def pairs():
    return 0.0, 1.0

def leaves(value, n, rng):
    raise GeneratorExit("gone")

def leaves_late(value, n, rng):
    if n > 5000:
        raise Own("much\\nlater")
    return value + rng.geometric(0.632, n) - rng.geometric(0.632, n)

def __getattr__(name):
    raise Own(name)
"""
NUMBER = "9" * 5000
BAD = {
    "tiny noise": ({"mechanism": "gaussian", "parameters": {"sigma": 1e-320, "compositions": 1}}, 3),
    "endless": ({"parameters": {**SMALL, "episodes": "NUMBER"}}, 2),
    "endless in base 16": ({"epsilon": "HEX"}, 2),
    "leaves": ({"mechanism": "ending_module:leaves", "parameters": None}, 2),
    "leaves late": ({"mechanism": "ending_module:leaves_late", "parameters": None}, 2),
    "leaves when loaded": ({"mechanism": "ending_module:nothing", "parameters": None}, 2),
}


@pytest.mark.parametrize("name", tiered(BAD, fast=1))
def test_one_bad_claim_ends_no_other_claims_check(run, claim_file, tmp_path, monkeypatch, name):
    (tmp_path / "ending_module.py").write_text(ENDING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    changes, code = BAD[name]
    if changes.get("parameters", SMALL) is None:
        changes = {**changes, "neighbours": "ending_module:pairs", "delta": None, "epsilon": 1.0}
    path = claim_file(
        {"name": "good", "epsilon": 3.0, "audit": {"budget": 10}},
        {"name": name, "adjacency": "by-sensitivity", **changes},
    )
    text = path.read_text(encoding="utf-8").replace('"NUMBER"', NUMBER).replace('"HEX"', f"0x{NUMBER}")
    path.write_text(text, encoding="utf-8")
    ran = run("check", path, "--json", "--sarif", tmp_path / "found.sarif")
    assert ran.code == code
    assert ran.json["claims"][0]["verdict"] == "kept"
    assert all(line.isprintable() for line in ran.err.splitlines())
    assert len(ran.err.splitlines()) == len(ran.json["refused"])
    results = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    bad = next(result for result in results if result["ruleId"] != "kept")
    assert bad["locations"][0]["physicalLocation"]["region"]["startLine"] > 8
    assert "digits" in bad["message"]["text"] or not name.startswith("endless")


def test_an_internal_error_at_one_claim_is_said_there(run, claim_file, monkeypatch):
    def fails(claim, *arguments, **options):
        if claim.name == "lost":
            raise RuntimeError("lost")
        return check_claim(claim, *arguments, audited=False)

    monkeypatch.setattr(claims_module, "check_claim", fails)
    ran = run("check", claim_file({"name": "lost"}, {"name": "good", "epsilon": 3.0}), "--json")
    lost, good = ran.json["claims"]
    assert (ran.code, good["verdict"], lost["verdict"]) == (3, "kept", "not certified")
    assert lost["remarks"] == ["not certified: internal error: RuntimeError: lost"]


@pytest.mark.usefixtures("unaudited")
def test_a_refused_claim_is_shown_beside_the_others(run, claim_file, tmp_path):
    path = claim_file({"name": "kept", "epsilon": 3.0}, {"name": "wrong", "epsilon": -1})
    ran = run("check", path, "--html", tmp_path)
    assert ran.code == 2
    assert "2 claims: 1 kept, 1 refused." in ran.out
    (row,) = (line for line in ran.out.splitlines() if "refused " in line)
    assert "wrong" in row
    assert "epsilon (-1) must be at least 0" in ran.out
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert f"{path}:14:" in page
    assert "epsilon (-1) must be at least 0" in page


SLEEPING = """
import json, sys, time

request = json.loads(sys.stdin.readline())
time.sleep(60)
print("\\n".join(["0"] * request["n"]))
"""


@pytest.mark.parametrize("failures", ["error", "token"])
def test_a_program_runs_no_longer_than_the_time_budget(
    run, claim_file, user_module, tmp_path, monkeypatch, failures
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sleeps.py").write_text(SLEEPING, encoding="utf-8")
    path = claim_file(
        {
            "name": "sleeps",
            "mechanism": None,
            "parameters": None,
            "command": [sys.executable, "sleeps.py"],
            "neighbours": f"{user_module}:pairs",
            "audit": {"failures": failures},
        },
        {"name": "good", "epsilon": 3.0},
    )
    path.write_text("[budget]\nseconds = 0.5\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    began = time.monotonic()
    ran = run("check", path, "--json", "--junit", tmp_path / "found.xml", "--html", tmp_path)
    assert time.monotonic() - began < 30  # not the 60 seconds of one request
    late, good = ran.json["claims"]
    assert (ran.code, late["verdict"], good["verdict"]) == (3, "out of time", "kept")
    assert late["remarks"] == ["not audited: The time budget is spent. 0 samples were drawn."]
    assert good["remarks"] == late["remarks"]
    assert 'type="out of time"' in (tmp_path / "found.xml").read_text(encoding="utf-8")
    assert "out of time</span>" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_clock_is_looked_at_between_the_calls_of_the_probe(run, claim_file, user_module, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    claim = {"mechanism": f"{user_module}:good", "parameters": None, "neighbours": f"{user_module}:pairs"}
    path = claim_file({**claim, "epsilon": 1.0, "delta": None})
    path.write_text("[budget]\nseconds = 5\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    (entry,) = run("check", path, "--json").json["claims"]
    assert (entry["verdict"], entry["audit"]) == ("out of time", None)


def test_a_callables_own_time_out_is_no_end_of_the_budget():
    made = as_mechanism(lambda _value, _rng: (_ for _ in ()).throw(TimeoutError("its own")))
    pair = Neighbours(0, 1, "any", "0 or 1", lambda _first, _second: None)
    with ending_at(time.monotonic() + 600), pytest.raises(MechanismError, match="its own"):
        outputs(made, pair, 0, 2, np.random.default_rng(0))
    with ending_at(time.monotonic()), pytest.raises(OutOfTimeError):
        outputs(made, pair, 0, 2, np.random.default_rng(0))


@pytest.mark.skipif(
    not Path("/proc/self").is_dir(), reason="a folder that takes no files although root may write"
)
@pytest.mark.parametrize("option", ["--html", "--sarif"])
def test_a_folder_that_takes_no_files_is_refused(refused, claim_file, option):
    where = {"--html": "/proc/x", "--sarif": "/proc/x.sarif"}[option]
    said = refused("check", claim_file({}), option, where)
    assert said.startswith(f"dpproof: {option[2:]} ({where!r}) must be a f")
    assert "folder that can be written to" in said


def test_the_answer_in_python_names_each_refused_claim_and_why(claim_file):
    path = claim_file({}, {"name": "second", "parameters": {"states": 0}})
    found = dpproof.check(path, audits=False)
    assert "second is refused: " in repr(found)
    assert "('actions') is missing" in repr(found)
