"""Training functions in JAX as a user may write them: jax_privacy's gradients and noise, and the same with one fault.

Each is called as ``train(params, dataset, seed, observe)``, as `audits.training.jax_model` asks. Gradients, noise and
batches are those of jax_privacy 2.0.0; the loop is our own. jax and jax_privacy are imported when a training begins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dpproof.audits.corpus.own_training import Planned


def network_loss(params: Any, inputs: Any, targets: Any) -> Any:
    """Return the mean cross-entropy of a network with one hidden layer."""
    import jax

    outputs = jax.numpy.tanh(inputs @ params["in"] + params["bias"]) @ params["out"]
    chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(outputs), targets[:, None], axis=1)
    return -chosen.mean()


def network(features: int, hidden: int = 8, classes: int = 4) -> dict[str, Any]:
    """Return the first weights of such a network, the same ones in every run."""
    rng = np.random.default_rng(0)
    sizes = {"in": (features, hidden), "bias": (hidden,), "out": (hidden, classes)}
    return {name: rng.normal(0, size[0] ** -0.5, size).astype(np.float32) for name, size in sizes.items()}


class JaxTraining(Planned):
    """A loop with the clipped gradients, the Gaussian noise and the Poisson batches of jax_privacy."""

    def __call__(self, params: Any, dataset: Any, seed: int, observe: Callable[[Any], None]) -> Any:
        """Return the trained parameters."""
        from jax_privacy import batch_selection, noise_addition

        size, claim, step = len(dataset[0]), self.claim, _step(self)
        state = noise_addition.gaussian_privatizer(stddev=self.deviation, prng_key=seed).init(params)
        batches = batch_selection.CyclicPoissonSampling(claim.sampling_rate, claim.steps)
        for batch in batches.batch_iterator(size, rng=seed):
            padding = np.isin(np.arange(size), batch, invert=True)
            params, state = step(params, state, *dataset, padding, self.learning_rate / self.divisor(size))
            observe(params)
        return params

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return self.claim.noise_multiplier * self.clip * self.noise

    def clipped_sum(self, params: Any, inputs: Any, targets: Any, padding: Any) -> Any:
        """Return the sum of the clipped gradients of the records that are no padding."""
        from jax_privacy import clipped_grad

        gradient = clipped_grad(network_loss, l2_clip_norm=self.clip * self.longest, batch_argnums=(1, 2))
        return gradient(params, inputs, targets, is_padding_example=padding)

    def divisor(self, _records: int) -> float:
        """Return the public number by which the noisy sum is divided."""
        return 32.0

    noise = 1.0
    """The noise, as a multiple of the planned noise."""
    longest = 1.0
    """The longest clipped gradient, as a multiple of the planned clipping norm."""


@cache
def _step(training: JaxTraining) -> Any:
    """Return a compiled step of this training, which all of its runs share."""
    import jax
    from jax_privacy import noise_addition

    add_noise = noise_addition.gaussian_privatizer(stddev=training.deviation, prng_key=0).update

    def step(params: Any, state: Any, inputs: Any, targets: Any, padding: Any, rate: Any) -> Any:
        total = training.clipped_sum(params, inputs, targets, padding)
        noisy, state = add_noise(total, state)
        return jax.tree.map(lambda weight, change: weight - rate * change, params, noisy), state

    return jax.jit(step)


class JaxHalfNoise(JaxTraining):
    """Fault: jax_privacy's privatizer gets half of the planned standard deviation."""

    noise = 0.5


class JaxNoClipping(JaxTraining):
    """Fault: jax_privacy clips at infinity, so no gradient is clipped."""

    longest = float("inf")


class JaxBatchClipping(JaxTraining):
    """Fault: the mean gradient of the batch is clipped, and not the gradient of each record."""

    def clipped_sum(self, params: Any, inputs: Any, targets: Any, padding: Any) -> Any:
        """Return the clipped mean gradient times the number of records."""
        import jax
        from jax_privacy.clipping import clip_pytree

        count = jax.numpy.maximum((~padding).sum(), 1)
        each = jax.vmap(jax.grad(network_loss), (None, 0, 0))(params, inputs[:, None], targets[:, None])
        mean = jax.tree.map(lambda one: jax.numpy.tensordot(~padding, one, 1) / count, each)
        clipped, _ = clip_pytree(mean, self.clip)
        return jax.tree.map(lambda one: one * count, clipped)


class JaxPrivateDivisor(JaxTraining):
    """Fault: the noisy sum is divided by the expected batch size, which depends on the number of records."""

    def divisor(self, records: int) -> float:
        """Return the expected number of records in a batch."""
        return Planned.divisor(self, records)


TRAININGS: tuple[type[JaxTraining], ...] = (JaxTraining, JaxHalfNoise, JaxNoClipping, JaxBatchClipping)
SIZES: tuple[type[JaxTraining], ...] = (JaxTraining, JaxPrivateDivisor)
"""A training that keeps its claim, and faults: those that canaries show, and one that the number of records shows."""
