"""Verdicts, derived from re-checked certificates and never typed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from proofs_check.kernel import Outcome
from proofs_check.statement import Statement

__all__ = ["Method", "Result", "Verdict", "derive"]


class Verdict(Enum):
    """What is known about a statement; exactly one of six."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    SUBDOMAIN = "PROVED ON A SUBDOMAIN"
    GIVEN = "PROVED GIVEN"
    ASSUMED = "ASSUMED"
    OPEN = "OPEN"


class Method(Enum):
    """How a verdict was reached, strongest first."""

    SYMBOLIC = "SYMBOLIC-EXACT"
    KERNEL = "KERNEL-CERTIFIED"


@dataclass(frozen=True)
class Result:
    """A statement's verdict with everything it rests on."""

    id: str
    kind: str
    title: str
    verdict: Verdict
    method: Method | None
    certificates: tuple[str, ...]
    depends_on: tuple[str, ...]
    assumptions: tuple[str, ...]
    domain: str | None
    point: Mapping[str, str] | None
    corrected_by: str | None
    not_covered: str
    parts: tuple[str, ...]


_EXACT = frozenset({"identity", "sos", "positive", "subst", "split"})
_ORDER = (Verdict.REFUTED, Verdict.OPEN, Verdict.SUBDOMAIN, Verdict.GIVEN, Verdict.ASSUMED, Verdict.PROVED)


def derive(
    statement: Statement,
    outcomes: Sequence[tuple[str, Outcome | None]],
    below: Mapping[str, Result],
) -> Result:
    """The verdict of ``statement`` from its checked certificates and from what it rests on.

    Args:
        statement: what is claimed.
        outcomes: for each obligation its certificate's path and the kernel's outcome, or None if rejected.
        below: the results of the statements in ``parts`` and ``rests_on``.
    """
    return _from_parts(statement, below) if statement.parts else _from_proof(statement, outcomes, below)


def _result(statement: Statement, verdict: Verdict, below: Mapping[str, Result]) -> Result:
    return Result(
        statement.id, statement.kind, statement.title, verdict, None, (),
        statement.rests_on, _assumptions(statement, below), statement.domain, None,
        statement.corrected_by, statement.not_covered, statement.parts,
    )  # fmt: skip


def _assumptions(statement: Statement, below: Mapping[str, Result]) -> tuple[str, ...]:
    inherited = [text for result in below.values() for text in result.assumptions]
    own = [statement.reason] if statement.reason and statement.kind != "definition" else []
    return tuple(dict.fromkeys([*own, *statement.rules, *inherited]))


def _from_parts(statement: Statement, below: Mapping[str, Result]) -> Result:
    parts = [below[name] for name in statement.parts]
    found = {part.verdict for part in parts}
    base = _result(statement, next(v for v in _ORDER if v in found), below)
    methods = [part.method for part in parts if part.method]
    return replace(
        base,
        method=_weakest(methods),
        certificates=tuple(dict.fromkeys(path for part in parts for path in part.certificates)),
        depends_on=tuple(dict.fromkeys(name for part in parts for name in part.depends_on)),
        domain=base.domain or next((part.domain for part in parts if part.domain), None),
        point=next((part.point for part in parts if part.point), None),
        corrected_by=base.corrected_by
        or next((part.corrected_by for part in parts if part.corrected_by), None),
    )


def _weakest(methods: Sequence[Method]) -> Method | None:
    return (Method.KERNEL if Method.KERNEL in methods else Method.SYMBOLIC) if methods else None


def _from_proof(
    statement: Statement, outcomes: Sequence[tuple[str, Outcome | None]], below: Mapping[str, Result]
) -> Result:
    accepted = [outcome for _, outcome in outcomes if outcome]
    complete = len(accepted) == len(outcomes)
    point = next((outcome.point for outcome in accepted if outcome.point is not None), None)
    methods = [Method.SYMBOLIC if outcome.leaves <= _EXACT else Method.KERNEL for outcome in accepted]
    base = _result(statement, _proof_verdict(statement, complete, point is not None, below), below)
    paths = tuple(path for path, outcome in outcomes if outcome)
    return replace(base, method=_weakest(methods), certificates=paths, point=point)


def _proof_verdict(
    statement: Statement, complete: bool, refuted: bool, below: Mapping[str, Result]
) -> Verdict:
    supports = {result.verdict for result in below.values()}
    if refuted:
        return Verdict.REFUTED
    if not complete or supports & {Verdict.REFUTED, Verdict.OPEN}:
        return Verdict.OPEN
    if not statement.obligations:
        return Verdict.ASSUMED if statement.reason else Verdict.OPEN
    if statement.domain or Verdict.SUBDOMAIN in supports:
        return Verdict.SUBDOMAIN
    return Verdict.GIVEN if _assumptions(statement, below) else Verdict.PROVED
