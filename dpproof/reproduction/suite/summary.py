"""What the recorded runs of the benchmark say: statistics of each cell, and comparisons of arms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import stats

from dpproof.mechanisms.agents.learner import Floats
from dpproof.reproduction.suite.arms import ARMS, Promise, arm_of
from dpproof.reproduction.suite.problems import PROBLEMS, Problem
from dpproof.reproduction.suite.runs import POINTS, Cell, Record
from dpproof.reproduction.tables import read_rows, write_rows

FAILED: Final = 0.25
"""A run fails if its regret is above this share of the regret without learning."""
LEARNS: Final = 0.5
"""An arm learns if its mean regret is below this share of the regret without learning."""
SURE: Final = 3.0
"""Two means differ if they are this many standard errors of their difference apart, with more for few runs."""


def errors_apart(difference: float, error: float, runs: float) -> float:
    """Return how many standard errors two means are apart, less for few runs.

    The error is estimated from the runs, so the difference divided by it has Student's law, with at least as many
    degrees of freedom as the smaller sample has. The result is the number of errors that is as unlikely under the
    normal law.

    Args:
        difference: the difference of the means.
        error: its estimated standard error; 0 if nothing is random.
        runs: the smaller number of runs; infinite if the error is known.

    >>> [round(errors_apart(3.0, 1.0, runs), 2) for runs in (4, 20, 100, float("inf"))]
    [1.9, 2.68, 2.94, 3.0]
    """
    if error == 0:
        return math.inf if difference else 0.0
    scaled = abs(difference) / error
    return scaled if math.isinf(runs) else float(stats.norm.isf(stats.t.sf(scaled, max(1, runs - 1))))


@dataclass(frozen=True)
class Score:
    """Statistics of the total regret of a cell's runs, relative to the regret without learning.

    Attributes:
        problem, arm, epsilon: the cell.
        certified, delta: the certified epsilon of a whole run, at this delta; None if nothing is certified.
        runs: the number of runs.
        mean, error: the mean and its standard error.
        low, median, high: the quantiles at 10 %, 50 % and 90 %.
        worst: the largest.
        failed: the share of runs that fail.
        curve: the means of the cumulative regret after a tenth, two tenths ... of the episodes.
        tenth_errors: the standard errors of the regret of each tenth of the episodes; empty if they are not known.
    """

    problem: str
    arm: str
    epsilon: float
    certified: float | None
    delta: float | None
    runs: int
    mean: float
    error: float
    low: float
    median: float
    high: float
    worst: float
    failed: float
    curve: tuple[float, ...]
    tenth_errors: tuple[float, ...] = ()

    @property
    def cell(self) -> Cell:
        """The cell that the score is about."""
        return Cell(self.problem, self.arm, self.epsilon)

    @property
    def promise(self) -> Promise:
        """What the arm promises."""
        return arm_of(self.arm).promise

    @property
    def regret(self) -> float:
        """The mean regret, not relative to anything."""
        return self.mean * PROBLEMS[self.problem].never

    @property
    def episodes(self) -> float:
        """The number of episodes without learning that have the same regret."""
        return self.mean * PROBLEMS[self.problem].episodes

    def as_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data. The regret is relative to the regret without learning."""
        return {
            "problem": self.problem,
            "arm": self.arm,
            "promise": self.promise.value,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "certified_epsilon": self.certified,
            "delta": self.delta,
            "runs": self.runs,
            "regret": self.mean,
            "standard_error": self.error if math.isfinite(self.error) else None,
            "worst": self.worst,
            "failed": self.failed,
        }

    def same_runs(self, other: Score) -> bool:
        """Return whether another learner made the same runs, for example because it chose the same counters."""
        return (self.curve, self.worst, self.median) == (other.curve, other.worst, other.median)

    def clearly_below(self, other: Score) -> bool:
        """Return whether the mean is below another one by at least `SURE` standard errors."""
        error, runs = math.hypot(self.error, other.error), min(self.runs, other.runs)
        return other.mean > self.mean and errors_apart(other.mean - self.mean, error, runs) >= SURE


def score(record: Record, cell: Cell) -> Score | None:
    """Return the statistics of a cell; None if no run of it is recorded."""
    found = record.regrets(cell)
    if not len(found):
        return None
    relative = found / PROBLEMS[cell.problem].never
    total = relative[:, -1]
    low, median, high = (float(x) for x in np.quantile(total, (0.1, 0.5, 0.9)))
    error = _errors(total[:, None])[0]
    return Score(
        cell.problem, cell.arm, cell.epsilon, *record.promised(cell), len(total), float(total.mean()), error,
        low, median, high, float(total.max()), float((total > FAILED).mean()), tuple(relative.mean(axis=0).tolist()),
        _errors(np.diff(relative, axis=1, prepend=0.0)),
    )  # fmt: skip


def _errors(values: Floats) -> tuple[float, ...]:
    """Return the standard error of each column's mean; infinite for a single row."""
    if len(values) < 2:
        return (math.inf,) * int(values.shape[1])
    return tuple(float(x) for x in values.std(axis=0, ddof=1) / math.sqrt(len(values)))


def write_scores(file: Path, scores: Sequence[Score]) -> None:
    """Write scores as a CSV file with six significant digits."""
    plain = [asdict(one) for one in scores]
    for row in plain:
        for column, name in _SERIES.items():
            row |= {f"{column}_{i}": x for i, x in enumerate(row.pop(name), 1)}
    write_rows(file, plain, 6)


def read_scores(file: Path) -> list[Score]:
    """Return the scores that `write_scores` wrote. Arms and problems that no longer exist are left out."""
    return [
        _of(row)
        for row in read_rows(file)
        if (row["arm"] in ARMS or ":" in row["arm"]) and row["problem"] in PROBLEMS
    ]


_SERIES: Final = {"curve": "curve", "tenth_error": "tenth_errors"}
"""Attributes with a number for each tenth of the episodes, by the first part of the names of their columns."""


def _of(row: dict[str, Any]) -> Score:
    series: dict[str, Any] = {
        name: tuple(float(row[f"{column}_{i}"]) for i in range(1, POINTS + 1))
        for column, name in _SERIES.items()
    }
    plain = {field.name: row[field.name] for field in fields(Score) if field.name not in series}
    return Score(**plain, **series)


@dataclass(frozen=True)
class Table:
    """The scores of the benchmark, and the questions that they answer.

    Attributes:
        scores: the scores.
        published: how many of them were not run with the others, but are those that the package has.
    """

    scores: tuple[Score, ...]
    published: int = 0

    def of(self, **values: Any) -> list[Score]:
        """Return the scores that have these values of attributes."""
        return [one for one in self.scores if all(getattr(one, name) == x for name, x in values.items())]

    def one(self, problem: str, arm: str, epsilon: float = math.inf) -> Score | None:
        """Return the score of a cell; None if it was not run."""
        return next(iter(self.of(problem=problem, arm=arm, epsilon=epsilon)), None)

    @property
    def problems(self) -> list[Problem]:
        """The problems that were run, without those that serve one question only."""
        known = {one.problem for one in self.scores}
        return [problem for name, problem in PROBLEMS.items() if name in known and problem.arms is None]

    @property
    def epsilons(self) -> list[float]:
        """The finite epsilons."""
        return sorted({one.epsilon for one in self.scores if math.isfinite(one.epsilon)})

    def leaders(self, problem: str, promise: Promise, epsilon: float) -> list[Score]:
        """Return the scores of the arms that keep a promise at an epsilon, the least mean regret first.

        A certified epsilon that is smaller keeps the promise, too. An arm that was run at several such epsilons is
        listed once, with its least mean. One without a certified epsilon keeps no promise.
        """
        found: dict[str, Score] = {}
        for one in self.of(problem=problem, promise=promise):
            kept = one.certified is not None and one.certified <= epsilon * (1 + 1e-9)
            if kept and (one.arm not in found or one.mean < found[one.arm].mean):
                found[one.arm] = one
        return sorted(found.values(), key=lambda one: one.mean)

    def pooled(self, arm: str, epsilon: float, problems: Iterable[str]) -> tuple[float, float] | None:
        """Return the mean relative regret over problems, each at most 1, and its standard error.

        It is None if the arm did not run on one of the problems.
        """
        found = [self.one(name, arm, epsilon) for name in problems]
        known = [one for one in found if one is not None]
        if not known or len(known) < len(found):
            return None
        mean = sum(min(one.mean, 1.0) for one in known) / len(known)
        return mean, math.hypot(*(one.error for one in known)) / len(known)
