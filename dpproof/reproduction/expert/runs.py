"""The runs of the experiment on expert-level learning.

A problem is an environment, such as CartPole. Each process makes the experts and data of a problem once. Then every
method is run with every epsilon and seed. The noise of a method is computed from epsilon and delta. The results include
the certified guarantee with this noise.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import calibrate_noise
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.written import write_whole
from dpproof.accountant.rl.expert import release as expert_release
from dpproof.accountant.rl.expert import selective_dpsgd
from dpproof.accountant.rl.expert.design import shaped
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.audits.engine.sampling.progress import watcher
from dpproof.mechanisms.environments.batched import roll_out
from dpproof.mechanisms.rl.expert.data import ExpertData, demonstrations
from dpproof.mechanisms.rl.expert.offline.cql import CQL
from dpproof.mechanisms.rl.expert.offline.network import Adam, Layers
from dpproof.mechanisms.rl.expert.offline.training import Training, TrainingSettings
from dpproof.mechanisms.rl.expert.offline.transitions import Transitions, batch_rate
from dpproof.mechanisms.rl.expert.policies import prefix_counts
from dpproof.mechanisms.rl.expert.population import Population, population
from dpproof.mechanisms.rl.expert.problems import PMIN, PROBLEMS, Problem, problem_for
from dpproof.mechanisms.rl.expert.release import DataRelease, stable_lengths
from dpproof.reproduction.expert.histograms import histogram, random_return
from dpproof.reproduction.expert.settings import ALONE, CHOICES, LEARNERS, METHODS, Choice, Size
from dpproof.version import __version__

Row = dict[str, Any]
Tables = tuple[list[Row], ...]
"""The returns of methods and of single runs, the sizes of releases, the experts, and a histogram of their returns."""
T = TypeVar("T")
LOOKS: Final = 5
"""Number of times that a learned policy is evaluated during the last fifth of a training run."""
POOL, REPEATS = 40, 50
"""`POOL` trajectories, each released `REPEATS` times, give an estimate of how many data a release contains."""
LENGTH: Final = 200
"""Number of steps of the longest trajectory that the paper logs. Those of HIV are shorter."""


@dataclass(frozen=True)
class Plan:
    """The privacy parameters of one run, which first releases data and then trains a policy.

    Attributes:
        release: the parameters of the release, or None if no data are released.
        training: the parameters of the training.
        reuses: whether the training also reads the steps of the release's data that were not released.
        epsilons, deltas: the epsilon and the delta of the release (first entry) and of the training (second entry).
    """

    release: ExpertReleaseParameters | None
    training: SelectiveDPSGDParameters
    reuses: bool
    epsilons: tuple[float, float]
    deltas: tuple[float, float]


def plan_for(name: str, method: str, epsilon: float | None, size: Size) -> Plan:
    """Return the privacy parameters of a method on the named problem, with the target (epsilon, 1/m).

    m is the number of experts. An `epsilon` of None means no privacy.

    >>> from dpproof.reproduction.expert.settings import QUICK
    >>> plan_for("cartpole", "DP-SGD", 10.0, QUICK).training.branch_probability
    1.0
    """
    if method == "no privacy" or epsilon is None:
        return Plan(None, _training(size, 0.0, 1.0), True, (0.0, 0.0), (0.0, 0.0))
    if method == "DP-SGD":
        noise = _training_noise(1.0, size, epsilon, 1 / size.experts, printed=False)
        return Plan(None, _training(size, 1.0, noise), True, (0.0, epsilon), (0.0, 1 / size.experts))
    choice = CHOICES[name][epsilon]
    if method == ALONE:
        choice = Choice(choice.rounds, 0.0, 1.0, 1.0)
    return _method(name, choice, epsilon, size, printed=method == "printed")


def _method(name: str, choice: Choice, epsilon: float, size: Size, *, printed: bool) -> Plan:
    release = release_plan(name, choice, epsilon, size, printed=printed)
    p, rest = choice.probability, (1 - choice.share) * epsilon
    deltas = (choice.delta_share / size.experts, (1 - choice.delta_share) / size.experts)
    noise = _training_noise(p, size, rest, deltas[1], printed=printed) if p else 1.0
    return Plan(release, _training(size, p, noise), printed, (choice.share * epsilon, rest), deltas)


def _training(size: Size, p: float, noise: float) -> SelectiveDPSGDParameters:
    """Return training parameters with Poisson batches.

    The rate uses the public sizes only, also for 2999 experts.
    """
    return SelectiveDPSGDParameters(batch_rate(size.batch, size.experts), p, noise, size.steps)


def release_plan(
    name: str, choice: Choice, epsilon: float, size: Size, *, printed: bool
) -> ExpertReleaseParameters:
    """Return the parameters of the release of data. Its epsilon and delta are shares of (epsilon, 1/m).

    `choice` holds the two shares, and m is the number of experts. If `printed` is true, the noise is that of the
    paper. Otherwise it is the least noise with a certified guarantee.
    """
    parts = (choice.rounds, LENGTH, PMIN, size.experts - 1, size.release_each, PROBLEMS[name].make().actions)
    share, delta = choice.share * epsilon, choice.delta_share / size.experts
    if printed:
        return ExpertReleaseParameters(*parts, printed_epsilon=share, printed_delta=delta, draws="walk")
    ratio, cost = _shape()
    start = ExpertReleaseParameters(*parts, scale=30.0, threshold_ratio=ratio, draw_cost=cost, draws="fresh")
    return _least_release(start, share, delta)


@lru_cache
def _shape() -> tuple[float, float]:
    """Return the best shape at the default failure probability of a round.

    It is found once for all scales.
    """
    return shaped(PMIN, 1e-8)


@lru_cache
def _least_release(start: ExpertReleaseParameters, epsilon: float, delta: float) -> ExpertReleaseParameters:
    def guarantee_of(parameters: ExpertReleaseParameters) -> Profile:
        return expert_release.account(parameters, Adjacency.EXPERT).guarantee

    meets, _ = calibrate_noise(start, "scale", guarantee_of, epsilon, delta)
    return meets


@lru_cache
def _training_noise(p: float, size: Size, epsilon: float, delta: float, *, printed: bool) -> float:
    """Return the least noise multiplier, by the printed accounting (rate p b/m) or by our own."""

    def guarantee_of(parameters: SelectiveDPSGDParameters) -> Profile:
        found = selective_dpsgd.account(parameters, Adjacency.EXPERT)
        return found.published.exact if printed and found.published else found.guarantee

    meets, _ = calibrate_noise(_training(size, p, 3.0), "noise_multiplier", guarantee_of, epsilon, delta)
    return meets.noise_multiplier


def certified(plan: Plan) -> dict[str, float | None]:
    """Return three certified epsilons: of the release at its delta, of the training at its delta, and their sum.

    An epsilon is None if it is not certified. The sum is not certified if the training reads steps of the release's
    data that were not released (statement expert.theorem5_6), or if neither release nor training is private.
    """
    p, both = plan.training.branch_probability, None
    release = training = None
    if plan.release is not None:
        found = expert_release.account(plan.release, Adjacency.EXPERT).guarantee
        release = _upper(found, plan.epsilons[0], plan.deltas[0])
    if p:
        found = selective_dpsgd.account(plan.training, Adjacency.EXPERT).guarantee
        training = _upper(found, plan.epsilons[1], plan.deltas[1])
    if (release is not None or training is not None) and not (release is not None and p and plan.reuses):
        both = (release or 0.0) + (training or 0.0)
    named = {"certified_release": release, "certified_training": training, "certified_epsilon": both}
    return {name: value if value is None or math.isfinite(value) else None for name, value in named.items()}


def _upper(guarantee: Profile, aim: float, delta: float) -> float:
    """Return the certified epsilon at `delta`, or `aim` if the noise was calibrated to `aim`."""
    found = float(guarantee.epsilon(delta).upper)
    return aim if found > aim and guarantee.delta(aim).upper <= delta else found


@dataclass(frozen=True)
class Prepared:
    """The experts of one problem (environment), and the data that they logged: for the release, and for training."""

    problem: Problem
    experts: Population
    release: ExpertData
    training: ExpertData


@lru_cache(maxsize=1)
def prepare(name: str, size: Size, seed: int) -> Prepared:
    """Return random experts for the named problem, and the data of the episodes that they play.

    Those of the last problem are kept, because all methods use them.
    """
    problem = problem_for(name)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(list(CHOICES).index(name),)))
    experts = population(problem, size.experts, rng, common=size.common)
    cut = demonstrations(experts, size.release_each, rng, size.release_steps)
    return Prepared(problem, experts, cut, demonstrations(experts, size.training_each, rng))


def arms(name: str, size: Size) -> Iterator[tuple[str, float | None]]:
    """Yield the pairs (method, epsilon) of the runs on the named problem."""
    yield METHODS[0], None
    for epsilon in size.epsilons:
        choice = CHOICES[name][epsilon]
        for method in METHODS[1:]:
            if (method != "printed" or choice.printed) and (method != ALONE or choice.both):
                yield method, epsilon


@dataclass(frozen=True)
class _Task:
    """All runs of a method on a problem, or the tables of the problem itself if there is no method."""

    problem: str
    method: str | None
    epsilon: float | None
    size: Size
    seed: int
    kept: Path

    @property
    def file(self) -> Path:
        """The file of the results."""
        told = repr((__version__, self.problem, self.method, self.epsilon, self.size, self.seed))
        return self.kept / f"{self.problem}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.json"

    def results(self) -> Any:
        """Return the pairs (return, released transitions) of the runs, or the tables of the problem."""
        prepared = prepare(self.problem, self.size, self.seed)
        if self.method is None:
            counted = histogram(prepared.experts, np.random.default_rng([self.seed, 2]))
            return _releases(prepared, self.size, self.seed), [_experts(prepared, self.seed)], counted
        plan = plan_for(self.problem, self.method, self.epsilon, self.size)
        return [_run(prepared, plan, self.size, [self.seed, run]) for run in range(self.size.runs)]


def run_problems(size: Size, seed: int, executor: Executor | None, kept: Path) -> Tables:
    """Run all problems (environments), and return their tables.

    `executor` affects only the time. The results of a finished method are stored in the folder `kept`, so an
    interrupted run can continue. When all methods are finished, the folder is removed.
    """
    kept.mkdir(parents=True, exist_ok=True)
    tasks = [
        _Task(name, *arm, size, seed, kept)
        for name in size.problems
        for arm in [(None, None), *arms(name, size)]
    ]
    parts = list(_told(map(_done, tasks) if executor is None else executor.map(_done, tasks), len(tasks)))
    found = list(zip(tasks, parts, strict=True))
    returns = [_row(task, part) for task, part in found if task.method is not None]
    runs = [row for task, part in found if task.method is not None for row in _runs(task, part)]
    tables = zip(*(part for task, part in found if task.method is None), strict=True)
    shutil.rmtree(kept)
    return returns, runs, *(list(chain.from_iterable(table)) for table in tables)


def _told(parts: Iterable[T], count: int) -> Iterator[T]:
    """Yield the same parts, and report each one to the watcher."""
    tell = watcher() or (lambda done, total: None)
    tell(0, count)
    for done, part in enumerate(parts, 1):
        tell(done, count)
        yield part


def _done(task: _Task) -> Any:
    """Run a task on one thread, or read its stored results."""
    if task.file.exists():
        return json.loads(task.file.read_text(encoding="utf-8"))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = task.results()
    finally:
        torch.set_num_threads(before)
    write_whole(task.file, json.dumps(found))
    return found


def _row(task: _Task, found: Sequence[tuple[float, int]]) -> Row:
    """Return means over the runs, with half the width of a 95% interval for the mean return (Student's t)."""
    plan = plan_for(task.problem, task.method or "", task.epsilon, task.size)
    returns = np.array([each for each, _ in found]) / PROBLEMS[task.problem].unit
    runs = len(returns)
    width = stats.t.ppf(0.975, runs - 1) * returns.std(ddof=1) / np.sqrt(runs) if runs > 1 else float("nan")
    return {
        "problem": task.problem,
        "method": task.method,
        "epsilon": task.epsilon,
        **certified(plan),
        "noise": plan.training.noise_multiplier if plan.training.branch_probability else None,
        "probability": plan.training.branch_probability,
        "rounds": plan.release.trajectories if plan.release is not None else None,
        "released": float(np.mean([count for _, count in found])) if plan.release is not None else None,
        "return": float(returns.mean()),
        "interval": float(width),
        "lowest": float(returns.min()),
        "runs": runs,
    }


def _runs(task: _Task, found: Sequence[tuple[float, int]]) -> Iterator[Row]:
    """Yield the return of each run, and how many transitions its release contained."""
    for run, (each, count) in enumerate(found):
        named = {"problem": task.problem, "method": task.method, "epsilon": task.epsilon, "run": run}
        yield {**named, "return": each / PROBLEMS[task.problem].unit, "released": count}


def _run(prepared: Prepared, plan: Plan, size: Size, seed: Sequence[int]) -> tuple[float, int]:
    """Run once, and return the mean return and the number of released transitions."""
    rng = np.random.default_rng(seed)
    private, released, count = _data(prepared, plan, rng)
    budget = plan.training
    if released is None and 0 < budget.branch_probability < 1:  # plain steps have nothing to read
        done = rng.binomial(budget.steps, budget.branch_probability)
        budget = replace(budget, branch_probability=1.0, steps=int(done))
    learner, problem = LEARNERS[prepared.problem.name], prepared.problem
    layers = Layers((*prepared.experts.bases.sizes[:1], *learner.hidden, prepared.experts.actions))
    if released is None and budget.branch_probability == 0:
        theta = layers.initial(rng)
        return _mean_return(problem, layers, [theta], size, rng), count
    settings = TrainingSettings(
        budget,
        layers,
        CQL(problem.discount, learner.conservatism),
        learner.clip,
        Adam(learner.learning_rate),
        batch=size.batch,
        plain_batch=size.batch,
    )
    training = Training(settings, private, released, int(rng.integers(2**62)))
    looks = []
    for left in range(LOOKS - 1, -1, -1):
        training.advance(budget.steps - training.step - left * (budget.steps // (5 * LOOKS)))
        looks.append(training.theta.clone())
    return _mean_return(problem, layers, looks, size, rng), count


def _data(
    prepared: Prepared, plan: Plan, rng: np.random.Generator
) -> tuple[Transitions | None, Transitions | None, int]:
    """Return the data of private steps, those of plain steps, and the number of released transitions."""
    problem, aside = prepared.problem, prepared.training
    if plan.release is None:
        whole = Transitions.joined(prepared.release.transitions(problem), aside.transitions(problem))
        return (whole, None, 0) if plan.training.branch_probability else (None, whole, 0)
    data = prepared.release
    found = DataRelease(plan.release).release(data.episodes, prepared.experts, rng, data.observations)
    mask = found.mask(len(data.observations))
    released = data.released(problem, found.steps) if mask.any() else None
    if not plan.training.branch_probability:
        return None, released, int(mask.sum())
    private = aside.transitions(problem)
    if plan.reuses:
        private = Transitions.joined(private, data.transitions(problem, ~mask))
    return private, released, int(mask.sum())


def _mean_return(
    problem: Problem, layers: Layers, looks: Sequence[torch.Tensor], size: Size, rng: np.random.Generator
) -> float:
    """Return the mean return of greedy play, over episodes and parameters."""
    found = []
    for theta in looks:

        def greedy(seen: NDArray[np.float32], rows: object, theta: torch.Tensor = theta) -> Any:
            return layers.outputs(theta, torch.from_numpy(problem.scaled(seen))).argmax(1).numpy()

        steps = roll_out(problem.make(), greedy, size.episodes, rng, problem.evaluation_horizon)
        found.append(steps.returns().mean())
    return float(np.mean(found))


def _releases(prepared: Prepared, size: Size, seed: int) -> list[Row]:
    """Return the expected released transitions at each budget, for printed and calibrated noise.

    Both use the same trajectories.
    """
    rng, data, name = np.random.default_rng([seed, 1]), prepared.release, prepared.problem.name
    starts, counts = data.starts(), []
    for episode in rng.choice(data.episodes.count, min(POOL, data.episodes.count), replace=False):
        rows = slice(starts[episode], starts[episode] + data.episodes.lengths[episode])
        counts.append(prefix_counts(prepared.experts, data.observations[rows], data.episodes.actions[rows]))
    table = []
    for epsilon in size.epsilons:
        choice = CHOICES[name][epsilon]
        row: Row = {"problem": name, "epsilon": epsilon, "release_epsilon": choice.share * epsilon}
        row["rounds"] = choice.rounds
        for kind in ("printed", "calibrated"):
            plan = release_plan(name, choice, epsilon, size, printed=kind == "printed")
            lengths = [stable_lengths(plan.design, each, REPEATS, rng).mean() for each in counts]
            row[f"{kind}_cutoff"] = plan.design.cutoff
            row[f"{kind}_released"] = float(np.mean(lengths) * choice.rounds)
        table.append(row)
    return table


def _experts(prepared: Prepared, seed: int) -> Row:
    """Return statistics of the experts (returns of the trajectories set aside, logged steps), and of random actions."""
    returns = prepared.training.returns() / prepared.problem.unit
    low, middle, high = np.quantile(returns, [0.1, 0.5, 0.9])
    return {
        "problem": prepared.problem.name,
        "mean": float(returns.mean()),
        "low": float(low),
        "middle": float(middle),
        "high": float(high),
        "random": random_return(prepared.problem, np.random.default_rng([seed, 3])),
        "release_steps": len(prepared.release.observations),
        "training_steps": len(prepared.training.observations),
    }
