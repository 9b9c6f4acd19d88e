"""The audit of a training function with a name ``package.module:name``, which can be replayed from its record.

The name stands for ``functools.partial(audit_training, train, model, records)``, with the loss and other settings. The
claim, the attack and the seed come from the command line, or from the record. A replay imports and runs the code that
the record names. Replay only records whose code you trust.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import Told
from dpproof.audits.targets.named import load
from dpproof.audits.training.audited import Attack, AuditedTraining

KIND = "named training"
DELTA = 1e-5
_RULE = "must be the name of functools.partial(audit_training, train, model, records)"


@dataclass(frozen=True)
class NamedTraining:
    """A claim about a named training function, which can be audited and replayed.

    Attributes:
        training: the name.
        attack: how the audit tells neighbouring datasets apart.
        claim: the training that the accountant accounts for.
    """

    fields: ClassVar[Mapping[str, type]] = {"training": str, "attack": str, "parameters": dict}

    training: str
    attack: Attack
    claim: DPSGDParameters

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence. The budget is the number of trainings, unless there is only one.

        Raises:
            LoadError: the name cannot be imported.
            ValueError: the name stands for something else, or an argument is outside its range.
        """
        budget = {} if plan.budget is None else {"budget": plan.budget}
        trainings = {} if plan.budget is None else {"trainings": plan.budget}
        again = {"training": self.training, "attack": self.attack.value, "parameters": self.claim.as_json()}
        found = self._found(
            attack=self.attack,
            claim=self.claim,
            seed=plan.seed,
            alpha=plan.alpha,
            delta=DELTA if plan.delta is None else plan.delta,
            **trainings,
        )
        return found.evidence(plan.claim or self.training, {"audit": KIND, **again, **budget})

    def _found(self, **asked: Any) -> AuditedTraining:
        named = load(self.training, "training")
        try:
            inspect.signature(named).bind(**asked)
        except (TypeError, ValueError) as error:
            raise ValueError(f"training ({self.training!r}) {_RULE} ({error})") from error
        found = named(**asked)
        if not isinstance(found, AuditedTraining):
            raise ValueError(f"training ({self.training!r}) {_RULE}, but it returned {type(found).__name__}")
        return found

    @classmethod
    def read(cls, how: Told) -> NamedTraining:
        """Return the training and its claim from ``how``, the record of an earlier audit."""
        parameters = DPSGDParameters.read(how.table("parameters"))
        return cls(how.text("training"), Attack(how.text("attack")), parameters)


TARGET = NamedTraining
