"""The audit of smooth sensitivity with Gaussian noise."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussianParameters
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.smooth_sensitivity.answers import smooth


def _log_density(z: Floats, parameters: SmoothGaussianParameters) -> Floats:
    """Return the log density of a standard normal in any dimension, up to a constant."""
    return np.asarray(-(z**2).sum(axis=1) / 2)


TARGET = smooth(_log_density)
