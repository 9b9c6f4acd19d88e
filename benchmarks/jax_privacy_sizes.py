"""Divisor, empty batch and sampling rate of jax_privacy, observed: ``PYTHON benchmarks/jax_privacy_sizes.py``.

PYTHON needs ``pip install jax-privacy==2.0.0 keras``; dpproof is not needed. Every way of training is given
neighbouring datasets of 3 and of 4 records whose clipped gradients are 1, so that a sum of gradients counts records.
The lines are the source of the last table of docs/disclosures/opacus-sizes.md. Seeds are fixed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

os.environ.update(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")

import jax.numpy as jnp
import keras
import numpy as np
from jax_privacy import clipped_grad, keras_api
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig

SIZES, DIVISOR, SEED, STEPS = (3, 4), 2, 1, 30


def said(ask: Callable[[], object]) -> object:
    """Return what ``ask`` returns, or the beginning of its error."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"


def loss(weight: Any, records: Any) -> Any:
    """Return a loss whose gradient is the sum of the records."""
    return jnp.sum(weight * records)


def by_clipped_grad() -> None:
    """Print what ``clipped_grad`` divides by and what it does with an empty batch."""
    gradient = clipped_grad(loss, l2_clip_norm=1.0, normalize_by=DIVISOR)
    for size in SIZES:
        print(f"clipped_grad, {size} records: divisor {size / gradient(0.0, jnp.ones((size, 1))):g}")
    print("clipped_grad, stated sensitivity:", gradient.sensitivity())
    print("clipped_grad, empty batch:", said(lambda: gradient(0.0, jnp.ones((0, 1)))))
    padding = jnp.ones(2, dtype=bool)
    print("clipped_grad, padding only:", gradient(0.0, jnp.ones((2, 1)), is_padding_example=padding))


def by_plan() -> None:
    """Print the divisor, the sampling rate and the noise of an execution plan."""
    plan = BandMFExecutionPlanConfig(
        iterations=4000,
        strategy=np.ones(1),
        epsilon=None,
        delta=None,
        noise_multiplier=1.0,
        normalize_by=DIVISOR,
        sampling_prob=0.5,
        noise_seed=SEED,
    ).plan
    gradient, privatizer = plan.clipped_grad(loss), plan.noise_addition_transform
    for size in SIZES:
        batches = list(plan.batch_selection_strategy.batch_iterator(size, rng=SEED))
        sizes = [len(batch) for batch in batches]
        full = next(batch for batch in batches if len(batch))
        divisor = len(full) / gradient(0.0, jnp.ones((len(full), 1)))
        empty, expected = sizes.count(0), 4000 / 2**size
        print(f"plan, {size} records: divisor {divisor:g}, rate {np.mean(sizes) / size:.3f}, ", end="")
        print(f"{empty} empty batches of 4000 (expected {expected:g}) come out as they are")
    state, noise = privatizer.init(jnp.zeros(())), []
    for _ in range(500):
        value, state = privatizer.update(jnp.zeros(()), state)
        noise.append(float(value))
    print(f"plan, standard deviation of the noise: {np.std(noise):.3f}")
    print("plan, empty batch:", said(lambda: gradient(0.0, jnp.ones((0, 1)))))


def trained(
    records: Sequence[float], *, size: int, batch: int = DIVISOR, parts: int = 1, **more: Any
) -> list[float]:
    """Return the weight after each batch of one ``fit`` with learning rate 1."""
    network = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")]
    )
    given = {"poisson_sampling_in_fit": True, "noise_multiplier": 0.2, "seed": SEED} | more
    config = keras_api.DPKerasConfig(
        epsilon=1e9,
        delta=1e-5,
        clipping_norm=1.0,
        batch_size=batch,
        gradient_accumulation_steps=parts,
        train_steps=STEPS,
        train_size=size,
        **given,
    )
    model = keras_api.make_private(network, config)
    optimizer = keras.optimizers.SGD(1.0, gradient_accumulation_steps=parts if parts > 1 else None)
    model.compile(optimizer=optimizer, loss=lambda target, output: -output)
    seen: list[float] = []

    def look(step: int, logs: object) -> None:
        model.jax_state_sync()
        seen.append(float(np.asarray(model.trainable_variables[0]).item()))

    watch = keras.callbacks.LambdaCallback(on_train_batch_end=look)
    data = np.asarray(records, dtype=np.float32)[:, None]
    steps = STEPS if given["poisson_sampling_in_fit"] else None
    model.fit(
        data, np.zeros_like(data), batch_size=batch, steps_per_epoch=steps, verbose=0, callbacks=[watch]
    )
    return seen


def by_keras() -> None:
    """Print the divisor, the number of steps and the refusals of the Keras interface."""
    served: list[int] = []
    take = keras_api._PoissonSampledTrainingDataset.__getitem__

    def watched(data: Any, index: int) -> Any:
        served.append(int((data._epoch_batches[index] >= 0).sum()))
        return take(data, index)

    keras_api._PoissonSampledTrainingDataset.__getitem__ = watched
    for size in SIZES:
        served.clear()
        moves = np.diff([0.0, *trained([1.0] * size, size=size)])
        sizes = served[1 : STEPS + 1]  # the first one only builds the model
        empty = [round(float(move), 2) for move, drawn in zip(moves, sizes, strict=True) if not drawn]
        print(
            f"keras, {size} records: {STEPS} steps of {sum(sizes)} records, rate {sum(sizes) / size / STEPS:.3f} ",
            end="",
        )
        print(f"({DIVISOR}/{size}), divisor {sum(sizes) / moves.sum():.2f}, moves at empty batches {empty}")
    keras_api._PoissonSampledTrainingDataset.__getitem__ = take
    print("keras, 4 records, train_size 3:", said(lambda: trained([1.0] * 4, size=3)))
    for size in SIZES:
        found = said(lambda n=size: len(trained([1.0] * n, size=3, poisson_sampling_in_fit=False)))
        print(f"keras, {size} records, train_size 3, batches of fit: {found}")
    print(
        "keras, no seed, 4 runs:",
        [said(lambda: len(trained([1.0] * 3, size=3, seed=None))) for _ in range(4)],
    )


def by_accumulation() -> None:
    """Print how often one record of four counts in one update that accumulates two batches."""
    for records in ([0, 0, 0, 1], [0, 0, 0, 0]):
        weights = trained(records, size=4, parts=2)[1::2]
        moves = 2 * DIVISOR * np.diff([0.0, *weights])
        print(
            f"keras, records {records}, updates of two batches of rate 1/2, times the record counts:", end=" "
        )
        print(dict(sorted(Counter(np.rint(moves).astype(int).tolist()).items())))


if __name__ == "__main__":
    keras.utils.set_random_seed(SEED)  # also the order in which Keras serves the batches
    for way in (by_clipped_grad, by_plan, by_keras, by_accumulation):
        way()
