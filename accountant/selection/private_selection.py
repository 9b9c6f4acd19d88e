"""Accountant of private selection: the best of a random number of runs of one private mechanism.

Only the output of the best run is released. The number of runs is random, and nobody learns it. Each run is
differentially private, with its output and its score. The guarantee of the selection is then only a little worse
than that of one run. With a fixed number of runs it would grow with this number.

Source: Papernot and Steinke, arXiv:2110.03620v2 (the distributions of the number of runs). This project's statement
classic.private_selection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Flag, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.theorems.runs import Runs
from dpproof.accountant.theorems.selection import Selected


@dataclass(frozen=True)
class PrivateSelectionParameters(Parameters):
    """Parameters of private selection: the privacy of one run, and the distribution of the number of runs."""

    base_epsilon: float = parameter(
        Reals(0, 600), "1", "epsilon of one run, with its score and the choice of its settings", safer=-1
    )
    mean_runs: float = parameter(
        Reals(0, 1e9, lower_open=True), "runs", "mean number of runs; at least 1 unless poisson", safer=EXACT
    )
    base_delta: float = parameter(Reals(0, 1, upper_open=True), "1", "delta of one run", 0.0, safer=-1)
    shape: float = parameter(
        Reals(-1, 1000, lower_open=True),
        "1",
        "shape of the negative binomial number of runs: 1 for a geometric, 0 for a logarithmic one",
        1.0,
        safer=EXACT,
    )
    poisson: bool = parameter(
        Flag(), "", "the number of runs is Poisson, and may be 0; ignores the shape", False
    )


class Repeated(Protocol):
    """Parameters with a distribution of the number of runs."""

    @property
    def mean_runs(self) -> float:
        """The mean number of runs."""
        ...

    @property
    def shape(self) -> float:
        """The shape of the negative binomial number of runs."""
        ...

    @property
    def poisson(self) -> bool:
        """Whether the number of runs is Poisson."""
        ...


def runs_of(parameters: Repeated) -> Runs:
    """Return the distribution of the number of runs.

    >>> float(runs_of(PrivateSelectionParameters(base_epsilon=1.0, mean_runs=10.0)).stop)
    0.1
    """
    return Runs(exact(parameters.mean_runs), None if parameters.poisson else exact(parameters.shape))


def selected(base: Profile, parameters: Repeated) -> Profile:
    """Return the guarantee of the best run, where ``base`` is the guarantee of one run."""
    return Selected(base, runs_of(parameters))


def account(
    parameters: PrivateSelectionParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee of the best run, for any (epsilon, delta)-DP mechanism that is run.

    >>> account(PrivateSelectionParameters(base_epsilon=1.0, mean_runs=10.0)).guarantee.epsilon(0).upper
    2.591345

    Raises:
        ValueError: if the mean number of runs is below 1, but not Poisson.
    """
    base = ApproxDP(exact(parameters.base_epsilon), exact(parameters.base_delta))
    return by_sensitivity(
        selected(base, parameters),
        adjacency,
        "classic.private_selection",
        "a run with two or three outputs, or the worst run and a score that is a random number",
        notes=NOTES,
        released="the output of the best run, and nothing else",
    )


NOTES = (
    "the number of runs must be drawn as stated and kept secret, and all runs and scores but the best one, too",
)

ACCOUNTANT = Accountant(
    "private-selection",
    "Private selection: the best of a random number of runs",
    PrivateSelectionParameters,
    account,
    "base_epsilon",
    adjacency=Adjacency.BY_SENSITIVITY,
    safer=-1,
    example=PrivateSelectionParameters(base_epsilon=0.5, mean_runs=10.0),
)
