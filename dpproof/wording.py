"""Words for people: numbers, verdicts and what stands beside them, and what an audit is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from dpproof.audits.recording.evidence import Finding

__all__ = [
    "at_least",
    "at_most",
    "beside",
    "figure",
    "many",
    "own_remarks",
    "remarks",
    "verdict_words",
    "worth",
    "would_see",
]

Answer = Mapping[str, Any]


def figure(value: Any) -> str:
    """A number as people read it: seven digits, the string "inf" as it is, a dash for nothing."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.7g}"


def at_least(value: Any) -> str:
    """A lower end, rounded down to what is shown."""
    return _directed(value, ROUND_FLOOR)


def at_most(value: Any) -> str:
    """An upper end, rounded up to what is shown.

    >>> at_most(1.63380955), at_least(1.63380955)
    ('1.633810', '1.633809')
    """
    return _directed(value, ROUND_CEILING)


def _directed(value: Any, rounding: str) -> str:
    if value is None or isinstance(value, str) or value == 0:
        return figure(value)
    return f"{Context(prec=7, rounding=rounding).create_decimal_from_float(value)}"


def verdict_words(entry: Answer, prefix: str = "") -> str:
    """A verdict with its severity, what it assumes, and the number of readings that it rests on.

    >>> verdict_words({"verdict": "PROVED ON A SUBDOMAIN", "assumptions": ["a theorem"], "readings_all": 3})
    'PROVED ON A SUBDOMAIN (given 1 assumption; 3 readings)'
    """
    words = "; ".join(beside(entry, prefix))
    return f"{entry[f'{prefix}verdict']}{f' ({words})' if words else ''}"


def beside(entry: Answer, prefix: str = "") -> list[str]:
    """What stands beside a verdict: severity, the assumptions that its word does not name, readings.

    >>> beside({"verdict": "REFUTED", "severity": "slip", "readings_all": 1})
    ['slip', '1 reading']
    """
    read, assumed = entry.get(f"{prefix}readings_all", 0), entry.get(f"{prefix}assumptions", ())
    hidden = assumed and entry[f"{prefix}verdict"] not in ("PROVED GIVEN", "ASSUMED")
    given = f"given {many(len(assumed), 'assumption')}" if hidden else None
    return [text for text in (entry.get("severity"), given, many(read, "reading") if read else None) if text]


def many(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> many(1, "law"), many(2, "law")
    ('1 law', '2 laws')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def remarks(entry: Answer) -> Sequence[str]:
    """What a verdict needs said beside it: the point, the correction, the assumptions, the domain."""
    return [*own_remarks(entry), *(f"given: {text}" for text in entry["assumptions"])]


def own_remarks(entry: Answer) -> Sequence[str]:
    """The point, the severity, the conjuncts, the correction and the domain, without the assumptions."""
    lines = [f"not as agreed: {text}" for text in entry["changed"]]
    if entry["point"]:
        lines.append("fails at " + ", ".join(f"{name} = {value}" for name, value in entry["point"].items()))
    if entry["severity"]:
        lines.append(f"{entry['severity']}: {entry['severity_why']}")
    lines += [f"{part['id']} is {verdict_words(part)}: {part['title']}" for part in entry["conjuncts"]]
    if entry["corrected_by"]:
        lines.append(f"corrected by {entry['corrected_by']}")
    if entry["domain"]:
        lines.append(f"on {entry['domain']}")
    return lines


def worth(audit: Mapping[str, Any]) -> str:
    """What was found on which pair, and the power that was measured; an empty text after a violation.

    Args:
        audit: as `dpproof.Evidence.as_json` gives it.

    >>> found = {"verdict": "inconclusive", "weakness": "power was not measured: no time", "power": {}}
    >>> worth({**found, "not_covered": [], "witness": {"pair": "0 or 1"}})
    'On the pair that was run (0 or 1) nothing was found, and power was not measured: no time.'
    """
    if not audit.get("power") and not audit.get("weakness"):
        return ""
    pair = f"On the pair that was run ({audit['witness']['pair']})"
    if audit.get("unconfirmed"):
        return f"{pair} {audit['weakness']}."
    opening = f"{pair} {_found(audit['verdict'])}"
    if audit["weakness"]:
        return f"{opening}, and {audit['weakness']}."
    return (
        f"{opening}. On this pair only, violations of twice the claim are seen with power 90 % in these"
        f" classes of events: {_classes(audit['power'])}. Not covered: {'; '.join(audit['not_covered'])}."
    )


def would_see(seen: float | str | None) -> str:
    """The epsilon that an audit would have seen with power 90 %, as people read it.

    >>> would_see(2.0), would_see("inf"), would_see(None)
    ('2', 'not known', '-')
    """
    if seen is None:
        return "-"
    return "not known" if seen in ("inf", math.inf) else f"{seen:.7g}"


def _found(verdict: str) -> str:
    if verdict == Finding.FLOATING_POINT.value:
        return "the low bits of floating-point numbers refute the claim, and nothing was found without them"
    return "nothing was found"


def _classes(power: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} ({_count(found)}, mass at least {found['mass_floor']:g})" for name, found in power.items()
    )


def _count(found: Mapping[str, Any]) -> str:
    return "simulated" if found["seen"] is None else f"{found['seen']} of {found['runs']} planted"
