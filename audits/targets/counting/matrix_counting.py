"""The audit of running counts whose noise is shaped by a factorised matrix."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.counting.matrix_counting import MatrixCountingParameters, strategy_of
from dpproof.audits.targets.answers import Floats, gaussian
from dpproof.audits.targets.counting.gaussian_tree import streams
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.counting.matrix_counting import convolved
from dpproof.mechanisms.counting.paths import column_coefficients


def _ratio(outputs: Floats, parameters: MatrixCountingParameters, first: Floats, second: Floats) -> Floats:
    """Return the log-likelihood ratio; C times the differences of the counts has independent Gaussian noise."""
    column = column_coefficients(strategy_of(parameters))
    noisy = convolved(np.diff(outputs, axis=-1, prepend=0.0), column)
    return gaussian(noisy, parameters, convolved(first, column), convolved(second, column))


TARGET = Setting(streams, _ratio)
