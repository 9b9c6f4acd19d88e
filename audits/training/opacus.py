"""The audit of a real Opacus training, step by step, with the optimizer, sampler and noise of its `PrivacyEngine`.

`PrivacyEngine.make_private` makes logistic regression private. A canary is a test record that takes part in a step if
a fair coin decides so. Opacus treats the canary like any other record: Opacus's Poisson sampler draws the canary or
not, Opacus's hooks compute its gradient, and the wrapped optimizer clips and sums gradients, adds noise and changes
the weights. Only the canary has a nonzero value in one feature, and the current model predicts its label wrongly. So
the canary's gradient is always longer than the clipping norm and changes only the weight of this feature. The audit
observes the change of this weight. The rest of a step does not depend on the canary.

Source: Nasr et al., arXiv:2302.07956 (canary gradients, white box), with one coin per step as in `training.steps`.
Opacus is an extra (``opacus``) and is imported when a run begins.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Told, variant
from dpproof.audits.training.dp_sgd import (
    DELTA,
    FEATURES,
    Settings,
    canary_pair,
    one_thread,
    step_claim,
)
from dpproof.audits.training.steps import STEPS, Steps, Training, audit_steps

KIND = "opacus"


class EngineRun:
    """A private training by Opacus in progress, which takes one step at a time.

    Args:
        settings: the sampling rate, noise, clipping norm, number of records and learning rate.
        rng: the source of all randomness of the run. The records are the same for all runs.

    Raises:
        ModuleNotFoundError: Opacus is not installed.
    """

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        import torch

        self._torch, self._settings = torch, settings
        noise, self._draws = (torch.Generator().manual_seed(int(rng.integers(1 << 62))) for _ in range(2))
        self._inputs, self._labels = self._records()
        self._model, self._optimizer = self._private(noise)
        self._batches = {canary: self._loop(canary) for canary in (False, True)}

    def _records(self) -> tuple[Any, Any]:
        """Return the records, with 0 in the canary's feature, and the canary as the last record."""
        fixed, count = np.random.default_rng(20), self._settings.records
        inputs = np.zeros((count + 1, FEATURES + 1))
        inputs[:count, :FEATURES] = fixed.normal(size=(count, FEATURES))
        inputs[count, FEATURES] = 2 * self._settings.canary_norm * self._settings.clip
        labels = np.where(inputs @ fixed.normal(size=FEATURES + 1) > 0, 1.0, -1.0)
        as_tensor = self._torch.as_tensor
        single = self._torch.float32
        return as_tensor(inputs, dtype=single), as_tensor(labels, dtype=single)

    def _private(self, noise: object) -> tuple[Any, Any]:
        """Return the model and the optimizer that the engine made."""
        from opacus import PrivacyEngine

        torch, settings = self._torch, self._settings
        model = torch.nn.Linear(FEATURES + 1, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        self._weight = model.weight
        data = torch.utils.data.TensorDataset(self._inputs[:-1], self._labels[:-1])
        with quiet():
            private, optimizer, _ = PrivacyEngine().make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=settings.learning_rate),
                data_loader=torch.utils.data.DataLoader(data, batch_size=settings.records),
                noise_multiplier=self.noise_multiplier(),
                max_grad_norm=settings.clip,
                loss_reduction="sum",
                noise_generator=noise,
            )
        return private, optimizer

    def noise_multiplier(self) -> float:
        """Return the noise multiplier that is given to Opacus's engine."""
        return self._settings.noise_multiplier

    def _loop(self, canary: bool) -> Iterator[Any]:
        """Generate Opacus's Poisson samples of the records, with or without the canary, without end."""
        from opacus.data_loader import DPDataLoader

        there = self._settings.records + canary
        data = self._torch.utils.data.TensorDataset(self._inputs[:there], self._labels[:there])
        while True:
            with quiet():
                loader = DPDataLoader(data, sample_rate=self._settings.sampling_rate, generator=self._draws)
                batch = next(iter(loader))
            yield batch

    def step(self, canary: bool) -> float:
        """Take one step, with or without the canary (a test record), and return what the step shows.

        Returns:
            The change of the weight of the canary's feature, in units of the clipping norm; positive in the canary's
            direction.
        """
        before = self._seen()
        way = 1.0 if before > 0 else -1.0
        self._labels[-1] = -way  # what the model gets wrong, or cannot tell
        inputs, labels = next(self._batches[canary])
        with quiet():
            self._optimizer.zero_grad()
            answers = self._model(inputs.to(self._torch.float32)).squeeze(-1)
            loss: Any = self._torch.nn.functional.softplus(-labels * answers).sum()
            loss.backward()
            self._optimizer.step()
        return way * (before - self._seen()) / self._settings.learning_rate / self._settings.clip

    def _seen(self) -> float:
        return float(self._weight.detach()[0, -1])


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress torch's warning on hooks, and Opacus's notes on its generator and on a first batch without records."""
    notes = logging.getLogger("opacus.data_loader")
    before, notes.disabled = notes.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        notes.disabled = before


@dataclass(frozen=True)
class OpacusAudit:
    """The audit of an Opacus training, step by step, against the guarantee of its noise and sampling rate."""

    fields: ClassVar[Mapping[str, type]] = {"settings": dict, **RUN}

    settings: Settings

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        The budget is the number of steps. Each step has its own fair coin. The default delta is 1e-5.

        Raises:
            ModuleNotFoundError: Opacus is not installed.
            ValueError: an argument is outside its range.
        """
        asked = replace(
            plan.filled("Opacus PrivacyEngine, step", DELTA, STEPS),
            replay={"audit": KIND, "settings": self.settings.as_json()},
            known_ratio=True,
        )
        with one_thread():
            return audit_steps(step_claim(self.settings).guarantee, self._start, Steps(canary_pair()), asked)

    def _start(self, rng: np.random.Generator) -> Training:
        return variant(EngineRun, self.settings.variant)(self.settings, rng).step

    @classmethod
    def read(cls, how: Told) -> OpacusAudit:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(Settings.read(how.table("settings")))


TARGET = OpacusAudit
