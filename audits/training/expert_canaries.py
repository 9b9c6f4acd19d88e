"""Audits of selective DP-SGD: in one run with many canaries (test experts), or by single steps or whole runs.

Source: Steinke, Nasr and Jagielski, arXiv:2305.08846 (one run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.engine.betting.curves import tabulated
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import Told
from dpproof.audits.training.canaries import Canaries
from dpproof.audits.training.dp_sgd import DELTA, View, one_thread
from dpproof.audits.training.expert_training import (
    STARTS,
    ExpertSettings,
    ExpertTraining,
    check_torch,
    claim_for,
    watched,
)
from dpproof.audits.training.one_run_audit import OneRun, audit_one_run

if TYPE_CHECKING:
    from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

KIND = "expert canaries"
SHOWN = 1e-6
"""The delta at which `Viewed` states epsilon, unless the plan gives another delta."""

LONGEST_RUN = 20_000
"""The largest number of steps of a run."""
CANARIES, MANY = "canaries", 1_000
"""The word for an audit with many canaries (test experts) in one run, and the number of these canaries."""


@dataclass(frozen=True)
class ExpertCanaries:
    """The audit of a whole training in which a fair coin decides whether each canary (a test expert) takes part.

    Attributes:
        settings: the settings of the training, with at least 2 canaries.
        runs: the number of independent runs; the audit guesses about the canaries of all runs together.
    """

    fields: ClassVar[Mapping[str, type]] = {"settings": dict, "runs": int}

    settings: ExpertSettings
    runs: int = 1

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        Raises:
            NoAuditError: torch is not installed, or a run has more than 20000 steps.
            ValueError: an argument is outside its range.
        """
        check_torch()
        settings, steps = self.settings, self.settings.parameters.steps
        if steps > LONGEST_RUN:
            raise NoAuditError(f"steps ({steps}) must be at most {LONGEST_RUN} for an audit")
        asked = plan.filled("selective-dpsgd", DELTA, BUDGET)
        with one_thread():
            return audit_one_run(
                tabulated(claim_for(settings, View.TRACE).guarantee, asked.stated),
                partial(_trace, settings),
                OneRun(_canaries(settings), self.runs),
                replace(asked, replay={"audit": KIND, "settings": settings.as_json()}),
            )

    @classmethod
    def read(cls, how: Told) -> ExpertCanaries:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(ExpertSettings.read(how.table("settings")), how.whole("runs"))


TARGET = ExpertCanaries


@dataclass(frozen=True)
class Viewed:
    """The audit of a training with a given privacy budget. The word ``view`` tells what the audit observes.

    Attributes:
        parameters: the privacy budget.
        view: what the audit observes: "step", "trace" (all steps of a run), "final" (the final model), or "canaries"
            (1000 test experts in one run).
    """

    parameters: SelectiveDPSGDParameters
    view: str

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        The budget is the number of fair coins, or the number of runs if ``view`` is "canaries".

        Raises:
            NoAuditError: torch is not installed, or the training is too long for this ``view``.
            ValueError: ``view`` is unknown, or an argument is outside its range.
        """
        asked = replace(plan, delta=SHOWN if plan.delta is None else plan.delta)
        if self.view == CANARIES:
            if plan.sharpen:
                raise ValueError(
                    f"sharpen must be left out if view is {CANARIES!r}, because this view always uses all its runs"
                )
            settings = ExpertSettings(self.parameters, canaries=MANY)
            return ExpertCanaries(settings, plan.budget or 1).audit(asked)
        words = [one.value for one in STARTS]
        if self.view not in words:
            raise ValueError(f"view ({self.view!r}) must be one of: {', '.join((*words, CANARIES))}")
        return ExpertTraining(ExpertSettings(self.parameters), View(self.view)).audit(asked)


def _trace(
    settings: ExpertSettings, data: Transitions, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    return np.array([watched(settings, data, rng).trace() for _ in range(n)])


def _canaries(settings: ExpertSettings) -> Canaries:
    from dpproof.audits.training.expert_loops import differ_by_one_expert, private_data

    return Canaries(
        settings.canaries,
        partial(private_data, settings),
        lambda losses: losses,
        Adjacency.EXPERT,
        f"{settings.canaries} experts, each there or not, besides {settings.others} others",
        differ_by_one_expert,
    )
