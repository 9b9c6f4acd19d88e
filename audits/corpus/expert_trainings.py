"""Test cases of real trainings by selective DP-SGD, which observe steps, runs, models, or many test experts."""

from __future__ import annotations

from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.corpus.case import TargetCase
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.target import USUAL, Audited
from dpproof.audits.training.dp_sgd import View
from dpproof.audits.training.expert_canaries import ExpertCanaries
from dpproof.audits.training.expert_training import ExpertSettings, ExpertTraining

PLACE = 13


FAULTS = {
    USUAL: (Finding.CONSISTENT, "what is run is what is accounted for"),
    "two transitions": (Finding.VIOLATION, "an expert in a batch moves the sum by 2 clips"),
    "unscaled noise": (Finding.VIOLATION, "a quarter of the noise, where the clip is 4"),
}
STEP = SelectiveDPSGDParameters(0.9, 0.9, 1.0, 1_000)
WHOLE = SelectiveDPSGDParameters(0.9, 0.9, 2.0, 4)
RUN = SelectiveDPSGDParameters(0.5, 0.5, 4.0, 64)
"""Privacy budgets for which the audit takes only seconds."""
COIN = SelectiveDPSGDParameters(1.0, 0.05, 4.0, 200, coin="independent")


def _case(
    seen: str, target: Audited, fault: str, expected: Finding, reason: str, budget: int | None = None
) -> TargetCase:
    return TargetCase(
        name=f"expert training, {seen}" + ("" if fault == USUAL else f", {fault}"),
        target=target,
        expected=expected,
        reason=reason,
        budget=budget,
        requires="torch",
    )


def _seen(parameters: SelectiveDPSGDParameters, view: View, fault: str) -> TargetCase:
    coins = 1_000 if fault == USUAL else 4_000  # a violation is found long before, on most seeds
    target = ExpertTraining(ExpertSettings(parameters, variant=fault), view)
    return _case(view.value, target, fault, *FAULTS[fault], coins)


def _runs(fault: str) -> TargetCase:
    settings = ExpertSettings(RUN, canaries=500, variant=fault)
    return _case("canaries", ExpertCanaries(settings, runs=24), fault, *FAULTS[fault])


def _coin(fault: str, expected: Finding, reason: str) -> TargetCase:
    settings = ExpertSettings(COIN, canaries=1_000, variant=fault)
    return _case("coin of each expert", ExpertCanaries(settings, runs=1), fault, expected, reason)


_BUDGETS = {View.STEP: STEP, View.TRACE: WHOLE, View.FINAL: WHOLE}
CASES = (
    *(_seen(parameters, view, fault) for view, parameters in _BUDGETS.items() for fault in FAULTS),
    *map(_runs, FAULTS),
    _coin(USUAL, Finding.INCONCLUSIVE, "sound, and one run is too weak to say more"),
    _coin(
        "shown coin",
        Finding.VIOLATION,
        "accounted for at the printed rate p b/m, and plain steps without noise show the coin",
    ),
)
