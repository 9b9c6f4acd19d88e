"""Parameters: each refusal names the value and the rule."""

import math

import pytest

from dpproof.accountant.claims.parameters import Domain, Integers, Reals
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from tests.rows import rows

SIZES = {"states": 6, "actions": 2, "horizon": 20, "episodes": 1000}


@rows("name", SIZES)
@rows("value", [0, -1, 1.0, math.nan, True, "6", None])
def test_a_size_is_a_whole_number_from_1_on(name, value):
    with pytest.raises(ValueError, match=rf"^{name} \(.*\) must be an integer at least 1$") as caught:
        RLSVIParameters(**{**SIZES, name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, False, "1", None, 10**400])
def test_noise_is_a_number_above_0(value):
    with pytest.raises(ValueError, match=r"^beta_scale \(.*\) must be a number above 0$"):
        RLSVIParameters(**SIZES, beta_scale=value)


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf, True])
def test_clip_is_a_number_from_0_on_or_left_out(value):
    assert RLSVIParameters(**SIZES, clip=None).clip is None
    with pytest.raises(ValueError, match=r"^clip \(.*\) must be a number at least 0$"):
        RLSVIParameters(**SIZES, clip=value)


def test_a_huge_whole_number_is_judged_not_converted():
    assert Integers(1).admits(10**400)
    assert not Reals(0).admits(10**400)
    assert not Integers(1, 10).admits(10**400)


def test_reading_names_what_is_missing_or_unknown():
    assert RLSVIParameters.read(SIZES) == RLSVIParameters(6, 2, 20, 1000)
    with pytest.raises(ValueError, match=r"'horizon'\) is missing; it must be an integer at least 1"):
        RLSVIParameters.read({"states": 6, "actions": 2, "episodes": 1})
    with pytest.raises(ValueError, match=r"'sigma'\) must be one of: states, actions, horizon"):
        RLSVIParameters.read({**SIZES, "sigma": 1.0})


def test_json_leaves_out_what_was_left_out():
    assert RLSVIParameters(**SIZES).as_json() == {**SIZES, "beta_scale": 1.0}
    assert RLSVIParameters(**SIZES, clip=0.0).as_json()["clip"] == 0.0


@pytest.mark.parametrize(
    ("domain", "inside", "outside", "text"),
    [
        (Reals(0, 1), (0, 0.5, 1), (-0.1, 1.1, math.nan), "a number in [0, 1]"),
        (Reals(0, 1, lower_open=True, upper_open=True), (1e-300, 0.5), (0, 1), "a number in (0, 1)"),
        (Integers(2, 5), (2, 5), (1, 6, 3.0), "an integer in [2, 5]"),
        (Domain(lower_open=True), (-5, 5.0), (math.inf, math.nan), "a number above -inf"),
    ],
)
def test_domains_admit_what_they_say(domain, inside, outside, text):
    assert all(domain.admits(value) for value in inside)
    assert not any(domain.admits(value) for value in outside)
    assert str(domain) == text


@pytest.mark.parametrize("value", [-1e-300, 1, 1.5, math.nan, math.inf])
def test_probabilities_outside_are_refused(value):
    rule = r"in \[0, 1\)" if math.isfinite(value) else "a finite number"
    with pytest.raises(ValueError, match=rf"chance \(.*\) must be {rule}"):
        below_one(value, "chance")


@pytest.mark.parametrize("value", [0, 1e-300, 0.999])
def test_probabilities_inside_are_not(value):
    below_one(value)
