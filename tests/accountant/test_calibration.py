"""Calibration: both ends certified whatever the accuracy, and typed refusals."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import NoNoiseNeededError, UnreachableTargetError, calibrate_noise
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.inversion import neighbours_of
from tests.rows import rows


@dataclass(frozen=True)
class Noise(Parameters):
    """Noise on a scale of its own."""

    sigma: float = parameter(Reals(0, lower_open=True), "1", "noise", 1.0)


@dataclass(frozen=True)
class Users(Parameters):
    """Noise that comes in whole users."""

    users: int = parameter(Integers(1, 10**9), "users", "users", 1)


@dataclass(frozen=True)
class Blurred(Profile):
    """A guarantee known to a relative accuracy only, as a numerical one is; it counts its evaluations."""

    exact: GaussianDP
    blur: float
    asked: list

    def _delta_at(self, point):
        self.asked.append(point)
        bound = self.exact.delta(point)
        return Bound(bound.lower * (1 - self.blur), min(bound.upper * (1 + self.blur), 1.0))


@rows("blur", [0.0, 1e-12, 1e-9, 1e-6, 1e-2])
@rows("start", [1e-3, 1.0, 1e4])
@rows(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-30"), ("50", "1e-5"), ("0", "1e-3")])
def test_the_least_noise_is_certified_from_both_sides(blur, start, epsilon, delta):
    asked = []
    meets, misses = calibrate_noise(
        Noise(start),
        "sigma",
        lambda p: Blurred(GaussianDP(30 / Fraction(p.sigma)), blur, asked),
        epsilon,
        delta,
    )
    target, failure = Fraction(epsilon), Fraction(delta)
    assert GaussianDP(30 / Fraction(meets.sigma)).delta(target).upper <= failure
    assert GaussianDP(30 / Fraction(misses.sigma)).delta(target).lower > failure
    low, high = gaussian_mu(target, failure)
    assert misses.sigma <= 30 / low * (1 + 1e-15)
    assert meets.sigma >= 30 / high * (1 - 1e-15)
    assert 0 < meets.sigma - misses.sigma <= max(1e-9, 20 * blur) * meets.sigma
    assert len(asked) <= 30


def test_whole_noise_comes_out_as_neighbouring_numbers():
    meets, misses = calibrate_noise(
        Users(1), "users", lambda p: GaussianDP(1000 / Fraction(p.users)), 1, "1e-6"
    )
    assert meets.users == misses.users + 1
    assert GaussianDP(1000 / Fraction(meets.users)).delta(1).upper <= 1e-6
    assert GaussianDP(1000 / Fraction(misses.users)).delta(1).lower > 1e-6


@pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
def test_less_may_be_more_private(start):
    meets, misses = calibrate_noise(
        Noise(start), "sigma", lambda p: GaussianDP(Fraction(p.sigma)), 1, "1e-6", safer=-1
    )
    low, high = gaussian_mu(Fraction(1), Fraction(1, 10**6))
    assert low * (1 - 1e-9) <= meets.sigma <= high
    assert low <= misses.sigma <= high * (1 + 1e-9)


def test_pure_privacy_is_a_target_too():
    meets, misses = calibrate_noise(Noise(), "sigma", lambda p: PureDP(100 / Fraction(p.sigma)), "0.1", 0)
    assert 100 / Fraction(meets.sigma) <= Fraction(1, 10) < 100 / Fraction(misses.sigma)
    assert meets.sigma - misses.sigma <= 1e-6


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (0, 0), ("1e-300", "1e-300")])
def test_what_no_noise_reaches_is_refused(epsilon, delta):
    with pytest.raises(UnreachableTargetError, match=r"cannot be met. Even sigma = .* is not enough"):
        calibrate_noise(Noise(), "sigma", lambda p: GaussianDP(1 / Fraction(p.sigma)), epsilon, delta)


def test_what_needs_no_noise_is_refused():
    with pytest.raises(NoNoiseNeededError, match="needs almost no noise"):
        calibrate_noise(Noise(), "sigma", lambda _p: GaussianDP(0), 1, "1e-6")
    with pytest.raises(NoNoiseNeededError, match="users = 1, already meets"):
        calibrate_noise(Users(7), "users", lambda p: GaussianDP(Fraction(1, 100 * p.users)), 1, "1e-6")


@dataclass(frozen=True)
class Silent(Profile):
    """A guarantee whose lower end says nothing above some delta."""

    exact: GaussianDP
    limit: float

    def _delta_at(self, point):
        bound = self.exact.delta(point)
        return bound if bound.upper < self.limit else Bound(0.0, bound.upper)


def test_a_lower_end_of_0_does_not_mislead_the_search():
    meets, misses = calibrate_noise(
        Noise(0.01), "sigma", lambda p: Silent(GaussianDP(1 / Fraction(p.sigma)), 0.01), 1, "1e-5"
    )
    assert f"{misses.sigma:.6f}" == "3.730632" == f"{meets.sigma:.6f}"


def test_a_certificate_far_from_the_least_noise_is_none():
    with pytest.raises(ArithmeticError, match="too wide to find the least noise"):
        calibrate_noise(
            Noise(1.0), "sigma", lambda p: Blurred(GaussianDP(1 / Fraction(p.sigma)), 0.9, []), 0, "1e-5"
        )


@pytest.mark.parametrize("error", [ArithmeticError, MemoryError])
def test_where_the_guarantee_gives_up_the_search_goes_on(error):
    def giving_up(chosen):
        if chosen.sigma > 5:
            raise error("delta is too small to tell")
        return GaussianDP(1 / Fraction(chosen.sigma))

    meets, misses = calibrate_noise(Noise(100.0), "sigma", giving_up, 1, "1e-5")
    assert f"{misses.sigma:.6f}" == "3.730632" == f"{meets.sigma:.6f}"


def test_what_the_guarantee_does_not_decide_is_not_certified():
    with pytest.raises(ArithmeticError, match="too wide to decide"):
        calibrate_noise(Noise(), "sigma", lambda _p: Blurred(GaussianDP(1), 1.0, []), 1, "1e-1")


@pytest.mark.parametrize(
    ("epsilon", "delta", "says"),
    [
        (math.nan, 0.1, r"epsilon \(nan\) must be a finite number"),
        (math.inf, 0.1, r"epsilon \(inf\) must be a finite number"),
        (-1, 0.1, r"epsilon \(-1.0\) must be at least 0"),
        (1, 1, r"delta \(1.0\) must be in \[0, 1\)"),
        (1, -0.1, r"delta \(-0.1\) must be in \[0, 1\)"),
        (1, math.nan, r"delta \(nan\) must be a finite number"),
    ],
)
@pytest.mark.parametrize("name", ["gaussian", "dp-sgd"])
def test_bad_targets_are_refused(name, epsilon, delta, says):
    accountant = accountant_for(name)
    given_ = {
        "gaussian": {"sigma": 1.0},
        "dp-sgd": {"sampling_rate": 0.1, "noise_multiplier": 1.0, "steps": 9},
    }
    with pytest.raises(ValueError, match=says):
        accountant.least_noise(accountant.parameters.read(given_[name]), Adjacency.ADD_REMOVE, epsilon, delta)


@given(st.fractions(0, 10**6))
def test_a_number_lies_between_its_neighbours(value):
    low, high = neighbours_of(value)
    assert Fraction(low) <= value < Fraction(high)
    assert math.nextafter(low, math.inf) == high


def test_training_is_calibrated_to_six_digits():
    accountant = accountant_for("dp-sgd")
    start = accountant.parameters(0.01, 1.0, 1000)
    meets, misses = accountant.least_noise(start, Adjacency.ADD_REMOVE, 1, "1e-6")
    assert f"{meets.noise_multiplier:.6f}" == "1.562666" == f"{misses.noise_multiplier:.6f}"
    ends = [accountant.account(p, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6") for p in (meets, misses)]
    assert ends[0].upper <= 1 < ends[1].lower
