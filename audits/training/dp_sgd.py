"""A small DP-SGD loop in torch, and its audits, which observe single steps, epochs, whole runs or final models.

The loop trains a network with one hidden layer. It clips the gradient of each record, sums the gradients over a
Poisson sample, and adds Gaussian noise. A canary is a record whose gradient the auditor chooses. This gradient is far
longer than the clipping norm. It is orthogonal to all other gradients at the start, so that they do not disturb it.
torch is an extra and is imported when a loop is built.

A fair coin decides whether the canary takes part. An audit observes single steps, epochs, the trace (all steps) of a
run, or the final model only. Steps and epochs come from one training run; each has its own coin. Traces and final
models come from many short runs; each run has its own coin. The claim is the accountant's guarantee for the number of
steps per coin. The claim for the final model is the claim for the trace, because the model is a function of the
trace.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.noise.dp_sgd import DPSGDParameters, account
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.scores.protocol import Identity, LogLikelihoodRatio, Score
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, USUAL, Told, variant
from dpproof.audits.training.steps import STEPS, WITHOUT, Steps, Training, audit_steps

if TYPE_CHECKING:
    import torch

KIND = "dp-sgd"
DELTA = 1e-5
"""The delta at which epsilon is stated, unless the plan gives another delta."""

FEATURES, HIDDEN = 20, 16


@dataclass(frozen=True)
class Settings:
    """The settings of a DP-SGD training loop and of its canary, the record that the audit adds.

    Attributes:
        sampling_rate: the probability that a record is in the batch of a step.
        noise_multiplier: the standard deviation of the noise divided by the clipping norm.
        clip: the clipping norm.
        records: the number of records besides the canary.
        learning_rate: a step changes the weights by this factor times the noisy sum over the expected batch size.
        canary_norm: the length of the canary's gradient, as a multiple of the clipping norm.
        variant: the name of the loop that is run; see `audits.target.variant`.

    Raises:
        ValueError: a number is outside its range.

    >>> Settings(sampling_rate=0.0)
    Traceback (most recent call last):
    ValueError: sampling_rate (0.0) must be in (0, 1]
    """

    sampling_rate: float = 1.0
    noise_multiplier: float = 1.0
    clip: float = 4.0
    records: int = 48
    learning_rate: float = 0.05
    canary_norm: float = 10.0
    variant: str = USUAL

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(f"sampling_rate ({self.sampling_rate!r}) must be in (0, 1]")
        for name in ("noise_multiplier", "clip", "records", "learning_rate", "canary_norm"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} ({value!r}) must be a finite number above 0")

    def as_json(self) -> dict[str, object]:
        """Return the settings as JSON data for `read`."""
        plain = asdict(self)
        return plain | {"fault": plain.pop("variant")}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Settings:
        """Return the settings that `as_json` converted to ``plain``."""
        given = dict(plain)
        return cls(variant=given.pop("fault"), **given)

    @property
    def epoch(self) -> int:
        """The number of steps of an epoch: the integer nearest to 1 / ``sampling_rate``."""
        return max(1, round(1 / self.sampling_rate))


def step_claim(settings: Settings, steps: int = 1) -> PrivacyResult:
    """Return the guarantee of the shipped loop for this number of steps, under add-remove adjacency.

    This is the guarantee of Poisson sampling with Gaussian noise. It holds whatever happened in earlier steps.

    >>> step_claim(Settings(noise_multiplier=2.0)).guarantee.epsilon("1e-5").upper
    1.9930
    """
    parameters = DPSGDParameters(settings.sampling_rate, settings.noise_multiplier, steps)
    return account(parameters, Adjacency.ADD_REMOVE)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread in the ``with`` block. This is faster here, and sums are the same on every machine.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Loop:
    """A training run in progress, which takes one step at a time.

    Args:
        settings: the settings of the loop.
        rng: the source of all randomness of the run. The records and the first weights are the same for all runs.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        import torch

        self.settings, self.rng, self._torch = settings, rng, torch
        self._noise = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        fixed = np.random.default_rng(20)
        inputs = fixed.normal(size=(settings.records, FEATURES))
        labels = np.where(inputs @ fixed.normal(size=FEATURES) > 0, 1.0, -1.0)
        self._inputs, self._labels = (torch.as_tensor(a, dtype=torch.float32) for a in (inputs, labels))
        start = fixed.normal(size=HIDDEN * (FEATURES + 1)) * 0.3
        self.weights = torch.as_tensor(start, dtype=torch.float32)
        each = torch.func.vmap(torch.func.grad(self._loss), in_dims=(None, 0, 0))
        self._gradients = each

    def _loss(self, weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first, last = weights[: HIDDEN * FEATURES].view(HIDDEN, FEATURES), weights[HIDDEN * FEATURES :]
        loss: torch.Tensor = self._torch.nn.functional.softplus(-y * (self._torch.tanh(first @ x) @ last))
        return loss

    def fresh_direction(self) -> torch.Tensor:
        """Return a random unit vector orthogonal to every record's gradient at the current weights."""
        basis, _ = self._torch.linalg.qr(self._gradients(self.weights, self._inputs, self._labels).T)
        drawn = self._torch.randn(len(self.weights), generator=self._noise)
        rest = drawn - basis @ (basis.T @ drawn)
        direction: torch.Tensor = rest / rest.norm()
        return direction

    def step(self, canary: torch.Tensor | None) -> torch.Tensor:
        """Take one step and return the noisy sum; ``canary`` is the gradient of an additional record."""
        batch = self.next_batch(self.settings.records + (canary is not None))
        real = self._torch.as_tensor(batch[batch < self.settings.records])
        gradients = self._torch.zeros(0, len(self.weights))
        if len(real):  # a Poisson sample may be empty
            gradients = self._gradients(self.weights, self._inputs[real], self._labels[real])
        if canary is not None and len(real) < len(batch):
            gradients = self._torch.cat([gradients, canary[None]])
        noisy = self.clipped_sum(gradients) + self.deviation() * self._torch.randn(
            len(self.weights), generator=self._noise
        )
        expected = self.settings.sampling_rate * self.settings.records
        self.weights = self.weights - self.settings.learning_rate / expected * noisy
        return noisy

    def next_batch(self, there: int) -> NDArray[np.int64]:
        """Return the places of the records in the next batch.

        There are ``there`` records. If the test record is one of them, it has the last place.
        """
        return np.flatnonzero(self.rng.random(there) < self.settings.sampling_rate)

    def clipped_sum(self, gradients: torch.Tensor) -> torch.Tensor:
        """Return the sum of the clipped gradients."""
        return clipped(gradients, self.settings.clip).sum(dim=0)

    def deviation(self) -> float:
        """Return the standard deviation of the noise on the sum."""
        return self.settings.noise_multiplier * self.settings.clip

    def run(self, steps: int, canary: bool) -> tuple[NDArray[np.float64], float]:
        """Take some steps, with or without the canary (a test record), and return the changes in a random direction.

        Returns:
            The component of each noisy sum in this direction, in units of the clipping norm ``(steps,)``; and the
            same component of the change of the weights, which equals the sum of the first components up to rounding.
            The canary's gradient has this direction.
        """
        direction, before = self.fresh_direction(), self.weights
        gradient = self.settings.canary_norm * self.settings.clip * direction if canary else None
        sums = self._torch.stack([self.step(gradient) for _ in range(steps)])
        expected = self.settings.sampling_rate * self.settings.records
        moved = float((before - self.weights) @ direction) * expected / self.settings.learning_rate
        trace = (sums @ direction / self.settings.clip).numpy().astype(np.float64)
        return trace, moved / self.settings.clip


def started(settings: Settings, rng: np.random.Generator) -> Loop:
    """Return a new training run of the loop, or of the variant that the settings name."""
    return variant(Loop, settings.variant)(settings, rng)


def clipped(rows: torch.Tensor, norm: float) -> torch.Tensor:
    """Return the rows; each row longer than ``norm`` is shortened to this norm."""
    lengths = rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
    shorter: torch.Tensor = rows * (norm / lengths).clamp(max=1.0)
    return shorter


class View(enum.Enum):
    """What an auditor observes of a training, and how often a coin decides whether the canary takes part."""

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
    """A mechanism whose outputs are whole DP-SGD runs; its input is True if the canary is among the records.

    Attributes:
        settings: the settings of the loop.
        steps: the number of steps of a run.
        view: ``TRACE`` or ``FINAL``.
    """

    settings: Settings
    steps: int
    view: View

    def sample(self, data: bool, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the changes in the canary's direction for `n` runs.

        The result is an array ``(n, steps)``, or ``(n,)`` for final models.
        """
        runs = [started(self.settings, rng).run(self.steps, data) for _ in range(n)]
        return np.array([moved if self.view is View.FINAL else trace for trace, moved in runs])


@dataclass(frozen=True)
class LoopAudit:
    """The audit of this module's DP-SGD loop, or of a variant of it, against the guarantee of the loop; needs torch.

    Attributes:
        settings: the settings of the loop.
        view: the part of the training that the audit observes.
        steps: the number of steps of a run, if the audit observes whole runs or final models.
    """

    fields: ClassVar[Mapping[str, type]] = {"settings": dict, "view": str, "steps": int, **RUN}

    settings: Settings
    view: View
    steps: int = 8

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        The budget counts steps, epochs or runs. The default delta is 1e-5.

        Raises:
            ModuleNotFoundError: torch is not installed.
            ValueError: an argument is outside its range.
        """
        settings, view = self.settings, self.view
        length = {View.STEP: 1, View.EPOCH: settings.epoch}.get(view, self.steps)
        curve = step_claim(settings, length).guarantee
        how = {"audit": KIND, "settings": settings.as_json(), "view": view.value, "steps": self.steps}
        asked = replace(
            plan.filled(f"DP-SGD, {view.value}", DELTA, STEPS), scores=view_scores(settings, view)
        )
        asked = replace(asked, replay=how)
        with one_thread():
            if view in (View.STEP, View.EPOCH):
                asked = replace(asked, known_ratio=length == 1)
                return audit_steps(curve, partial(_start, settings, length), Steps(canary_pair()), asked)
            return audit_pair(curve, Released(settings, length, view).sample, canary_pair(), asked)

    @classmethod
    def read(cls, how: Told) -> LoopAudit:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(Settings.read(how.table("settings")), View(how.text("view")), how.whole("steps"))


TARGET = LoopAudit


def _start(settings: Settings, length: int, rng: np.random.Generator) -> Training:
    loop = started(settings, rng)
    return lambda canary: loop.run(length, canary)[0]


def canary_pair() -> Neighbours:
    """Return the pair of inputs: False means without the canary (a test record), True means with it."""
    return Neighbours(False, True, Adjacency.ADD_REMOVE, WITHOUT, one_canary_more)


def one_canary_more(first: bool, second: bool) -> None:
    """Raise ValueError unless exactly one of the two inputs has the canary (a test record)."""
    if first == second:
        raise ValueError("The canary must be in exactly one of the two inputs.")


@dataclass(frozen=True)
class _Ratio:
    """The log-likelihood ratio of a trace, under the claim or for exactly one appearance at an unknown step."""

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
    """Return the scores for what the audit observes: the number itself, or likelihood ratios."""
    if view in (View.STEP, View.FINAL):
        return (Identity(oriented=True, view=_only_column),)
    claimed = LogLikelihoodRatio(_Ratio(settings, once=False))
    shuffled = LogLikelihoodRatio(_Ratio(settings, once=True), name="appeared once")
    return (claimed, shuffled) if view is View.EPOCH else (claimed,)


def _only_column(outputs: NDArray[np.generic]) -> NDArray[Any]:
    return outputs.reshape(-1)
