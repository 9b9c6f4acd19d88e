"""Accountant of DP-SGD with tuned hyper-parameters: the best model of a random number of trainings.

Each training draws its hyper-parameters by itself, for example from a list of candidates. All candidates use the
same noise, sampling rate and number of steps, or are at least as private. The score by which a model is chosen
must be public, computed from the model and public data, or be a part of the noisy sums.

Source: Papernot and Steinke, arXiv:2110.03620v2. This project's statement classic.private_selection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpproof.accountant.claims.accountant import Accountant, check_run
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Flag, Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise import dp_sgd
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.selection.private_selection import NOTES, runs_of, selected
from dpproof.accountant.theorems.selection import Unranked


@dataclass(frozen=True)
class TunedDPSGDParameters(Parameters):
    """Parameters of DP-SGD with tuned hyper-parameters: one training, and the number of trainings."""

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability q of a user to be in a step's sample, by a coin of its own", safer=-1
    )
    noise_multiplier: float = parameter(
        Reals(1e-4, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps of one training")
    mean_runs: float = parameter(
        Reals(0, 1e9, lower_open=True),
        "runs",
        "mean number of trainings; at least 1 unless poisson",
        safer=EXACT,
    )
    shape: float = parameter(
        Reals(-1, 1000, lower_open=True),
        "1",
        "shape of the negative binomial number of trainings: 1 for a geometric, 0 for a logarithmic one",
        1.0,
        safer=EXACT,
    )
    poisson: bool = parameter(
        Flag(), "", "the number of trainings is Poisson, and may be 0; ignores the shape", False
    )


def training(parameters: TunedDPSGDParameters) -> dp_sgd.DPSGDParameters:
    """Return the parameters of one training."""
    return dp_sgd.DPSGDParameters(parameters.sampling_rate, parameters.noise_multiplier, parameters.steps)


def account(parameters: TunedDPSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the guarantee of the best model.

    >>> tuned = TunedDPSGDParameters(1.0, 20.0, 10, mean_runs=10.0)
    >>> account(tuned, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper < 1.02
    True

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
        ValueError: if nothing is run, or the mean number of trainings is below 1, but not Poisson.
    """
    check_run(parameters)
    once = dp_sgd.account(training(parameters), adjacency)
    best = selected(once.guarantee, parameters)
    return replace(
        once,
        guarantee=best,
        released="the model of the best training, with its noisy sums, and nothing else",
        statement="classic.private_selection",
        attained=_attained(once, best, parameters),
        notes=(*once.notes, *NOTES),
    )


def _attained(once: PrivacyResult, best: Profile, parameters: TunedDPSGDParameters) -> Attained:
    """Return the lower bound of known neighbours and scores.

    If removal and addition have the same losses, the neighbours of one training reach the lower bound of ``best``. The
    score then depends on the noisy sums, or is a random number. Otherwise the neighbours are only known to reach the
    guarantee of one training.
    """
    assert once.attained is not None
    one = once.guarantee
    if not isinstance(one, PrivacyLoss) or len(one.alternatives) == 1:
        score = "depends on the noisy sums only, or is a random number"
        return Attained(best, f"{once.attained.pair}; the score {score}")
    return Attained(Unranked(one, runs_of(parameters)), f"{once.attained.pair}; the score is a random number")


ACCOUNTANT = Accountant(
    "tuned-dp-sgd",
    "DP-SGD with tuned hyper-parameters: the best of a random number of trainings",
    TunedDPSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=TunedDPSGDParameters(sampling_rate=1.0, noise_multiplier=8.0, steps=10, mean_runs=10.0),
)
