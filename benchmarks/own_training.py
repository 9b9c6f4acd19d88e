"""Sound and faulty trainings audited end to end: ``python -m benchmarks.own_training [SEEDS]``.

It prints the table of docs/how-to/own-training.md. The trainings are those of `audits.corpus.own_training` and
`benchmarks.own_jax_training`. The seeds are 0, 1 and so on. It needs torch, Opacus and
``pip install jax==0.10.2 jax-privacy==2.0.0``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks import own_jax_training
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.corpus import own_training
from dpproof.audits.training.own_training import audit_training


def data(records: int, features: int) -> tuple[Any, Any]:
    """Return records of four classes."""
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(records, features, generator=rng)
    return inputs.numpy(), (inputs @ torch.randn(features, 4, generator=rng)).argmax(dim=1).numpy()


def network(features: int) -> Any:
    """Return a network with one hidden layer."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(features, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


Kind = tuple[Callable[[DPSGDParameters], Any], Callable[[int], Any], Any]
"""A training, the model that it begins with, and its loss."""


def in_jax(kinds: Sequence[type[own_jax_training.JaxTraining]]) -> tuple[Kind, ...]:
    """Return trainings in JAX with their network and its loss."""
    return tuple((kind, own_jax_training.network, own_jax_training.network_loss) for kind in kinds)


KINDS: tuple[Kind, ...] = (
    *((kind, network, None) for kind in (*own_training.SOUND, *own_training.FAULTY)),
    *in_jax(own_jax_training.TRAININGS),
)
CLAIM = DPSGDParameters(sampling_rate=1.0, noise_multiplier=1.0, steps=1)
SMALL = DPSGDParameters(sampling_rate=1.0, noise_multiplier=2.0, steps=1)
FOUR = DPSGDParameters(sampling_rate=0.25, noise_multiplier=4.0, steps=4)
Run = tuple[str, tuple[Kind, ...], DPSGDParameters, int, int, dict[str, Any]]
RUNS: tuple[Run, ...] = (
    ("one run", KINDS, CLAIM, 60, 1_000, {"canaries": 2_000}),
    ("black box", KINDS, SMALL, 40, 20, {"trainings": 2_000}),
    ("sizes", in_jax(own_jax_training.SIZES), FOUR, 8, 20, {"trainings": 2_000}),
)
"""An attack, its trainings, the claim, the numbers of records and of features, and the arguments of the audit."""


def rows(seeds: int) -> Iterator[str]:
    """Yield a line for each attack and training."""
    yield "| attack | training | fault | claimed epsilon | refuted | mean bound | mean, if only the noise differs |"
    yield "|---|---|---|---|---|---|---|"
    for attack, kinds, claim, records, features, asked in RUNS:
        for kind, start, loss in kinds:
            found = [
                audit_training(
                    kind(claim),
                    start(features),
                    data(records, features),
                    attack=attack,
                    claim=claim,
                    loss=loss,
                    seed=seed,
                    **asked,
                )
                for seed in range(seeds)
            ]
            lower, given = (
                np.mean([getattr(one, name) for one in found]) for name in ("lower", "given_family")
            )
            refuted = f"{sum(one.violated for one in found)} of {seeds}"
            told = (kind.__doc__ or "").partition("Fault: ")[2].rstrip(".")
            yield (
                f"| {attack} | {kind.__name__} | {told or 'none'} | {found[0].claimed:.3f} | {refuted} | {lower:.2f} |"
                f" {given:.2f} |"
            )


if __name__ == "__main__":
    for line in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        print(line, flush=True)
