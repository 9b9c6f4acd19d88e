"""A training function of the user, run on data that dpproof chooses, while dpproof observes the weights.

The function is called as ``train(model, dataset, seed)`` and must train the given model in place. dpproof registers a
hook of torch that is called after the step of any optimizer. So the function needs no change for the audit, and every
step of Opacus's optimizer is observed. If a training uses no optimizer of torch, it counts as one step.

torch is an extra and is imported when a training begins.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.training.dp_sgd import one_thread
from dpproof.audits.training.opacus import quiet

Train = Callable[[Any, Any, int], Any]
"""A user's training function. It takes a model, a dataset and a seed, and trains the model in place. It may return an
Opacus engine, from which the claim is read."""
Loss = Callable[[Any, Any], Any]
"""A function from the outputs of the model and the targets of some records to their mean loss."""
Step = Callable[[Any, Any], None]
"""A function that is called after a step with all weights before and after the step, each as one row."""


@dataclass(frozen=True)
class Records:
    """Records of a supervised training: inputs ``(n, ...)`` and targets ``(n, ...)``, as tensors.

    Raises:
        ValueError: there are no records, or inputs and targets differ in number.
    """

    inputs: Any
    targets: Any

    def __post_init__(self) -> None:
        if not 0 < len(self.inputs) == len(self.targets):
            raise ValueError(
                f"records: {len(self.inputs)} inputs and {len(self.targets)} targets. There must be as many targets as"
                " inputs, and at least one."
            )

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, places: Any) -> Records:
        """Return the records at these places."""
        return Records(self.inputs[places], self.targets[places])

    def and_(self, others: Records) -> Records:
        """Return these records and the others."""
        import torch

        return Records(*(torch.cat([a, b]) for a, b in zip(self.both, others.both, strict=True)))

    @property
    def both(self) -> tuple[Any, Any]:
        """The inputs and the targets."""
        return self.inputs, self.targets

    def dataset(self) -> Any:
        """Return a map-style dataset of torch."""
        import torch

        return torch.utils.data.TensorDataset(*self.both)

    @classmethod
    def of(cls, given: Any) -> Records:
        """Return the records of a pair ``(inputs, targets)``, or of a dataset whose items are such pairs."""
        import torch

        if isinstance(given, Records):
            return given
        if isinstance(given, tuple):
            return cls(*given)
        inputs, targets = zip(*(given[place] for place in range(len(given))), strict=True)
        return cls(*(torch.stack([torch.as_tensor(one) for one in column]) for column in (inputs, targets)))


def mean_loss(outputs: Any, targets: Any) -> Any:
    """Return the mean cross-entropy for integer targets, and half of the mean squared error otherwise."""
    import torch

    if targets.is_floating_point():
        return torch.nn.functional.mse_loss(outputs.reshape(targets.shape), targets) / 2
    return torch.nn.functional.cross_entropy(outputs, targets)


def flat(model: Any) -> Any:
    """Return a copy of all weights of a model as one row."""
    import torch

    return torch.cat([one.detach().reshape(-1) for one in model.parameters()])


@contextmanager
def observed(model: Any, see: Step) -> Iterator[None]:
    """Call ``see`` after each step that changes the weights of ``model``, and after a last unobserved change."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    last = flat(model)

    def look(*_: object) -> None:
        nonlocal last
        now = flat(model)
        if not bool((now == last).all()):
            before, last = last, now
            see(before, now)

    hook = register_optimizer_step_post_hook(look)
    try:
        yield
    finally:
        hook.remove()
    look()


def trained(train: Train, start: Any, records: Records, seed: int, see: Step) -> tuple[Any, Any]:
    """Run the training function on a copy of the model ``start``; return the trained model and what it returned.

    Raises:
        MechanismError: the function does not change the weights of the model that it gets.
    """
    import torch

    model, steps = copy.deepcopy(start), 0

    def counted(before: Any, now: Any) -> None:
        nonlocal steps
        steps += 1
        see(before, now)

    with one_thread(), quiet(), torch.random.fork_rng(devices=[]), observed(model, counted):
        returned = train(model, records.dataset(), seed)
    if not steps:
        raise MechanismError(
            "train: The weights of the model did not change. The function must train the model that it is given, in"
            " place, and not a copy."
        )
    return model, returned


def gradients(model: Any, loss: Loss, weights: Any, inputs: Any, targets: Any) -> Any:
    """Return the gradient of the loss of each record, at these weights; one row for each record."""
    import torch

    names, sizes = zip(*((name, one.shape) for name, one in model.named_parameters()), strict=True)

    def alone(row: Any, x: Any, y: Any) -> Any:
        pieces = torch.split(row, [size.numel() for size in sizes])
        named = {name: piece.view(size) for name, piece, size in zip(names, pieces, sizes, strict=True)}
        return loss(torch.func.functional_call(model, named, (x[None],)), y[None])

    each = torch.func.vmap(torch.func.grad(alone), in_dims=(None, 0, 0), randomness="different")
    return each(weights, inputs, targets)


@dataclass
class Alignment:
    """How much the steps of a training look as if each canary (a test record) took part in them.

    A step is compared with the direction of each canary's gradient at the weights before the step. The other records
    and the other canaries are noise with a known covariance. Their mean gradients are left out, because clipping makes
    the lengths unknown. The score of a canary adds up the log-likelihood ratios of all steps. If the training is
    observed as one step, the score is linear. The score decides on the power only: any function of the weights leads
    to a valid test.

    Source: Nasr et al., arXiv:2302.07956 (canary gradients, white box).

    Attributes:
        model: the model before the training, in a copy that the training does not change.
        loss: the mean loss of records.
        canaries: the canaries.
        others: the records that always take part.
        claim: the sampling rate and the noise of the training.
        stepwise: whether each step is observed; otherwise the training is one step.
    """

    model: Any
    loss: Loss
    canaries: Records
    others: Records
    claim: DPSGDParameters
    stepwise: bool
    _scores: Any = 0.0

    def __call__(self, before: Any, after: Any) -> None:
        """Add the scores of one step."""
        moved = before - after
        moved = moved * (len(moved) ** 0.5 / moved.norm())  # noise of about 1 in each direction
        directions, hidden = self._directions(before)
        signal = self._without(hidden, directions.T)
        precision = (signal * directions.T).sum(dim=0).clamp(min=1e-9)
        seen, noise, rate = signal.T @ moved, self.claim.noise_multiplier, self.claim.sampling_rate
        if self.stepwise:
            ratio = (seen / noise - precision / (2 * noise**2)).clamp(max=60)
            seen = (rate * ratio.expm1()).log1p() if rate < 1 else ratio
        self._scores = self._scores + seen

    def _directions(self, weights: Any) -> tuple[Any, Any]:
        """Return the directions of the canaries' gradients, and rows that span what hides them."""
        import torch

        rate, noise = self.claim.sampling_rate, self.claim.noise_multiplier
        ours, theirs = (
            gradients(self.model, self.loss, weights, *one.both) for one in (self.canaries, self.others)
        )
        means = [ours.sum(dim=0), theirs.sum(dim=0)]
        ours, theirs = _unit(ours), _unit(theirs)
        means += [ours.sum(dim=0), theirs.sum(dim=0)]
        half = rate / 2
        spread = [(half * (1 - half)) ** 0.5 / noise * ours, (rate * (1 - rate)) ** 0.5 / noise * theirs]
        return ours, torch.cat([*spread, _FORGOTTEN * _unit(torch.stack(means))])

    def _without(self, hidden: Any, columns: Any) -> Any:
        """Return the columns times the inverse of I + hidden' hidden."""
        import torch

        root = torch.linalg.cholesky(torch.eye(len(hidden)) + hidden @ hidden.T)
        return columns - hidden.T @ torch.cholesky_solve(hidden @ columns, root)

    @property
    def scores(self) -> NDArray[np.float64]:
        """One number for each canary; a high number indicates that the canary took part."""
        return np.asarray(self._scores.double().numpy(), dtype=np.float64)


_FORGOTTEN = 100.0
"""The standard deviation of the mean gradients, which is taken for unknown."""


def _unit(rows: Any) -> Any:
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
