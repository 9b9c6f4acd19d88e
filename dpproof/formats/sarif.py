"""SARIF 2.1.0 (OASIS standard), which code-scanning pages show next to the lines of a claim file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from dpproof.accountant.numbers.written import json_text
from dpproof.formats.findings import Reported
from dpproof.outcome import Outcome
from dpproof.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SIGNS = re.compile(r"[\\\[\]]")
"""Characters that begin, end or escape a link in a message."""


def sarif(findings: Sequence[Reported]) -> str:
    """Return the results as SARIF: JSON text with one run of this tool."""
    rules = list(Outcome)
    driver = {
        "name": "dpproof",
        "version": __version__,
        "rules": [
            {"id": _identity(rule), "shortDescription": {"text": rule.rule}, "name": _camel(rule)}
            for rule in rules
        ],
    }
    results = [_result(finding, rules.index(finding.rule)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _identity(rule: Outcome) -> str:
    return "-".join(_words(rule))


def _words(rule: Outcome) -> list[str]:
    return re.findall(r"\w+", rule.value)


def _camel(rule: Outcome) -> str:
    return "".join(word.capitalize() for word in _words(rule))


def _result(finding: Reported, index: int) -> dict[str, Any]:
    return {
        "ruleId": _identity(finding.rule),
        "ruleIndex": index,
        "kind": finding.rule.level.kind,
        "level": finding.rule.level.severity,
        "message": {"text": _plain(f"{finding.name}: {finding.message}")},
        "partialFingerprints": {"claim/v1": hashlib.sha256(finding.name.encode()).hexdigest()},
        **_location(finding),
    }


def _plain(text: str) -> str:
    r"""Return text from outside with placeholders and links escaped (SARIF 2.1.0, 3.11.5 and 3.11.6).

    >>> _plain(r"[x](y) {0}")
    '\\[x\\](y) {{0}}'
    """
    return SIGNS.sub(r"\\\g<0>", text).replace("{", "{{").replace("}", "}}")


def _location(finding: Reported) -> dict[str, Any]:
    if finding.file is None:
        return {}
    region = {} if finding.line is None else {"region": {"startLine": finding.line}}
    place = {"artifactLocation": {"uri": _uri(PurePath(finding.file))}, **region}
    return {"locations": [{"physicalLocation": place}]}


def _uri(path: PurePath) -> str:
    """Return a file as a URI reference.

    A relative path stays relative, so that it is valid in every checkout.
    """
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
