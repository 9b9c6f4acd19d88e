"""Rare jumps of DP-SGD, against Arb's own quadrature and against the convolution of two steps at 40 digits."""

import contextlib
import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.numbers.normal import log_upper_tail
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_moments import SubsampledGaussianCharacteristic as Loss
from dpproof.accountant.pairs.sampled_loss import Change, SoftCut
from dpproof.accountant.privacy_loss.by_inversion import epsilon_by_inversion
from dpproof.accountant.privacy_loss.jump_outlook import Outlook
from dpproof.accountant.privacy_loss.jumping_steps import JumpingSteps
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.rare_jumps import _on_two_lines, _without_far_jumps
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from dpproof.accountant.privacy_loss.single import epsilon_by_shares
from tests.quadrature import integral, loss_of
from tests.rows import rows

LOW = (12.0, 0.125, False, True)  # a cut of outputs below -12
LOSSES = [  # change, rate, sigma, c, cuts
    (Change.REMOVED, 1e-5, 0.6, 5.0, [(12.0, 0.125)]),
    (Change.REMOVED, 1e-5, 0.6, 7.0, [(12.0, 0.125), (7.0, 0.25)]),
    (Change.REMOVED, 9.45e-7, 2.79, 575.0, [(21.5, 0.125), (6.0, 0.25)]),
    (Change.REMOVED, 0.1, 1.5, 3.0, [(9.0, 0.25)]),
    (Change.REMOVED, 1e-3, 0.15, 0.3, [(19.0, 0.125), (13.0, 0.5)]),
    (Change.REMOVED, 3e-8, 40.0, 1e7, [(14.0, 0.02)]),
    (Change.REPLACED, 1e-5, 0.6, 5.0, [(12.0, 0.125), LOW, (7.0, 0.25)]),
    (Change.REPLACED, 3e-8, 40.0, 1e7, [(14.0, 0.02), (14.0, 0.02, False, True)]),
    (Change.REPLACED, 0.1, 1.5, 3.0, [(9.0, 0.25), (8.0, 0.125, False, True)]),
]
JUMPS = [  # change, rate, sigma, c, cuts, of which the last one keeps the jumps
    (Change.REMOVED, 1e-4, 0.8, 5.0, [(11.5, 0.125), (6.5, 0.05, True)]),
    (Change.REMOVED, 1e-6, 2.8, 20.0, [(15.0, 0.125), (6.0, 0.25, True)]),
    (Change.REPLACED, 1e-5, 0.6, 3.0, [(12.0, 0.125), LOW, (7.0, 0.25, True)]),
    (Change.REMOVED, 1e-3, 0.15, 0.3, [(19.0, 0.125), (13.0, 0.5, True)]),
]


@rows("y", [-30.0, -2.5, -0.0, 0.0, 0.7, 5.0, 38.9, 41.0, 3000.0])
def test_logarithms_of_tails_are_within_their_errors(y):
    value, error = log_upper_tail(np.array([y]))
    with precision(20_000 if abs(y) > 100 else 2_000):
        exact = ((flint.arb(y) / flint.arb(2).sqrt()).erfc() / 2).log()
        assert abs(flint.arb(float(value[0])) - exact) <= flint.arb(float(error[0]))
        assert error[0] <= 1e-15 * (4 + y * y)


@rows("y", [3000.0, 3e12, 1e60])
def test_logarithms_of_far_tails_are_between_the_ends_of_a_known_bracket(y):
    """phi(y) y/(1 + y^2) <= Q(y) <= phi(y)/y."""
    value, error = log_upper_tail(np.array([y]))
    with mpmath.workdps(160):
        least = (
            -(mpmath.mpf(y) ** 2) / 2
            - mpmath.log(2 * mpmath.pi) / 2
            + mpmath.log(y / (1 + mpmath.mpf(y) ** 2))
        )
        most = -(mpmath.mpf(y) ** 2) / 2 - mpmath.log(2 * mpmath.pi) / 2 - mpmath.log(y)
        assert least - float(error[0]) <= float(value[0]) <= most + float(error[0])


@rows(("change", "rate", "sigma", "c", "cuts"), LOSSES + JUMPS)
def test_the_mgf_of_a_part_is_within_its_error(change, rate, sigma, c, cuts):
    loss = loss_of(change, rate, sigma, cuts)
    found = loss.tilted(c)
    with precision(200):
        exact = integral(loss, flint.acb(c)).real.log()
        assert abs(flint.arb(found.log_mgf) - exact) <= flint.arb(found.log_mgf_error)
    assert found.log_mgf_error <= 1e-10 * (1 + abs(found.log_mgf))


@pytest.mark.slow
@rows(("change", "rate", "sigma", "c", "cuts"), LOSSES + JUMPS)
def test_the_characteristic_function_of_a_part_is_within_its_error(change, rate, sigma, c, cuts):
    loss = loss_of(change, rate, sigma, cuts)
    step = 2.0 ** math.floor(math.log2(c / 16))
    values, errors = loss.minus_one(c, step, 30)
    with precision(200):
        for place in (1, 11, 29):
            exact = integral(loss, flint.acb(c, place * step)) / integral(loss, flint.acb(c)) - 1
            assert abs(flint.acb(complex(values[place])) - exact) <= flint.arb(float(errors[place]))


@rows(("change", "rate", "sigma", "c", "cuts"), LOSSES)
def test_the_probability_of_a_jump_is_below_its_bound_and_close(change, rate, sigma, c, cuts):
    loss = loss_of(change, rate, sigma, [])
    for cut in loss_of(change, rate, sigma, cuts).cuts:
        with precision(600):
            exact = integral(loss, flint.acb(0), cut).real.log()
            bound = flint.arb(loss.log_jump_mass(cut))
            assert exact <= bound
            assert bound - exact <= flint.arb(1e-9)


@rows("times", [1, 3])
@rows("change", [Change.REMOVED, Change.REPLACED])
def test_the_mass_beyond_every_far_cut_is_charged(change, times, monkeypatch):
    """The cuts are so near that the bound fails if the mass of any of them is left out."""
    base = loss_of(change, 1e-3, 0.8, [])
    outlook = Outlook(base, times, 12.0)
    monkeypatch.setattr(outlook, "far_cuts", lambda *_: [(5.0, 1.5), (3.0, 0.03125)])
    kept, rest = _without_far_jumps(base, times, outlook, (1.0, None))
    masses = [times * math.exp(base.log_jump_mass(cut)) for cut in kept.cuts]
    assert len(masses) == (4 if change is Change.REPLACED else 2)
    with precision(200):
        dropped = 1 - integral(kept, flint.acb(0)).real ** times
        assert flint.arb(math.fsum(masses) - min(masses)) < dropped <= flint.arb(rest)
    assert rest < 1.01 * math.fsum(masses)


@pytest.mark.slow
@rows(("change", "rate", "sigma", "c", "cuts"), JUMPS)
def test_jumps_decay_at_least_as_proved(change, rate, sigma, c, cuts):
    jumps, times = loss_of(change, rate, sigma, cuts), c * np.array([0.5, 3.0, 20.0])
    bounds = jumps.tilted(c).beyond(times)
    assert (np.diff(bounds) < 0).all()
    with precision(200):
        whole = integral(jumps, flint.acb(c)).real
        for bound, time in zip(bounds, times, strict=True):
            for t in (time, 1.3 * time):
                assert abs(integral(jumps, flint.acb(c, t))) / whole <= flint.arb(float(bound)).exp()


def steps_of(change, rate, sigma, cuts, times):
    part, (*far, near) = (
        loss_of(change, rate, sigma, []),
        [SoftCut(*cut[:2], False, *cut[3:]) for cut in cuts],
    )
    for cut in far:
        part = part.bulk(cut)
    return part, JumpingSteps(part.bulk(near), part.jumps(near), times, 0.0)


@pytest.mark.slow
@rows(("change", "rate", "sigma", "c", "cuts"), JUMPS[:3])
def test_outcomes_with_a_jump_have_the_mgf_of_all_outcomes_less_that_of_the_bulk(
    change, rate, sigma, c, cuts
):
    step, places = 2.0 ** math.floor(math.log2(c / 8)), (0, 1, 7, 39)
    part, once = steps_of(change, rate, sigma, cuts, 1)
    with precision(400):
        whole, bulk = (
            [integral(x, flint.acb(c, place * step)) for place in places] for x in (part, once.bulk)
        )
        for times in (1, 2, 1000, 10**6):
            _, steps = steps_of(change, rate, sigma, cuts, times)
            line, (values, errors) = steps.line(c), steps.values(c, step, 40)
            exact = [one**times - other**times for one, other in zip(whole, bulk, strict=True)]
            assert abs(exact[0].real.log() - line.log_mgf) <= flint.arb(line.log_mgf_error)
            for place, true in zip(places, exact, strict=True):
                found = flint.acb(complex(values[place])).exp()
                assert abs(true / exact[0] - found) <= flint.arb(float(errors[place]))
            assert line.log_mgf_error < 1e-6
            assert errors[0] < 1e-6


def test_jumps_rarer_than_the_smallest_double_are_charged():
    """With one step the quotient is that of the jumps."""
    base, cut = loss_of(Change.REMOVED, 1e-9, 1.0, []), SoftCut(37.75, 0.125)
    values, errors = JumpingSteps(base.bulk(cut), base.jumps(cut), 1, 0.0).values(0.05, 64.0, 12)
    found, inexact = base.jumps(cut).minus_one(0.05, 64.0, 12)
    assert (np.abs(np.exp(values) - (1 + found)) <= errors + inexact + 1e-15).all()


def test_a_ratio_of_jumps_that_is_rounded_to_zero_has_no_quotient():
    """The quotient at t = 0 is 1 however rare jumps are. With a ratio of 0 it came out as 0."""
    base, cut = loss_of(Change.REMOVED, 1e-9, 1.0, []), SoftCut(39.5, 0.125)
    steps = JumpingSteps(base.bulk(cut), base.jumps(cut), 1, 0.0)
    assert steps.ratio(0.05)[0] == 0
    with pytest.raises(Inapplicable):
        steps.values(0.05, 64.0, 12)
    assert math.isfinite(steps.line(0.05).log_mgf)


@pytest.mark.slow
def test_losses_beyond_doubles_are_refused_or_bounded():
    """An accepted rate at which a tilt has no finite density."""
    step = SubsampledGaussian(7.797849275191991e-118, 0.11633267398025432)
    found = PrivacyLoss([[(step, 2)]]).epsilon("1e-280")
    assert 0 <= found.lower <= found.upper


@pytest.mark.slow
@rows(
    ("change", "rate", "sigma", "steps", "epsilon"),
    [
        (Change.REPLACED, 1e-4, 0.8, 200_000, 0.95),
        (Change.REMOVED, 1.0450822635495182e-06, 0.6255348246784423, 209487402, 0.2329854),
        (Change.REMOVED, 5.76e-9, 0.775, 15, 0.036),
    ],
)
def test_every_cut_gives_the_same_delta(change, rate, sigma, steps, epsilon):
    """The parts of delta differ from cut to cut, their sum must not."""
    part = loss_of(change, rate, sigma, [])
    outlook = Outlook(part, steps, 16.0)
    found = []
    for plan in outlook.plans(epsilon):
        with contextlib.suppress(Inapplicable):
            found.append(_on_two_lines(part, steps, outlook, plan).delta(epsilon))
    lows, highs = zip(*found, strict=True)
    assert len(found) > 1
    assert max(lows) <= min(highs)
    assert min(high - low for low, high in found) < 1e-6 * max(highs)


@rows(
    ("rate", "sigma", "change", "c"),
    [
        (0.05, 900.0, Change.REMOVED, 1e5),
        (0.05, 900.0, Change.ADDED, 1e5),
        (1e-4, 30.0, Change.ADDED, 1e6),
        (0.3, 1.0, Change.REMOVED, 4.0),
        (0.05, 900.0, Change.REPLACED, 1e5),
    ],
)
def test_the_second_bound_on_the_decay_holds(rate, sigma, change, c):
    loss = Loss(rate, sigma, change)
    tilted = loss.tilted(c)
    times = np.array([1.0, 4.0, 10.0]) / math.sqrt(tilted.variance)
    with precision(200):
        whole = integral(loss, flint.acb(c)).real
        for bound, time in zip(tilted.beyond(times), times, strict=True):
            value = integral(loss, flint.acb(c, time))
            assert abs(value) / whole <= flint.arb(float(bound)).exp()
    assert tilted.beyond(times)[-1] < -1


def one_step(rate, sigma, x):
    """P[L > x] - e^x Q[L > x] of one step at any real x."""
    share = (mpmath.exp(x) - 1) / rate + 1
    if share <= 0:
        return 1 - mpmath.exp(x)
    y = sigma * mpmath.log(share) + 1 / (2 * sigma)
    tail = [mpmath.erfc(place / mpmath.sqrt(2)) / 2 for place in (y, y - 1 / sigma)]
    return (1 - rate) * tail[0] + rate * tail[1] - mpmath.exp(x) * tail[0]


def two_steps(rate, sigma, epsilon):
    """The delta of two steps: the mean over the first one of what the second one still has to reach."""
    rate, sigma, epsilon = (mpmath.mpf(x) for x in (rate, sigma, epsilon))

    def term(y):
        ratio = 1 - rate + rate * mpmath.exp(y / sigma - 1 / (2 * sigma**2))
        return mpmath.npdf(y) * ratio * one_step(rate, sigma, epsilon - mpmath.log(ratio))

    # Where the second step may have any loss, the integrand is nearly broken.
    share = (mpmath.exp(epsilon) / (1 - rate) - 1) / rate + 1
    corner = sigma * mpmath.log(share) + 1 / (2 * sigma)
    near = [corner + side * mpmath.mpf(2) ** -k for k in range(-1, 40) for side in (-1, 1)]
    ends = sorted([*(mpmath.mpf(k) / 2 for k in range(-28, 92)), *near, corner])
    return mpmath.quad(term, ends, maxdegree=5)


@pytest.mark.slow
@rows(
    ("rate", "sigma", "delta"),
    [
        (0.05, 900.0, "1e-10"),
        (3e-4, 0.3, "1e-20"),
        (0.02, 0.2, "1e-5"),
    ],
)
def test_two_steps_lie_between_the_bounds(rate, sigma, delta):
    part = SubsampledGaussian(rate, sigma).characteristic()
    low, high = epsilon_by_inversion([(part, 2)], Fraction(delta))
    with mpmath.workdps(40):
        target = mpmath.mpf(delta)
        assert two_steps(rate, sigma, low) > target >= two_steps(rate, sigma, high)
    assert high - low <= 1e-6 * high


@rows(
    ("rate", "sigma", "steps", "delta"),
    [
        (2.277e-5, 0.38824, 1456632, 8.79e-15),
        (1.86e-5, 0.14, 390, 2.9e-15),
        (9.45e-7, 2.79, 8 * 10**8, 5.4e-80),
        (1e-4, 0.8, 200_000, 1e-10),
        (1.0450822635495182e-06, 0.6255348246784423, 209487402, 5.0488e-8),
    ],
)
def test_answers_are_narrow_where_jumps_are_rare(rate, sigma, steps, delta):
    step = SubsampledGaussian(rate, sigma)
    found = PrivacyLoss([[(step, steps)], [(step.reversed(), steps)]]).epsilon(delta)
    assert found.upper - found.lower <= 3e-8 * found.upper


@pytest.mark.slow
@rows("rate", [1e-6, 0.01])
def test_a_quotient_of_large_numbers_is_no_warning(rate):
    step = SubsampledGaussian(rate, 5.0)
    found = PrivacyLoss([[(step, 2)], [(step.reversed(), 2)]]).epsilon("1e-30")
    assert 0 < found.lower <= found.upper <= found.lower * 1.001


def test_an_epsilon_of_0_is_certain_if_delta_is_above_the_total_variation_distance():
    step = SubsampledGaussian(1.36e-7, 35.5)
    assert PrivacyLoss([[(step, 21)], [(step.reversed(), 21)]]).epsilon(4.6e-8).upper == 0
    assert PrivacyLoss([[(step, 21)], [(step.reversed(), 21)]]).epsilon(1e-12).lower > 0


@rows(("sigma", "count"), [(0.5, 3), (4.0, 7), (100.0, 2)])
def test_basic_composition_is_above_the_gaussian_of_all_uses(sigma, count):
    delta = Fraction(1, 10**8)
    shared = epsilon_by_shares([(SubsampledGaussian(1.0, sigma), count)], delta)
    assert GaussianDP(1 / sigma).epsilon(delta / count).lower * count <= shared
    assert GaussianDP.of_square(Fraction(count) / Fraction(sigma) ** 2).epsilon(delta).lower <= shared


@pytest.mark.slow
def test_a_finite_epsilon_has_a_finite_bound_where_no_grid_reaches_it():
    """Without basic composition this upper end was infinite."""
    step = SubsampledGaussian(1.9787285755192575e-09, 183.59512845217168)
    found = PrivacyLoss([[(step, 7)], [(step.reversed(), 7)]]).epsilon("8.869885036518453e-146")
    assert 0 < found.lower <= found.upper < 4 * found.lower


@pytest.mark.slow
def test_numbers_beyond_the_range_of_doubles_are_no_warning():
    step = SubsampledGaussian(1e-3, 0.1)
    assert 0 < PrivacyLoss([[(step, 10**9)], [(step.reversed(), 10**9)]]).epsilon("1e-300").upper < math.inf
