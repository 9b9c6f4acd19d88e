"""Claims on what other libraries run, and runs of nothing: what is accounted for and what is refused."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from dp_accounting import dp_event

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.interop.dp_events import event_of_training, privacy_loss_of
from dpproof.accountant.privacy_loss.planning import GridTooLargeError
from dpproof.answers import account as answers
from dpproof.answers.events import _training
from dpproof.cli.importing import import_from
from dpproof.outcome import Outcome
from tests.rows import rows

MODULE = """
import dp_accounting
from types import SimpleNamespace

step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
event = dp_accounting.SelfComposedDpEvent(step, 1000)

concentrated = dp_accounting.ZCDpEvent(0.5)

leak = dp_accounting.PoissonSampledDpEvent(0.3, dp_accounting.GaussianDpEvent(0.0))
large = dp_accounting.PoissonSampledDpEvent(0.5, dp_accounting.GaussianDpEvent(0.5))
leaks = dp_accounting.ComposedDpEvent([leak, dp_accounting.SelfComposedDpEvent(large, 10**9)])

def make():
    return event

def fails():
    raise RuntimeError("no data today")

history = [(1.0, 0.01, 400), (1.0, 0.01, 600)]
engine = SimpleNamespace(accountant=SimpleNamespace(history=history))
text = "a text"
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "events_of_a_user.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return "events_of_a_user"


def claim(claim_file, epsilon=2.2, **names):
    changes = {"mechanism": None, "parameters": None, "adjacency": "add-remove", "epsilon": epsilon}
    return claim_file({**changes, **names})


@pytest.mark.parametrize(
    ("kind", "name"), [("event", "event"), ("event", "make"), ("training", "history"), ("training", "engine")]
)
def test_an_event_or_a_training_is_accounted_for(run, claim_file, module, kind, name):
    truth = privacy_loss_of(event_of_training(0.01, 1.0, 1000), Adjacency.ADD_REMOVE).epsilon(1e-6)
    ran = run("check", claim(claim_file, **{kind: f"{module}:{name}"}), "--json")
    (entry,) = ran.json["claims"]
    assert (ran.code, entry["verdict"], entry["audit"]) == (0, "kept", None)
    assert entry["account"]["epsilon"]["upper"] == pytest.approx(truth.upper, rel=1e-9)
    assert "name no code to run" in entry["remarks"][0]


def test_an_event_is_broken_only_if_neighbours_reach_its_guarantee(run, claim_file, module):
    ran = run("check", claim(claim_file, 2.1, event=f"{module}:event"), "--json", "--no-audits")
    assert (ran.code, ran.json["claims"][0]["verdict"]) == (1, "broken")
    ran = run("check", claim(claim_file, 0.1, event=f"{module}:concentrated"), "--json", "--no-audits")
    assert (ran.code, ran.json["claims"][0]["verdict"]) == (3, "not certified")


def test_an_account_that_is_too_large_does_not_hide_a_certain_leak(run, claim_file, module):
    asked = claim(claim_file, 0.9, event=f"{module}:leaks", delta=0.29)
    ran = run("check", asked, "--json", "--no-audits")
    (entry,) = ran.json["claims"]
    assert (ran.code, entry["verdict"]) == (1, "broken")
    assert entry["account"] is not None


@pytest.mark.parametrize("kind", ["event", "training"])
def test_the_certified_epsilon_is_itself_kept(run, claim_file, module, kind):
    name = f"{module}:{'event' if kind == 'event' else 'history'}"
    bound = privacy_loss_of(event_of_training(0.01, 1.0, 1000), Adjacency.ADD_REMOVE).epsilon(1e-6)
    ran = run("check", claim(claim_file, bound.upper, **{kind: name}), "--json", "--no-audits")
    assert (ran.code, ran.json["claims"][0]["verdict"]) == (0, "kept")


TOO_LARGE = "history = [(0.5, 0.5, 10**9)]"


@pytest.mark.slow
def test_a_very_long_training_is_answered_and_does_not_hide_the_others(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("too_large.py").write_text(TOO_LARGE, encoding="utf-8")
    abouts = {
        "training": 'training = "too_large:history"',
        "mechanism": 'mechanism = "dp-sgd"\n'
        "parameters = { sampling_rate = 0.5, noise_multiplier = 0.5, steps = 1000000000 }",
        "good": 'mechanism = "gaussian"\nparameters = { sigma = 9.0, sensitivity = 1 }',
    }
    text = "".join(CLAIM.format(name=name, about=about) for name, about in abouts.items())
    Path("claims.toml").write_text(text.replace("add-remove", "replace"), encoding="utf-8")
    ran = run("check", "claims.toml", "--json")
    *large, good = ran.json["claims"]
    assert (ran.code, good["verdict"]) == (1, "kept")
    for entry in large:
        assert entry["verdict"] == "broken"
    assert "steps (1000000000) must be at most 500000 for an audit" in large[1]["remarks"][0]


@pytest.mark.parametrize(
    "error",
    [
        GridTooLargeError("A grid is too small."),
        MemoryError("Unable to allocate 9 GiB."),
        OverflowError("too large"),
        ZeroDivisionError("division by zero"),
        ArithmeticError("undecided"),
        RecursionError("too deep"),
    ],
)
def test_no_exception_of_one_account_hides_another(run, tmp_path, monkeypatch, error):
    def fails(parameters, adjacency):
        raise error

    about = 'mechanism = "{}"\nparameters = {{ {} = 9.0, sensitivity = 1 }}'
    text = CLAIM.format(name="bad", about=about.format("laplace", "scale"))
    text += CLAIM.format(name="good", about=about.format("gaussian", "sigma"))
    path = tmp_path / "claims.toml"
    path.write_text(text.replace("add-remove", "by-sensitivity"), encoding="utf-8")
    monkeypatch.setattr(
        "dpproof.accountant.noise.laplace.ACCOUNTANT", replace(accountant_for("laplace"), account=fails)
    )
    ran = run("check", str(path), "--json", "--no-audits")
    bad, good = ran.json["claims"]
    assert (bad["verdict"], good["verdict"]) == ("not certified", "kept")
    assert str(error) in bad["remarks"][0]


def test_the_same_pair_refutes_a_training_and_the_mechanism(run, claim_file, module):
    mechanism = {
        "mechanism": "dp-sgd",
        "parameters": {"sampling_rate": 0.01, "noise_multiplier": 1.0, "steps": 1000},
    }
    for named in ({"training": f"{module}:history"}, mechanism):
        ran = run("check", claim(claim_file, 1.5, **named), "--json", "--no-audits")
        (entry,) = ran.json["claims"]
        assert (ran.code, entry["verdict"]) == (1, "broken")
        assert any("a pair of neighbours exceeds it: a user whose" in text for text in entry["remarks"])


REFUSALS = [
    ({"event": "m:fails"}, "event ('m:fails') raised RuntimeError: no data today"),
    ({"event": "m:text"}, "event (type str) must be a dp-accounting DpEvent"),
    ({"training": "m:text"}, "training (type str) must be an Opacus engine or accountant, or a list"),
    ({"event": "m:nothing"}, "cannot be loaded"),
    ({"event": "m:event", "adjacency": "rewards-only"}, "Use one of: add-remove, replace, by-sensitivity"),
    (
        {"event": "m:event", "parameters": {"x": 1}},
        "parameters, neighbours, data and audit must be left out beside event",
    ),
    ({"event": "m:event", "training": "m:history"}, "training and event exclude each other"),
]


@pytest.mark.parametrize(("changes", "says"), REFUSALS)
def test_what_is_no_event_is_refused(refused, claim_file, module, changes, says):
    here = {
        key: value.replace("m:", f"{module}:") if isinstance(value, str) else value
        for key, value in changes.items()
    }
    assert says.replace("m:", f"{module}:") in refused("check", claim(claim_file, **here))


def test_an_event_that_is_not_known_is_refused(refused, claim_file, module, monkeypatch):
    import events_of_a_user

    monkeypatch.setattr(events_of_a_user, "event", dp_event.UnsupportedDpEvent())
    assert "an operation that has no description" in refused(
        "check", claim(claim_file, event=f"{module}:event")
    )


ROOT = Path(__file__).resolve().parents[2]
CLAIM = """
[[claim]]
name = "{name}"
{about}
adjacency = "add-remove"
epsilon = 1.0
delta = 1e-5
"""
COUNTS = ("compositions", "steps", "sampling_rate")


@pytest.mark.parametrize(
    "history",
    [
        [],
        [(1.0, 0.01, 0)],
        [(1.0, 0, 100)],  # a batch divided by the number of records as whole numbers
        SimpleNamespace(history=[]),
        SimpleNamespace(accountant=SimpleNamespace(history=[])),
    ],
)
def test_a_training_without_steps_is_refused(history):
    with pytest.raises(ValueError, match="nothing was run"):
        _training(history)


@pytest.mark.parametrize("steps", [10.9, "10", float("nan"), None])
def test_steps_are_not_rounded(steps):
    with pytest.raises(ValueError, match="number of steps must be whole"):
        _training([(1.0, 0.01, steps)])


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ('training = "empty_run:history"', "history = []"),
        ('training = "empty_run:history"', "history = [(1.0, 0.01, 0)]"),
        (
            'event = "empty_run:event"',
            "from dp_accounting import ComposedDpEvent\nevent = ComposedDpEvent([])",
        ),
        ('event = "empty_run:event"', "from dp_accounting import NoOpDpEvent\nevent = NoOpDpEvent()"),
        ('mechanism = "gaussian"\nparameters = { sigma = 9.0, compositions = 0 }', ""),
        (
            'mechanism = "dp-sgd"\nparameters = { sampling_rate = 0.1, noise_multiplier = 1.0, steps = 0 }',
            "",
        ),
        (
            'mechanism = "dp-sgd"\nparameters = { sampling_rate = 0, noise_multiplier = 1.0, steps = 9 }',
            "",
        ),
        ('training = "empty_run:history"', "history = [(1.0, 64 // 60_000, 1000)]"),
    ],
)
def test_a_claim_about_nothing_is_refused(run, tmp_path, monkeypatch, about, code):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("empty_run.py").write_text(code, encoding="utf-8")
    Path("claims.toml").write_text(CLAIM.format(name="x", about=about), encoding="utf-8")
    ran = run("check", "claims.toml", "--no-audits")
    assert ran.code == 2
    assert any(
        rule in ran.err for rule in ("nothing was run", "must be above 0", "must hold at least one step")
    )
    assert "kept" not in ran.out


@rows("name", CATALOGUE)
def test_every_count_of_runs_is_refused_at_zero(name):
    accountant = accountant_for(name)
    counted = [field.name for field in accountant.parameters.fields() if field.name in COUNTS]
    for count in counted:
        parameters = SimpleNamespace(**{count: 0})
        with pytest.raises(ValueError, match=rf"{count} \(0\) must be above 0"):
            answers.account(accountant, parameters, Adjacency.ADD_REMOVE, delta="1e-5")


def test_what_cannot_be_loaded_is_named_before_anything_runs(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slow = 'mechanism = "rlsvi"\nparameters = { states = 6, actions = 2, horizon = 20, episodes = 1000 }'
    gone = 'mechanism = "no_such_module:f"\nneighbours = "no_such_module:pair"'
    text = CLAIM.format(name="slow", about=slow).replace("add-remove", "rewards-only")
    Path("claims.toml").write_text(text + CLAIM.format(name="gone", about=gone), encoding="utf-8")
    started = time.monotonic()
    ran = run("check", "claims.toml", "--markdown", "found.md")
    assert ran.code == 2
    assert time.monotonic() - started < 30  # auditing the first claim takes minutes
    assert "claim 2: mechanism ('no_such_module:f') cannot be loaded" in ran.err
    assert "Nothing was run" in ran.err
    assert "cannot be loaded" in Path("found.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [ROOT, ROOT / "examples"])
def test_names_in_the_example_are_found_from_either_folder(folder, monkeypatch):
    from dpproof.answers.audit import check_ready
    from dpproof.claim_file import read_claims

    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT])
    for name in [name for name in sys.modules if name.partition(".")[0] == "examples"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(folder)
    path = Path("dpproof.toml") if folder != ROOT else Path("examples/dpproof.toml")
    import_from(path.parent)
    assert len(read_claims(path, check_ready)) == 4


def test_what_an_audit_found_nothing_against_is_not_shown_in_green():
    green = {outcome.value for outcome in Outcome if outcome.colour == "green"}
    assert not green & {"consistent", "inconclusive"}
    assert "kept" in green
