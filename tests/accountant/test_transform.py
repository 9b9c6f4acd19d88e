"""The Fourier transform against Arb's exact one, its bound, and a control with a damaged table."""

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers import transform
from dpproof.accountant.numbers.enclosures import precision

LENGTHS = [2, 4, 8, 16, 32, 64, 256, 1024, 4096]


def sequences(n):
    rng = np.random.default_rng(n)
    yield rng.normal(size=n)
    yield rng.exponential(size=n) ** 8
    yield np.exp(-np.arange(n) / 3.0)
    yield np.ones(n)


def exact_spectrum(x):
    return flint.acb.dft([flint.acb(float(value)) for value in x])


def error_of_spectrum(half, exact):
    """The norms of the error of all entries and of the exact spectrum."""
    n = len(exact)
    whole = [complex(half[k]) if 2 * k <= n else complex(half[n - k]).conjugate() for k in range(n)]
    wrong = sum(
        (abs(flint.acb(ours) - other) ** 2 for ours, other in zip(whole, exact, strict=True)), flint.arb(0)
    )
    size = sum((abs(other) ** 2 for other in exact), flint.arb(0))
    return float(wrong.sqrt()), float(size.sqrt())


def forward_error(x):
    with precision(128):
        wrong, size = error_of_spectrum(transform.half_spectrum(x), exact_spectrum(x))
    return wrong / size


@pytest.mark.parametrize("n", LENGTHS)
def test_the_error_is_below_its_bound_and_the_bound_is_not_loose(n):
    errors = [forward_error(x) for x in sequences(n)]
    bound = transform.relative_error(n)
    assert max(errors) <= bound <= 40 * max(errors)
    assert bound <= (4 * np.log2(n) + 10) * 2.0**-53


@pytest.mark.parametrize("n", LENGTHS)
def test_the_inverse_keeps_its_bound(n):
    """The exact inverse of a spectrum of doubles is Arb's, up to the order and a factor."""
    for x in sequences(n):
        half = transform.half_spectrum(x)
        found = transform.from_half_spectrum(half)
        with precision(128):
            half[[0, -1]] = half[[0, -1]].real
            whole = [*half, *np.conj(half[-2:0:-1])]
            exact = [
                value.real / n
                for value in flint.acb.dft([flint.acb(complex(value)).conjugate() for value in whole])
            ]
            wrong = sum(
                ((flint.arb(float(a)) - b) ** 2 for a, b in zip(found, exact, strict=True)), flint.arb(0)
            )
            size = sum((b**2 for b in exact), flint.arb(0))
            assert float((wrong / size).sqrt()) <= transform.relative_error(n)


def test_twiddle_factors_err_by_less_than_is_charged():
    """Every factor of the largest direct table, and some of the largest product table."""
    with precision(200):
        for n, charged, step in ((2**11, transform._DIRECT, 1), (2**20, transform._MADE, 4099)):
            roots = transform._roots(n, n)
            for j in range(0, n, step):
                exact = flint.acb(flint.fmpq(-2 * j, n)).exp_pi_i()
                assert abs(flint.acb(complex(roots[j])) - exact) < charged


@pytest.mark.parametrize("table", ["_pass_twiddles", "_crossing", "_half_twiddles"])
def test_a_damaged_table_is_noticed(table, monkeypatch):
    """One factor of a table is wrong by 1e-13, which is 900 u."""
    original = getattr(transform, table)

    def damaged(*sizes):
        found = original(*sizes)
        changed = [np.array(part) for part in (found if isinstance(found, tuple) else (found,))]
        changed[-1].reshape(-1)[-2] *= 1 + 1e-13
        return tuple(changed) if isinstance(found, tuple) else changed[0]

    monkeypatch.setattr(transform, table, damaged)
    errors = [forward_error(x) for x in sequences(64)]
    assert max(errors) > transform.relative_error(64)


def test_scale_and_tiny_entries_change_nothing():
    x = np.random.default_rng(7).normal(size=512)
    assert np.array_equal(transform.half_spectrum(x * 2.0**-700), transform.half_spectrum(x) * 2.0**-700)
    assert np.abs(transform.half_spectrum(np.full(8, 5e-324))).max() < transform.UNDERFLOW


@pytest.mark.parametrize("n", [0, 1, 3, 12])
def test_other_lengths_are_rejected(n):
    with pytest.raises(ValueError, match="must be a power of two from 2"):
        transform.half_spectrum(np.ones(n))
