"""The grid's two sides against closed forms, exact enumeration with fractions, and exact convolution."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.subsampled import Subsampled
from dpproof.accountant.privacy_loss.by_grid import compose, profile, sums_by_jumps
from dpproof.accountant.privacy_loss.grid import LossLaw, law_above, law_below
from dpproof.accountant.privacy_loss.loss_sums import Window, circular_power
from dpproof.accountant.privacy_loss.planning import GridTooLargeError, Plan, plan
from tests.rows import tiered


def exact_delta(parts, epsilon):
    """Ends around the privacy profile of a composition of atoms, by enumeration."""
    laws = [
        [(p, q) for p, q in zip(pair.p, pair.q, strict=True)] for pair, count in parts for _ in range(count)
    ]
    with precision(200):
        factor, total = flint.arb(epsilon).exp(), flint.arb(0)
        for outcome in itertools.product(*laws):
            p = math.prod((arb_of(Fraction(a)) for a, _ in outcome), start=flint.arb(1))
            q = math.prod((arb_of(Fraction(b)) for _, b in outcome), start=flint.arb(1))
            gain = p - factor * q
            total += gain if gain > 0 else 0
        return round_down(total), round_up(total)


def gaussian_profile(sigma, count, epsilon):
    with precision(200):
        value = gaussian_delta_at(flint.arb(count).sqrt() / flint.arb(sigma), flint.arb(epsilon))
        return round_down(value), round_up(value)


def gaussian_delta_at(mu, epsilon):
    root = flint.arb(2).sqrt()
    near, far = (((epsilon / mu + move) / root).erfc() / 2 for move in (-mu / 2, mu / 2))
    return near - epsilon.exp() * far


@pytest.mark.parametrize(
    ("sigma", "count", "delta", "width"),
    tiered(
        [
            (5.0, 1000, 1e-6, 1e-5),
            (5.0, 1000, 1e-30, 1e-5),
            (100.0, 100_000, 1e-10, 2e-4),
            (0.05, 1, 1e-6, 1e-4),
            (0.3, 100, 1e-6, 1e-4),
            (1e4, 1, 1e-6, 1e-5),
            (50.0, 10_000, 1e-12, 1e-3),
        ],
        fast=3,
    ),
)
def test_gaussians_against_the_closed_form(sigma, count, delta, width):
    composed = profile([(SubsampledGaussian(1.0, sigma), count)], delta=delta)
    low, high = composed.epsilon(delta)
    assert 0 < high - low <= width * high
    for epsilon in (0.9 * low, low, math.nextafter(low, 2 * low), high, 1.02 * high, 2 * high):
        exact_low, exact_high = gaussian_profile(sigma, count, epsilon)
        assert composed.lower(epsilon) <= exact_low
        assert composed.upper(epsilon) >= exact_high


def test_the_house_profile_agrees_with_the_reference_used_here():
    low, high = gaussian_profile(5.0, 1000, 49.0)
    assert low <= float(gaussian_delta(Fraction(math.sqrt(40)), Fraction(49))) * (1 + 1e-12)
    assert high >= float(gaussian_delta(Fraction(math.sqrt(40)), Fraction(49))) * (1 - 1e-12)


@pytest.mark.parametrize(("count", "reference"), tiered([(1000, 2.12451517), (10_000, 6.90738450)], fast=1))
def test_dp_sgd_brackets_the_reference(count, reference):
    low, high = profile([(SubsampledGaussian(0.01, 1.0), count)], delta=1e-6).epsilon(1e-6)
    assert low - 1e-8 <= reference <= high + 1e-8
    assert high - low <= 1e-5


def test_dp_sgd_at_a_tiny_delta():
    low, high = profile([(SubsampledGaussian(0.01, 1.0), 1000)], delta=1e-30).epsilon(1e-30)
    assert low - 1e-6 <= 9.341896 <= high + 1e-6
    assert high - low <= 1e-4


@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize(("rate", "noise"), [(0.01, 1.0), (0.4, 0.6), (1e-3, 0.3)])
def test_one_step_against_the_two_tails(rate, noise, removes):
    composed = profile([(SubsampledGaussian(rate, noise, removes), 1)], delta=1e-7)
    middle = composed.epsilon(1e-7)[1]
    for epsilon in (0.7 * middle, middle, 1.1 * middle):
        low, high = one_step(rate, noise, removes, epsilon)
        assert composed.lower(epsilon) <= low
        assert composed.upper(epsilon) >= high
    assert composed.upper(middle) - composed.lower(middle) <= 2e-3 * composed.upper(middle)


def one_step(rate, noise, removes, epsilon):
    with precision(300):
        q, s, e = flint.arb(rate), flint.arb(noise), flint.arb(epsilon)
        loss = e if removes else -e
        inside = (loss.exp() - 1 + q) / q
        if not inside > 0:
            return 0.0, 0.0
        x = s * s * inside.log() + flint.arb(1) / 2
        far, near = (((x - m) / s / flint.arb(2).sqrt() * (1 if removes else -1)).erfc() / 2 for m in (0, 1))
        mixed = (1 - q) * far + q * near
        value = mixed - e.exp() * far if removes else far - e.exp() * mixed
        return round_down(value), round_up(value)


RESPONSE = Atoms(["3/4", "1/4"], ["1/4", "3/4"])
TERNARY = Atoms(["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"])
LEAK = Atoms(["1/1000", "599/1000", "2/5"], [0, "2/5", "3/5"])


@pytest.mark.parametrize(
    "parts",
    tiered(
        [
            [(RESPONSE, 8)],
            [(TERNARY, 5)],
            [(LEAK, 5)],
            [(LEAK.reversed(), 5)],
            [(RESPONSE, 3), (TERNARY, 2), (LEAK, 2)],
        ],
        fast=3,
    ),
    ids=str,
)
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_atoms_against_enumeration(parts, delta):
    composed = profile(parts, delta=delta, points=2**16)
    for epsilon in (0.0, 0.3, 1.0, 2.19, 4.0, 8.0, 20.0):
        low, high = exact_delta(parts, epsilon)
        assert composed.lower(epsilon) <= low
        assert composed.upper(epsilon) >= high


def test_randomised_response_is_narrow():
    low, high = profile([(RESPONSE, 20)], delta=1e-6).epsilon(1e-6)
    assert high - low <= 1e-7


def test_an_infinite_part_makes_epsilon_infinite():
    composed = profile([(LEAK, 10)], delta=1e-6)
    low, high = composed.epsilon(1e-6)
    assert low > 1e11
    assert high == math.inf
    assert composed.lower(math.inf) <= 1 - 0.999**10 * (1 - 1e-14)
    assert composed.upper(math.inf) >= 1 - 0.999**10 * (1 + 1e-14)


def test_laplace_composed():
    low, high = profile([(Laplace(10.0), 100)], delta=1e-6).epsilon(1e-6)
    assert 4.692641 <= low <= high <= 4.692668
    assert high - low <= 1e-7


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_one_laplace_against_its_profile(scale):
    """delta(epsilon) = 1 - exp((epsilon - 1/b)/2) for one release."""
    composed = profile([(Laplace(scale), 1)], delta=1e-3)
    for share in (0.0, 0.3, 0.9, 0.999):
        epsilon = share / scale
        with precision(200):
            exact = 1 - ((flint.arb(epsilon) - 1 / flint.arb(scale)) / 2).exp()
            assert composed.lower(epsilon) <= round_down(exact)
            assert composed.upper(epsilon) >= round_up(exact)


def test_heterogeneous_compositions_contain_their_homogeneous_form():
    one = SubsampledGaussian(0.02, 1.1)
    split = profile([(one, 30), (Subsampled(SubsampledGaussian(1.0, 1.1), 0.02), 70)], delta=1e-6)
    whole = profile([(one, 100)], delta=1e-6)
    for epsilon in (0.5, 1.0, 2.0):
        assert split.lower(epsilon) <= whole.upper(epsilon)
        assert whole.lower(epsilon) <= split.upper(epsilon)
    low, high = split.epsilon(1e-6)
    assert high - low <= 1e-4


masses = st.lists(st.integers(0, 40), min_size=2, max_size=3).filter(lambda counts: sum(counts) > 0)


@settings(max_examples=60, deadline=None)
@given(
    p=masses,
    q=masses,
    count=st.integers(1, 4),
    step=st.floats(1e-3, 0.7),
    tilt=st.floats(1e-3, 30.0),
    offset=st.integers(-40, 5),
    size=st.sampled_from([64, 1024]),
    epsilon=st.floats(0.0, 6.0),
)
def test_every_plan_is_sound(p, q, count, step, tilt, offset, size, epsilon):
    """Grids that are far too small, tilts that are far off: both sides stay on their side."""
    n = min(len(p), len(q))
    p, q = p[:n], q[:n]
    if not sum(p) or not sum(q):
        return
    pair = Atoms([Fraction(a, sum(p)) for a in p], [Fraction(b, sum(q)) for b in q])
    window = Window(offset, size)
    composed = compose([(pair, count)], Plan(step, tilt, ((-30, 25),), (0.0,), window, offset, (tilt, tilt)))
    low, high = exact_delta([(pair, count)], epsilon)
    assert composed.lower(epsilon) <= low
    assert composed.upper(epsilon) >= high


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    rate=st.floats(1e-4, 1.0),
    noise=st.floats(0.3, 20.0),
    count=st.integers(1, 2000),
    exponent=st.floats(-20.0, -1.0),
    removes=st.booleans(),
)
def test_lower_stays_below_upper_and_both_fall(rate, noise, count, exponent, removes):
    delta = 10.0**exponent
    composed = profile([(SubsampledGaussian(rate, noise, removes), count)], delta=delta, points=2**15)
    low, high = composed.epsilon(delta)
    assert 0 <= low <= high
    grid = np.linspace(0.5 * low, 2 * min(high, 1e3) + 1e-9, 23)
    uppers, lowers = [composed.upper(float(e)) for e in grid], [composed.lower(float(e)) for e in grid]
    assert all(0 <= a <= b <= 1 for a, b in zip(lowers, uppers, strict=True))
    assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(uppers))


@pytest.mark.slow
@pytest.mark.parametrize("count", tiered([1, 2, 7, 100, 1001], fast=2))
@pytest.mark.parametrize("n", [16, 256])
def test_convolution_powers_against_exact_ones(n, count):
    """Binomial and uniform laws: the errors stay below their bounds, entry by entry and in norm."""
    rng = np.random.default_rng(n + count)
    weights = [rng.integers(1, 1000, n), np.concatenate([[10**9], rng.integers(0, 3, n - 1)])]
    for raw in weights:
        x = np.asarray(raw / raw.sum())
        result, noise = circular_power([(x, count)])
        exact = exact_circular_power(x, count)
        errors = np.array([abs(float(flint.arb(float(r)) - e)) for r, e in zip(result, exact, strict=True)])
        assert errors.max() <= noise.entry <= 1e-9
        assert np.linalg.norm(errors) <= noise.norm


def exact_circular_power(x, count):
    """By squaring, on integers modulo the circle."""
    n = len(x)
    with precision(400):
        scale = 2**200
        base = [int(Fraction(float(value)) * scale) for value in x]

        def times(a, b):
            full = flint.fmpz_poly(a) * flint.fmpz_poly(b)
            folded = [0] * n
            for i in range(len(full)):
                folded[i % n] += int(full[i])
            return folded

        result, power, total = [1] + [0] * (n - 1), base, 0
        for bit in bin(count)[:1:-1]:
            if bit == "1":
                result = times(result, power)
                total += 1
            power = times(power, power)
        return [flint.arb(value) / flint.arb(scale) ** count for value in result]


def test_laws_conserve_mass_and_means():
    pair = SubsampledGaussian(1.0, 1.0)
    above, below = law_above(pair, 0.01, -1000, 1000), law_below(pair, 0.01, -1000, 1000, 1.0)
    losses = 0.01 * np.arange(-1000, 1001)
    assert above.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert below.masses.sum() <= 1.0
    for law, sign in ((above, 1), (below, -1)):
        mean = float(law.masses @ losses) + law.offset
        assert 0 <= sign * (mean - 0.5) <= 1e-5


def test_a_law_without_its_raise_is_caught():
    """The known-bad control: losses rounded to the nearest point below are no upper bound."""
    pair, step, epsilon = RESPONSE, 0.7, 0.5
    bad = LossLaw(-2, np.array([0.25, 0.0, 0.0, 0.75, 0.0]), 0.0, 0.0)
    good = law_above(pair, step, -2, 2)
    low, _ = exact_delta([(pair, 1)], epsilon)

    def delta(law):
        losses = step * np.arange(-2, 3)
        return float(law.masses @ np.maximum(1 - np.exp(epsilon - losses), 0.0)) + law.infinite

    assert delta(bad) < low <= delta(good)


def test_a_step_below_the_slack_is_refused():
    with pytest.raises(ValueError, match="error of the privacy losses"):
        law_below(SubsampledGaussian(0.5, 0.01), 1e-14, -5, 5, 1.0)


@pytest.mark.slow
def test_rare_jumps_are_answered_to_a_percent_or_two():
    delta = 1e-8
    composed = profile([(SubsampledGaussian(1e-6, 0.5), 1000)], delta=delta)
    high = composed.epsilon(delta)[1]
    assert composed.upper(high) - composed.lower(high) <= 0.03 * composed.upper(high)


def test_jumps_agree_with_enumeration():
    """An outcome of P-mass 1/1000 and a large loss, five times: every number of jumps is kept apart."""
    pair = Atoms(["1/1000", "499/1000", "1/2"], ["1/100000", "49999/100000", "1/2"])
    above, below = sums_by_jumps(pair, 5, epsilon=2.0, delta=1e-3, small=1e-3, points=2**14)
    for epsilon in (0.0, 0.5, 2.0, 4.0, 5.0, 9.0):
        low, high = exact_delta([(pair, 5)], epsilon)
        assert below.delta(epsilon) <= low
        assert above.delta(epsilon) >= high
    assert above.delta(2.0) - below.delta(2.0) <= 1e-2 * above.delta(2.0)


def test_a_grid_that_gives_nothing_says_what_it_needs():
    with pytest.raises(GridTooLargeError, match="points"):
        profile([(SubsampledGaussian(1.0, 1.0), 10**12)], delta=1e-6, points=2**12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parts": []}, "parts"),
        ({"parts": [(RESPONSE, 0)]}, "count"),
        ({"parts": [(RESPONSE, 1.5)]}, "count"),
        ({"delta": 1.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"delta": None}, "exactly one"),
        ({"epsilon": 1.0}, "exactly one"),
        ({"delta": None, "epsilon": -1.0}, "epsilon"),
        ({"delta": None, "epsilon": math.inf}, "epsilon"),
        ({"points": 1000}, "points"),
    ],
)
def test_bad_input_is_refused_by_name(changes, words):
    given = {"parts": [(RESPONSE, 2)], "delta": 1e-6} | changes
    with pytest.raises(ValueError, match=words):
        profile(given.pop("parts"), **given)


def test_an_epsilon_out_of_range_is_refused():
    composed = profile([(RESPONSE, 2)], epsilon=1.0)
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon"):
            composed.upper(bad)
    with pytest.raises(ValueError, match="delta"):
        composed.epsilon(1.0)


def test_plans_aim_where_they_are_asked():
    planned = plan([(SubsampledGaussian(0.01, 1.0), 1000)], epsilon=2.0, accuracy=1e-4, points=2**18)
    assert planned.start * planned.step < 2.0 < planned.window.end * planned.step
