"""Gaussian noise that is exact after rounding to a public grid: no released bit has a rounding error.

**Theorem.** Let f and sigma be real functions of the data and Z a real standard normal variable. Let the real
mechanism M = f + sigma Z have some privacy guarantee. Then the integer round(M / 2^exponent) has the same
guarantee, because it is a function of M alone (post-processing). So the guarantee of the real Gaussian mechanism
holds unchanged for all f and sigma. The one condition is that the f and sigma given here are exactly the
functions of the data for which the guarantee was computed. Everything that is computed from the integers alone has
the same guarantee, also the released doubles (2^exponent times the integers).

The integers have exactly this distribution. `dpproof.mechanisms.release.rounded_noise` draws only as many binary digits
of a uniform real number as the rounding needs. docs/notes/rounded_noise.md has the proof and lists what it does not
cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.mechanisms.release.quantiles import NORMAL
from dpproof.mechanisms.release.rounded_noise import Law, floors
from dpproof.mechanisms.release.words import WordSource, system_words


def rounded_gaussian(
    means: Sequence[Fraction],
    variances: Sequence[Fraction],
    exponent: int,
    *,
    times: int = 1,
    source: WordSource = system_words,
) -> list[int]:
    """Return draws of round((f + sigma Z) / 2^exponent), Z standard normal, for each mean f and variance sigma^2.

    Args:
        means: the means f, exact rationals.
        variances: sigma^2, exact rationals above 0, one for each mean; sigma may be irrational.
        exponent: the public grid is all multiples of 2^exponent.
        times: how often the vector (one draw for each mean) is drawn. The returned list holds all vectors in a row.
        source: the source of random 64-bit words. Draws from another source than the default are a simulation.

    Returns:
        The nearest integers. The released numbers are 2^exponent times them.

    Raises:
        ValueError: a variance is not above 0, or a mean or variance is not an exact rational. Or there are more or
            fewer variances than means.

    >>> import numpy as np
    >>> from dpproof.mechanisms.release.words import seeded_words
    >>> source = seeded_words(np.random.default_rng(0))
    >>> rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -2, times=3, source=source)
    [-2, -7, -17]
    """
    if len(means) != len(variances):
        raise ValueError(
            f"variances ({len(variances)}) must have the same number of entries as means ({len(means)})"
        )
    laws = [_law(mean, variance, exponent) for mean, variance in zip(means, variances, strict=True)]
    found, exactly = floors(NORMAL, [law for _, law in laws], times, source)
    offsets = found.tolist()
    for place, value in exactly.items():
        offsets[place] = value
    wholes = [whole for whole, _ in laws] * times
    return [whole + offset for whole, offset in zip(wholes, offsets, strict=True)]


def _law(mean: Fraction, variance: Fraction, exponent: int) -> tuple[int, Law]:
    """Return the whole part of mean/2^exponent + 1/2, and the law of the floor of the rest plus the noise."""
    if not all(isinstance(number, (Fraction, int)) for number in (mean, variance)):
        given = f"mean ({mean!r}) and variance ({variance!r})"
        raise ValueError(f"{given} must be exact rationals: fractions.Fraction, or integers")
    if variance <= 0:
        raise ValueError(f"variance ({variance!r}) must be above 0")
    up, down = max(-exponent, 0), max(exponent, 0)
    d = mean.denominator << (down + 1)
    whole, c = divmod((mean.numerator << (up + 1)) + (d >> 1), d)
    return whole, Law(c, d, variance.numerator << 2 * up, variance.denominator << 2 * down)
