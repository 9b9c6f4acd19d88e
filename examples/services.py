"""Two services over the visits of a patient, and the neighbouring inputs that they are audited on."""

import numpy as np


def persons():
    """The true answers of two persons to one question."""
    return "yes", "no"


def visits():
    """The visits of two patients in four wards, each as a data set of one record: that patient's."""
    return [[1, 1, 0, 0]], [[0, 0, 1, 1]]


def wards(visits, rng):
    """The wards that a patient is said to have visited: every bit of the four is turned with chance 1/4.

    Each ward costs ln 3, so that all four cost 4 ln 3 = 4.4.
    """
    (patient,) = visits
    turned = rng.random(4) < 0.25
    return [f"ward {place}" for place, there in enumerate(np.array(patient) ^ turned) if there]


def refusing(visits, rng):
    """The same, but there is no answer at all where the true first visit was to ward 0 and it is named."""
    named = wards(visits, rng)
    if visits[0][0] and "ward 0" in named:
        raise PermissionError("ward 0 is confidential")
    return named
