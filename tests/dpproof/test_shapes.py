"""Shapes of claims: what is confirmed, refuted, undecided or not run yet, on tables that are made up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpproof.reproduction.claims import Evidence, Outcome
from dpproof.reproduction.private_ucb.judges import JUDGES as UCB
from dpproof.reproduction.rlsvi.judges import JUDGES as RLSVI
from dpproof.reproduction.score_shapes import (
    below,
    best_below,
    falling,
    falls,
    flattens,
    learns,
    nearer,
    problems_of,
    tenth,
)
from dpproof.reproduction.shapes import (
    Mean,
    Setting,
    Shows,
    always,
    less,
    mostly,
    near,
    never_refuted,
    opposite,
    somewhere,
)
from dpproof.reproduction.suite.benchmark import FULL, chosen
from dpproof.reproduction.suite.summary import Score, Table
from tests.rows import rows

CONFIRMED, REFUTED, UNDECIDED = Outcome.CONFIRMED, Outcome.REFUTED, Outcome.UNDECIDED
CLAIM, OPPOSITE, NEITHER, IDLE, MISSING, TRIED = (
    Shows.CLAIM, Shows.OPPOSITE, Shows.NEITHER, Shows.IDLE, Shows.MISSING, Shows.TRIED,
)  # fmt: skip
JOINT, LOCAL, FREE = (
    "PRIVATE-UCB-VI, joint, pooled",
    "PRIVATE-UCB-VI, local, pooled",
    "PRIVATE-UCB-VI, no noise",
)
SWIM = ("river-swim",)
LONGER = ("river-swim, K = 5000", "river-swim, K = 80000")


def score(problem, arm, epsilon, mean, error=0.01, runs=100, curve=None):
    curve = curve or tuple(mean * i / 10 for i in range(1, 11))
    certified = None if math.isinf(epsilon) else epsilon
    return Score(
        problem,
        arm,
        epsilon,
        certified,
        1e-6,
        runs,
        mean,
        error,
        mean,
        mean,
        mean,
        mean,
        0.0,
        curve,
        (error,) * 10,
    )


def evidence(*scores):
    return Evidence(Table(scores), {})


def shown(*kinds):
    return lambda _: [Setting(kind, kind.name) for kind in kinds]


@rows(
    ("kinds", "universal", "most", "some"),
    [
        ((CLAIM, CLAIM, CLAIM), CONFIRMED, CONFIRMED, CONFIRMED),
        ((CLAIM, CLAIM, IDLE), CONFIRMED, CONFIRMED, CONFIRMED),
        ((CLAIM, CLAIM, NEITHER), UNDECIDED, CONFIRMED, CONFIRMED),
        ((CLAIM, CLAIM, Shows.ALLOWED), UNDECIDED, CONFIRMED, CONFIRMED),
        ((CLAIM, CLAIM, MISSING), UNDECIDED, UNDECIDED, CONFIRMED),
        ((CLAIM, CLAIM, OPPOSITE), REFUTED, CONFIRMED, CONFIRMED),
        ((CLAIM, OPPOSITE, IDLE), REFUTED, UNDECIDED, CONFIRMED),
        ((CLAIM, OPPOSITE, OPPOSITE), REFUTED, REFUTED, CONFIRMED),
        ((OPPOSITE, OPPOSITE, MISSING), REFUTED, UNDECIDED, UNDECIDED),
        ((OPPOSITE, OPPOSITE, OPPOSITE), REFUTED, REFUTED, REFUTED),
        ((IDLE, IDLE, IDLE), UNDECIDED, UNDECIDED, UNDECIDED),
        ((), UNDECIDED, UNDECIDED, UNDECIDED),
    ],
)
def test_the_rules(kinds, universal, most, some):
    judges = (always, mostly, somewhere)
    outcomes = [rule(shown(*kinds))(evidence()).outcome for rule in judges]
    assert outcomes == [universal, most, some]


@rows(
    ("apart", "settings", "outcome"),
    [(3.2, 1, REFUTED), (3.2, 100, UNDECIDED), (6.0, 100, REFUTED), (math.inf, 10**6, REFUTED)],
)
def test_a_claim_on_many_settings_needs_means_that_are_further_apart(apart, settings, outcome):
    ties = [Setting(NEITHER, "", 0.0)] * (settings - 1)
    assert always(lambda _: [Setting(OPPOSITE, "", apart), *ties])(evidence()).outcome is outcome


def test_settings_that_were_not_run_do_not_count():
    missing = [Setting(MISSING, "")] * 99
    assert always(lambda _: [Setting(OPPOSITE, "", 3.2), *missing])(evidence()).outcome is REFUTED


@pytest.mark.slow
def test_ties_are_refuted_by_chance_as_rarely_as_one_comparison_is():
    """500 claims on 100 ties, two means over 10 runs each. At most 0.7 are refuted on average; 5 or more: 1e-3.

    Two controls exceed that: settings that are decided one by one, and errors that are taken as known.
    """
    rng, runs = np.random.default_rng(7), 10
    draws = rng.normal(1.0, 0.1, (500, 100, 2, runs))
    means, errors = draws.mean(axis=3), draws.std(axis=3, ddof=1) / math.sqrt(runs)
    refuted = alone = known = 0
    for pairs in zip(means, errors, strict=True):
        student, normal = (
            [
                less(*(Mean(m, e, runs=n) for m, e in zip(*one, strict=True)), "")
                for one in zip(*pairs, strict=True)
            ]
            for n in (runs, math.inf)
        )
        refuted += is_refuted(student)
        known += is_refuted(normal)
        alone += any(one.shows is OPPOSITE for one in student)
    assert refuted <= 4
    assert alone > 4
    assert known > 4


def is_refuted(settings):
    return always(lambda _: settings)(evidence()).outcome is REFUTED


def test_a_comparison_that_was_selected_counts_as_all_that_were_tried():
    one = Setting(OPPOSITE, "", 3.2)
    assert is_refuted([one])
    assert not is_refuted([replace(one, tried=20)])


def test_a_sentence_about_bounds_is_never_refuted_and_the_figures_say_the_opposite():
    found = always(never_refuted(shown(CLAIM, OPPOSITE)))(evidence())
    assert found.outcome is UNDECIDED
    assert "The opposite holds, which the sentence does not exclude (1 of 2): OPPOSITE." in found.figures


def test_the_opposite_of_a_shape_exchanges_the_two_sides_only():
    turned = opposite(shown(*Shows))(evidence())
    assert [one.shows for one in turned] == [
        {CLAIM: OPPOSITE, OPPOSITE: CLAIM}.get(kind, kind) for kind in Shows
    ]


@rows(
    ("one", "other", "shows"),
    [
        (Mean(0.2, 0.01), Mean(0.3, 0.01), CLAIM),
        (Mean(0.3, 0.01), Mean(0.2, 0.01), OPPOSITE),
        (Mean(0.27, 0.01), Mean(0.3, 0.01), NEITHER),
        (Mean(0.95, 0.001, learns=False), Mean(0.99, 0.001, learns=False), IDLE),
        (Mean(0.5, 0.001), Mean(0.99, 0.001, learns=False), CLAIM),
        (Mean(0.2, 0.0), Mean(0.2 + 1e-9, 0.0), NEITHER),
        (Mean(0.2, math.inf, runs=1), Mean(0.3, 0.01), MISSING),
        (Mean(0.2, 0.0, runs=9), Mean(0.3, 0.0, runs=100), MISSING),
        (None, Mean(0.3, 0.01), MISSING),
    ],
)
def test_two_means(one, other, shows):
    assert less(one, other, "here").shows is shows


@rows(("value", "shows"), [(10.0, CLAIM), (4.0, OPPOSITE), (25.0, OPPOSITE), (5.5, NEITHER), (None, MISSING)])
def test_a_mean_near_a_target(value, shows):
    assert near(None if value is None else Mean(value, 0.3), 10.0, "here").shows is shows


def pair(reversed_at=None, without=None):
    """Return scores of two arms on all problems and epsilons; at one place they are exchanged, at one they lack."""
    found = []
    for problem in problems_of(JOINT, LOCAL):
        for epsilon in (0.1, 1.0, 10.0, 100.0):
            low, high = (0.4, 0.2) if (problem, epsilon) == reversed_at else (0.2, 0.4)
            if (problem, epsilon) != without:
                found += [score(problem, JOINT, epsilon, low), score(problem, LOCAL, epsilon, high)]
    return evidence(*found)


def test_an_order_holds_everywhere_or_a_planted_reversal_refutes_it():
    judge = always(below(JOINT, LOCAL))
    assert judge(pair()).outcome is CONFIRMED
    found = judge(pair(reversed_at=("chain", 10.0)))
    assert found.outcome is REFUTED
    told = "0.400 ± 0.010 against 0.200 ± 0.010"
    assert (
        f"The opposite holds (1 of 28): {told} ({JOINT} against {LOCAL}) on chain at epsilon 10."
        in found.figures
    )
    found = judge(pair(without=("chain", 10.0)))
    assert found.outcome is UNDECIDED
    assert f"Not run yet (1 of 28): ({JOINT} against {LOCAL}) on chain at epsilon 10." in found.figures


def test_a_factor_and_an_arm_without_privacy():
    some = evidence(
        score("chain", FREE, math.inf, 0.2), *(score("chain", JOINT, e, 0.3) for e in (1.0, 10.0))
    )
    order = {"problems": ("chain",), "epsilons": (1.0, 10.0)}
    assert [one.shows for one in below(FREE, JOINT, **order)(some)] == [CLAIM, CLAIM]
    assert [one.shows for one in below(JOINT, FREE, factor=2, **order)(some)] == [CLAIM, CLAIM]
    assert [one.shows for one in below(JOINT, FREE, **order)(some)] == [OPPOSITE, OPPOSITE]


def test_the_best_of_several_arms_is_compared():
    some = [
        score("chain", JOINT, 1.0, 0.3),
        score("chain", LOCAL, 1.0, 0.2),
        score("chain", FREE, math.inf, 0.25),
    ]
    shape = best_below((JOINT, LOCAL), (FREE,), problems=("chain",), epsilons=(1.0,))
    (found,) = shape(evidence(*some))
    assert (found.shows, f"({LOCAL} against {FREE})" in found.figures) == (CLAIM, True)
    assert [one.shows for one in shape(evidence(*some[1:]))] == [MISSING]


@rows(
    ("means", "shows"),
    [
        ((0.8, 0.5, 0.2), [TRIED, TRIED, CLAIM]),
        ((0.8, 0.8, 0.2), [TRIED, TRIED, CLAIM]),
        ((0.5, 0.8, 0.2), [OPPOSITE, TRIED, CLAIM]),
        ((0.2, 0.2, 0.2), [TRIED, TRIED, NEITHER]),
        ((0.2, 0.5, 0.8), [OPPOSITE, OPPOSITE, OPPOSITE]),
        ((0.8, None, 0.2), [MISSING, MISSING, CLAIM]),
    ],
)
def test_regret_falls_while_epsilon_grows(means, shows):
    known = {e: None if x is None else Mean(x, 0.01) for e, x in zip((1.0, 10.0, 100.0), means, strict=True)}
    assert [one.shows for one in falling(known, "here")] == shows
    some = evidence(*(score("chain", JOINT, e, x.value) for e, x in known.items() if x))
    shape = falls(JOINT, problems=("chain",), epsilons=(1.0, 10.0, 100.0))
    assert [one.shows for one in shape(some)] == shows


@rows(("mean", "shows"), [(0.5, CLAIM), (0.89, NEITHER), (1.0, OPPOSITE)])
def test_an_arm_learns(mean, shows):
    found = learns(JOINT, problems=SWIM, epsilons=(1.0,))(evidence(score("river-swim", JOINT, 1.0, mean)))
    assert [one.shows for one in found] == [shows]


@rows(
    ("early", "late", "shows"),
    [(0.4, 0.2, CLAIM), (0.2, 0.4, OPPOSITE), (0.2, 0.21, NEITHER), (0.95, 0.2, IDLE)],
)
def test_the_cost_relative_to_no_privacy_over_episodes(early, late, shows):
    private = [score(name, JOINT, 1.0, x) for name, x in zip(LONGER, (early, late), strict=True)]
    free = [score(name, FREE, math.inf, 0.1, 0.001) for name in LONGER]
    shape = nearer(JOINT, FREE, problems=LONGER, epsilons=(1.0,))
    assert [one.shows for one in shape(evidence(*private, *free))] == [shows]
    assert [one.shows for one in shape(evidence(*private))] == [MISSING]


def bent(power):
    return score("chain", JOINT, 1.0, 0.5, 0.001, curve=tuple(0.5 * (i / 10) ** power for i in range(1, 11)))


@rows(("power", "shows"), [(0.5, CLAIM), (1.0, OPPOSITE), (2.0, OPPOSITE)])
def test_a_curve_flattens(power, shows):
    found = flattens(JOINT, problems=("chain",), epsilons=(1.0,))(evidence(bent(power)))
    assert [one.shows for one in found] == [shows]


def test_the_tenths_of_a_run_add_up_to_it():
    one = bent(0.5)
    parts = [tenth(one, number) for number in range(1, 11)]
    assert math.isclose(sum(part.value for part in parts) / 10, one.mean)
    assert {part.error for part in parts} == {10 * one.error}


def everything(mean=0.3):
    """Return a score for every cell of the full benchmark."""
    return [score(cell.problem, cell.arm, cell.epsilon, mean) for cell in chosen((), (), FULL)]


@rows(
    ("judges", "id"), [(judges, id_) for judges in (RLSVI, UCB) for id_ in judges], ids=lambda x: str(x)[:40]
)
def test_judges_ask_only_for_runs_of_the_benchmark(judges, id):
    own = [
        {"algorithm": algorithm, "counts": counts, "group": group, "epsilon": e, "regret": 30.0,
         "standard_error": 1.0, "seeds": 100}
        for algorithm in ("VI", "PO") for counts in ("joint", "local") for e in (1.0, 10.0)
        for group in ("constants as printed", "printed noise", "honest", "honest, counters pooled")
    ]  # fmt: skip
    found = judges[id](Evidence(Table(tuple(everything())), {"regret": own}, {"never": 100.0}))
    assert "Not run yet" not in found.figures
    assert found.figures


def changed(arm, **values):
    """Return scores of the full benchmark in which some values of an arm are changed."""
    return Table(tuple(replace(one, **values) if one.arm == arm else one for one in everything()))


@rows(
    ("judges", "id", "arm", "good", "bad", "worst"),
    [
        (UCB, "section6.exploration_needed", "greedy", 0.8, 0.1, REFUTED),
        (RLSVI, "related.shuffle_between", "SDP-PE", 0.1, 0.8, UNDECIDED),
        (RLSVI, "algorithm1.deep_exploration", "RLSVI, no noise", 0.8, 0.1, UNDECIDED),
    ],
)
def test_a_planted_reversal_is_said_and_refutes_a_sentence_about_regret(judges, id, arm, good, bad, worst):
    for mean, outcome in ((good, CONFIRMED), (bad, worst), (0.31, UNDECIDED)):
        found = judges[id](Evidence(changed(arm, mean=mean), {}))
        assert found.outcome is outcome, mean
        assert ("The opposite holds" in found.figures) is (mean == bad)
    assert judges[id](evidence()).outcome is UNDECIDED
    assert "Not run yet" in judges[id](evidence()).figures


def test_the_noise_of_exploration_serves_both_if_one_problem_is_learnt():
    judge = RLSVI["abstract.noise_serves_both"]
    assert judge(evidence(*everything(0.99))).outcome is UNDECIDED
    for arm, outcome in (("RLSVI, printed", CONFIRMED), ("RLSVI", UNDECIDED)):
        some = [replace(one, mean=0.4) if one.arm == arm else one for one in everything(0.99)]
        assert judge(evidence(*some)).outcome is outcome, arm


def test_computed_claims_need_no_runs():
    assert RLSVI["introduction.rdp_tighter"](evidence()).outcome is CONFIRMED
    assert RLSVI["lemma11.longer_horizon_more_private"](evidence()).outcome is CONFIRMED
    assert "44.53 to 50.64" in RLSVI["introduction.no_additional_noise"](evidence()).figures


def test_a_cost_inverse_to_epsilon_is_recognised():
    judge = UCB["corollary5_5.ldp"]

    def costs(power):
        return [
            replace(one, mean=0.01 + 0.4 * (0.1 / one.epsilon) ** power, error=1e-6)
            if not math.isinf(one.epsilon) else replace(one, mean=0.01, error=1e-6)
            for one in everything()
        ]  # fmt: skip

    assert judge(evidence(*costs(1.0))).outcome is CONFIRMED
    found = judge(evidence(*costs(0.5)))
    assert found.outcome is UNDECIDED
    assert "which the sentence does not exclude" in found.figures
