"""How long a clipped gradient takes: by norms, or by each gradient of torch.func.vmap's and Opacus's.

    python -m benchmarks.offline_training_speed

One thread, CPU milliseconds, the best of several rounds in one process, the ways in turn within a round. All
compute the sum of the gradients of the CQL loss, each clipped to norm 1, of the same network on the same
batch; how far the sums differ stands beside the times. Noise and the targets of the loss are outside.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dpproof.mechanisms.rl.expert.offline.cql import CQL
from dpproof.mechanisms.rl.expert.offline.network import Layers

INPUTS, UNITS, ACTIONS, CLIP = 8, 256, 4, 1.0
BATCHES, ROUNDS = (32, 256), 7
TARGETS = {"torch.func.vmap": 15.0, "Opacus hooks": 20.0}
Sum = Callable[[], torch.Tensor]


def _problem(batch: int) -> tuple[Layers, CQL, torch.Tensor, tuple[torch.Tensor, ...]]:
    layers, made = Layers((INPUTS, UNITS, UNITS, ACTIONS)), torch.Generator().manual_seed(0)
    theta = layers.initial(np.random.default_rng(0))
    seen = torch.randn(batch, INPUTS, generator=made)
    actions = torch.randint(ACTIONS, (batch,), generator=made)
    return layers, CQL(), theta, (seen, actions, 3 * torch.randn(batch, generator=made))


def _module(layers: Layers, theta: torch.Tensor) -> torch.nn.Sequential:
    """The same network as torch's own layers."""
    parts: list[torch.nn.Module] = []
    for weights, biases in layers.views(theta):
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.load_state_dict({"weight": weights, "bias": biases})
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def _clipped(gradients: list[torch.Tensor]) -> torch.Tensor:
    """Sum gradients (n, ...), one tensor a parameter, each example's clipped."""
    norms = torch.stack([each.flatten(1).square().sum(1) for each in gradients]).sum(0).sqrt()
    factors = CLIP / norms.clamp_min(CLIP)
    return torch.cat([torch.einsum("n,n...->...", factors, each).flatten() for each in gradients])


def ways(batch: int) -> dict[str, Sum]:
    """Name -> what computes the sum."""
    layers, loss, theta, data = _problem(batch)
    seen, actions, targets = data

    def ours() -> torch.Tensor:
        here = layers.forward(theta, seen)
        return here.clipped_sum(loss.signal(here.outputs, actions, targets), CLIP)

    def plain() -> torch.Tensor:
        here = layers.forward(theta, seen)
        return here.weighted_sum(here.signals(loss.signal(here.outputs, actions, targets)), torch.ones(batch))

    return {
        "ours": ours,
        "plain sum, nothing clipped": plain,
        "torch.func.vmap": _vmap(_module(layers, theta), loss, data),
        "Opacus hooks": _opacus(_module(layers, theta), loss, data),
    }


def _vmap(module: torch.nn.Module, loss: CQL, data: tuple[torch.Tensor, ...]) -> Sum:
    held = {name: each.detach() for name, each in module.named_parameters()}

    def one(parameters: Any, x: Any, action: Any, target: Any) -> Any:
        values = torch.func.functional_call(module, parameters, (x[None],))
        return loss.losses(values, action[None], target[None])[0]

    each = torch.func.vmap(torch.func.grad(one), (None, 0, 0, 0))
    return lambda: _clipped(list(each(held, *data).values()))


def _opacus(module: torch.nn.Module, loss: CQL, data: tuple[torch.Tensor, ...]) -> Sum:
    from opacus import GradSampleModule

    wrapped = GradSampleModule(module, loss_reduction="sum")
    seen, actions, targets = data

    def compute() -> torch.Tensor:
        wrapped.zero_grad(set_to_none=True)
        loss.losses(wrapped(seen), actions, targets).sum().backward()
        return _clipped([each.grad_sample for each in wrapped.parameters()])

    return compute


def rows() -> list[dict[str, Any]]:
    """One row per way and batch: milliseconds, times ours, relative difference from ours."""
    found = []
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for batch in BATCHES:
            compared = ways(batch)
            sums = {name: way().detach() for name, way in compared.items()}
            best = {name: min(_milliseconds(way) for _ in range(ROUNDS)) for name, way in compared.items()}
            for name, taken in best.items():
                apart = float((sums[name] - sums["ours"]).norm() / sums["ours"].norm())
                found.append(
                    {"name": name, "batch": batch, "ms": taken, "times": taken / best["ours"], "apart": apart}
                )
    finally:
        torch.set_num_threads(before)
    return found


def section() -> list[str]:
    """The part of the page: a title and a table."""
    warnings.simplefilter("ignore")  # Opacus's hooks warn of what torch will do some day
    lines = ["## Clipping each example's gradient, CPU", "", __doc__.split("\n\n")[-1].strip(), ""]
    lines += [
        "| way | batch | ms a step | times ours | relative difference | target |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['name']} | {row['batch']} | {row['ms']:.2f} | {row['times']:.1f} | {row['apart']:.1e} "
        f"| {_target(row)} |"
        for row in rows()
    ]
    return lines


def _target(row: dict[str, Any]) -> str:
    least = TARGETS.get(row["name"]) if row["batch"] == 256 else None
    return f"at least {least:g}" if least else ""


def _milliseconds(work: Sum) -> float:
    """CPU milliseconds of one call, the mean of as many as take a fifth of a second."""
    begin, calls = time.process_time(), 0
    while time.process_time() - begin < 0.2:
        work()
        calls += 1
    return 1e3 * (time.process_time() - begin) / calls


def main() -> None:
    """Print the section."""
    print("\n".join(section()))


if __name__ == "__main__":
    main()
