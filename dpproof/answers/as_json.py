"""Answers as JSON, with the keys that the command line prints and that other programs read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC, PrivacyResult
from dpproof.accountant.numbers.arithmetic import Assumption, listed
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.numbers.written import finite, plain
from dpproof.proofs_check.coq.record import NOT_CHECKED
from dpproof.proofs_check.registry import as_json as result_as_json
from dpproof.version import __version__

if TYPE_CHECKING:
    from dpproof.accountant.numbers.bounds import Bound
    from dpproof.answers.account import Account, Published
    from dpproof.answers.calibration import Alternative, Calibration
    from dpproof.answers.claims import ClaimLedger
    from dpproof.answers.corpus import CaseResult
    from dpproof.answers.number import CheckedNumber
    from dpproof.answers.own_page import OwnPage
    from dpproof.answers.papers import ExpectedAudit, PaperLedger, Shown
    from dpproof.answers.passport import CheckedPassport
    from dpproof.answers.replay import Replayed
    from dpproof.answers.verify import Verified
    from dpproof.audits.engine.bracket import Bracket
    from dpproof.audits.recording.evidence import Evidence
    from dpproof.claim_file import Refusal

Json = dict[str, object]


def envelope(body: Mapping[str, object]) -> Json:
    """Return ``body`` together with the schema number and the version, which every answer contains."""
    return {"schema": 1, "version": __version__, **body}


def account(found: Account) -> Json:
    """Return the answer of ``dpproof account`` as JSON data."""
    if found.result is None or found.rests is None:
        return _account_of_another_library(found)
    return envelope(
        {
            "name": found.name,
            "parameters": found.parameters,
            "adjacency": found.adjacency.value,
            found.asked: found.at,
            **({"parallel": True} if found.result.parallel else {}),
            "trust": found.trust.value,
            "released": found.result.released,
            **_bits(found.result),
            "joint_by": found.result.joint_statement,
            found.quantity: found.bound.as_json(),
            "mechanism": None if found.released is None else found.released.as_json(),
            "published": _published(found.published, found.quantity),
            "statement": found.result.statement,
            "verdict": found.rests.verdict.value,
            "assumptions": list(found.rests.assumptions),
            "readings_all": len(found.rests.readings),
            "laws_all": list(found.rests.laws),
            "notes": list(found.result.notes),
            "sensitivity": _sensitivity(found.result),
            **_printed(found.printed),
            "arithmetic_assumptions": listed(found.arithmetic),
            **({} if found.checked is None else {"check": found.checked.as_json()}),
        }
    )


def _account_of_another_library(found: Account) -> Json:
    return envelope(
        {
            "name": found.name,
            "parameters": found.parameters,
            "adjacency": found.adjacency.value,
            "trust": found.trust.value,
            found.asked: found.at,
            found.quantity: found.bound.as_json(),
            **_bits(None),
            "mechanism": None,
            "published": None,
            "rests_on": found.rests_on,
            "arithmetic_assumptions": listed(found.arithmetic),
        }
    )


def _bits(found: PrivacyResult | None) -> Json:
    """Return whether epsilon covers every released bit, as a flag and in words.

    None stands for other libraries.
    """
    if found is None:
        return {"covers_released_bits": False, "released_bits": IN_REAL_ARITHMETIC}
    return {"covers_released_bits": found.covers_released_bits, "released_bits": found.released_bits}


def _published(found: Published | None, quantity: str) -> Json | None:
    if found is None:
        return None
    return {
        **({} if found.printed is None else {"epsilon": _ends(found.printed)}),
        "statement": found.rests.id,
        "verdict": found.rests.verdict.value,
        "readings_all": len(found.rests.readings),
        f"{quantity}_exact": found.exact.as_json(),
        "exact_statement": found.exact_rests.id,
        "exact_verdict": found.exact_rests.verdict.value,
        "exact_readings_all": len(found.exact_rests.readings),
    }


def _ends(bound: Bound) -> Json:
    return {"lower": finite(bound.lower), "upper": finite(bound.upper)}


def _sensitivity(found: PrivacyResult) -> Json | None:
    """Return the sensitivity and the rule it follows from, or None if no noise is scaled to it."""
    return None if found.sensitivity is None else dict(found.sensitivity.as_json())


def _printed(found: Mapping[str, object] | None) -> Json:
    return {} if found is None else {"printed": plain(found)}


def calibration(found: Calibration) -> Json:
    """Return the answer of ``dpproof calibrate`` as JSON data."""
    others, quantity = found.alternatives, found.asked.quantity.replace(" ", "_")
    return envelope(
        {
            "name": found.accountant.name,
            "parameters": found.chosen.as_json(),
            "adjacency": found.adjacency.value,
            "noise": {"name": found.accountant.noise, "value": found.noise},
            quantity: found.bound.as_json(),
            **_bits(found.result),
            "minimal": {"value_below": found.noise_below, f"{quantity}_lower": finite(found.missed)},
            "published": _published(found.published, "epsilon"),
            "notes": list(found.result.notes),
            "sensitivity": _sensitivity(found.result),
            **_printed(found.printed),
            f"target_{quantity}": float(exact(found.asked.limit)),
            **(
                {found.asked.place.replace(" ", "_"): float(exact(found.asked.at))}
                if found.asked.place
                else {}
            ),
            "arithmetic_assumptions": listed(found.arithmetic),
            **({} if others is None else {"what_if": [_alternative(other) for other in others]}),
            "code": dict(found.code),
        }
    )


def _alternative(found: Alternative) -> Json:
    shown = asdict(found)
    return shown if found.why else {name: value for name, value in shown.items() if name != "why"}


def verified(found: Verified) -> Json:
    """Return the answer of ``dpproof verify`` as JSON data."""
    return envelope(
        {
            "statements": [result_as_json(result) for result in found.statements],
            "readings_all": len(found.readings),
            "laws_all": list(found.laws),
        }
    )


def own_page(found: OwnPage) -> Json:
    """Return the answer of ``dpproof verify FILE.md`` as JSON data."""
    rows = [{"id": x.id, "found": x.text is not None, "reason": x.reason or None} for x in found.claims]
    return envelope({"statements": [result_as_json(found.result, NOT_CHECKED)], "claims": rows})


def passport(found: CheckedPassport) -> Json:
    """Return the answer of ``dpproof verify passport FILE`` as JSON data."""
    return envelope(
        {
            "passport": str(found.path),
            "follows": found.passport is not None,
            "simulated": None if found.passport is None else found.passport.simulated,
            "refusal": found.refusal,
            "fields": found.told,
            "verdict": None if found.rests is None else found.rests.verdict.value,
            "not_checked": list(found.not_checked),
        }
    )


def number(found: CheckedNumber) -> Json:
    """Return the answer of ``dpproof verify FILE.json`` as JSON data."""
    known = found.number
    return envelope(
        {
            "certificate": str(found.path),
            "accepted": known is not None,
            "refusal": found.refusal,
            "deployment": None if found.row is None else found.row.id,
            "kind": None if known is None else known.kind,
            "epsilon": None if known is None else str(known.epsilon),
            "delta": None if known is None else str(known.delta),
            "rests_on": {entry.id: entry.verdict.value for entry in found.rests},
            "assumes": list(found.assumes),
        }
    )


def audits(found: Iterable[Evidence], used: Iterable[Assumption], late: Iterable[str] = ()) -> Json:
    """Return the answer of ``dpproof audit`` as JSON data.

    ``used`` are the assumptions about the machine's arithmetic, and ``late`` names audits that ran out of time.
    """
    names = list(late)
    return envelope(
        {
            "audits": [evidence.as_json() for evidence in found],
            "arithmetic_assumptions": listed(used),
            **({"out_of_time": names} if names else {}),
        }
    )


def bracketed(found: Bracket, used: Iterable[Assumption]) -> Json:
    """Return the answer of ``dpproof audit NAME --bracket`` as JSON data."""
    return envelope({"bracket": found.as_json(), "arithmetic_assumptions": listed(used)})


def replayed(found: Replayed, used: Iterable[Assumption]) -> Json:
    """Return the answer of ``dpproof audit --replay`` as JSON data.

    If the result has changed, the data include the recorded verdict and a sentence on the change.
    """
    changed = {"recorded_verdict": found.recorded, "news": found.news} if found.different else {}
    audit = {**found.evidence.as_json(), **changed}
    return envelope({"audits": [audit], "arithmetic_assumptions": listed(used)})


def case(found: CaseResult) -> Json:
    """Return the result of one case of the audit corpus as JSON data.

    The data have the keys of an audit, and the expected and the found result. If there was no audit, the keys of an
    audit are null. The data contain no times, so equal seeds give equal data.
    """
    known = dict.fromkeys(_KEYS) if found.evidence is None else found.evidence.as_json()
    asked = {"claim": found.name, "expected": found.expected, "found": found.found, "reason": found.reason}
    return {**known, **asked, "error": found.error}


_KEYS = (
    "claim",
    "verdict",
    "claimed_epsilon",
    "epsilon_lower",
    "delta",
    "confidence",
    "samples",
    "would_have_seen",
    "pairs",
    "taken_on_trust",
    "power",
    "not_covered",
    "weakness",
    "witness",
)


def claim(ledger: ClaimLedger, entry: Mapping[str, object]) -> Json:
    """Return one claim of a claim file with its results as JSON data.

    ``entry`` is the claim as it is written in the file.
    """
    return {
        "claim": ledger.claim.name,
        "entry": dict(entry),
        "mechanism": ledger.claim.mechanism,
        "adjacency": ledger.claim.adjacency.value,
        "promise": dict(ledger.claim.promise),
        "verdict": ledger.verdict.value,
        "account": None if ledger.account is None else account(ledger.account),
        "audit": None if ledger.audit is None else ledger.audit.as_json(),
        "remarks": list(ledger.remarks),
    }


def refusal(found: Refusal) -> Json:
    """Return a claim that cannot be checked, with its place in the file and the error, as JSON data."""
    here = Path.cwd()
    file = found.path.relative_to(here) if found.path.is_relative_to(here) else found.path
    place = {"file": str(file), "place": found.place, "line": found.line}
    return {**place, "name": found.name, "message": found.message}


def paper(ledger: PaperLedger) -> Json:
    """Return all results for one paper as JSON data."""
    return {
        "paper": ledger.paper.name,
        "statements": [result_as_json(result) for result in ledger.verified.statements],
        "readings_all": len(ledger.verified.readings),
        "laws_all": list(ledger.verified.laws),
        "account": None if ledger.account is None else account(ledger.account),
        "audits": [_expected(audit) for audit in ledger.audits],
        "departures": list(ledger.departures),
        "experiment": None if ledger.experiment is None else experiment(ledger.experiment),
    }


def experiment(found: Shown) -> Json:
    """Return an experiment of a paper as JSON data. Files are named relative to the project's documents."""
    return {
        "title": found.title,
        "command": found.command,
        "page": None if found.page is None else found.page.name,
        "figures": [f"{path.parent.name}/{path.name}" for path in found.figures],
        "findings": list(found.findings),
    }


def _expected(found: ExpectedAudit) -> Json:
    return {**found.evidence.as_json(), "expected": found.expected.value, "reason": found.reason}
