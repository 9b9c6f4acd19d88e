"""Test cases of the private sums of policy gradients: the code that agents run, and one fault at a time.

A run has two batches. The users of the first batch are given by their gradients before clipping. Nobody adds to the
second batch unless a fault does. The clipping, the sums and the noise are those that agents run
(`dpproof.mechanisms.agents.gradient_sums`). The noise comes from a given generator, so all draws are simulations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.gaussian import GaussianParameters
from dpproof.accountant.numbers.bounds import Bound
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.agents.gradient_sums import (
    MECHANISM,
    ONE,
    SENSITIVITY,
    GradientSums,
    clipped,
    noise_of,
)
from dpproof.mechanisms.agents.promise import weakest
from dpproof.mechanisms.release.words import seeded_words

PLACE = 16
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Draw = Callable[[int], Ints]
Gradients = tuple[tuple[float, ...] | None, ...]
"""The gradients of the users of the first batch, in units of the clipping norm. None stands for an absent user."""


@dataclass(frozen=True)
class GradientRuns:
    """The noisy sums of two batches in many independent runs. A fault is a subclass that replaces one method."""

    parameters: GaussianParameters

    def vector(self, gradient: tuple[float, ...]) -> Ints:
        """Return what a user adds to a sum."""
        return clipped(np.array(gradient))

    def first(self, data: Gradients) -> list[Ints]:
        """Return what the users add to the first batch."""
        return [self.vector(one) for one in data if one is not None]

    def second(self, data: Gradients) -> list[Ints]:
        """Return what the users add to the second batch."""
        return []

    def draw(self, draw: Draw) -> Draw:
        """Return the function that draws the noise of a sum."""
        return draw

    def sample(self, data: Gradients, n: int, rng: np.random.Generator) -> Floats:
        """Return the released sums of n runs, an array (n, 2 d), in units of the clipping norm."""
        return self._released(data, n, self.draw(noise_of(self.parameters, seeded_words(rng))))

    def means(self, data: Gradients) -> Floats:
        """Return the sums without noise, an array (1, 2 d)."""
        return self._released(data, 1, lambda count: np.zeros(count, np.int64))

    def _released(self, data: Gradients, n: int, draw: Draw) -> Floats:
        size = len(next(one for one in data if one is not None))
        sums, found = GradientSums(n * size, draw), []
        for batch in (self.first(data), self.second(data)):
            for vector in batch:
                sums.add(np.tile(vector, n))
            found.append(sums.close().reshape(n, size) / ONE)
        return np.hstack(found)


def _whole(vector: Floats) -> Ints:
    found: Ints = np.rint(vector * ONE).astype(np.int64)
    return found


class ClipForgotten(GradientRuns):
    """Fault: gradients are not clipped."""

    def vector(self, gradient: tuple[float, ...]) -> Ints:
        """Return the whole gradient."""
        return _whole(np.array(gradient))


class ClippedByLargestEntry(GradientRuns):
    """Fault: each entry is clipped instead of the norm."""

    def vector(self, gradient: tuple[float, ...]) -> Ints:
        """Return the gradient with entries in [-1, 1]."""
        return _whole(np.clip(np.array(gradient), -1, 1))


class CountedTwice(GradientRuns):
    """Fault: the users of the first batch are counted in the second one, too."""

    def second(self, data: Gradients) -> list[Ints]:
        """Return what the users add to the first batch once more."""
        return self.first(data)


class MeanOfPresent(GradientRuns):
    """Fault: a sum is divided by the number of users who came, and not by the declared number."""

    def first(self, data: Gradients) -> list[Ints]:
        """Return the vectors in units in which their sum is the declared number times their mean."""
        found = super().first(data)
        return [vector * len(data) // len(found) for vector in found]


class KeptNoise(GradientRuns):
    """Fault: the noise of the first batch is used again, so the difference of the sums is exact."""

    def draw(self, draw: Draw) -> Draw:
        """Return a function that draws once."""
        kept: list[Ints] = []

        def again(count: int) -> Ints:
            if not kept:
                kept.append(draw(count))
            return kept[0]

        return again


def _differ_in_one(first: Gradients, second: Gradients) -> None:
    if len(first) != len(second) or sum(a != b for a, b in zip(first, second, strict=True)) > 1:
        raise ValueError(f"{first!r:.200} and {second!r:.200} must differ in one user")


def pair(parameters: GaussianParameters, adjacency: Adjacency, length: float = 1.0) -> Neighbours:
    """Return two batches of four users. The last one has a gradient of the given norm, and its opposite or none."""
    others, one = ((1.0, 0.0),) * 3, (-length * 0.6, -length * 0.8)
    other = (-one[0], -one[1]) if adjacency is Adjacency.REPLACE else None
    said = "the gradient of one user is turned round" if other else "one user is absent"
    return Neighbours((*others, one), (*others, other), adjacency, said, _differ_in_one)


def ratio(outputs: Floats, parameters: GaussianParameters, first: Gradients, second: Gradients) -> Floats:
    """Return the log-likelihood ratio of each output between two batches, for noise that is not rounded."""
    near, far = (GradientRuns(parameters).means(data) for data in (first, second))
    found: Floats = ((outputs - near) ** 2 - (outputs - far) ** 2).sum(axis=1) / (2 * parameters.sigma**2)
    return found


TARGET = Setting(pair, ratio)
DELTA = 1e-3
PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
REPLACE, ADD_REMOVE = Adjacency.REPLACE, Adjacency.ADD_REMOVE


def _truth(parameters: GaussianParameters, relation: Adjacency) -> Bound:
    return weakest(MECHANISM, [parameters.as_json()], relation).epsilon(DELTA)


def _case(
    name: str, run: type[GradientRuns], relation: Adjacency, expected: Finding, reason: str,
    length: float = 1.0, shorter: float = 1.0, sigma: float = 2.0,
) -> Case:  # fmt: skip
    """Return the case that claims the guarantee of a noise for the sums of a run, whose noise may be smaller."""
    claimed = GaussianParameters(sigma=sigma * SENSITIVITY[relation], sensitivity=SENSITIVITY[relation])
    noise = replace(claimed, sigma=claimed.sigma * shorter)
    neighbours = pair(claimed, relation, length)
    return Case(
        name=f"policy gradients, {name}",
        mechanism=run(noise),
        pair=neighbours,
        claim=weakest(MECHANISM, [claimed.as_json()], relation).guarantee,
        delta=DELTA,
        expected=expected,
        truth=partial(_truth, noise, relation) if run is GradientRuns else None,
        reason=reason,
        scores=TARGET.scores(claimed, neighbours, 4),
        budget=20_000,
    )


CASES: tuple[Case, ...] = (
    _case("replaced", GradientRuns, REPLACE, PASS, "the noise of the claim"),
    _case("added or removed", GradientRuns, ADD_REMOVE, PASS, "the noise of the claim"),
    _case("long gradient", GradientRuns, REPLACE, PASS, "a long gradient is clipped", length=30.0),
    _case("clip forgotten", ClipForgotten, REPLACE, FAIL, "the gradient has norm 3", length=3.0),
    _case("entries clipped", ClippedByLargestEntry, REPLACE, FAIL, "the norm is 1.41, not 1", length=2.0),
    _case("half the noise", GradientRuns, REPLACE, FAIL, "the noise of one user, not of two", shorter=0.5),
    _case("counted twice", CountedTwice, REPLACE, FAIL, "the user is in two batches"),
    _case("mean of present users", MeanOfPresent, ADD_REMOVE, FAIL, "an absent user changes the weight of all"),
    _case("noise not renewed", KeptNoise, REPLACE, FAIL, "the difference of the two sums is exact"),
)  # fmt: skip
