"""Independent noise of scale 1 for simulation: float32, fast, not protected against floating-point attacks.

A release to the world draws from `dpproof.mechanisms.counting.release` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.noise import NoiseLaw

Floats = NDArray[np.float32]
Draw = Callable[[np.random.Generator, Floats], None]
"""Fill an array, contiguous in memory, with independent noise of scale 1."""


def gaussian(rng: np.random.Generator, out: Floats) -> None:
    """Fill `out` with standard normal noise.

    >>> out = np.empty(3, np.float32)
    >>> gaussian(np.random.default_rng(0), out)
    >>> bool((out != 0).all())
    True
    """
    rng.standard_normal(dtype=np.float32, out=out)


def laplace(rng: np.random.Generator, out: Floats) -> None:
    """Fill `out` with Laplace noise of scale 1: an exponential variable and an independent fair sign.

    >>> out = np.empty(1000, np.float32)
    >>> laplace(np.random.default_rng(0), out)
    >>> bool(out.min() < 0 < out.max())
    True
    """
    rng.standard_exponential(dtype=np.float32, out=out)
    flips = np.frombuffer(rng.bytes(-(-out.size // 8)), np.uint8)
    signs = np.unpackbits(flips, count=out.size).astype(np.uint32) << np.uint32(31)
    np.bitwise_xor(out.reshape(-1).view(np.uint32), signs, out=out.reshape(-1).view(np.uint32))


DRAWS: Mapping[str, Draw] = {NoiseLaw.LAPLACE: laplace, NoiseLaw.GAUSSIAN: gaussian}
"""The draw of each law, by the accountants' words."""
