"""The audit of smooth sensitivity with generalised Cauchy noise."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.smooth_sensitivity.cauchy import SmoothCauchyParameters
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.smooth_sensitivity.answers import smooth


def _log_density(z: Floats, parameters: SmoothCauchyParameters) -> Floats:
    """Return the log of a density proportional to 1/(1 + |z|^exponent), up to a constant."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.logaddexp(0.0, parameters.exponent * np.log(np.abs(z[:, 0]))))


TARGET = smooth(_log_density)
