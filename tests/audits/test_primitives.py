"""Noise primitives: exact laws, hard pairs that are neighbours, verdicts on the claim and beyond it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.counting.matrix_counting import strategy_of
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.replaying import replay
from dpproof.audits.target import Subject, leaf_target, mechanism_target, target, targets
from dpproof.audits.targets.call import audit
from dpproof.mechanisms.counting.paths import column_coefficients, row_coefficients
from dpproof.mechanisms.counting.tree import tree_nodes
from dpproof.mechanisms.noise.coins import exponential_coins
from dpproof.mechanisms.noise.discrete_gaussian import discrete_gaussian_noise
from dpproof.mechanisms.noise.geometric import geometric_noise
from dpproof.mechanisms.primitives import Primitive, sampled
from tests.rows import rows, tiered

LEVEL, SAMPLES = 1e-6, 40_000
"""Of every goodness-of-fit test below; seeds are fixed."""
RELATIONS = (Adjacency.BY_SENSITIVITY, Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.REWARDS_ONLY)
PARAMETERS = {
    "gaussian": {"sigma": 2.0, "compositions": 3, "sensitivity": 1.0},
    "laplace": {"scale": 2.0, "compositions": 3, "sensitivity": 1.0},
    "dp-sgd": {"sampling_rate": 0.3, "noise_multiplier": 1.0, "steps": 4},
    "geometric": {"scale": 2.0, "compositions": 2, "sensitivity": 1},
    "discrete-gaussian": {"sigma": 2.0, "compositions": 2, "sensitivity": 1},
    "binomial": {"trials": 100, "compositions": 2, "sensitivity": 1},
    "randomised-response": {"randomness": 0.5, "categories": 4, "compositions": 2},
    "exponential": {"scale": 4.0, "compositions": 2, "sensitivity": 1.0},
    "permute-and-flip": {"scale": 4.0, "compositions": 2, "sensitivity": 1.0},
    "tree": {"leaves": 6, "sigma": 4.0, "restarts": 1, "sensitivity": 1.0},
    "laplace-tree": {"leaves": 6, "scale": 4.0, "restarts": 1, "sensitivity": 1.0},
    "matrix-counting": {"leaves": 6, "sigma": 4.0, "sensitivity": 1.0},
    "sparse-vector": {"query_scale": 8.0, "positives": 2, "answer_scale": 8.0, "sensitivity": 1.0},
    "gaussian-sparse-vector": {"query_sigma": 6.0, "queries": 8, "positives": 2, "sensitivity": 1.0},
    "smooth-gaussian": {"noise": 3.0, "smoothing": 0.1, "dimension": 3},
    "smooth-laplace": {"noise": 3.0, "smoothing": 0.1},
    "smooth-cauchy": {"noise": 3.0, "smoothing": 0.1, "exponent": 3.0},
    "smooth-student": {"noise": 3.0, "smoothing": 0.1},
    "smooth-log-normal": {"noise": 3.0, "smoothing": 0.1, "spread": 0.5},
    "shuffled-count": {"users": 50, "threshold": 120.0, "encoding": "bits"},
    "shuffled-batch": {"users": 50, "threshold": 120.0, "states": 2, "actions": 2, "horizon": 2},
    "central-counts": {"states": 2, "actions": 1, "horizon": 1, "episodes": 2, "scale": 6.0},
    "local-counts": {"states": 2, "actions": 1, "horizon": 1, "episodes": 2, "scale": 6.0},
    "batched-counts": {"states": 2, "actions": 2, "horizon": 4, "episodes": 20, "sigma": 9.0, "every": 4},
    "thompson": {"arms": 2, "rounds": 4, "pulls": 1, "variance": 2.0},
}
"""Sizes that suit an audit better than a mechanism's example."""


def audit_primitive(name, parameters, relation, curve=None, **asked):
    return audit(mechanism_target(Subject(name, parameters, relation, curve)), **asked)


def parameters_of(name, **changes):
    accountant = accountant_for(name)
    if name in PARAMETERS:
        return accountant.parameters.read({**PARAMETERS[name], **changes})
    return replace(accountant.example, **changes)


def proved(name):
    """The relations under which the accountant proves a guarantee."""
    for relation in RELATIONS:
        try:
            accountant_for(name).account(parameters_of(name), relation)
        except UnprovedAdjacencyError:
            continue
        yield relation


ALL = [
    (name, relation)
    for name in sampled()
    for place, relation in enumerate(proved(name))
    if place == 0 or name == "dp-sgd" or hasattr(parameters_of(name), "leaves")
]
"""Where a relation only gives the sensitivity its name, one stands for all."""


def test_every_mechanism_of_the_catalogue_that_has_a_sampler_has_an_audit():
    assert PARAMETERS.keys() <= set(sampled())
    assert all(leaf_target(name) for name in CATALOGUE)


def test_what_a_witness_may_name_is_found_by_that_name():
    assert len(targets()) == len(set(targets())) > 10
    assert all(target(name).fields for name in targets())


@pytest.mark.parametrize(("name", "relation"), tiered(ALL, fast=8))
def test_a_primitive_is_not_refuted_and_its_witness_replays(name, relation):
    parameters = parameters_of(name)
    found = audit_primitive(name, parameters, relation, seed=3, delta=1e-5, budget=600)
    assert found.verdict.value != "violation"
    assert found.claim == name
    assert replay(found.witness()) == found


DISCRETE = (
    "binomial",
    "shuffled-count",
    "shuffled-batch",
    "sparse-vector",
    "gaussian-sparse-vector",
    "thompson",
)
"""Mechanisms of which a quarter of the noise needs other sizes, or more samples."""
NOISE = {name: accountant_for(name).noise for name in sampled() if name not in DISCRETE}


@pytest.mark.parametrize("name", tiered(NOISE, fast=6))
def test_a_quarter_of_the_noise_is_refuted(name):
    honest, relation = parameters_of(name), next(iter(proved(name)))
    accountant = accountant_for(name)
    factor = 4**-accountant.safer  # where less is safer, such as an epsilon, the fault is four times as much
    faulty = replace(honest, **{NOISE[name]: getattr(honest, NOISE[name]) * factor})
    claim = accountant.account(honest, relation).guarantee
    found = audit_primitive(name, faulty, relation, seed=0, delta=1e-5, budget=50_000, curve=claim)
    assert found.verdict.value == "violation"


def test_a_leaf_of_a_tree_with_noise_for_fewer_levels_is_refuted():
    parameters = accountant_for("laplace-tree").parameters.read(
        {"leaves": 64, "scale": 2.0, "sensitivity": 1.0}
    )
    found = audit_primitive(
        "laplace-tree", parameters, Adjacency.ADD_REMOVE, seed=0, curve=PureDP(1), budget=20_000
    )
    assert found.verdict.value == "violation"


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("laplace", {"compositions": 0}, "compositions (0) must be above 0"),
        ("gaussian", {"sensitivity": 0.0}, "sensitivity (0) must be above 0"),
        ("dp-sgd", {"steps": 0}, "steps (0) must be above 0"),
    ],
)
def test_what_reveals_nothing_is_not_audited(name, changes, says):
    with pytest.raises(NoAuditError) as refused:
        audit_primitive(name, parameters_of(name, **changes), Adjacency.ADD_REMOVE, seed=0)
    assert says in str(refused.value)


def test_a_name_without_an_audit_is_refused():
    with pytest.raises(NoAuditError, match="'rlsvi2'"):
        audit_primitive("rlsvi2", None, Adjacency.REPLACE, seed=0)


ELSEWHERE = ("randomised-response", "central-counts", "local-counts", "batched-counts", "shuffled-batch")
"""Any two answers are neighbours; counts: test_private_counts.py, a batch: test_shuffle_cases.py."""


@rows(("name", "relation"), [one for one in ALL if one[0] not in ELSEWHERE])
def test_a_pair_further_apart_is_refused(name, relation):
    pair = leaf_target(name).pair(parameters_of(name), relation)
    if isinstance(pair.second, tuple):
        further = (pair.second[0] + 1, pair.second[1])
    else:
        further = pair.second + 2 * (np.asarray(pair.second) - pair.first)
    with pytest.raises(InvalidNeighboursError):
        Neighbours(pair.first, further, relation, "further apart", pair.validator)


def test_the_pair_of_a_tree_has_the_norm_that_the_accountant_proves():
    from dpproof.accountant.counting.gaussian_tree import squared_norm

    for leaves, relation in ((6, Adjacency.ADD_REMOVE), (16, Adjacency.REPLACE), (13, Adjacency.ADD_REMOVE)):
        parameters = accountant_for("tree").parameters.read(
            {"leaves": leaves, "sigma": 1.0, "sensitivity": 1.0}
        )
        pair = leaf_target("tree").pair(parameters, relation)
        moved = tree_nodes((pair.second - pair.first).cumsum(axis=1))
        assert (moved**2).sum() == squared_norm(parameters, relation)[0]


def test_the_factors_of_a_running_count_multiply_to_it():
    parameters = parameters_of("matrix-counting", leaves=9, bands=3)
    strategy = strategy_of(parameters)
    first, second = column_coefficients(strategy), row_coefficients(strategy)
    assert np.convolve(first, second)[:9] == pytest.approx(np.ones(9))


def fits(drawn, mass):
    """Whether whole numbers fit a law, by a chi-square test on the cells that expect at least 10."""
    values = np.arange(-400, 401)
    chances = mass(values)
    chances = chances / chances.sum()
    expected = chances * len(drawn)
    cells = expected >= 10
    seen = np.array([(drawn == value).sum() for value in values[cells]])
    seen, expected = (np.append(x, len(drawn) - x.sum()) for x in (seen, expected[cells]))
    kept = expected > 0
    return stats.chisquare(seen[kept], expected[kept] * seen.sum() / expected[kept].sum()).pvalue > LEVEL


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_geometric_noise_has_its_law(scale):
    drawn = geometric_noise(scale, SAMPLES, np.random.default_rng(1))
    assert fits(drawn, lambda x: np.exp(-np.abs(x) / float(scale)))
    assert not fits(drawn, lambda x: np.exp(-np.abs(x) / (1.1 * float(scale))))


@pytest.mark.parametrize("sigma", [Fraction(2, 5), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_discrete_gaussian_noise_has_its_law(sigma):
    drawn = discrete_gaussian_noise(sigma**2, SAMPLES, np.random.default_rng(2))
    assert fits(drawn, lambda x: np.exp(-(x**2) / (2 * float(sigma) ** 2)))
    assert not fits(drawn, lambda x: np.exp(-(x**2) / (2 * (1.1 * float(sigma)) ** 2)))


@pytest.mark.parametrize("cost", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 4)])
def test_exponential_coins_have_their_chance(cost):
    came = exponential_coins([cost], np.zeros(SAMPLES, int), np.random.default_rng(3)).sum()
    assert stats.binomtest(int(came), SAMPLES, float(np.exp(-float(cost)))).pvalue > LEVEL


@pytest.mark.parametrize("noise", [geometric_noise, discrete_gaussian_noise])
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**101)])
def test_scales_that_cannot_be_drawn_are_refused(noise, scale):
    with pytest.raises(ValueError, match="must be above 0 and at most"):
        noise(scale, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("smooth-cauchy", lambda p: stats.cauchy(scale=p.noise)),
        ("smooth-student", lambda p: stats.t(p.degrees, scale=p.noise)),
        ("smooth-laplace", lambda p: stats.laplace(scale=p.noise)),
    ],
)
def test_smooth_noise_has_its_law(name, law):
    parameters = parameters_of(name, **({"exponent": 2.0} if name == "smooth-cauchy" else {}))
    drawn = Primitive(name, parameters).sample((0.0, 1.0), SAMPLES, np.random.default_rng(4))
    assert stats.kstest(drawn, law(parameters).cdf).pvalue > LEVEL
    assert stats.kstest(drawn, law(replace(parameters, noise=1.1 * parameters.noise)).cdf).pvalue < LEVEL


def test_choices_have_their_chances():
    utilities = np.array([[0.0, 1.0, 3.0]])
    chances = np.exp(utilities[0] / 4)
    drawn = Primitive("exponential", parameters_of("exponential", compositions=1)).sample(
        utilities, SAMPLES, np.random.default_rng(5)
    )
    expected = SAMPLES * chances / chances.sum()
    assert stats.chisquare(np.bincount(drawn[:, 0]), expected).pvalue > LEVEL


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("laplace", [1.0], "shape"),
        ("geometric", [0.5, 1.0], "whole numbers"),
        ("gaussian", [0.0, np.nan, 0.0], "finite"),
        ("randomised-response", [0, 4], "must be one of 0, ..., 3"),
        ("exponential", [[0.0, 1.0]], "shape"),
        ("tree", [[0.0] * 6], "shape"),
        ("sparse-vector", [[0.0]], "one row"),
        ("shuffled-count", 51, "must be an integer in [0, 50]"),
        ("dp-sgd", 1.5, "clipped"),
        ("smooth-laplace", (0.0, -1.0), "must be at least 0"),
    ],
)
def test_data_of_another_form_are_refused(name, data, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        Primitive(name, parameters_of(name)).sample(data, 1, np.random.default_rng(0))


def test_printed_sums_give_away_who_holds_nothing():
    parameters = parameters_of("shuffled-count", users=3, threshold=9.0, encoding="sum")
    drawn = Primitive("shuffled-count", parameters).sample(2, 2000, np.random.default_rng(0))
    assert drawn.shape == (2000, 5)
    assert (drawn.sum(axis=1) == 3).all()
    assert drawn[:, 0].max() == 1
    alone = Primitive("shuffled-count", parameters).sample(3, 2000, np.random.default_rng(0))
    assert alone[:, 0].max() == 0
