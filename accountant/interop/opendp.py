"""Guarantees of OpenDP's measurements, for conversion and comparison.

The epsilon, delta or rho of a measurement comes from OpenDP's privacy map. The map rounds conservatively,
which dpproof does not verify. All further computation is certified. This module needs the extra ``release``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, PureDP
from dpproof.accountant.guarantees.profile import Profile

_MEASURES: Mapping[str, Callable[[Any], Profile]] = {
    "MaxDivergence": PureDP,
    "ZeroConcentratedDivergence": ZCDP,
    "Approximate(MaxDivergence)": lambda pair: ApproxDP(*pair),
}
"""For each output measure, the guarantee that a value of the measurement's map states."""


def guarantee_of_measurement(measurement: Any, distance: Any) -> Profile:
    """Return the guarantee of an OpenDP measurement for inputs at most ``distance`` apart in its input metric.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    >>> guarantee_of_measurement(dp.m.make_gaussian(*numbers, scale=2.0), 1.0).epsilon("1e-6").upper
    2.419093

    Raises:
        ValueError: unless the measurement states pure, zero-concentrated or fixed approximate privacy.
    """
    measure = str(measurement.output_measure)
    if measure not in _MEASURES:
        known = ", ".join(_MEASURES)
        raise ValueError(
            f"output measure ({measure!r}) must be one of: {known}. For a privacy curve, use make_fix_delta first."
        )
    return _MEASURES[measure](measurement.map(distance))
