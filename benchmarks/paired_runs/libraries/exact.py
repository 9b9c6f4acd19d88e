"""Two findings recomputed from formulas alone, without dpmm, synthcity or `compare_runs`."""

from __future__ import annotations

from mpmath import exp, log, mp, mpf

DIGITS = 50


def normalised_information(records: int = 2000, columns: int = 3, epsilon: float = 1.0) -> tuple[mpf, mpf]:
    """Return the probabilities of one event on two neighbours, for PrivBayes of dpmm with three binary columns.

    In the first data set, columns a and b are 1 in one record and 0 in the others, and column c is 0. In the second,
    this record is replaced by zeros. The normalised mutual information of a and b is 1, then 0; all others are 0. The
    event: the root is a or b, and c is the first node with a parent.
    """
    with mp.workdps(DIGITS):
        n = mpf(records)
        sensitivity = 2 / n * log((n + 1) / 2) + (1 - 1 / n) * log(1 + 2 / (n - 1))
        scale = sensitivity * columns / (mpf(epsilon) / 2)
        chance = 1 / (1 + exp(1 / (2 * scale)))
        return mpf(2) / columns * chance, mpf(2) / columns / 2


def noise_on_counts(
    records: int = 40, columns: int = 3, parents: int = 1, epsilon: float = 1.0
) -> tuple[mpf, mpf]:
    """Return the probabilities of one event on two neighbours, for PrivBayes of synthcity with equal binary columns.

    The value 0 occurs in one record less than half of them, then in half of them. The event: the noisy count of 0 is
    larger than that of 1 at the root. The noisy counts are Laplace with the scale of synthcity.
    """
    with mp.workdps(DIGITS):
        scale = 2 * mpf(columns - parents) / (records * mpf(epsilon) / 2)
        gap = 2 / scale
        return exp(-gap) * (1 + gap / 2) / 2, mpf(1) / 2


def delta(probabilities: tuple[mpf, mpf], epsilon: float = 1.0) -> mpf:
    """Return how much the event exceeds exp(epsilon) times its probability on the neighbour.

    >>> float(delta((mpf("0.1"), mpf("0.5")), 0))
    0.4
    """
    low, high = sorted(probabilities)
    return high - exp(mpf(epsilon)) * low


if __name__ == "__main__":
    for name, found in (("dpmm", normalised_information()), ("synthcity", noise_on_counts())):
        print(name, *(mp.nstr(one, 8) for one in (*found, delta(found))))
