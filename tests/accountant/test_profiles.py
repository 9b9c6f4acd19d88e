"""One suite of laws over every concrete profile: a class without an example fails it.

Every law speaks of certified bounds, which enclose the truth: a later lower end never exceeds an earlier upper
end, and what is asked for comes back. Each example is small, so that each answer takes a fraction of a second.
"""

import importlib
import inspect
import itertools
import math
import pkgutil
from fractions import Fraction

import pytest

import dpproof.accountant
from dpproof.accountant.guarantees.failing import WithFailure
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, BoundedLoss, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.profile import BestOf, Enclosed, Profile, WorstOf
from dpproof.accountant.interop.gaussian_mixtures import MixtureProfile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.enclosed_loss import EnclosedLoss
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.rl.expert.design import Rounds
from dpproof.accountant.rl.expert.draws import Logged, Redrawn, Walked
from dpproof.accountant.rl.sdp_pe.batches import BatchLoss
from dpproof.accountant.rl.sdp_pe.shuffled_count import _Leak
from dpproof.accountant.sampling.between import Between
from dpproof.accountant.sampling.truncated import Coupled
from dpproof.accountant.shuffling.clones import CloneView
from dpproof.accountant.shuffling.compared import ShuffledResponse
from dpproof.accountant.shuffling.printed_sums import AlikeSums, PrintedSums
from dpproof.accountant.shuffling.view import BinomialView
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian
from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplace
from dpproof.accountant.sparse_vector.counted_pair import CountedPair
from dpproof.accountant.sparse_vector.gaussian import FailingCoins
from dpproof.accountant.sparse_vector.gaussian_pair import OneEvent
from dpproof.accountant.sparse_vector.technique import AlternatingPair, Moves
from dpproof.accountant.theorems.group_privacy import GroupProfile
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected, Unranked

ROUNDS = Rounds(20, Fraction(1, 10), Fraction(1, 10), Fraction(0))
LOSS = PrivacyLoss([[(Laplace(4.0), 2)]])
EXAMPLES = {
    "ApproxDP": ApproxDP(1, "1e-4"),
    "Between": Between(GaussianDP("0.4"), GaussianDP("0.5"), "a pair"),
    "Coupled": Coupled(GaussianDP("0.5"), 1e-9),
    "EnclosedLoss": EnclosedLoss((SubsampledGaussian(0.1, 2.0),), (SubsampledGaussian(0.1, 2.0),), 3),
    "MixtureProfile": MixtureProfile(
        (Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)), removes=True
    ),
    "Unranked": Unranked(GaussianDP("0.5"), Runs(10)),
    "Selected": Selected(GaussianDP("0.5"), Runs(10, 1)),
    "PureDP": PureDP(1),
    "GaussianDP": GaussianDP("0.5"),
    "ZCDP": ZCDP("0.1"),
    "RenyiDP": RenyiDP(lambda order: order / 8),
    "BoundedLoss": BoundedLoss(Fraction(1, 2), LOSS),
    "Enclosed": Enclosed(PureDP(1), PureDP(2)),
    "BestOf": BestOf((GaussianDP(1), ApproxDP(2, 0))),
    "WorstOf": WorstOf((GaussianDP(1), ApproxDP(2, 0))),
    "WithFailure": WithFailure(GaussianDP("0.5"), "1e-9"),
    "PrivacyLoss": LOSS,
    "PrivacyLoss, Gaussians": PrivacyLoss([[]]),
    "GroupProfile": GroupProfile(GaussianDP("0.5"), 2),
    "ComposedApproxDP": compose_approx_optimal([(ApproxDP("0.1", "1e-9"), 30)]),
    "SmoothGaussian": SmoothGaussian(10, Fraction(1, 100)),
    "SmoothLaplace": SmoothLaplace(10, Fraction(1, 100)),
    "Rounds": ROUNDS,
    "Redrawn": Redrawn(ROUNDS, Fraction(0), Fraction(1), Fraction(1, 10**6)),
    "Walked": Walked(ROUNDS, Logged(20, 30, 1)),
    "BatchLoss": BatchLoss(1, 5000, Fraction(9, 100)),
    "_Leak": _Leak(Fraction(1, 10)),
    "CloneView": CloneView(1000, 1, Bound(0.36, 0.37)),
    "ShuffledResponse": ShuffledResponse(100, 3, 1),
    "BinomialView": BinomialView(1000, "1/2", 0, 1),
    "AlikeSums": AlikeSums(10, 50),
    "PrintedSums": PrintedSums(10, 50),
    "FailingCoins": FailingCoins(Fraction(1, 5), Fraction(1, 10), 100, 1),
    "OneEvent": OneEvent(Fraction(1, 5), Fraction(1, 10), 100, 2, False),
    "CountedPair": CountedPair(Fraction(1, 10), Fraction(1, 20), 3, False, PureDP(1)),
    "AlternatingPair": AlternatingPair(
        Moves(1, 1), (Fraction(1, 10), Fraction(1, 10), Fraction(0)), 2, 1, PureDP(1)
    ),
}
BOUNDED = {
    "BoundedLoss": 0.5,
    "PureDP": 1.0,
    "ShuffledResponse": 1.0,
    "CloneView": 1.0,
    "Enclosed": 2.0,
    "BestOf": 2.0,
}
"""The largest loss where there is one: epsilon at delta 0."""
SLOW = {"BatchLoss", "ShuffledResponse", "PrintedSums", "AlikeSums"}
"""Their laws take seconds each. Their trade-off functions are found by the search of the base class, as others' are."""
SEARCHED = {"RenyiDP", "ZCDP", "CountedPair", "FailingCoins", "OneEvent", "EnclosedLoss"}
"""Their trade-off functions take seconds each."""
EPSILONS, DELTAS = (0, Fraction(1, 10), "0.5", 1.0, 3), ("1e-6", "0.01", 0.3)
every_profile = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXAMPLES]
)


def classes(base):
    """Every class of the accountant below ``base``."""
    for one in base.__subclasses__():
        yield one
        yield from classes(one)


def test_every_concrete_profile_has_an_example():
    for module in pkgutil.walk_packages(dpproof.accountant.__path__, "dpproof.accountant."):
        importlib.import_module(module.name)
    ours = {
        one.__name__
        for one in classes(Profile)
        if one.__module__.startswith("dpproof.accountant") and not inspect.isabstract(one)
    }
    assert ours == {type(example).__name__ for example in EXAMPLES.values()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_delta_is_a_probability_that_falls_in_epsilon(name):
    found = [EXAMPLES[name].delta(point) for point in EPSILONS]
    assert all(0 <= bound.lower <= bound.upper <= 1 for bound in found)
    assert all(before.upper >= after.lower for before, after in itertools.pairwise(found))


@every_profile
def test_epsilon_falls_in_delta_and_comes_back(name):
    example = EXAMPLES[name]
    found = [example.epsilon(point) for point in DELTAS]
    assert all(0 <= bound.lower <= bound.upper for bound in found)
    assert all(before.upper >= after.lower for before, after in itertools.pairwise(found))
    for target, bound in zip(DELTAS, found, strict=True):
        if math.isfinite(bound.upper):
            assert example.delta(bound.upper).lower <= Fraction(target)
        if 0 < bound.lower < math.inf:
            assert example.delta(bound.lower * (1 - 1e-9)).upper >= Fraction(target)


@every_profile
def test_a_delta_that_an_epsilon_reaches_is_no_farther_than_that_epsilon(name):
    reached = EXAMPLES[name].delta("0.5").upper
    if 1e-300 <= reached < 1:
        assert EXAMPLES[name].epsilon(reached).lower <= 0.5


@every_profile
def test_the_ends_are_exact(name):
    example = EXAMPLES[name]
    at_zero = example.epsilon(0)
    assert at_zero.lower <= at_zero.upper
    if name in BOUNDED:
        assert at_zero.upper == BOUNDED[name]
        assert example.delta(BOUNDED[name]).upper == 0
    assert example.epsilon(example.delta(0).upper).lower == 0 if example.delta(0).upper < 1 else True
    if math.isfinite(at_zero.upper):
        assert example.delta(math.nextafter(at_zero.upper, math.inf)).lower == 0


@every_profile
@pytest.mark.parametrize("wrong", [-1, "-1e-9", math.nan, math.inf, "x", True])
def test_a_bad_epsilon_is_refused(name, wrong):
    with pytest.raises(ValueError, match=r"^epsilon \(.*\) must be"):
        EXAMPLES[name].delta(wrong)


@every_profile
@pytest.mark.parametrize("wrong", [-1, 1, "1.5", math.nan, math.inf, "x", True])
def test_a_bad_delta_is_refused(name, wrong):
    with pytest.raises(ValueError, match=r"^delta \(.*\) must be"):
        EXAMPLES[name].epsilon(wrong)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SEARCHED))
        for name in EXAMPLES
        if name not in SLOW
    ],
)
def test_the_trade_off_function_lies_between_the_best_and_the_worst_line(name):
    example, rate = EXAMPLES[name], 0.25
    found = example.trade_off(rate)
    assert 0 <= found.lower <= found.upper <= 1 - rate
    assert found.upper >= 1 - rate - example.delta(0).upper - 1e-9
    assert example.trade_off(1).upper == 0


@every_profile
def test_a_wrong_false_positive_rate_is_refused(name):
    with pytest.raises(ValueError, match=r"^alpha \(1.5\) must be in \[0, 1\]"):
        EXAMPLES[name].trade_off(1.5)


def test_a_subclass_needs_delta_only():
    class Line(Profile):
        def _delta_at(self, point):
            return GaussianDP(1).delta(point)

    mine, known = Line(), GaussianDP(1)
    for delta in DELTAS:
        one, other = mine.epsilon(delta), known.epsilon(delta)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.upper <= other.upper * (1 + 1e-12)
    assert mine.epsilon(0).upper == math.inf
