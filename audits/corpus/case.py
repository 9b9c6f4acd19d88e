"""A case of the corpus: a mechanism, a claim, the truth, and the expected result of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Unpack

from dpproof.accountant.numbers.bounds import Bound
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.engine.scores.atoms import Atoms
from dpproof.audits.engine.scores.linear import BestCoordinate, LinearDiscriminant
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio, Score
from dpproof.audits.plan import BUDGET, Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.target import Audited

VALUES: tuple[Score, ...] = (
    LinearDiscriminant(weight=0.35),
    LinearDiscriminant(ridge=None, weight=0.35),
    BestCoordinate(weight=0.3),
    Atoms(weight=0.15),
)
"""What the engine learns of several numbers, without a look at the bits of floating-point noise."""


def _within_one(first: float, second: float) -> None:
    if abs(first - second) > 1:
        raise ValueError(f"{first!r} and {second!r} differ by more than 1")


NUMBERS = Neighbours(0.0, 1.0, "numbers at most 1 apart", "0 or 1", _within_one)


class CorpusCase(Protocol):
    """The interface of a case for `dpproof audit corpus`."""

    @property
    def name(self) -> str:
        """Unique within the corpus."""
        ...

    @property
    def expected(self) -> Finding | type[Exception]:
        """The verdict, or the error, that an audit must come to."""
        ...

    @property
    def reason(self) -> str:
        """Why, in words."""
        ...

    @property
    def requires(self) -> str | None:
        """A package without which the case is skipped, visibly."""
        ...

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case, with the seed, level, budget and executor that are asked."""
        ...


@dataclass(frozen=True, kw_only=True)
class Case:
    """A mechanism under the adjacency of its pair.

    Attributes:
        name: unique within the corpus.
        mechanism: what is sampled.
        pair: two neighbouring inputs, hard ones.
        claim: what the mechanism is said to guarantee.
        delta: where epsilon is stated.
        expected: the verdict, or the error, that an audit must come to.
        truth: computes the smallest epsilon at ``delta`` on this pair; ``None`` where only the side of the
            claim is known on which it lies.
        reason: why, in words.
        scores: those of the engine, unless given.
        budget: the most samples.
        requires: a package without which the case is skipped, visibly.
        known_ratio: as for `dpproof.audit`: the law is known, and the score rises or falls with its ratio.
    """

    name: str
    mechanism: Auditable
    pair: Neighbours
    claim: PrivacyCurve
    delta: float = 0.0
    expected: Finding | type[Exception]
    truth: Callable[[], Bound] | None
    reason: str
    scores: Sequence[Score] | None = None
    budget: int = BUDGET
    requires: str | None = None
    known_ratio: bool = False

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case; see `dpproof.audit`. The likelihood ratios of the corpus are those of its laws."""
        known = self.known_ratio or any(isinstance(one, LogLikelihoodRatio) for one in self.scores or ())
        plan = replace(
            AuditPlan(**asked).filled(self.name, self.delta, self.budget),
            scores=self.scores,
            known_ratio=known,
            replay={"audit": "corpus", "case": self.name},
        )
        return audit_pair(self.claim, self.mechanism, self.pair, plan)


@dataclass(frozen=True, kw_only=True)
class TargetCase:
    """A target with an audit of its own as a case, perhaps with a fault.

    Attributes:
        name, expected, reason, requires: as in `CorpusCase`.
        target: what is audited.
        budget: the most samples, steps or runs; what the target takes unless given.
        delta: where epsilon is stated, if the target does not say where.
        sharpen: go on after a violation, so that epsilon_lower passes the claim, not only the verdict.
        named: whether the evidence has the name of the case, or that of the target.
    """

    name: str
    target: Audited
    expected: Finding
    reason: str
    budget: int | None = None
    delta: float | None = None
    sharpen: bool = False
    named: bool = True
    requires: str | None = None

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Audit the case; a training run is one sequence, so an executor has nothing to do there."""
        plan = AuditPlan(**asked)
        plan = plan if self.budget is None else plan.at_most(self.budget)
        claim = self.name if self.named else plan.claim
        delta = plan.delta if self.delta is None else self.delta
        sharpen = self.sharpen or plan.sharpen
        return self.target.audit(replace(plan, claim=claim, delta=delta, sharpen=sharpen))
