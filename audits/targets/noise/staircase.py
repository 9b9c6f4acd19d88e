"""The audit of staircase noise: the true answers of the two inputs differ by the sensitivity."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.noise.staircase import StaircaseParameters, width
from dpproof.audits.targets.answers import Floats, Numbers, answers, flat
from dpproof.audits.targets.primitive import Setting


def _ratio(outputs: Numbers, parameters: StaircaseParameters, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of staircase noise: the number of steps nearer to the second answer."""
    step = float(width(parameters))
    levels = (np.floor(np.abs(outputs - answer) / step - parameters.gamma) for answer in (first, second))
    return flat(next(levels) - next(levels)) * step / parameters.scale


TARGET = Setting(answers, _ratio)
