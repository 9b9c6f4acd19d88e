"""A model of JAX, as the audits of a user's training know it. jax is an extra and is imported when it is used.

The model is a pytree of parameters. The function is called as ``train(params, dataset, seed)`` and must return the
trained parameters. The dataset is a pair of arrays ``(inputs, targets)``. If the function has an argument named
``observe``, it must call ``observe(params)`` after each step, outside of ``jax.jit``. Otherwise the training counts as
one step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.training.watching import Array, Records, Train

Loss = Callable[[Any, Any, Any], Any]
"""A function from the parameters, the inputs and the targets of some records to their mean loss."""


class JaxModel:
    """Parameters (a pytree of floating-point arrays) at which a training begins, and ``loss(params, inputs, targets)``.

    Raises:
        ModuleNotFoundError: jax is not installed.
        ValueError: there is no loss, or the parameters are something else.
    """

    duty: ClassVar[str] = "The function must return the trained parameters."

    def __init__(self, params: Any, loss: Loss | None = None) -> None:
        import jax
        from jax.flatten_util import ravel_pytree

        if loss is None:
            raise ValueError(
                "loss is missing. Give loss(params, inputs, targets), the mean loss of some records."
            )
        leaves, self._structure = jax.tree.flatten(params)
        kinds = [getattr(leaf, "dtype", type(leaf)) for leaf in leaves]
        if not leaves or not all(jax.numpy.issubdtype(kind, jax.numpy.floating) for kind in kinds):
            raise ValueError(
                f"model ({type(params).__name__}) must be a torch module or a pytree of floating-point arrays."
            )
        self._params, self._loss = jax.tree.map(np.array, params), loss
        row, self._unravelled = ravel_pytree(self._params)
        self._kind = row.dtype
        self.weights: Array = np.array(row, dtype=jax.numpy.promote_types(self._kind, np.float32))

    def at(self, weights: Array) -> JaxModel:
        """Return this model at other weights."""
        return JaxModel(self._tree(weights), self._loss)

    def losses(self, weights: Array, records: Records) -> Array:
        """Return the loss of each record, at these weights."""
        return np.asarray(self._losses(weights, *records.both))

    def gradients(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the loss of each record, at these weights; one row for each record."""
        return np.asarray(self._gradients(weights, *records.both))

    def slope(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the mean loss of the records, at these weights."""
        return np.asarray(self._slope(weights, *records.both))

    def observes(self, train: Train) -> bool:
        """Return whether the function has an argument named ``observe``."""
        return "observe" in inspect.signature(train).parameters

    def run(self, train: Train, records: Records, seed: int, look: Callable[[Array], None]) -> Array:
        """Run the training, call ``look`` with the weights after each step, and return the last weights.

        The training gets copies, because JAX may delete an array that is donated to a function.

        Raises:
            MechanismError: the function returns or observes something else than such parameters.
        """
        import jax

        data = tuple(jax.numpy.asarray(one) for one in records.both)
        more = {"observe": lambda params: look(self._row(params))} if self.observes(train) else {}
        return self._row(train(jax.tree.map(jax.numpy.array, self._params), data, seed, **more))

    def accounted(self, _train: Train, _records: Records, _seed: int) -> tuple[float, float, int]:
        """Raise ValueError, because parameters do not state how they were trained."""
        raise ValueError(
            "claim is missing. Give DPSGDParameters(...) or an execution plan of jax_privacy, because trained"
            " parameters do not state the sampling rate, the noise multiplier and the number of steps."
        )

    @cached_property
    def _losses(self) -> Any:
        import jax

        return jax.jit(jax.vmap(self._alone, (None, 0, 0)))

    @cached_property
    def _gradients(self) -> Any:
        import jax

        return jax.jit(jax.vmap(jax.grad(self._alone), (None, 0, 0)))

    @cached_property
    def _slope(self) -> Any:
        import jax

        return jax.jit(jax.grad(self._mean))

    def _tree(self, row: Any) -> Any:
        """Return a row of numbers, which have at least 32 bits each, as parameters of the given types."""
        return self._unravelled(row.astype(self._kind))

    def _mean(self, row: Any, inputs: Any, targets: Any) -> Any:
        return self._loss(self._tree(row), inputs, targets)

    def _alone(self, row: Any, x: Any, y: Any) -> Any:
        return self._mean(row, x[None], y[None])

    def _row(self, params: Any) -> Array:
        """Return a copy of all parameters as one row."""
        import jax

        leaves, structure = jax.tree.flatten(params)
        shapes = [np.shape(leaf) for leaf in leaves]
        if structure != self._structure or shapes != [leaf.shape for leaf in jax.tree.leaves(self._params)]:
            raise MechanismError(
                f"train: The function returned or observed {structure} with the shapes {shapes}. It must return and"
                " observe parameters of the structure and the shapes that it is given."
            )
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise MechanismError(
                "train: The function called observe inside of jax.jit. It must call it outside."
            )
        return np.concatenate([np.asarray(leaf, dtype=self.weights.dtype).reshape(-1) for leaf in leaves])
