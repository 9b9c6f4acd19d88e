"""`account`, `compose` and `calibrate` by name: results that come back from JSON, events, and certified composition."""

from __future__ import annotations

import inspect
import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import dpproof
from dpproof import Adjacency, PrivacyResult, account, accountant_for, calibrate, compose
from dpproof.accountant.catalogue import CATALOGUE
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP
from dpproof.accountant.interop.dp_events import UnsupportedEventError, privacy_loss_of
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.theorems.mixed_composition import compose_guarantees
from tests.rows import tiered

TRAINING = account("dp-sgd", sampling_rate=0.01, noise_multiplier=1, steps=1000, adjacency="add-remove")
SUM = account("laplace", scale=2, sensitivity=1, adjacency="add-remove")
HISTOGRAM = account("gaussian", sigma=4, sensitivity=1, adjacency="add-remove")


@pytest.mark.parametrize("name", tiered(list(CATALOGUE), fast=3))
def test_a_result_comes_back_from_its_json(name):
    accountant = accountant_for(name)
    relation = accountant.adjacency or next(
        one for one in ("add-remove", "replace", "rewards-only", "expert") if _proved(accountant, one)
    )
    found = account(name, adjacency=relation, **accountant.example.as_json())
    again = PrivacyResult.from_json(found.to_json())
    assert again.guarantee.delta("0.5") == found.guarantee.delta("0.5")
    assert (again.question(), again.statement) == (found.question(), found.statement)
    assert name in repr(found)
    assert name in found._repr_html_()


def _proved(accountant, relation):
    try:
        accountant.account(accountant.example, accountant.relation(relation))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("results", "name"),
    [
        ((TRAINING, account("gaussian", sigma=4)), "adjacency"),
        (
            (TRAINING, account("gaussian", sigma=4, sensitivity=1, adjacency="add-remove", unit="user")),
            "unit",
        ),
        ((), "at least one"),
    ],
)
def test_what_does_not_go_together_is_not_composed(results, name):
    with pytest.raises(ValueError, match=name):
        compose(*results)


@pytest.mark.slow
def test_a_composition_is_that_of_the_pairs():
    both = PrivacyLoss(
        [
            [
                (SubsampledGaussian(0.01, 1.0, side), 1000),
                (Laplace(2.0), 1),
                (SubsampledGaussian(1.0, 4.0), 1),
            ]
            for side in (True, False)
        ]
    )
    found = compose(TRAINING, SUM, HISTOGRAM)
    one, other = found.epsilon("1e-6"), both.epsilon("1e-6")
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


MIXED = {
    "gaussian": (GaussianDP(1), lambda rng, n, side: rng.normal(side, 1, n), lambda x: x - 0.5),
    "pure": (
        PureDP(1),
        lambda rng, n, side: np.where(rng.random(n) < 1 / (1 + math.exp(1 - 2 * side)), 1.0, -1.0),
        lambda x: x,
    ),
    "laplace": (
        account("laplace", scale=1.5).guarantee,
        lambda rng, n, side: rng.laplace(side, 1.5, n),
        lambda x: (np.abs(x) - np.abs(x - 1)) / 1.5,
    ),
}


@pytest.mark.parametrize("names", list(itertools.combinations(MIXED, 2)))
def test_no_composition_is_below_the_privacy_loss_of_its_parts(names):
    """100,000 draws of the composed loss; alpha 1e-4 by Hoeffding, so that a delta too small by .007 fails."""
    rng, n = np.random.default_rng(7), 100_000
    guarantee = compose_guarantees(*(MIXED[name][0] for name in names))
    loss = sum(MIXED[name][2](MIXED[name][1](rng, n, 1)) for name in names)
    slack = math.sqrt(math.log(1e4) / (2 * n))
    for epsilon in (0.0, 0.5, 1.5):
        seen = float(np.maximum(1 - np.exp(epsilon - loss), 0).mean())
        assert seen - slack <= guarantee.delta(epsilon).upper <= seen + slack + 1e-3


@pytest.mark.slow
def test_other_notions_are_composed_through_a_dominating_pair():
    found = compose_guarantees(TRAINING.guarantee, ApproxDP(0.1, "1e-7"))
    assert found.delta(3).upper >= TRAINING.guarantee.delta(3).lower
    assert found.delta(3).upper >= 1e-7
    alone = compose_guarantees(GaussianDP(1), PureDP(0)).epsilon("1e-6").upper
    assert alone == pytest.approx(GaussianDP(1).epsilon("1e-6").upper, rel=1e-12)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gaussian", {"sigma": 3.3, "sensitivity": 1, "compositions": 4}),
        ("laplace", {"scale": "0.7", "sensitivity": 1}),
        ("geometric", {"scale": 3, "sensitivity": 2}),
        ("dp-sgd", {"sampling_rate": 0.02, "noise_multiplier": 0.9, "steps": 50}),
    ],
)
def test_an_event_is_no_more_private_and_hardly_less(name, parameters, relation):
    found = account(name, adjacency=relation, **parameters)
    event = found.to_dp_event()
    theirs = privacy_loss_of(event, found.adjacency).delta("0.5").upper
    assert found.delta("0.5").lower <= theirs
    if relation == "add-remove" or name == "dp-sgd":
        assert theirs <= found.delta("0.5").upper * (1 + 1e-6)
    else:  # read by somebody who does not double the change of a replaced record, the event is this mechanism
        once = privacy_loss_of(event, Adjacency.ADD_REMOVE).delta("0.5").upper
        assert found.delta("0.5").lower <= once <= found.delta("0.5").upper * (1 + 1e-6)


def test_what_has_no_event_says_so():
    with pytest.raises(UnsupportedEventError, match="which the installed dp-accounting does not have"):
        account("smooth-student", noise=10, smoothing="0.01").to_dp_event()


@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP(2),
        GaussianDP(1.5),
        ApproxDP(1, "0.01"),
        pytest.param(TRAINING.guarantee, marks=pytest.mark.slow),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("kappa", [0.01, 0.001])
def test_mu_bounds_the_trade_off_function_up_to_kappa(guarantee, kappa):
    """Directly by trade-off functions; mu was found through privacy profiles."""
    found = guarantee.gaussian(kappa)
    worst = -math.inf
    for alpha in np.linspace(0, 1 - kappa, 41):
        missed = guarantee.trade_off(float(alpha))
        gaussian = norm.cdf(norm.ppf(1 - (alpha + kappa)) - found.upper)
        assert missed.upper >= gaussian - kappa - 1e-9
        worst = max(
            worst, norm.cdf(norm.ppf(1 - (alpha + kappa)) - found.lower * 0.98) - kappa - missed.upper
        )
    assert worst > -2 * kappa
    assert found.upper <= found.lower * 1.02


def test_only_a_gaussian_has_a_mu_without_error():
    assert account("gaussian", sigma=2).mu(kappa=0).upper == 0.5
    assert PureDP(1).gaussian(0).upper == math.inf
    assert ZCDP(0).gaussian("0.1").upper == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gaussian", {}),
        ("laplace", {}),
        ("dp-sgd", {"sampling_rate": 0.01, "steps": 1000, "adjacency": "add-remove"}),
    ],
)
def test_noise_against_an_attack_is_enough_and_hardly_more(name, parameters):
    by_rates = calibrate(name, target_tpr=("0.3", "0.05"), **parameters)
    assert by_rates.result.trade_off("0.05").lower >= 0.7
    by_advantage = calibrate(name, target_advantage="0.2", **parameters)
    assert by_advantage.result.advantage().upper <= 0.2
    for found in (by_rates, by_advantage):
        assert found.noise_below < found.noise < found.noise_below * 1.0001
        assert found.missed >= found.bound.upper


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ({}, "exactly one"),
        ({"target_epsilon": 1, "target_advantage": 0.1}, "exactly one"),
        ({"target_tpr": (0.1, 0.2)}, "the true positive rate and then the smaller false positive rate"),
        ({"target_advantage": 1}, "above 0 and below 1"),
    ],
)
def test_a_bad_target_is_refused(targets, says):
    with pytest.raises(ValueError, match=says):
        calibrate("gaussian", **targets)


PARTS = {
    "laplace": {"scale": 1e6, "sensitivity": 1},
    "dp-sgd": {"sampling_rate": 0.2, "noise_multiplier": 0.5, "steps": 1},
    "binomial": {"trials": 8, "probability": 0.8, "sensitivity": 1},
}


@pytest.mark.slow
def test_a_composition_of_compositions_is_no_smaller_than_one_of_all():
    laplace, training, coins = (
        account(name, adjacency="add-remove", **given) for name, given in PARTS.items()
    )
    flat = compose(laplace, training, laplace, coins)
    nested = compose(compose(laplace, training), compose(laplace, coins))
    assert nested.delta(0.5).upper >= flat.delta(0.5).lower


@pytest.mark.slow
def test_counts_that_rise_and_fall_are_composed_as_such():
    """Exactly, by enumeration: one of two counts rises and the other falls."""
    coins, epsilon = account("binomial", trials=3, probability=0.45, sensitivity=1), 0.7443803013251689
    rises = [math.comb(3, k) * 0.45**k * 0.55 ** (3 - k) for k in range(4)]
    p, q = [*rises, 0.0], [0.0, *rises]
    true = sum(max(p[i] * q[j] - math.exp(epsilon) * q[i] * p[j], 0.0) for i in range(5) for j in range(5))
    assert compose(coins, coins).delta(epsilon).upper >= true - 1e-12


@pytest.mark.slow
def test_without_an_exact_pair_no_lower_end_is_above_the_guarantee():
    alone = account("smooth-gaussian", noise=10.0, smoothing=0.01)
    nothing = account("laplace", scale=1, sensitivity=0)
    for delta in ("0.05", "0.2"):
        assert compose(alone, nothing).delta(delta).lower <= alone.delta(delta).upper


def test_guarantees_with_a_delta_are_composed():
    cauchy = account("smooth-cauchy", noise=10.0, smoothing=0.01)
    assert compose(cauchy, cauchy).epsilon("1e-6").upper >= cauchy.epsilon("1e-6").lower


def test_what_changes_the_answer_comes_back_from_json():
    groups = account("gaussian", sigma="1/3", query="count", adjacency="replace", parallel=True)
    again = PrivacyResult.from_json(groups.to_json())
    assert again.epsilon("1e-6") == groups.epsilon("1e-6")
    assert "disjoint groups" in repr(again)


@pytest.mark.parametrize(
    ("name", "given", "unit"),
    [
        ("dp-sgd", {"sampling_rate": 0.1, "noise_multiplier": 1, "steps": 10, "records": 5}, "user"),
        ("rlsvi", {"states": 2, "actions": 2, "horizon": 2, "episodes": 3}, "user"),
    ],
)
def test_a_result_says_whose_data_it_protects(name, given, unit):
    relation = "rewards-only" if name == "rlsvi" else "add-remove"
    assert account(name, adjacency=relation, **given).unit == unit
    if name == "dp-sgd":
        with pytest.raises(ValueError, match="several groups"):
            account(name, adjacency=relation, parallel=True, **given)


def test_groups_under_replace_need_a_query():
    with pytest.raises(ValueError, match="give query"):
        account("smooth-gaussian", noise=10.0, smoothing=0.01, adjacency="replace", parallel=True)


def test_disjoint_groups_cost_no_more_where_a_record_comes_or_goes():
    for name, parameters in (
        ("gaussian", {"sigma": 2, "query": "count"}),
        ("laplace", {"scale": 2, "sensitivity": 1}),
    ):
        alone, groups = (
            account(name, adjacency="add-remove", parallel=p, **parameters) for p in (False, True)
        )
        assert alone.guarantee == groups.guarantee


def test_a_replaced_record_may_leave_one_group_and_join_another():
    """Two counts, one too small by 1 and one too large by 1: two Gaussians of distance 1, exactly."""
    groups = account("gaussian", sigma=2, query="count", adjacency="replace", parallel=True)
    both = GaussianDP(math.sqrt(0.5)).epsilon("1e-6")
    assert groups.epsilon("1e-6").upper == pytest.approx(both.upper, rel=1e-12)
    with pytest.raises(ValueError, match="give query"):
        account("laplace", scale=2, sensitivity=1, adjacency="replace", parallel=True)
    with pytest.raises(ValueError, match="add-remove or replace"):
        account("laplace", scale=2, sensitivity=1, parallel=True)


def _takers():
    """Return every public function and public method that takes an Adjacency, with its annotation."""
    for name in dpproof.__all__:
        made = getattr(dpproof, name)
        for one in [made, *(getattr(made, each) for each in dir(made) if inspect.isclass(made))]:
            annotation = str(getattr(one, "__annotations__", {}).get("adjacency", ""))
            if inspect.isroutine(one) and not one.__name__.startswith("_") and "Adjacency" in annotation:
                yield f"{name}: {one.__qualname__}", annotation


def test_every_relation_may_be_given_as_text():
    found = dict(_takers())
    assert len(found) > 10
    assert [name for name, annotation in found.items() if "str" not in annotation] == []
    event = TRAINING.to_dp_event()
    assert privacy_loss_of(event, "add-remove") == privacy_loss_of(event, Adjacency.ADD_REMOVE)
    noise = accountant_for("laplace")
    assert noise.account(noise.example, "by-sensitivity") == noise.account(
        noise.example, adjacency="by-sensitivity"
    )
    assert dpproof.Claim("c", "laplace", {}, "replace", {"epsilon": 1}).adjacency is Adjacency.REPLACE
    query = dpproof.Query.of("count")
    assert query.moved("replace") == query.moved(Adjacency.REPLACE)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: compose([SUM, SUM]), r"is of type list\. Write compose\(\*results\)"),
        (lambda: account("laplace", 2), r"by name, such as scale=2"),
        (lambda: calibrate("laplace", 2, target_epsilon=1), r"by name, such as scale=2"),
        (lambda: account({"a": 1}), r"mechanism \(a dict\) must be the name"),
        (lambda: account("gaussian", epsilon=2), "use dpproof.calibrate with target_epsilon"),
        (lambda: account("gaussian", sigma=2, delta=1e-5), r"use \.epsilon\(delta\) of the result"),
        (lambda: calibrate("gaussian", target_epsilon=1, delta=1e-5), "mean target_delta"),
        (lambda: calibrate("gaussian", epsilon=1), "mean target_epsilon"),
        (
            lambda: calibrate(
                "dp-sgd", sampling_rate=0.01, steps=10, adjacency="add-remove", target_epsilon=2
            ),
            "Give target_delta in Python",
        ),
        (lambda: calibrate("gaussian", target_epsilon=1), "Give target_delta in Python"),
    ],
)
def test_a_likely_mistake_is_told_what_to_do_instead(ask, says):
    with pytest.raises((ValueError, TypeError), match=says):
        ask()


def test_a_picture_is_saved_and_has_two_title_lines(tmp_path):
    made = SUM.plot(tmp_path / "sum.png")
    assert (tmp_path / "sum.png").read_bytes().startswith(b"\x89PNG")
    assert made.get_suptitle().count("\n") == 1
