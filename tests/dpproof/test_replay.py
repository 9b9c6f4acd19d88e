"""Replays: the witness of every audit replays, and news, exit codes and broken files are told."""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
import types
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpproof import replay
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.accountant.noise.laplace import LaplaceParameters
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import PolicyEvaluationParameters
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.answers.replay import Replayed
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.engine.worst_pair import EachOf, WorstOf
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.written import UnwritableError, call_of, read, written
from dpproof.audits.target import Subject, mechanism_target, target, targets
from dpproof.audits.targets.call import audit
from dpproof.audits.time_budget import OutOfTimeError
from dpproof.audits.training.audited import Attack
from dpproof.audits.training.dp_sgd import Settings, View
from dpproof.audits.training.reward_canaries import reward_canaries
from dpproof.audits.training.steps import Steps
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from tests.rows import tiered

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


@pytest.mark.parametrize(
    ("now", "recorded", "different", "says"),
    [
        (Finding.VIOLATION, "violation", (), None),
        (Finding.CONSISTENT, "violation", ("epsilon_lower",), "no longer a violation"),
        (Finding.INCONCLUSIVE, "violation", ("epsilon_lower",), "no longer a violation"),
        (Finding.VIOLATION, "violation", ("epsilon_lower",), "still a violation"),
        (Finding.FLOATING_POINT, "violation", ("verdict",), "still a violation"),
        (Finding.VIOLATION, "consistent", ("verdict",), "now a violation"),
    ],
)
def test_the_news_of_a_replay(now, recorded, different, says):
    news = Replayed(types.SimpleNamespace(verdict=now, fails=now.violated), recorded, different).news
    assert news is None if says is None else news.startswith(says)


def test_bits_that_remain_do_not_refute_a_claim_about_real_arithmetic():
    found = types.SimpleNamespace(verdict=Finding.FLOATING_POINT, fails=False)
    news = Replayed(found, "violation", ("verdict",)).news
    assert news.startswith("no longer a violation of a claim about real arithmetic")


@pytest.mark.slow
def test_a_mended_implementation_is_no_longer_a_violation(run, found, change):
    change(MENDED)
    ran = run("audit", "--replay", found)
    assert (ran.code, ran.err) == (0, "")
    assert (
        f"{found}: no longer a violation on the recorded pair: the audit that found one is now consistent"
        in ran.out
    )
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


MODULE = """
import numpy as np

def pair():
    return np.zeros(3), np.array([0.0, 0.0, 1.0])

def total(values, n, rng):
    return np.rint(values.sum() + rng.laplace(0, 0.4, n))

def noisy(rng):
    return lambda canary: round(canary + rng.normal(0, 0.4))

def descend(model, dataset, seed):
    for weight in model.parameters():
        weight.data -= 0.1

def audited(**asked):
    import torch
    from dpproof import audit_training

    model, records = torch.nn.Linear(8, 2, bias=False), (np.eye(8, dtype=np.float32), np.arange(8) % 2)
    torch.nn.init.eye_(model.weight)
    return audit_training(descend, model, records, canaries=4, family=False, **asked)
"""
FEW = {"seed": 3, "budget": 400}
SMALL = RLSVIParameters(states=3, actions=1, horizon=2, episodes=4)


def case_of(name, module):
    """An audit of the target of that name; a new target needs one here."""
    pair = Neighbours(*module.pair(), Adjacency.REPLACE, "one of three")
    other = Neighbours(np.zeros(3), np.array([0.0, -1.0, 0.0]), Adjacency.REPLACE, "another")
    call = partial(audit, "total", PureDP(1.0), module.total)
    made = target(name.partition(":")[0])
    policy = PolicyEvaluationParameters(3, noise=5.0, beta=0.01)
    release = ExpertReleaseParameters(5, 20, 0.05, 100, 5, scale=3.0, draws="fresh")
    cases = {
        "call": lambda: call(pair, **FEW),
        "call:each": lambda: call(EachOf([pair, other]), **FEW),
        "call:worst": lambda: call(WorstOf([pair, other], share=0.5), **{**FEW, "budget": 2000}),
        "call:steps": lambda: audit("steps", GaussianDP(1.0), module.noisy, Steps(), delta=1e-5, **FEW),
        "call:one run": lambda: audit(
            "one run", GaussianDP(1.0), RLSVI(SMALL).sample, reward_canaries(SMALL), seed=1, delta=1e-5
        ),
        "corpus": lambda: audit(made("constant"), **FEW),
        "reward canaries": lambda: audit(made(SMALL), seed=1),
        "named": lambda: audit(
            made({"epsilon": 1.0}, Adjacency.REPLACE, "replayed:total", "replayed:pair"), claim="n", **FEW
        ),
        "primitive": lambda: audit(
            mechanism_target(Subject("laplace", LaplaceParameters(2.0), Adjacency.BY_SENSITIVITY)), **FEW
        ),
        "rlsvi": lambda: audit(made(SMALL), **FEW),
        "policy-evaluation": lambda: audit(made(policy, Adjacency.REPLACE), delta=1e-5, **FEW),
        "expert-release": lambda: audit(made(release), **FEW),
        "selective-dpsgd": lambda: audit(made(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 4)), **FEW),
        "dp-sgd": lambda: audit(made(Settings(), View.STEP), seed=1, budget=40),
        "opacus": lambda: audit(made(Settings()), seed=1, budget=20),
        "expert training": lambda: audit(made(_experts(1), View.STEP), seed=1, budget=20),
        "expert canaries": lambda: audit(made(_experts(8)), seed=1),
        "named training": lambda: audit(
            made("replayed:audited", Attack.ONE_RUN, DPSGDParameters(1.0, 2.0, 1)), seed=1, delta=1e-5
        ),
    }
    return cases[name]


def _experts(canaries):
    from dpproof.audits.training.expert_training import ExpertSettings

    return ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 4), canaries=canaries)


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "replayed.py").write_text(MODULE, encoding="utf-8")
    return importlib.import_module("replayed")


NEEDED = {"opacus": "opacus"} | dict.fromkeys(
    ("dp-sgd", "expert training", "expert canaries", "named training"), "torch"
)


@pytest.mark.parametrize(
    "name", tiered([*targets(), "call:each", "call:worst", "call:steps", "call:one run"], fast=5)
)
def test_every_target_replays_from_a_file(run, module, tmp_path, name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"the package {NEEDED[name]} is not installed")
    found = case_of(name, module)()
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(found.witness()), encoding="utf-8")
    ran = run("audit", "--replay", path, "--json")
    assert ran.code == int(found.verdict.violated), ran.err
    (again,) = ran.json["audits"]
    assert again["witness"] == json.loads(path.read_text(encoding="utf-8"))
    assert found.witness()["replay"]["audit"] == name.partition(":")[0]


def test_a_plan_is_json_both_ways():
    plan = AuditPlan(seed=3, delta=1e-5, scores=(Identity(oriented=True), "tokens"), budget=7, sharpen=True)
    data = json.loads(json.dumps(plan.as_json()))
    assert AuditPlan.read(data).as_json() == data
    assert AuditPlan.read(data).scores == [*plan.scores] or AuditPlan.read(data).scores == plan.scores
    with pytest.raises(ValueError, match="frobs"):
        AuditPlan.read({"seed": 1, "frobs": 2})


def test_an_audit_takes_no_longer_than_its_plan_says(module):
    pair = Neighbours(*module.pair(), Adjacency.REPLACE, "one of three")
    with pytest.raises(OutOfTimeError):
        audit("total", PureDP(1.0), module.total, pair, seed=0, seconds=1e-9)


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
    found = audit("x", PureDP(1.0), lambda v, n, rng: v + rng.geometric(0.9, n), pair, **FEW)
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(found.witness()), encoding="utf-8")
    for given in (found, path, str(path), found.as_json(), found.witness()):
        with pytest.raises(ValueError, match="Put the function into a module"):
            replay(given)
    assert "Put the function into a module" in refused("audit", "--replay", path)


@pytest.mark.parametrize(
    ("scale", "code", "says"), [(0.3, 1, "still a violation"), (20, 0, "no longer a violation")]
)
def test_a_witness_on_own_data_replays_on_the_same_pair(run, monkeypatch, tmp_path, scale, code, says):
    """The search among neighbours is not repeated: a changed function might make it end at another pair."""
    module = tmp_path / "own_total.py"
    text = (
        "DATA = [0, 3, 1, 0]\n\n\ndef total(rows, n, rng):\n"
        "    return sum(rows) + rng.geometric({0}, n) - rng.geometric({0}, n)\n"
    )
    module.write_text(text.format(1 - math.exp(-1)), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # the second text has the size and the second of the first
    asked = [
        "--data",
        "own_total:DATA",
        "--adjacency",
        "replace",
        "--epsilon",
        1,
        "--delta",
        0,
        "--budget",
        30_000,
    ]
    ran = run("audit", "own_total:total", *asked, "--json")
    path = tmp_path / "witness.json"
    witness = ran.json["audits"][0]["witness"]
    path.write_text(json.dumps(witness), encoding="utf-8")
    module.write_text(text.format(1 - math.exp(-1 / scale)), encoding="utf-8")
    sys.modules.pop("own_total", None)
    again = run("audit", "--replay", path)
    assert (again.code, again.err) == (code, "")
    assert says in again.out
