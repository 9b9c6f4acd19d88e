"""The elementary functions of the running numpy, against Arb: every bound charges them 4 ulp."""

import math

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import precision

RNG = np.random.default_rng(20260)
COUNT = 3000


def spread(low, high):
    """Both signs, magnitudes log-uniform."""
    size = np.exp(RNG.uniform(math.log(low), math.log(high), COUNT))
    return size * RNG.choice([-1.0, 1.0], COUNT)


POSITIVE = np.abs(spread(1e-300, 1e300))
FUNCTIONS = {
    "exp": (np.exp, flint.arb.exp, spread(1e-12, 700)),
    "expm1": (np.expm1, flint.arb.expm1, spread(1e-12, 700)),
    "log": (np.log, flint.arb.log, POSITIVE),
    "log1p": (np.log1p, flint.arb.log1p, np.concatenate([POSITIVE, -np.abs(spread(1e-300, 0.999999))])),
    "sin": (np.sin, flint.arb.sin, spread(1e-12, 1e9)),
    "cos": (np.cos, flint.arb.cos, spread(1e-12, 1e9)),
}


def ulps(found, exact):
    return abs(float((flint.arb(float(found)) - exact) / exact)) * 2.0**52


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_four_ulp(name):
    ours, reference, points = FUNCTIONS[name]
    found = ours(points)  # as an array: the vectorised loops are what the accountant uses
    with precision(200):
        worst = max(ulps(f, reference(flint.arb(float(x)))) for f, x in zip(found, points, strict=True))
    assert worst <= 4


def test_angle_and_length_are_within_four_ulp():
    x, y = spread(1e-9, 1e3), spread(1e-9, 1e3)
    with precision(200):
        for a, b, angle, length in zip(x, y, np.arctan2(y, x), np.hypot(x, y), strict=True):
            u, v = flint.arb(float(a)), flint.arb(float(b))
            assert ulps(angle, flint.arb.atan2(v, u)) <= 4
            assert ulps(length, (u * u + v * v).sqrt()) <= 4


def test_a_wrong_function_is_noticed():
    with precision(200):
        assert ulps(np.exp(1.0) * (1 + 2e-15), flint.arb(1).exp()) > 4
