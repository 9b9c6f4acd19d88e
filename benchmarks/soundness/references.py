"""Profiles that share no code with the accountant: closed forms and enumeration in Arb, and an integral."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement

import flint
import numpy as np
from flint import arb, arb_poly

from benchmarks.soundness.cases import NoReferenceError

_AT_ONCE = 64
"""The number of frequencies that are computed at a time."""
_FARTHEST = 1000.0
"""Integrals over larger outputs are not computed."""


def _upper_tail(x: arb) -> arb:
    return _far_tail(x) if x > 1000 else (x / arb(2).sqrt()).erfc() / 2


def _far_tail(x: arb) -> arb:
    """The density times 1/x - 1/x^3 + 3/x^5 - ...: the error is a part of the first term left out."""
    total, term = arb(0), 1 / x
    for k in range(1, 60):
        total, term = total + term, -term * (2 * k - 1) / x**2
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * (total + term.union(arb(0)))


def gaussian(mu: arb, epsilon: arb) -> arb:
    """Gaussian pair at distance mu."""
    ratio = epsilon / mu
    return _upper_tail(ratio - mu / 2) - epsilon.exp() * _upper_tail(ratio + mu / 2)


def laplace_single(scale: arb, epsilon: arb) -> arb:
    """One Laplace pair at distance 1: 1 - exp((epsilon - 1/scale)/2) below 1/scale."""
    gap = (epsilon - 1 / scale) / 2
    return arb(0) if gap >= 0 else -gap.expm1()


def sampled_gaussian_single(rate: arb, sigma: arb, epsilon: arb, removes: bool) -> arb:
    """One Poisson-sampled Gaussian: a threshold on the output."""
    gain = epsilon.exp()
    if removes:
        share = (gain - 1) / rate + 1  # e^w at the threshold
        x = sigma * (share.log() + 1 / (2 * sigma**2))
        without, moved = _upper_tail(x), _upper_tail(x - 1 / sigma)
        return (1 - rate) * without + rate * moved - gain * without
    share = ((-epsilon).exp() - 1) / rate + 1
    if share <= 0:
        return arb(0)
    x = sigma * (share.log() + 1 / (2 * sigma**2))
    without, moved = _upper_tail(-x), _upper_tail(-(x - 1 / sigma))
    return without - gain * ((1 - rate) * without + rate * moved)


def unequal_gaussians(mean: arb, sigma_p: arb, sigma_q: arb, epsilon: arb) -> arb:
    """N(mean, sigma_p^2) against N(0, sigma_q^2): where a quadratic in the output is positive."""
    a = (1 / sigma_q**2 - 1 / sigma_p**2) / 2
    b = mean / sigma_p**2
    c = (sigma_q / sigma_p).log() - mean**2 / (2 * sigma_p**2) - epsilon
    root = b * b - 4 * a * c
    wide = a > 0
    if root <= 0:
        return 1 - epsilon.exp() if wide else arb(0)
    ends = sorted(((-b + sign * root.sqrt()) / (2 * a) for sign in (1, -1)), key=float)
    p = _between((ends[0] - mean) / sigma_p, (ends[1] - mean) / sigma_p)
    q = _between(ends[0] / sigma_q, ends[1] / sigma_q)
    if wide:
        p = _upper_tail((mean - ends[0]) / sigma_p) + _upper_tail((ends[1] - mean) / sigma_p)
        q = _upper_tail(-ends[0] / sigma_q) + _upper_tail(ends[1] / sigma_q)
    return p - epsilon.exp() * q


def _between(low: arb, high: arb) -> arb:
    if low > 0:
        return _upper_tail(low) - _upper_tail(high)
    if high < 0:
        return _upper_tail(-high) - _upper_tail(-low)
    return 1 - _upper_tail(-low) - _upper_tail(high)


def lattice_delta(masses: arb_poly, first: int, step: arb, epsilon: arb) -> arb:
    """Sum of masses times 1 - exp(epsilon - loss) over the losses (first + k) step above epsilon."""
    total = arb(0)
    for k in range(len(masses)):
        loss = (first + k) * step
        if loss > epsilon:
            total += masses[k] * -(epsilon - loss).expm1()
    return total


def randomised_response(epsilon0: arb, categories: int, count: int, epsilon: arb) -> arb:
    """Composed randomised response with losses -epsilon0, 0, epsilon0, by a polynomial power."""
    low = 1 / (epsilon0.exp() + categories - 1)
    one = arb_poly([low, (categories - 2) * low, epsilon0.exp() * low])
    return lattice_delta(one**count, -count, epsilon0, epsilon)


def geometric(scale: arb, shift: int, count: int, epsilon: arb) -> arb:
    """Composed two-sided geometric noise: losses -shift/scale .. shift/scale in steps of 2/scale."""
    ratio = (-1 / scale).exp()
    unit = (1 - ratio) / (1 + ratio)
    # outcome x: P has ratio^|x|, Q ratio^|x - shift|; the loss is (|x - shift| - |x|)/scale
    inner = [unit * ratio**x for x in range(shift, -1, -1)]
    inner[0] = ratio**shift / (1 + ratio)
    inner[-1] = 1 / (1 + ratio)
    return lattice_delta(arb_poly(inner) ** count, 0, 2 / scale, epsilon + count * shift / scale)


def discrete_gaussian(variance: arb, shift: int, count: int, epsilon: arb, reach: int) -> arb:
    """Composed discrete Gaussians: the loss (shift^2 - 2 shift x)/(2 variance) is linear in the outcome."""
    masses = [(-(arb(x) ** 2) / (2 * variance)).exp() for x in range(-reach, reach + 1)]
    total = sum(masses, arb(0))
    power = arb_poly([m / total for m in masses]) ** count
    found = arb(0)
    for k in range(len(power)):
        loss = (count * arb(shift) ** 2 - 2 * shift * arb(k - count * reach)) / (2 * variance)
        if loss > epsilon:
            found += power[k] * -(epsilon - loss).expm1()
    return found


@lru_cache(maxsize=8)
def _laplace_terms(count: int) -> tuple[tuple[int, int, Fraction], ...]:
    """(j, m, coefficient): ((E + 1/E) + (E - 1/E)/(2s))^count as a sum of coefficient E^m/s^j."""
    found = []
    for j in range(count + 1):
        factor = Fraction(math.comb(count, j), 2**j)
        poly = flint.fmpz_poly([1, 0, 1]) ** (count - j) * flint.fmpz_poly([-1, 0, 1]) ** j
        found += [(j, k - count, factor * int(poly[k])) for k in range(2 * count + 1) if poly[k] != 0]
    return tuple(found)


def laplace_composed(scale: arb, count: int, epsilon: arb) -> arb:
    """Composed Laplace noise: with e^(-l/2) taken out the loss is two equal atoms and a uniform part.

    Its transform's power is a finite sum of E^m/s^j, E = exp(s/scale), the transform of
    (m/scale - l)^(j-1)/(j-1)! below m/scale; against it stands the integral of e^(l/2) - e^(epsilon - l/2).
    """
    step = 1 / scale
    total = arb(0)
    for j, m, coefficient in _laplace_terms(count):
        width = m * step - epsilon
        if not width > 0:
            continue
        total += arb(flint.fmpq(coefficient.numerator, coefficient.denominator)) * _against(
            m * step, width, j, epsilon
        )
    return total * (arb(1) / 2 * (-step / 2).exp()) ** count


def _against(end: arb, width: arb, j: int, epsilon: arb) -> arb:
    if j == 0:
        return (end / 2).exp() - (epsilon - end / 2).exp()
    down = (end / 2).exp() * arb(2) ** j * (width / 2).gamma_lower(j, 1)
    series, term, k = arb(0), width**j / arb(j).gamma(), 0
    while k < 10 or not abs(term) < abs(series) * arb(2) ** -flint.ctx.prec:
        series += term / (j + k)
        k += 1
        term = term * width / (2 * k)
    return down - (epsilon - end / 2).exp() * series


def training(rate: float, sigma: float, steps: int, epsilon: float, c: float, removes: bool) -> float:
    """DP-SGD by the inversion integral on the line ``c``, refined until two answers agree.

    It is computed in extended doubles, whose 64 bits leave 1e-13 after a million steps. There is no cancellation near
    the saddle point.

    Raises:
        NoReferenceError: two answers do not agree, too many outputs are needed, or longdouble has too few digits.
    """
    if np.finfo(np.longdouble).nmant < 63 or _reach(rate, sigma, c, removes) > _FARTHEST:
        raise NoReferenceError("the integral needs more digits or more outputs")
    step, inner = 0.35, 0.35
    before = _training(rate, sigma, steps, epsilon, c, removes, step, inner)
    for _ in range(6):
        step, inner = step / 1.7, inner / 1.5
        value = _training(rate, sigma, steps, epsilon, c, removes, step, inner)
        gap = abs(float((value - before) / value))
        if gap < 1e-11:
            return value
        before = value
    raise NoReferenceError(f"the last two integrals differ by {gap} of their size")


def _reach(rate: float, sigma: float, c: float, removes: bool) -> float:
    """Bound the size of the outputs that matter: 12 beyond the largest density under the tilt.

    Without the record the tilt pulls by at most c p(y)/sigma, where the sampled share p(y) is at most
    rate/(1 - rate) exp(y/sigma).
    """
    if removes:
        return 12 + (1 + c) / sigma
    return 13 + min(c / sigma, sigma * math.log1p(c * rate / ((1 - rate) * sigma)))


def _training(
    rate: float, sigma: float, steps: int, epsilon: float, c: float, removes: bool, step: float, inner: float
) -> float:
    """One trapezoidal rule in t (in units of the tilted deviation) and one in the output."""
    q, noise, power = np.longdouble(rate), np.longdouble(sigma), np.longdouble(c)
    count = int(_reach(rate, sigma, c, removes) / inner)
    y = np.arange(-count, count + 1).astype(np.longdouble) * np.longdouble(inner)
    pull = y / noise - 1 / (2 * noise**2)
    near = np.log1p(q * np.expm1(np.minimum(pull, 1)))
    ratio = np.where(pull < 1, near, np.logaddexp(np.log1p(-q), np.log(q) + pull))
    losses = ratio if removes else -ratio
    exponents = -y * y / 2 + ((1 + power) * ratio if removes else -power * ratio)
    peak = exponents.max()
    weights = np.exp(exponents - peak)
    mass = weights.sum()
    weights = weights / mass
    mean = (weights * losses).sum()
    apart = losses - mean
    tau = step / np.sqrt((weights * apart**2).sum() * steps + 1 / power**2)
    front = steps * (peak + np.log(mass * inner / np.sqrt(8 * np.arctan(np.longdouble(1))))) - power * epsilon
    total, first = np.longdouble(0), 0
    while True:
        t = tau * np.arange(first, first + _AT_ONCE).astype(np.longdouble)
        phases = np.outer(t, apart)
        log_phi = np.log((np.cos(phases) * weights).sum(1) + 1j * (np.sin(phases) * weights).sum(1))
        z = power + 1j * t
        terms = (np.exp(steps * log_phi + 1j * t * (steps * mean - epsilon)) / (z * (z + 1))).real
        total += terms.sum() - (terms[0] / 2 if first == 0 else 0)
        first += _AT_ONCE
        if first > 8000 or (steps * log_phi.real).max() < -37:
            return float(np.exp(front) * total * tau / (4 * np.arctan(np.longdouble(1))))


def bounded_range(epsilon0: arb, epsilon: arb) -> arb:
    """The largest over t of the two-point pair with losses t and t - epsilon0, which is at its middle."""
    if epsilon >= epsilon0:
        return arb(0)
    return ((epsilon0 / 2).exp() - (epsilon / 2).exp()) ** 2 / epsilon0.expm1()


def sampled(rate: arb, profile: Callable[[arb], arb], epsilon: arb, removes: bool) -> arb:
    """Poisson sampling of a pair with one profile in both directions, by the two mixtures' hockey sticks."""
    if removes:
        return rate * profile((1 + epsilon.expm1() / rate).log())
    kept = 1 - epsilon.exp() * (1 - rate)
    if kept <= 0:
        return arb(0)
    return kept * profile((epsilon.exp() * rate / kept).log())


def replaced_gaussian(rate: arb, sigma: arb, epsilon: arb) -> arb:
    """Mixtures with N(1, sigma^2) and N(-1, sigma^2): beyond the root of a quadratic in exp(x/sigma^2)."""
    k = rate * (-1 / (2 * sigma**2)).exp()
    b = (1 - rate) * epsilon.expm1()
    x = sigma * ((b + (b * b + 4 * k * k * epsilon.exp()).sqrt()) / (2 * k)).log()
    centre, up, down = (_upper_tail(x + shift / sigma) for shift in (0, -1, 1))
    gain = epsilon.exp()
    return rate * (up - gain * down) - (1 - rate) * epsilon.expm1() * centre


def _chi_square_tail(degrees: int, half: arb) -> arb:
    """The probability that a chi-square variable exceeds twice ``half``, by the finite sum for whole degrees."""
    first = arb(degrees % 2) / 2
    terms = ((-half).exp() * half ** (k + first) / (k + first + 1).gamma() for k in range(degrees // 2))
    return sum(terms, half.sqrt().erfc() if degrees % 2 else arb(0))


def spheres(shift: arb, log_ratio: arb, dimension: int, epsilon: arb) -> arb:
    """Spherical Gaussians of different deviations: around one centre chi squares, or one dimension."""
    ratio = log_ratio.exp()
    if shift > 0:
        smaller = ratio if log_ratio < 0 else arb(1)
        return unequal_gaussians(shift * smaller, ratio, arb(1), epsilon)
    edge = 2 * (epsilon + dimension * log_ratio) / (1 - ratio**-2)
    if edge <= 0:
        return arb(0)
    p, q = (_chi_square_tail(dimension, end) for end in (edge / (2 * ratio**2), edge / 2))
    if log_ratio < 0:
        p, q = 1 - p, 1 - q
    return p - epsilon.exp() * q


Atoms = list[tuple[arb, arb]]


def binomial_atoms(trials: int, share: arb) -> Atoms:
    """Binomial(trials, share) and the same plus 1."""
    masses = [share**k * (1 - share) ** (trials - k) * math.comb(trials, k) for k in range(trials + 1)]
    return list(zip([*masses, arb(0)], [arb(0), *masses], strict=True))


def atoms(pair: Atoms, count: int, epsilon: arb) -> arb:
    """Composed atoms, every multiset of outcomes by itself: the sum of (p - e^epsilon q)+."""
    gain, total = epsilon.exp(), arb(0)
    for chosen in combinations_with_replacement(range(len(pair)), count):
        ways = math.factorial(count)
        for outcome in set(chosen):
            ways //= math.factorial(chosen.count(outcome))
        p, q = arb(ways), arb(ways)
        for outcome in chosen:
            p, q = p * pair[outcome][0], q * pair[outcome][1]
        total += (p - gain * q).max(arb(0))
    return total


def clones(users: int, local: arb, epsilon: arb) -> arb:
    """The clones' view: C ~ Bin(users - 1, e^-local), A ~ Bin(C, 1/2), D ~ Bern(e^local/(1 + e^local))."""
    chance, total = (-local).exp(), arb(0)
    often = 1 / (1 + chance)
    for c in range(users):
        here = chance**c * (1 - chance) ** (users - 1 - c) * math.comb(users - 1, c) / arb(2) ** c
        for a in range(c + 2):  # A + D = a, and C - A + 1 - D = c + 1 - a
            one, other = (math.comb(c, a - 1) if a else 0), math.comb(c, a)
            p, q = often * one + (1 - often) * other, (1 - often) * one + often * other
            total += here * (p - epsilon.exp() * q).max(arb(0))
    return total


def renyi_moment(rate: arb, sigma: arb, order: int) -> arb:
    """(order - 1) D_order = log sum C(order, k) (1-q)^(order-k) q^k exp(k(k-1)/(2 sigma^2))."""
    total = arb(0)
    for k in range(order + 1):
        weight = (1 - rate) ** (order - k) * rate**k * math.comb(order, k)
        total += weight * (arb(k * (k - 1)) / (2 * sigma**2)).exp()
    return total.log()
