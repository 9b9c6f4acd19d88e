"""The audit of a basic mechanism of the catalogue (such as Laplace noise) against its accountant's guarantee.

The module of each mechanism defines a pair of neighbouring inputs and a suitable score. The audit runs the code of
`mechanisms`, including its floating-point noise (Gaussian and Laplace noise come from numpy). The audit tests the
released values, not their lowest bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.bracket import Bracket, bracket
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
"""With the default budget, an audit draws about this many random numbers at most."""
FEWEST = 2_000
"""The smallest default budget."""
ABSENT = {
    "compositions": "nothing would be released",
    "steps": "nothing would be released",
    "sensitivity": "neighbouring inputs would be equal",
}
"""Parameters that must not be 0, because there would be nothing to audit, with the reason."""
LENGTHS = ("compositions", "steps")
"""Parameters that multiply the numbers which one run releases."""
LONGEST = 500_000
"""The largest number of compositions or steps in an audit, which draws thousands of runs. More need over 4 GB."""


def _always(_parameters: object) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """The settings of the audit of a basic mechanism: its inputs and its scores.

    Attributes:
        pair: a function from the parameters and the relation to two neighbouring inputs.
        ratio: a function ``ratio(outputs, parameters, first, second)`` that returns the log-likelihood ratio of each
            output; None if it is not known.
        learned: additional scores for outputs of more than one number. Without a ratio, the audit uses only these
            scores, and ``None`` stands for the engine's default scores.
        has_ratio: a function that tells whether ``ratio`` is right with these parameters. If not, only the learned
            scores are used.
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
        """Return the audit of the mechanism.

        Raises:
            NoAuditError: a parameter is 0, so there is nothing to audit, or a run is too long for an audit.
        """
        for field in LENGTHS:
            if (length := getattr(subject.parameters, field, 1)) > LONGEST:
                raise NoAuditError(
                    f"{field} ({length}) must be at most {LONGEST} for an audit of {subject.name}, because it draws "
                    f"thousands of runs. Audit the same claim with fewer {field}."
                )
        for field, why in ABSENT.items():
            if getattr(subject.parameters, field, 1) == 0:
                raise NoAuditError(
                    f"{field} (0) must be above 0 for an audit of {subject.name}; otherwise {why}"
                )
        return Primitive(subject, self)

    def known(self, parameters: object) -> bool:
        """Return whether the likelihood ratio of the outputs is known."""
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
    """The audit of one run of a basic mechanism.

    If the accountant's guarantee has no finite epsilon but a paper states one, the claim is the paper's epsilon.

    Attributes:
        subject: the mechanism, with its parameters and the neighbouring relation.
        setting: the inputs and scores of its audit.
    """

    fields: ClassVar[Mapping[str, type]] = {"name": str, "parameters": dict, "adjacency": str, **RUN}

    subject: Subject
    setting: Setting

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence.

        Unless the plan gives a delta, epsilon is stated at delta 0 if the guarantee has a finite epsilon there, and
        otherwise at delta 1e-6. The default budget is ``setting.samples``, or less if an output has many numbers.
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
        """Return the audit that ``how``, the record of an earlier audit, describes."""
        parameters = accountant_for(how.text("name")).parameters.read(how.table("parameters"))
        return mechanism_target(Subject(how.text("name"), parameters, Adjacency.of(how.text("adjacency"))))


TARGET = Primitive


def bracketed(subject: Subject, delta: float | None = None, **options: Any) -> Bracket:
    """Return a certified upper and a measured lower bound on epsilon for a mechanism of the catalogue.

    Args:
        subject: the mechanism, with its parameters and the neighbouring relation.
        delta: the delta at which epsilon is stated; unless given, as in `Primitive.audit`.
        options: those of `dpproof.audits.engine.bracket.bracket`.

    Raises:
        NoAuditError: the likelihood ratio of the outputs is not known, or there is nothing to audit.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> about = Subject("gaussian", GaussianParameters(4.0), Adjacency.BY_SENSITIVITY)
    >>> bracketed(about, 1e-5, samples=20_000).violated
    False
    """
    audited = mechanism_target(subject)
    ratio = audited.setting.ratio if isinstance(audited, Primitive) else None
    if not isinstance(audited, Primitive) or ratio is None or not audited.setting.known(subject.parameters):
        raise NoAuditError(
            f"mechanism ({subject.name!r}) has no known likelihood ratio, which a measured lower bound beside the "
            "certified upper one needs. Audit it without --bracket."
        )
    setting, parameters = audited.setting, subject.parameters
    mechanism = mechanisms.Primitive(subject.name, parameters)
    pair = setting.pair(parameters, subject.adjacency)
    exact = partial(_applied, ratio=ratio, parameters=parameters, first=pair.first, second=pair.second)
    stated = _stated(mechanism.account(subject.adjacency).guarantee) if delta is None else delta
    return bracket(
        subject.name, parameters, subject.adjacency, mechanism.sample, pair, exact, delta=stated, **options
    )


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
