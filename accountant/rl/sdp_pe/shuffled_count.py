"""Accountant of the shuffled count of SDP-PE. The paper can be read in two ways, and both are covered.

With ``bits`` each user sends the data bit and the noise bits as separate messages. The observer learns only
their sum: binomial noise plus the users' total. The guarantee is exact for any data of the others. With
``sum`` each user sends the paper's z, the data bit plus noise, as one number. If all other users hold 1, a
message 0 can only come from the user who holds 0, so shuffling hides almost nothing
(docs/notes/shuffling.md).

Source: Lemma 10 of the paper and its proof; the exact statements are this project's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.binomial import MOST_TRIALS
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.numbers.inversion import first_step, first_whole, neighbours_of
from dpproof.accountant.published.sdp_pe import PUBLISHED
from dpproof.accountant.shuffling.peaks import last_crossing
from dpproof.accountant.shuffling.printed_sums import AlikeSums, PrintedSums
from dpproof.accountant.shuffling.view import BinomialView

_BITS = 192
_FORMULAS = {entry.id: entry.formula for entry in PUBLISHED}
_MOST = 10**15


@dataclass(frozen=True)
class ShuffledCountParameters(Parameters):
    """Parameters of one counter of SDP-PE over one batch of users.

    >>> ShuffledCountParameters(users=0, threshold=1.0, encoding="bits")
    Traceback (most recent call last):
    ValueError: users (0) must be an integer in [1, 1e+12]
    """

    users: int = parameter(Integers(1, 10**12), "users", "number of users n in the batch")
    threshold: float = parameter(
        Reals(0, _MOST, lower_open=True), "1", "threshold tau: twice the expected number of noise bits"
    )
    encoding: str = parameter(
        Choice("bits", "sum"), "1", "messages: data and noise as single bits, or each user's printed sum"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoding == "bits" and self.users * self.noise_bits > MOST_TRIALS:
            rule = f"smaller, so that users * ceil(threshold / users) is at most {MOST_TRIALS:.0e}"
            raise ValueError(f"threshold ({self.threshold!r}) must be {rule}")

    @property
    def noise_bits(self) -> int:
        """The number of fair noise bits of each user: ceil(threshold / users) if users <= threshold, otherwise 0.

        A fair bit is 1 with probability 1/2.
        """
        ratio = exact(self.threshold) / self.users
        return math.ceil(ratio) if ratio >= 1 else 0

    @property
    def noise_chance(self) -> Fraction:
        """The probability that a noise bit is 1: threshold / (2 users) if users > threshold, otherwise 1/2."""
        return exact(self.threshold) / (2 * self.users) if self.noise_bits == 0 else Fraction(1, 2)


def view(parameters: ShuffledCountParameters) -> BinomialView:
    """Return the binomial noise that hides one user's bit.

    If ``encoding`` is ``bits``, it is the sum of all users' noise bits. If ``encoding`` is ``sum``, it is the
    noise in one user's message.

    >>> view(ShuffledCountParameters(1000, 3000.0, "bits")).trials
    3000
    """
    senders = parameters.users if parameters.encoding == "bits" else 1
    return BinomialView(senders * max(parameters.noise_bits, 1), parameters.noise_chance)


def account(parameters: ShuffledCountParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of the shuffled messages, if one user's bit is replaced.

    >>> found = account(ShuffledCountParameters(278566, 139283.0, "sum"), Adjacency.REPLACE)
    >>> found.attained.guarantee.delta("0.1").lower
    0.75

    Raises:
        UnprovedAdjacencyError: for any other relation, because the number of messages reveals that of users.
    """
    if adjacency is not Adjacency.REPLACE:
        why = "The number of messages reveals how many users there are. Use replace."
        raise UnprovedAdjacencyError("shuffled-count", adjacency, why)
    return _READINGS[parameters.encoding](parameters)


def _bits(parameters: ShuffledCountParameters) -> PrivacyResult:
    exact_view = view(parameters)
    return PrivacyResult(
        exact_view,
        Adjacency.REPLACE,
        TrustModel.SHUFFLE,
        "the shuffled bits of one counter",
        "classic.shuffled_bits",
        published=_published(parameters, exact_view, "classic.shuffled_bits"),
        attained=Attained(exact_view, "one user's bit 0 against 1, whatever the other users hold"),
        notes=(_ONE_COUNTER,),
    )


def _sum(parameters: ShuffledCountParameters) -> PrivacyResult:
    """Return the guarantee of printed sums: with n > tau that of one message, otherwise for users with equal bits."""
    found, among, note = _named(parameters) if parameters.noise_bits == 0 else _few(parameters)
    statement = "classic.shuffled_sums" if parameters.noise_bits == 0 else "classic.shuffled_sums.few"
    return PrivacyResult(
        found,
        Adjacency.REPLACE,
        TrustModel.SHUFFLE,
        "the shuffled printed sums of one counter",
        statement,
        published=_published(parameters, found, statement),
        attained=Attained(among, "one user's bit 0 against 1 among users who all hold 1"),
        notes=(_ONE_COUNTER, note),
    )


def _named(parameters: ShuffledCountParameters) -> tuple[Profile, Profile, str]:
    return view(parameters), _Leak(1 - parameters.noise_chance), _NAMED


def _few(parameters: ShuffledCountParameters) -> tuple[Profile, Profile, str]:
    sizes = parameters.users, parameters.noise_bits
    return PrintedSums(*sizes), AlikeSums(*sizes), _HALF


_NAMED = "the printed encoding hides no more than sending each message with its sender's name"
_HALF = (
    "the upper end is that among half as many users who hold the same bit, or of one message with its "
    "sender's name, whichever is less; that data where all others are alike are the worst is not proved"
)
_ONE_COUNTER = "one counter in one batch; a replaced user may change several counters"
_READINGS: dict[str, Callable[[ShuffledCountParameters], PrivacyResult]] = {"bits": _bits, "sum": _sum}


@dataclass(frozen=True)
class _Leak(Profile):
    """An event with this probability under one input and probability zero under the other.

    It bounds delta from below at every epsilon.
    """

    chance: Fraction

    def _delta_at(self, point: Fraction) -> Bound:
        with precision(_BITS):
            return bound_of(arb_of(self.chance))

    def _epsilon_at(self, target: Fraction) -> Bound:
        return exactly(math.inf if target < self.chance else 0.0)


def _published(parameters: ShuffledCountParameters, own: Profile, statement: str) -> PublishedGuarantee:
    """Return the printed relation tau = 96 log(2/beta)/epsilon^2, solved for epsilon; valid for epsilon < 1."""

    def epsilon(failure: Fraction) -> Bound:
        with precision(_BITS):
            values = {"beta": arb_of(failure), "tau": arb_of(exact(parameters.threshold))}
            found = bound_of(_FORMULAS["sdp.counter_epsilon"].arb(**values))
        return found if found.upper < 1 else exactly(math.inf)

    printed = "classic.printed_threshold" if parameters.encoding == "bits" else "classic.printed_sums"
    return PublishedGuarantee(printed, at_positive_delta(epsilon), own, statement)


def _calibrate(
    parameters: ShuffledCountParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[ShuffledCountParameters, ShuffledCountParameters]:
    """Return a tau that meets the target together with every larger one, and one next to it that misses.

    Below n, delta rises and falls in tau (there are peaks in both directions). The returned tau lies beyond
    the last peak above the target. All later peaks are certified to be below the target
    (``dpproof.accountant.shuffling.peaks``). For the printed sums delta falls in tau. From tau = n on it
    falls with every further fair bit.
    """
    account(parameters, adjacency)
    target, failure = at_least_zero(epsilon, "epsilon"), below_one(delta, "delta")
    if failure == 0:
        raise UnreachableTargetError(
            "delta (0) cannot be met, because one of two neighbours has an output that is impossible for the other. "
            "Use a larger delta."
        )
    below, above = map(exact, neighbours_of(target))
    users = parameters.users

    def meets(tau: float) -> bool:
        return view(replace(parameters, threshold=tau)).delta(below).upper <= failure

    def misses(tau: float) -> bool:
        return view(replace(parameters, threshold=tau)).delta(above).lower > failure

    if parameters.encoding == "sum" and failure >= Fraction(1, 2):
        pair = _single_bits(2 * users * (1 - failure), float(users), meets, misses)
        return replace(parameters, threshold=pair[0]), replace(parameters, threshold=pair[1])
    if parameters.encoding == "sum":
        meets_at, misses_at = _few_bits(users, (below, above), failure)
        found = float(math.nextafter(users * (meets_at - 1), math.inf)), float(users * misses_at)
        return replace(parameters, threshold=found[0]), replace(parameters, threshold=found[1])
    if meets(float(users)):
        pair = last_crossing(users, below, above, failure)[::-1]
    else:
        bits = _least_bits(lambda m: meets(float(users * m)), _MOST // users)
        pair = math.nextafter(float(users * (bits - 1)), math.inf), float(users * (bits - 1))
    if not (meets(pair[0]) and misses(pair[1])):
        raise ArithmeticError(
            f"The bounds near threshold = {pair[1]!r} are too wide to decide whether epsilon ({epsilon!r}) at delta "
            f"({delta!r}) is met."
        )
    return replace(parameters, threshold=pair[0]), replace(parameters, threshold=pair[1])


def _single_bits(
    crossing: Fraction, most: float, meets: Callable[[float], bool], misses: Callable[[float], bool]
) -> tuple[float, float]:
    """Return the doubles around the tau with 1 - tau/(2n) = delta.

    The first is increased, up to n, until its rounded delta meets the target. The second is decreased until
    it misses.
    """
    low, high = neighbours_of(crossing)
    high = low if low == crossing else high
    low = math.nextafter(high, 0)
    missed = first_step(misses, low, -math.ulp(low), _LEAST)
    if missed <= _LEAST and not misses(_LEAST):
        raise ArithmeticError(
            "The bounds are too wide to find a threshold that misses the target. Use a smaller delta."
        )
    return first_step(meets, high, math.ulp(high), most), max(missed, _LEAST)


def _few_bits(users: int, around: tuple[Fraction, Fraction], failure: Fraction) -> tuple[int, int]:
    """Return a number of fair bits per user with which printed sums meet the target, and one with which they miss."""

    def meets(bits: int) -> bool:
        return PrintedSums(users, bits).delta(around[0]).upper <= failure

    def undecided(bits: int) -> bool:
        return not PrintedSums(users, bits).delta(around[1]).lower > failure

    enough = _least_bits(meets, _MOST // users)
    return enough, _least_bits(undecided, enough) - 1


_LEAST = math.ulp(0.0)


def _least_bits(enough: Callable[[int], bool], most: int) -> int:
    """Return the least sufficient number of fair bits for each user. More bits are post-processing."""
    low, high = 0, 1
    while not enough(high):
        if high >= most:
            raise UnreachableTargetError(
                f"The target cannot be met. No threshold up to {_MOST:.0e} is enough. Use a larger epsilon or delta."
            )
        low, high = high, min(2 * high, most)
    return first_whole(enough, low, high)


ACCOUNTANT = Accountant(
    "shuffled-count",
    "Shuffled count of SDP-PE",
    ShuffledCountParameters,
    account,
    "threshold",
    _calibrate,
    unit="user",
    example=ShuffledCountParameters(users=1000, threshold=20, encoding="bits"),
)
