"""The audit of smooth sensitivity with Laplace log-normal noise."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dpproof.accountant.smooth_sensitivity.log_normal import SmoothLogNormalParameters
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.smooth_sensitivity.answers import smooth


def _log_density(z: Floats, parameters: SmoothLogNormalParameters) -> Floats:
    """Return the log density of X exp(spread Y), X Laplace and Y normal, by Gauss-Hermite quadrature over Y."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    rates = np.exp(-parameters.spread * nodes)
    return np.asarray(logsumexp(-np.abs(z) * rates, b=weights * rates, axis=1))


TARGET = smooth(_log_density)
