"""JUnit XML, which continuous integration shows as tests. Each claim is one test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from dpproof.formats.findings import Reported
from dpproof.outcome import Level

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML 1.0 document may not contain, even if they are escaped."""


def junit(findings: Sequence[Reported]) -> str:
    """Return the results as JUnit XML with one test suite.

    A claim that cannot be checked or certified is an error, not a failure.
    """
    count = [finding.rule.level for finding in findings].count
    totals = {
        "tests": str(len(findings)),
        "failures": str(count(Level.FAILURE)),
        "errors": str(count(Level.ERROR)),
        "skipped": str(count(Level.NOTHING) + count(Level.TOLERATED)),
    }
    suites = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "dpproof", **totals})
    for finding in findings:
        _case(suite, finding)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, finding: Reported) -> None:
    where = finding.file or "dpproof"
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": _legal(where), "name": _legal(finding.name)}
    )
    text = _legal(finding.message)
    if finding.rule.level in (Level.PASS, Level.RECORDED):
        ElementTree.SubElement(case, "system-out").text = text
        return
    if finding.rule.level in (Level.NOTHING, Level.TOLERATED):  # neither passed nor failed
        ElementTree.SubElement(case, "skipped", {"message": _legal(finding.rule.value)}).text = text
        return
    place = {} if finding.line is None else {"message": f"{where}:{finding.line}: {finding.rule.value}"}
    said = {"type": finding.rule.value, "message": finding.rule.value, **place}
    ElementTree.SubElement(
        case, finding.rule.level.value, {k: _legal(v) for k, v in said.items()}
    ).text = text


def _legal(text: str) -> str:
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
