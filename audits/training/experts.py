"""Audits of selective DP-SGD as it is run, by canary experts: steps, whole traces, final models, one run.

Neighbouring sets of experts differ in one expert more or less. What is claimed is what the accountant says of
the same parameters; `mechanisms.rl.offline.training` is what is run, or one of its faults. torch is an extra,
and imported when an audit begins.

Source: Nasr et al., arXiv:2302.07956 (white box); Steinke, Nasr and Jagielski, arXiv:2305.08846 (one run).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from accountant.adjacency import Adjacency
from accountant.rl.selective_dpsgd import SelectiveDPSGDParameters
from audits.evidence import Evidence
from audits.scores import Identity
from audits.tabulated import tabulated
from audits.training.canaries import Canaries
from audits.training.dp_sgd import one_thread
from audits.training.expert_settings import ExpertSettings, claim_for
from audits.training.one_run_audit import audit_one_run
from audits.training.steps import STEPS, Training, audit_steps
from audits.training.views import View
from audits.unaudited import NoAuditError

if TYPE_CHECKING:
    from mechanisms.rl.offline.transitions import Transitions

__all__ = [
    "audit_expert_canaries",
    "audit_expert_canaries_again",
    "audit_expert_training",
    "audit_expert_training_again",
    "audit_view",
    "check_torch",
]

TAKEN, FEWEST, LONGEST, LONGEST_RUN = 20_000, 200, 2_000, 20_000
"""Steps that whole runs take in all unless a budget is given, the fewest runs, and the longest."""
CANARIES, MANY = "canaries", 1_000
PAIR = "the experts, without or with one whose gradients are all along one direction"


def check_torch() -> None:
    """Refuse to begin without torch.

    Raises:
        NoAuditError: saying what to install.
    """
    if find_spec("torch") is None:
        raise NoAuditError("the audit of a training needs torch: pip install 'dpproof[offline-rl]'")


def audit_expert_training(
    settings: ExpertSettings,
    view: View,
    *,
    seed: int,
    delta: float = 1e-5,
    alpha: float = 0.01,
    budget: int | None = None,
    sharpen: bool = False,
    claim: str = "selective-dpsgd",
) -> Evidence:
    """Audit the training, with its fault, against the claim it has without.

    Args:
        settings: the training; of its canaries there is one.
        view: ``STEP``, against the claim of one step; ``TRACE`` or ``FINAL``, against that of all steps.
        seed: a nonnegative integer.
        delta: where epsilon is stated, in (0, 1).
        alpha: the level.
        budget: the most coins: steps of one run, or runs.
        sharpen: go on after a violation.
        claim: the name in the evidence.

    Raises:
        NoAuditError: torch is not installed, or whole runs have more than 2000 steps.
        ValueError: an argument is outside its range.
    """
    check_torch()
    curve, steps = claim_for(settings, view).guarantee, settings.parameters.steps
    if settings.canaries != 1:
        raise ValueError(f"canaries ({settings.canaries!r}) must be 1 where every coin has a step or a run")
    if view is not View.STEP and steps > LONGEST:
        raise NoAuditError(f"steps ({steps}) must be at most {LONGEST} for an audit of many whole runs")
    coins = budget or (STEPS if view is View.STEP else max(FEWEST, min(STEPS, TAKEN // steps)))
    with one_thread():
        return audit_steps(
            claim,
            curve,
            partial(_STARTS[view], settings, coins),
            seed=seed,
            delta=delta,
            alpha=alpha,
            budget=coins,
            scores=(Identity(oriented=True),),
            sharpen=sharpen,
            pair=PAIR,
            replay={"audit": "expert training", "settings": settings.as_json(), "view": view.value},
        )


def _both(settings: ExpertSettings) -> tuple[Transitions, Transitions]:
    """The data without and with the canary: neighbours, which is checked."""
    from audits.training.expert_data import differ_by_one_expert, private_data

    without, whole = (private_data(settings, np.array([there])) for there in (False, True))
    differ_by_one_expert(without, whole)
    return without, whole


def _steps(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    from audits.training.expert_loops import Watched

    data = _both(settings)
    run = Watched(settings, data[0], rng, steps=coins)
    return lambda canary: float(run.losses(data[canary])[0])


def _traces(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    from audits.training.expert_loops import Watched

    data = _both(settings)
    return lambda canary: float(Watched(settings, data[canary], rng).trace()[0])


def _finals(settings: ExpertSettings, coins: int, rng: np.random.Generator) -> Training:
    from audits.training.expert_loops import Watched

    data = _both(settings)
    return lambda canary: float(Watched(settings, data[canary], rng).final()[0])


_STARTS: Mapping[View, Callable[[ExpertSettings, int, np.random.Generator], Training]] = {
    View.STEP: _steps,
    View.TRACE: _traces,
    View.FINAL: _finals,
}


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
    from audits.training.expert_loops import Watched

    return np.array([Watched(settings, data, rng).trace() for _ in range(n)])


def _canaries(settings: ExpertSettings) -> Canaries:
    from audits.training.expert_data import differ_by_one_expert, private_data

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
    words = [one.value for one in _STARTS]
    if view not in words:
        raise ValueError(f"view ({view!r}) must be one of: {', '.join((*words, CANARIES))}")
    settings = ExpertSettings(parameters)
    return audit_expert_training(settings, View(view), budget=budget, sharpen=sharpen, **options)


def audit_expert_training_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `audits.replay`."""
    how = witness["replay"]
    return audit_expert_training(
        ExpertSettings.read(how["settings"]),
        View(how["view"]),
        **_asked(witness),
        budget=how["budget"],
        sharpen=how["sharpen"],
    )


def audit_expert_canaries_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `audits.replay`."""
    how = witness["replay"]
    return audit_expert_canaries(ExpertSettings.read(how["settings"]), **_asked(witness), runs=how["runs"])


def _asked(witness: Mapping[str, Any]) -> dict[str, Any]:
    return {name: witness[name] for name in ("seed", "delta", "alpha", "claim")}
