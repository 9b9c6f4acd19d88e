"""The audit of one release of a primitive of the catalogue, against its accountant's own guarantee.

The leaf of each primitive names a hard pair of inputs and a suitable score. The audit runs the code of
`mechanisms`, including its floating-point noise: Gaussian and Laplace noise is numpy's. It looks at the
released values, not at their lowest bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.callables import Mechanism
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import LogLikelihoodRatio, Score
from dpproof.audits.plan import BUDGET, AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Audited, Subject, Told, mechanism_target
from dpproof.mechanisms import primitives as mechanisms

KIND = "primitive"
Floats = NDArray[np.float64]
DELTA = 1e-6
NUMBERS = 50_000_000
"""The default budget draws at most about so many numbers."""
FEWEST = 2_000
"""The default budget is at least this."""
ABSENT = {
    "compositions": "nothing is released",
    "steps": "nothing is released",
    "sensitivity": "nothing moves",
}
"""Parameters that leave nothing to audit where they are 0, and why."""


def _always(_parameters: object) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """The settings with which a primitive is audited.

    Attributes:
        pair: the hard pair, from parameters and relation.
        ratio: the log-likelihood ratio of the stated law, ``ratio(outputs, parameters, first, second)``.
        learned: scores besides it, for outputs of more than one number; where there is no ratio, all of
            them, and ``None`` for those of the engine.
        has_ratio: whether the law of outputs with these parameters is the ratio's; else scores are learned.
        samples: the default budget, at most.
    """

    pair: Callable[..., Neighbours]
    ratio: Callable[..., Floats] | None = None
    learned: tuple[Score, ...] | None = (LinearDiscriminant(ridge=None),)
    has_ratio: Callable[[object], bool] = _always
    samples: int = BUDGET

    @property
    def relations(self) -> tuple[Adjacency, ...]:
        """Any that the accountant proves something of."""
        return ()

    def of(self, subject: Subject) -> Primitive:
        """The primitive, if there is something to audit.

        Raises:
            NoAuditError: a parameter leaves nothing to tell apart.
        """
        for field, why in ABSENT.items():
            if getattr(subject.parameters, field, 1) == 0:
                raise NoAuditError(f"{field} (0) must be above 0 for an audit of {subject.name}: {why}")
        return Primitive(subject, self)

    def known(self, parameters: object) -> bool:
        """Whether the likelihood ratio of the outputs is known."""
        return self.ratio is not None and self.has_ratio(parameters)

    def scores(self, parameters: object, pair: Neighbours, width: int) -> tuple[Score, ...] | None:
        """The scores for outputs of ``width`` numbers."""
        if self.ratio is None or not self.known(parameters):
            return self.learned
        exact = partial(
            _applied, ratio=self.ratio, parameters=parameters, first=pair.first, second=pair.second
        )
        return LogLikelihoodRatio(exact), *((self.learned or ()) if width > 1 else ())


def _applied(
    outputs: object, *, ratio: Callable[..., Floats], parameters: object, first: object, second: object
) -> Floats:
    """The ratio in single precision, because the last bits of doubles would show the lowest bits of outputs.

    With them, floating-point Laplace noise is refuted within a thousand samples.
    """
    return np.asarray(ratio(outputs, parameters, first, second), np.float32).astype(np.float64)


@dataclass(frozen=True)
class Primitive:
    """One release of a primitive.

    If its guarantee has no finite epsilon but a paper prints one, the claim is the printed one.

    Attributes:
        subject: the mechanism.
        setting: how it is audited.
    """

    fields: ClassVar[Mapping[str, type]] = {"name": str, "parameters": dict, "adjacency": str, **RUN}

    subject: Subject
    setting: Setting

    def audit(self, plan: AuditPlan) -> Evidence:
        """The evidence.

        Epsilon is stated at 0 for a pure guarantee and at 1e-6 for any other, unless the plan says where; the
        budget is the setting's, or less where an output has many numbers.
        """
        about, setting = self.subject, self.setting
        mechanism = mechanisms.Primitive(about.name, about.parameters)
        claimed = (
            _claimed(mechanism.account(about.adjacency), plan.delta) if about.curve is None else about.curve
        )
        pair = setting.pair(about.parameters, about.adjacency)
        width = mechanism.sample(pair.first, 1, np.random.default_rng(0)).size
        most = max(FEWEST, min(setting.samples, NUMBERS // width))
        asked = replace(
            plan,
            claim=about.name if plan.claim is None else plan.claim,
            scores=setting.scores(about.parameters, pair, width),
            delta=_stated(claimed) if plan.delta is None else plan.delta,
            budget=most if plan.budget is None else plan.budget,
            replay=self._again() if about.curve is None else plan.replay,
            known_ratio=setting.known(about.parameters),
        )
        return audit_pair(claimed, Mechanism(mechanism.sample), pair, asked)

    def _again(self) -> dict[str, object]:
        about = self.subject
        told = {"audit": KIND, "name": about.name, "parameters": about.parameters.as_json()}
        return {**told, "adjacency": about.adjacency.value}

    @classmethod
    def read(cls, how: Told) -> Audited:
        """The primitive of a witness."""
        parameters = accountant_for(how.text("name")).parameters.read(how.table("parameters"))
        return mechanism_target(Subject(how.text("name"), parameters, Adjacency.of(how.text("adjacency"))))


TARGET = Primitive


def _claimed(found: PrivacyResult, delta: float | None) -> PrivacyCurve:
    """The guarantee; the printed claim where only that promises anything at delta."""
    stated = _stated(found.guarantee) if delta is None else delta
    if found.published is None or math.isfinite(found.guarantee.epsilon(stated).upper):
        return found.guarantee
    printed = found.published.epsilon(stated).upper
    return ApproxDP(printed, stated) if math.isfinite(printed) else found.guarantee


def _stated(claimed: PrivacyCurve) -> float:
    """Where epsilon is stated unless somebody asks elsewhere."""
    return 0.0 if math.isfinite(claimed.epsilon(0.0).upper) else DELTA
