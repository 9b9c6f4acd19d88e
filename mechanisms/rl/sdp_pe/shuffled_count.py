"""The shuffle model's three parties for private counts: encoder, shuffler, analyser.

    messages = encoder.encode(bits, rng)        each user, alone
    shown = shuffled(messages, rng)             trusted: all messages of a counter, in random order
    counts = encoder.analyse(shown, users)      untrusted: sees nothing else

``BitEncoder`` sends the data bit and each noise bit as separate messages. ``SumEncoder`` sends their sum as
one number, as the paper prints it. The analyser sees only how often each message was sent (``histograms``). For
whole experiments ``BitEncoder.counts`` draws the same counts faster, as one binomial number for each counter.
``sample`` draws what the analyser sees of one counter.

From entropy, the noise bits of ``BitEncoder`` are drawn exactly, from the operating system's random bits. From a seed
they are numpy's, which is faster, but in floating point.

Source: Section V of the paper; the distribution and the exact privacy are
``dpproof.accountant.rl.sdp_pe.shuffled_count``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.noise.coin_sums import coin_sums
from dpproof.mechanisms.noise.coins import coins
from dpproof.mechanisms.randomness import Randomness

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_VALUES = 4096
"""If a user's sum can take more values than this, ``sample`` raises an error instead of drawing sums."""
MOST_MESSAGES = 10**8
"""Largest number of messages that ``encode`` makes for a batch. ``BitEncoder.counts`` has no such limit."""


def sample(parameters: ShuffledCountParameters, ones: int, n: int, rng: np.random.Generator) -> Ints:
    """Return what the analyser sees in ``n`` runs if ``ones`` of the users have the bit 1.

    If ``parameters.encoding`` is ``bits``, the analyser sees how many messages are 1, an array ``(n,)``. Otherwise it
    sees how many users sent each of the possible sums, an array ``(n, values)``.

    Raises:
        ValueError: ``ones`` is outside [0, users], or a user's sum can take too many values.
    """
    if not 0 <= ones <= parameters.users:
        raise ValueError(f"ones ({ones!r}) must be an integer in [0, {parameters.users}]")
    if parameters.encoding == "bits":
        coins = parameters.users * max(parameters.noise_bits, 1)
        return np.asarray(ones + rng.binomial(coins, float(parameters.noise_chance), n))
    return _sums(parameters, ones, n, rng)


def _sums(parameters: ShuffledCountParameters, ones: int, n: int, rng: np.random.Generator) -> Ints:
    """Draw how many users sent each of 0, ..., coins + 1: ``(n, coins + 2)``."""
    coins = max(parameters.noise_bits, 1)
    if coins + 2 > MOST_VALUES:
        raise ValueError(
            f"threshold ({parameters.threshold!r}) is too large. A user may add at most {MOST_VALUES - 2} noise bits."
        )
    k, p = np.arange(coins + 1), float(parameters.noise_chance)
    logs = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1)
    chances = np.exp(logs) * p**k * (1 - p) ** (coins - k)
    chances /= chances.sum()
    zeros, others = (rng.multinomial(count, chances, n) for count in (parameters.users - ones, ones))
    return np.pad(zeros, ((0, 0), (0, 1))) + np.pad(others, ((0, 0), (1, 0)))


class CountEncoder(Protocol):
    """Interface of an encoder. It makes the messages that users send, and the estimates of the analyser.

    The dots in the shapes are the axes of the counters.
    """

    @property
    def messages(self) -> int:
        """Number of messages that a user sends for each counter."""
        ...

    def encode(self, bits: ArrayLike, rng: np.random.Generator) -> Ints:
        """Return the messages ``(users, messages, ...)`` of users who have ``bits`` ``(users, ...)``."""
        ...

    def analyse(self, shown: Ints, users: int) -> Floats:
        """Return estimates of the true counts ``(...)`` from all users' messages ``(all, ...)`` in any order."""
        ...


@dataclass(frozen=True)
class _Encoder:
    """Noise bits of n users at threshold tau: ceil(tau / n) fair ones each, or one of probability tau/(2 n)."""

    users: int
    threshold: float
    encoding: ClassVar[str]

    def __post_init__(self) -> None:
        _ = self.parameters

    @cached_property
    def parameters(self) -> ShuffledCountParameters:
        """The parameters with which the accountant computes the guarantee."""
        return ShuffledCountParameters(self.users, self.threshold, self.encoding)

    @property
    def noise_bits(self) -> int:
        """Number of noise bits of each user for each counter."""
        return max(self.parameters.noise_bits, 1)

    @property
    def mean(self) -> float:
        """Mean of the noise in a counter. The analyser subtracts it."""
        return float(self.users * self.noise_bits * self.parameters.noise_chance)

    def analyse(self, shown: Ints, users: int) -> Floats:
        """Return estimates of the true counts ``(...)`` from all users' messages ``(all, ...)`` in any order.

        Raises:
            ValueError: the number of users is not the number that this protocol was made for.
        """
        if users != self.users:
            raise ValueError(f"users ({users!r}) must be {self.users}, the number for which the noise is set")
        sums: Floats = shown.sum(axis=0).astype(np.float64)
        return sums - self.mean

    def _checked(self, bits: ArrayLike, each: int) -> Ints:
        """Return the users' bits after checks, with one row for each user.

        Raises:
            ValueError: for bits outside {0, 1}, other than one row a user, or too many messages.
        """
        held = _checks.indices("bits", np.asarray(bits), 2)
        if held.ndim == 0 or len(held) != self.users:
            raise ValueError(
                f"the shape of bits {held.shape} must be ({self.users}, ...), one row for each user"
            )
        if held.size * each > MOST_MESSAGES:
            rule = f"smaller, so that at most {MOST_MESSAGES:.0e} messages are made"
            raise ValueError(f"threshold ({self.threshold!r}) must be {rule}")
        return held


@dataclass(frozen=True)
class BitEncoder(_Encoder):
    """The encoder that sends every bit as a message. After shuffling, nobody can tell data bits from noise bits.

    >>> encoder, rng = BitEncoder(1000, 300.0), np.random.default_rng(0)
    >>> shown = shuffled(encoder.encode(np.ones((1000, 3), int), rng), rng)
    >>> shown.shape, bool((abs(encoder.analyse(shown, 1000) - 1000) < 80).all())
    ((2000, 3), True)

    Raises:
        ValueError: see ``ShuffledCountParameters``.
    """

    encoding: ClassVar[str] = "bits"

    @property
    def messages(self) -> int:
        """Number of messages that a user sends for each counter: the data bit and the noise bits."""
        return 1 + self.noise_bits

    def encode(self, bits: ArrayLike, rng: np.random.Generator) -> Ints:
        """Return the messages ``(users, messages, ...)`` of users who have ``bits`` ``(users, ...)``."""
        held = self._checked(bits, self.messages)
        noise = self._coins((self.users, self.noise_bits, *held.shape[1:]), rng)
        return np.concatenate((held[:, None], noise.astype(np.int64)), axis=1)

    def _coins(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return noise bits: exact ones from entropy, numpy's in a simulation."""
        chance = self.parameters.noise_chance
        if Randomness.of(rng).simulated:
            return rng.random(shape) < float(chance)
        return coins([chance], np.zeros(math.prod(shape), np.int64), rng).reshape(shape)

    def counts(self, true: ArrayLike, rng: np.random.Generator) -> Floats:
        """Return random estimates as the analyser computes them, drawn directly without messages.

        ``true`` holds how many users have the bit 1 in each counter.

        Raises:
            ValueError: for counts that are no integers in [0, users].
        """
        return (self.sums(true, rng) - self.mean).astype(np.float64)

    def sums(self, true: ArrayLike, rng: np.random.Generator) -> Ints:
        """Return how many messages are 1 in each counter: the true counts plus the noise bits that are 1.

        From entropy the noise is exactly binomial. Its time is then proportional to the number of noise bits.

        >>> BitEncoder(10, 4.0).sums([3, 10], np.random.default_rng(0)).shape
        (2,)

        Raises:
            ValueError: for counts that are no integers in [0, users].
        """
        held = _checks.indices("counts", np.asarray(true), self.users + 1)
        trials, chance = self.users * self.noise_bits, self.parameters.noise_chance
        if Randomness.of(rng).simulated:
            return held + rng.binomial(trials, float(chance), held.shape)
        return held + coin_sums(trials, chance, held.size, rng).reshape(held.shape)


@dataclass(frozen=True)
class SumEncoder(_Encoder):
    """The paper's encoder, which hides almost nothing. Each user sends one number: data bit plus noise bits.

    >>> encoder, rng = SumEncoder(4, 2.0), np.random.default_rng(0)
    >>> encoder.encode([0, 1, 1, 1], rng).shape
    (4, 1)
    """

    encoding: ClassVar[str] = "sum"

    @property
    def messages(self) -> int:
        """Number of messages that a user sends for each counter, which is one."""
        return 1

    def encode(self, bits: ArrayLike, rng: np.random.Generator) -> Ints:
        """Return the messages ``(users, 1, ...)`` of users who have ``bits`` ``(users, ...)``."""
        held = self._checked(bits, 1)
        return (held + rng.binomial(self.noise_bits, float(self.parameters.noise_chance), held.shape))[
            :, None
        ]


def shuffled(messages: Ints, rng: np.random.Generator) -> Ints:
    """Return all users' messages ``(users * messages, ...)``, in a random order for each counter.

    >>> shuffled(np.array([[1, 1], [1, 1]]), np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]

    Raises:
        ValueError: for messages that have not both an axis of users and one of messages.
    """
    if messages.ndim < 2:
        raise ValueError(f"the shape of messages {messages.shape} must be (users, messages, ...)")
    flat = messages.reshape(-1, *messages.shape[2:])
    return rng.permuted(flat, axis=0)


def histograms(shown: Ints, most: int) -> Ints:
    """Return how often each message 0, ..., ``most`` was sent for each counter, ``(..., most + 1)``.

    This is all that the analyser sees.

    >>> histograms(np.array([[0, 2], [1, 2]]), 2).tolist()
    [[1, 1, 0], [0, 0, 2]]

    Raises:
        ValueError: for a message outside 0, ..., ``most``.
    """
    seen = _checks.indices("messages", shown, most + 1)
    counters = seen.reshape(len(seen), -1)
    places = counters + (most + 1) * np.arange(counters.shape[1])
    found: Ints = np.bincount(places.ravel(), minlength=(most + 1) * counters.shape[1])
    return found.reshape(*seen.shape[1:], most + 1)
