"""Noise with polynomial tails scaled by a smooth bound: its exact epsilon of pure differential privacy.

Let the noise have a density exp(-phi(|z|)), with phi increasing and z phi'(z) nondecreasing. Consider all
pairs of output distributions that neighbours can have. The pair with the largest privacy loss has the largest
shift, and scales that are equal or differ by the full factor exp(beta) (docs/notes/smooth_sensitivity.md). It
remains to maximise a function of one variable. For Student's t the maximum is at the root of a quadratic. For
generalised Cauchy noise the root is enclosed by bisection.

Source: this project's statement classic.smooth_pure.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import flint

from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact
from dpproof.accountant.numbers.inversion import refined
from dpproof.accountant.smooth_sensitivity.notion import largest, positive

_Scales = tuple[flint.arb, flint.arb]


def student_epsilon(noise: Number, smoothing: Number, degrees: Number) -> Bound:
    """Return the exact pure epsilon of f(x) + noise S(x) T, where T has Student's t distribution.

    T has ``degrees`` degrees of freedom. S is a smooth bound on the local sensitivity of f, and log S changes
    by at most ``smoothing`` between neighbours.

    >>> student_epsilon(3, "0.1", 3).upper
    0.516481

    Raises:
        ValueError: for ``noise`` or ``degrees`` not above 0, ``smoothing`` below 0, or numbers so extreme
            that no bounds are found.

    Source: this project's statement classic.smooth_pure.
    """
    shift, beta = _setting(noise, smoothing)
    nu = positive(degrees, "degrees")
    found = refined(lambda: largest([_student(shift, beta, nu, wide) for wide in (True, False)]))
    return _certified(found, noise=noise, smoothing=smoothing, degrees=degrees)


def _certified(epsilon: flint.arb, **given: Number) -> Bound:
    if not epsilon.is_finite():
        named = ", ".join(f"{name} ({value!r})" for name, value in given.items())
        raise ValueError(f"{named}: at least one value is too extreme to bound the privacy loss.")
    return bound_of(epsilon)


def _setting(noise: Number, smoothing: Number) -> tuple[Fraction, Fraction]:
    beta = at_least_zero(smoothing, "smoothing")
    return 1 / positive(noise, "noise"), beta


def _student(shift: Fraction, beta: Fraction, degrees: Fraction, wide: bool) -> flint.arb:
    """Return the largest loss at equal scales and at the full ratio, in one direction."""
    ratios = (Fraction(0), beta) if beta else (Fraction(0),)
    a, nu = arb_of(shift), arb_of(degrees)
    return largest([_student_at(a, nu, *_scales(ratio, wide)) for ratio in ratios])


def _scales(log_ratio: Fraction, wide: bool) -> _Scales:
    """Return the scales of P and Q; the smaller one is 1."""
    ratio = arb_of(log_ratio).exp()
    return (ratio, flint.arb(1)) if wide else (flint.arb(1), ratio)


def _student_at(a: flint.arb, nu: flint.arb, p: flint.arb, q: flint.arb) -> flint.arb:
    """Max over x >= 0 of log(q/p) - (nu+1)/2 (log(1 + x^2/(nu p^2)) - log(1 + (x+a)^2/(nu q^2))).

    The derivative vanishes where a x^2 + (a^2 + nu q^2 - nu p^2) x - nu p^2 a = 0, at one positive x.
    """
    middle, last = a * a + nu * (q * q - p * p), nu * p * p * a
    root = (middle * middle + 4 * a * last).sqrt()
    x = 2 * last / (root + middle) if middle > 0 else (root - middle) / (2 * a)  # without cancellation
    tails = (1 + ((x + a) / q) ** 2 / nu).log() - (1 + (x / p) ** 2 / nu).log()
    return (q / p).log() + (nu + 1) / 2 * tails


def cauchy_epsilon(noise: Number, smoothing: Number, exponent: Number = 2) -> Bound:
    """Return the pure epsilon of f(x) + noise S(x) Z, where Z has density proportional to 1/(1 + |z|^exponent).

    With exponent 2 this is the Cauchy distribution. S is a smooth bound on the local sensitivity of f, and
    log S changes by at most ``smoothing`` between neighbours.

    >>> cauchy_epsilon(6, "0.1", 2).upper, cauchy_epsilon(10, "0.1", 4).upper
    (0.187191, 0.457573)

    Raises:
        ValueError: for ``noise`` not above 0, ``smoothing`` below 0, ``exponent`` not above 1, or numbers so
            extreme that no bounds are found.

    Source: this project's statement classic.smooth_pure.
    """
    shift, beta = _setting(noise, smoothing)
    gamma = exact(exponent, "exponent")
    if gamma <= 1:
        raise ValueError(
            f"exponent ({exponent!r}) must be above 1, because otherwise there is no such distribution"
        )
    ratios = (Fraction(0), beta) if beta else (Fraction(0),)
    ways = [(ratio, wide) for ratio in ratios for wide in (True, False)]

    def worst() -> flint.arb:
        return largest([_cauchy_at(arb_of(shift), arb_of(gamma), *_scales(*way)) for way in ways])

    return _certified(refined(worst), noise=noise, smoothing=smoothing, exponent=exponent)


def _cauchy_at(a: flint.arb, gamma: flint.arb, p: flint.arb, q: flint.arb) -> flint.arb:
    """Max over x >= 0 of log(q/p) - log(1 + (x/p)^gamma) + log(1 + ((x+a)/q)^gamma).

    The derivative has the sign of p^gamma x^(1-gamma) - q^gamma (x+a)^(1-gamma) - a, which is positive
    before one root and negative after it (docs/notes/smooth_sensitivity.md).
    """

    def slope(x: flint.arb) -> flint.arb:
        return p * _power(x / p, 1 - gamma) - q * _power((x + a) / q, 1 - gamma) - a

    x = _root(slope, a)
    return (q / p).log() + (1 + _power((x + a) / q, gamma)).log() - (1 + _power(x / p, gamma)).log()


def _power(base: flint.arb, exponent: flint.arb) -> flint.arb:
    return (base.log() * exponent).exp()


def _root(function: Callable[[flint.arb], flint.arb], start: flint.arb) -> flint.arb:
    """Return an enclosure of the place where ``function`` turns from positive to negative.

    ``bracket`` is not used, because the place is needed at the precision in force, which exceeds that of
    doubles.
    """
    low = _first(lambda x: function(x) > 0, start.mid(), flint.arb(1) / 16)
    high = _first(lambda x: function(x) < 0, start.mid(), flint.arb(16))
    if low.is_nan() or high.is_nan():
        return flint.arb("nan")
    for _ in range(2 * flint.ctx.prec):
        middle = (low * high).sqrt().mid()
        value = function(middle)
        if value > 0:
            low = middle
        elif value < 0:
            high = middle
        else:  # zero as far as this precision sees: close in from both sides
            low = _nearest(lambda x: function(x) > 0, low, middle)
            high = _nearest(lambda x: function(x) < 0, high, middle)
            break
    return low.union(high)


def _nearest(holds: Callable[[flint.arb], bool], known: flint.arb, target: flint.arb) -> flint.arb:
    """Return a number close to ``target`` at which ``holds`` is still true, as it is at ``known``."""
    for _ in range(flint.ctx.prec):
        middle = (known * target).sqrt().mid()
        known, target = (middle, target) if holds(middle) else (known, middle)
    return known


def _first(holds: Callable[[flint.arb], bool], start: flint.arb, factor: flint.arb) -> flint.arb:
    """Return the first number at which ``holds`` is true, in steps that double on a log scale; NaN far out."""
    for _ in range(_DOUBLINGS):
        if holds(start):
            return start
        start, factor = start * factor, factor * factor
    return flint.arb("nan")


_DOUBLINGS = 40
