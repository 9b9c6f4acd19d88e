"""The witness of every public audit replays by ``dpproof audit --replay``."""

from __future__ import annotations

import importlib
import json
import sys
import types
from fractions import Fraction

import numpy as np
import pytest

import dpproof
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import PolicyEvaluationParameters
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.recording.replaying import AUDITS
from dpproof.audits.recording.written import UnwritableError, call_of, read, written
from dpproof.audits.training.cases import reward_canaries
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI

MODULE = """
import numpy as np

def pair():
    return np.zeros(3), np.array([0.0, 0.0, 1.0])

def total(values, n, rng):
    return np.rint(values.sum() + rng.laplace(0, 0.4, n))

def noisy(rng):
    return lambda canary: round(canary + rng.normal(0, 0.4))
"""
FEW = {"seed": 3, "budget": 400}
SMALL = RLSVIParameters(states=3, actions=1, horizon=2, episodes=4)


def case_of(name, module):
    """A call of the audit of that name; a new audit needs one here."""
    pair = Neighbours(*module.pair(), Adjacency.REPLACE, "one of three")
    other = Neighbours(np.zeros(3), np.array([0.0, -1.0, 0.0]), Adjacency.REPLACE, "another")
    common = ("total", PureDP(1.0), module.total)
    from dpproof.audits.training.dp_sgd import Settings
    from dpproof.audits.training.views import View

    cases = {
        "audit": lambda f: f(*common, pair, **FEW),
        "audit_each": lambda f: f(*common, [pair, other], **FEW),
        "audit_worst": lambda f: f(*common, [pair, other], share=0.5, **{**FEW, "budget": 2000}),
        "audit_steps": lambda f: f("steps", GaussianDP(1.0), module.noisy, delta=1e-5, **FEW),
        "audit_one_run": lambda f: f(
            "one run", GaussianDP(1.0), RLSVI(SMALL).sample, reward_canaries(SMALL), seed=1, delta=1e-5
        ),
        "audit_reward_canaries": lambda f: f(SMALL, seed=1),
        "audit_named": lambda f: f(
            "n", {"epsilon": 1.0}, Adjacency.REPLACE, "replayed:total", "replayed:pair", **FEW
        ),
        "audit_rlsvi": lambda f: f(SMALL, **FEW),
        "audit_policy_evaluation": lambda f: f(
            PolicyEvaluationParameters(3, noise=5.0, beta=0.01), Adjacency.REPLACE, delta=1e-5, **FEW
        ),
        "audit_dp_sgd": lambda f: f(Settings(), View.STEP, seed=1, budget=40),
        "audit_opacus": lambda f: f(Settings(), seed=1, budget=20),
        "audit_expert_training": lambda f: f(_experts(1), View.STEP, seed=1, budget=20),
        "audit_expert_canaries": lambda f: f(_experts(8), seed=1),
    }
    return cases[name]


def _experts(canaries):
    from dpproof.audits.training.expert_settings import ExpertSettings

    return ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 4), canaries=canaries)


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "replayed.py").write_text(MODULE, encoding="utf-8")
    sys.modules.pop("replayed", None)
    yield importlib.import_module("replayed")
    sys.modules.pop("replayed", None)


@pytest.mark.parametrize("name", sorted(name for name in dpproof.__all__ if name.split("_")[0] == "audit"))
def test_a_public_audit_replays_from_a_file(run, module, tmp_path, name):
    needed = {"audit_dp_sgd": "torch", "audit_opacus": "opacus"}
    needed |= dict.fromkeys(("audit_expert_training", "audit_expert_canaries"), "torch")
    if name in needed:
        pytest.importorskip(needed[name], reason=f"the package {needed[name]} is not installed")
    found = case_of(name, module)(getattr(dpproof, name))
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(found.witness()), encoding="utf-8")
    ran = run("audit", "--replay", path, "--json")
    assert ran.code == int(found.verdict.violated), ran.err
    (again,) = ran.json["audits"]
    assert again["witness"] == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", AUDITS)
def test_every_entry_of_the_table_is_there(name):
    module, function, _ = AUDITS[name]
    if importlib.util.find_spec("torch") or ".training." not in module:
        assert callable(getattr(importlib.import_module(module), function))


VALUES = [
    None,
    True,
    2**80,
    0.1,
    float("inf"),
    "text",
    [1, (2.0, "x")],
    {"a": [1], 3: Fraction(1, 3)},
    np.arange(6, dtype=np.int8).reshape(2, 3),
    np.float64(0.5),
    Adjacency.REPLACE,
    PureDP(1.0),
    len,
    Neighbours([1, 2], [1, 3], "replace", "two lists"),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_what_is_written_reads_back(value):
    data = json.loads(json.dumps(written(value)))
    assert written(read(data)) == data
    assert type(read(data)) is type(value)
    assert str(read(data)) == str(value)


@pytest.mark.parametrize("value", [lambda x: x, object(), sys, np.array(["a"])])
def test_what_has_no_name_is_not_written(value):
    with pytest.raises(UnwritableError):
        written(value)
    assert call_of("audit", sampler=value) == {}


def test_a_function_of_a_module_that_is_not_imported_is_not_written():
    unknown = types.FunctionType(call_of.__code__, {"__name__": "no_such_module"}, "noisy")
    assert unknown.__module__ == "no_such_module"
    assert call_of("audit", sampler=unknown) == {}


def test_a_witness_without_a_name_for_its_code_is_refused(refused, tmp_path):
    pair = Neighbours(0.0, 1.0, "at most 1 apart", "0 or 1")
    found = dpproof.audit("x", PureDP(1.0), lambda v, n, rng: v + rng.geometric(0.9, n), pair, **FEW)
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(found.witness()), encoding="utf-8")
    assert "audit (None) must be one of" in refused("audit", "--replay", path)
