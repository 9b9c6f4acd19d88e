"""The audit of selective DP-SGD: simulated runs with and without one expert, or a real training.

The audit of simulated runs looks only at the log-likelihood ratio of each run. The ratio is post-processing, so a
violation in the ratio is a violation of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.target import Audited, Subject
from dpproof.audits.targets.rl.expert.release import ExpertAudit, one_expert_more

KIND = "selective-dpsgd"
Floats = NDArray[np.float64]
_CHUNK = 2_000_000


@dataclass(frozen=True)
class _Training:
    """Sampler of the log-likelihood ratio of all steps; all gradients of the expert have the clipping norm."""

    parameters: SelectiveDPSGDParameters

    def __call__(self, gradients: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return ``n`` ratios, ``(n, 1)``; ``gradients`` is empty if the expert does not take part."""
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
"""The sampling rate, the probability of a noisy step and the number of steps, for each kind of coin. The coin decides
whether a step is noisy. A hidden coin is treated as visible, because steps without noise may reveal it."""


class SelectiveAudit(ExpertAudit):
    """The audit of selective DP-SGD with and without one expert, on the inputs that attain the guarantee."""

    kind = KIND

    @classmethod
    def of(cls, subject: Subject) -> Audited:
        """Return the audit of the mechanism, or of a real training if a view is given."""
        if subject.view is None:
            return super().of(subject)
        from dpproof.audits.training.expert_canaries import Viewed

        return Viewed(cast(SelectiveDPSGDParameters, subject.parameters), subject.view)

    def run(self) -> tuple[Neighbours, Auditable, int]:
        """Return the same as `ExpertAudit.run`, where one sample consists of all steps of the training."""
        p: SelectiveDPSGDParameters = self.parameters
        if 0 in (p.steps, p.sampling_rate, p.branch_probability):
            raise NoAuditError("steps, sampling_rate and branch_probability must be above 0 for an audit")
        one = np.ones(1)
        described = "an expert of one gradient in all steps, or none"
        pair = Neighbours(one, one[:0], Adjacency.EXPERT, described, one_expert_more)
        return pair, _Training(p), p.steps


TARGET = SelectiveAudit
