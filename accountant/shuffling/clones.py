"""Privacy amplification by shuffling: clones of a user among the others, and k-ary randomised response.

A clone is another user whose message looks like that of the user, with either of the two inputs. With C
clones the guarantee is that of a ``BinomialView`` of C fair coins. Its delta falls in C by g(C) = delta_C -
delta_{C+1}, a single probability in closed form. C is random, because each of the n - 1 other users may be a
clone. So the mean E of delta over C is a sum of positive terms that contain no tail
(docs/notes/shuffling.md):

    E delta_C = sum over c of g(c) P[C <= c] + delta_{n-1}.

``excess`` is for shuffled k-ary randomised response. N0 and N1 count the messages that equal the user's two
inputs. Given s = N0 + N1, the excess of one distribution over the other is proportional to N0 - place, where
place = (s + tilt)/2. So the best event is N0 >= I, where I is the smallest integer above place
(docs/notes/shuffling.md, section 5).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import flint
from numpy.typing import NDArray

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.binomial import UNIT, log_masses, lower_tail, tail_ratios
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import at_least_zero, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import crossing, refined
from dpproof.accountant.shuffling.view import fair_coins

_BITS, _BLOCKS = 192, 40


def excess(
    messages: int, chance: Fraction, tilt: tuple[float, float], reach: float = 14.0
) -> tuple[float, float]:
    """Return bounds on the mean excess, which determines the delta of shuffled randomised response.

    N0 and N1 count the messages of two equally likely kinds. Their sum s is Binomial(``messages``,
    ``chance``). Let t = slope s + rest (messages - s) and place = (s + t)/2. The excess at s is the largest
    E[(N0 - place) 1_A | s] over all events A, and the mean excess is its mean over s. ``tilt`` holds slope
    and rest; each may be wrong by up to 4 units in the last place. The upper bound leaves out values of s
    that are more than about ``reach`` standard deviations from the mean: see ``left_out``.

    Let B be Binomial(s-1, 1/2), and I the smallest integer above place. The excess at s is place P[B = I-1]/2
    - t P[B >= I-1]/2.
    """
    sums = _likely(messages, chance, reach)
    slant = tilt[0] * sums + tilt[1] * (messages - sums)
    heads = np.floor((sums + slant) / 2).astype(np.int64) + 1
    possible = heads <= sums
    edge = sums[~possible & (sums - slant >= -32 * UNIT * (sums + slant))]
    sums, slant, heads = sums[possible], slant[possible], heads[possible]
    missed = _rounded_away(messages, chance, edge)
    if not len(sums):
        return 0.0, missed
    weights = log_masses(messages, chance, sums)
    masses = log_masses(sums - 1, Fraction(1, 2), heads - 1)
    ratios, errors = tail_ratios(sums - 1, sums - heads)
    plain, loose = (sums + slant) / 4, slant / 2 * ratios
    gain = plain - loose
    doubt = plain * 32 * UNIT + loose * (errors + 32 * UNIT)
    logs, blur = weights.values + masses.values, weights.errors + masses.errors
    scale = 1 + (len(sums) + 64) * UNIT
    low = float(np.sum(np.exp(logs - blur) * np.maximum(gain - doubt, 0.0))) / scale
    high = float(np.sum(np.exp(logs + blur) * np.maximum(gain + doubt, 0.0))) * scale
    return low, high + missed


def _rounded_away(messages: int, chance: Fraction, sums: NDArray[np.int64]) -> float:
    """Return an upper bound on the sums whose place is too close to s for doubles.

    The only event is N0 = s, of mass 2^-s, and s - place is at most 32 units of place.
    """
    weights = log_masses(messages, chance, sums)
    each = np.exp(weights.values + weights.errors) * np.ldexp(1.0, -sums) * sums
    return float(np.sum(each)) * 40 * UNIT + 1e-300


def _likely(messages: int, chance: Fraction, reach: float) -> NDArray[np.int64]:
    mean, spread = float(messages * chance), math.sqrt(float(messages * chance * (1 - chance)))
    first = max(1, math.floor(mean - reach * spread))
    return np.arange(first, min(messages, math.ceil(mean + reach * spread + 60)) + 1, dtype=np.int64)


def left_out(messages: int, chance: Fraction, reach: float) -> float:
    """Return an upper bound on the probability of the values of N0 + N1 that ``excess`` ignores.

    N0 and N1 count messages of two kinds among ``messages``. Each message is of one of the two kinds with
    probability ``chance``. The user's own message always is of one of them. ``reach`` has the same meaning as
    in ``excess``.
    """
    sums = _likely(messages, chance, reach)
    with precision(_BITS):
        below = lower_tail(messages - 1, chance, int(sums[0]) - 1) if sums[0] > 1 else flint.arb(0)
        above = lower_tail(messages - 1, 1 - chance, messages - 1 - int(sums[-1]))
        return round_up(below + above)


@lru_cache(maxsize=256)
def blanket(users: int, categories: int, rare: Fraction, epsilon: Fraction) -> float:
    """Return an upper bound on the delta of shuffled k-ary randomised response, by the privacy blanket.

    k is ``categories``, and ``rare`` is the probability of each false answer. The bound assumes an observer
    who also sees how many other users send a uniformly random message. Delta falls with that number. So the
    function splits the numbers into blocks, and uses the delta at the first number of a block for the whole
    block.

    Source: Balle, Bell, Gascon and Nissim, arXiv:1903.02837v2, Section 5 (the privacy blanket).
    """
    share, others = categories * rare, users - 1
    if share >= 1:
        return 0.0
    total = 1.0
    for reach in (10.0, 18.0, 30.0, 45.0):
        rest, total = _blocks(others, categories, share, epsilon, reach)
        if rest <= 1e-4 * total:
            break
    return min(total, 1.0)


def _blocks(
    others: int, categories: int, share: Fraction, epsilon: Fraction, reach: float
) -> tuple[float, float]:
    """Return the probability of fewer uniform messages than in the first block, and the whole upper bound."""
    spread = math.sqrt(float(others * share * (1 - share)))
    first = max(0, math.floor(others * share - reach * spread - reach))
    step = max(1, math.ceil((reach + 6) * spread / _BLOCKS))
    starts = [m for m in range(first, first + _BLOCKS * step + 1, step) if m <= others]
    with precision(_BITS):
        tails = [lower_tail(others, share, m - 1) for m in starts] + [flint.arb(1)]
        rest = round_up(tails[0])
        chances = [round_up(y - x) for x, y in itertools.pairwise(tails)]
    values = (_given(m + 1, categories, share, epsilon, reach + 4) for m in starts)
    total = rest + sum(chance * value for chance, value in zip(chances, values, strict=True))
    return rest, total * (1 + (len(starts) + 8) * UNIT)


def _given(messages: int, categories: int, share: Fraction, epsilon: Fraction, reach: float) -> float:
    """Return an upper bound on delta, given the number of uniform messages, including the user's own."""
    part = Fraction(2, categories)
    with precision(_BITS):
        scale = arb_of(epsilon).exp()
        lean = (scale - 1) / (scale + 1)
        flat = 2 * arb_of(share / ((1 - share) * categories)) * lean  # for each message, in s or not
        tilt = float((lean + flat).mid()), float(flat.mid())
        unit = round_up(arb_of((1 - share) * categories) * (1 + scale) / messages)
    found = unit * excess(messages, part, tilt, reach)[1] * (1 + 4 * UNIT) + left_out(messages, part, reach)
    return min(found * (1 + 2 * UNIT), 1.0)


_CLONES_BITS = 192


@dataclass(frozen=True)
class CloneView(Profile):
    """The guarantee of a user who sends one of two symbols, among users who are clones with probability ``clone``.

    A clone sends each of the two symbols with probability 1/2. The user sends the less likely symbol with
    probability 1/(1 + exp(``local_epsilon``)). With probability 1 - ``seen`` the user's message carries no
    information, and the observer knows this. ``clone`` and ``seen`` are each given by a lower and an upper
    bound.

    >>> CloneView(1000, 1, Bound(math.exp(-1), math.exp(-1))).delta("0.2").upper
    2.0598082e-07
    """

    users: int
    local_epsilon: Number
    clone: Bound
    seen: Bound = Bound(1.0, 1.0)  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        whole(self.users, "users", 1, 10**12)
        at_least_zero(self.local_epsilon, "local_epsilon")
        for name in ("clone", "seen"):
            if not 0 <= getattr(self, name).lower <= getattr(self, name).upper <= 1:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be in [0, 1]")

    def _delta_at(self, point: Fraction) -> Bound:
        return Bound(self._lower(point), self._upper(point))

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon. At delta 0 it is the local epsilon, which shuffling does not improve."""
        with precision(_CLONES_BITS):
            local = arb_of(exact(self.local_epsilon))
        if target == 0:
            return Bound(round_down(local), round_up(local))
        near = float(local) / math.sqrt(1 + self.users * self.clone.lower)
        unit = 2.0 ** max(math.frexp(near)[1], -900)  # the search begins at 1, and a power of two moves it
        low, high = crossing(
            lambda units: self._lower(Fraction(units) * Fraction(unit)),
            lambda units: self._upper(Fraction(units) * Fraction(unit)),
            target,
        )
        return Bound(low * unit, min(high * unit, round_up(local)))

    def _lower(self, point: Fraction) -> float:
        """Return a lower bound on delta, from the upper bound on ``clone``: more clones are post-processing."""
        local = exact(self.local_epsilon)
        low = _mean_delta(self.users - 1, local, Fraction(self.clone.upper), point)[0]
        with precision(_CLONES_BITS):
            return max(round_down(flint.arb(low) * self.seen.lower), 0.0)

    def _upper(self, point: Fraction) -> float:
        local = exact(self.local_epsilon)
        high = _mean_delta(self.users - 1, local, Fraction(self.clone.lower), point)[1]
        with precision(_CLONES_BITS):
            return min(round_up(flint.arb(high) * self.seen.upper), 1.0)


@lru_cache(maxsize=256)
def _mean_delta(others: int, local: Fraction, clone: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Return bounds on E delta_C, C ~ Binomial(others, clone).

    The window of counts is widened until the omitted part is small.
    """
    if epsilon >= local:
        return 0.0, 0.0
    if epsilon >= _ALL_TAILS:
        return _ends(refined(partial(_no_head, others, local, clone, epsilon)))
    if clone in (0, 1) or others == 0:
        return _ends(_clones_given(others * int(clone), local, epsilon))
    if clone < _RAREST or 1 - clone < _RAREST:
        return _at_extreme(others, local, clone, epsilon)
    reach = 10.0
    while True:
        window = _window(others, clone, reach)
        low, high, left_out = _over(window, others, local, clone, epsilon)
        if window[0] == 0 or left_out <= 1e-12 * high or reach > _FARTHEST:
            return low, high
        reach *= 1.5


_FARTHEST, _RAREST, _ALL_TAILS = 80.0, Fraction(1, 10**250), 600


def _clones_given(coins: int, local: Fraction, epsilon: Fraction) -> flint.arb:
    """Return delta given the number of clones, at the first precision that resolves it."""
    return refined(partial(fair_coins, coins, local, epsilon))


def _ends(value: flint.arb) -> tuple[float, float]:
    return max(round_down(value), 0.0), min(round_up(value), 1.0)


def _no_head(others: int, local: Fraction, clone: Fraction, epsilon: Fraction) -> flint.arb:
    """Return E delta_C for epsilon >= 600, where the threshold is 0 for every number of clones below 10^15."""
    rest = 1 + arb_of(-local).exp()
    return -arb_of(epsilon - local).expm1() / rest * arb_of(1 - clone / 2) ** others


def _at_extreme(others: int, local: Fraction, clone: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Return bounds if ``clone`` is next to 0 or 1: any other number of clones has probability below n c."""
    likely = 0 if clone < _RAREST else others
    value = _clones_given(likely, local, epsilon)
    with precision(_CLONES_BITS):
        other = arb_of(others * min(clone, 1 - clone))
        return _ends((value * (1 - other)).union(value + other))


def _window(others: int, clone: Fraction, reach: float) -> tuple[int, int]:
    mean, spread = float(others * clone), math.sqrt(float(others * clone * (1 - clone)))
    last = min(others, math.ceil(mean + 10 * spread + 60))
    return max(0, math.floor(mean - reach * spread - 2)), last


def _over(
    window: tuple[int, int], others: int, local: Fraction, clone: Fraction, epsilon: Fraction
) -> tuple[float, float, float]:
    """Return bounds on E delta_C from the counts in the window, and the contribution of fewer clones."""
    first, last = window
    with precision(_CLONES_BITS):
        below = lower_tail(others, clone, first - 1)
        above = lower_tail(others, 1 - clone, others - last - 1)
        beyond = _clones_given(last, local, epsilon)
        ends = round_up(below), round_up(above), round_down(beyond), round_up(beyond)
        nothing = round_up(_clones_given(0, local, epsilon))
    middle, error = _steps(first, last, others, local, clone, epsilon, ends[0])
    low = (middle - error) * (1 - 8 * UNIT) + ends[2] * (1 - ends[1]) * (1 - 8 * UNIT)
    left_out = ends[0] * nothing
    high = (middle + error + ends[3] + left_out) * (1 + 8 * UNIT)
    return max(low, 0.0), min(math.nextafter(high, 2), 1.0), left_out


def _steps(
    first: int, last: int, others: int, local: Fraction, clone: Fraction, epsilon: Fraction, below: float
) -> tuple[float, float]:
    """Return the sum over c in [first, last) of g(c) P[C <= c], and its proved error.

    g(c) = size b_j(k) |place - k/j| with j = c + 1. Here k is the integer part of (j + 1) place, and b_j is
    the distribution of j fair coins.
    """
    if first >= last:
        return 0.0, 0.0
    size, place = _size_and_place(local, epsilon)
    cumulated, mass_error = _cumulated(first, last, others, clone)
    cumulated = cumulated + below
    coins = np.arange(first + 1, last + 1, dtype=np.int64)
    heads = np.floor((coins + 1) * place).astype(np.int64)
    chances = log_masses(coins, Fraction(1, 2), heads)
    flips = np.exp(chances.values)
    off = np.abs(place - heads / coins)
    terms = flips * off * cumulated
    relative = mass_error + float(np.max(chances.errors[flips > _TINY], initial=0.0)) + 64 * UNIT
    slack = flips * cumulated * UNIT * np.where(_near_integer((coins + 1) * place), 16.0, 4 * place)
    relative += (len(coins) + 16) * UNIT + relative**2
    total, loose = float(np.sum(terms)), float(np.sum(slack))
    plain = float(np.sum(flips * off))
    error = total * relative + loose * (1 + relative) + (below + len(coins) * _TINY) * plain * 1.01
    return size * total, size * error * (1 + 1e-9) + len(coins) * _TINY


@lru_cache(maxsize=2)
def _cumulated(
    first: int, last: int, others: int, clone: Fraction
) -> tuple[NDArray[np.floating[Any]], float]:
    """Return P[first <= C <= c] for c in [first, last), and a proved relative error. It holds for every epsilon."""
    counts = np.arange(first, last, dtype=np.int64)
    weights = log_masses(others, clone, counts)
    masses = np.exp(weights.values)
    error = float(np.max(weights.errors[masses > _TINY], initial=0.0)) + (len(counts) + 16) * UNIT
    return np.cumsum(masses), error


_TINY = 1e-307  # below, doubles lose their relative accuracy


def _near_integer(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Whether the integer part may be off by one. It is false next to 0, because values are positive."""
    nearest = np.round(values)
    found: NDArray[np.bool_] = (nearest > 0) & (np.abs(values - nearest) <= 8 * UNIT * (values + 1))
    return found


def _size_and_place(local: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """((E - 1)(1 + s)/(E + 1), (E - s)/((E - 1)(1 + s))) as doubles, E = e^local, s = e^epsilon.

    The formulas use differences of exponentials without cancellation. So the enclosures are far narrower than
    a unit of double precision at any local epsilon.
    """
    with precision(_CLONES_BITS):
        scale, gap = arb_of(epsilon).exp(), arb_of(-local).expm1()
        size = -gap * (1 + scale) / (2 + gap)
        place = arb_of(epsilon - local).expm1() / (gap * (1 + scale))
    if min(size.rel_accuracy_bits(), place.rel_accuracy_bits()) < _SURE:
        raise ArithmeticError(
            f"local_epsilon ({float(local)!r}) is too extreme to be computed with {_BITS} bits"
        )
    return float(size.mid()), float(place.mid())


_SURE = 100


def general_randomiser(users: int, local_epsilon: Number) -> CloneView:
    """Return the guarantee of shuffling the messages of ``local_epsilon``-differentially private randomisers.

    The randomisers of different users may differ. Each may be chosen after seeing earlier messages. The
    guarantee is for replacing one user's data.

    >>> general_randomiser(2000, 2).delta("0.8").upper
    2.9117271e-18

    Source: Feldman, McMillan and Talwar, arXiv:2012.12803v2, Theorem 3.2 (statement classic.clones).
    """
    local = at_least_zero(local_epsilon, "local_epsilon")
    with precision(_CLONES_BITS):
        clone = (-arb_of(local)).exp()
        return CloneView(users, local_epsilon, Bound(max(round_down(clone), 0.0), min(round_up(clone), 1.0)))
