"""The settings and the result of `audit_training`, the audit of a user's own training function."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.dp_sgd import DPSGDParameters, account
from dpproof.accountant.numbers.written import rounded
from dpproof.audits.engine.betting.curves import Tabulated, tabulated
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.words import Shown
from dpproof.audits.training.watching import Array, Model, Records, Step, Train, trained


class Attack(enum.Enum):
    """How the audit tells neighbouring datasets apart, with what it covers and what it does not cover."""

    ONE_RUN = "one run"
    BLACK_BOX = "black box"
    SIZES = "sizes"

    @classmethod
    def _missing_(cls, value: object) -> Attack:
        known = ", ".join(one.value for one in cls)
        raise ValueError(f"attack ({value!r}) must be one of: {known}")


COVERED: Mapping[Attack, tuple[str, str]] = {
    Attack.ONE_RUN: (
        "less noise, no clipping of single records, and anything else that lets the average canary show in the weights",
        "records that differ from the canaries; what shows only if one record differs and all others are known",
    ),
    Attack.BLACK_BOX: (
        "less noise, no clipping of single records, and anything else that the loss of the canary under the final"
        " model shows",
        "other canaries, other starts, and what the final model does not show",
    ),
    Attack.SIZES: (
        "noise or step lengths that depend on the number of records",
        "every other dependence on the data",
    ),
}
"""For each attack, what it covers and what it does not cover, in words."""


@dataclass(frozen=True)
class AuditedTraining:
    """The result of an audit of a training function.

    Attributes:
        attack: how neighbouring datasets were told apart.
        observed: what the attack observed of each training.
        claim: the training that the accountant accounts for.
        claimed: the certified upper bound on epsilon of the claim at `delta`.
        lower: a lower bound on epsilon at `delta`. It only assumes that each training has new randomness.
        given_family: a lower bound if the training has the guarantee of the claim with some other noise multiplier.
        violated: whether the claim is refuted.
        delta: the delta at which epsilon is stated.
        alpha: the probability that `violated` or `lower` is wrong is at most `alpha`; the same for `given_family`.
        trainings: the number of trainings that are tested.
        counts: what was counted, by name.
        pair: the neighbouring datasets.
        seed: the source of all randomness.
        note: sentences on what makes the result weaker, or a violation doubtful; empty if nothing is known.
    """

    attack: Attack
    observed: str
    claim: DPSGDParameters
    claimed: float
    lower: float
    given_family: float | None
    violated: bool
    delta: float
    alpha: float
    trainings: int
    counts: dict[str, int]
    pair: str
    seed: int
    note: str = ""

    def evidence(self, name: str, replay: Mapping[str, Any]) -> Evidence:
        """Return the result under the name of a claim, with what a replay needs, as the audits of mechanisms do."""
        checked = {
            "relation": Adjacency.ADD_REMOVE.value,
            "status": "checked",
            "why": "dpproof makes the datasets",
        }
        return Evidence(
            claim=name,
            verdict=Finding.VIOLATION if self.violated else Finding.INCONCLUSIVE,
            claimed_epsilon=self.claimed,
            epsilon_lower=self.lower,
            delta=self.delta,
            confidence=1 - self.alpha,
            samples=self.trainings,
            would_have_seen=None if self.violated else inf,
            e_value=1 / self.alpha if self.violated else 0.0,
            alpha=self.alpha,
            seed=self.seed,
            pair=self.pair,
            event={"method": self.attack.value},
            counts=self.counts,
            score=self.observed,
            replay=replay,
            pairs=({"description": self.pair, **checked},),
            not_covered=() if self.violated else (COVERED[self.attack][1],),
            weakness="" if self.violated else ". ".join([_UNMEASURED, *filter(None, [self.note[:-1]])]),
            shown=Shown(self.trainings, looks_like=self.note) if self.violated and self.note else None,
            shortened=_INDEPENDENT,
        )

    @property
    def _planned(self) -> str:
        claim = self.claim
        several = f", records of a user {claim.records}" if claim.records > 1 else ""
        return (
            f"sampling rate {claim.sampling_rate:g}, noise multiplier {claim.noise_multiplier:g}, steps {claim.steps}"
            f"{several}"
        )

    def __str__(self) -> str:
        sure, told = f"confidence {100 * (1 - self.alpha):g} %", COVERED[self.attack]
        known = "" if self.given_family is None else rounded(self.given_family, up=False, digits=4)
        lines = [
            "VIOLATION: the training is less private than its claim"
            if self.violated
            else "the claim is not refuted",
            *filter(None, [self.note]),
            f"claimed: epsilon at delta {self.delta:g} is at most {rounded(self.claimed, up=True, digits=4)}"
            f" (certified: {self._planned})",
            f"measured: epsilon is at least {rounded(self.lower, up=False, digits=4)} ({sure}, {_IF})",
            *(
                [f"measured: epsilon is at least {known} ({sure}, {_IF}, and only the noise differs)"]
                if known
                else []
            ),
            f"attack: {self.attack.value}; {self.observed}; {self.pair}; trainings: {self.trainings}",
            f"counted: {', '.join(f'{name} {count}' for name, count in self.counts.items())}",
            f"covered: {told[0]}",
            f"not covered: {told[1]}",
        ]
        return "\n".join(lines)


_UNMEASURED = "the power of this audit is not measured, so nothing more is known"
_IF = "if each training has new randomness"
_INDEPENDENT = "the randomness of each training is new, or comes from the seed that the training is given"


@dataclass(frozen=True)
class Job:
    """All that the audits of one training function share."""

    train: Train
    start: Model
    records: Records
    claim: DPSGDParameters
    stepwise: bool
    delta: float
    alpha: float
    seed: int
    stated: bool
    changes: list[int] = field(default_factory=list)
    """For each training so far, how often the weights were seen to change."""

    def guarantee(self, factor: float = 1.0) -> Profile:
        """Return the guarantee of the claim with the noise divided by this factor."""
        noise = self.claim.noise_multiplier / factor
        return account(replace(self.claim, noise_multiplier=noise), Adjacency.ADD_REMOVE).guarantee

    def table(self, factor: float = 1.0) -> Tabulated:
        """Return the same guarantee as a table."""
        return tabulated(self.guarantee(factor).sharing(self.delta / 10), self.delta)

    @property
    def observed(self) -> str:
        """A description of what the attack observes of each training."""
        if not self.stepwise:
            return "the weights after the training"
        fewest, most, steps = min(self.changes), max(self.changes), self.claim.steps
        if fewest == most == steps:
            return "the weights after every step"
        seen = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        return f"the weights after each change that was seen (changes: {seen}, claimed steps: {steps})"

    @property
    def warning(self) -> str:
        """A warning if the weights changed more often than the claim has steps; otherwise an empty text."""
        return _MORE if self.stepwise and max(self.changes) > self.claim.steps else ""

    def run(self, records: Records, rng: np.random.Generator, see: Step) -> Array:
        """Train once, show what is observed to ``see``, and return the last weights."""
        seed, changes = int(rng.integers(1 << 31)), 0

        def counted(before: Array, after: Array) -> None:
            nonlocal changes
            changes += 1
            if self.stepwise:
                see(before, after)

        weights = trained(self.start, self.train, records, seed, counted)
        self.changes.append(changes)
        if not self.stepwise:
            see(self.start.weights, weights)
        return weights


_MORE = (
    "The weights were seen to change more often than the claim has steps. Either the training has more steps, or it"
    " shows weights that it does not release. With stepwise=False only the last weights are observed."
)


def unseen(_before: Array, _after: Array) -> None:
    """Ignore a step."""


def claim_of(train: Train, model: Model, datasets: list[Records], seed: int) -> DPSGDParameters:
    """Return a claim that is at least as weak as what the training itself states on each of some datasets."""
    found = [model.accounted(train, records, seed) for records in datasets]
    rates, noises, steps = zip(*found, strict=True)
    return DPSGDParameters(sampling_rate=max(rates), noise_multiplier=min(noises), steps=max(steps))
