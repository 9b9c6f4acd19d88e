"""`verify` returns verdicts on statements of papers, and `check` returns results for the claims of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpproof.accountant.numbers.enclosures import typed
from dpproof.accountant.numbers.written import json_text
from dpproof.answers import as_json
from dpproof.answers.audit import check_ready
from dpproof.answers.claims import ClaimLedger, check_claims, exit_code, recalled
from dpproof.answers.verify import Verified, ids_named
from dpproof.answers.verify import verify as verified
from dpproof.audits.recording.evidence import Evidence
from dpproof.claim_file import Refusal, claim_from, entry_of, read_all
from dpproof.executors import executor_for
from dpproof.first_answer import as_html, of_claims, of_statements
from dpproof.outcome import Outcome


@dataclass(frozen=True, repr=False)
class Verdicts(Verified):
    """The verdicts that `verify` returns. Their certificates (proofs as data) were checked again.

    Printing the object shows the verdicts in words.

    Attributes:
        statements: one `Result` for each statement, with its ``verdict``, ``severity`` and assumptions.
    """

    def __repr__(self) -> str:
        return "\n".join(of_statements(self))

    def _repr_html_(self) -> str:
        return as_html(of_statements(self))

    def to_json(self) -> str:
        """Return the verdicts as JSON text, as ``dpproof verify --json`` prints them."""
        return json_text(as_json.verified(self))

    @classmethod
    def from_json(cls, text: str) -> Verdicts:
        """Read a text from ``to_json``, check its statements again, and return the new verdicts."""
        return verify(*(entry["id"] for entry in json.loads(text)["statements"]))


def verify(*names: str) -> Verdicts:
    """Return the verdicts on statements of papers, after checking their certificates (proofs as data) again.

    Args:
        names: each is ``papers`` for all statements, the name of a paper such as ``rlsvi``, or the id of a statement.

    >>> print(verify("rlsvi.eq2"))
    rlsvi.eq2 is PROVED: Sensitivity of one cell for a fixed next table.

    Raises:
        ValueError: for an unknown name, or none.
    """
    if not names:
        raise ValueError(
            "verify() needs a name. Give 'papers', the name of a paper, or the id of a statement."
        )
    return Verdicts(verified(dict.fromkeys(id for name in names for id in ids_named(name))).statements)


@dataclass(frozen=True, repr=False)
class Checked:
    """The results for the claims of a file, which `check` returns.

    The object counts as true if ``exit_code`` is 0. Printing the object shows the results in words.

    Attributes:
        claims: one object for each claim, with its ``verdict``, ``account`` and ``audit``.
        refusals: the claims that could not be read or run, each with its line and the reason.
    """

    claims: Sequence[ClaimLedger]
    refusals: Sequence[Refusal]

    def __repr__(self) -> str:
        return "\n".join(self._lines)

    def _repr_html_(self) -> str:
        return as_html(self._lines)

    def __bool__(self) -> bool:
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """Exit code of ``dpproof check`` for these results; 0 if no claim was refused or failed."""
        return 2 if self.refusals else exit_code(self.claims)

    @property
    def _lines(self) -> list[str]:
        return of_claims(self.claims, self.refusals, None)

    def to_json(self) -> str:
        """Return the results as JSON text, as ``dpproof check FILE --json`` prints them."""
        claims = [as_json.claim(ledger, entry_of(ledger.claim)) for ledger in self.claims]
        refused = [as_json.refusal(refusal) for refusal in self.refusals]
        return json_text(as_json.envelope({"claims": claims, "refused": refused, "report": None}))

    @classmethod
    def from_json(cls, text: str) -> Checked:
        """Return the results that are stored in a text from ``to_json``.

        This method computes guarantees and verdicts again. It runs no audit, and reads the stored findings.

        Raises:
            ValueError: the text does not come from ``to_json``, a verdict does not follow from the account and
                the finding, or a claim names an event.
        """
        try:
            data = json.loads(text, parse_float=typed)
            return cls(
                [_claim(entry) for entry in data["claims"]], [_refusal(each) for each in data["refused"]]
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"text ({text!r:.40}) must come from to_json: {error!r}") from error


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


def _claim(data: Mapping[str, Any]) -> ClaimLedger:
    audit = None if data["audit"] is None else Evidence.from_json(json.dumps(data["audit"]))
    return recalled(claim_from(data["entry"]), _OUTCOMES[data["verdict"]], audit, data["remarks"])


def _refusal(data: Mapping[str, Any]) -> Refusal:
    return Refusal(
        Path(data["file"]), data["line"], data["place"], data["message"], name=data.get("name", "")
    )


def check(file: str | Path, *, audits: bool = True, seed: int = 0, allow_outside: bool = False) -> Checked:
    """Return the results for the claims of a claim file: certified guarantees and findings of audits.

    If claims name your own functions, first add the folder of the file to ``sys.path``.

    Args:
        file: the claim file, such as ``dpproof.toml``.
        audits: whether implementations are audited, too.
        seed: all randomness derives from this number.
        allow_outside: whether claims may name files outside of the project.

    Raises:
        OSError: the file cannot be read.
        ValueError: no claim of the file can be checked.
    """
    reading = read_all(Path(file), check_ready, outside=allow_outside)
    if not reading.claims:
        refused = "; ".join(map(str, reading.refusals))
        raise ValueError(f"file ({str(file)!r}) has no claim that can be checked: {refused}")
    with executor_for(os.cpu_count() or 1, None) as executor:
        found = check_claims(reading.claims, reading.budget, audited=audits, seed=seed, executor=executor)
    return Checked(found, reading.refusals)
