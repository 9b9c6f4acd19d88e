"""The training of selective DP-SGD in the corpus, as it is run: by its views, and in runs of canaries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.target import USUAL
from dpproof.audits.training.dp_sgd import View
from dpproof.audits.training.expert_canaries import ExpertCanaries
from dpproof.audits.training.expert_training import ExpertSettings, ExpertTraining

PLACE = 13


@dataclass(frozen=True, kw_only=True)
class ViewCase:
    """A training seen in one way; the attributes of `dpproof.audits.corpus.case.CorpusCase`.

    Attributes:
        name: unique within the corpus.
        settings: the training and its fault.
        view: what is seen.
        expected: the verdict that an audit must come to.
        reason: why, in words.
        coins: the default budget.
        requires: the package without which the case is skipped.
    """

    name: str
    settings: ExpertSettings
    view: View
    expected: Finding
    reason: str
    coins: int = 1_000
    requires: str | None = "torch"

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case; coins follow each other, so there is nothing for an executor to do."""
        plan = replace(AuditPlan(**asked).at_most(self.coins), claim=self.name)
        return ExpertTraining(self.settings, self.view).audit(plan)


@dataclass(frozen=True, kw_only=True)
class CanaryCase:
    """A training with many canary experts, in one run or a few; the attributes as for `ViewCase`.

    Attributes:
        name: unique within the corpus.
        settings: the training, its canaries and its fault.
        runs: independent runs.
        expected: the verdict that an audit must come to.
        reason: why, in words.
        requires: the package without which the case is skipped.
    """

    name: str
    settings: ExpertSettings
    runs: int
    expected: Finding
    reason: str
    requires: str | None = "torch"

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case in its runs, whatever the budget."""
        plan = replace(AuditPlan(**asked), claim=self.name)
        return ExpertCanaries(self.settings, self.runs).audit(plan)


FAULTS = {
    USUAL: (Finding.CONSISTENT, "what is run is what is accounted for"),
    "two transitions": (Finding.VIOLATION, "an expert in a batch moves the sum by 2 clips"),
    "unscaled noise": (Finding.VIOLATION, "a quarter of the noise, where the clip is 4"),
}
STEP = SelectiveDPSGDParameters(0.9, 0.9, 1.0, 1_000)
WHOLE = SelectiveDPSGDParameters(0.9, 0.9, 2.0, 4)
RUN = SelectiveDPSGDParameters(0.5, 0.5, 4.0, 64)
"""Budgets whose audits take seconds, and whose curve is found fast."""
COIN = SelectiveDPSGDParameters(1.0, 0.05, 4.0, 200, coin="independent")


def _name(seen: str, fault: str) -> str:
    return f"expert training, {seen}" + ("" if fault == USUAL else f", {fault}")


def _seen(parameters: SelectiveDPSGDParameters, view: View, fault: str) -> ViewCase:
    expected, reason = FAULTS[fault]
    settings = ExpertSettings(parameters, variant=fault)
    coins = 1_000 if fault == USUAL else 4_000  # a violation is found long before, on most seeds
    name = _name(view.value, fault)
    return ViewCase(name=name, settings=settings, view=view, expected=expected, reason=reason, coins=coins)


def _runs(fault: str) -> CanaryCase:
    expected, reason = FAULTS[fault]
    settings = ExpertSettings(RUN, canaries=500, variant=fault)
    return CanaryCase(
        name=_name("canaries", fault), settings=settings, runs=24, expected=expected, reason=reason
    )


def _coin(fault: str, expected: Finding, reason: str) -> CanaryCase:
    settings = ExpertSettings(COIN, canaries=1_000, variant=fault)
    return CanaryCase(
        name=_name("coin of each expert", fault), settings=settings, runs=1, expected=expected, reason=reason
    )


_BUDGETS = {View.STEP: STEP, View.TRACE: WHOLE, View.FINAL: WHOLE}
CASES: tuple[ViewCase | CanaryCase, ...] = (
    *(_seen(parameters, view, fault) for view, parameters in _BUDGETS.items() for fault in FAULTS),
    *map(_runs, FAULTS),
    _coin(USUAL, Finding.INCONCLUSIVE, "sound, and one run is too weak to say more"),
    _coin(
        "shown coin",
        Finding.VIOLATION,
        "accounted for at the printed rate p b/m, and plain steps without noise show the coin",
    ),
)
