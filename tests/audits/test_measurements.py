"""OpenDP's measurements: their maps accounted for, their code audited."""

from __future__ import annotations

import pytest

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, PureDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.call import audit

dp = pytest.importorskip("opendp.prelude", reason="the extra release is not installed")

from dpproof.accountant.interop.opendp import guarantee_of_measurement  # noqa: E402 (needs OpenDP)
from dpproof.audits.engine.sampling.callables import measurement_mechanism  # noqa: E402

PAIR = Neighbours(0.0, 1.0, "at most 1 apart", "0 or 1", lambda _first, _second: None)


@pytest.fixture(scope="module")
def make():
    dp.enable_features("contrib")
    numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return {
        "laplace": lambda scale: dp.m.make_laplace(*numbers, scale=scale),
        "gaussian": lambda scale: dp.m.make_gaussian(*numbers, scale=scale),
    }


def test_maps_become_guarantees(make):
    assert guarantee_of_measurement(make["laplace"](2.0), 1.0) == PureDP(0.5)
    assert guarantee_of_measurement(make["gaussian"](2.0), 1.0) == ZCDP(0.125)
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(make["gaussian"](2.0)), delta=1e-6)
    found = guarantee_of_measurement(fixed, 1.0)
    assert isinstance(found, ApproxDP)
    # Our conversion of the same rho is at least as tight as theirs.
    assert ZCDP(0.125).epsilon("1e-6").upper <= found.epsilon("1e-6").upper


def test_a_profile_is_refused(make):
    with pytest.raises(ValueError, match="use make_fix_delta first"):
        guarantee_of_measurement(dp.c.make_zCDP_to_approxDP(make["gaussian"](2.0)), 1.0)


@pytest.mark.slow
def test_their_code_keeps_their_promise_and_half_its_noise_does_not(make):
    # alpha .01, 20 000 samples; the noise is not seeded, so a sound run fails once in a hundred million.
    claim = guarantee_of_measurement(make["laplace"](1.0), 1.0)
    for scale, violated in ((1.0, False), (0.5, True)):
        noisy = measurement_mechanism(make["laplace"](scale))
        found = audit("OpenDP", claim, noisy, PAIR, seed=0, budget=20_000, alpha=1e-8)
        assert found.verdict.violated == violated
