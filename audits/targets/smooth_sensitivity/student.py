"""The audit of smooth sensitivity with Student's t noise."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.smooth_sensitivity.student import SmoothStudentParameters
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.smooth_sensitivity.answers import smooth


def _log_density(z: Floats, parameters: SmoothStudentParameters) -> Floats:
    """Return the log density of Student's t, up to a constant."""
    return np.asarray(-(parameters.degrees + 1) / 2 * np.log1p(z[:, 0] ** 2 / parameters.degrees))


TARGET = smooth(_log_density)
