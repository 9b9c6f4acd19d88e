"""The audit of the release of stable prefixes: the first steps of trajectories that many experts agree on.

The two inputs are sets of experts, one with one expert less. The audit looks only at the log-likelihood ratio of the
release. The ratio is post-processing, so a violation in the ratio is a violation of the release. The module also
samples one round of the release and computes its distribution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.design import Design
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.engine.scores.protocol import Identity
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Audited, Subject, Told
from dpproof.mechanisms.rl.expert.policies import TabularExperts, prefix_counts
from dpproof.mechanisms.rl.expert.release import stable_lengths

Floats = NDArray[np.float64]


def one_expert_more(first: Floats, second: Floats) -> None:
    """Raise ValueError unless one array consists of the other's rows and one more row at the end."""
    small, large = sorted((first, second), key=len)
    if len(large) != len(small) + 1 or not np.array_equal(large[:-1], small):
        raise ValueError(
            f"experts ({len(first)} and {len(second)}) must be equal except for one additional expert"
        )


@dataclass(frozen=True)
class PrefixRound:
    """A mechanism that runs one round of the release, with two actions; the state is the number of the step.

    An input is an array (experts, steps, 2) with each expert's probability of each action at each step. An output is
    the released prefix (first steps) of a trajectory as one number: its actions as binary digits after a leading 1.
    """

    design: Design

    def __call__(self, table: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return the releases of ``n`` rounds, ``(n, 1)``."""
        experts, steps = table.shape[:2]
        drawn = rng.integers(0, experts, n)
        actions = (rng.random((n, steps)) < table[drawn, :, 1]).astype(np.int64)
        codes = actions @ (1 << np.arange(steps)[::-1])
        lengths = np.zeros(n, dtype=np.int64)
        for code in np.unique(codes):
            chosen = np.flatnonzero(codes == code)
            counts = self._counts(table, actions[chosen[0]])
            lengths[chosen] = stable_lengths(self.design, counts, len(chosen), rng)
        released = (codes >> (steps - lengths)) + (1 << lengths)
        return np.asarray(released[:, None], dtype=np.float64)

    def _counts(self, table: Floats, actions: NDArray[np.int64]) -> Floats:
        return prefix_counts(TabularExperts(table), np.arange(len(actions)), actions)

    def law(self, table: Floats) -> dict[int, float]:
        """Return the probability of each output, by numerical integration without certified errors."""
        noise = np.linspace(-40, 40, 4001)
        weights = np.exp(-np.abs(noise))
        found: dict[int, float] = {}
        for path in itertools.product(range(2), repeat=table.shape[1]):
            actions = np.array(path)
            happens = table[:, np.arange(len(path)), actions].prod(axis=1).mean()
            passed, code = weights / weights.sum(), 1
            for count, action in zip(self._counts(table, actions), path, strict=True):
                gap = (
                    self.design.cutoff + self.design.threshold_scale * noise - count
                ) / self.design.count_scale
                top = np.where(gap > 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
                found[code] = found.get(code, 0.0) + happens * float((passed * (1 - top)).sum())
                passed, code = passed * top, 2 * code + action
            found[code] = found.get(code, 0.0) + happens * float(passed.sum())
        return found


KIND = "expert-release"
DELTA = 1e-6
NUMBERS = 20_000_000
"""With the default budget, an audit draws about this many random numbers at most."""
FEWEST = 2_000
_STEPS = 3
_MOST_EXPERTS = 20_000


@dataclass(frozen=True)
class _Release:
    """Sampler of the log-likelihood ratio of all rounds' releases together, ``(n, 1)``."""

    rounds: PrefixRound
    count: int
    ratios: Floats

    def __call__(self, table: Floats, n: int, rng: np.random.Generator) -> Floats:
        released = self.rounds(table, n * self.count, rng).astype(np.int64)
        return np.asarray(self.ratios[released[:, 0]].reshape(n, self.count).sum(axis=1)[:, None])


@dataclass(frozen=True)
class ExpertAudit:
    """An audit whose inputs are two sets of experts, and whose outputs are log-likelihood ratios of a run.

    Attributes:
        parameters: the parameters of the accountant.
        curve: the claimed guarantee; None for the accountant's guarantee. With a given curve, the plan's ``replay``
            takes the place of the usual replay data, which do not describe the curve.
    """

    fields: ClassVar[Mapping[str, type]] = {"parameters": dict, **RUN}
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.EXPERT,)
    kind: ClassVar[str]

    parameters: Any
    curve: PrivacyCurve | None = None

    @classmethod
    def of(cls, subject: Subject) -> Audited:
        """Return the audit of the mechanism that ``subject`` describes."""
        return cls(subject.parameters, subject.curve)

    def run(self) -> tuple[Neighbours, Auditable, int]:
        """Return the two inputs, a function that draws log-likelihood ratios, and the cost of a ratio.

        The cost is about how many random numbers are drawn for one ratio.

        Raises:
            NoAuditError: there is nothing to audit, or the parameters are not supported.
        """
        raise NotImplementedError

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The default delta is 1e-6."""
        pair, mechanism, width = self.run()
        promised = self.curve
        if promised is None:
            promised = accountant_for(self.kind).account(self.parameters, Adjacency.EXPERT).guarantee
        again = {"audit": self.kind, "parameters": self.parameters.as_json()}
        asked = replace(
            plan.filled(self.kind, DELTA, max(FEWEST, min(BUDGET, NUMBERS // width))),
            scores=(Identity(),),
            known_ratio=True,
            replay=again if self.curve is None else plan.replay,
        )
        return audit_pair(promised, mechanism, pair, asked)

    @classmethod
    def read(cls, how: Told) -> Self:
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        return cls(accountant_for(cls.kind).parameters.read(how.table("parameters")))


class ReleaseAudit(ExpertAudit):
    """The audit of the release of stable prefixes (first steps), with and without one of many equal experts.

    The number of equal experts is chosen so that their counts are close to the cutoff of the release. Trajectories
    have up to three steps and two actions, and every round draws a new trajectory. The audit does not cover logged
    data, more actions, or more than `_MOST_EXPERTS` experts.
    """

    kind = KIND

    def run(self) -> tuple[Neighbours, Auditable, int]:
        """Return the same as `ExpertAudit.run`, where one sample consists of all rounds of the release."""
        pair, rounds = _pair(self.parameters), PrefixRound(self.parameters.design)
        count = self.parameters.trajectories
        return pair, _Release(rounds, count, _ratios(rounds, pair.first)), 20 * count


TARGET = ReleaseAudit


def _pair(parameters: ExpertReleaseParameters) -> Neighbours:
    if parameters.draws != "fresh":
        raise NoAuditError(
            f"draws ({parameters.draws!r}) must be 'fresh' for an audit. Logged data are not audited."
        )
    least, steps = parameters.least_probability, min(parameters.length, _STEPS)
    alike = math.ceil(parameters.design.cutoff / (1 - least) ** ((steps + 1) / 2))
    experts = max(alike, parameters.experts + 1)
    if experts > _MOST_EXPERTS:
        raise NoAuditError(f"experts ({experts}) must be at most {_MOST_EXPERTS} for an audit")
    table = np.tile(np.array([1 - least, least]), (experts, steps, 1))
    table[: experts - alike] = table[: experts - alike, :, ::-1].copy()
    described = f"{experts} experts, {alike} of them alike, and one of these less"
    return Neighbours(table, table[:-1], Adjacency.EXPERT, described, one_expert_more)


def _ratios(rounds: PrefixRound, table: Floats) -> Floats:
    """Return for each output the log ratio of its probabilities with and without the expert, used as a score."""
    more, fewer = rounds.law(table), rounds.law(table[:-1])
    found = np.zeros(max(more) + 1)
    for code, chance in more.items():
        found[code] = math.log(max(chance, 1e-300) / max(fewer[code], 1e-300))
    return np.clip(found, -50.0, 50.0)
