"""What Opacus computes from the number of records, and the guarantee of a step that divides by it, by brute force."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.interop.opacus_sizes import Step, batches, divisor, full_batch, full_batch_steps
from tests.rows import rows


@pytest.mark.filterwarnings("ignore")  # Opacus and torch warn of their own settings
@rows("records", [1, 7, 63, 64, 65, 3_136, 49_999, 50_000, 50_001, 60_000])
def test_the_divisor_is_what_opacus_computes(records):
    opacus = pytest.importorskip("opacus")
    import torch

    data = torch.utils.data.TensorDataset(torch.zeros(records, 1))
    model = torch.nn.Linear(1, 1)
    _, optimizer, loader = opacus.PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=torch.utils.data.DataLoader(data, batch_size=64),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    assert optimizer.expected_batch_size == divisor(records, 64)
    assert len(loader) == batches(records, 64)


def _line(noise, first, second, epsilon):
    """Delta of two one-dimensional releases, each a pair of a mean and a divisor, in both directions.

    A sum over a fine grid differs from the integral by less than 1e-6 of it.
    """
    reach = 1 + 12 * noise / min(first[1], second[1])
    points = np.linspace(-reach, reach, 100_001)
    p, q = (stats.norm.pdf(points, mean, noise / over) for mean, over in (first, second))
    excess = (np.maximum(one - math.exp(epsilon) * two, 0).sum() for one, two in ((p, q), (q, p)))
    return max(excess) * (points[1] - points[0])


@rows("noise, records", [(2.0, 3), (5.0, 10), (1.0, 40)])
def test_a_full_batch_covers_all_sums_of_all_neighbours(noise, records):
    """All extreme sums of both neighbours, for some sizes from the least one on, with numerical integrals."""
    guarantee = full_batch(noise, records, 1)
    worst = 0.0
    for size in (records + 1, records + 2, 4 * records):
        for others in (1 - size, -1, 0, size - 1):
            for own in (-1, 1):
                pair = ((others + own) / size, size), (others / (size - 1), size - 1)
                worst = max(worst, _line(noise, *pair, 0.5))
    assert worst <= guarantee.delta(0.5).upper * (1 + 1e-6)
    assert worst > 0.9 * guarantee.delta(0.5).lower
    assert worst > 2 * GaussianDP(1 / noise).delta(0.5).upper  # what Opacus reports


def _between_roots(mean, p, q, epsilon):
    """Delta of N(mean, p^2) and N(0, q^2): the loss is a parabola, so it exceeds epsilon on one side of two roots."""
    bend, slope = (q**-2 - p**-2) / 2, mean / p**2
    start = mpmath.log(q / p) - mean**2 / (2 * p**2) - epsilon
    root = slope**2 - 4 * bend * start
    if root <= 0:
        return mpmath.mpf(0)
    ends = sorted((-slope + side * mpmath.sqrt(root)) / (2 * bend) for side in (-1, 1))
    inside = [
        mpmath.erfc((ends[0] - at) / (mpmath.sqrt(2) * scale)) / 2
        - mpmath.erfc((ends[1] - at) / (mpmath.sqrt(2) * scale)) / 2
        for at, scale in ((mean, p), (0, q))
    ]
    sign = 1 if bend < 0 else -1
    rest = 0 if bend < 0 else 1 - mpmath.exp(epsilon)
    return rest + sign * (inside[0] - mpmath.exp(epsilon) * inside[1])


@rows(
    "noise, records, epsilon",
    [
        ("0.5", 1, 50),
        (1, 1, 1_000),
        (10, 1, 1),
        ("1e8", 1, 5),
        ("1e8", 2, 50),
        (10, 3, 1),
        ("1e8", 1_000, "0.1"),
    ],
)
def test_both_ends_of_a_full_batch_enclose_its_exact_value(noise, records, epsilon):
    """The log ratio is no double. Rounded up only, it moved the lower ends above the exact value."""
    found = full_batch(noise, records, 1).delta(epsilon)
    with mpmath.workdps(1_000):
        shift, wide, point = 2 / mpmath.mpf(noise), mpmath.mpf(records + 1) / records, mpmath.mpf(epsilon)
        exact = max(
            _between_roots(shift, p, q, point) for p, q in ((wide, mpmath.mpf(1)), (mpmath.mpf(1), wide))
        )
        assert found.lower <= exact <= found.upper
        assert found.upper <= found.lower * (1 + 1e-12)


def test_a_refused_number_of_weights_is_named():
    for refused in (lambda: full_batch(1, 3, 2_000_000), lambda: Step(10, 5, 2_000_000, 2.0)):
        with pytest.raises(ValueError, match=r"weights \(2000000\) must be an integer in \[1, 10\^6\]"):
            refused()


def test_steps_compose_and_one_step_is_above_its_exact_value():
    one = full_batch_steps(20, 1_000, 10, 1).epsilon("1e-5").upper
    many = full_batch_steps(20, 1_000, 10, 50).epsilon("1e-5").upper
    assert full_batch(20, 1_000, 10).epsilon("1e-5").upper <= one < many


def _mixture(records, rate, noise, direction, batch_divisor, own):
    """Points, and the density on them, of a step whose other records all have one gradient."""
    points = np.linspace(-40, 40, 80_001)
    others = records - (own != 0)
    density = np.zeros_like(points)
    for drawn in range(2 if own else 1):
        share = (rate if drawn else 1 - rate) if own else 1.0
        for count, chance in enumerate(stats.binom(others, rate).pmf(np.arange(others + 1))):
            mean = (direction * count + drawn * own) / batch_divisor
            density += share * chance * stats.norm.pdf(points, mean, noise / batch_divisor)
    return points, density


@rows("direction, own", [(0, 1), (1, 1), (1, -1)])
def test_a_poisson_step_covers_the_worst_directions(direction, own):
    step = Step(records=10, batch_size=5, weights=1, noise_multiplier=2.0)
    assert step.divisors == (5, 4)
    points, larger = _mixture(10, 0.5, 2.0, direction, 5, own)
    _, smaller = _mixture(9, 0.5, 2.0, direction, 4, 0)
    width = points[1] - points[0]
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        both = ((larger, smaller), (smaller, larger))
        found = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() * width for p, q in both)
        assert found <= step.delta(epsilon).upper


def test_a_step_with_equal_divisors_has_the_accountant_s_guarantee():
    step = Step(records=13, batch_size=5, weights=1_000_000, noise_multiplier=2.0)
    assert step.divisors == (4, 4)
    assert step.delta(1).upper < 1e-3


def test_neighbours_with_different_rates_are_refused():
    with pytest.raises(ValueError, match="Their sampling rates differ"):
        Step(records=11, batch_size=5, weights=1, noise_multiplier=1.0)
