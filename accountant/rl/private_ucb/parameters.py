"""Parameters of the two privatizers of PRIVATE-UCB, which add noise to its counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import flint

from dpproof.accountant.claims.parameters import Choice, Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import MOST_LEAVES, SquareRoot, Strategy, banded_square_root
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.published import published
from dpproof.accountant.rl.private_ucb.changes import COSTS, FAMILIES, VISITS, Sizes

_MOST, _BITS = 10**12, 192


@dataclass(frozen=True)
class CountsParameters(Parameters):
    """Parameters that both privatizers of PRIVATE-UCB have: the problem's sizes, the noise, and the counts.

    The noise is given by ``scale``, or it is the paper's noise for ``printed_epsilon``. If neither is given,
    it is the paper's noise for epsilon 1.
    """

    states: int = parameter(Integers(1, _MOST), "states", "number of states S")
    actions: int = parameter(Integers(1, _MOST), "actions", "number of actions A")
    horizon: int = parameter(Integers(1, _MOST), "steps", "steps per episode H")
    episodes: int = parameter(Integers(1, _MOST), "episodes", "number of episodes K, one user each")
    printed_epsilon: float | None = parameter(
        Reals(0, lower_open=True),
        "1",
        "the epsilon that the paper's noise is set by; instead of scale",
        None,
        safer=-1,
    )
    scale: float | None = parameter(
        Reals(0, lower_open=True),
        "count",
        "scale of the Laplace noise, deviation parameter of the Gaussian; instead of printed_epsilon",
        None,
        safer=1,
    )
    noise: str = parameter(
        Choice(*(law.value for law in NoiseLaw)),
        "1",
        "law of the noise; discrete laws are those of releases with secure integer noise",
        NoiseLaw.LAPLACE.value,
    )
    cost_factor: float = parameter(
        Reals(0, lower_open=True),
        "1",
        "noise of summed costs, in units of that of the other counts",
        1.0,
        safer=1,
    )
    visits: str = parameter(
        Choice("released", "summed"),
        "1",
        "visits of (s, a): released with noise of their own (the paper), or summed from the transitions",
        "released",
    )
    pooled: bool = parameter(Flag(), "1", "one table of counts for all steps instead of one a step", False)
    grains: int | None = parameter(
        Integers(1, _MOST),
        "grains",
        "whole grains that a cost of 1 is counted in; discrete noise needs it",
        None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integer and self.grains is None:
            raise ValueError(
                "grains is missing, but discrete noise needs it. Give the number of equal parts of a cost of 1, "
                "such as grains=100."
            )
        if not self.integer and self.grains is not None:
            raise ValueError(f"grains ({self.grains}) must be left out unless noise is discrete")
        if self.scale is not None and self.printed_epsilon is not None:
            given = f"printed_epsilon ({self.printed_epsilon!r})"
            raise ValueError(f"scale ({self.scale!r}) must be left out if {given} is given")
        if self.scale is None and self.printed_epsilon is None:
            object.__setattr__(self, "printed_epsilon", 1.0)

    @property
    def integer(self) -> bool:
        """Whether the noise takes integer values. In that case it is added to integer counts."""
        return self.noise.startswith("discrete-")

    @property
    def sizes(self) -> Sizes:
        """The sizes of the tables of counts, which determine how much one user can change."""
        return Sizes(self.states, self.actions, self.horizon, self.pooled)

    @property
    def tables(self) -> int:
        """The number of tables of each kind of counts: one for each step, or a single one if ``pooled``."""
        return 1 if self.pooled else self.horizon

    @property
    def families(self) -> tuple[str, ...]:
        """The kinds of counts that have their own noisy counters: visits, costs and transitions.

        Visits are left out if they are computed as sums of transitions.
        """
        return tuple(name for name in FAMILIES if name != VISITS or self.visits == "released")

    @property
    def counters(self) -> int:
        """The number of counters. In the paper it is 2SAH + S^2 AH for S states, A actions and H steps."""
        cells = self.tables * self.states * self.actions
        return cells * (len(self.families) - 1 + self.states)

    @property
    def as_printed(self) -> bool:
        """Whether the counters and the kind of noise are those of the paper. The scale may differ."""
        plain = self.noise == NoiseLaw.LAPLACE and self.cost_factor == 1
        return plain and self.visits == "released" and not self.pooled

    @property
    def own_actions(self) -> bool:
        """Whether actions belong to a user's data. Otherwise the algorithm draws them, for all users alike."""
        raise NotImplementedError

    @property
    def printed(self) -> dict[str, str]:
        """The names of two of the paper's formulas: ``scale`` for the noise scale, and ``epsilon``."""
        raise NotImplementedError

    def noise_scale(self) -> flint.arb:
        """Return an enclosure of the noise scale as an Arb number. Call it inside ``precision``."""
        if self.scale is not None:
            return arb_of(exact(self.scale))
        epsilon = arb_of(exact(self.printed_epsilon or 0))
        return published(self.printed["scale"]).formula.arb(**self.paper_sizes(), epsilon=epsilon)

    def used_scale(self) -> float:
        """Return the noise scale that samplers use: the noise scale, rounded up to a double."""
        with precision(_BITS):
            return round_up(self.noise_scale())

    def paper_sizes(self) -> dict[str, flint.arb]:
        """Return the numbers of states, actions, steps and episodes by their names in the paper: S, A, H and K."""
        names = {"S": self.states, "A": self.actions, "H": self.horizon, "K": self.episodes}
        return {name: flint.arb(value) for name, value in names.items()}

    def factor(self, family: str) -> Fraction:
        """Return the noise on one kind of counts, in units of ``scale``.

        ``family`` is ``visits``, ``costs`` or ``transitions``.
        """
        return exact(self.cost_factor) if family == COSTS else Fraction(1)

    def units(self, family: str) -> int:
        """Return the integer that stands for a count of 1: ``grains`` for costs with integer noise, or 1.

        ``family`` is ``visits``, ``costs`` or ``transitions``.
        """
        return (self.grains or 1) if family == COSTS else 1

    def with_scale(self, scale: float) -> Self:
        """Return a copy of the parameters with the noise scale ``scale``.

        >>> LocalCountsParameters(6, 2, 20, 9, printed_epsilon=1.0).with_scale(2.0).printed_epsilon is None
        True
        """
        return replace(self, printed_epsilon=None, scale=scale)


@dataclass(frozen=True)
class CentralCountsParameters(CountsParameters):
    """Parameters of the CENTRAL-PRIVATIZER, which releases noisy running counts before each episode.

    >>> CentralCountsParameters(states=6, actions=2, horizon=20, episodes=20000, printed_epsilon=1.0).counters
    1920

    Raises:
        ValueError: for a single episode, for which the paper's noise is 0; for noise other than Gaussian on a
            ``square-root`` counter; for ``bands`` with another counter.
    """

    episodes: int = parameter(
        Integers(2, _MOST), "episodes", "number of episodes K, one user each; no release counts the last"
    )
    log_base: str = parameter(
        Choice("natural", "binary"), "1", "base of log K in the paper's scale, which names none", "natural"
    )
    counter: str = parameter(
        Choice("tree", "honaker", "square-root"),
        "1",
        "binary tree (the paper), the same with subtrees averaged, or the square root of the running count",
        "tree",
    )
    bands: int | None = parameter(
        Integers(1), "bands", "leading coefficients kept of the square root; all without it", None
    )
    start: str = parameter(
        Choice("same", "any"),
        "1",
        "which users replace: first state and action the same (the paper's algorithms), or any trajectories",
        "same",
    )

    def __post_init__(self) -> None:
        if self.episodes == 1:
            rule = type(self).__dataclass_fields__["episodes"].metadata["domain"]
            raise ValueError(
                f"episodes (1) must be {rule}. With one episode, log K and the printed noise are 0."
            )
        super().__post_init__()
        if self.counter == "square-root":
            self._check_factorised()
        elif self.bands is not None:
            raise ValueError(f"bands ({self.bands}) must be left out unless counter is square-root")

    def _check_factorised(self) -> None:
        if self.noise != NoiseLaw.GAUSSIAN:
            raise ValueError(f"noise ({self.noise!r}) must be gaussian where counter is square-root")
        if self.leaves > MOST_LEAVES:
            rule = f"at most {MOST_LEAVES + 1} where counter is square-root"
            raise ValueError(f"episodes ({self.episodes}) must be {rule}")
        if self.bands is not None and self.bands >= self.episodes:
            raise ValueError(f"bands ({self.bands}) must be below episodes ({self.episodes})")

    @property
    def as_printed(self) -> bool:
        """See ``CountsParameters.as_printed``."""
        return super().as_printed and self.counter == "tree"

    @property
    def own_actions(self) -> bool:
        """See ``CountsParameters.own_actions``. It is true only if ``start`` is ``any``."""
        return self.start == "any"

    @property
    def leaves(self) -> int:
        """The largest number of users that a release counts: all users but the last one."""
        return self.episodes - 1

    @property
    def levels(self) -> int:
        """The largest number of tree nodes that contain one user: ceil(log2 K) for K episodes."""
        return self.leaves.bit_length()

    @property
    def strategy(self) -> Strategy:
        """The matrix factorisation that a ``square-root`` counter uses."""
        return SquareRoot(self.leaves) if self.bands is None else banded_square_root(self.leaves, self.bands)

    @property
    def printed(self) -> dict[str, str]:
        """See ``CountsParameters.printed``."""
        base = {"natural": "", "binary": ".binary"}[self.log_base]
        return {name: f"ucb.lemma5_1.{name}{base}" for name in ("scale", "epsilon")}


@dataclass(frozen=True)
class LocalCountsParameters(CountsParameters):
    """Parameters of the LOCAL-PRIVATIZER, with which every user sends its own counts with noise.

    >>> LocalCountsParameters(states=6, actions=2, horizon=20, episodes=20000).printed_epsilon
    1.0
    """

    start: str = parameter(
        Choice("same", "any"),
        "1",
        "which trajectories replace: any two (Definition 2.3), or two with the same first state and action",
        "any",
    )

    @property
    def own_actions(self) -> bool:
        """See ``CountsParameters.own_actions``."""
        return True

    @property
    def printed(self) -> dict[str, str]:
        """See ``CountsParameters.printed``."""
        return {name: f"ucb.lemma5_4.{name}" for name in ("scale", "epsilon")}
