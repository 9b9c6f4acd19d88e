"""The words of a claim: relations, trust, parameters and their domains.

Claims: refusals by message, promises by the notion they are read as.

Trust models: the billboard lemma speaks of a billboard and of nothing else.

Parameters: each refusal names the value and the rule.
"""

import math

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.parameters import Domain, Integers, Reals
from dpproof.accountant.claims.trust import BILLBOARD, TrustModel, billboard
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from tests.rows import rows


def claim(promise, **changes):
    fields = {"name": "ward", "mechanism": "rlsvi", "parameters": {}, "adjacency": Adjacency.REWARDS_ONLY}
    return Claim(**{**fields, "promise": promise, **changes})


def test_a_promise_is_read_as_its_notion():
    pure, approximate, curve = claim({"epsilon": 2}), claim({"epsilon": 2, "delta": 0.1}), claim({"mu": 1.0})
    assert pure.guarantee == ApproxDP(2, 0.0)
    assert (pure.delta, pure.epsilon) == (0.0, 2.0)
    assert (approximate.delta, approximate.epsilon) == (0.1, 2.0)
    assert curve.guarantee == GaussianDP(1.0)
    assert curve.epsilon == GaussianDP(1.0).epsilon(1e-6).upper


@pytest.mark.parametrize("promise", [{}, {"delta": 0.1}, {"rho": 1, "mu": 1}, {"epsilon": 1, "sigma": 1}])
def test_other_promises_are_refused(promise):
    with pytest.raises(ValueError, match="must give either epsilon and delta, or rho, or mu"):
        claim(promise)


@rows("value", [math.nan, math.inf, -1, "1", None, True, 10**400])
@rows("notion", ["epsilon", "rho", "mu"])
def test_a_promise_is_a_finite_number_of_at_least_0(notion, value):
    with pytest.raises(ValueError, match=rf"^{notion} \(.*\) must be"):
        claim({notion: value})


@pytest.mark.parametrize("value", [-1e-9, 1, 2.0, math.nan])
def test_a_promised_delta_is_in_its_interval(value):
    with pytest.raises(ValueError, match=r"^delta \(.*\) must be"):
        claim({"epsilon": 1.0, "delta": value})


@pytest.mark.parametrize("field", ["name", "mechanism"])
@pytest.mark.parametrize("value", ["", "  ", None, 3])
def test_names_are_text(field, value):
    with pytest.raises(ValueError, match=rf"^{field} \(.*\) must be non-empty text"):
        claim({"rho": 1.0}, **{field: value})


def test_a_central_billboard_gives_joint_privacy():
    assert billboard(TrustModel.CENTRAL) is TrustModel.JOINT
    assert BILLBOARD.statement == "rlsvi.lemma9"


@pytest.mark.parametrize("model", [model for model in TrustModel if model is not TrustModel.CENTRAL])
def test_other_models_are_refused(model):
    with pytest.raises(ValueError, match=rf"\('{model.value}'\) must be 'central'"):
        billboard(model)


@pytest.mark.parametrize("name", ["", "rewards_only", "REPLACE", "swap"])
def test_an_unknown_adjacency_is_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"must be one of: add-remove, replace, rewards-only, expert"):
        Adjacency.of(name)


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
    with pytest.raises(ValueError, match=r"'horizon'\) is missing. Give an integer at least 1"):
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
