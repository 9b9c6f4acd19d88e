"""Audits by name of expert-level offline learning: the release of prefixes, and selective DP-SGD.

Each samples what one run releases on a hard pair of expert sets and reduces it to its log-likelihood ratio
under the two, which is post-processing: a violation is one of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.accountant.rl.expert.release import account as release_guarantee
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.accountant.rl.expert.selective_dpsgd import account as training_guarantee
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.runner import BUDGET, audit
from dpproof.audits.engine.scores import Identity
from dpproof.audits.engine.unaudited import NoAuditError
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.targets.rl.expert_rounds import PrefixRound, one_expert_more

__all__ = ["audit_release", "audit_release_again", "audit_training", "audit_training_again"]

Floats = NDArray[np.float64]
NUMBERS = 20_000_000
"""The default budget draws at most about so many numbers."""
FEWEST = 2_000
_CHUNK = 2_000_000
_STEPS = 3
_MOST_EXPERTS = 20_000


@dataclass(frozen=True)
class _Training:
    """The log-likelihood ratio of all steps, the expert's gradients all of the clipping norm; ``(n, 1)``."""

    parameters: SelectiveDPSGDParameters

    def __call__(self, gradients: Floats, n: int, rng: np.random.Generator) -> Floats:
        """``gradients`` are those that are not 0: the expert's, or none."""
        found = np.zeros(n)
        runs = max(_CHUNK // max(self.parameters.steps, 1), 1)
        for first in range(0, n, runs):
            found[first : first + runs] = self._run(gradients, min(runs, n - first), rng)
        return found[:, None]

    def _run(self, gradients: Floats, n: int, rng: np.random.Generator) -> Floats:
        p = self.parameters
        rate, chance, steps = _KINDS[p.coin](p)
        noise = p.noise_multiplier / (2 if p.batch == "exact" else 1)
        noisy = rng.random((n, steps)) < chance
        moved = (rng.random((n, steps)) < rate) * gradients.sum() + rng.normal(0.0, noise, (n, steps))
        ratio = np.log1p(rate * np.expm1((moved - 0.5) / noise**2))
        return np.asarray(np.where(noisy, ratio, 0.0).sum(axis=1))


_KINDS: Mapping[str, Callable[[SelectiveDPSGDParameters], tuple[float, float, int]]] = {
    "visible": lambda p: (p.sampling_rate, p.branch_probability, p.steps),
    "hidden": lambda p: (p.sampling_rate, p.branch_probability, p.steps),
    "independent": lambda p: (p.sampling_rate * p.branch_probability, 1.0, p.steps),
    "fixed": lambda p: (p.sampling_rate, 1.0, p.noisy_steps),
}
"""Rate, chance of a noisy step and number of steps; a hidden coin is seen where plain steps move far away."""


def audit_training(
    parameters: SelectiveDPSGDParameters, *, seed: int, delta: float = 1e-5, claim: str = "selective-dpsgd",
    budget: int | None = None, curve: Any = None, replay: Mapping[str, Any] | None = None, **options: Any,
) -> Evidence:  # fmt: skip
    """Audit selective DP-SGD, one expert more or less, on the pair that attains its guarantee.

    Raises:
        NoAuditError: if no step reads experts' data.
    """
    if 0 in (parameters.steps, parameters.sampling_rate, parameters.branch_probability):
        raise NoAuditError("steps, sampling_rate and branch_probability must be above 0 for an audit")
    one = np.ones(1)
    pair = Neighbours(
        one, one[:0], Adjacency.EXPERT, "an expert of one gradient in all steps, or none", one_expert_more
    )
    promised = training_guarantee(parameters, Adjacency.EXPERT).guarantee if curve is None else curve
    spent = max(FEWEST, min(BUDGET, NUMBERS // parameters.steps)) if budget is None else budget
    return audit(
        claim,
        promised,
        _Training(parameters),
        pair,
        (Identity(),),
        known_ratio=True,
        seed=seed,
        delta=delta,
        budget=spent,
        replay=_again("selective-dpsgd", parameters) if curve is None else replay,
        **options,
    )


@dataclass(frozen=True)
class _Release:
    """The log-likelihood ratio of all rounds' releases, drawn afresh; ``(n, 1)``."""

    rounds: PrefixRound
    count: int
    ratios: Floats

    def __call__(self, table: Floats, n: int, rng: np.random.Generator) -> Floats:
        released = self.rounds(table, n * self.count, rng).astype(np.int64)
        return np.asarray(self.ratios[released[:, 0]].reshape(n, self.count).sum(axis=1)[:, None])


def audit_release(
    parameters: ExpertReleaseParameters, *, seed: int, delta: float = 1e-5, claim: str = "expert-release",
    budget: int | None = None, curve: Any = None, replay: Mapping[str, Any] | None = None, **options: Any,
) -> Evidence:  # fmt: skip
    """Audit the release where as many experts play alike as make the counts pass or not, with one less.

    Trajectories have up to three steps and two actions; rounds draw afresh.

    Raises:
        NoAuditError: for a walk, more actions, or more experts than can be enumerated.
    """
    if parameters.draws != "fresh":
        raise NoAuditError(
            f"draws ({parameters.draws!r}) must be 'fresh': no audit walks through logged data"
        )
    least, steps = parameters.least_probability, min(parameters.length, _STEPS)
    alike = math.ceil(parameters.design.cutoff / (1 - least) ** ((steps + 1) / 2))
    experts = max(alike, parameters.experts + 1)
    if experts > _MOST_EXPERTS:
        raise NoAuditError(f"experts ({experts}) must be at most {_MOST_EXPERTS} for an audit")
    table = np.tile(np.array([1 - least, least]), (experts, steps, 1))
    table[: experts - alike] = table[: experts - alike, :, ::-1].copy()
    described = f"{experts} experts, {alike} of them alike, and one of these less"
    pair = Neighbours(table, table[:-1], Adjacency.EXPERT, described, one_expert_more)
    rounds = PrefixRound(parameters.design)
    mechanism = _Release(rounds, parameters.trajectories, _ratios(rounds, table))
    promised = release_guarantee(parameters, Adjacency.EXPERT).guarantee if curve is None else curve
    spent = max(FEWEST, min(BUDGET, NUMBERS // (20 * parameters.trajectories))) if budget is None else budget
    return audit(
        claim,
        promised,
        mechanism,
        pair,
        (Identity(),),
        known_ratio=True,
        seed=seed,
        delta=delta,
        budget=spent,
        replay=_again("expert-release", parameters) if curve is None else replay,
        **options,
    )


def _again(name: str, parameters: Parameters) -> Mapping[str, Any]:
    return {"audit": name, "parameters": parameters.as_json()}


def audit_training_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_training(SelectiveDPSGDParameters.read(how["parameters"]), **_settings(witness))


def audit_release_again(witness: Mapping[str, Any]) -> Evidence:
    """Run the audit that a witness describes; see `dpproof.replay`."""
    how = witness["replay"]
    return audit_release(ExpertReleaseParameters.read(how["parameters"]), **_settings(witness))


def _settings(witness: Mapping[str, Any]) -> dict[str, Any]:
    asked = {name: witness[name] for name in ("seed", "delta", "alpha", "claim")}
    return asked | {name: witness["replay"][name] for name in ("budget", "sharpen")}


def _ratios(rounds: PrefixRound, table: Floats) -> Floats:
    """Logarithms of the chances with the expert over those without, by output; it only guides the score."""
    more, fewer = rounds.law(table), rounds.law(table[:-1])
    found = np.zeros(max(more) + 1)
    for code, chance in more.items():
        found[code] = math.log(max(chance, 1e-300) / max(fewer[code], 1e-300))
    return np.clip(found, -50.0, 50.0)
