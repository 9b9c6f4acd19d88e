"""Claims on what other libraries run: an event of dp-accounting, a training of Opacus."""

from __future__ import annotations

import sys

import pytest
from dp_accounting import dp_event

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.interop.dp_events import event_of_training, privacy_loss_of

MODULE = """
import dp_accounting
from types import SimpleNamespace

step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
event = dp_accounting.SelfComposedDpEvent(step, 1000)

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
    yield "events_of_a_user"
    sys.modules.pop("events_of_a_user", None)


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
    assert "gives no code to run" in entry["remarks"][0]


def test_a_smaller_promise_is_not_certified(run, claim_file, module):
    path = claim(claim_file, 2.1, event=f"{module}:event")
    assert run("check", path, "--json").code == 3


REFUSALS = [
    ({"event": "m:fails"}, "event ('m:fails') failed: RuntimeError: no data today"),
    ({"event": "m:text"}, "event (str) must be a DpEvent"),
    ({"training": "m:text"}, "training (str) must be an Opacus engine or accountant, or a list"),
    ({"event": "m:nothing"}, "cannot be loaded"),
    ({"event": "m:event", "adjacency": "rewards-only"}, "events know add-remove, replace and by-sensitivity"),
    (
        {"event": "m:event", "parameters": {"x": 1}},
        "parameters, neighbours and audit must be left out for event",
    ),
    ({"event": "m:event", "training": "m:history"}, "training must be left out beside event"),
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
    assert "no pair is known" in refused("check", claim(claim_file, event=f"{module}:event"))
