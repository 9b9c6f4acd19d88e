"""Privacy of SDP-PE if each user sends the sum of its bit and its noise bits, as the paper prints it.

Each of n users sends z, its bit plus the sum of m fair noise bits, and the messages are shuffled. If all
other users hold 1, the likelihood ratio of bit 0 to bit 1, given all messages, is the mean of R = (m + 1 -
z)/z over the messages. A message 0 reveals bit 0. So the divergence is the mean of a convex function of a sum
of n independent R. The code computes certified bounds on this mean from a lattice (numbers at equal
distances). Two more lower bounds come from the message 0, and from the sum of all messages, n m bits
(docs/notes/shuffling.md, section 6). For any data, at least half of the other users hold the same bit. So
delta is at most that of half as many users with equal bits, and at most that of one message by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.binomial import UNIT, log_masses, lower_tail
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import precision, round_up
from dpproof.accountant.numbers.inversion import check_least, crossing
from dpproof.accountant.privacy_loss.loss_sums import circular_power
from dpproof.accountant.shuffling.view import BinomialView

Floats = NDArray[np.float64]
_HALF, _BITS = Fraction(1, 2), 128
_POINTS, _MOST = 1 << 15, 1 << 21
_REST = 1e-30
"""The approximate mass of the omitted messages, and of the sums beyond the lattice."""


@dataclass(frozen=True)
class AlikeSums(Profile):
    """The guarantee for one user's bit if the messages are shuffled sums and all other users have equal bits.

    Each user sends the sum of its bit and its noise bits.

    >>> AlikeSums(100, 50).delta("0.2").upper < 0.01
    True

    Attributes:
        users: the number of users, including the one whose bit is replaced.
        bits: the number of noise bits of each user. Each is 1 with probability 1/2.
    """

    users: int
    bits: int

    def _delta_at(self, point: Fraction) -> Bound:
        alone = BinomialView(self.bits, _HALF).delta(point)
        if self.users == 1:
            return alone
        together = BinomialView(self.users * self.bits, _HALF).delta(point)
        below, above = _by_lattice(self.users, self.bits, float(point))
        low = max(together.lower, 2.0**-self.bits if self.bits < 1000 else 0.0, below)
        return Bound(low, max(low, min(alone.upper, above)))

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon.

        It is infinite if delta is below the probability of the message that only one bit can give.
        """
        return _inverse(self, target, self.bits)


@dataclass(frozen=True)
class PrintedSums(Profile):
    """The guarantee for one user's bit if the messages are shuffled sums, for any data of the other users.

    Each user sends the sum of its bit and its noise bits.

    >>> PrintedSums(64, 50).delta("0.5").upper < BinomialView(50, "1/2").delta("0.5").lower
    True

    Attributes:
        users: the number of users, including the one whose bit is replaced.
        bits: the number of noise bits of each user. Each is 1 with probability 1/2.
    """

    users: int
    bits: int

    def _delta_at(self, point: Fraction) -> Bound:
        low = AlikeSums(self.users, self.bits).delta(point).lower
        alike = AlikeSums((self.users + 2) // 2, self.bits)
        return Bound(low, max(low, alike.delta(point).upper))

    def _epsilon_at(self, target: Fraction) -> Bound:
        return _inverse(self, target, self.bits)


def _inverse(sums: AlikeSums | PrintedSums, target: Fraction, bits: int) -> Bound:
    if target == 0 or target < Fraction(1, 2**bits):
        return Bound(math.inf, math.inf)
    check_least(target)
    ends = crossing(lambda e: sums.delta(e).lower, lambda e: sums.delta(e).upper, target)
    return Bound(*ends)


def _by_lattice(users: int, bits: int, epsilon: float) -> tuple[float, float]:
    """Return bounds for both directions if all others hold 1."""
    if epsilon > 600 or (law := _lattice(users, bits)) is None:
        return 0.0, 1.0
    scale, leak = math.exp(epsilon), 2.0**-bits if bits < 1000 else 1e-300
    off = law.slack + 1e-13 * scale
    falls, rises = law.means - scale, 1 - scale * law.means
    high = max(
        leak + float(law.masses @ np.maximum(falls + off, 0.0)),
        float(law.masses @ np.maximum(rises + scale * off, 0.0)),
    )
    ends = (1, users * scale * (1 - 1e-12)), (-1, users / scale * (1 + 1e-12))
    far = [_beyond(law.split, *end) for end in ends]
    least = law.spread + law.left * (1 + scale) * (1 + abs(float(law.means[-1])))  # sums that wrapped around
    low = max(
        float(law.least @ np.maximum(falls - off, 0.0)) - least + (leak if bits < 1000 else 0.0),
        float(law.least @ np.maximum(rises - scale * off, 0.0)) - scale * least,
    )
    by_lattice = high + law.left * (1 + scale)
    by_tails = max(leak + far[0], far[1]) + law.dropped * (1 + scale)
    return max(float(low) * (1 - 1e-9), 0.0), float(min(by_lattice, by_tails)) * (1 + 1e-9)


@dataclass(frozen=True, eq=False)
class _Split:
    """R of one message on the lattice: at ``low``, and with probability ``share`` one step higher."""

    users: int
    masses: Floats
    low: Floats
    share: Floats
    step: float


@dataclass(frozen=True, eq=False)
class _Lattice:
    """Upper distribution of the mean of R: masses with rounding errors, means, and errors of places.

    ``left`` bounds the omitted mass: unlikely messages (``dropped``) and sums beyond the lattice. ``least``
    are lower bounds on the masses. ``spread`` is the most that splitting adds. Splitting moves the mean by a
    variable of mean 0 and deviation at most step/(2 sqrt(users)), half of which counts.
    """

    masses: Floats
    least: Floats
    means: Floats
    slack: float
    spread: float
    left: float
    dropped: float
    split: _Split


@lru_cache(maxsize=64)
def _lattice(users: int, bits: int) -> _Lattice | None:
    """Split every R between two adjacent lattice points and keep its mean; None if there are too many R.

    This can only increase the mean of a convex function of the sum.
    """
    away = math.ceil(math.sqrt(bits / 2 * math.log(users / _REST)))
    first, last = max(0, bits // 2 - away), min(bits, bits // 2 + away + 1)
    if last - first > _MOST:
        return None
    k = np.arange(first, last + 1)
    found = log_masses(bits, _HALF, k)
    masses: Floats = np.exp(found.values + found.errors) * (1 + 8 * UNIT)
    values = (bits - k) / (k + 1.0)
    bottom, top = (_end(users, masses, values, sign) for sign in (-1, 1))
    step = (top - bottom) / (_POINTS - 16)
    base = float(values[-1])
    places = (values - base) / step
    low = np.floor(places).astype(np.int64)
    share: Floats = places - low
    law: Floats = np.zeros(_POINTS)
    np.add.at(law, low % _POINTS, masses * (1 - share))
    np.add.at(law, (low + 1) % _POINTS, masses * share)
    power, noise = circular_power([(law, users)])
    start = math.floor((bottom - users * base) / step) - 4
    sums = np.arange(start, start + _POINTS)
    here = np.maximum(power[sums % _POINTS], 0.0)
    kept: Floats = here + noise.entry
    inflated = users * (4 * float(found.errors.max()) + 64 * UNIT) + 1e-9
    least: Floats = np.maximum(here - noise.entry, 0.0) * max(1 - inflated, 0.0)
    spread = step / (4 * math.sqrt(users)) * (1 + 1e-9)
    means: Floats = base + sums.astype(np.float64) * (step / users)
    with precision(_BITS):  # R of the dropped messages has a mean of at most P[0 < X <= first], few, or many
        few, many = (lower_tail(bits, _HALF, k) if k else flint.arb(0) for k in (first, bits - last))
        dropped = (2 * users + 2) * round_up(few + many)
    lows: Floats = base + low.astype(np.float64) * step
    split = _Split(users, masses, lows, share, step)
    left = dropped + sum(
        _beyond(split, sign, float(end) * users) for sign, end in ((-1, means[0]), (1, means[-1]))
    )
    slack = 1e-13 * (1 + float(np.abs(values).max())) + 1e-10 * step
    return _Lattice(kept, least, means, slack, spread, left * (1 + 1e-9), dropped, split)


def _end(users: int, masses: Floats, values: Floats, sign: int) -> float:
    """Estimate a place beyond which the sum of ``users`` values has almost no mass, by Chernoff's bound."""
    mean = float(masses @ values)
    spread = math.sqrt(max(float(masses @ (values - mean) ** 2), 1e-300) * users)
    ends = []
    for tilt in 2.0 ** np.arange(-8, 6, 0.25) * 8 / spread:
        gaps = sign * tilt * (values - mean)
        top = float(gaps.max())
        logs = users * (math.log(float(masses @ np.exp(gaps - top))) + top)
        ends.append((logs - math.log(_REST)) / tilt)
    return float(users * mean + sign * min(end for end in ends if end > 0))


def _beyond(split: _Split, sign: int, end: float) -> float:
    """Return an upper bound on E[1 + mean] over the sums of split values beyond ``end``, by Chernoff's bound.

    1 + x <= 2 exp(x) for x >= 0, so an additional tilt of 1/users accounts for the mean.
    """
    users, masses, share = split.users, split.masses, split.share
    center = float(masses @ (split.low + share * split.step)) / float(masses.sum())
    if sign * (end - users * center) <= 0:
        return 2.0
    gaps = split.low - center
    spread = math.sqrt(users * float(masses @ (gaps + share * split.step) ** 2)) + 1e-300
    best: float = 0.0
    for tilt in 2.0 ** np.arange(-8, 6, 0.25) * 8 / spread:
        slope = sign * tilt + 1 / users
        tops = slope * np.maximum(gaps, gaps + split.step) if slope > 0 else slope * gaps
        top = float(tops.max())
        here, above = (np.exp(slope * (gaps + more) - top) for more in (0.0, split.step))
        logs = math.log(float(masses @ ((1 - share) * here + share * above))) + top
        sizes = users * (abs(logs) + abs(top) + abs(slope * center)) + tilt * abs(end) + 1
        total = users * (logs + slope * center) - sign * tilt * end + 1e-13 * sizes
        best = min(best, float(total))
    return 2 * math.exp(best)
