"""The audit of one release of a primitive of the catalogue, against the guarantee of its accountant.

The module of each primitive defines a hard pair of inputs and a suitable score. The audit runs the code of
`mechanisms`, including its floating-point noise (Gaussian and Laplace noise come from numpy). It tests the
released values, not their lowest bits.
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
"""The approximate largest number of drawn numbers with the default budget."""
FEWEST = 2_000
"""The smallest default budget."""
ABSENT = {
    "compositions": "nothing would be released",
    "steps": "nothing would be released",
    "sensitivity": "neighbouring inputs would be equal",
}
"""Parameters with which there is nothing to audit if they are 0, and the reason."""


def _always(_parameters: object) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """The settings with which a primitive is audited.

    Attributes:
        pair: function from parameters and relation to the hard pair.
        ratio: the log-likelihood ratio of the stated distribution, ``ratio(outputs, parameters, first, second)``.
        learned: additional scores for outputs of more than one number. Without a ratio these are all scores, and
            ``None`` stands for the engine's default scores.
        has_ratio: whether the ratio is that of the output distribution with these parameters; if not, only the
            learned scores are used.
        samples: the largest default budget.
    """

    pair: Callable[..., Neighbours]
    ratio: Callable[..., Floats] | None = None
    learned: tuple[Score, ...] | None = (LinearDiscriminant(ridge=None),)
    has_ratio: Callable[[object], bool] = _always
    samples: int = BUDGET

    @property
    def relations(self) -> tuple[Adjacency, ...]:
        """An empty tuple, which stands for all relations of the accountant."""
        return ()

    def of(self, subject: Subject) -> Primitive:
        """Return the audit of the primitive.

        Raises:
            NoAuditError: a parameter is 0, so there is nothing to audit.
        """
        for field, why in ABSENT.items():
            if getattr(subject.parameters, field, 1) == 0:
                raise NoAuditError(
                    f"{field} (0) must be above 0 for an audit of {subject.name}; otherwise {why}"
                )
        return Primitive(subject, self)

    def known(self, parameters: object) -> bool:
        """Whether the likelihood ratio of the outputs is known."""
        return self.ratio is not None and self.has_ratio(parameters)

    def scores(self, parameters: object, pair: Neighbours, width: int) -> tuple[Score, ...] | None:
        """Return the scores for outputs of ``width`` numbers; None for the engine's default scores."""
        if self.ratio is None or not self.known(parameters):
            return self.learned
        exact = partial(
            _applied, ratio=self.ratio, parameters=parameters, first=pair.first, second=pair.second
        )
        return LogLikelihoodRatio(exact), *((self.learned or ()) if width > 1 else ())


def _applied(
    outputs: object, *, ratio: Callable[..., Floats], parameters: object, first: object, second: object
) -> Floats:
    """Return the ratio in single precision, because the last bits of doubles reveal the lowest bits of outputs.

    In double precision, floating-point Laplace noise is refuted within a thousand samples.
    """
    return np.asarray(ratio(outputs, parameters, first, second), np.float32).astype(np.float64)


@dataclass(frozen=True)
class Primitive:
    """The audit of one release of a primitive.

    If the accountant's guarantee has no finite epsilon but a paper states one, the claim is the paper's epsilon.

    Attributes:
        subject: the mechanism.
        setting: the settings of its audit.
    """

    fields: ClassVar[Mapping[str, type]] = {"name": str, "parameters": dict, "adjacency": str, **RUN}

    subject: Subject
    setting: Setting

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        Unless the plan gives a delta, epsilon is stated at delta 0 for a pure guarantee and at 1e-6 for any other. The
        default budget is that of the setting, or less if an output has many numbers.
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
        """Restore the audit from a witness."""
        parameters = accountant_for(how.text("name")).parameters.read(how.table("parameters"))
        return mechanism_target(Subject(how.text("name"), parameters, Adjacency.of(how.text("adjacency"))))


TARGET = Primitive


def _claimed(found: PrivacyResult, delta: float | None) -> PrivacyCurve:
    """Return the guarantee, or the paper's claim if only this has a finite epsilon at delta."""
    stated = _stated(found.guarantee) if delta is None else delta
    if found.published is None or math.isfinite(found.guarantee.epsilon(stated).upper):
        return found.guarantee
    printed = found.published.epsilon(stated).upper
    return ApproxDP(printed, stated) if math.isfinite(printed) else found.guarantee


def _stated(claimed: PrivacyCurve) -> float:
    """Return the default delta at which epsilon is stated."""
    return 0.0 if math.isfinite(claimed.epsilon(0.0).upper) else DELTA
