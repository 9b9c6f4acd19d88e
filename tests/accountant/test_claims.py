"""Claims: refusals by message, promises by the notion they are read as."""

import math

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
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
    with pytest.raises(ValueError, match="must be epsilon with delta, or rho, or mu"):
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
    with pytest.raises(ValueError, match=rf"^{field} \(.*\) must be text that is not empty"):
        claim({"rho": 1.0}, **{field: value})
