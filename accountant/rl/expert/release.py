"""Accountant of the release of stable prefixes: the guarantee of the paper's noise, and the least noise.

A round draws an expert and releases the longest prefix of its trajectory whose noisy counts pass a noisy
threshold. b_t and b_q are the noise scales of the threshold and of each count, m the number of experts, and
epsilon_d the epsilon of drawing an expert. The losses of a round lie between -(1/b_q + log(1 + 1/m)) and
1/b_t + 1/b_q + epsilon_d, except in a failure. A failure occurs only if a count below c_min/pmin passes
(``Design`` defines both numbers). Counts fall along a trajectory, so the failure probability does not grow
with its length (docs/notes/expert_accounting.md, section 4). The composition of T rounds is exact.

The guarantee is about experts' policies, over the randomness of their trajectories. Two fixed data sets can
differ more (expert.fixed_data). Draws from logged data are not fresh. If this alone exceeds the target for
any noise, the search does not start, and the error names the cause.

Source: Sharma et al. (2024), Algorithms 1 and 2, Theorems 5.3 and 5.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError, calibrate_noise
from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_up
from dpproof.accountant.published import published
from dpproof.accountant.rl.expert.design import (
    Design,
    Rounds,
    printed_design,
    round_losses,
    shaped,
    shaped_design,
)
from dpproof.accountant.rl.expert.draws import Logged, Redrawn, Walked, run_out, walk_constants
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

LEAST_FAILURE: Final = 1e-60
MOST_FAILURE: Final = 0.1
"""The largest allowed probability that a round releases an unstable prefix. ``LEAST_FAILURE`` is the least."""

_TOO_MANY = "the logged data are too few for so many rounds, so no noise gives a guarantee"
_HOPELESS: Final[Mapping[str, Callable[[Logged], bool]]] = {
    "walk": lambda logged: not walk_constants(logged),
    "fresh": lambda logged: 2 * run_out(logged) >= 1,
}


def drawn_out(logged: Logged, draws: str) -> tuple[str, ...]:
    """Return a tuple with an error text if no noise gives a guarantee, otherwise an empty tuple.

    The error is that there are too many rounds for the logged data. ``draws`` is ``walk`` or ``fresh``, as in
    ``ExpertReleaseParameters``.

    >>> drawn_out(Logged(rounds=25, experts=3000, each=20), "walk")
    ()
    """
    return (_TOO_MANY,) if _HOPELESS[draws](logged) else ()


def failure_share(delta: Fraction, rounds: int) -> float:
    """Return the failure probability that is planned for one round: ``delta`` / (5 ``rounds``).

    The result is kept between ``LEAST_FAILURE`` and ``MOST_FAILURE``.

    >>> failure_share(Fraction(1, 1000), 20), failure_share(Fraction(9, 10), 1)
    (1e-05, 0.1)

    Raises:
        UnreachableTargetError: for a delta of at most ``rounds`` times ``LEAST_FAILURE``.
    """
    least = exact(LEAST_FAILURE) * rounds
    if delta <= least:
        given = f"delta ({float(delta)!r})"
        raise UnreachableTargetError(
            f"{given} must be above {float(least)!r}, because each round fails with a small probability."
        )
    return min(max(float(delta / (5 * rounds)), LEAST_FAILURE), MOST_FAILURE)


def check_reach(logged: Logged, draws: str, epsilon: Fraction) -> None:
    """Raise an error if no noise can meet the target.

    Draws from logged data have a privacy cost of their own, which noise does not reduce.

    Raises:
        UnreachableTargetError: if there are too many rounds for the logged data, or if epsilon is below the
            least shift of a walk (``walk_constants``).
    """
    if drawn_out(logged, draws):
        why = "No noise gives a proved guarantee for this number. Use fewer trajectories."
        raise UnreachableTargetError(
            f"trajectories ({logged.rounds}) is too large for the logged data. {why}"
        )
    if draws == "walk" and epsilon < (least := walk_constants(logged)[0][0]):
        given = f"epsilon ({float(epsilon)!r}) must be at least {float(least)!r}"
        raise UnreachableTargetError(
            f"{given} if draws is 'walk', because no noise gives less. Use a larger epsilon, or draws 'fresh'."
        )


_BITS = 256


@dataclass(frozen=True)
class ExpertReleaseParameters(Parameters):
    """Parameters of a release of stable prefixes: the logged data, the number of rounds, and the noise.

    A stable prefix of a trajectory is one for which a noisy count of experts is high enough. The noise is the
    paper's for the budget (``printed_epsilon``, ``printed_delta``), or it has the given ``scale``.

    >>> ExpertReleaseParameters(25, 200, 0.3, 2999, 20, actions=4)
    Traceback (most recent call last):
    ValueError: least_probability (0.3) must be below 1/actions (1/4)

    Raises:
        ValueError: for a value outside its domain; a least probability of 1/actions or more; more rounds than
            logged trajectories; ``scale`` together with ``printed_epsilon``; only one of ``printed_epsilon``
            and ``printed_delta``.
    """

    trajectories: int = parameter(Integers(1, 10**6), "rounds", "number T of trajectories drawn")
    length: int = parameter(Integers(1, 10**9), "steps", "steps L of the longest trajectory")
    least_probability: float = parameter(
        Reals(0, 0.5, lower_open=True, upper_open=True),
        "1",
        "pmin: every expert plays every action at least so often",
    )
    experts: int = parameter(
        Integers(1, 10**9), "experts", "at least so many experts in both of two neighbouring sets"
    )
    per_expert: int = parameter(
        Integers(1, 10**9), "trajectories", "logged trajectories N of each expert, at least"
    )
    actions: int = parameter(Integers(2), "actions", "number of actions |A|", 2)
    printed_epsilon: float | None = parameter(
        Reals(1e-9, 1e3), "1", "epsilon_1 that the paper's noise is set by; instead of scale", None
    )
    printed_delta: float | None = parameter(
        Reals(1e-200, 1, upper_open=True), "1", "delta_1 that the paper's noise is set by", None
    )
    scale: float | None = parameter(
        Reals(1e-2, 1e9),
        "experts",
        "Laplace scale of the noise on each count; instead of printed_epsilon",
        None,
    )
    threshold_ratio: float | None = parameter(
        Reals(1e-2, 1e2), "1", "the threshold's scale over the counts'; else the best", None
    )
    draw_cost: float | None = parameter(
        Reals(1e-2, 1e2), "1", "epsilon of drawing an expert, times scale; else the best", None
    )
    round_delta: float | None = parameter(
        Reals(LEAST_FAILURE, MOST_FAILURE),
        "1",
        "chance that a round releases what is not stable; 1e-8 if left out",
        None,
    )
    draws: str = parameter(
        Choice("walk", "fresh"),
        "1",
        "trajectories: a walk through all of them, shuffled (the paper), or an expert drawn afresh each time "
        "and its next unused one",
        "walk",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if exact(self.least_probability) * self.actions >= 1:
            given = f"least_probability ({self.least_probability!r})"
            raise ValueError(f"{given} must be below 1/actions (1/{self.actions})")
        _ = self.logged
        self._check_noise()

    def _check_noise(self) -> None:
        printed = (self.printed_epsilon, self.printed_delta)
        if self.scale is None and printed == (None, None):
            object.__setattr__(self, "printed_epsilon", 1.0)
            object.__setattr__(self, "printed_delta", 1e-6)
            return
        if (printed[0] is None) != (printed[1] is None):
            raise ValueError(f"printed_epsilon and printed_delta {printed} must be given together")
        if self.scale is not None and printed[0] is not None:
            raise ValueError(
                f"scale ({self.scale!r}) must be left out if printed_epsilon ({printed[0]!r}) is given"
            )
        for name in ("threshold_ratio", "draw_cost", "round_delta"):
            if printed[0] is not None and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} ({getattr(self, name)!r}) must be left out if printed_epsilon is given"
                )

    @property
    def logged(self) -> Logged:
        """The number of rounds and the size of the logged data."""
        return Logged(self.trajectories, self.experts, self.per_expert)

    @property
    def design(self) -> Design:
        """The noise and the thresholds that the release uses.

        Raises:
            ValueError: for noise so small that no least count can be computed.
        """
        if self.printed_epsilon is not None and self.printed_delta is not None:
            return printed_design(
                self.printed_epsilon,
                self.printed_delta,
                self.trajectories,
                self.length,
                self.least_probability,
            )
        chance = 1e-8 if self.round_delta is None else self.round_delta
        ratio, cost = shaped(self.least_probability, chance)
        return shaped_design(
            self.scale or 0.0,
            self.threshold_ratio or ratio,
            self.draw_cost or cost,
            chance,
            self.least_probability,
        )


def _fresh(parameters: ExpertReleaseParameters) -> Rounds:
    """Return the guarantee of T rounds with fresh draws."""
    found = round_losses(parameters.design, parameters.least_probability, parameters.experts)
    gone, come, failure = (exact(bound.upper) for bound in found)
    return Rounds(parameters.trajectories, gone, max(come, _room_for(failure)), failure)


def _room_for(failure: Fraction) -> Fraction:
    """Return -log(1 - 2 d), a loss for a joining expert that leaves room for a failure d.

    A larger loss is a weaker claim.
    """
    if 2 * failure >= 1:
        return Fraction(0)
    with precision(_BITS):
        return exact(round_up(-(-2 * arb_of(failure)).log1p()))


def _guarantee(parameters: ExpertReleaseParameters) -> Profile:
    fresh = _fresh(parameters)
    if parameters.draws == "walk":
        return Walked(fresh, parameters.logged)
    missing = run_out(parameters.logged)
    return Redrawn(fresh, Fraction(0), Fraction(1), 2 * missing) if missing else fresh


def account(parameters: ExpertReleaseParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of all released prefixes. Neighbours differ in one expert's trajectories.

    >>> cartpole = ExpertReleaseParameters(25, 200, 0.02, 2999, 20, printed_epsilon=7.5, printed_delta=3e-4)
    >>> account(cartpole, Adjacency.EXPERT).guarantee.epsilon("3e-4").upper < 7.5
    True

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency is not Adjacency.EXPERT:
        why = "Use expert (one expert more or less)."
        raise UnprovedAdjacencyError("expert-release", adjacency, why)
    return PrivacyResult(
        _guarantee(parameters),
        adjacency,
        TrustModel.CENTRAL,
        "all released prefixes",
        _STATEMENT,
        published=_published(parameters),
        notes=(_POLICIES, *_domain(parameters), _ENDS, *drawn_out(parameters.logged, parameters.draws)),
    )


_STATEMENT = "expert.release_rounds"
_POLICIES = "about the experts' policies, over what their trajectories might have been (expert.fixed_data)"

_ENDS = "lower ends are those of this bound: no pair of neighbours is known to attain it"


def in_printed_domain(epsilon: Any, delta: Any, rounds: int) -> bool:
    """Return whether the paper's Theorem 5.5 is proved at (epsilon, delta) for ``rounds`` rounds.

    The theorem is about rounds that draw an expert uniformly and independently each time.

    >>> in_printed_domain(10, "1/3000", 25), in_printed_domain(120, "3/10000", 100)
    (True, False)
    """
    with precision(_BITS):
        budget, log = arb_of(exact(epsilon)), (2 / arb_of(exact(delta))).log()
        if 8 * log >= rounds:
            return True
        left = 4 * log * (1 - budget / (16 * log)) ** 2
        return bool(
            16 * log >= budget
            and left >= log + (8 * log / budget + arb_of(Fraction(1, 2))) * arb_of(exact(delta)) / 2
        )


def _domain(parameters: ExpertReleaseParameters) -> tuple[str, ...]:
    if parameters.printed_epsilon is None:
        return ()
    inside = in_printed_domain(parameters.printed_epsilon, parameters.printed_delta, parameters.trajectories)
    return (
        f"the printed budget is {'inside' if inside else 'outside'} the domain of expert.theorem5_5.drawn",
    )


def _published(parameters: ExpertReleaseParameters) -> PublishedGuarantee | None:
    """Return the printed budget, and its rounds of (2 epsilon', delta_1/(2T)) composed without loss."""
    budget, failure = parameters.printed_epsilon, parameters.printed_delta
    if budget is None or failure is None:
        return None

    def epsilon(delta: Any) -> Bound:
        return exactly(float(budget) if exact(delta, "delta") >= exact(failure) else math.inf)

    with precision(_BITS):
        values = {
            "E": arb_of(exact(budget)),
            "delta": arb_of(exact(failure)),
            "T": arb_of(Fraction(parameters.trajectories)),
        }
        each = bound_of(2 * published("expert.each_epsilon").formula.arb(**values))
    once = ApproxDP(each, exact(failure) / (2 * parameters.trajectories))
    together = compose_approx_optimal([(once, parameters.trajectories)])
    return PublishedGuarantee("expert.theorem5_5.drawn", epsilon, together, "classic.kairouz_oh_viswanath")


def _calibrate(
    parameters: ExpertReleaseParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[ExpertReleaseParameters, ExpertReleaseParameters]:
    """Return the least scale that meets the target. By default a fifth of delta is for the rounds' failures."""
    account(parameters, adjacency)
    target = exact(delta, "delta")
    if not 0 < target < 1:
        raise ValueError(
            f"delta ({delta!r}) must be in (0, 1), because a round may release an unstable prefix"
        )
    chance = parameters.round_delta or failure_share(target, parameters.trajectories)
    start = parameters.scale or max(
        5 * math.sqrt(parameters.trajectories) / max(float(exact(epsilon)), 1e-6), 0.02
    )
    begun = replace(
        parameters, printed_epsilon=None, printed_delta=None, round_delta=chance, scale=min(start, 1e8)
    )
    check_reach(begun.logged, begun.draws, exact(epsilon, "epsilon"))
    return calibrate_noise(begun, "scale", _guarantee, epsilon, delta)


def _compare(parameters: ExpertReleaseParameters, epsilon: Any, delta: Any) -> Mapping[str, Any]:
    """Return the count that passes with probability one half, as printed for the same target and as found here."""
    p, ours = parameters, parameters.design.cutoff
    budget = float(exact(epsilon)), float(exact(delta))
    theirs = printed_design(*budget, p.trajectories, p.length, p.least_probability).cutoff
    return {
        "statement": "expert.theorem5_5.drawn",
        "cutoff": {"printed": theirs, "exact": ours, "ratio": ours / theirs},
    }


ACCOUNTANT = Accountant(
    "expert-release",
    "Release of stable prefixes of experts' trajectories",
    ExpertReleaseParameters,
    account,
    "scale",
    _calibrate,
    compare=_compare,
    unsampled="it is run on experts' data: dpproof.DataRelease",
    unit="user",
    example=ExpertReleaseParameters(
        trajectories=5, length=20, least_probability=0.1, experts=100, per_expert=5
    ),
)
