"""What an audit of selective DP-SGD trains: the budget that is claimed, and few experts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.target import USUAL
from dpproof.audits.training.dp_sgd import View

FEWEST, MOST = 24, 4_000
"""Experts besides the canaries."""


@dataclass(frozen=True)
class ExpertSettings:
    """What is trained.

    Attributes:
        parameters: the budget that is claimed: rate, coin, noise, steps, batches.
        clip: the clipping norm.
        canaries: experts who each take part by a coin.
        variant: the name of the training that is run; see `audits.target.variant`.

    Raises:
        ValueError: a number outside its range.
        NoAuditError: no step reads experts' data, or exact batches need more experts than are made here.

    >>> ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 10)).others
    24
    """

    parameters: SelectiveDPSGDParameters
    clip: float = 4.0
    canaries: int = 1
    variant: str = USUAL

    def __post_init__(self) -> None:
        """Check the numbers, and that there is something to audit."""
        if not 0 < self.clip < math.inf:
            raise ValueError(f"clip ({self.clip!r}) must be a finite number above 0")
        if self.canaries < 1:
            raise ValueError(f"canaries ({self.canaries!r}) must be at least 1")
        given = self.parameters
        if 0 in (given.steps, given.sampling_rate, given.branch_probability):
            raise NoAuditError("steps, sampling_rate and branch_probability must be above 0 for an audit")
        if given.batch == "exact" and given.sampling_rate * MOST < 1:
            raise NoAuditError(
                f"sampling_rate ({given.sampling_rate!r}) must be at least 1/{MOST} where batch is exact"
            )

    @property
    def others(self) -> int:
        """Experts who always take part: at least as many as make an exact batch of one."""
        return min(max(FEWEST, math.ceil(1 / exact(self.parameters.sampling_rate))), MOST)

    @property
    def batch(self) -> int:
        """What a step divides by; the share of the others that it is does not exceed the rate."""
        return max(1, math.floor(exact(self.parameters.sampling_rate) * self.others))

    def as_json(self) -> dict[str, Any]:
        """Plain data that `read` takes."""
        plain = asdict(self) | {"parameters": self.parameters.as_json()}
        return plain | {"fault": plain.pop("variant")}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> ExpertSettings:
        """From what `as_json` gave.

        >>> settings = ExpertSettings(SelectiveDPSGDParameters(0.5, 0.5, 1.0, 10), canaries=3)
        >>> ExpertSettings.read(settings.as_json()) == settings
        True
        """
        given = {**plain, "parameters": SelectiveDPSGDParameters.read(plain["parameters"])}
        return cls(variant=given.pop("fault"), **given)


def claim_for(settings: ExpertSettings, view: View) -> PrivacyResult:
    """What is claimed of the training that ships: of a step whatever came before it, or of all steps.

    A step of a schedule fixed in advance is taken to be a noisy one: plain ones reveal less.

    Source: docs/notes/expert_accounting.md, sections 1 to 3.

    >>> settings = ExpertSettings(SelectiveDPSGDParameters(1.0, 1.0, 1.0, 4))
    >>> claim_for(settings, View.STEP).guarantee.epsilon("1e-5").upper
    4.3771...
    >>> claim_for(settings, View.FINAL).guarantee.epsilon("1e-5").upper
    9.9972...

    Raises:
        ValueError: for a view of epochs, which this training has none of.
    """
    if view is View.EPOCH:
        raise ValueError(f"view ({view.value!r}) must be another: batches are drawn afresh in every step")
    parameters = settings.parameters
    if view is View.STEP:
        noisy = 1.0 if parameters.coin == "fixed" else parameters.branch_probability
        parameters = replace(parameters, branch_probability=noisy, steps=1)
    return account(parameters, Adjacency.EXPERT)
