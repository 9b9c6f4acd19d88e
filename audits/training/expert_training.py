"""Audits of selective DP-SGD with canaries (test experts), which observe single steps, whole runs or final models.

Neighbouring inputs differ in one expert who is added or removed. The claim is the accountant's guarantee for the same
parameters. The audit runs `mechanisms.rl.expert.offline.training` or a variant, with the claimed budget and few
experts. torch is an extra, and is imported when an audit begins.

Source: Nasr et al., arXiv:2302.07956 (white box); Steinke, Nasr and Jagielski, arXiv:2305.08846 (one run).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, USUAL, Told
from dpproof.audits.training.dp_sgd import DELTA, View, one_canary_more, one_thread
from dpproof.audits.training.steps import STEPS, Steps, Training, audit_steps

if TYPE_CHECKING:
    from dpproof.audits.training.expert_loops import Watched
    from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

FEWEST_OTHERS, MOST_OTHERS = 24, 4_000
"""The smallest and the largest number of experts besides the canaries (test experts)."""


@dataclass(frozen=True)
class ExpertSettings:
    """The settings of an audited training.

    Attributes:
        parameters: the parameters of the accountant, which define the claim, such as the sampling rate, the noise and
            the number of steps.
        clip: the clipping norm.
        canaries: the number of canaries, test experts who each take part if a fair coin decides so.
        variant: the name of the training that is run; see `audits.target.variant`.

    Raises:
        ValueError: a number is outside its range.
        NoAuditError: no step reads experts' data, or exact batches need more than `MOST_OTHERS` experts.

    >>> ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 10)).others
    24
    """

    parameters: SelectiveDPSGDParameters
    clip: float = 4.0
    canaries: int = 1
    variant: str = USUAL

    def __post_init__(self) -> None:
        """Check the numbers, and that some steps read experts' data."""
        if not 0 < self.clip < math.inf:
            raise ValueError(f"clip ({self.clip!r}) must be a finite number above 0")
        if self.canaries < 1:
            raise ValueError(f"canaries ({self.canaries!r}) must be at least 1")
        given = self.parameters
        if 0 in (given.steps, given.sampling_rate, given.branch_probability):
            raise NoAuditError("steps, sampling_rate and branch_probability must be above 0 for an audit")
        if given.batch == "exact" and given.sampling_rate * MOST_OTHERS < 1:
            raise NoAuditError(
                f"sampling_rate ({given.sampling_rate!r}) must be at least 1/{MOST_OTHERS} if batch is 'exact'"
            )

    @property
    def others(self) -> int:
        """The number of experts who always take part."""
        return min(max(FEWEST_OTHERS, math.ceil(1 / exact(self.parameters.sampling_rate))), MOST_OTHERS)

    @property
    def batch(self) -> int:
        """The batch size: the sampling rate times the number of other experts, rounded down, at least 1."""
        return max(1, math.floor(exact(self.parameters.sampling_rate) * self.others))

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON data for `read`."""
        plain = asdict(self) | {"parameters": self.parameters.as_json()}
        return plain | {"fault": plain.pop("variant")}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> ExpertSettings:
        """Return the settings that `as_json` converted to ``plain``.

        >>> settings = ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 10), canaries=3)
        >>> ExpertSettings.read(settings.as_json()) == settings
        True
        """
        given = {**plain, "parameters": SelectiveDPSGDParameters.read(plain["parameters"])}
        return cls(variant=given.pop("fault"), **given)


def claim_for(settings: ExpertSettings, view: View) -> PrivacyResult:
    """Return the guarantee of the shipped training: for one step, given all earlier steps, or for all steps.

    With the coin "fixed", the noisy steps are known in advance. Then the guarantee for one step is that of a noisy
    step.

    Source: docs/notes/expert_accounting.md, sections 1 to 3.

    >>> settings = ExpertSettings(SelectiveDPSGDParameters(1.0, 1.0, 1.0, 4))
    >>> claim_for(settings, View.STEP).guarantee.epsilon("1e-5").upper
    4.3771...
    >>> claim_for(settings, View.FINAL).guarantee.epsilon("1e-5").upper
    9.9972...

    Raises:
        ValueError: ``view`` is ``EPOCH``, but this training has no epochs.
    """
    if view is View.EPOCH:
        raise ValueError(
            f"view ({view.value!r}) must be 'step', 'trace' or 'final', because this training has no epochs"
        )
    parameters = settings.parameters
    if view is View.STEP:
        noisy = 1.0 if parameters.coin == "fixed" else parameters.branch_probability
        parameters = replace(parameters, branch_probability=noisy, steps=1)
    return account(parameters, Adjacency.EXPERT)


KIND = "expert training"

TAKEN, FEWEST, LONGEST = 20_000, 200, 2_000
"""The total number of steps of all whole runs if no budget is given, the smallest number of runs, and the largest
number of steps of one run."""
PAIR = "the experts, without or with one whose gradients are all along one direction"


def check_torch() -> None:
    """Raise an error if torch is not installed.

    Raises:
        NoAuditError: torch is not installed; the message names the command that installs it.
    """
    if find_spec("torch") is None:
        raise NoAuditError("The audit of a training needs torch: pip install 'dpproof[torch]'")


@dataclass(frozen=True)
class ExpertTraining:
    """The audit of selective DP-SGD, or of a variant of it, against the guarantee of the training.

    Attributes:
        settings: the settings of the training, with one canary (test expert).
        view: what the audit observes: ``STEP`` tests the guarantee of one step; ``TRACE`` and ``FINAL`` test that of
            all steps.
    """

    fields: ClassVar[Mapping[str, type]] = {"settings": dict, "view": str, **RUN}

    settings: ExpertSettings
    view: View

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The budget counts steps of one run, or runs.

        Raises:
            NoAuditError: torch is not installed, or whole runs have more than 2000 steps.
            ValueError: an argument is outside its range.
        """
        check_torch()
        settings, view = self.settings, self.view
        curve, steps = claim_for(settings, view).guarantee, settings.parameters.steps
        if settings.canaries != 1:
            raise ValueError(
                f"canaries ({settings.canaries!r}) must be 1 for an audit of single steps or of many runs"
            )
        if view is not View.STEP and steps > LONGEST:
            raise NoAuditError(f"steps ({steps}) must be at most {LONGEST} for an audit of many whole runs")
        coins = plan.budget or (STEPS if view is View.STEP else max(FEWEST, min(STEPS, TAKEN // steps)))
        asked = replace(
            plan.filled("selective-dpsgd", DELTA, coins),
            budget=coins,
            scores=(Identity(oriented=True),),
            replay={"audit": KIND, "settings": settings.as_json(), "view": view.value},
            known_ratio=True,
        )
        pair = Neighbours(False, True, Adjacency.EXPERT, PAIR, one_canary_more)
        with one_thread():
            return audit_steps(curve, partial(STARTS[view], settings, coins), Steps(pair), asked)

    @classmethod
    def read(cls, how: Told) -> ExpertTraining:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(ExpertSettings.read(how.table("settings")), View(how.text("view")))


TARGET = ExpertTraining


def _both(settings: ExpertSettings) -> tuple[Transitions, Transitions]:
    """Return the data without and with the canary, after checking that they are neighbours."""
    from dpproof.audits.training.expert_loops import differ_by_one_expert, private_data

    without, whole = (private_data(settings, np.array([there])) for there in (False, True))
    differ_by_one_expert(without, whole)
    return without, whole


def watched(
    settings: ExpertSettings, data: Transitions, rng: np.random.Generator, steps: int | None = None
) -> Watched:
    """Return a training on ``data`` that records what each step reveals about the test experts; needs torch."""
    from dpproof.audits.training.expert_loops import Watched

    return Watched(settings, data, rng, steps)


def _steps(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    data = _both(settings)
    run = watched(settings, data[0], rng, steps=coins)
    return lambda canary: float(run.losses(data[canary])[0])


def _traces(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    data = _both(settings)
    return lambda canary: float(watched(settings, data[canary], rng).trace()[0])


def _finals(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    data = _both(settings)
    return lambda canary: float(watched(settings, data[canary], rng).final()[0])


STARTS: Mapping[View, Callable[[ExpertSettings, int, np.random.Generator], Training]] = {
    View.STEP: _steps,
    View.TRACE: _traces,
    View.FINAL: _finals,
}
