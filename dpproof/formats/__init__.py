"""What a check found, in the formats that other tools read: SARIF, JUnit, a Markdown summary."""

from dpproof.formats.findings import Finding, Level, findings_of_claims, findings_of_papers
from dpproof.formats.junit import junit
from dpproof.formats.markdown import markdown
from dpproof.formats.sarif import sarif

__all__ = [
    "Finding",
    "Level",
    "findings_of_claims",
    "findings_of_papers",
    "junit",
    "markdown",
    "sarif",
]
