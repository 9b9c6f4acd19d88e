"""Ten published guarantees, recomputed with dp-accounting and mpmath, beside the certified ones.

    python -m benchmarks.deployments_recheck

The ten rows were drawn before any result was known. Their parameters are repeated here as the sources state them,
so that this program shares nothing with ``dpproof/deployments`` but the names. The note
``docs/notes/deployments_recheck.md`` has the draw, the sources and the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import mpmath
from dp_accounting.pld import privacy_loss_distribution

from dpproof.deployments.comparing import compare
from dpproof.deployments.records import bundled

_DELTA = "1e-5"
_WIDTH = 5e-4
_ORDERS = [Fraction(x, 10) for x in range(11, 110)] + [Fraction(x) for x in range(12, 64)]
Conversion = Callable[[mpmath.mpf], mpmath.mpf]
"""From the order to what is added to the Renyi divergence."""


def improved(order: mpmath.mpf) -> mpmath.mpf:
    """Return what the conversion of Canonne, Kamath and Steinke adds (Proposition 12)."""
    return -(mpmath.log(mpmath.mpf(_DELTA)) + mpmath.log(order)) / (order - 1) + mpmath.log1p(-1 / order)


def first(order: mpmath.mpf) -> mpmath.mpf:
    """Return what the conversion of Mironov adds (Proposition 3)."""
    return -mpmath.log(mpmath.mpf(_DELTA)) / (order - 1)


class Guarantee(Protocol):
    """What a source states."""

    def tight(self) -> float:
        """Return the smallest epsilon, or an upper estimate that is close to it."""

    def as_published(self) -> float:
        """Return the epsilon of the procedure that the source used."""


@dataclass(frozen=True)
class Training:
    """DP-SGD on Poisson samples, neighbours by adding or removing one record."""

    rate: Fraction
    noise: float
    steps: int
    conversion: Conversion = improved

    def tight(self) -> float:
        """Return epsilon from the privacy loss distribution of dp-accounting, which rounds losses up."""
        one = privacy_loss_distribution.from_gaussian_mechanism(
            self.noise, sampling_prob=float(self.rate), value_discretization_interval=_WIDTH
        )
        return float(one.self_compose(self.steps).get_epsilon_for_delta(float(_DELTA)))

    def as_published(self) -> float:
        """Return the least epsilon over the orders of the libraries, which grows on both sides of its place."""
        low, high = 0, len(_ORDERS) - 1
        while high > low:
            middle = (low + high) // 2
            if self._at(_ORDERS[middle]) <= self._at(_ORDERS[middle + 1]):
                high = middle
            else:
                low = middle + 1
        return float(self._at(_ORDERS[low]))

    def _at(self, order: Fraction) -> mpmath.mpf:
        """Return the epsilon of one order, from the integral that defines the Renyi divergence."""
        alpha, rate = (mpmath.mpf(x.numerator) / x.denominator for x in (order, self.rate))
        noise = mpmath.mpf(self.noise)

        def moment(x: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - rate + rate * mpmath.exp((2 * x - 1) / (2 * noise**2))
            return mpmath.npdf(x, 0, noise) * ratio**alpha

        places = mpmath.linspace(-10 * noise, alpha + 10 * noise, 15)
        renyi = mpmath.log(mpmath.quad(moment, places)) / (alpha - 1)
        return self.steps * renyi + self.conversion(alpha)


@dataclass(frozen=True)
class Flips:
    """One report of a device: bits, each of which is sent with the wrong value with odds 1 to e^(epsilon / bits)."""

    epsilon: str
    bits: int

    def tight(self) -> float:
        """Return the largest log-ratio of the probabilities of a report, for two values that differ in the bits."""
        wrong = 1 / (1 + mpmath.exp(mpmath.mpf(self.epsilon) / self.bits))
        return float(self.bits * mpmath.log((1 - wrong) / wrong))

    as_published = tight


@dataclass(frozen=True)
class Sum:
    """Pure guarantees on the same data."""

    parts: tuple[str, ...]

    def tight(self) -> float:
        """Return the sum."""
        return float(mpmath.fsum(map(mpmath.mpf, self.parts)))

    as_published = tight


_CIFAR = Fraction(1, 98), 0.39066894531249996
_MNIST = Fraction(256, 60_000)
DRAWN: Mapping[str, Guarantee] = {
    "apple-healthkit": Flips("2", 2),
    "opacus-ddp-9": Training(Fraction(1, 300), 1.0, 2700),
    "opacus-cifar-20": Training(*_CIFAR, 19 * 98 + 50),
    "jax-cifar100": Training(Fraction(16_384, 50_000), 21.1, 250),
    "bu-mnist-70": Training(_MNIST, 0.7, 16_407, first),
    "opacus-ddp-5": Training(Fraction(1, 300), 1.0, 1500),
    "opacus-cifar-4": Training(*_CIFAR, 3 * 98 + 50),
    "tf-noise": Training(_MNIST, 1.12, 14_063, first),
    "nationwide-synthetic": Sum(("2.5", "2.5")),
    "apple-safari": Flips("4", 1),
}


def fixed_order(takes: int) -> float:
    """Return epsilon of the CIFAR-10 tutorial without random batches, for a record in ``takes`` steps.

    The record is replaced by an empty one. The steps are then one Gaussian mechanism (Balle and Wang 2018,
    Theorem 8), whose delta falls in epsilon.
    """
    with mpmath.workdps(80):
        mu, delta = mpmath.sqrt(takes) / mpmath.mpf(str(_CIFAR[1])), mpmath.mpf(_DELTA)

        def excess(epsilon: mpmath.mpf) -> mpmath.mpf:
            far, near = (mpmath.ncdf(-epsilon / mu + half) for half in (mu / 2, -mu / 2))
            return far - mpmath.exp(epsilon) * near - delta

        return float(mpmath.findroot(excess, (0, 1000), solver="bisect", maxsteps=200, verify=False))


@dataclass(frozen=True)
class Recheck:
    """A row with the other tools' numbers beside the certified bounds and the reading of dpproof."""

    name: str
    published: str
    tight: float
    certified: tuple[float, float]
    procedure: float
    reading: float


def rechecks() -> Iterator[Recheck]:
    """Yield the ten comparisons."""
    rows = {row.id: row for row in bundled()}
    for name, stated in DRAWN.items():
        ours = compare(rows[name])
        assert ours.found.best
        assert ours.reading
        low, high = map(float, ours.found.best)
        yield Recheck(
            name,
            rows[name].published["epsilon"],
            stated.tight(),
            (low, high),
            stated.as_published(),
            float(ours.reading.ends[1]),
        )


def main() -> None:
    """Print the comparison."""
    print(
        f"{'row':21} {'published':>9} {'tight: other':>13} {'certified':>10} {'as published':>13} {'reading':>9}"
    )
    for one in rechecks():
        print(
            f"{one.name:21} {one.published:>9} {one.tight:13.5f} {one.certified[1]:10.5f} "
            f"{one.procedure:13.5f} {one.reading:9.5f}"
        )
    print(f"CIFAR-10 in a fixed order, 20 steps of one record: {fixed_order(20):.4f}")


if __name__ == "__main__":
    main()
