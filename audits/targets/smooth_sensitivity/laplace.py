"""The audit of smooth sensitivity with Laplace noise."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplaceParameters
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.smooth_sensitivity.answers import smooth


def _log_density(z: Floats, parameters: SmoothLaplaceParameters) -> Floats:
    """Return the log of the density exp(-|z|)/2, up to a constant."""
    return -np.abs(z[:, 0])


TARGET = smooth(_log_density)
