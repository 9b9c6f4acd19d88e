"""OpenDP's measurements as mechanisms that an audit can run. Needs the extra ``release``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpproof.audits.data.outputs import of_objects
from dpproof.audits.engine.sampling.callables import Mechanism


def measurement_mechanism(measurement: Callable[[object], ArrayLike]) -> Mechanism:
    """A measurement as a `Mechanism`: its noise comes from OpenDP's own secure source, without a seed.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    >>> noisy = measurement_mechanism(dp.m.make_laplace(*numbers, scale=1.0))
    >>> len(noisy(0.0, 3, np.random.default_rng(0))), noisy.seeded
    (3, False)
    """

    def draw(data: object, n: int, _rng: np.random.Generator) -> Any:
        outputs = [measurement(data) for _ in range(n)]
        return np.asarray(outputs) if np.ndim(outputs[0]) == 0 else of_objects(outputs)

    return Mechanism(draw, seeded=False)
