"""What an audit that refuted nothing is worth, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpproof.audits.recording.evidence import Finding

__all__ = ["worth", "would_see"]


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
