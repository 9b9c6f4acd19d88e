"""Noise for releases to the world: discrete, exact, from a secure source, by OpenDP (the extra ``release``).

Counts are integers and get integer noise, so that no floating-point sampler is attacked. The laws are named
for what they are, as the continuous laws' guarantees are not theirs. Discrete Laplace noise of scale b has
the same largest loss (the ratio of its masses at distance d is at most exp(d/b)), but at delta above 0 it is
worse than continuous noise of that scale. Discrete Gaussian noise is rho-zCDP with rho = D^2/(2 sigma^2), D
the L2 sensitivity (Canonne, Kamath and Steinke, arXiv:2004.00010, Theorem 4), not Gaussian
differential privacy. Real numbers, such as costs, are counted in whole grains first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.noise import NoiseLaw

_LAWS = NoiseLaw.DISCRETE_LAPLACE, NoiseLaw.DISCRETE_GAUSSIAN
_LARGEST = 2.0**40
"""Larger scales are refused: their noise could exceed 2^53, beyond which doubles round integers."""


@dataclass(frozen=True)
class SecureNoise:
    """Secure integer noise of any law and scale, for `dpproof.mechanisms.rl.private_ucb.private_counts`.

    >>> SecureNoise()("discrete-laplace", 10.0)(4).shape
    (4,)
    """

    integer: bool = field(default=True, init=False)
    """Values must be whole."""

    def __call__(self, law: str, scale: float) -> Callable[[int], NDArray[np.float64]]:
        """See ``secure_noise``."""
        return secure_noise(law, scale)


def secure_noise(law: str, scale: float) -> Callable[[int], NDArray[np.float64]]:
    """A source of independent noise: ``discrete-laplace`` of that scale, or ``discrete-gaussian``.

    Its masses are proportional to exp(-abs(x)/scale), or to exp(-x^2/(2 scale^2)).

    >>> noise = secure_noise("discrete-laplace", 10.0)(4)
    >>> noise.shape, bool((noise == np.rint(noise)).all())
    ((4,), True)

    Raises:
        ValueError: for another law, or a scale outside (0, 2^40].
        ModuleNotFoundError: without OpenDP, naming the extra.
    """
    if law not in _LAWS:
        raise ValueError(f"law ({law!r}) must be one of: {', '.join(_LAWS)}; drawn is integer noise")
    if isinstance(scale, bool) or not 0 < scale <= _LARGEST:
        raise ValueError(f"scale ({scale!r}) must be a number above 0 and at most 2^40")
    measurement = _measurement(law, scale)

    def draw(count: int) -> NDArray[np.float64]:
        return np.asarray(measurement([0] * count), dtype=np.float64)

    return draw


def _measurement(law: str, scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "noise for a release needs OpenDP: pip install 'dpproof[release]'"
        ) from error
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == NoiseLaw.DISCRETE_LAPLACE:
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale)
