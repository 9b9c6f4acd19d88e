"""A model of torch, as the audits of a user's training know it. torch is an extra and is imported when it is used.

The function is called as ``train(model, dataset, seed)`` and must train the given model in place. dpproof registers a
hook of torch that is called before the step of any optimizer. So the function needs no change for the audit, and every
step of Opacus's optimizer is observed. A training may also add its noise after the step of its optimizer, because the
weights in between are not observed. If a training uses no optimizer of torch, it counts as one step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from dpproof.audits.training.dp_sgd import one_thread
from dpproof.audits.training.opacus import quiet
from dpproof.audits.training.watching import Array, Records, Train

Loss = Callable[[Any, Any], Any]
"""A function from the outputs of the model and the targets of some records to their mean loss."""


def mean_loss(outputs: Any, targets: Any) -> Any:
    """Return the mean cross-entropy for integer targets, and half of the mean squared error otherwise."""
    import torch

    if targets.is_floating_point():
        return torch.nn.functional.mse_loss(outputs.reshape(targets.shape), targets) / 2
    return torch.nn.functional.cross_entropy(outputs, targets)


@dataclass(frozen=True)
class TorchModel:
    """A torch module at the weights where a training begins, and the mean loss of outputs and targets."""

    duty: ClassVar[str] = "The function must train the model that it is given, in place, and not a copy."

    module: Any
    loss: Loss | None = None

    def __post_init__(self) -> None:
        if next(self.module.parameters(), None) is None:
            raise ValueError(f"model ({type(self.module).__name__}) must have at least one parameter.")

    @cached_property
    def weights(self) -> Array:
        """All weights at the beginning, as one row."""
        return _row(self.module)

    def at(self, weights: Array) -> TorchModel:
        """Return this model at other weights."""
        import torch

        module = copy.deepcopy(self.module)
        with torch.no_grad():
            for one, piece in _pieces(module, torch.from_numpy(weights)).items():
                module.get_parameter(one).copy_(piece)
        return TorchModel(module, self.loss)

    def losses(self, weights: Array, records: Records) -> Array:
        """Return the loss of each record, at these weights."""
        import torch

        with torch.no_grad():
            return self._each(
                torch.func.vmap(self._alone, (None, 0, 0), randomness="different"), weights, records
            )

    def gradients(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the loss of each record, at these weights; one row for each record."""
        import torch

        return self._each(
            torch.func.vmap(torch.func.grad(self._alone), (None, 0, 0), randomness="different"),
            weights,
            records,
        )

    def slope(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the mean loss of the records, at these weights."""
        import torch

        return self._each(torch.func.grad(self._mean), weights, records)

    def observes(self, _train: Train) -> bool:
        """Return true: the steps of every optimizer are observed."""
        return True

    def run(self, train: Train, records: Records, seed: int, look: Callable[[Array], None]) -> Array:
        """Run the training, call ``look`` with the weights after each step, and return the last weights."""
        return _row(self._trained(train, records, seed, look)[0])

    def accounted(self, train: Train, records: Records, seed: int) -> tuple[float, float, int]:
        """Return the sampling rate, the noise multiplier and the number of steps of the engine that is returned.

        Raises:
            ValueError: the training returns no engine, or its history is not one kind of steps.
        """
        engine = self._trained(train, records, seed, lambda _: None)[1]
        history = getattr(getattr(engine, "accountant", None), "history", [])
        if len(history) != 1:
            raise ValueError(
                f"claim: The training returned {type(engine).__name__} with {len(history)} kinds of steps. Give the"
                " claim, or return an Opacus engine all of whose steps have one sampling rate and one noise multiplier."
            )
        noise, rate, steps = history[0]
        return float(rate), float(noise), int(steps)

    def _trained(
        self, train: Train, records: Records, seed: int, look: Callable[[Array], None]
    ) -> tuple[Any, Any]:
        """Train a copy of the model, and return the copy and what the training returned.

        torch's own generator begins with the seed, so no two trainings have the same noise, even if the function does
        not use the seed.
        """
        import torch
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        model = copy.deepcopy(self.module)
        with ExitStack() as during:
            for one in (one_thread(), quiet(), torch.random.fork_rng(devices=[])):
                during.enter_context(one)
            during.callback(register_optimizer_step_pre_hook(lambda *_: look(_row(model))).remove)
            torch.manual_seed(seed)
            data = torch.utils.data.TensorDataset(*map(torch.as_tensor, records.both))
            return model, train(model, data, seed)

    @cached_property
    def _calm(self) -> Any:
        return copy.deepcopy(self.module).eval()

    def _mean(self, row: Any, inputs: Any, targets: Any) -> Any:
        import torch

        outputs = torch.func.functional_call(self._calm, _pieces(self._calm, row), (inputs,))
        return (self.loss or mean_loss)(outputs, targets)

    def _alone(self, row: Any, x: Any, y: Any) -> Any:
        return self._mean(row, x[None], y[None])

    def _each(self, function: Callable[..., Any], weights: Array, records: Records) -> Array:
        import torch

        return _numbers(function(*map(torch.as_tensor, (weights, *records.both))))


def _row(module: Any) -> Array:
    """Return a copy of all weights of a module as one row."""
    import torch

    return _numbers(torch.cat([one.detach().reshape(-1) for one in module.parameters()]))


def _numbers(values: Any) -> Array:
    """Return a tensor as an array of numpy, with at least 32 bits a number."""
    import torch

    found: Array = values.detach().cpu().to(torch.promote_types(values.dtype, torch.float32)).numpy()
    return found


def _pieces(module: Any, row: Any) -> dict[str, Any]:
    """Return the weights in a row by their names in a module, with the types of its parameters."""
    known = dict(module.named_parameters())
    pieces = row.split([one.numel() for one in known.values()])
    return {
        name: piece.view(one.shape).to(one.dtype)
        for (name, one), piece in zip(known.items(), pieces, strict=True)
    }
