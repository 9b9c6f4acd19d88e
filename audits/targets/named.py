"""Audits of a function with a name ``package.module:name``, or of a command, that can be replayed from their record.

A replay imports and runs the code that the record of an audit names. Replay only records whose code you trust.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.audits.data.changes import Bounds
from dpproof.audits.data.extremes import Extremes
from dpproof.audits.data.pairs import Neighbours, check_pair
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.errors import LoadError
from dpproof.audits.engine.sampling.alone import timed
from dpproof.audits.engine.sampling.callables import Mechanism, as_mechanism, mechanism
from dpproof.audits.engine.sampling.commands import TIMEOUT, command
from dpproof.audits.engine.varied import Pairs, Varied
from dpproof.audits.engine.worst_pair import WorstOf
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence
from dpproof.audits.target import RUN, Told
from dpproof.audits.targets.call import Call

KIND = "named"

OPTIONS = ("failures", "nan", "seeded", "timeout", "timing")
"""The options that concern the mechanism."""
AUDITED = ("scores", "arithmetic", "bounds", "vary")
"""The options that concern the audit."""

TIMED = "timing must be left out if the parameters vary. Audit one setting of the parameters."
FORM = "must have the form package.module:name. To use a file of data, write a function that loads it, and name it."


def load(target: str, label: str = "name") -> Any:
    """Return the object with the name ``package.module:name``; error messages call the object ``label``.

    Raises:
        LoadError: the object cannot be imported, or does not exist.
        ValueError: the name does not have this form.

    >>> load("math:tau")
    6.28...
    """
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{label} ({target!r}) {FORM}")
    if module.endswith(".py"):
        raise LoadError(
            f"{label} ({target!r}) must name a module, not a file. Leave out .py: {module[:-3]}:{name}"
        )
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise LoadError(f"{label} ({target!r}) cannot be loaded: {error}") from error


@dataclass(frozen=True)
class Named:
    """A claim about a named function or a command, which can be audited and replayed.

    Attributes:
        promise: the claimed guarantee, a dictionary with the keys ``"epsilon"``, or ``"epsilon"`` and ``"delta"``, or
            ``"rho"`` (zCDP), or ``"mu"`` (Gaussian DP).
        adjacency: the neighbouring relation of the claim.
        target: the name ``package.module:callable`` of a function ``(data, n, rng)`` or ``(data, rng)``, or a command
            as a list of texts.
        neighbours: the name ``package.module:name`` of a callable without arguments. It returns two inputs, a
            `Neighbours`, or several pairs, among which the audit searches for the worst; see `pairs_of`.
        data: the name ``package.module:name`` of a data set, or of a callable that returns one; used instead of
            ``neighbours``. The audit makes pairs of neighbouring inputs from the data.
        options: ``failures``, ``nan``, ``seeded`` and ``bounds`` as for `dpproof.audit`; ``timeout`` for a command;
            ``scores``, a list of names from `audits.engine.scores.names`; ``vary``, lists of values of the function's
            parameters; ``timing``, True to count the running time as a part of the output; ``arithmetic``, as in
            `dpproof.accountant.claims.claim.Claim`.
    """

    fields: ClassVar[Mapping[str, type]] = {
        "promise": dict,
        "adjacency": str,
        "neighbours": str,
        "options": dict,
        **RUN,
    }

    promise: Mapping[str, float]
    adjacency: Adjacency
    target: str | Sequence[str]
    neighbours: str
    options: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None

    def audit(self, plan: AuditPlan) -> Evidence:
        """Run the audit, and return the evidence at the delta of the promise.

        Raises:
            MechanismError, InvalidNeighboursError, ValueError: as for `dpproof.audit` and `pairs_of`, or if an option
                is unknown.
        """
        written = self.target if isinstance(self.target, str) else " ".join(self.target)
        stated = Claim(plan.name, written, {}, self.adjacency, self.promise, self.neighbours)
        told = {name: value for name, value in self.options.items() if name not in AUDITED}
        bounds = self.options.get("bounds")
        inputs = inputs_of(self.neighbours, self.data, self.adjacency, bounds)
        scores = self.options.get("scores")
        asked = replace(plan, delta=stated.delta, scores=scores, replay=self._again())
        found = self._call(stated.guarantee, inputs, told).audit(asked)
        return replace(found, arithmetic=self.options.get("arithmetic", found.arithmetic))

    def _call(self, curve: PrivacyCurve, inputs: Pairs, told: Mapping[str, Any]) -> Call:
        vary = self.options.get("vary")
        if vary is None:
            return Call(curve, _made(self.target, told), inputs)
        if not isinstance(self.target, str):
            raise ValueError(f"vary ({vary!r:.60}) must be left out for a command")
        if told.get("timing"):
            raise ValueError(TIMED)
        return Call(curve, load(self.target), Varied(inputs, vary, _without_timing(told)))

    def _again(self) -> dict[str, object]:
        return {
            "audit": KIND,
            "target": self.target if isinstance(self.target, str) else list(self.target),
            "promise": dict(self.promise),
            "adjacency": self.adjacency.value,
            "neighbours": self.neighbours,
            "options": dict(self.options),
            **({} if self.data is None else {"data": self.data}),
        }

    @classmethod
    def read(cls, how: Told) -> Named:
        """Return the target that ``how``, the record of an earlier audit, describes."""
        relation = Adjacency.of(how.text("adjacency"))
        return cls(
            _promise(how.table("promise")),
            relation,
            _argv(how.data.get("target")),
            how.text("neighbours"),
            how.table("options"),
            how.text("data") if "data" in how.data else None,
        )


TARGET = Named


def _promise(values: Mapping[str, object]) -> dict[str, float]:
    return cast(dict[str, float], values)


def _argv(value: object) -> str | list[str]:
    words = value if isinstance(value, list) else [value]
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"target ({value!r}) must be a text or a list of texts")
    return cast(str | list[str], value)


def _made(target: str | Sequence[str], given: Mapping[str, Any]) -> Mechanism:
    made = _untimed(target, _without_timing(given))
    return timed(made) if given.get("timing") else made


def _without_timing(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "timing"}


def _untimed(target: str | Sequence[str], options: Mapping[str, Any]) -> Mechanism:
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise ValueError(f"option ({unknown[0]!r}) must be one of: {', '.join((*OPTIONS, *AUDITED))}")
    if not isinstance(target, str):
        return command(target, **{"timeout": TIMEOUT, **options})
    if "timeout" in options:
        raise ValueError("timeout must be left out for a callable")
    found = load(target)
    return mechanism(getattr(found, "sample", found), **options) if options else as_mechanism(found)


def inputs_of(
    neighbours: str, data: str | None, adjacency: Adjacency, bounds: Bounds | None = None
) -> Neighbours | WorstOf | Extremes:
    """Return the inputs of an audit: the pairs that a named callable returns, or pairs made from named data.

    Raises:
        InvalidNeighboursError, ValueError: as for `pairs_of`, or if the data cannot be loaded.
    """
    if data is not None:
        return Extremes(_data_of(data), adjacency, bounds)
    if bounds is not None:
        raise ValueError(f"bounds ({bounds!r:.60}) must be left out unless data are given")
    pairs = pairs_of(neighbours, adjacency)
    return pairs[0] if len(pairs) == 1 else WorstOf(pairs)


def _data_of(data: str) -> Any:
    """Return the data with this name, or the data that the function with this name returns."""
    found = load(data)
    try:
        return found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"data ({data!r}) must return data, but it raised {type(error).__name__}: {error}"
        ) from error


def pairs_of(neighbours: str, adjacency: Adjacency) -> tuple[Neighbours, ...]:
    """Return the pairs from the named callable, which may return two inputs, a `Neighbours`, or a list of pairs.

    The relation is checked as far as possible; the evidence lists what is assumed.

    Raises:
        InvalidNeighboursError: the inputs are not neighbours, are neighbours under another relation, or are equal.
        ValueError: the callable fails, or returns something else.
    """
    try:
        found = load(neighbours)()
        inputs = (found,) if isinstance(found, Neighbours) else tuple(found)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"neighbours ({neighbours!r}) must return two inputs or a list of pairs: {error}"
        ) from error
    given = [isinstance(one, Neighbours) for one in inputs]
    if len(inputs) == 2 and not any(given):
        inputs = (Neighbours(*inputs, adjacency, neighbours),)
    elif not inputs or not all(given):
        raise ValueError(
            f"neighbours ({neighbours!r}) must return two inputs or a list of pairs, not {len(inputs)} objects"
        )
    for pair in inputs:
        check_pair(pair, adjacency)
    return inputs
