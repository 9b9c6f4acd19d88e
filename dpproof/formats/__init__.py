"""The results of a check in the formats of other tools: SARIF, JUnit, a Markdown summary."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dpproof.accountant.numbers.written import write_whole
from dpproof.formats.findings import Reported, findings_of_claims, findings_of_papers
from dpproof.formats.junit import junit
from dpproof.formats.markdown import markdown
from dpproof.formats.sarif import sarif

__all__ = ["FORMATS", "Reported", "findings_of_claims", "findings_of_papers", "write_findings"]

FORMATS: Mapping[str, tuple[tuple[str, ...], Callable[[Sequence[Reported]], str]]] = {
    "sarif": ((".sarif", ".json"), sarif),
    "junit": ((".xml",), junit),
    "markdown": ((".md",), markdown),
}
"""The formats by name, each with its file suffixes and the function that returns its text."""


def write_findings(findings: Sequence[Reported], files: Mapping[str, Path | None]) -> None:
    """Write the results in each format for which ``files`` has a path. A failed write leaves no partial file."""
    for name, path in files.items():
        if path is not None:
            write_whole(path, FORMATS[name][1](findings))
