"""Audits of a user's own training function, end to end: its engine, its data loader, its loop.

The user writes ``train(model, dataset, seed)`` in torch or in JAX (`torch_model` and `jax_model` say how). dpproof
chooses the model, the dataset and the seed, and observes the weights. Nothing else of the training is replaced.

* ``one run``: a thousand test records (canaries) take part if their coins decide so, in one training.
* ``black box``: many short trainings with and without one canary. Only the loss of the canary under the trained model
  is used. The training begins at crafted weights: the model was trained without privacy on the other half of the
  records, so that the gradients of the records are small, and the gradient of the canary is large.
* ``sizes``: many short trainings on n and n - 1 records. Only the length of all changes of the weights is used. It
  shows whether the noise or its divisor depends on the number of records.

Sources: Steinke, Nasr and Jagielski, arXiv:2305.08846 (one run); Annamalai and De Cristofaro, arXiv:2405.14106
(crafted weights); docs/notes/audit_one_run.md and docs/notes/audit_bracket.md (the tests and their proofs);
docs/notes/opacus_divisor.md (private divisors). torch and jax are extras.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.interop.jax_privacy import UnsupportedConfigurationError, dp_sgd_of
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.engine.bracket import FEWEST
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.plan import AuditPlan
from dpproof.audits.training.audited import Attack, AuditedTraining, Job, claim_of
from dpproof.audits.training.canaries import record_canaries
from dpproof.audits.training.guesses import Guesses, guess_counts
from dpproof.audits.training.jax_model import JaxModel
from dpproof.audits.training.many_trainings import black_box, made_canaries, other_sizes
from dpproof.audits.training.one_run_audit import (
    OneRun,
    audit_one_run,
    one_run_refutes,
    one_run_tail,
    refuted_scale,
)
from dpproof.audits.training.torch_model import TorchModel
from dpproof.audits.training.watching import Alignment, Model, Records, Train

DELTA, ALPHA = 1e-5, 0.05
CANARIES, TRAININGS = 1_000, 2_000
_SCALES = 4.0
"""The audit looks for training with at least this share of the claimed noise, one part in so many."""


def audit_training(
    train: Train,
    model: Any,
    records: Any,
    *,
    attack: Attack | str = Attack.ONE_RUN,
    claim: Any = None,
    stepwise: bool = True,
    loss: Callable[..., Any] | None = None,
    canaries: Any = CANARIES,
    trainings: int = TRAININGS,
    family: bool = True,
    delta: float = DELTA,
    alpha: float = ALPHA,
    seed: int = 0,
) -> AuditedTraining:
    """Audit a training function of the user, end to end, against the guarantee of DP-SGD under ``add-remove``.

    Args:
        train: ``train(model, dataset, seed)``, which takes all randomness from the seed. In torch it trains the model
            in place on a dataset of pairs (input, target), and may return its Opacus engine. In JAX it returns the
            trained parameters, and the dataset is a pair of arrays (inputs, targets). If it has an argument named
            ``observe``, it calls ``observe(params)`` after each step.
        model: a torch module, or a pytree of JAX, at the weights where the training begins.
        records: a pair of arrays ``(inputs, targets)``, or a dataset of such pairs.
        attack: "one run", "black box" or "sizes"; see the module.
        claim: the training that the accountant accounts for: `DPSGDParameters`, or a configuration of jax_privacy from
            which they are read. Unless given, it is read from the Opacus engine that ``train`` returns, on the two
            neighbouring datasets, or with no canary and with all canaries. It has the largest rate, the smallest noise
            and the most steps of both.
        stepwise: whether the attacks "one run" and "sizes" observe the weights after every step, as the accountant
            assumes; otherwise, or if ``train`` does not show its steps, they observe the weights after the training.
        loss: in JAX ``loss(params, inputs, targets)``, the mean loss of some records. In torch ``loss(outputs,
            targets)``; unless given, the cross-entropy, or half of the squared error for targets that are no classes.
        canaries: for "one run", the number of canaries, or canaries of your own as for ``records``. Each canary that
            dpproof makes has the features of random records, and the class with the largest loss.
        trainings: for the other attacks, the number of trainings.
        family: whether "one run" computes ``given_family``, which takes most of its time.
        delta, alpha, seed: as in `AuditedTraining`.

    Raises:
        MechanismError: the function does not train the model that it is given, or the loss raises.
        ModuleNotFoundError: the library of the model is not installed.
        ValueError: an argument is outside its range, or there is no claim.
    """
    how, data, start = Attack(attack), Records.of(records), model_of(model, loss)
    _check_numbers(how, data, canaries, trainings, delta, alpha, seed)
    if not callable(train):
        raise ValueError(f"train ({train!r:.80}) must be a function train(model, dataset, seed).")
    if how is not Attack.SIZES:
        _check_loss(start, data)
    stated, seed = claim is not None, int(seed)
    claim = claim if claim is None or isinstance(claim, DPSGDParameters) else _read(claim)
    job = partial(
        Job,
        train,
        stepwise=stepwise and start.observes(train),
        delta=delta,
        alpha=alpha,
        seed=seed,
        start=start,
        records=data,
        stated=stated,
    )
    if how is Attack.ONE_RUN:
        made = (
            made_canaries(start, data, int(canaries), seed)
            if isinstance(canaries, int | np.integer)
            else Records.of(canaries)
        )
        return _one_run(
            job(claim=claim or claim_of(train, start, [data, data.and_(made)], seed)), made, family
        )
    found = job(claim=claim or claim_of(train, start, [data], seed))
    if how is Attack.SIZES:
        return other_sizes(found, trainings)
    return black_box(found, trainings)


def _check_numbers(
    how: Attack, data: Records, canaries: Any, trainings: int, delta: float, alpha: float, seed: int
) -> None:
    """Raise ValueError if a number is outside its range, before the first training."""
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not isinstance(value, Real) or not 0 < value < 1:
            raise ValueError(f"{name} ({value!r}) must be above 0 and below 1.")
    if how is Attack.ONE_RUN:
        made = isinstance(canaries, int | np.integer)
        least = [("the number of canaries", canaries if made else len(Records.of(canaries)), 2)]
    else:
        least = [("trainings", trainings, FEWEST), ("the number of records", len(data), 2)]
    for name, value, smallest in (("seed", seed, 0), *least):
        if not isinstance(value, int | np.integer) or value < smallest:
            raise ValueError(
                f"{name} ({value!r}) must be a whole number, at least {smallest}, for the attack {how.value}."
            )


def _check_loss(start: Model, data: Records) -> None:
    """Raise ValueError unless the loss of one record is one number.

    Raises:
        MechanismError: the loss raises.
    """
    try:
        found = start.losses(start.weights, data[:1])
    except Exception as failure:
        raise MechanismError(f"loss raised {type(failure).__name__} ({failure}) on one record") from failure
    if found.shape != (1,):
        raise ValueError(
            f"loss returned an array of shape {found.shape[1:]} for one record. It must return one number, the mean"
            " loss of the records."
        )


def _read(claim: Any) -> DPSGDParameters:
    """Return the parameters that a configuration of jax_privacy describes."""
    try:
        return dp_sgd_of(claim)
    except UnsupportedConfigurationError as wrong:
        why = f" {wrong}" if hasattr(claim, "dp_event") else ""
        raise ValueError(
            f"claim ({type(claim).__name__}) must be DPSGDParameters(...), or an execution plan of jax_privacy that"
            f" describes DP-SGD under add-remove.{why}"
        ) from wrong


def model_of(model: Any, loss: Callable[..., Any] | None) -> Model:
    """Return a torch module, or else a pytree of JAX, as the audits know it."""
    kind: Callable[..., Model] = TorchModel if hasattr(model, "named_parameters") else JaxModel
    return kind(model, loss)


def _one_run(job: Job, canaries: Records, family: bool) -> AuditedTraining:
    pool, known = job.records.and_(canaries), len(job.records)

    def release(places: list[int], _n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        seen = Alignment(job.start, canaries, job.records, job.claim, job.stepwise)
        job.run(pool[places], rng, seen)
        return seen.scores[None]

    drawn = record_canaries(list(range(known, len(pool))), list(range(known)), lambda scores: scores)
    plan = AuditPlan(seed=job.seed, delta=job.delta, alpha=job.alpha, claim="training")
    found = audit_one_run(job.table(), release, OneRun(drawn), plan)
    counts = dict(found.counts or {})
    best = Guesses(len(canaries), counts["right"] + counts["wrong"], counts["right"])
    numbers = guess_counts(len(canaries))
    level = job.alpha / len(numbers)
    able = found.verdict.violated or any(
        one_run_tail(one, found.claimed_epsilon, job.delta) <= level
        or one_run_refutes(one, job.table(), level)
        for one in (Guesses(len(canaries), number, number) for number in numbers)
    )
    hopeless = (
        "" if able else f"No result with {len(canaries)} canaries refutes this claim. Use more canaries."
    )
    factor = refuted_scale(job.table, best, level, _SCALES) if family else None
    return AuditedTraining(
        attack=Attack.ONE_RUN,
        observed=job.observed,
        claim=job.claim,
        claimed=found.claimed_epsilon,
        lower=found.epsilon_lower,
        given_family=factor and job.guarantee(factor).epsilon(job.delta).lower,
        violated=found.verdict.violated,
        delta=job.delta,
        alpha=job.alpha,
        trainings=1,
        counts=counts,
        pair=f"{len(canaries)} canaries, each there or not, besides {known} other records",
        seed=job.seed,
        note=" ".join(filter(None, [job.warning, hopeless])),
    )
