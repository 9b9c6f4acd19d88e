"""The likelihood ratio of a sum with Gaussian noise in which one user has several sampled records.

Let b_j be the binomial probability that j of the k records are sampled, y the output in standard deviations and
e_j = j y/sigma - j^2/(2 sigma^2). The density of the mixture over that of the noise alone is e^(l(y)), the sum of
b_j e^(e_j). Given y, j has probabilities in proportion to b_j e^(e_j). Derivation: docs/notes/rare_jumps.md,
section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.pairs.base import Floats

_U = 2.0**-53
_MOST_ERROR = 0.05
_NEAR = 30.0
"""Up to this largest e_j, l is computed from e^l - 1."""
_LEAST = -1.0
"""Below this l, e^l - 1 loses accuracy."""


@dataclass(frozen=True)
class Records:
    """The ``Sample`` of a user with several records."""

    rate: float
    sigma: float
    most: int

    def log_ratio(self, y: Floats) -> tuple[Floats, Floats]:
        """Return l(y) and bounds on its absolute errors. y is taken as exact."""
        exponents, wrong = self._exponents(y)
        values, errors = np.full_like(y, -np.inf), np.empty_like(y)
        near = exponents.max(axis=0) <= _NEAR
        values[near], errors[near] = self._near(exponents[:, near], wrong[:, near])
        far = values < _LEAST
        values[far], errors[far] = self._far(exponents[:, far], wrong[:, far])
        # The errors are of first order, for small errors of e_j. No error of l exceeds the largest one of e_j.
        largest = wrong.max(axis=0)
        return values, errors + np.where(largest > _MOST_ERROR, largest, 0.0)

    def _exponents(self, y: Floats) -> tuple[Floats, Floats]:
        """Return e_j (rows) at y (columns), and bounds on their errors."""
        j = np.arange(self.most + 1)[:, None]
        shift, back = j * (y / self.sigma), j * j / (2 * self.sigma**2)
        return shift - back, 6 * _U * (np.abs(shift) + back)

    def _near(self, exponents: Floats, wrong: Floats) -> tuple[Floats, Floats]:
        weights, few = binomial_weights(self.rate, self.most)[0][:, None], (2 * self.most + 16) * _U
        grown = np.expm1(exponents) * weights
        value = np.log1p(grown.sum(axis=0))
        moved = (weights * np.exp(exponents) * wrong + few * np.abs(grown) + 1e-300).sum(axis=0)
        return value, 1.1 * moved * np.exp(-value) + 8 * _U * np.abs(value)

    def _far(self, exponents: Floats, wrong: Floats) -> tuple[Floats, Floats]:
        logs = binomial_weights(self.rate, self.most)[1][:, None]
        t = logs + exponents
        top = t.max(axis=0)
        parts = np.exp(t - top)
        value = top + np.log(parts.sum(axis=0))
        each = wrong + 4 * _U * (np.abs(logs) + np.abs(t) + np.abs(top))
        error = 1.1 * (parts * each).sum(axis=0) / parts.sum(axis=0)
        return value, error + (2 * self.most + 16) * _U + 4 * _U * np.abs(value)

    def _posterior(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of each j (rows) given y (columns), and one more than bounds on relative errors."""
        exponents, wrong = self._exponents(y)
        logs = binomial_weights(self.rate, self.most)[1][:, None]
        t = logs + exponents
        parts = np.exp(t - t.max(axis=0))
        each = (wrong + 4 * _U * (np.abs(logs) + np.abs(t) + np.abs(t.max(axis=0)))).max(axis=0)
        return parts / parts.sum(axis=0), np.exp(np.minimum(2.1 * each, 600.0)) * (1 + 1e-6)

    def shares(self, y: Floats) -> tuple[Floats, Floats]:
        """Return an upper and a lower bound on the mean number m(y) of sampled records."""
        chances, slack = self._posterior(y)
        mean = np.einsum("j,jn->n", np.arange(self.most + 1.0), chances)
        return np.minimum(mean * slack + 1e-300, float(self.most)), mean / slack

    def angles(self, y: Floats, turn: Floats) -> tuple[Floats, Floats]:
        """Return bounds on the argument of E e^(i turn j), for turns (a column) of at most pi/(2 ``most``)."""
        chances, slack = self._posterior(y)
        steps = turn * np.arange(self.most + 1)
        real = np.einsum("aj,jn->an", np.cos(steps), chances)
        imaginary = np.einsum("aj,jn->an", np.sin(steps), chances)
        most = np.arctan2(imaginary * slack + 1e-300, np.maximum(real / slack - 1e-12, 0.0))
        return np.minimum(most, self.most * turn), np.arctan2(imaginary / slack, real * slack + 1e-12)

    def log_weights(self) -> Floats:
        """Return the logarithms of the binomial probabilities, each within an ulp."""
        return binomial_weights(self.rate, self.most)[1]


@lru_cache(maxsize=64)
def binomial_weights(rate: float, records: int) -> tuple[Floats, Floats]:
    """Return the binomial probabilities and their logarithms, each within an ulp (or below 1e-300)."""
    with precision(256):
        q = arb_of(Fraction(rate))
        logs = [
            arb_of(Fraction(math.comb(records, j))).log() + j * q.log() + (records - j) * (-q).log1p()
            for j in range(records + 1)
        ]
        return np.array([float(x.exp()) for x in logs]), np.array([float(x) for x in logs])
