"""What an auditor of DP-SGD sees: single steps, epochs, the trace of a whole run, or the final model only.

Steps and epochs come from one training run, a coin each; traces and final models from many short runs, a coin
each. The claim is the accountant's for as many steps as a coin stands for. A trace shows at least as much as
the final model, which is a function of it; the claim on both is the same, so the final model shows less.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.runner import audit
from dpproof.audits.engine.scores import Identity, LogLikelihoodRatio, Score
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.training.dp_sgd import Fault, Loop, Settings, one_thread, step_claim
from dpproof.audits.training.steps import STEPS, WITHOUT, Training, audit_steps

__all__ = [
    "Released",
    "View",
    "audit_dp_sgd",
    "audit_dp_sgd_again",
    "canary_pair",
    "one_canary_more",
    "view_scores",
]


class View(enum.Enum):
    """What is seen, and how often a coin is thrown."""

    STEP = "step"
    """The noisy sum of each step of one run; a coin for every step."""
    EPOCH = "epoch"
    """The noisy sums of an epoch; a coin for every epoch of one run."""
    TRACE = "trace"
    """The noisy sums of a whole run; a coin for every run."""
    FINAL = "final"
    """The weights after the run, and those before it; a coin for every run."""


@dataclass(frozen=True)
class Released:
    """DP-SGD as a mechanism: on False or True (the canary is among the records), so many whole runs.

    Attributes:
        settings: what the loop does.
        steps: the length of a run.
        view: ``TRACE`` or ``FINAL``.
    """

    settings: Settings
    steps: int
    view: View

    def sample(self, data: bool, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """What `n` runs show in the canary's direction: ``(n, steps)``, or ``(n,)`` of final models."""
        runs = [Loop(self.settings, rng).run(self.steps, data) for _ in range(n)]
        return np.array([moved if self.view is View.FINAL else trace for trace, moved in runs])


def audit_dp_sgd(
    settings: Settings,
    view: View,
    *,
    seed: int,
    steps: int = 8,
    delta: float = 1e-5,
    alpha: float = 0.01,
    budget: int = STEPS,
    sharpen: bool = False,
) -> Evidence:
    """Audit the small loop of `dpproof.audits.training.dp_sgd`, with its fault, against the claim it has without.

    Args:
        settings: the loop and its fault.
        view: what is seen.
        seed: a nonnegative integer.
        steps: the length of a run, for views of whole runs.
        delta: where epsilon is stated, in (0, 1).
        alpha: the level.
        budget: the most coins: steps, epochs or runs.
        sharpen: go on after a violation.

    Raises:
        ModuleNotFoundError: torch is not installed.
        ValueError: an argument is outside its range.
    """
    length = {View.STEP: 1, View.EPOCH: settings.epoch}.get(view, steps)
    claim = f"DP-SGD, {view.value}"
    curve = step_claim(settings, length).guarantee
    how = {"audit": "dp-sgd", "settings": _plain(settings), "view": view.value, "steps": steps}
    common: dict[str, Any] = {
        "seed": seed,
        "delta": delta,
        "alpha": alpha,
        "budget": budget,
        "sharpen": sharpen,
        "scores": view_scores(settings, view),
        "replay": how,
    }
    if view in (View.STEP, View.EPOCH):

        def start(rng: np.random.Generator) -> Training:
            loop = Loop(settings, rng)
            return lambda canary: loop.run(length, canary)[0]

        with one_thread():
            common |= {"pair": canary_pair(), "known_ratio": length == 1}
            return audit_steps(claim, curve, start, **common)
    with one_thread():
        return audit(claim, curve, Released(settings, length, view).sample, canary_pair(), **common)


def audit_dp_sgd_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_dp_sgd(
        Settings(**{**how["settings"], "fault": Fault(how["settings"]["fault"])}),
        View(how["view"]),
        seed=witness["seed"],
        steps=how["steps"],
        delta=witness["delta"],
        alpha=witness["alpha"],
        budget=how["budget"],
        sharpen=how["sharpen"],
    )


def _plain(settings: Settings) -> dict[str, Any]:
    return {**asdict(settings), "fault": settings.fault.value}


def canary_pair() -> Neighbours:
    """Whether a canary is among the records: what the loop adds to them is one record."""
    return Neighbours(False, True, Adjacency.ADD_REMOVE, WITHOUT, one_canary_more)


def one_canary_more(first: bool, second: bool) -> None:
    """Raise ValueError unless the canary is in exactly one of the two inputs."""
    if first == second:
        raise ValueError("the canary is in both or in neither; neighbours differ in it")


@dataclass(frozen=True)
class _Ratio:
    """The log-likelihood ratio of a trace under the claim, and of one appearance at an unknown step."""

    settings: Settings
    once: bool

    def __call__(self, traces: NDArray[np.float64]) -> NDArray[np.float64]:
        losses = (traces.reshape(len(traces), -1) - 0.5) / self.settings.noise_multiplier**2
        if self.once:
            return np.asarray(logsumexp(losses, axis=1))
        rate = self.settings.sampling_rate
        absent = np.log1p(-rate) if rate < 1 else -np.inf
        return np.asarray(np.logaddexp(absent, np.log(rate) + losses).sum(axis=1))


def view_scores(settings: Settings, view: View) -> tuple[Score, ...]:
    """The ratios of the claimed law; for epochs also of shuffled batches. One number is its own score."""
    if view in (View.STEP, View.FINAL):
        return (Identity(oriented=True, view=_only_column),)
    claimed = LogLikelihoodRatio(_Ratio(settings, once=False))
    shuffled = LogLikelihoodRatio(_Ratio(settings, once=True), name="appeared once")
    return (claimed, shuffled) if view is View.EPOCH else (claimed,)


def _only_column(outputs: NDArray[Any]) -> NDArray[Any]:
    return outputs.reshape(-1)
