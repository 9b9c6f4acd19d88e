"""Parameters of PRIVATE-UCB's counts released in batches, and how much one user can count in one episode."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.parameters import EXACT, Choice, Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import MOST_LEAVES
from dpproof.accountant.numbers.enclosures import exact

__all__ = [
    "BatchedCountsParameters",
    "batch_after",
    "most_counts",
    "most_payoffs",
    "squared_counts",
    "squared_payoffs",
]

_MOST, _FINEST = 10**12, 60


@dataclass(frozen=True)
class BatchedCountsParameters(Parameters):
    """Parameters of counts released in batches: the problem's sizes, the noise, the cap and the release times.

    ``cap`` is the largest number of visits of a state and action that are counted in one episode, over all
    its steps. If ``pooled`` is false, every step has its own table, and ``cap`` has no effect.

    The noise is added to C x, where x holds the counts of each batch. C is the square root of the running
    count, or its first ``bands`` bands. For the counter ``tree``, C x holds the complete nodes of a binary
    tree over the batches.

    If ``most_payoff`` is given, an episode's counted payoffs sum to at most this number. What is beyond is cut,
    step by step, so that the sum of an episode's payoffs in every cell stays between 0 and its visits.

    If ``bits`` is given, the coefficients of C are rounded to multiples of 2^-bits, and payoffs are multiples
    of 1/``grains``. Then C x lies on a lattice, and so does the noise, which is rounded to the lattice.

    If ``threshold`` is given, the possible transitions are not declared but found. A transition has no counter
    until its count in one period of batches, with noise ``opening_sigma``, reaches the threshold. Its counter
    begins with the next batch (docs/notes/found_support.md).

    If ``growth`` is given, batches grow: each has ``every`` users, or this share of all users before it if that is
    more. If ``step_sigma`` is given, the transitions of all visits are counted for each step as well, without a cap
    and without payoffs, with noise of their own. They show whether the laws change from step to step.

    >>> BatchedCountsParameters(6, 2, 20, 1000, sigma=100.0, cap=5, every=100).batches
    9
    >>> BatchedCountsParameters(6, 2, 20, 1000, sigma=100.0, cap=5, every=100, growth=0.5).times
    (100, 200, 300, 450, 675)

    Raises:
        ValueError: for a cap above the horizon, no release at all, or more releases than dpproof can handle.
            Also for Laplace noise on another counter than ``tree``, for ``bands`` on a tree or above the
            number of releases, for only one of ``bits`` and ``grains``, and for only one of ``threshold`` and
            ``opening_sigma``. Also for a threshold with Laplace noise, with a tree or with public transitions.
    """

    states: int = parameter(Integers(1, _MOST), "states", "number of states S")
    actions: int = parameter(Integers(1, _MOST), "actions", "number of actions A")
    horizon: int = parameter(Integers(1, _MOST), "steps", "steps per episode H")
    episodes: int = parameter(Integers(1, _MOST), "episodes", "number of episodes K, one user each")
    sigma: float = parameter(
        Reals(0, lower_open=True),
        "count",
        "noise on each entry of C x: standard deviation if Gaussian, scale if Laplace",
        safer=1,
    )
    cost_factor: float = parameter(
        Reals(0, lower_open=True), "1", "noise of summed costs, in units of that of transitions", 1.0, safer=1
    )
    cap: int = parameter(
        Integers(1), "visits", "most visits of a state and action that an episode counts, at most H", 1
    )
    every: int = parameter(
        Integers(1), "episodes", "counts are released before the episodes every, 2 every, ...", 1
    )
    until: int | None = parameter(
        Integers(1), "episodes", "but none after this episode; K - 1 without it", None
    )
    pooled: bool = parameter(Flag(), "1", "one table of counts for all steps instead of one a step", True)
    counter: str = parameter(
        Choice("square-root", "tree"),
        "1",
        "the square root of the running count over the batches, or a binary tree over them",
        "square-root",
    )
    bands: int | None = parameter(
        Integers(1), "bands", "leading coefficients kept of the square root; all without it", None
    )
    noise: str = parameter(
        Choice(NoiseLaw.GAUSSIAN.value, NoiseLaw.LAPLACE.value),
        "1",
        "law of the noise; laplace needs counter tree",
        NoiseLaw.GAUSSIAN.value,
    )
    most_payoff: float | None = parameter(
        Reals(0, lower_open=True),
        "payoff",
        "largest sum of payoffs that an episode counts, the rest is cut; no limit without it",
        None,
        safer=-1,
    )
    public_transitions: bool = parameter(
        Flag(), "1", "visits and transitions are released without noise, for rewards-only alone", False
    )
    bits: int | None = parameter(
        Integers(1, _FINEST), "bits", "the coefficients of C are multiples of 2^-bits; exact without it", None
    )
    grains: int | None = parameter(
        Integers(1, _MOST), "grains", "whole grains that a payoff of 1 is counted in; bits needs it", None
    )

    opening_sigma: float | None = parameter(
        Reals(0, lower_open=True),
        "count",
        "Gaussian noise on the count by which a transition is found; threshold needs it",
        None,
        safer=EXACT,
    )
    threshold: int | None = parameter(
        Integers(1, 1 << 62),
        "count",
        "a seen transition gets a counter if its noisy count, rounded, is at least this; all have one without it",
        None,
    )
    growth: float | None = parameter(
        Reals(0, lower_open=True),
        "1",
        "a batch has at least this share of all users before it; all batches have `every` users without it",
        None,
        safer=EXACT,
    )
    step_sigma: float | None = parameter(
        Reals(0, lower_open=True),
        "count",
        "Gaussian noise on transitions that are counted for each step as well; they are not counted without it",
        None,
        safer=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap > self.horizon:
            raise ValueError(f"cap ({self.cap}) must be at most horizon ({self.horizon})")
        if not self.batches:
            raise ValueError(
                f"every ({self.every}) must be at most {self.last}, the last episode with a release"
            )
        if self.batches > MOST_LEAVES:
            raise ValueError(
                f"every ({self.every}) is too small. There may be at most {MOST_LEAVES} releases."
            )
        self._check_counter()
        self._check_lattice()
        self._check_openings()
        self._check_steps()

    def _check_steps(self) -> None:
        if self.step_sigma is None:
            return
        if self.noise != NoiseLaw.GAUSSIAN or self.threshold is not None:
            raise ValueError(
                f"step_sigma ({self.step_sigma}) needs noise gaussian and no threshold, not {self.noise!r} with "
                f"{self.threshold}. Leave step_sigma out, or change the others."
            )
        if self.public_transitions or not self.pooled:
            raise ValueError(
                f"step_sigma ({self.step_sigma}) must be left out if transitions are public or every step has its own "
                "table"
            )

    def _check_counter(self) -> None:
        if self.noise == NoiseLaw.LAPLACE and self.counter != "tree":
            raise ValueError(
                f"noise ('laplace') needs counter tree, not {self.counter!r}. Use counter='tree' or noise='gaussian'."
            )
        if self.bands is not None and self.counter != "square-root":
            raise ValueError(f"bands ({self.bands}) must be left out unless counter is square-root")
        if self.bands is not None and self.bands > self.batches:
            raise ValueError(f"bands ({self.bands}) must be at most {self.batches}, the number of releases")

    def _check_lattice(self) -> None:
        if self.bits is not None and self.grains is None:
            raise ValueError(
                "grains is missing, but bits needs it. Give the number of equal parts of a payoff of 1, such as "
                "grains=1024."
            )
        if self.grains is not None and self.bits is None:
            raise ValueError(f"grains ({self.grains}) must be left out unless bits is given")

    def _check_openings(self) -> None:
        if self.threshold is None and self.opening_sigma is None:
            return
        if self.threshold is None or self.opening_sigma is None:
            missing = "threshold" if self.threshold is None else "opening_sigma"
            raise ValueError(f"{missing} is missing. Give threshold and opening_sigma together, or neither.")
        if self.noise != NoiseLaw.GAUSSIAN or self.counter != "square-root":
            raise ValueError(
                f"threshold ({self.threshold}) needs counter square-root with noise gaussian, not {self.counter!r} "
                f"with {self.noise!r}. Leave threshold and opening_sigma out, or change the counter."
            )
        if self.public_transitions:
            raise ValueError(
                f"threshold ({self.threshold}) must be left out if transitions are public, because they need no noise."
            )

    @property
    def last(self) -> int:
        """The last episode before which counts may be released."""
        return self.episodes - 1 if self.until is None else min(self.until, self.episodes - 1)

    @property
    def batches(self) -> int:
        """The number of times that counts are released."""
        return self.last // self.every if self.growth is None else len(self.times)

    @property
    def times(self) -> tuple[int, ...]:
        """The numbers of users who have begun when counts are released."""
        if self.growth is None:
            return tuple(range(self.every, self.last + 1, self.every))
        found: list[int] = []
        time, growth = self.every, exact(self.growth)
        while time <= self.last and len(found) <= MOST_LEAVES:
            found.append(time)
            time += batch_after(self.every, growth, time)
        return tuple(found)

    @property
    def tables(self) -> int:
        """The number of tables of each kind of counts: one for each step, or a single one if ``pooled``."""
        return 1 if self.pooled else self.horizon

    @property
    def transition_unit(self) -> Fraction | None:
        """The spacing of the lattice that noisy transitions lie on, 2^-bits; None without ``bits``."""
        return None if self.bits is None else Fraction(1, 1 << self.bits)

    @property
    def payoff_unit(self) -> Fraction | None:
        """The spacing of the lattice that noisy payoffs lie on, 2^-bits/grains; None without ``bits``."""
        return None if self.bits is None else Fraction(1, (self.grains or 1) << self.bits)


def batch_after(every: int, growth: Fraction, users: int) -> int:
    """Return the number of users of the batch that begins after so many users.

    >>> batch_after(100, Fraction(1, 16), 800), batch_after(100, Fraction(1, 16), 1680)
    (100, 105)
    """
    return max(every, growth.numerator * users // growth.denominator)


def squared_counts(states: int, actions: int, horizon: int, cap: int) -> int:
    """Return the largest sum of squared counts in one episode, if each count is cut off at ``cap``.

    Each pair of a state and an action has one count of visits. The worst episode spreads its ``horizon``
    visits so that as many counts as possible equal ``cap`` (docs/notes/ucb_batches.md).

    >>> squared_counts(6, 2, 20, 5), squared_counts(6, 2, 20, 20), squared_counts(6, 2, 20, 1)
    (100, 400, 12)
    """
    full, rest = divmod(horizon, cap)
    if full >= states * actions:
        return states * actions * cap * cap
    return full * cap * cap + rest * rest


def squared_payoffs(parameters: BatchedCountsParameters) -> Fraction:
    """Return an upper bound on the sum of the squared payoffs of one episode's cells.

    The payoffs of a cell are at least 0 and at most ``cap`` (1 if every step has its own table). They sum to at most
    ``most_payoff``, and so their squares to at most the sum times the largest of them.

    >>> sizes = BatchedCountsParameters(6, 2, 20, 1000, sigma=1.0, cap=5, most_payoff=2.5)
    >>> float(squared_payoffs(sizes))
    6.25
    """
    p = parameters
    counts = Fraction(squared_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon)
    if p.most_payoff is None:
        return counts
    most = exact(p.most_payoff)
    return min(counts, most * min(most, Fraction(p.cap if p.pooled else 1)))


def most_payoffs(parameters: BatchedCountsParameters) -> Fraction:
    """Return the largest sum of one episode's payoffs.

    >>> float(most_payoffs(BatchedCountsParameters(6, 2, 20, 1000, sigma=1.0, cap=5, most_payoff=2.5)))
    2.5
    """
    p = parameters
    counts = Fraction(most_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon)
    return counts if p.most_payoff is None else min(counts, exact(p.most_payoff))


def most_counts(states: int, actions: int, horizon: int, cap: int) -> int:
    """Return the largest number of visits that one episode counts, if each count is cut off at ``cap``.

    >>> most_counts(6, 2, 20, 5), most_counts(6, 2, 20, 1)
    (20, 12)
    """
    return min(horizon, states * actions * cap)
