"""Cases of the corpus: a mechanism with a claim, whether the claim is true, and what an audit should answer."""

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
"""The engine's scores for outputs of several numbers, without the score of floating-point bits."""


def _within_one(first: float, second: float) -> None:
    if abs(first - second) > 1:
        raise ValueError(f"{first!r} and {second!r} differ by more than 1")


NUMBERS = Neighbours(0.0, 1.0, "numbers at most 1 apart", "0 or 1", _within_one)


class CorpusCase(Protocol):
    """The interface of a test case that `dpproof audit corpus` runs."""

    @property
    def name(self) -> str:
        """The name of the case, which no other case has."""
        ...

    @property
    def expected(self) -> Finding | type[Exception]:
        """The verdict, or the error, that an audit must have."""
        ...

    @property
    def reason(self) -> str:
        """The reason why this result is expected."""
        ...

    @property
    def requires(self) -> str | None:
        """A package without which the case is reported as skipped; None if it needs no package."""
        ...

    def audit(self, **asked: Unpack[Asked]) -> Evidence:
        """Run the audit with the given fields of `AuditPlan`, such as the seed, and return the evidence."""
        ...


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test case: a mechanism with a claim, and the result that an audit must have.

    Attributes:
        name: the name of the case, which no other case has.
        mechanism: the mechanism that is audited.
        pair: two neighbouring inputs whose outputs are easy to tell apart.
        claim: the claimed guarantee.
        delta: the delta at which epsilon is stated.
        expected: the verdict, or the error, that an audit must have.
        truth: a function that computes the smallest true epsilon at ``delta`` on this pair; ``None`` if it is only
            known whether the claim is true.
        reason: the reason why this result is expected.
        scores: the scores that the audit uses; the engine's default scores unless given.
        budget: the largest number of samples.
        requires: a package without which the case is reported as skipped.
        known_ratio: as in `AuditPlan`: the output distribution is known, and the score is monotone in its ratio.
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
        """Run the audit, and return the evidence.

        If a score is a likelihood ratio, the audit runs as if ``known_ratio`` were true.
        """
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
    """A test case whose mechanism has a ready-made audit; the mechanism may have a fault.

    Attributes:
        name, expected, reason, requires: as in `CorpusCase`.
        target: the object that runs the audit.
        budget: the largest number of samples, steps or runs; the target's default unless given.
        delta: the delta at which epsilon is stated; the plan's or the target's unless given.
        sharpen: whether to draw more samples after a violation, so that epsilon_lower exceeds the claim.
        named: whether the evidence gets the name of the case; if not, it gets the name of the target.
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
        """Run the audit, and return the evidence."""
        plan = AuditPlan(**asked)
        plan = plan if self.budget is None else plan.at_most(self.budget)
        claim = self.name if self.named else plan.claim
        delta = plan.delta if self.delta is None else self.delta
        sharpen = self.sharpen or plan.sharpen
        return self.target.audit(replace(plan, claim=claim, delta=delta, sharpen=sharpen))
