"""Private values from logs: predictions, error bars, choice of the method, errors before any noise is drawn.

References: dynamic programming for the values of chains and of FrozenLake, and first-visit averages in plain Python.
"""

import dataclasses
import json

import numpy as np
import pytest

from benchmarks.evaluation_error import LAKE, lake_values, logs
from dpproof.accountant.claims.adjacency import UnprovedAdjacencyError
from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.own_data.episodes import read_episodes
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.policy_evaluation.chain import chain_episodes
from dpproof.mechanisms.rl.policy_evaluation.error_bars import SumBars
from dpproof.mechanisms.rl.policy_evaluation.evaluation import evaluate
from dpproof.mechanisms.rl.policy_evaluation.returns import ReturnRange
from dpproof.mechanisms.rl.policy_evaluation.visit_sums import ReleasedSums, SimulatedSums

SEED = 2718
KNOWN = {"discount": 0.9, "epsilon": 1.0, "delta": 1e-5, "return_range": (0, 1)}
STATES = 5


def chain_values(states, discount):
    """Of the chain that stays or moves on with probability 1/2 each; reaching the last state pays 1."""
    step = 0.5 / (1 - discount / 2)
    return np.array([step ** (states - 1 - s) * discount ** (states - 2 - s) for s in range(states - 1)])


def chain(count, seed):
    return chain_episodes(STATES, count, np.random.default_rng([SEED, seed]))


def test_a_large_log_gives_the_values():
    found = evaluate(chain(40_000, 0), states=STATES, seed=1, **KNOWN)
    assert found.method == "sums"
    assert np.abs(found.values[:-1] - chain_values(STATES, 0.9)).max() < 0.02
    assert found.choices[0].expected_error < 0.1


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_a_release_has_the_guarantee_it_was_asked_for(relation):
    found = evaluate(chain(300, 1), states=STATES, adjacency=relation, **KNOWN)
    result = found.account(relation)
    assert isinstance(found.released, ReleasedSums)
    assert result.epsilon("1e-5") <= 1
    assert result.covers_released_bits
    assert result.exact_sampler == f"{evaluate.__module__}.evaluate"
    other = {"replace": "add-remove", "add-remove": "replace"}[relation]
    with pytest.raises(UnprovedAdjacencyError, match="The noise was drawn for"):
        found.account(other)


def test_a_simulation_has_no_guarantee_and_repeats():
    one, same = (evaluate(chain(300, 1), states=STATES, seed=7, **KNOWN) for _ in range(2))
    assert isinstance(one.released, SimulatedSums)
    assert np.array_equal(one.values, same.values)
    with pytest.raises(SimulationError):
        one.account("replace")
    assert "simulation" in repr(one)


def test_what_is_saved_gives_the_values_again_and_holds_no_seed():
    found = evaluate(chain(300, 1), states=STATES, **KNOWN)
    saved = json.loads(json.dumps(found.released.as_json()))
    step = 2.0 ** saved["exponent"]
    _, sums, visits = (np.array(row) * step for row in saved["integers"])
    with np.errstate(divide="ignore", invalid="ignore"):
        again = np.where(visits > 0, np.clip(0.5 + sums / visits, 0, 1), 0.5)
    assert np.allclose(found.values, again, rtol=0, atol=1e-12)
    assert saved["covers_released_bits"]
    assert "seed" not in json.dumps(saved)


def test_values_are_inside_the_range_however_large_the_noise():
    for seed in range(20):
        found = evaluate(chain(3, 2), states=STATES, seed=seed, **(KNOWN | {"epsilon": 0.01}))
        assert ((found.values >= 0) & (found.values <= 1)).all()
        assert ((found.standard_errors >= 0) & (found.standard_errors <= 1)).all()


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say_and_include_the_noise():
    """Of 400 logs of 400 trajectories, 4 states: at most 5 % of misses a state, by a binomial test at alpha 1e-6.

    The same intervals without the noise on the release miss far more often.
    """
    truth, misses, blind = chain_values(STATES, 0.9), np.zeros(4), np.zeros(4)
    for seed in range(400):
        found = evaluate(chain(400, seed), states=STATES, seed=seed, **KNOWN)
        low, high = found.intervals(0.95)[:4].T
        misses += (truth < low) | (truth > high)
        released = found.released
        none = SumBars(released.sums, released.visits, 0 * released.sums, 0 * released.sums)
        low, high = none.noise_intervals(0.05)[:4].T
        blind += (truth < low) | (truth > high)
    assert misses.max() <= 43  # P(binomial(400, .05) > 43) < 1e-6
    assert blind.min() > 100


@pytest.mark.slow
def test_noise_intervals_hold_the_average_of_the_batch():
    """At 60 %, so that misses are common: 40 % within five standard deviations, for a state that is visited often."""
    missed, rounds = 0, 400
    batch = chain(4_000, 3)
    visits, sums = _statistics(batch)
    averages = 0.5 + np.array([float(total) for total in sums]) / visits
    for seed in range(rounds):
        found = evaluate(batch, states=STATES, seed=seed, **KNOWN)
        low, high = found._bars.noise_intervals(0.4)[3]
        missed += not low <= averages[3] <= high
    assert abs(missed - 0.4 * rounds) < 5 * np.sqrt(0.24 * rounds)


def _statistics(batch):
    from dpproof.mechanisms.rl.policy_evaluation.returns import Log

    visits, sums = Log.of(batch, STATES).sums(STATES, ReturnRange(0.9, 0.0, 1.0))
    return np.array(visits)[:STATES], sums


def test_rewards_below_zero_are_evaluated_in_their_own_units():
    steps = 3
    log = {
        "episode": np.repeat(np.arange(20_000), steps),
        "state": np.tile([0, 1, 2], 20_000),
        "reward": np.tile([-10.0, -10.0, 5.0], 20_000),
    }
    batch = read_episodes(log, reward_range=(-10, 5), unit="episode")
    found = evaluate(batch, states=3, discount=1.0, epsilon=1, delta=1e-5, max_length=steps, seed=3)
    assert (found.returns.low, found.returns.high) == (-30, 15)
    assert np.abs(found.values - [-15, -5, 5]).max() < 0.3
    assert {row.method for row in found.choices if row.why} == {"dp-lsw", "dp-lsl"}


def test_the_choice_depends_on_public_numbers_only():
    for seed in (4, 5):
        found = [evaluate(chain(500, at), states=STATES, seed=seed, **KNOWN) for at in range(2)]
        assert found[0].choices == found[1].choices


@pytest.mark.slow
def test_planned_visits_decide_for_the_estimator_with_the_smaller_error():
    batch = chain(60_000, 6)
    even = evaluate(batch, states=STATES, seed=1, planned_visits=10_000, **KNOWN)
    assert even.method == even.choices[0].method == "dp-lsw"
    rare = evaluate(
        batch, states=STATES, seed=1, planned_visits=np.array([10, 10_000, 20_000, 30_000, 5]), **KNOWN
    )
    assert rare.method == "sums"
    for method in ("dp-lsw", "dp-lsl", "sums"):
        found = evaluate(batch, states=STATES, seed=1, planned_visits=10_000, method=method, **KNOWN)
        bound = next(row.expected_error for row in found.choices if row.method == method)
        error = np.sqrt(np.mean((found.values[:-1] - chain_values(STATES, 0.9)) ** 2))
        assert error < 4 * bound + 0.01
        assert found.method == method
    errors = [row.expected_error for row in even.choices]
    assert errors == sorted(errors)


def test_under_add_remove_the_number_of_trajectories_is_not_used():
    known = KNOWN | {"adjacency": "add-remove"}
    tables = [evaluate(chain(count, 1), states=STATES, seed=1, **known).choices for count in (300, 301)]
    assert tables[0] == tables[1]
    planned = evaluate(chain(300, 1), states=STATES, seed=1, planned_visits=50, **known)
    assert planned.choices[0].expected_error is not None


SHORT = Episodes.rectangular([[0, 1], [1, 0]], [[0, 0]] * 2, [[0.5, 1.0]] * 2)
TWICE = dataclasses.replace(SHORT, user=np.array([4, 4]))
GIVEN = {"states": 2, "discount": 0.9, "epsilon": 1, "delta": 1e-5}
WRONG = [
    (SHORT, {"states": 1}, r"states \(1\) must be one of 0, \.\.\., 0\. Give the public number"),
    (SHORT, {"states": 0}, r"states \(0\) must be an integer at least 1"),
    (SHORT, {"max_length": 1}, r"lengths \(2\) must be at most max_length \(1\)\. Give the public limit"),
    (SHORT, {"reward_range": (0, 0.75)}, r"rewards \(1\.0\) must be in \[0, 0\.75\]\. Give reward_range"),
    (SHORT, {"reward_range": (1, 0)}, r"reward_range \(1\.0, 0\.0\) must be two finite numbers"),
    (
        SHORT,
        {"return_range": (20, 30)},
        r"return_range \(\(20, 30\)\) must overlap the possible returns \[0, 10\]",
    ),
    (SHORT, {"return_range": 3}, r"return_range \(3\) must be two numbers"),
    (SHORT, {"discount": 1.5}, r"discount \(1\.5\) must be in \(0, 1\]"),
    (SHORT, {"discount": 1}, r"max_length must be given if discount is 1"),
    (SHORT, {"epsilon": 0}, r"epsilon"),
    (SHORT, {"delta": 2}, r"delta"),
    (SHORT, {"adjacency": "rewards-only"}, r"Use replace or add-remove"),
    (SHORT, {"method": "mean"}, r"method \('mean'\) must be one of: best, sums, dp-lsw, dp-lsl"),
    (
        SHORT,
        {"method": "dp-lsw", "adjacency": "add-remove"},
        r"cannot be used here: it is proved under replace",
    ),
    (SHORT, {"planned_visits": [1, 2, 3]}, r"planned_visits \(\[1, 2, 3\]\) must be 2 integers"),
    (SHORT, {"planned_visits": 3}, r"planned_visits \(3\) must be at most the number of trajectories \(2\)"),
    (SHORT, {"planned_visits": -1}, r"planned_visits \(-1\) must be an integer at least 0"),
    (SHORT, {"seed": -1}, r"seed \(-1\) must be an integer"),
    (TWICE, {}, r"user \(4\) has 2 episodes.*Keep one trajectory"),
    ([[0, 1]], {}, r"episodes \(of type list\) must be Episodes"),
]


@pytest.mark.parametrize(("data", "wrong", "told"), WRONG)
def test_bad_input_is_refused_before_any_noise_is_drawn(data, wrong, told, monkeypatch):
    def drawn(*_, **__):
        raise AssertionError("noise was drawn")

    module = "dpproof.mechanisms.rl.policy_evaluation"
    monkeypatch.setattr(f"{module}.visit_sums.rounded_gaussian", drawn)
    monkeypatch.setattr(f"{module}.estimator.rounded_gaussian", drawn)
    with pytest.raises(ValueError, match=told):
        evaluate(data, **(GIVEN | wrong))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2])
def test_a_confidence_outside_its_range_is_refused(confidence):
    found = evaluate(SHORT, seed=1, **GIVEN)
    with pytest.raises(ValueError, match=r"confidence \(.*\) must be in \(0, 1\)"):
        found.intervals(confidence)


@pytest.mark.parametrize(
    ("discount", "rewards", "longest", "given", "low", "high"),
    [
        (0.5, (0, 1), None, None, 0, 2),
        (0.5, (1, 2), 2, None, 1, 3),
        (0.5, (-2, -1), 2, None, -3, -1),
        (1, (-1, 1), 10, (-3, 20), -3, 10),
        (0.99, (0, 1), 100, (0, 1), 0, 1),
    ],
)
def test_the_range_of_returns(discount, rewards, longest, given, low, high):
    """A trajectory has at least one step, so a return is at least the smallest reward if that is above 0."""
    found = ReturnRange.of(discount, rewards, longest, given)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)


@pytest.mark.slow
def test_frozen_lake_is_evaluated_to_four_hundredths():
    """100 fresh logs and releases; the best constant has .12. The mean is below the target by three standard errors."""
    truth, errors = lake_values()[LAKE], []
    for seed in range(100):
        batch = logs(5_000, np.random.default_rng([SEED, seed]))
        found = evaluate(
            batch,
            states=16,
            discount=0.99,
            epsilon=1,
            delta=1e-5,
            max_length=100,
            return_range=(0, 1),
            seed=np.random.default_rng([SEED, seed, 1]),
        )
        errors.append(np.sqrt(np.mean((found.values[LAKE] - truth) ** 2)))
        low, high = found.intervals()[LAKE].T
        assert ((low <= truth) & (truth <= high)).mean() > 0.7
    assert np.mean(errors) <= 0.04
    assert np.sqrt(np.mean((truth.mean() - truth) ** 2)) > 0.1
