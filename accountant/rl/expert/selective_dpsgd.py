"""Accountant of selective DP-SGD: training in which a coin decides for each step which data it reads.

With probability p a step reads the experts' private transitions and adds noise. Otherwise it reads released
prefixes only. b of the m experts are in a noisy step's batch on average. The paper accounts for this at the
Poisson rate p b/m, as if a step of the second kind were a noisy step whose batch missed the expert. But such
a step has no noise, so everybody sees which kind it was. So the exact loss of a step is, with probability p,
that of a noisy step at the rate b/m. The guarantee depends on who sees the coin
(docs/notes/expert_accounting.md, sections 1 to 3). If the answer names a pair of neighbours, this pair
attains the guarantee.

Source: Sharma et al. (2024), Algorithms 3 and 4, section 4 and Appendix B.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.claims.parameters import Choice, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from dpproof.accountant.rl.expert.selective_steps import COINS, STEPS, composed_steps, printed_rate

_LEAST_RATE = Fraction(1, 10**300)


@dataclass(frozen=True)
class SelectiveDPSGDParameters(Parameters):
    """Parameters of selective DP-SGD: sampling rate, share of noisy steps, noise, and who sees which steps are noisy.

    >>> SelectiveDPSGDParameters(0.1, 0.5, 1.0, 10, coin="seen")
    Traceback (most recent call last):
    ValueError: coin ('seen') must be one of: visible, hidden, independent, fixed

    Raises:
        ValueError: for a value outside its domain; two probabilities whose product is above 0 and below
            1e-300; a batch of fixed size with a coin for each expert, or with the rate 1.
    """

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability b/m of an expert to be in a noisy step's batch", safer=-1
    )
    branch_probability: float = parameter(Reals(0, 1), "1", "probability p of a noisy step", safer=-1)
    noise_multiplier: float = parameter(
        Reals(2e-4, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps, of both kinds")
    coin: str = parameter(
        Choice(*COINS),
        "1",
        "coin of a step: visible (a plain step has no noise), hidden (noise in every step), independent (one "
        "for each expert, noise in every step), or a schedule fixed in advance",
        "visible",
    )
    batch: str = parameter(
        Choice("poisson", "exact"),
        "1",
        "experts of a noisy step: each by a coin of its own, or exactly b of the m",
        "poisson",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < exact(self.sampling_rate) * exact(self.branch_probability) < _LEAST_RATE:
            given = f"sampling_rate ({self.sampling_rate!r}) times branch_probability"
            raise ValueError(f"{given} ({self.branch_probability!r}) must be 0 or at least 1e-300")
        if self.batch == "exact" and self.coin == "independent":
            raise ValueError(
                "coin ('independent') has no proof if batch is 'exact'. Use another coin, or use batch 'poisson'."
            )
        if self.batch == "exact" and self.sampling_rate == 1:
            raise ValueError(
                "sampling_rate (1) must be below 1 if batch is 'exact'. "
                "At rate 1 each batch holds all experts, so one expert less cannot fill a batch."
            )

    @property
    def noisy_steps(self) -> int:
        """The number of noisy steps of a schedule that is fixed in advance.

        It is ``branch_probability`` times ``steps``, rounded to the nearest integer. If two integers are
        equally near, the even one is taken.
        """
        return round(exact(self.branch_probability) * self.steps)


def account(parameters: SelectiveDPSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of training if one expert is added, removed or replaced.

    The guarantee holds for all data sets and for all prefixes released before. The paper accounts for every
    step at a sampling rate that is too small if everybody sees which steps are noisy. In the example, privacy
    loss distributions give epsilon 5.848345 at the paper's rate, and 8.925092 for the true loss. Renyi
    accounting, which the paper uses, gives 6.34 at the paper's rate, and 9.64 for the true loss.

    >>> training = SelectiveDPSGDParameters(0.0853333, 0.5, 10.0, 100_000)
    >>> found = account(training, Adjacency.EXPERT)
    >>> found.guarantee.epsilon("3.3333e-5").upper, found.published.exact.epsilon("3.3333e-5").upper
    (8.925092, 5.848345)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
        ValueError: for a schedule fixed in advance without a noisy step, although p is above 0.
    """
    _check_schedule(parameters)
    return _guarantee(parameters, adjacency)


def _check_schedule(parameters: SelectiveDPSGDParameters) -> None:
    p, steps = parameters.branch_probability, parameters.steps
    if parameters.coin == "fixed" and p > 0 and steps and not parameters.noisy_steps:
        raise ValueError(
            f"branch_probability ({p!r}) must be 0, or above 0.5/{steps}. Otherwise its product with steps "
            "rounds to 0, so the fixed schedule has no noisy step."
        )


def _guarantee(parameters: SelectiveDPSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee as `account` does, also for a schedule without a noisy step, which a search may meet."""
    key = (parameters.batch, adjacency)
    if key not in STEPS:
        why = "Use expert (one expert more or less) or replace (one expert for another)."
        raise UnprovedAdjacencyError("selective-dpsgd", adjacency, why)
    found = composed_steps(parameters, STEPS[key])
    return PrivacyResult(
        found.guarantee,
        adjacency,
        TrustModel.CENTRAL,
        "the model after every step, given the released prefixes",
        found.statement,
        published=_published(parameters, adjacency),
        attained=None if found.pair is None else Attained(found.guarantee, found.pair),
        notes=(*found.notes, *_NOTES),
    )


_NOTES = (
    "at most one clipped transition of an expert in a batch; the rate, the schedule and what a step divides"
    " by are public numbers, the same for both of two neighbouring sets of experts",
    "beside the release of the prefixes the budgets add up for trajectories set aside before it"
    " (expert.theorem5_6.set_aside)",
)


def _published(parameters: SelectiveDPSGDParameters, adjacency: Adjacency) -> PublishedGuarantee | None:
    """Return the published answer: Renyi accounting of Poisson sampling at the printed rate.

    Its ``exact`` is what an accountant by privacy loss distributions finds at that rate.
    """
    if adjacency is not Adjacency.EXPERT:
        return None
    noise, steps = exact(parameters.noise_multiplier), parameters.steps
    if 0 in (parameters.branch_probability, parameters.sampling_rate, steps):
        nothing = PureDP(0)
        return PublishedGuarantee("expert.amplification", nothing.epsilon, nothing, "expert.amplification")
    ends = printed_rate(parameters.branch_probability, parameters.sampling_rate)

    def epsilon(delta: Any) -> Bound:
        low, high = (subsampled_gaussian_renyi(rate, noise, steps).epsilon(delta) for rate in ends)
        return Bound(low.lower, high.upper)

    together = composed_steps(
        replace(parameters, coin="independent", batch="poisson"), STEPS["poisson", adjacency]
    )
    return PublishedGuarantee("expert.amplification", epsilon, together.guarantee, "expert.amplification")


def steps_within(parameters: SelectiveDPSGDParameters, adjacency: Adjacency, epsilon: Any, delta: Any) -> int:
    """Return the largest number of steps that is certified to stay within (``epsilon``, ``delta``).

    All other parameters are those of ``parameters``.

    >>> training = SelectiveDPSGDParameters(0.0853333, 0.8, 60.0, 282_000)
    >>> steps_within(training, Adjacency.EXPERT, 2.5, "3.3333e-5")
    263990

    Raises:
        ValueError: for a bad target, one that every number of steps meets, or one that no step meets.
    """

    def of(chosen: SelectiveDPSGDParameters) -> Profile:
        return _guarantee(chosen, adjacency).guarantee

    return calibrate_noise(parameters, "steps", of, epsilon, delta, safer=-1)[0].steps


def _compare(parameters: SelectiveDPSGDParameters, epsilon: Any, delta: Any) -> Mapping[str, Any]:
    """Return the noise that the printed rate needs for the target, and what it really costs.

    This is for one expert added or removed.
    """
    training = replace(parameters, coin="independent", batch="poisson")
    theirs = replace(
        parameters,
        noise_multiplier=ACCOUNTANT.least_noise(training, Adjacency.EXPERT, epsilon, delta)[
            0
        ].noise_multiplier,
    )
    ours = ACCOUNTANT.least_noise(parameters, Adjacency.EXPERT, epsilon, delta)[0].noise_multiplier
    spent = account(theirs, Adjacency.EXPERT).guarantee.epsilon(delta).upper
    paid = steps_within(theirs, Adjacency.EXPERT, epsilon, delta)
    return {
        "statement": "expert.amplification",
        "noise_multiplier": _beside(theirs.noise_multiplier, ours),
        "epsilon at the printed noise": _beside(float(exact(epsilon)), spent),
        "steps at the printed noise": _beside(parameters.steps, paid),
    }


def _beside(printed: float, ours: float) -> Mapping[str, float]:
    return {"printed": printed, "exact": ours, "ratio": ours / printed}


ACCOUNTANT = Accountant(
    "selective-dpsgd",
    "Selective DP-SGD: noisy steps on experts' transitions between plain steps on released prefixes",
    SelectiveDPSGDParameters,
    account,
    "noise_multiplier",
    compare=_compare,
    unsampled="a training run releases it: dpproof.mechanisms.rl.expert.training",
    unit="user",
    example=SelectiveDPSGDParameters(
        sampling_rate=0.1, branch_probability=0.5, noise_multiplier=1.0, steps=10
    ),
)
