"""Replay of a witness: the audit that a JSON record of a finding describes is run again.

A replay gives the same finding as before, news, or an error. News means that the audited code has changed and gives
another result; the news states whether the violation is gone. An error means that the file is broken: the question
(`ASKED`) differs, or only the verdict differs. The verdict follows from the figures, so it cannot change alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpproof.answers import audit as auditing
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.replaying import ReplayError
from dpproof.audits.target import target

ASKED = ("claim", "pair", "seed", "alpha", "delta", "replay")
"""Keys of a witness (the record of a finding) that describe the audit and not its result."""
VIOLATIONS = tuple(verdict.value for verdict in Finding if verdict.violated)
"""Findings that refute a claim."""


@dataclass(frozen=True)
class Replayed:
    """The result of running a recorded audit again.

    Attributes:
        evidence: the finding of the new audit.
        recorded: the verdict that is stored in the witness.
        different: the keys of the witness whose values have changed.
    """

    evidence: Evidence
    recorded: str
    different: tuple[str, ...] = ()

    @property
    def news(self) -> str | None:
        """One line on what has changed since the witness was written, or None if nothing has changed."""
        found = self.evidence.verdict.value
        if not self.different:
            return None
        if found not in VIOLATIONS:
            return (
                f"no longer a violation on the recorded pair: the audit that found one is now {found}. "
                "Audit again to search all pairs"
            )
        if self.recorded in VIOLATIONS and not self.evidence.fails:
            return f"no longer a violation of a claim about real arithmetic: the audit that found one is now {found}"
        if self.recorded in VIOLATIONS:
            changed = ", ".join(self.different)
            return f"still a violation, by an implementation that has changed: {changed} came out differently"
        return f"now a violation: the audit that was {self.recorded} finds one"


def replayed(witness: Mapping[str, Any]) -> Replayed:
    """Repeat the audit that a witness (the record of a finding) describes, and return the result.

    Raises:
        ReplayError: the witness is broken, or does not say how to repeat the audit. Or the new result differs in a
            way that no change of a user's code explains, for example if the audited code belongs to this project, or
            if neither audit found a violation.
        ValueError: as for `dpproof.answers.audit.replay`.
    """
    recorded = str(witness.get("verdict"))
    try:
        return Replayed(auditing.replay(witness), recorded)
    except ReplayError as error:
        if error.found is None or not _is_news(witness, error.found, error.different):
            raise
        return Replayed(error.found, recorded, error.different)


def _is_news(witness: Mapping[str, Any], found: Evidence, different: tuple[str, ...]) -> bool:
    """Return whether a difference is news: a violation in a user's implementation that has changed."""
    known = found.witness().keys() - set(ASKED)
    verdicts = {witness.get("verdict"), found.verdict.value}
    seeded = witness["replay"].get("seeded", True)
    alone = seeded and set(different) == {"verdict"}
    return (
        _of_a_user(witness["replay"])
        and set(different) <= known
        and not verdicts.isdisjoint(VIOLATIONS)
        and not alone
    )


def _of_a_user(how: Mapping[str, Any]) -> bool:
    """Whether the audited code is a user's callable, command or training, which may change between replays."""
    claim = how.get("claim")
    mechanism = str(claim.get("mechanism", ":")) if isinstance(claim, Mapping) else ""
    return how["audit"] in ("named", "named training") or ":" in mechanism


def replayed_file(path: Path) -> Replayed:
    """Repeat the audit that the witness in a JSON file describes, and return the result.

    Raises:
        ValueError: the file is no witness, or a broken one.
    """
    try:
        return replayed(_checked(json.loads(path.read_text(encoding="utf-8"))))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path}: The file is not a witness that can be replayed: {error}") from error


_WITNESS = {"verdict": str, "seed": int, "alpha": float, "delta": float, "replay": dict}
_CLAIM = {"claim": dict, "budget": int, "sharpen": bool}
"""Fields, with their types, in the witness of a claim in a claim file."""


def _checked(witness: Any) -> Mapping[str, Any]:
    """Return a witness after checking the types of the fields that a replay reads."""
    if not isinstance(witness, dict):
        raise ValueError("The witness must be a JSON object.")
    _check_types(witness, _WITNESS)
    kind = witness["replay"].get("audit")
    _check_types(witness["replay"], _CLAIM if kind == "claim" else target(kind).fields)
    return witness


def _check_types(table: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        if type(table.get(name)) is not kind:
            raise ValueError(f"{name} ({table.get(name)!r}) must be of type {kind.__name__}")
