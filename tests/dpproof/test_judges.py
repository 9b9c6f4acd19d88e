"""Judges of the papers' claims: every claim has one or is out of reach, and a planted reversal is refuted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpproof.reproduction.claims import Evidence, Judgement, Outcome
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.expert.judges import JUDGES as EXPERT
from dpproof.reproduction.expert.settings import CHOICES
from dpproof.reproduction.policy_evaluation.judges import JUDGES as POLICY
from dpproof.reproduction.score_shapes import problems_of
from dpproof.reproduction.sdp_pe.judges import JUDGES as SDP
from dpproof.reproduction.shapes import Setting, Shows, each, somewhere
from dpproof.reproduction.suite.summary import Score, Table
from tests.rows import rows

DOCS = Path(__file__).resolve().parents[2] / "docs" / "experiments"
JUDGED = [name for name in experiments() if experiments()[name].study().judges]


def constant(outcome):
    return lambda evidence: Judgement(outcome, outcome.value)


CONFIRMED, REFUTED, UNDECIDED = Outcome.CONFIRMED, Outcome.REFUTED, Outcome.UNDECIDED


@rows(
    ("parts", "whole"),
    [
        ((CONFIRMED, CONFIRMED), CONFIRMED),
        ((CONFIRMED, UNDECIDED), UNDECIDED),
        ((UNDECIDED, UNDECIDED), UNDECIDED),
        ((CONFIRMED, REFUTED), REFUTED),
        ((UNDECIDED, REFUTED), REFUTED),
    ],
)
def test_a_claim_of_several_parts_is_confirmed_only_if_all_are(parts, whole):
    found = each(*map(constant, parts))(nothing())
    assert found.outcome is whole
    assert found.figures.startswith(f"Part 1: {parts[0].value} Part 2: {parts[1].value}")


@rows(
    ("shown", "outcome"),
    [
        ((Shows.CLAIM, Shows.CLAIM, Shows.OPPOSITE), CONFIRMED),
        ((Shows.CLAIM, Shows.OPPOSITE, Shows.OPPOSITE), REFUTED),
        ((Shows.CLAIM, Shows.NEITHER, Shows.OPPOSITE), UNDECIDED),
        ((Shows.CLAIM, Shows.MISSING, Shows.OPPOSITE), UNDECIDED),
    ],
)
def test_two_settings_are_asked_for_where_a_sentence_says_several(shown, outcome):
    judge = somewhere(lambda _: [Setting(one, "") for one in shown], least=2)
    assert judge(nothing()).outcome is outcome


def nothing():
    return Evidence(Table(()), {})


def own(paper):
    return {
        name: [dict(row) for row in table]
        for name, table in experiments()[paper].study().recorded(DOCS).tables.items()
    }


def score(problem, arm, epsilon, mean, error=0.01, runs=100):
    curve = tuple(mean * i / 10 for i in range(1, 11))
    return Score(problem, arm, epsilon, epsilon, 1e-6, runs, mean, error, mean, mean, mean, mean, 0.0, curve)


def ranked(**changed):
    """Return scores of SDP-PE and its rivals on all problems, with other means of SDP-PE at epsilon 1 on the chain."""
    arms = {"SDP-PE": 0.3, "UCB-VI, JDP": 0.25, "UCB-VI, LDP": 0.8}
    return [
        score(
            problem,
            arm,
            epsilon,
            changed.get("chain", mean)
            if (problem, arm, epsilon) == ("chain", "SDP-PE", 1.0)
            else changed.get("all", mean) if arm == "SDP-PE" else mean,
        )
        for problem in problems_of(*arms)
        for arm, mean in arms.items()
        for epsilon in (0.1, 1.0, 10.0)
    ]  # fmt: skip


@rows(
    ("changed", "outcome"),
    [({}, CONFIRMED), ({"chain": 0.9}, REFUTED), ({"chain": 0.45}, UNDECIDED), ({"all": 0.6}, REFUTED)],
)
def test_the_order_of_trust_models_is_judged_on_every_problem(changed, outcome):
    evidence = Evidence(Table(tuple(ranked(**changed))), own("sdp-pe"))
    found = SDP["abstract.superior_tradeoff"](evidence)
    assert found.outcome is outcome
    assert "0.8" in found.figures


def test_a_score_that_is_missing_is_said():
    some = [one for one in ranked() if (one.problem, one.arm) != ("chain", "SDP-PE")]
    found = SDP["abstract.superior_tradeoff"](Evidence(Table(tuple(some)), own("sdp-pe")))
    assert found.outcome is UNDECIDED
    assert "Not run yet" in found.figures
    assert "chain" in found.figures


@rows(("mean", "outcome"), [(0.2, CONFIRMED), (0.9, UNDECIDED), (1.0, REFUTED), (None, UNDECIDED)])
def test_learning_on_the_bandit(mean, outcome):
    scores = [] if mean is None else [score("bandit", "SDP-PE", 1.0, mean)]
    found = SDP["figure7.general_framework"](Evidence(Table(tuple(scores)), own("sdp-pe")))
    assert found.outcome is outcome
    assert ("Not run yet" in found.figures) is (mean is None)


def test_the_papers_own_table_refutes_without_the_benchmark():
    tables = own("sdp-pe")
    found = SDP["figure6.ldp_worst"](Evidence(Table(()), tables))
    assert found.outcome is UNDECIDED
    for row in tables["regret"]:
        if (row["problem"], row["algorithm"]) == ("RiverSwim", "UCB-VI, LDP"):
            row["regret"] = 10.0
    assert SDP["figure6.ldp_worst"](Evidence(Table(()), tables)).outcome is REFUTED


def test_the_printed_noise_corroborates_if_it_learns_somewhere():
    tables = own("sdp-pe")
    found = SDP["abstract.experiments_corroborate"](Evidence(Table(()), tables))
    assert found.outcome is UNDECIDED
    assert "The opposite holds, which the sentence does not exclude" in found.figures
    next(row for row in tables["regret"] if row["algorithm"] == "SDP-PE, printed noise")["regret"] = 500.0
    assert SDP["abstract.experiments_corroborate"](Evidence(Table(()), tables)).outcome is CONFIRMED


def judged(name, tables):
    return POLICY[name](Evidence(Table(()), tables)).outcome


@rows(
    ("name", "changed"),
    [
        ("section5.utility_increases", {"noise": 1e12, "rmse": 1e12, "risk": 1e12}),
        ("conclusion.cost_diminishes", {"risk": 1e14}),
        ("section4.noise_adapts_to_visits", {"noise": 1e12}),
        ("section3.smaller_bound_useful", {"rmse": 1e12}),
        ("figure1.plot4_aggregation_helps", {"risk": 1e14}),
    ],
)
def test_a_planted_reversal_of_one_row_is_refuted(name, changed):
    tables = own("policy-evaluation")
    assert judged(name, tables) is CONFIRMED
    key = {
        "features": "aggregated", "algorithm": "LSW", "kind": "room, delta 1e-6, Fmax 1", "trajectories": 1000000,
    }  # fmt: skip
    (row,) = [row for row in tables["batches"] if key.items() <= row.items()]
    row |= changed
    assert judged(name, tables) is REFUTED


def test_large_batches_cost_nothing_if_all_ratios_are_small_and_grow_if_they_do():
    name, tables = "introduction.no_loss_when_large", own("policy-evaluation")
    assert judged(name, tables) is UNDECIDED
    for row in tables["batches"]:
        row["rmse"], row["rmse_error"] = 1.0 + 100 / row["trajectories"], 0.001
    assert judged(name, tables) is CONFIRMED
    for row in tables["batches"]:
        if row["kind"] != "no privacy":
            row["rmse"] += row["trajectories"] / 1e5
    assert judged(name, tables) is REFUTED


def test_slopes_of_bounds_are_never_refuted():
    name, tables = "corollary12.risk_one_over_m_squared", own("policy-evaluation")
    assert judged(name, tables) is CONFIRMED
    for row in tables["batches"]:
        row["risk"], row["risk_error"] = 1 / row["trajectories"], 0.001 / row["trajectories"]
    assert judged(name, tables) is UNDECIDED


def swept(kind, size, ridge, best):
    """Return a row whose error grows with the distance of the ridge parameter from the best one."""
    error = 0.1 + 0.1 * abs(math.log10(ridge / best))
    return {
        "kind": kind, "trajectories": size, "ridge": ridge, "rmse": error, "rmse_error": 0.001, "runs": 20,
    }  # fmt: skip


@rows(("power", "outcome"), [(0.5, CONFIRMED), (1.0, REFUTED), (0.0, REFUTED)])
def test_the_schedule_of_lambda_is_judged_by_where_the_least_error_is(power, outcome):
    tables = own("policy-evaluation")
    kinds = {row["kind"] for row in tables["ridge"]}
    tables["ridge"] = [
        swept(kind, size, 10 ** (step / 8), 20 * size**power)
        for kind in sorted(kinds)
        for size in (10_000, 100_000)
        for step in range(64)
    ]
    assert judged("section6.sqrt_m_schedule", tables) is outcome


def test_few_runs_decide_nothing():
    tables = own("policy-evaluation")
    for row in [*tables["batches"], *tables["ridge"]]:
        row["runs"] = 3
    data = Evidence(Table(()), tables)
    ran = [name for name in POLICY if name != "figure1.dimension_raises_beta"]
    assert {POLICY[name](data).outcome for name in ran} == {UNDECIDED}


def learned(method_values, interval=1.0):
    """Return tables in which DP-SGD has return 50 everywhere, no privacy 100, and the method these returns."""
    returns, experts = [], []
    for name, value in zip(CHOICES, method_values, strict=True):
        experts.append({"problem": name, "random": 0.0})
        for method, epsilon, mean in (
            ("no privacy", None, 100.0), ("DP-SGD", 10.0, 50.0), ("calibrated", 10.0, value)
        ):  # fmt: skip
            returns.append(
                {"problem": name, "method": method, "epsilon": epsilon, "return": mean, "interval": interval}
            )
    return {"returns": returns, "experts": experts, "releases": [], "histogram": []}


@rows(
    ("values", "interval", "outcome"),
    [
        ((90.0, 90.0, 50.0, 20.0), 1.0, CONFIRMED),
        ((90.0, 20.0, 20.0, 20.0), 1.0, REFUTED),
        ((90.0, 50.0, 20.0, 20.0), 1.0, UNDECIDED),
        ((90.0, 90.0, 90.0, 90.0), 60.0, UNDECIDED),
    ],
)
def test_the_method_is_ahead_on_several_problems(values, interval, outcome):
    found = EXPERT["figure3.favourable"](Evidence(Table(()), learned(values, interval)))
    assert found.outcome is outcome
    assert "50" in found.figures


@rows(
    ("value", "outcome"), [(99.0, CONFIRMED), (80.0, UNDECIDED), (40.0, REFUTED)],
)  # fmt: skip
def test_near_no_privacy_is_a_share_of_the_way_from_random_actions(value, outcome):
    found = EXPERT["abstract.strong_performance"](Evidence(Table(()), learned((value,) * 4)))
    assert found.outcome is outcome


def test_a_private_arm_above_no_privacy_refutes_the_upper_bound():
    name = "section6_3.nonprivate_upper_bound"
    assert EXPERT[name](Evidence(Table(()), learned((60.0,) * 4))).outcome is CONFIRMED
    assert EXPERT[name](Evidence(Table(()), learned((60.0, 60.0, 60.0, 110.0)))).outcome is REFUTED


def test_three_runs_decide_nothing_on_returns():
    own, name = learned((60.0, 60.0, 60.0, 110.0)), "section6_3.nonprivate_upper_bound"
    found = EXPERT[name](Evidence(Table(()), own, {"runs": 3}))
    assert (found.outcome, found.figures.startswith("3 runs are too few to decide.")) == (UNDECIDED, True)
    assert EXPERT[name](Evidence(Table(()), own, {"runs": 20})).outcome is REFUTED


def test_most_of_the_loss_is_recovered():
    name = "section6_4.recovers_loss"
    assert EXPERT[name](Evidence(Table(()), learned((90.0,) * 4))).outcome is CONFIRMED
    assert EXPERT[name](Evidence(Table(()), learned((60.0, 90.0, 90.0, 90.0)))).outcome is REFUTED
    assert EXPERT[name](Evidence(Table(()), learned((90.0,) * 4, 60.0))).outcome is UNDECIDED


@pytest.mark.parametrize("name", sorted(EXPERT))
def test_without_runs_nothing_is_decided(name):
    tables = {"returns": [], "experts": [], "releases": [], "histogram": []}
    assert EXPERT[name](Evidence(Table(()), tables)).outcome is UNDECIDED
