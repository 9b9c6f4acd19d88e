"""One call of an audit: a claim, a mechanism and its inputs. A witness (the record of an audit) can repeat it.

Users call `dpproof.audits.front`, which calls this module. The type of the inputs decides on the method: one pair of
neighbours, several pairs, pairs made from data, the steps of a training, or canaries (records that take part at
random) in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar, Unpack, cast, overload

import numpy as np

from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.checks.kept_state import STATE, unless_alike
from dpproof.audits.engine.extreme_pairs import audit_extremes
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.alone import TOGETHER, apart
from dpproof.audits.engine.sampling.callables import Auditable, OwnSeedError, as_mechanism
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.engine.varied import Claimed, Varied, audit_varied
from dpproof.audits.engine.worst_pair import EachOf, WorstOf, audit_each, audit_worst
from dpproof.audits.plan import Asked, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.recording.written import read
from dpproof.audits.target import Audited, Told
from dpproof.audits.training.canaries import Canaries
from dpproof.audits.training.one_run_audit import OneRun, audit_one_run
from dpproof.audits.training.steps import Steps, Training, audit_steps

KIND = "call"
Inputs = Neighbours | WorstOf | EachOf | Extremes | Varied | Steps | Canaries | OneRun


@overload
def audit(target: Audited, /, **asked: Unpack[Asked]) -> Evidence: ...


@overload
def audit(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    inputs: Inputs,
    scores: Sequence[Score | str] | None = None,
    /,
    **asked: Unpack[Asked],
) -> Evidence: ...


def audit(
    what: Audited | str,
    curve: PrivacyCurve | None = None,
    sampler: Auditable | None = None,
    inputs: Inputs | None = None,
    scores: Sequence[Score | str] | None = None,
    /,
    **asked: Unpack[Asked],
) -> Evidence:
    """Return the evidence from an audit of a claimed guarantee, or of a target with its own claim and inputs.

    Samples are drawn until the claim is refuted or the budget is spent. The result depends on the seed, not on the
    number of workers. A false alarm has probability at most ``alpha``, for any scores (docs/notes/audit_betting.md).
    The audit draws about 700 to 2,000 further outputs, which it does not count, to check that the outputs are
    independent. Before it answers "consistent", it draws at most a twentieth of the budget more, to check that the
    outputs depend on the data.

    Args:
        what: the name of the claim; or a target, such as `dpproof.mechanism_target` returns, without the arguments
            ``curve``, ``sampler`` and ``inputs``.
        curve: the claimed guarantee; the audit tests the upper bounds that ``curve.delta(epsilon)`` returns.
        sampler: a function ``f(data, n, rng)`` that returns ``n`` independent outputs, one per row; or
            ``f(data, rng)`` that returns one; or an object with a method ``sample(data, n, rng)``; or a `Mechanism`
            with options, such as `command` returns. Outputs may have any type that `dpproof.audits.data.canonical`
            supports. If ``inputs`` is `Steps`, the sampler starts a training.
        inputs: a pair of `Neighbours`, `WorstOf` or `EachOf` several pairs, `Steps` of a training, or `Canaries`.
        scores: as in `AuditPlan`.
        asked: the seed and any other field of an `AuditPlan`, by its name.

    Raises:
        MechanismError: the mechanism fails, returns NaN or the wrong shape, keeps a state between calls,
            or its outputs are not independent samples.
        NoAuditError: there is nothing to audit for a target, or the target needs a package that is not installed.
        ValueError: an argument is outside its range, or a score is not a number.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> bits = Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1")
    >>> def laplace(value, n, rng):
    ...     return value + rng.laplace(0, 1 / 2, n)
    >>> audit("too little noise", PureDP(1.0), laplace, bits, seed=0).verdict.value
    'violation'
    """
    if isinstance(what, str):
        if curve is None or sampler is None or inputs is None:
            raise TypeError(f"audit ({what!r}) needs a guarantee, a mechanism and its inputs")
        asked["claim"] = what
        what = Call(curve, sampler, inputs)
    if scores is not None:
        asked["scores"] = scores
    plan = AuditPlan(**asked)
    with plan.timed():
        return what.audit(plan)


@dataclass(frozen=True)
class Call:
    """The arguments of one call of `audit`, which the record of the audit can store.

    Attributes:
        curve: the claimed guarantee. With `Varied` inputs, it may be a function of the parameters.
        sampler: the function that returns outputs, or that starts a training.
        inputs: the neighbouring inputs, of any type in `Inputs`.
    """

    fields: ClassVar[Mapping[str, type]] = {"function": str, "arguments": dict}

    curve: Claimed
    sampler: Auditable
    inputs: Inputs

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The plan gives the name of the claim."""
        try:
            found = _run(self.inputs, self.curve, self.sampler, plan)
        except OwnSeedError:
            found = self._one_by_one(plan)
        return found if found.verdict.violated else replace(found, not_covered=(STATE, *found.not_covered))

    def _one_by_one(self, plan: AuditPlan) -> Evidence:
        """Run the audit with one call for each output, so that every output shows what its seed depends on."""
        if isinstance(self.inputs, Varied):
            raise OwnSeedError
        found = _run(self.inputs, self.curve, apart(as_mechanism(self.sampler)), plan)
        return replace(found, not_covered=(TOGETHER, *found.not_covered))

    @classmethod
    def read(cls, how: Told) -> Call:
        """Return the call that ``how``, the record of an earlier audit, describes.

        Raises:
            ValueError: the record names none of `FUNCTIONS`.
        """
        function = how.text("function")
        if function not in FUNCTIONS:
            raise ValueError(f"function ({function!r}) must be one of {sorted(FUNCTIONS)}")
        given = {name: read(value) for name, value in how.table("arguments").items()}
        sampled, inputs = FUNCTIONS[function]
        return cls(given["curve"], given[sampled], inputs(given, how))


TARGET = Call
FUNCTIONS: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Told], Inputs]]] = {
    "audit": ("sampler", lambda given, _how: given["pair"]),
    "audit_each": ("sampler", lambda given, _how: EachOf(given["pairs"])),
    "audit_extremes": ("sampler", lambda given, _how: given["made"]),
    "audit_one_run": (
        "mechanism",
        lambda given, how: OneRun(given["canaries"], how.whole("runs"), _shares(how)),
    ),
    "audit_steps": ("start", lambda given, _how: Steps(given.get("pair"))),
    "audit_varied": ("sampler", lambda given, _how: given["varied"]),
    "audit_worst": ("sampler", lambda given, _how: WorstOf(given["pairs"], given["share"])),
}
"""For each function that the record of an audit may name: its argument for the sampler, and its inputs."""


def _shares(how: Told) -> tuple[float, ...] | None:
    shares = how.data.get("shares")
    return None if shares is None else tuple(cast(Sequence[float], shares))


@singledispatch
def _run(inputs: object, curve: Any, sampler: object, plan: AuditPlan) -> Evidence:
    raise TypeError(f"inputs ({inputs!r:.80}) must be Neighbours, WorstOf, EachOf, Steps, Canaries or OneRun")


@_run.register
def _pair(inputs: Neighbours, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return unless_alike(audit_pair(curve, sampler, inputs, plan), sampler, [inputs], plan)


@_run.register
def _worst(inputs: WorstOf, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_worst(curve, sampler, inputs, plan)


@_run.register
def _each(inputs: EachOf, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_each(curve, sampler, inputs, plan)


@_run.register
def _extremes(inputs: Extremes, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_extremes(curve, sampler, inputs, plan)


@_run.register
def _varied(inputs: Varied, curve: Claimed, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_varied(curve, sampler, inputs, plan, _run)


@_run.register
def _steps(inputs: Steps, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_steps(curve, cast(Callable[[np.random.Generator], Training], sampler), inputs, plan)


@_run.register
def _canaries(inputs: Canaries, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_one_run(curve, sampler, OneRun(inputs), plan)


@_run.register
def _one_run(inputs: OneRun, curve: PrivacyCurve, sampler: Auditable, plan: AuditPlan) -> Evidence:
    return audit_one_run(curve, sampler, inputs, plan)
