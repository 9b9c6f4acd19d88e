"""Check the numbers that privacy labels show against closed forms, at 100,000 random points.

    python -m benchmarks.label_points [--points N] [--seed N]

Each point draws a mechanism (Gaussian noise, Laplace noise or randomised response) of a random size, asks for one
number of its label, reads the number from its text, and compares it with a closed form in mpmath. A number is wrong if
it promises more privacy than the closed form. The program prints how many numbers of each kind are wrong, and how far
the others are from the closed form.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mpmath

from dpproof.accountant.asking import account
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.guarantees.reporting import loss_exceeded, regret
from dpproof.accountant.guarantees.trade_off import power
from dpproof.labels.numbers import belief_at, between, most

SHARES = {
    "epsilon": 0.14,
    "true positive rate": 0.14,
    "advantage": 0.08,
    "belief": 0.04,
    "mu": 0.3,
    "regret": 0.3,
}
"""The share of each kind of number in all points."""
A_CARD = 1000
"""The number of points for mu, and for the regret, that one label gives."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with closed forms. ``size`` is mu of Gaussian noise, or the largest privacy loss of the others."""

    kind: str
    size: float

    @property
    def guarantee(self) -> Profile:
        """The certified guarantee."""
        if self.kind == "gaussian":
            return GaussianDP(self.size)
        if self.kind == "response":
            return PureDP(self.size)
        return account("laplace", scale=1, sensitivity=self.size, adjacency="replace").guarantee

    def delta(self, epsilon: mpmath.mpf) -> mpmath.mpf:
        """The exact delta."""
        size = mpmath.mpf(self.size)
        if self.kind == "gaussian":
            return _gaussian(size, epsilon)
        if self.kind == "laplace":
            return max(1 - mpmath.exp((epsilon - size) / 2), mpmath.mpf(0))
        return max((mpmath.exp(size) - mpmath.exp(epsilon)) / (1 + mpmath.exp(size)), mpmath.mpf(0))

    def hits(self, rate: mpmath.mpf) -> mpmath.mpf:
        """The exact largest true positive rate at a false positive rate of at most 1/2."""
        size = mpmath.mpf(self.size)
        if self.kind == "gaussian":
            return mpmath.ncdf(size + mpmath.sqrt(2) * mpmath.erfinv(2 * rate - 1))
        if self.kind == "laplace" and rate >= mpmath.exp(-size) / 2:
            return 1 - mpmath.exp(-size) / (4 * rate)
        steep = mpmath.exp(size) * rate
        return steep if self.kind == "laplace" else min(steep, 1 - mpmath.exp(-size) * (1 - rate))

    def exceeded(self, loss: mpmath.mpf) -> mpmath.mpf:
        """The exact probability of a privacy loss above ``loss`` >= 0."""
        size = mpmath.mpf(self.size)
        if self.kind == "gaussian":
            return mpmath.ncdf((size * size / 2 - loss) / size)
        if loss >= size:
            return mpmath.mpf(0)
        if self.kind == "laplace":
            return 1 - mpmath.exp((loss - size) / 2) / 2
        return mpmath.exp(size) / (1 + mpmath.exp(size))


def _gaussian(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


Point = tuple[bool, float]
"""Whether a number is safe, and by how much of itself it exceeds the closed form."""


def _drawn(draw: random.Random) -> Mechanism:
    return Mechanism(draw.choice(("gaussian", "laplace", "response")), draw.uniform(0.05, 4))


def _above(shown: str, exact: mpmath.mpf) -> Point:
    value = mpmath.mpf(shown)
    return bool(value >= exact), float((value - exact) / exact)


def epsilon_points(draw: random.Random) -> Iterator[Point]:
    """Yield whether both ends of epsilon enclose the true one: delta at the ends encloses the given delta."""
    found, delta = _drawn(draw), 10 ** -draw.uniform(1, 12)
    bound = found.guarantee.epsilon(delta)
    ends = [mpmath.mpf(text) for text in between(bound).split(" to ")]
    low = found.delta(ends[0]) >= delta or ends[0] == 0 or len(ends) == 1
    width = float((ends[-1] - ends[0]) / ends[-1]) if ends[-1] else 0.0
    yield bool(low and found.delta(ends[-1]) <= delta), width


def rate_points(draw: random.Random) -> Iterator[Point]:
    """Yield whether the largest true positive rate is safe."""
    found, rate = _drawn(draw), 10 ** -draw.uniform(0.31, 6)
    yield _above(most(power(found.guarantee, rate).upper), found.hits(mpmath.mpf(rate)))


def advantage_points(draw: random.Random) -> Iterator[Point]:
    """Yield whether the advantage is safe."""
    found = _drawn(draw)
    yield _above(most(found.guarantee.delta(0).upper), found.delta(mpmath.mpf(0)))


def belief_points(draw: random.Random) -> Iterator[Point]:
    """Yield whether the belief is exceeded at most as often as stated."""
    found, beta = _drawn(draw), 10 ** -draw.uniform(0.5, 9)
    belief = mpmath.mpf(most(belief_at(loss_exceeded(found.guarantee, beta))))
    chance = found.exceeded(mpmath.log(belief / (1 - belief))) if belief < 1 else mpmath.mpf(0)
    yield bool(chance <= beta), float(1 - chance / beta)


def card_points(draw: random.Random, of_regret: bool) -> Iterator[Point]:
    """Yield whether the inequality behind mu, or behind the regret, holds at random epsilons."""
    found, kappa = _drawn(draw), 10 ** -draw.uniform(2, 7)
    bound = found.guarantee.gaussian_but_for(kappa)
    text = most(bound.upper, 6)
    mu, loss = mpmath.mpf(text), mpmath.mpf(0)
    if of_regret:
        loss = mpmath.mpf(most(regret(found.guarantee, bound.upper).upper))
        mu = mpmath.mpf(bound.upper)
    width = float((bound.upper - bound.lower) / bound.upper)
    for _ in range(A_CARD):
        epsilon = mpmath.mpf(draw.uniform(0, 1.2 * found.size + found.size**2))
        own, other = found.delta(epsilon), _gaussian(mu, epsilon)
        safe = other - own <= loss * (1 + mpmath.exp(epsilon)) if of_regret else own <= other + kappa
        yield bool(safe), width


KINDS: dict[str, Callable[[random.Random], Iterator[Point]]] = {
    "epsilon": epsilon_points,
    "true positive rate": rate_points,
    "advantage": advantage_points,
    "belief": belief_points,
    "mu": lambda draw: card_points(draw, of_regret=False),
    "regret": lambda draw: card_points(draw, of_regret=True),
}


def measured(kind: str, points: int, seed: int) -> tuple[int, int, float]:
    """Return how many points were checked, how many are wrong, and the median distance."""
    draw, found = random.Random(f"{seed} {kind}"), list[Point]()
    while len(found) < points:
        found += KINDS[kind](draw)
    return len(found), sum(not safe for safe, _ in found), statistics.median(gap for _, gap in found)


def main() -> None:
    """Print one line for each kind of number."""
    parser = argparse.ArgumentParser(description="Check the numbers of labels at random points.")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=24)
    asked = parser.parse_args()
    mpmath.mp.dps = 40
    for kind, share in SHARES.items():
        began = time.process_time()
        points, wrong, gap = measured(kind, round(asked.points * share), asked.seed)
        spent = time.process_time() - began
        print(
            f"{kind}: {points} points, {wrong} wrong, median distance {gap:.2g}, {spent:.0f} s of CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
