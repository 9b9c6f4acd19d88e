"""Scores from scikit-learn's classifiers, which estimate the log odds of the two inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Scorer, View, flattened, viewed, whole

MOST = 1 << 15
"""A fit uses at most this many of the latest samples, so that it is faster than drawing the samples."""
LARGEST = 1e30
"""The largest standardised coordinate. Larger ones are clipped, because trees compute in single precision."""


@dataclass(frozen=True)
class Classifier:
    """A score that is the log odds of the two inputs, as a scikit-learn classifier estimates them.

    Attributes:
        make: a function from the number of samples and the number of coordinates to a new, seeded classifier. It gets
            standardised coordinates.
        kind: the name of the classifier.
        training: the number of samples before the first fit.
        view: a function that converts outputs to the columns that the score uses.
    """

    make: Callable[[int, int], Any]
    kind: str
    training: int = 64
    oriented: bool = True
    view: View = whole

    @property
    def name(self) -> str:
        """The name of the classifier, with the name of its ``view``, which converts the outputs."""
        return self.kind + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to outputs and labels; 0 unless both labels occur."""
        x, y = flattened(outputs[-MOST:]), labels[-MOST:]
        if np.unique(y).size < 2:
            return lambda drawn: np.zeros(len(drawn))
        center, spread = np.median(x, axis=0), _spread(x)
        fitted = self.make(*x.shape).fit(_standard(x, center, spread), y)
        return lambda drawn: _log_odds(fitted, _standard(flattened(drawn), center, spread))


def trees(training: int = 64, view: View = whole) -> Classifier:
    """Return a score from extremely randomised trees (Geurts, Ernst & Wehenkel 2006), for interactions and steps."""
    return Classifier(_trees, "trees", training, view=view)


def logistic(training: int = 64, view: View = whole) -> Classifier:
    """Return a score from ridge logistic regression, for small effects that add up over many coordinates."""
    return Classifier(_logistic, "logistic", training, view=view)


def _trees(samples: int, coordinates: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    leaf = max(5, round(samples**0.4))
    return ExtraTreesClassifier(20, max_leaf_nodes=64, min_samples_leaf=leaf, random_state=0)


def _logistic(samples: int, coordinates: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=samples / (samples + 10 * coordinates), max_iter=500)


def _spread(x: Floats) -> Floats:
    low, high = np.quantile(x, [0.25, 0.75], axis=0)
    spread = np.where(high > low, high - low, x.max(axis=0) - x.min(axis=0))
    return np.where(spread > 0, spread, 1.0)


def _standard(x: Floats, center: Floats, spread: Floats) -> Floats:
    return np.clip((x - center) / spread, -LARGEST, LARGEST)


class Fitted(Protocol):
    """The interface of a fitted scikit-learn classifier."""

    def predict_proba(self, x: Floats) -> Floats:
        """Return the probabilities of the classes, one row for each output."""
        ...


def _log_odds(fitted: Fitted, x: Floats) -> Floats:
    chance = np.clip(fitted.predict_proba(x)[:, 1], 1e-12, 1 - 1e-12)
    return np.asarray(np.log(chance / (1 - chance)))
