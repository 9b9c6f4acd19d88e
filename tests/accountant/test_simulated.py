"""Simulated epsilon: it contains known numbers, misses at most as often as it says, and is never certified.

Known numbers come from routes of their own: the Gaussian's exact profile, quadrature with mpmath, and sums over
all participations.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof import Bound, ConfidentBound, MinSeparation, TrainingRun, account, compose, simulate
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.simulated import running
from dpproof.accountant.simulated.allocation import Allocation
from dpproof.accountant.simulated.bulk import Bulk
from dpproof.accountant.simulated.directions import Addition, Near, Removal, Replacement, Shifted, draw
from dpproof.accountant.simulated.powers import Power
from dpproof.accountant.simulated.proposals import Cap, FairPower, Mixture, Tilted
from tests.rows import rows

EXAMPLE = {"delta": "1e-3", "alpha": "1e-6", "samples": 2**15, "seed": 11}


def one_of(steps, noise=1.0, **options):
    return TrainingRun(MinSeparation(steps, steps), noise, **options)


def removal_of_two(epsilon, noise=1.0):
    """delta(epsilon) for one of two steps, removal: the inner integral in closed form, the outer by mpmath."""

    def inside(z):
        other = mpmath.exp(z / noise - 1 / (2 * noise**2))
        least = 2 * mpmath.exp(epsilon) - other
        if least <= 0:
            gain = (1 + other) / 2 - mpmath.exp(epsilon)
        else:
            place = noise * mpmath.log(least) + 1 / (2 * noise)
            gain = mpmath.ncdf(1 / noise - place) / 2 + (other / 2 - mpmath.exp(epsilon)) * mpmath.ncdf(
                -place
            )
        return mpmath.npdf(z) * gain

    return float(mpmath.quad(inside, [-12, -4, 0, 3, 6, 12]))


TWO = 1.9
"""An epsilon that is asked for of one of two steps."""


@rows("adjacency, noise", [("add-remove", 1.0), ("replace", 2.0), ("add-remove", 0.5)])
def test_one_step_is_the_gaussian(adjacency, noise):
    moved = 2 if adjacency == "replace" else 1
    exact = account("gaussian", sigma=noise, sensitivity=moved).epsilon("1e-6")
    found = simulate(one_of(1, noise), adjacency, delta="1e-6", samples=2**15, seed=1)
    assert found.lower <= exact.lower <= exact.upper <= found.upper
    assert found.width < 0.02 * max(1, exact.upper)


def test_one_of_two_steps_is_the_integral():
    with mpmath.workdps(20):
        exact = removal_of_two(TWO)
    found = simulate(one_of(2), "add-remove", epsilon=TWO, samples=2**15, seed=2)
    assert found.lower <= exact <= found.upper <= 1.2 * found.lower
    back = simulate(one_of(2), "add-remove", delta=Fraction(exact), samples=2**15, seed=3)
    assert back.lower <= TWO <= back.upper <= back.lower + 0.1


@rows("noise, steps, bins", [(1.0, 6, 3), (2.0, 6, 3)])
def test_epochs_of_bins_are_one_of_the_bins_with_longer_contributions(noise, steps, bins):
    several = simulate(TrainingRun(MinSeparation(steps, bins), noise * math.sqrt(2)), "add-remove", **EXAMPLE)
    once = simulate(one_of(bins, noise), "add-remove", **EXAMPLE)
    assert several.lower <= once.upper
    assert once.lower <= several.upper


LAWS = (
    MinSeparation(7, 3, 0.4), MinSeparation(7, 3, 0.4, warm=False), MinSeparation(5, 1, 0.3),
    MinSeparation(6, 3), MinSeparation(7, 3), MinSeparation(3, 5, 0.5), MinSeparation(4, 2, warm=False),
    Allocation(6, 2), Allocation(4, 4), Allocation(5, 1),
)  # fmt: skip


def participations(law):
    """All x with their probabilities, from the definitions of the laws."""
    if isinstance(law, Allocation):
        used = [
            [i in chosen for i in range(law.steps)]
            for chosen in itertools.combinations(range(law.steps), law.uses)
        ]
        return np.array(used, dtype=float), np.full(len(used), 1 / len(used))
    found = {}

    def follow(free, used, chance):
        i = len(used)
        if i == law.steps:
            found[used] = found.get(used, 0.0) + chance
        elif free <= i:
            follow(i + law.separation, (*used, 1), chance * law.rate)
            follow(free, (*used, 0), chance * (1 - law.rate))
        else:
            follow(free, (*used, 0), chance)

    for wait, chance in enumerate(law.start):
        follow(wait, (), float(chance))
    found = {used: chance for used, chance in found.items() if chance}
    return np.array(list(found)), np.array(list(found.values()))


@rows("law", LAWS, ids=str)
def test_the_recursion_is_the_sum_over_all_participations(law):
    used, chances = participations(law)
    gains = np.random.default_rng(0).normal(size=(law.steps, 5))
    assert math.isclose(chances.sum(), 1)
    for scale in (1, 100, 500):  # the last ones by logarithms
        values = used @ (scale * gains)
        exact = [float(np.logaddexp.reduce(column + np.log(chances))) for column in values.T]
        assert np.allclose(law.log_mean(scale * gains), exact, rtol=1e-12)
    assert np.allclose(law.means(), chances @ used)


@rows("law", LAWS, ids=str)
def test_tilted_participation_has_the_tilted_law(law):
    """Chi-square at level 1e-6 for each law, 20,000 samples, fixed seed."""
    used, chances = participations(law)
    gains = np.linspace(0.2, 1.0, law.steps)
    wanted = chances * np.exp(used @ gains)
    keep = wanted > 0
    used, wanted = used[keep], wanted[keep] / wanted.sum()
    drawn = law.draw(np.random.default_rng(5), 20_000, gains, law.later(gains)).T
    place = {tuple(row): i for i, row in enumerate(used)}
    counts = np.bincount([place[tuple(int(v) for v in row)] for row in drawn], minlength=len(used))
    statistic = float(((counts - 20_000 * wanted) ** 2 / (20_000 * wanted)).sum())
    freedom = max(len(used) - 1, 1)
    assert statistic < freedom + 5.5 * math.sqrt(2 * freedom) + 30


RUN = TrainingRun(MinSeparation(6, 3, 0.5), 1.0, (1.0, 0.5))
FAIR = TrainingRun(MinSeparation(6, 3), 1.3)
BINS = TrainingRun(MinSeparation(7, 3), 1.3, (1.0, 0.5, 0.25))
SOME = TrainingRun(Allocation(5, 2), 1.5)
COMPONENTS = (
    (Removal(RUN), Tilted(RUN, 1.7)), (Removal(FAIR), Tilted(FAIR, 2.0)), (Removal(FAIR), FairPower(FAIR, 3)),
    (Addition(RUN), Shifted(RUN, 1.5)), (Addition(FAIR), Bulk(FAIR, 0.3)), (Replacement(FAIR), FairPower(FAIR, 2)),
    (Replacement(RUN), Tilted(RUN, 1.5)), (Removal(RUN), Power(RUN, 3)), (Removal(BINS), Power(BINS, 2)),
    (Removal(SOME), Power(SOME, 2)), (Addition(SOME), Shifted(SOME, 2.0)), (Replacement(SOME), Tilted(SOME, 1.4)),
    (Replacement(FAIR), FairPower(FAIR, 3, 2.0)), (Replacement(RUN), Power(RUN, 2, 1.0)),
    (Replacement(SOME), Power(SOME, 2, 1.0)),
)  # fmt: skip


@rows("direction, component", COMPONENTS, ids=str)
def test_a_component_has_the_density_that_it_states_and_keeps_its_cap(direction, component):
    """Means of 1/(1 + density) under the component and under the noise: 6 standard errors, 10,000 samples each."""
    rng, mixture = np.random.default_rng(7), Mixture((component,))
    own = draw(direction, mixture, rng, 10_000)
    free = Mixture((Shifted(direction.training, 0.0),))
    noise = draw(direction, free, rng, 10_000, (component,))
    # r = density of the component: the mean of 1/(1 + r) under it is that of r/(1 + r) under the noise
    one, other = 1 / (1 + np.exp(own.log_density)), 1 / (1 + np.exp(-noise.others[0]))
    error = math.sqrt((one.var() + other.var()) / 10_000)
    assert abs(one.mean() - other.mean()) < 6 * error
    a, b, start, _ = direction.in_loss(component.cap)
    for drawn, density in ((own, own.log_density), (noise, noise.others[0])):
        seen = drawn.losses >= max(start, 0.0) if start > -math.inf else np.ones(len(drawn.losses), bool)
        assert (drawn.log_first - density <= a - b * drawn.losses + 1e-9)[seen].all()


@pytest.mark.slow
def test_intervals_miss_at_most_as_often_as_they_say(monkeypatch):
    """400 runs at alpha = .05: 37 misses or more have probability 3e-4 if each run misses with .05, .99 if with .13."""
    monkeypatch.setattr(running, "PILOT", 512)
    with mpmath.workdps(20):
        question = running.Question("epsilon", Fraction(removal_of_two(TWO)), Fraction(1, 20), 1024)
    near = Near(float(question.at), 0.0, 0.0)
    found = [
        running.ends(Removal(one_of(2)), question, np.random.default_rng(i), near, 1) for i in range(400)
    ]
    assert sum(not one.lower <= TWO <= one.upper for one in found) < 37
    assert sorted(one.upper - one.lower for one in found)[200] < 0.5  # the intervals say something


def test_plain_samples_with_a_normal_interval_would_miss():
    """The control: 200 means of 2,000 plain samples of P at delta 5e-4, with 95 % normal intervals."""
    with mpmath.workdps(20):
        exact = removal_of_two(4.0)
    direction = Removal(one_of(2))
    rng, missed = np.random.default_rng(1), 0
    for _ in range(200):
        drawn = draw(direction, Mixture((Tilted(direction.training, 1.0),)), rng, 2000)
        values = np.maximum(-np.expm1(4.0 - drawn.losses), 0)
        missed += abs(values.mean() - exact) > 1.96 * values.std() / math.sqrt(2000)
    assert missed > 20


@dataclass(frozen=True)
class Blind:
    """A proposal that never shows outcomes with a small first coordinate, and states no bound."""

    training: TrainingRun
    cap: Cap = field(default_factory=lambda: Cap(math.inf, 0.0))
    scale: float = 1.0

    def draw(self, rng, count):
        return np.abs(rng.standard_normal((self.training.participation.steps, count)))

    def log_density(self, gains, log_ratio):
        return np.zeros_like(log_ratio)


@dataclass(frozen=True)
class Uncovered(Removal):
    """Removal, simulated with the blind proposal only."""

    def candidates(self, near):
        return (Blind(self.training),)

    def certifiers(self):
        return ()


def test_a_proposal_without_a_bound_on_its_weights_is_refused():
    question = running.Question("epsilon", Fraction(1, 1000), Fraction(1, 20), 2**15)
    with pytest.raises(ValueError, match="no certified bound"):
        running.ends(Uncovered(one_of(2)), question, np.random.default_rng(1), Near(1e-3, 0.0, 0.0), 1)


def test_the_scalar_run_dominates_adaptive_gradients_in_the_plane():
    """Integrals of smooth functions over four Gaussian coordinates, for one of two steps (Theorems 2 and 3)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(14)
    y = np.array(list(itertools.product(nodes, repeat=4)))
    mass = np.prod(np.array(list(itertools.product(weights / weights.sum(), repeat=4))), axis=1)

    def ratio(first, second):
        one = (y[:, :2] * first).sum(1) - (first**2).sum(1) / 2
        two = (y[:, 2:] * second).sum(1) - (second**2).sum(1) / 2
        return (np.exp(one) + np.exp(two)) / 2

    def adaptive(rng):
        first = rng.normal(size=2)
        second = np.tanh(y[:, :2] @ rng.normal(size=(2, 2)))
        clipped = second / np.maximum(np.linalg.norm(second, axis=1, keepdims=True), 1)
        return ratio(np.tile(first / np.linalg.norm(first), (len(y), 1)), clipped)

    ahead = np.tile([1.0, 0.0], (len(y), 1))
    scalar, opposite, rng = ratio(ahead, ahead), ratio(-ahead, -ahead), np.random.default_rng(3)
    for _ in range(8):
        one, other = adaptive(rng), adaptive(rng)
        for f in (np.square, lambda r: -np.log(r), lambda r: np.exp(-r)):
            assert mass @ f(one) < mass @ f(scalar)
        assert mass @ (one * np.log(one / other)) < mass @ (scalar * np.log(scalar / opposite))


def test_a_simulated_answer_is_never_a_certified_one():
    found = simulate(one_of(2), "add-remove", **EXAMPLE)
    certified = account("gaussian", sigma=2)
    assert not isinstance(found, Bound)
    for wrong in (
        lambda: found <= 3,
        lambda: found < certified.epsilon("1e-3"),
        lambda: float(found),
        lambda: found + 1,
    ):
        with pytest.raises(TypeError, match="only with a confidence"):
            wrong()
    with pytest.raises((TypeError, AttributeError)):
        compose(certified, found)
    told = found.as_json()
    assert set(told) == {"simulated"}
    assert told["simulated"]["alpha"] == "1e-6"
    assert not told["simulated"]["seed_from_entropy"]
    assert "with confidence 1 - 1e-6 (simulated, " in str(found)
    assert found == simulate(one_of(2), "add-remove", **EXAMPLE)


def test_a_seed_from_entropy_is_named_and_gives_the_answer_again():
    options = EXAMPLE | {"seed": None}
    found = simulate(one_of(2), "add-remove", **options)
    assert found.from_entropy
    assert "from entropy" in str(found)
    again = simulate(one_of(2), "add-remove", **(options | {"seed": found.seed}))
    assert (again.lower, again.upper, again.from_entropy) == (found.lower, found.upper, False)


def test_poisson_sampling_is_what_the_certified_accountant_says():
    exact = account(
        "dp-sgd", sampling_rate=0.1, noise_multiplier=2, steps=20, adjacency="add-remove"
    ).epsilon("1e-4")
    run = TrainingRun(MinSeparation(20, 1, 0.1), 2.0)
    found = simulate(run, "add-remove", delta="1e-4", samples=2**14, seed=1)
    assert found.lower <= exact.lower <= exact.upper <= found.upper <= found.lower + 0.2


def test_random_allocation_is_what_the_certified_accountant_says():
    exact = account("allocated-sgd", steps=10, noise_multiplier=1, adjacency="add-remove").epsilon("1e-4")
    found = simulate(one_of(10), "add-remove", delta="1e-4", samples=2**14, seed=1)
    assert found.lower <= exact.lower <= exact.upper <= found.upper <= found.lower + 0.2


def test_all_steps_are_one_longer_step():
    run = TrainingRun(Allocation(3, 3), math.sqrt(3))
    exact = account("gaussian", sigma=1).epsilon("1e-3")
    found = simulate(run, "add-remove", **EXAMPLE)
    assert found.lower <= exact.lower <= exact.upper <= found.upper


def test_a_tolerance_saves_samples():
    found = simulate(one_of(2), "add-remove", delta="1e-3", samples=2**20, tolerance=0.1, seed=1)
    assert found.width <= 0.1
    assert found.samples < 2**18


@rows(
    "make, message",
    [
        (lambda: TrainingRun(MinSeparation(4, 2), 1.0, (1.0, -0.5)), "not known to dominate"),
        (lambda: TrainingRun(MinSeparation(4, 2), 1.0, (1.0, 0.5, 0.2)), "at most as many bands"),
        (lambda: TrainingRun(MinSeparation(4, 2), 0.0), "noise_multiplier"),
        (lambda: MinSeparation(4, 2, 0.0), "rate"),
        (lambda: MinSeparation(0, 2), "steps"),
        (lambda: simulate(one_of(2), "add-remove"), "delta or epsilon"),
        (lambda: simulate(one_of(2), "add-remove", delta="1e-3", samples=10), "samples"),
        (lambda: simulate(one_of(2), Adjacency.EXPERT, delta="1e-3"), "add-remove or replace"),
        (lambda: ConfidentBound("epsilon", 2.0, 1.0, Fraction(1, 9), 1, 1, False), "lower"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((ValueError, UnprovedAdjacencyError), match=message):
        make()
