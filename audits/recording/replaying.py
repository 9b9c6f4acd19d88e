"""Replay: run an audit again from its witness (its record), and check that the result is the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import read, written
from dpproof.audits.target import Told, target
from dpproof.audits.time_budget import ending_where

STATED = ("claim", "verdict", "seed", "alpha", "delta")
"""The keys of a witness (the record of an audit) that a replay compares if no seed determines the randomness."""

ROOM = 4
"""The factor by which a second replay has a larger budget, if no seed determines the randomness and the first replay
does not confirm a violation. Both replays hold the level of the witness, so a sound mechanism is called a violation
again with at most twice this probability."""

UNCONFIRMED = ("verdict", "unconfirmed")
"""The keys that may differ if time was too short to confirm a violation, because a replay may confirm it."""


class ReplayError(ValueError):
    """Raised when a witness (the record of an audit) cannot be replayed, or when its replay has another result.

    Attributes:
        found: the evidence of the replay; None if the replay did not run.
        different: the keys in which the old and the new witness differ.
    """

    def __init__(self, text: str, found: Evidence | None = None, different: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.found, self.different = found, tuple(different)


def replay(
    witness: Mapping[str, object] | Evidence | str | PathLike[str],
    run: Callable[[Mapping[str, object]], Evidence] | None = None,
) -> Evidence:
    """Run the audit of a witness again, and return the new evidence if the new witness equals the old one.

    Stored arguments are equal if they have the same meaning: a field that a later version added has its default.

    A witness holds the data that an audit recorded. If the mechanism has randomness of its own, which no seed
    determines, the replay has other noise, and only the verdict and the settings (`STATED`) are compared. If this noise
    does not confirm a violation, the audit runs once more with `ROOM` times the budget.

    Args:
        witness: the evidence of an audit, or the value under ``"witness"`` in `Evidence.as_json`, or the path of a
            file with a witness or with the text of `Evidence.to_json`.
        run: a function that runs the audit again, for mechanisms without a name in dpproof. Its argument is the
            witness, from which it takes ``seed``, ``delta``, ``alpha`` and ``witness["replay"]["budget"]``.

    Raises:
        ReplayError: the witness does not describe how to run the audit, or the new witness differs.
    """
    witness = _read(witness)
    again, last = _again if run is None else run, _how(witness).get("last")
    if last is not None and type(last) is not int:
        raise ReplayError(f"witness: last ({last!r}) must be a whole number of samples")
    with ending_where(last):
        evidence = again(witness)
        if _may_need_more(witness, evidence):
            evidence = again(_with_room(witness))
    given, found = _plain(_current(witness)), _plain(evidence.witness())
    seeded = given.get("replay", {}).get("seeded", True)
    compared = given.keys() | found.keys() if seeded else STATED
    open_ = UNCONFIRMED if given.get("unconfirmed") else ()
    different = sorted(key for key in compared if given.get(key) != found.get(key) and key not in open_)
    if different:
        key = different[0]
        raise ReplayError(
            f"witness: {', '.join(different)} came out differently. "
            f"Now {key} is {found.get(key)!r}, but the witness says {given.get(key)!r}.",
            evidence,
            different,
        )
    return evidence


def _read(given: Mapping[str, object] | Evidence | str | PathLike[str]) -> Mapping[str, object]:
    """Return the witness of an evidence, of a file, or of a mapping that holds one."""
    if isinstance(given, Evidence):
        return given.witness()
    if not isinstance(given, Mapping):
        given = json.loads(Path(given).read_text(encoding="utf-8"))
    if not isinstance(given, Mapping):
        raise ReplayError("witness: The file must contain a JSON object.")
    return cast(Mapping[str, object], given.get("witness", given))


def _how(witness: Mapping[str, object]) -> Mapping[str, object]:
    return cast(Mapping[str, object], witness.get("replay", {}))


def _may_need_more(witness: Mapping[str, object], found: Evidence) -> bool:
    """Return whether noise that no seed determines did not confirm a violation."""
    how, said = _how(witness), witness.get("verdict")
    lost = said != found.verdict.value and said in [one.value for one in Finding if one.violated]
    return lost and not how.get("seeded", True) and type(how.get("budget")) is int


def _with_room(witness: Mapping[str, object]) -> Mapping[str, object]:
    """Return the witness with a budget that is `ROOM` times as large."""
    how = dict(_how(witness))
    return {**witness, "replay": {**how, "budget": ROOM * cast(int, how["budget"])}}


def _again(witness: Mapping[str, object]) -> Evidence:
    """Run the plan of a witness on the target that the witness names."""
    how = _how(witness)
    try:
        found = target(how.get("audit"))
    except ValueError as error:
        raise ReplayError(
            f"witness: {str(error).removesuffix('.')}. For an audit of your own, give run: a function "
            "that repeats the audit."
        ) from error
    return found.read(Told(how)).audit(AuditPlan.of_witness(witness))


def _current(witness: Mapping[str, object]) -> Mapping[str, object]:
    """Return the witness with its arguments as this version writes them, with the fields that an older one lacks."""
    how = _how(witness)
    arguments = how.get("arguments")
    if not isinstance(arguments, Mapping):
        return witness
    current = {name: written(read(value)) for name, value in arguments.items()}
    return {**witness, "replay": {**how, "arguments": current}}


def _plain(witness: Mapping[str, object]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(witness))
    return plain
