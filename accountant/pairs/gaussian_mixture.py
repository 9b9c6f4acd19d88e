"""The dominating pair of a sum with Gaussian noise in which one user has several sampled records.

The user has k records of norm at most 1, each sampled with probability q, and s is the standard deviation of
the noise. Take the mixture of N(j, s^2) with the binomial weights Bin(k, q)(j), against N(0, s^2). This pair
dominates the removal of the user, and its reverse dominates the addition, whatever the records' directions
are (docs/notes/group_privacy.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, double, sampling_rate, within
from dpproof.accountant.pairs.gaussian_moments import SubsampledGaussianCharacteristic
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.sampled_loss import Change
from dpproof.accountant.pairs.sampled_records import Records, binomial_weights
from dpproof.accountant.pairs.subsampled import swapped

_U = 2.0**-53
_NEWTON = 60


@dataclass(frozen=True)
class BinomialGaussianMixture:
    """The dominating pair of a sum with Gaussian noise in which one user has several records.

    Each of the records is sampled separately, with probability ``rate``.

    The mixture is the sum over j of Bin(records, rate)(j) N(j, s^2), where s is the ``noise_multiplier``. If
    ``removes`` is true, a user is removed: P is the mixture, and Q is N(0, s^2). Otherwise a user is added,
    and P and Q are exchanged.

    >>> pair = BinomialGaussianMixture(0.5, 1.0, 2)
    >>> cells = pair.cells(np.array([0.0]))
    >>> round(float(cells.p[1] - cells.q[1]), 6)
    0.353284

    Raises:
        ValueError: unless 1e-300 <= rate < 1, 1e-4 <= noise_multiplier <= 1e12 (both doubles) and
            1 <= records <= 256.

    Source: this project's statement classic.group_sampled_gaussian; docs/notes/group_privacy.md, sections 3
    and 4.
    """

    rate: float
    noise_multiplier: float
    records: int
    removes: bool = True

    def __post_init__(self) -> None:
        if sampling_rate(self.rate) == 1:
            raise ValueError(f"rate ({self.rate!r}) must be above 0 and below 1")
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)
        whole(self.records, "records", 1, 256)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        if not self.removes:
            mirrored = BinomialGaussianMixture(self.rate, self.noise_multiplier, self.records)
            return swapped(mirrored.cells(-edges[::-1]))
        outputs = np.maximum.accumulate(self._outputs(edges))
        weights, _ = binomial_weights(self.rate, self.records)
        q, q_error = interval_masses(outputs)
        places = [j / self.noise_multiplier for j in range(1, self.records + 1)]
        moved = [interval_masses(outputs, (place, 1.01 * _U * place)) for place in places]
        p, p_error = mixed(
            [(weights[0], q, q_error), *((w, *x) for w, x in zip(weights[1:], moved, strict=True))]
        )
        return Cells(p, q, p_error, q_error, self._slack(outputs, edges))

    def _outputs(self, edges: Floats) -> Floats:
        """Return the outputs, in deviations, whose losses are close to ``edges``; -inf for edges below every loss.

        It uses Newton's method for log(exp(l - log w_0) - 1) = log sum over j >= 1 of (w_j/w_0) exp(e_j),
        which is convex with a slope between 1/s and k/s. No certified result depends on how close the outputs
        come.
        """
        _, logs = binomial_weights(self.rate, self.records)
        above = edges - logs[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            goal = np.where(above < 30, np.log(np.expm1(np.minimum(above, 30.0))), above)
        solvable = np.isfinite(goal)
        y, s, j = goal[solvable], self.noise_multiplier, np.arange(1, self.records + 1)
        x = s * (y - logs[-1] + logs[0]) / self.records + self.records / (2 * s)
        x = np.maximum(x, s * (y - logs[1] + logs[0]) + 1 / (2 * s)) if self.records == 1 else x
        for _ in range(_NEWTON):
            t = (logs[1:] - logs[0] - j * j / (2 * s * s))[:, None] + (j / s)[:, None] * x
            top = t.max(axis=0)
            parts = np.exp(t - top)
            total = parts.sum(axis=0)
            step = (top + np.log(total) - y) * total / ((j / s)[:, None] * parts).sum(axis=0)
            x = x - step
            if not (np.abs(step) > 1e-15 * (np.abs(x) + 1e-3)).any():
                break
        found = np.full_like(edges, -np.inf)
        found[solvable] = x
        found[edges == np.inf] = np.inf
        return found

    def _slack(self, outputs: Floats, edges: Floats) -> float:
        """Return a bound on how far the losses at ``outputs`` are from ``edges``."""
        inside = np.isfinite(outputs) & np.isfinite(edges)
        below = (
            -8 * _U * float(binomial_weights(self.rate, self.records)[1][0])
        )  # edges next to the least loss
        if not inside.any():
            return below
        loss, error = Records(self.rate, self.noise_multiplier, self.records).log_ratio(outputs[inside])
        return below + float((np.abs(loss - edges[inside]) * (1 + 2 * _U) + error).max())

    def reversed(self) -> BinomialGaussianMixture:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return BinomialGaussianMixture(self.rate, self.noise_multiplier, self.records, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If a user is removed, all losses are above records log(1 - rate).
        """
        with precision(128):
            least = round_down((-arb_of(exact(self.rate))).log1p() * self.records)
        return (least, math.inf) if self.removes else (-math.inf, -least)

    def divergence(self) -> float:
        """Return an upper bound on the smaller of the two Kullback-Leibler divergences of the pair.

        The divergence of the mixture from Q is at most log(1 + chi^2), and 1 + chi^2 is the mean of (1 - q + q
        e^(j/s^2))^k over the binomial j. As for ``SubsampledGaussian``, both directions may use this bound.
        """
        with precision(256):
            q, square, k = arb_of(exact(self.rate)), arb_of(exact(self.noise_multiplier)) ** 2, self.records
            chances = [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
            grown = [((1 - q + q * (j / square).exp()) ** k - 1) for j in range(k + 1)]
            spread = sum((chance * x for chance, x in zip(chances, grown, strict=True)), q * 0)
            return round_up(spread.log1p())

    def characteristic(self) -> Characteristic | None:
        """Return the moment-generating function of the loss, which a proved quadrature computes."""
        change = Change.REMOVED if self.removes else Change.ADDED
        found: Characteristic = SubsampledGaussianCharacteristic(
            self.rate, self.noise_multiplier, change, records=self.records
        )
        return found
