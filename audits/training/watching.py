"""A user's model and training function, as the audits know them: flat weights, losses and gradients of records.

A `Model` is the small part that depends on torch or on JAX (`torch_model`, `jax_model`). It runs the user's function on
data that dpproof chooses, and shows the weights as one row of numbers. All attacks use numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.engine.sampling.callables import MechanismError

Array = NDArray[Any]
Train = Callable[..., Any]
"""A user's training function. It takes a model, a dataset and a seed."""
Step = Callable[[Array, Array], None]
"""A function that is called after a step with all weights before and after the step, each as one row."""


@dataclass(frozen=True)
class Records:
    """Records of a supervised training: inputs ``(n, ...)`` and targets ``(n, ...)``.

    Raises:
        ValueError: there are no records, or inputs and targets differ in number.
    """

    inputs: Array
    targets: Array

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
        """Return these records and the others.

        Raises:
            ValueError: the records have different shapes.
        """
        shapes = [[one.shape[1:] for one in records.both] for records in (self, others)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"canaries: One input and one target have the shapes {shapes[1]}. They must have the shapes of the"
                f" records, {shapes[0]}."
            )
        return Records(*(np.concatenate(pair) for pair in zip(self.both, others.both, strict=True)))

    @property
    def both(self) -> tuple[Array, Array]:
        """The inputs and the targets."""
        return self.inputs, self.targets

    @classmethod
    def of(cls, given: Any) -> Records:
        """Return the records of a pair ``(inputs, targets)``, or of a dataset whose items are such pairs."""
        if isinstance(given, tuple) and len(given) == 2:
            return cls(*map(np.asarray, given))
        try:
            inputs, targets = zip(*(given[place] for place in range(len(given))), strict=True)
        except (TypeError, ValueError, LookupError) as wrong:
            raise ValueError(
                f"records ({type(given).__name__}) must be a pair of arrays (inputs, targets), or a dataset of such"
                " pairs, with at least one record."
            ) from wrong
        return cls(*(np.stack([np.asarray(one) for one in column]) for column in (inputs, targets)))


class Model(Protocol):
    """A model at the weights where a training begins, and its loss."""

    duty: ClassVar[str]
    """What the user's function must do with the model, as a sentence."""

    @property
    def weights(self) -> Array:
        """All weights at the beginning, as one row."""

    def at(self, weights: Array) -> Model:
        """Return this model at other weights."""

    def losses(self, weights: Array, records: Records) -> Array:
        """Return the loss of each record, at these weights."""

    def gradients(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the loss of each record, at these weights; one row for each record."""

    def slope(self, weights: Array, records: Records) -> Array:
        """Return the gradient of the mean loss of the records, at these weights."""

    def observes(self, train: Train) -> bool:
        """Return whether the steps of this training can be observed."""

    def run(self, train: Train, records: Records, seed: int, look: Callable[[Array], None]) -> Array:
        """Run the training, call ``look`` with the weights after each step, and return the last weights."""

    def accounted(self, train: Train, records: Records, seed: int) -> tuple[float, float, int]:
        """Return the sampling rate, the noise multiplier and the number of steps that the training itself states.

        Raises:
            ValueError: the training does not state them.
        """


@dataclass
class Changes:
    """A function that calls ``see`` after each change of the weights, and counts the changes."""

    last: Array
    see: Step
    count: int = 0

    def __call__(self, now: Array) -> None:
        """Take the weights after a step: if they changed, count the change and call ``see``."""
        if not np.array_equal(now, self.last):
            before, self.last = self.last, now
            self.count += 1
            self.see(before, now)


def trained(model: Model, train: Train, records: Records, seed: int, see: Step) -> Array:
    """Run the training, call ``see`` after each step and after a last unobserved change, and return the last weights.

    Raises:
        MechanismError: the training raises, does not change the weights, or leads to weights that are not finite.
    """
    look = Changes(model.weights, see)
    try:
        found = model.run(train, records, seed, look)
    except MechanismError:
        raise
    except Exception as failure:
        raise MechanismError(f"train raised {type(failure).__name__} ({failure})") from failure
    look(found)
    if not look.count:
        raise MechanismError(f"train: The weights of the model did not change. {model.duty}")
    if not np.isfinite(found).all():
        raise MechanismError(
            f"train: {np.count_nonzero(~np.isfinite(found))} of {found.size} trained weights are NaN or infinite. Audit"
            " a training that does not diverge, for example with a smaller learning rate."
        )
    return found


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
        model: the model before the training.
        canaries: the canaries.
        others: the records that always take part.
        claim: the sampling rate and the noise of the training.
        stepwise: whether each step is observed; otherwise the training is one step.
    """

    model: Model
    canaries: Records
    others: Records
    claim: DPSGDParameters
    stepwise: bool
    _scores: Any = 0.0

    def __call__(self, before: Array, after: Array) -> None:
        """Add the scores of one step."""
        moved = before - after
        moved = moved * (len(moved) ** 0.5 / np.linalg.norm(moved))  # noise of about 1 in each direction
        directions, hidden = self._directions(before)
        signal = _without(hidden, directions.T)
        precision = np.maximum((signal * directions.T).sum(axis=0), 1e-9)
        seen, noise, rate = signal.T @ moved, self.claim.noise_multiplier, self.claim.sampling_rate
        if self.stepwise:
            ratio = np.minimum(seen / noise - precision / (2 * noise**2), 60)
            seen = np.log1p(rate * np.expm1(ratio)) if rate < 1 else ratio
        self._scores = self._scores + seen

    def _directions(self, weights: Array) -> tuple[Array, Array]:
        """Return the directions of the canaries' gradients, and rows that span what hides them."""
        rate, noise = self.claim.sampling_rate, self.claim.noise_multiplier
        ours, theirs = (self.model.gradients(weights, one) for one in (self.canaries, self.others))
        means = [ours.sum(axis=0), theirs.sum(axis=0)]
        ours, theirs = _unit(ours), _unit(theirs)
        means += [ours.sum(axis=0), theirs.sum(axis=0)]
        half = rate / 2
        spread = [(half * (1 - half)) ** 0.5 / noise * ours, (rate * (1 - rate)) ** 0.5 / noise * theirs]
        return ours, np.concatenate([*spread, _FORGOTTEN * _unit(np.stack(means))])

    @property
    def scores(self) -> NDArray[np.float64]:
        """One number for each canary; a high number indicates that the canary took part."""
        return np.asarray(self._scores, dtype=np.float64)


_FORGOTTEN = 100.0
"""The standard deviation of the mean gradients, which is taken for unknown."""


def _without(hidden: Array, columns: Array) -> Array:
    """Return the columns times the inverse of I + hidden' hidden."""
    root = cho_factor(np.eye(len(hidden), dtype=hidden.dtype) + hidden @ hidden.T, lower=True)
    return np.asarray(columns - hidden.T @ cho_solve(root, hidden @ columns))


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
