"""Audits of a training function by many short trainings on two neighbouring datasets, each measured by one number.

The two attacks are `black_box`, from crafted weights, and `other_sizes`. The test of the numbers is that of
`audits.engine.bracket`, whose note has the proof. Half of alpha is spent on each of its two bounds. The claimed curve
is refuted if the bound that varies the noise is above the claim, because its hypothesis at the claimed noise is implied
by the claim alone.

Sources: Annamalai and De Cristofaro, arXiv:2405.14106 (crafted weights); docs/notes/opacus_divisor.md (sizes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.bracket import Bracket, bracket
from dpproof.audits.engine.sampling.callables import MechanismError, generator
from dpproof.audits.training.audited import Attack, AuditedTraining, Job, claim_of, unseen
from dpproof.audits.training.watching import Array, Model, Records


def black_box(job: Job, trainings: int) -> AuditedTraining:
    """Audit a training that begins at crafted weights, which the first half of the records makes without privacy."""
    _check_claim(job)
    _check_classes(job.records)
    half = len(job.records) // 2
    begun = replace(
        job,
        start=job.start.at(crafted(job.start, job.records[:half])),
        records=job.records[half:],
        stepwise=False,
    )
    tried = made_canaries(begun.start, begun.records, _TRIED, job.seed)
    steep = begun.start.gradients(begun.start.weights, tried)
    strongest = int(np.linalg.norm(steep, axis=1).argmax())
    canary = tried[strongest : strongest + 1]
    known, pool = list(range(len(begun.records))), begun.records.and_(canary)
    begun = _claimed_on(begun, begun.records, pool)

    def measured(places: list[int], rng: np.random.Generator) -> float:
        return -float(begun.start.losses(begun.run(pool[places], rng, unseen), canary)[0])

    told = f"{len(known)} records, without or with one canary"
    found = _bracketed(begun, known, [*known, len(known)], measured, told, trainings)
    observed = "the canary's loss under the final model, from crafted weights"
    return _answer(begun, Attack.BLACK_BOX, *found, observed, told)


def other_sizes(job: Job, trainings: int) -> AuditedTraining:
    """Audit the pair of sizes, one record apart, at which the length of the changes differs most."""

    def measured(places: list[int], rng: np.random.Generator) -> float:
        energies: list[float] = []
        job.run(
            job.records[places],
            rng,
            lambda before, after: energies.append(
                float((np.subtract(after, before, dtype=float) ** 2).sum())
            ),
        )
        return math.log(sum(energies))

    _check_claim(job)
    fewest = max(0, len(job.records) - math.ceil(1 / job.claim.sampling_rate) - 1)
    sizes = range(len(job.records), fewest, -1)
    lengths = [
        np.mean([measured(list(range(n)), generator(job.seed, _STREAM, n, run)) for run in range(_LOOKS)])
        for n in sizes
    ]
    n = sizes[int(np.argmax(np.abs(np.diff(lengths))))]
    job = _claimed_on(job, job.records[: n - 1], job.records[:n])
    told = f"{n - 1} or {n} records"
    found = _bracketed(job, list(range(n - 1)), list(range(n)), measured, told, trainings)
    return _answer(job, Attack.SIZES, *found, f"the length of all changes, from {job.observed}", told)


_TRIED, _LOOKS, _STREAM, _FITTED = 64, 3, 78, 50
"""The canaries among which the one with the longest gradient is chosen; the trainings for each number of records; the
random stream of trainings that are not tested; and the number of them on each of two neighbouring datasets."""
_FARTHEST = 60.0
"""The largest claimed epsilon that these attacks can refute."""
Measure = Callable[[list[int], np.random.Generator], float]


def _check_claim(job: Job) -> None:
    """Raise ValueError unless the claimed epsilon is above 0 and not too large."""
    claimed = job.guarantee().epsilon(job.delta).upper
    if not 0 < claimed < _FARTHEST:
        raise ValueError(
            f"claim: Its epsilon at delta {job.delta:g} is {claimed:g}. It must be above 0 and below {_FARTHEST:g} for"
            " this attack. Give another claim or a larger delta."
        )


def _claimed_on(job: Job, *pair: Records) -> Job:
    """Return the audit of one pair of datasets: the training states its claim on them, unless the user gave it."""
    claim = job.claim if job.stated else claim_of(job.train, job.start, list(pair), job.seed)
    return replace(job, claim=claim, changes=[])


def _bracketed(
    job: Job, first: list[int], second: list[int], measured: Measure, told: str, trainings: int
) -> tuple[Bracket, bool]:
    """Return the bounds from many trainings, each of which is measured by one number; and whether all are equal.

    Raises:
        MechanismError: a measured number is not finite.
    """

    def draw(places: list[int], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        found = np.array([measured(places, rng) for _ in range(n)])
        if not np.isfinite(found).all():
            raise MechanismError(
                f"train: The measured number is NaN or infinite in {np.count_nonzero(~np.isfinite(found))} of {n}"
                " trainings. Audit a training that leads to finite losses and weights."
            )
        return found

    fitted = [draw(one, _FITTED, generator(job.seed, _STREAM, k)) for k, one in enumerate((first, second))]
    pair = Neighbours(first, second, Adjacency.ADD_REMOVE, told)
    without, within = ((float(one.mean()), float(one.std()) + 1e-9) for one in fitted)
    ratio = partial(_normal_ratio, without, within)
    found = bracket(
        "dp-sgd",
        job.claim,
        Adjacency.ADD_REMOVE,
        draw,
        pair,
        ratio,
        delta=job.delta,
        alpha=job.alpha / 2,
        samples=trainings,
        seed=job.seed,
    )
    return found, all(np.ptp(one) == 0 for one in fitted)


def _normal_ratio(
    first: tuple[float, float], second: tuple[float, float], seen: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log-likelihood ratio of two normal laws with these means and standard deviations."""
    (mean, scale), (other, wide) = first, second
    return ((seen - mean) / scale) ** 2 / 2 - ((seen - other) / wide) ** 2 / 2 + math.log(scale / wide)


def _answer(
    job: Job, attack: Attack, found: Bracket, same: bool, observed: str, told: str
) -> AuditedTraining:
    refuted = found.violated or (found.given_family or 0.0) > found.claimed
    notes = [*filter(None, [job.warning]), *([_SAME] if same else [])]
    if not refuted and not _can_refute(job, found.samples):
        notes.append(f"No result of {found.samples} trainings refutes this claim. Use more trainings.")
    return AuditedTraining(
        attack=attack,
        observed=observed,
        claim=job.claim,
        claimed=found.claimed,
        lower=found.lower,
        given_family=found.given_family,
        violated=refuted,
        delta=job.delta,
        alpha=job.alpha,
        trainings=found.samples,
        counts=dict(zip(("events where likelier", "events where rarer"), found.counts, strict=True)),
        pair=told,
        seed=job.seed,
        note=" ".join(notes),
    )


_SAME = (
    "All trainings on the same records gave the same result. So the training has no noise, or its noise does not come"
    " from the seed."
)


def _can_refute(job: Job, trainings: int) -> bool:
    """Return whether some counts of events in so many trainings may refute the claim.

    Let n be the number of trainings on each dataset, and (t, d) a point of the claim. The claim allows an event of
    probability 1 on one dataset and (1 - d) exp(-t) on the other one. So it allows n events on the one and none on the
    other one with probability (1 - (1 - d) exp(-t))^n. No counts refute the claim if this exceeds alpha / 2 for all t.
    Each t is rounded to both sides in favour of true.
    """
    curve, nodes = job.guarantee(), np.linspace(0.0, _FARTHEST, 601).tolist()
    largest = max((1 - curve.delta(high).lower) * math.exp(-low) for low, high in pairwise(nodes))
    return trainings // 2 * math.log1p(-min(largest, 1 - 1e-15)) <= math.log(job.alpha / 2)


def made_canaries(model: Model, records: Records, count: int, seed: int) -> Records:
    """Return canaries. Each feature is that of some record; the target is the class with the largest loss.

    Raises:
        ValueError: the targets are not one class for each record.
    """
    _check_classes(records)
    columns = records.inputs.reshape(len(records), -1)
    stream = np.random.RandomState(seed % 2**32)  # the numbers of torch's generator with this seed
    drawn = stream.randint(2**32, size=(count, columns.shape[1]), dtype=np.uint32) % len(records)
    inputs = np.take_along_axis(columns, drawn, axis=0).reshape(count, *records.inputs.shape[1:])
    classes = np.unique(records.targets)
    tried = [Records(inputs, np.repeat(classes[k : k + 1], count)) for k in range(len(classes))]
    worst = np.argmax([model.losses(model.weights, one) for one in tried], axis=0)
    return Records(inputs, classes[worst])


def _check_classes(records: Records) -> None:
    """Raise ValueError unless the targets are one class for each record."""
    if records.targets.ndim != 1 or np.issubdtype(records.targets.dtype, np.inexact):
        raise ValueError(
            "canaries: dpproof makes none, because the targets of the records are not one class for each record. Use"
            " the attack one run with canaries of your own."
        )


def crafted(model: Model, records: Records, steps: int = 300, rate: float = 0.01) -> Array:
    """Return weights after training without privacy by Adam, so that the gradients of such records are small."""
    weights, mean, square = model.weights, 0.0 * model.weights, 0.0 * model.weights
    for step in range(1, steps + 1):
        slope = model.slope(weights, records)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        length = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        weights = weights - rate * mean / (1 - 0.9**step) / length
    return weights
