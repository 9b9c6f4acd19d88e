"""The release of prefixes: rounds against their law by quadrature, tails against the grid, bad input."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import TargetError
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.rl.expert.design import (
    Design,
    Rounds,
    margin_for,
    printed_design,
    rare_top,
    round_losses,
)
from dpproof.accountant.rl.expert.draws import Logged, Redrawn, Walked, run_out, walk_constants, walk_tail
from dpproof.accountant.rl.expert.release import (
    ACCOUNTANT,
    ExpertReleaseParameters,
    account,
    in_printed_domain,
)
from tests.rows import tiered

EXPERT = Adjacency.EXPERT
BUDGETS = [
    ("10", "1/3000", 25, 200),
    ("7.5", "3/10000", 25, 200),
    ("7.5", "3/10000", 50, 50),
    ("7.5", "3/10000", 100, 200),
    ("5.625", "3/10000", 62, 200),
    ("5", "1/3000", 20, 200),
]
"""epsilon_1, delta_1, T and L of Appendix B.3; 2999 experts or more with 20 trajectories each."""


def printed(epsilon, delta, rounds, length, **more):
    return ExpertReleaseParameters(
        rounds, length, 0.02, 2999, 20,
        printed_epsilon=float(epsilon), printed_delta=float(Fraction(delta)), **more,
    )  # fmt: skip


LAPLACE = np.linspace(-60, 60, 24_001)
"""Points of the trapezoidal rule for the threshold's noise, in its scales."""


def tail(x, scale):
    return np.where(x > 0, np.exp(-np.abs(x) / scale) / 2, 1 - np.exp(-np.abs(x) / scale) / 2)


def law(policies, design, length):
    """Chances of all releases of one round where there is one state; rows of ``policies`` are experts."""
    weights = np.exp(-np.abs(LAPLACE)) / 2 * (LAPLACE[1] - LAPLACE[0])
    weights /= weights.sum()
    chances = {}
    for actions in itertools.product(range(policies.shape[1]), repeat=length):
        agreed = np.cumprod(policies[:, list(actions)], axis=1)
        happens, passed = agreed[:, -1].mean(), weights
        for k in range(length):
            top = tail(
                design.cutoff + design.threshold_scale * LAPLACE - agreed[:, k].sum(), design.count_scale
            )
            chances[actions[:k]] = chances.get(actions[:k], 0.0) + happens * (passed * (1 - top)).sum()
            passed = passed * top
        chances[actions] = chances.get(actions, 0.0) + happens * passed.sum()
    return chances


def hockey_stick(one, other, epsilon):
    return sum(max(p - math.exp(epsilon) * other.get(release, 0.0), 0.0) for release, p in one.items())


def hard_policies(rng, experts, least):
    """Experts who agree but for a few, and one who does not."""
    most = rng.integers(0, 2, experts) if rng.random() < 0.3 else np.zeros(experts, int)
    sure = np.where(rng.random(experts) < 0.5, least, rng.uniform(least, 0.5, experts))
    policies = np.empty((experts, 2))
    policies[np.arange(experts), most], policies[np.arange(experts), 1 - most] = 1 - sure, sure
    policies[-1] = (1 - least, least) if rng.random() < 0.5 else (least, 1 - least)
    return policies


def gaps(case, claim, design, least):
    """How far one round's divergence is above a claim, over epsilons and both orders of one expert more."""
    rng = np.random.default_rng([9, case])
    policies = hard_policies(rng, int(rng.integers(6, 40)), least)
    more, fewer = law(policies, design, 3), law(policies[:-1], design, 3)
    assert sum(more.values()) == pytest.approx(1, abs=1e-9)
    for epsilon in (0.0, 0.05, 0.2, 0.5, 1.0):
        allowed = claim.delta(epsilon).upper
        yield from (hockey_stick(*pair, epsilon) - allowed for pair in ((more, fewer), (fewer, more)))


DESIGNS = [Design(2.0, 4.0, 3.0, 22.0), Design(1.0, 1.0, 1.6, 11.0), Design(3.0, 2.0, 2.0, 24.0)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_no_round_reveals_more_than_its_pair(design):
    """The law of one round by quadrature, trajectories of 3 steps, 12 sets of 6 to 40 experts, pmin 0.2."""
    gone, come, failure = round_losses(design, 0.2, 5)
    claim = Rounds(1, *(Fraction(x.upper) for x in (gone, come, failure)))
    assert max(gap for case in range(12) for gap in gaps(case, claim, design, 0.2)) < 1e-7


def test_a_claim_without_the_thresholds_noise_is_seen_to_be_too_small():
    design = Design(1.0, 40.0, 40.0, 205.0)
    come = Fraction(round_losses(design, 0.2, 5)[1].upper)
    bad = Rounds(1, come / 8, come / 8, Fraction(0))
    assert max(gap for case in range(12) for gap in gaps(case, bad, design, 0.2)) > 1e-4


def test_the_chance_that_a_low_count_passes():
    """A difference of Laplace variables by quadrature, and the printed noise's closed form."""
    for a, b, gap in ((4.0, 2.0, 3.0), (1.0, 1.0, 5.0), (1.0, 3.0, 2.0)):
        density = np.exp(-np.abs(LAPLACE)) / 2
        expected = np.trapezoid(density * tail(gap + b * LAPLACE, a), LAPLACE)
        with precision(128):
            found = float(rare_top(Design(b, a, 2.0, 20.0 + gap), 0.1))
        assert found == pytest.approx(expected, rel=1e-4)
        assert margin_for(b / a, found) * a == pytest.approx(gap, rel=1e-6)
    with precision(128):
        printed_tail = float(rare_top(Design(2.0, 4.0, 2.0, 20 + 4 * math.log(100)), 0.1))
    assert printed_tail == pytest.approx((4 * 0.01 - 0.01**2) / 6, rel=1e-9)


@pytest.mark.parametrize(
    ("rounds", "gone", "come", "failure"), [(25, 0.4, 0.1, 1e-6), (7, 1.0, 1.0, 0.0), (60, 0.05, 0.2, 1e-9)]
)
def test_rounds_are_what_the_grid_of_losses_finds(rounds, gone, come, failure):
    low, high = Fraction(math.exp(-come)), Fraction(math.exp(gone))
    rare = (1 - low - Fraction(failure)) / (high - low)
    pair = Atoms([low * (1 - rare), high * rare, Fraction(failure)], [1 - rare, rare, 0])
    grid = PrivacyLoss([[(pair, rounds)], [(pair.reversed(), rounds)]])
    exact = Rounds(rounds, Fraction(gone), Fraction(come), Fraction(failure))
    for delta in ("1e-3", "1e-4"):
        one, other = exact.epsilon(delta), grid.epsilon(delta)
        assert one.lower <= other.upper * (1 + 1e-12)
        assert other.lower <= one.upper * (1 + 1e-12)
        assert exact.delta(one.upper).upper <= float(delta) * (1 + 1e-9)
    assert exact.epsilon(failure / 2).upper == math.inf or failure == 0


@pytest.mark.parametrize(("epsilon", "delta", "rounds", "length"), tiered(BUDGETS, fast=2))
def test_the_printed_noise_is_several_times_too_much(epsilon, delta, rounds, length):
    found = account(printed(epsilon, delta, rounds, length), EXPERT)
    true = found.guarantee.epsilon(delta)
    fresh = account(printed(epsilon, delta, rounds, length, draws="fresh"), EXPERT).guarantee.epsilon(delta)
    assert fresh.upper < true.lower < true.upper < float(epsilon) / 3
    assert true.upper < found.published.exact.epsilon(delta).upper < float(epsilon)
    assert found.published.epsilon(delta).upper in (float(epsilon), math.inf)
    assert "inside" in found.notes[1]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "rounds", "length"), tiered(BUDGETS[:4], fast=1))
def test_the_tight_cutoff_is_a_fifth_of_the_printed_one(epsilon, delta, rounds, length):
    for draws in ("fresh", "walk"):
        start = printed(epsilon, delta, rounds, length, draws=draws)
        meets, misses = ACCOUNTANT.least_noise(start, EXPERT, epsilon, delta)
        assert account(meets, EXPERT).guarantee.delta(epsilon).upper <= float(Fraction(delta))
        assert account(misses, EXPERT).guarantee.delta(epsilon).lower > float(Fraction(delta)) * (1 - 1e-9)
        assert meets.design.cutoff < 0.22 * start.design.cutoff
        assert ACCOUNTANT.compare(meets, epsilon, delta)["cutoff"]["printed"] == pytest.approx(
            start.design.cutoff
        )


def test_the_domain_of_the_printed_budget():
    assert all(in_printed_domain(epsilon, delta, rounds) for epsilon, delta, rounds, _ in BUDGETS)
    assert not in_printed_domain(120, "3/10000", 100)
    assert in_printed_domain(120, "3/10000", 50)
    far = account(printed("120", "3/10000", 100, 200), EXPERT)
    assert "outside" in far.notes[1]


def sequences(logged):
    return itertools.product(range(logged.experts), repeat=logged.rounds)


def walked(sequence, logged):
    """The chance of a sequence of experts on the walk, exactly."""
    chance, taken = Fraction(1), {}
    for place, expert in enumerate(sequence):
        used = taken.get(expert, 0)
        chance *= Fraction(logged.each - used, logged.experts * logged.each - place)
        taken[expert] = used + 1
    return chance


@pytest.mark.parametrize("logged", [Logged(3, 4, 3), Logged(4, 5, 6), Logged(5, 4, 8)], ids=str)
def test_the_walks_tail_against_all_sequences(logged):
    fresh = Fraction(1, logged.experts**logged.rounds)
    for ratio in (Fraction(1, 2), Fraction(1), Fraction(2)):
        likelier = [fresh > walked(s, logged) * Fraction(math.exp(ratio)) for s in sequences(logged)]
        with precision(128):
            assert float(walk_tail(logged, ratio)) >= float(sum(likelier) * fresh)


@pytest.mark.parametrize("logged", [Logged(3, 4, 3), Logged(4, 5, 6), Logged(5, 4, 8)], ids=str)
def test_the_walks_constants_against_all_sequences(logged):
    """Where the walk's factor stands: no sequence is likelier on the walk by more, and the shift includes its log."""
    fresh = Fraction(1, logged.experts**logged.rounds)
    likelier = max(walked(s, logged) / fresh for s in sequences(logged))
    constants = walk_constants(logged)
    assert likelier > 1
    assert constants
    for shift, factor, _ in constants:
        assert likelier <= factor
        assert float(factor) <= math.exp(shift)


def test_draws_that_run_out_and_draws_that_cannot():
    logged = Logged(4, 3, 2)
    over = [s for s in sequences(logged) if max(map(s.count, s)) > logged.each]
    assert run_out(logged) >= Fraction(len(over), logged.experts**logged.rounds)
    assert run_out(Logged(20, 3000, 20)) == 0
    inner = Rounds(4, Fraction(1, 5), Fraction(1, 10), Fraction(0))
    moved = Redrawn(inner, Fraction(1, 2), Fraction(11, 10), Fraction(1, 10**6))
    for delta in ("1e-3", "1e-2"):
        end = moved.epsilon(delta)
        assert inner.epsilon(delta).upper + 0.5 <= end.upper
        assert moved.delta(end.upper).upper <= float(delta) * (1 + 1e-9)
    assert Walked(inner, Logged(1, 50, 2)).epsilon("1e-3") == inner.epsilon("1e-3")


GIVEN = {"trajectories": 5, "length": 20, "least_probability": 0.1, "experts": 100, "per_expert": 5}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"least_probability": 0.5}, "least_probability (0.5) must be a number in (0, 0.5)"),
        ({"least_probability": 0.3, "actions": 4}, "least_probability (0.3) must be below 1/actions (1/4)"),
        ({"trajectories": 501}, "trajectories (501) must be at most experts times per_expert (500)"),
        ({"printed_epsilon": 1.0}, "must be given together"),
        ({"printed_epsilon": 1.0, "printed_delta": 1e-5, "scale": 2.0}, "scale (2.0) must be left out"),
        (
            {"printed_epsilon": 1.0, "printed_delta": 1e-5, "draw_cost": 2.0},
            "draw_cost (2.0) must be left out",
        ),
        ({"draws": "all"}, "draws ('all') must be one of"),
    ],
)
def test_bad_input_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=r".") as refused:
        ExpertReleaseParameters(**GIVEN | change)
    assert words in str(refused.value)


def test_other_relations_and_designs_without_a_guarantee_are_refused():
    parameters = ExpertReleaseParameters(**GIVEN)
    for adjacency in set(Adjacency) - {EXPERT}:
        with pytest.raises(UnprovedAdjacencyError):
            account(parameters, adjacency)
    with pytest.raises(ValueError, match=r"delta \('0'\) must be"):
        ACCOUNTANT.least_noise(parameters, EXPERT, "1", "0")
    with pytest.raises(ValueError, match="least count"):
        round_losses(Design(1.0, 1.0, 1.0, 30.0), 0.1, 10)
    with pytest.raises(ValueError, match="cutoff"), precision(64):
        rare_top(replace(printed_design(1.0, 1e-5, 5, 20, 0.1), cutoff=1.0), 0.1)


def logged_release(**more):
    return ExpertReleaseParameters(**{"trajectories": 25, "length": 200, "least_probability": 0.02,
                                      "experts": 2999, "per_expert": 20} | more)  # fmt: skip


@pytest.mark.parametrize(("draws", "rounds"), [("walk", 25), ("fresh", 40)])
def test_delta_never_grows_with_epsilon(draws, rounds):
    """What holds at an epsilon holds above it; the formula by itself is 1 again from some epsilon on."""
    found = account(logged_release(trajectories=rounds, scale=10.0, draws=draws), EXPERT).guarantee
    ends = [found.delta(epsilon).upper for epsilon in (0, 0.5, 2, 8, 12, 15, 20, 30, 37, 50, 100, 10_000)]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] < 1e-5
    one = Redrawn(
        Rounds(25, Fraction(1, 10), Fraction(1, 10), Fraction(0)),
        Fraction(0),
        Fraction(1),
        Fraction(1, 10**6),
    )
    assert one.delta(30) == one.delta(40)
    least = min(one._at(Fraction(k, 1000)).lower for k in range(3000))
    assert least * (1 - 1e-12) <= one.delta(30).upper <= least * (1 + 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "more"),
    tiered([("10", "1e-9", {}), ("1", "1e-6", {}), ("5", ".9", {"trajectories": 2}), ("100", "1e-4", {}),
     ("700", "1e-4", {"draws": "fresh"}),
     ("10", "1e-9", {"draws": "fresh"}), ("5", ".5", {"draws": "fresh", "trajectories": 40}),
     ("1", ".999", {"trajectories": 1, "experts": 1, "per_expert": 1}), ("1", "1e-50", {"trajectories": 1})], fast=1),
)  # fmt: skip
def test_calibrated_noise_fed_back_meets_its_target(epsilon, delta, more):
    meets, misses = ACCOUNTANT.least_noise(logged_release(**more), EXPERT, epsilon, delta)
    found, less = (account(each, EXPERT).guarantee for each in (meets, misses))
    assert found.epsilon(delta).upper <= float(epsilon)
    assert less.delta(epsilon).lower > float(delta) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "more", "words"),
    [
        (".01", "1e-4", {}, r"epsilon \(0.01\) must be at least 0.11"),
        ("0", "1e-3", {}, r"epsilon \(0.0\) must be at least 0.11"),
        ("1", "1e-80", {"draws": "fresh"}, r"delta \(1e-80\) must be above 2.5e-59"),
        ("1", "1e-4", {"trajectories": 20_000}, r"trajectories \(20000\) is too large"),
        ("1", "1e-4", {"trajectories": 20_000, "per_expert": 8, "draws": "fresh"}, "Use fewer trajectories"),
    ],
)
def test_targets_out_of_reach_are_named(epsilon, delta, more, words):
    with pytest.raises(TargetError, match=words):
        ACCOUNTANT.least_noise(logged_release(**more), EXPERT, epsilon, delta)


def test_extreme_values_are_refused_or_answered():
    for epsilon in (1e-300, 1e300):
        with pytest.raises(ValueError, match=r"printed_epsilon .* must be a number in"):
            logged_release(printed_epsilon=epsilon, printed_delta=0.5)
    for epsilon, failure in ((1e-9, 1e-200), (1e-9, 0.999), (100.0, 1e-200)):
        far = logged_release(trajectories=1, printed_epsilon=epsilon, printed_delta=failure)
        assert account(far, EXPERT).guarantee.epsilon(".5").upper < 101
    loud = account(logged_release(scale=0.1, draws="fresh"), EXPERT).guarantee
    assert loud.epsilon(".999").upper == math.inf
    assert loud.delta(1).upper == 1
    many = account(logged_release(trajectories=10**6, experts=10**5, scale=1e5), EXPERT)
    assert many.guarantee.epsilon("1e-5").upper == math.inf
    assert "no noise gives a guarantee" in many.notes[-1]


def test_the_account_says_whose_lower_ends_it_gives():
    assert any(
        "lower ends are those of this bound" in note for note in account(logged_release(), EXPERT).notes
    )
