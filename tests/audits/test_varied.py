"""Parameters of the audited function: every setting has its share of alpha, and the answer names the bad one."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

import dpproof
from dpproof import Between, Neighbours, PureDP, Schema
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.answers.audit import audit_claim
from dpproof.audits.recording.evidence import Finding
from dpproof.claim_file.entry import claim_from
from dpproof.cli.audit_jobs import told_of
from tests.rows import rows

SHARES = Schema(Between(0.0, 1.0))
ONE = Neighbours([0.0], [1.0], "replace", "0 or 1")


def clipped_sum(data, n, rng, clip, epsilon=1.0):
    """A sum of numbers in [0, 1]. The noise is too small if ``clip`` is above 1."""
    return sum(min(one * clip, clip) for one in data) + rng.laplace(0, 1 / epsilon, n)


def claim(clip, epsilon):
    """The guarantee that the function claims for its parameters."""
    return PureDP(epsilon)


def twice(clip, epsilon):
    """Twice that guarantee, which holds for ``clip`` up to 2."""
    return PureDP(2 * epsilon)


def test_the_answer_names_the_pair_and_the_parameters():
    found = dpproof.audit(
        clipped_sum, SHARES, vary={"clip": [0.5, 1, 4]}, adjacency="replace", epsilon=1, power=False
    )
    assert found.verdict is Finding.VIOLATION
    assert found.pair.endswith("(parameters: clip = 4)")
    assert any("clip = 4, which is one of" in line for line in found.words)
    assert found.replay["parameters"] == {"clip": 4}
    assert found.alpha == 0.01
    assert 1 < found.epsilon_lower < 4
    assert found.samples <= 100_000
    assert "clip = 4" in repr(found)


def test_the_claim_may_depend_on_the_parameters_and_the_bound_is_that_of_the_named_setting():
    vary = {"clip": [1.0, 2.0], "epsilon": Between(1.0, 5.0)}
    asked = {"pair": ONE, "vary": vary, "budget": 60_000, "power": False}
    found = dpproof.audit(clipped_sum, guarantee=claim, **asked)
    assert found.verdict is Finding.VIOLATION
    epsilon = found.replay["parameters"]["epsilon"]
    assert found.replay["parameters"]["clip"] == 2
    assert found.claimed_epsilon == epsilon < found.epsilon_lower < 2 * epsilon
    sound = dpproof.audit(clipped_sum, guarantee=twice, **asked)
    assert sound.verdict is not Finding.VIOLATION
    assert sound.samples <= 60_000


@pytest.mark.slow
def test_a_claim_that_is_exact_in_every_setting_is_refuted_no_more_often_than_alpha():
    runs, alpha, vary = 50, 0.2, {"clip": [1.0], "epsilon": [0.5, 1.0]}
    asked = {"guarantee": claim, "vary": vary, "alpha": alpha, "budget": 2000, "pair": ONE, "power": False}
    found = [dpproof.audit(clipped_sum, seed=seed, **asked) for seed in range(runs)]
    assert sum(one.verdict is Finding.VIOLATION for one in found) <= binom.ppf(0.999, runs, alpha)
    bad = {**asked, "vary": {**vary, "clip": [1.0, 8.0]}, "budget": 8000}
    assert dpproof.audit(clipped_sum, seed=0, **bad).verdict is Finding.VIOLATION


def test_a_witness_of_varied_parameters_replays():
    asked = {"guarantee": claim, "pair": ONE, "vary": {"clip": [1, 3], "epsilon": [1]}, "power": False}
    found = dpproof.audit(clipped_sum, seed=3, budget=20_000, **asked)
    assert found.verdict is Finding.VIOLATION
    again = dpproof.replay(json.loads(json.dumps(found.witness())))
    assert (again.pair, again.epsilon_lower) == (found.pair, found.epsilon_lower)


def test_parameters_on_the_command_line_are_numbers_texts_or_ranges():
    told = told_of(None, None, None, None, ("bins=2,8", "clip=0.5..4", "rule=a,b"))
    assert told == {"vary": {"bins": [2, 8], "clip": [0.5, 2.25, 4.0], "rule": ["a", "b"]}}
    for wrong, rule in (("bins", "must have the form"), ("clip=a..4", "a range LOW..HIGH of two numbers")):
        with pytest.raises(ValueError, match=rule):
            told_of(None, None, None, None, (wrong,))
    here = f"{__name__}:"
    claim = Claim("a", f"{here}clipped_sum", {}, Adjacency.REPLACE, {"epsilon": 1}, data=f"{here}SHARES")
    found = audit_claim(claim, seed=0, alpha=0.01, vary={"clip": [4, 1]})
    assert found.pair.endswith("(parameters: clip = 4)")
    assert dpproof.replay(json.loads(json.dumps(found.witness()))).pair == found.pair


def fragile(data, n, rng, clip):
    return np.zeros(n) if clip else 1 // 0


@rows(
    ("asked", "rule"),
    [
        ({"vary": {"clip": [1, 0]}}, r"ZeroDivisionError.*parameters: clip = 0"),
        ({"vary": {"clap": [1]}}, "clap"),
        (
            {"vary": {"clip": list(range(1, 60))}, "budget": 50_000},
            "at least 1000 samples for each of the 59",
        ),
        ({"vary": {"clip": []}}, "must give a list of values"),
        ({"vary": {}}, "at least one parameter"),
        ({"vary": {"clip": [1]}, "pair": dpproof.Steps(None)}, "needs data, or pairs"),
    ],
)
def test_settings_that_cannot_be_audited_are_refused_in_words(asked, rule):
    with pytest.raises(ValueError, match=rule):
        dpproof.audit(fragile, **{"pair": ONE, "epsilon": 1, "power": False, **asked})


def test_a_function_of_parameters_is_no_guarantee_without_parameters():
    with pytest.raises(ValueError, match="needs vary"):
        dpproof.audit(partial(clipped_sum, clip=1), pair=ONE, guarantee=claim)


@pytest.mark.slow
def test_a_claim_file_may_vary_parameters_or_audit_the_running_time():
    here = f"{__name__}:"
    entry = {"name": "a", "mechanism": f"{here}clipped_sum", "adjacency": "replace", "epsilon": 1}
    entry |= {"data": f"{here}SHARES"}
    claim = claim_from({**entry, "audit": {"vary": {"clip": [1, 4]}, "timing": False}})
    assert audit_claim(claim, seed=0, alpha=0.01).replay["parameters"] == {"clip": 4}
    for wrong in ([4], {"clip": []}, {"clip": [[1]]}, {"a b": [1]}):
        with pytest.raises(ValueError, match="a table of lists of values"):
            claim_from({**entry, "audit": {"vary": wrong}})
    both = claim_from({**entry, "audit": {"vary": {"clip": [1]}, "timing": True}})
    with pytest.raises(ValueError, match="timing must be left out"):
        audit_claim(both, seed=0, alpha=0.01)
