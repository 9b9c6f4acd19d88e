"""A proposal for rare outcomes of many steps that together hide a record, and its certified bound."""

from __future__ import annotations

from dataclasses import dataclass

import flint
from numpy.random import Generator

from dpproof.accountant.guarantees.orders import lowest
from dpproof.accountant.numbers.arithmetic import cached_property, math, np
from dpproof.accountant.numbers.enclosures import precision, round_up
from dpproof.accountant.simulated.participation import Floats
from dpproof.accountant.simulated.proposals import Cap
from dpproof.accountant.simulated.training import TrainingRun

_END, _BITS = 40, 128


@dataclass(frozen=True)
class Bulk:
    """Noise whose likelihood ratio of each bin, u, is made smaller: the density is changed by exp(-size u).

    dP/dN is the mean of u over the bins, so that its logarithm bounds the weights: it is at most -``start``
    where the loss of an addition is at least ``start``. The bins are fair, and the strategy has one band.
    """

    training: TrainingRun
    start: float

    @cached_property
    def _square(self) -> float:
        """The squared length of the record's contribution, in units of the noise."""
        return float(self.training.squares[:: self.training.participation.separation].sum())

    @cached_property
    def size(self) -> float:
        """The change of density, chosen to make the bound small. The bound holds for every size."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        ratios = np.exp(math.sqrt(self._square) * nodes - self._square / 2)
        share = weights / weights.sum()

        def exponent(log_size: float) -> float:
            size = math.exp(log_size)
            return size * math.exp(-self.start) + math.log(float(share @ np.exp(-size * ratios)))

        return math.exp(lowest(exponent, -3.0, 1.0, 1e-3, 20.0))

    @cached_property
    def log_mass(self) -> float:
        """An upper bound, close to it, on the logarithm of the mean of exp(-size u)."""
        with precision(_BITS):
            root, half = flint.acb(self._square).sqrt(), flint.acb(self._square) / 2

            def inside(z: flint.acb, _: bool) -> flint.acb:
                return (-z * z / 2 - self.size * (root * z - half).exp()).exp()

            mean = flint.acb.integral(inside, -_END, _END).real / (2 * flint.arb.pi()).sqrt()
            return round_up((mean + flint.arb("1e-300")).log())

    @property
    def cap(self) -> Cap:
        """Constants (a, b, start) with log dN/dR <= a where the loss is at least ``start``."""
        bins = self.training.participation.separation
        return Cap(bins * (self.size * math.exp(-self.start) + self.log_mass), 0.0, self.start)

    @property
    def scale(self) -> float:
        """The factor for the bound on rounding."""
        return 1 + self.training.participation.separation * self.size

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law, by rejection in each bin."""
        law = self.training.participation
        noise = rng.standard_normal((law.steps // law.separation, law.separation, count))
        before = noise.sum(axis=0) / math.sqrt(len(noise))
        along = before.copy().ravel()
        left = np.arange(along.size)
        while left.size:
            ratios = np.exp(math.sqrt(self._square) * along[left] - self._square / 2)
            left = left[rng.random(left.size) > np.exp(-self.size * ratios)]
            along[left] = rng.standard_normal(left.size)
        noise += (along.reshape(before.shape) - before) / math.sqrt(len(noise))
        return np.asarray(noise.reshape(law.steps, count))

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        bins = self.training.participation.separation
        return np.asarray(-bins * (self.size * np.exp(log_ratio) + self.log_mass))
