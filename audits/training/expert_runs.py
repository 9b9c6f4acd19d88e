"""Audits of selective DP-SGD as it is run: one training with many canary experts; views by their words.

Source: Steinke, Nasr and Jagielski, arXiv:2305.08846 (one run).
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.engine.betting.tabulated import tabulated
from dpproof.audits.engine.unaudited import NoAuditError
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.training.canaries import Canaries
from dpproof.audits.training.dp_sgd import one_thread
from dpproof.audits.training.expert_settings import ExpertSettings, claim_for
from dpproof.audits.training.experts import STARTS, asked, audit_expert_training, check_torch
from dpproof.audits.training.one_run_audit import audit_one_run
from dpproof.audits.training.views import View

if TYPE_CHECKING:
    from dpproof.mechanisms.rl.expert.offline.transitions import Transitions

__all__ = ["audit_expert_canaries", "audit_expert_canaries_again", "audit_view"]

LONGEST_RUN = 20_000
"""The most steps of a run."""
CANARIES, MANY = "canaries", 1_000
"""The word for this view, and how many there are."""


def audit_expert_canaries(
    settings: ExpertSettings,
    *,
    seed: int,
    delta: float = 1e-5,
    alpha: float = 0.01,
    runs: int = 1,
    claim: str = "selective-dpsgd",
) -> Evidence:
    """Audit the trace of one whole training, of whose canary experts each took part by a coin of its own.

    Args:
        settings: the training, with at least 2 canaries.
        seed: a nonnegative integer.
        delta: where epsilon is stated, in (0, 1).
        alpha: the level.
        runs: independent runs, whose canaries are guessed about together.
        claim: the name in the evidence.

    Raises:
        NoAuditError: torch is not installed, or a run has more than 20000 steps.
        ValueError: an argument is outside its range.
    """
    check_torch()
    if settings.parameters.steps > LONGEST_RUN:
        raise NoAuditError(f"steps ({settings.parameters.steps}) must be at most {LONGEST_RUN} for an audit")
    with one_thread():
        return audit_one_run(
            claim,
            tabulated(claim_for(settings, View.TRACE).guarantee, delta),
            partial(_trace, settings),
            _canaries(settings),
            seed=seed,
            delta=delta,
            alpha=alpha,
            runs=runs,
            replay={"audit": "expert canaries", "settings": settings.as_json()},
        )


def _trace(
    settings: ExpertSettings, data: Transitions, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    from dpproof.audits.training.expert_loops import Watched

    return np.array([Watched(settings, data, rng).trace() for _ in range(n)])


def _canaries(settings: ExpertSettings) -> Canaries:
    from dpproof.audits.training.expert_data import differ_by_one_expert, private_data

    return Canaries(
        settings.canaries,
        partial(private_data, settings),
        lambda losses: losses,
        Adjacency.EXPERT,
        f"{settings.canaries} experts, each there or not, besides {settings.others} others",
        differ_by_one_expert,
    )


def audit_view(
    parameters: SelectiveDPSGDParameters,
    view: str,
    *,
    executor: Executor | None = None,
    budget: int | None = None,
    sharpen: bool = False,
    **options: Any,
) -> Evidence:
    """Audit the training of a budget in a view that is given by its word.

    Args:
        parameters: the budget.
        view: "step", "trace", "final", or "canaries": some 1000 of them in one run.
        executor: has nothing to do: a training is one sequence.
        budget: the most coins; of canaries, how many runs.
        sharpen: go on after a violation; not of canaries.
        options: seed, delta, alpha and claim.

    Raises:
        NoAuditError: torch is not installed, or the training is too long for the view.
        ValueError: another view, or an argument outside its range.
    """
    if view == CANARIES:
        if sharpen:
            raise ValueError(f"sharpen must be left out where view is {CANARIES}: all runs are made")
        settings = ExpertSettings(parameters, canaries=MANY)
        return audit_expert_canaries(settings, runs=budget or 1, **options)
    words = [one.value for one in STARTS]
    if view not in words:
        raise ValueError(f"view ({view!r}) must be one of: {', '.join((*words, CANARIES))}")
    settings = ExpertSettings(parameters)
    return audit_expert_training(settings, View(view), budget=budget, sharpen=sharpen, **options)


def audit_expert_canaries_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_expert_canaries(ExpertSettings.read(how["settings"]), **asked(witness), runs=how["runs"])
