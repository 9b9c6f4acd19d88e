"""Compositions with few outcomes, against every outcome of the composition listed in mpmath with 900 digits.

The tests compare one-sided without a tolerance: a bound on delta never passes the listed sum, and the bounds
on epsilon lie on both sides of the place where the listed sum meets delta.
"""

import itertools
import math
import pickle
from fractions import Fraction

import flint
import mpmath
import pytest

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.binomial import ShiftedBinomial, ShuffledBinary
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.outcomes import Listed, Spaced, Support, finite_profile
from dpproof.accountant.pairs.randomised_response import RandomisedResponse, truthful_response
from dpproof.accountant.pairs.subsampled import Nothing, VisibleChoice
from dpproof.accountant.privacy_loss import notion
from dpproof.accountant.privacy_loss.by_grid import epsilon_by_grid
from dpproof.accountant.privacy_loss.notion import PrivacyLoss, composed
from dpproof.accountant.privacy_loss.planning import GridTooLargeError, plan
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from tests.rows import rows

DIGITS = 900
REACH = 40
"""Integers listed on each side for discrete Gaussian noise of a deviation below 1; the rest is below 1e-340."""


def number(value):
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def geometric(scale, shift):
    power, share = mpmath.exp(-1 / number(scale)), 1 / (1 + mpmath.exp(-1 / number(scale)))
    inner = [share * (1 - power) * power**k for k in range(1, shift)]
    masses = [share, *inner, share * power**shift]
    return list(zip(masses, masses[::-1], strict=True))


def response(epsilon, categories):
    truth = 1 / (1 + (categories - 1) * mpmath.exp(-number(epsilon)))
    other = truth * mpmath.exp(-number(epsilon))
    return [(truth, other), (other, truth), ((categories - 2) * other,) * 2]


def truthful(truth, categories):
    other = (1 - number(truth)) / (categories - 1)
    return [(number(truth), other), (other, number(truth)), ((categories - 2) * other,) * 2]


def discrete_gaussian(variance, shift):
    masses = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * number(variance))) for x in range(-REACH, REACH + 1)]
    total = mpmath.fsum(masses)
    return [(masses[i] / total, masses[i - shift] / total) for i in range(shift, len(masses))]


def shuffled(trials, probability, first, second):
    p, a, c = map(number, (probability, first, second))
    noise = [mpmath.binomial(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    kept, moved = [*noise, 0], [0, *noise]
    return [((1 - a) * x + a * y, (1 - c) * x + c * y) for x, y in zip(kept, moved, strict=True)]


def listed(p, q):
    return [(number(x), number(y)) for x, y in zip(p, q, strict=True)]


THIRDS = (("1/2", "1/3", "1/6"), ("1/7", "2/7", "4/7"))
LEAKS = (("1/8", "5/8", "1/4"), ("0", "1/2", "1/2"))
CASES = {
    "geometric": [(lambda: Geometric("0.0572", 2), lambda: geometric("0.0572", 2), 4)],
    "geometric, small": [(lambda: Geometric("0.01", 3), lambda: geometric("0.01", 3), 3)],
    "geometric, large": [(lambda: Geometric(10**280, 2), lambda: geometric(10**280, 2), 3)],
    "response": [(lambda: truthful_response("0.9999994", 5), lambda: truthful("0.9999994", 5), 4)],
    "response, epsilon": [(lambda: RandomisedResponse(600, 2), lambda: response(600, 2), 5)],
    "response, huge": [(lambda: RandomisedResponse(10**12, 3), lambda: response(10**12, 3), 2)],
    "geometric, huge": [(lambda: Geometric("1e-9", 2), lambda: geometric("1e-9", 2), 4)],
    "response, tiny": [(lambda: RandomisedResponse("1e-200", 4), lambda: response("1e-200", 4), 4)],
    "discrete Gaussian": [(lambda: DiscreteGaussian("0.09"), lambda: discrete_gaussian("0.09", 1), 2)],
    "discrete Gaussian, shift": [(lambda: DiscreteGaussian("0.8", 3), lambda: discrete_gaussian("0.8", 3), 1)],
    "discrete Gaussian, small": [(lambda: DiscreteGaussian("1e-6"), lambda: discrete_gaussian("1e-6", 1), 1)],
    "binomial": [(lambda: ShiftedBinomial(6, "0.3"), lambda: shuffled(6, "0.3", 0, 1), 3)],
    "shuffled": [(lambda: ShuffledBinary(5, "0.2", "0.1", "0.9"), lambda: shuffled(5, "0.2", "0.1", "0.9"), 3)],
    "atoms": [(lambda: Atoms(*THIRDS), lambda: listed(*THIRDS), 5)],
    "atoms, infinite loss": [(lambda: Atoms(*LEAKS), lambda: listed(*LEAKS), 4)],
    "two lattices": [
        (lambda: Geometric("0.3", 2), lambda: geometric("0.3", 2), 3),
        (lambda: RandomisedResponse("1.7", 3), lambda: response("1.7", 3), 3),
    ],
    "scales far apart": [
        (lambda: Geometric("0.02", 1), lambda: geometric("0.02", 1), 2),
        (lambda: RandomisedResponse("1e-30"), lambda: response("1e-30", 2), 2),
        (lambda: Atoms(*THIRDS), lambda: listed(*THIRDS), 2),
    ],
}  # fmt: skip


class Truth:
    """Delta as the sum over all outcomes of the composition. Equal outcomes are joined after each step."""

    def __init__(self, parts):
        law = {(mpmath.mpf(1), mpmath.mpf(1)): 1}
        for _, pairs, count in parts:
            once = [pair for pair in pairs() if pair[0]]
            for _ in range(count):
                law = self._times(law, once)
        self.law = law

    @staticmethod
    def _times(law, once):
        found = {}
        for ((p, q), ways), (a, b) in itertools.product(law.items(), once):
            found[p * a, q * b] = found.get((p * a, q * b), 0) + ways
        return found

    def delta(self, epsilon):
        factor = mpmath.exp(number(epsilon))
        return mpmath.fsum(ways * max(p - factor * q, 0) for (p, q), ways in self.law.items())

    def losses(self):
        """The finite losses above 0, in increasing order."""
        return sorted(mpmath.log(p / q) for p, q in self.law if 0 < q < p)


def made(name):
    return PrivacyLoss([[(pair(), count) for pair, _, count in CASES[name]]])


def rounding(value):
    """What a sum of a few thousand terms in ``DIGITS`` digits may be off by."""
    return value * mpmath.mpf(10) ** (10 - DIGITS) + mpmath.mpf(10) ** -330


@pytest.mark.slow
@rows("name", list(CASES))
def test_delta_encloses_the_sum_over_all_outcomes(name):
    with mpmath.workdps(DIGITS):
        truth, loss = Truth(CASES[name]), made(name)
        losses = truth.losses()
        places = [losses[len(losses) * k // 4] * (1 - mpmath.mpf(2) ** -30) for k in range(4)]
        for epsilon in [0.0, *(float(place) for place in places), float(losses[-1]) * (1 - 1e-9)]:
            exact, found = truth.delta(epsilon), loss.delta(epsilon)
            assert found.lower <= exact + rounding(exact)
            assert found.upper >= exact - rounding(exact)
            assert found.relative_width <= 5e-16 or exact < 1e-300


@rows("name", list(CASES))
def test_epsilon_lies_where_the_sum_meets_delta(name):
    with mpmath.workdps(DIGITS):
        truth, loss = Truth(CASES[name]), made(name)
        for delta in ("0.3", "4.68e-6", "1e-12", "1e-100", "1e-300"):
            found, goal = loss.epsilon(delta), number(delta)
            if math.isfinite(found.upper):
                assert truth.delta(found.upper) <= goal + rounding(goal)
            assert (
                found.lower == 0
                or found.lower == math.inf
                or truth.delta(found.lower) >= goal - rounding(goal)
            )
            assert found.relative_width <= 2e-15, delta


def test_an_epsilon_that_equals_a_loss_is_decided():
    """At the largest loss, delta is 0; at a smaller one, outcomes of this loss add nothing."""
    loss, top = composed(4, Geometric("1/4", 2)), 32
    with mpmath.workdps(DIGITS):
        truth = Truth([(None, lambda: geometric("1/4", 2), 4)])
        for epsilon in (8, 16, 24):
            exact, found = truth.delta(epsilon), loss.delta(epsilon)
            assert found.lower <= exact + rounding(exact)
            assert exact - rounding(exact) <= found.upper <= exact * (1 + 5e-16)
    assert loss.delta(top).upper <= 1e-300


def test_losses_that_are_close_in_double_precision_are_kept_apart():
    """Two ratios differ by 1e-25. Between their losses delta is that of the larger one alone."""
    ratio = [2 + Fraction(k, 10**25) for k in range(2)]
    p = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    q = [p[0] / ratio[0], p[1] / ratio[1]]
    pair = Atoms(p, [*q, 1 - sum(q)])
    with precision(256):
        middle = (flint.arb(ratio[0].numerator) / ratio[0].denominator).log() + flint.arb("0.2e-25")
        value = finite_profile([(pair, 1)], 9)(middle.mid())
    with mpmath.workdps(DIGITS):
        point = mpmath.log(2) + mpmath.mpf("0.2e-25")
        exact = mpmath.mpf(1) / 4 * (1 - mpmath.exp(point) / number(ratio[1]))
        assert abs(mpmath.mpf(value.mid().str(60, radius=False)) - exact) <= exact * mpmath.mpf(10) ** -40


@rows("leak", ["0", "1/1000"])
def test_unlikely_outcomes_are_left_out_with_their_probability(leak):
    """Of 2,001 outcomes, those beyond 43 deviations are left out. The truth is the sum of all binomial terms."""
    count, lost = 2000, Fraction(leak)
    p, q = (1 - lost) * Fraction(3, 4), (1 - lost) * Fraction(1, 4)
    pair = Atoms([p, q, lost, 0], [q, p, 0, lost])
    with mpmath.workdps(60):
        unit, one, two = mpmath.log(3), number(p), number(q)
        infinite = 1 - (1 - number(lost)) ** count
        terms = [
            (unit * (2 * k - count), mpmath.binomial(count, k) * one**k * two ** (count - k))
            for k in range(count + 1)
        ]
        for epsilon in (0, 500, 1098, 1200, 1500):
            exact = infinite + mpmath.fsum(
                m * (1 - mpmath.exp(epsilon - loss)) for loss, m in terms if loss > epsilon
            )
            found = composed(count, pair).delta(epsilon)
            assert found.lower <= exact + mpmath.mpf(10) ** -50 * exact
            assert found.upper >= exact - mpmath.mpf(10) ** -50 * exact
            assert found.relative_width <= 5e-16
    with precision(128):
        law = pair.outcomes().power(count)
        assert len(law.masses) < count
        assert abs(sum(law.masses, law.infinite) - 1) < 1e-30


@pytest.mark.parametrize("count", [1, 2, 5])
def test_powers_of_spaced_and_of_listed_outcomes_agree(count):
    with precision(160):
        masses = [flint.arb(k) / 10 for k in (1, 2, 3, 4)]
        spaced = Spaced(flint.arb(1) / 3, -3, 2, masses, flint.arb(1) / 8)
        other = Listed(spaced.losses, masses, spaced.infinite)
        one, two = spaced.power(count), other.power(count)
        for place, mass in zip(one.losses, one.masses, strict=True):
            same = [m for loss, m in zip(two.losses, two.masses, strict=True) if abs(loss - place) < 0.1]
            assert abs(sum(same, flint.arb(0)) - mass) < 1e-40
        assert len(one.masses) == Support(4, spaced=True).composed(count)
        assert len(two.masses) == Support(4, spaced=False).composed(count)
        assert (
            abs(one.infinite - (1 - (1 - flint.arb(1) / 8) ** count))
            < 1e-40
            > abs(two.infinite - one.infinite)
        )


def test_atoms_of_one_ratio_are_equally_spaced():
    assert truthful_response("3/4", 3).support == Support(3, spaced=True)
    assert truthful_response("3/4").support == Support(2, spaced=True)
    assert Atoms(*THIRDS).support == Support(3, spaced=False)
    assert Atoms(["1/2", "1/2"], ["1/2", "1/2"]).support == Support(1, spaced=True)
    assert Atoms([1, 0], [0, 1]).support is None
    assert composed(10**9, Atoms([1], [1])).delta(0).upper == 0


def test_an_answered_guarantee_can_be_pickled():
    loss = PrivacyLoss(
        [[(Geometric("0.3", 2), 3)], [(VisibleChoice((("1/2", Geometric(1)), ("1/2", Nothing()))), 1)]]
    )
    found = loss.epsilon("1e-6")
    assert pickle.loads(pickle.dumps(loss)).epsilon("1e-6") == found
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_many_atoms_are_recognised_as_powers_of_one_ratio():
    """The ratios are the 4j-th powers of 21/20, j = -10 .. 10. A shift of 1e-30 makes the list irregular."""
    base, powers = Fraction(21, 20), range(-20, 21, 2)
    total = sum(base**k for k in powers)
    p, q = [base**k / total for k in powers], [base**-k / total for k in powers]
    assert Atoms(p, q).support == Support(21, spaced=True)
    gap = Atoms([*p[:3], p[3], 0, *p[4:]], [*q[:3], 0, q[3], *q[4:]])  # the fourth loss is infinite instead
    assert gap.support == Support(21, spaced=True)
    moved = [p[0] + Fraction(1, 10**30), p[1] - Fraction(1, 10**30), *p[2:]]
    assert Atoms(moved, q).support == Support(21, spaced=False)


def test_a_pair_with_a_density_has_no_outcomes():
    assert finite_profile([(Geometric(1), 1), (SubsampledGaussian(0.5, 1.0), 1)], 10**5) is None
    assert finite_profile([(Geometric(1), 10**5)], 10**5) is None
    assert finite_profile([(ShiftedBinomial(10**6, "1/2"), 3)], 10**5) is None


@pytest.mark.slow
@rows(
    ("pair", "count", "delta", "width"),
    [
        (lambda: Geometric("0.0572", 2), 1000, "4.68e-6", 1e-9),
        (lambda: Geometric("0.5", 2), 1000, "1e-6", 1e-9),
        (lambda: Geometric(5, 3), 1000, "1e-9", 1e-7),
        (lambda: truthful_response("0.9999994", 5), 1500, "4.68e-6", 1e-9),
        (lambda: truthful_response("0.6", 4), 1500, "1e-6", 1e-9),
        (lambda: DiscreteGaussian("0.04"), 200, "1e-6", 1e-9),
        (lambda: DiscreteGaussian(4), 20, "1e-6", 1e-7),
    ],
)
def test_an_aligned_grid_agrees_with_the_list(pair, count, delta, width):
    """The grid has the spacing of the losses, so it rounds no loss; both routes enclose one number."""
    low, high = epsilon_by_grid([(pair(), count)], Fraction(delta))
    found = composed(count, pair()).epsilon(delta)
    assert found.relative_width <= 1e-15
    assert low <= found.upper
    assert found.lower <= high
    assert high - low <= width * high or math.isinf(high)


def test_the_grid_of_few_losses_is_small():
    """Before the step was aligned, this composition was refused, for a grid of 5.4e8 points."""
    parts = [(Geometric("0.0572", 2), 10**5)]
    planned = plan(parts, delta=4.68e-6, accuracy=1e-6, points=2**20)
    assert planned.window.size <= 2**20
    ratio = Geometric("0.0572", 2).lattice / planned.step
    assert ratio == pytest.approx(round(ratio), rel=1e-13)
    with pytest.raises(GridTooLargeError):  # two lattices without a common spacing
        plan([*parts, (Geometric("0.0573", 2), 10**5)], delta=4.68e-6, accuracy=1e-6, points=2**20)


@pytest.mark.parametrize("failure", [OverflowError("too large"), (math.nan, 1.0), (0.0, math.nan)])
def test_a_grid_whose_numbers_overflow_gives_way_to_the_list(failure, monkeypatch):
    def broken(parts, target):
        if isinstance(failure, OverflowError):
            raise failure
        return failure

    monkeypatch.setattr(notion, "delta_by_grid", broken)
    monkeypatch.setattr(notion.Coarse, "of", _inapplicable)
    listed = composed(3000, RandomisedResponse(3, 3)).delta(7600)  # 6,001 outcomes
    assert 0 < listed.lower <= listed.upper < 1
    assert listed.relative_width <= 1e-15
    with pytest.raises(GridTooLargeError, match="too large for a grid in double precision"):
        PrivacyLoss([[(Laplace(1.0), 300)]]).delta(1)  # more than have a closed form


def _inapplicable(*_):
    raise Inapplicable("not here")


@pytest.mark.slow
def test_many_outcomes_are_listed_if_the_grid_is_wide():
    """100 discrete Gaussians at delta 1e-300: rounding hides delta on every grid, the list has 41,000 outcomes."""
    found = composed(100, DiscreteGaussian(25)).epsilon("1e-300")
    assert found.relative_width <= 1e-15
    gaussian = composed(100, SubsampledGaussian(1.0, 5.0)).epsilon("1e-300")
    assert found.upper == pytest.approx(gaussian.upper, rel=1e-3)
