"""The worst of many pairs is found and audited at the full level; or all of them, each at its share."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.stats import binom

from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.neighbours import Distance, vector_pairs
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.power.measured import unmeasured
from dpproof.audits.engine.sampling.callables import MechanismError, each
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.engine.worst_pair import EachOf, WorstOf
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit

ALL = vector_pairs(5, Distance.ALL)
ONE = vector_pairs(5, Distance.ONE)


def summed(values, n, rng):
    """Exactly 1-DP where one coordinate changes; 5-DP where all do."""
    return values.sum() + rng.laplace(0, 1.0, n)


def weighed(values, n, rng):
    """Too little noise for the last coordinate only."""
    return values[:4].sum() + 2 * values[4] + rng.laplace(0, 1.0, n)


def test_the_pair_that_gives_most_away_is_found():
    for seed in range(5):
        found = audit("sum", PureDP(1.0), summed, WorstOf(ALL), seed=seed, budget=20_000)
        assert found.verdict is Finding.VIOLATION
        assert found.pair in ("all above", "all below")
        assert found.replay["search"]["samples"] < found.samples < 20_000
    weak = [audit("weighed", PureDP(1.0), weighed, WorstOf(ONE), seed=s, budget=20_000) for s in range(5)]
    assert {found.pair for found in weak} == {"last one above"}
    assert {found.verdict for found in weak} == {Finding.VIOLATION}


@pytest.mark.slow
@pytest.mark.parametrize("several", [WorstOf, EachOf])
def test_a_claim_that_is_exact_on_every_pair_is_refuted_no_more_often_than_alpha(several, monkeypatch):
    monkeypatch.setattr(
        "dpproof.audits.engine.runner.measured", lambda *_given, **_more: unmeasured("not asked here")
    )
    runs, alpha = 100, 0.1
    found = [
        audit("sum", PureDP(1.0), summed, several(ONE), seed=s, budget=3000, alpha=alpha) for s in range(runs)
    ]
    assert sum(one.verdict is Finding.VIOLATION for one in found) <= binom.ppf(0.999, runs, alpha)
    assert sum(one.epsilon_lower > 1 for one in found) <= binom.ppf(0.999, runs, alpha)


@pytest.mark.slow
def test_each_pair_is_audited_until_one_is_refuted():
    found = audit("weighed", PureDP(1.0), weighed, EachOf(ONE), seed=0, budget=30_000)
    assert found.verdict is Finding.VIOLATION
    assert found.pair == "last one above"
    assert found.seed == 0
    assert found.alpha == 0.01
    assert found.samples > 20_000
    assert found.e_value > 1 / 0.01
    first = audit("sum", PureDP(1.0), summed, EachOf(ALL[:3]), seed=0, budget=30_000)
    assert first.pair == ALL[0].description or first.samples > 10_000


@pytest.mark.slow
def test_all_pairs_must_be_consistent():
    wide = audit("sum", PureDP(1.0), summed, EachOf(ONE), [Identity()], seed=0, budget=400_000)
    assert wide.verdict is Finding.CONSISTENT
    assert 1 < wide.would_have_seen <= 2
    short = audit("sum", PureDP(1.0), summed, EachOf(ONE), seed=0, budget=300)
    assert short.verdict is Finding.INCONCLUSIVE


def test_the_same_seed_finds_the_same():
    run = functools.partial(audit, "sum", PureDP(2.0), summed, WorstOf(ALL), seed=4, budget=20_000)
    assert run() == run()


def test_outputs_may_differ_in_kind_between_pairs():
    numbers = Neighbours(0, 1, "numbers", "numbers", lambda a, b: None)
    words = Neighbours("a", "b", "words", "words", lambda a, b: None)

    def mixed(value, rng):
        return value if isinstance(value, str) else value + rng.laplace()

    found = audit("mixed", PureDP(1.0), mixed, WorstOf([numbers, words]), seed=0, budget=10_000)
    assert (found.pair, found.verdict) == ("words", Finding.VIOLATION)


def test_a_single_pair_needs_no_search():
    found = audit("sum", PureDP(1.0), summed, WorstOf(ONE[:1]), seed=0, budget=500)
    assert found.samples == 500
    assert found.replay["search"]["samples"] == 0


@pytest.mark.parametrize(
    ("pairs", "given", "why"),
    [
        ((), {}, "at least one"),
        (ALL, {"share": 1.0}, r"share \(1\.0\)"),
        (
            ALL,
            {"budget": 1000},
            r"budget leaves 200 samples for a search over 10 pairs of inputs, which needs 2560",
        ),
    ],
)
def test_a_search_that_cannot_be_is_refused(pairs, given, why):
    with pytest.raises(ValueError, match=why):
        audit("sum", PureDP(1.0), summed, WorstOf(pairs, given.pop("share", 0.2)), seed=0, **given)


def test_a_pair_on_which_the_mechanism_fails_is_named():
    def failing(values, rng):
        return 1 / (values[4] - 2) + rng.laplace()

    with pytest.raises(
        MechanismError, match=r"second input: it raised ZeroDivisionError.* \(pair: last one above\)"
    ):
        audit("fails", PureDP(1.0), each(lambda v, rng: failing(v.tolist(), rng)), WorstOf(ONE), seed=0)


def test_the_samples_of_the_search_are_not_those_of_the_audit():
    seen: list[float] = []

    def noted(values, n, rng):
        drawn = rng.laplace(0, 1.0, n)
        seen.extend(drawn[:1])
        return values.sum() + drawn

    audit("sum", PureDP(10.0), noted, WorstOf(ONE), seed=0, budget=2000 * len(ONE))
    fresh = np.array(seen)
    assert len(np.unique(fresh)) > 0.9 * len(fresh)  # only the probe asks twice with one generator


@pytest.mark.parametrize("several", [WorstOf(ONE[:2]), EachOf(ONE[:2])], ids=["worst", "each"])
def test_a_witness_says_that_no_power_was_measured_so_that_its_replay_measures_none(several):
    found = audit("sum", PureDP(1.0), summed, several, seed=0, budget=2000, power=False)
    assert found.verdict is Finding.INCONCLUSIVE
    again = replay(found.witness())
    assert again.weakness == found.weakness == "power was not measured: power=False was given"
