"""The audit on given data: it makes pairs of neighbouring inputs from the data and audits the worst pair.

A pair on which the mechanism raises an exception is not audited. The evidence lists the pair with the exception,
because an exception that occurs on only one of two neighbours may itself distinguish them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.conclusion import check_request
from dpproof.audits.engine.sampling.callables import (
    SEARCH,
    Auditable,
    ChangedInputError,
    Mechanism,
    MechanismError,
    as_mechanism,
    check_unchanged,
    generator,
    outputs,
)
from dpproof.audits.engine.sampling.speed import fitted
from dpproof.audits.engine.worst_pair import SHARE, WorstOf, audit_worst, room
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import call_of
from dpproof.audits.time_budget import during

TRIED = 16
"""The number of outputs drawn on each input of a pair before the search, to see whether the mechanism fails."""
LEFT = "the search for the pair that reveals most, and its audit"
ALONE = (
    ", but not on the other input. The exception itself may distinguish the neighbours."
    ' To audit it, use failures="token"'
)


def audit_extremes(curve: PrivacyCurve, sampler: Auditable, made: Extremes, plan: AuditPlan) -> Evidence:
    """Return the evidence on the worst pair that a search finds among pairs of extreme neighbours.

    Raises:
        MechanismError: as for `dpproof.audit`, or if the mechanism fails on every pair.
        ValueError: as for `dpproof.audit` and `Extremes.pairs`.
    """
    check_request(plan.alpha, plan.drawn, plan.stated, plan.scores, plan.seed)
    pairs = made.pairs()
    mechanism, plan = fitted(as_mechanism(sampler), pairs[0], plan)
    most = room(plan, SHARE)
    trials: list[_Trial] = []
    for place, pair in enumerate(pairs):
        with during(f"the first runs on {len(pairs)} pairs of neighbours, of which {place} are done", LEFT):
            trials.append(_Trial.of(mechanism, pair, plan.seed, place))
        if mechanism.sparing and sum(one.ran for one in trials) == most:
            break
    ran = [one.pair for one in trials if one.ran]
    if not ran:
        raise MechanismError(
            f"The mechanism fails on all {len(pairs)} pairs of inputs. For the pair"
            f" ({trials[0].pair.description}): {trials[0].why}"
        )
    kept = ran[:most]
    called = {"curve": curve, "sampler": sampler, "made": made, "scores": plan.scores}
    how = {**call_of("audit_extremes", **called, **plan.measuring), **(plan.replay or {})}
    asked = replace(plan, replay=how if "audit" in how else {"audit": None, **how})
    found = audit_worst(curve, mechanism, WorstOf(kept), asked)
    check_unchanged(*ran[len(kept) :])  # the audit has checked the others
    more = len(ran) - len(kept) + len(pairs) - len(trials)
    left = [f"{more} more pairs of neighbours, for which the budget is too small"] if more else []
    return replace(found, not_covered=(*found.not_covered, *_failed(trials), *made.untried, *left))


@dataclass(frozen=True)
class _Trial:
    """A pair, and the exceptions of the mechanism on its two inputs; an empty text stands for no exception."""

    pair: Neighbours
    failures: Sequence[str]

    @classmethod
    def of(cls, made: Mechanism, pair: Neighbours, seed: int, place: int) -> _Trial:
        """Run the mechanism on both inputs."""
        return cls(pair, [_failure(made, pair, seed, place, label) for label in (0, 1)])

    @property
    def ran(self) -> bool:
        """Whether the mechanism ran on both inputs."""
        return not any(self.failures)

    @property
    def why(self) -> str:
        """The first failure, in words."""
        return next(filter(None, self.failures))


def _failed(trials: Sequence[_Trial]) -> list[str]:
    """Describe the pairs that were not audited because the mechanism failed, one text per kind of failure."""
    kinds: dict[tuple[str, bool], list[str]] = {}
    for one in trials:
        if not one.ran:
            kinds.setdefault((one.why, all(one.failures)), []).append(one.pair.description)
    return [
        f"{len(pairs)} of {len(trials)} pairs, such as ({pairs[0]}): {why}{'' if both else ALONE}"
        for (why, both), pairs in kinds.items()
    ]


def _failure(made: Mechanism, pair: Neighbours, seed: int, place: int, label: int) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mean of no records warns, and then fails
            outputs(made, pair, label, made.sparing or TRIED, generator(seed, SEARCH, place, label))
    except ChangedInputError:
        raise
    except MechanismError as failure:
        return str(failure).partition(" when asked for")[0]
    return ""
