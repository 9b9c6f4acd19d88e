"""Privacy tests in pytest: the marker ``privacy`` states a promise, and the fixture ``privacy`` checks code.

    @pytest.mark.privacy(epsilon=1.0, adjacency="add-remove")
    def test_counter(privacy):
        privacy.audit(counter, 41, 42)

All tests of a session together raise a false alarm with probability at most ``privacy_alpha`` (ini option, default
0.001). Each test with the marker gets an equal share, and the k-th audit of a test gets 2^-k of that share. An audit
raises a false alarm with probability at most its own share (docs/notes/audit_betting.md). Seeds derive from
``privacy_seed`` and the test's name, so unchanged code gives the same result again.

No other module of this project is imported until a test requests the fixture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dpproof.privacy_tests import Privacy

MARKER = (
    "privacy(epsilon=..., delta=0, rho=..., mu=..., adjacency=..., budget=..., strict=False, "
    "arithmetic='floating-point'): the promise that the fixture `privacy` holds implementations to"
)
USERS = pytest.StashKey[int]()
"""Number of tests in the session that have the marker or use the fixture."""
HELD = pytest.StashKey["Privacy"]()
"""The fixture object of a test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini options of privacy tests."""
    parser.addini("privacy_alpha", "probability of any false alarm in a session", default="0.001")
    parser.addini("privacy_seed", "everything random of privacy tests derives from it", default="0")
    parser.addini("privacy_witnesses", "folder for witnesses of violations", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker ``privacy``."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests that share the session's probability of a false alarm, before any test is deselected.

    If fewer tests are run, the probability is smaller.
    """
    config.stash[USERS] = sum(
        "privacy" in getattr(item, "fixturenames", ()) or item.get_closest_marker("privacy") is not None
        for item in items
    )


@pytest.fixture
def privacy(request: pytest.FixtureRequest) -> Privacy:
    """Provide an object with the methods `audit`, `compare` and `certify`. They check the marker's promise."""
    from dpproof.privacy_tests import privacy_of

    held = request.node.stash[HELD] = privacy_of(request, request.config.stash[USERS])
    return held


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail each test that has the marker but makes no check. Such a test would pass for any mechanism."""
    yield
    held = item.stash.get(HELD, None)
    if item.get_closest_marker("privacy") is not None and not (held and held.checks):
        hint = "Call privacy.audit, privacy.compare or privacy.certify."
        pytest.fail(f"privacy: The test checks nothing. {hint}", False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of privacy checks and their results, and the violations that were tolerated."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    found = [value for report in reports for key, value in report.user_properties if key == "privacy"]
    if found:
        outcomes = Counter(map(_outcome, found))
        said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
        terminalreporter.write_line(f"privacy: {len(found)} checks: {said}")
        if outcomes["inconclusive"]:
            hint = "An inconclusive audit may miss a violation of twice the claim. Raise the marker's budget."
            terminalreporter.write_line(f"privacy: {hint}")
    for report in terminalreporter.stats.get("passed", ()):
        for key, value in report.user_properties:
            if key == "privacy" and str(value).startswith("violation"):
                terminalreporter.write_line(f"privacy: {report.nodeid} passed in spite of this: {value}")


def _outcome(noted: str) -> str:
    """Return the first word of a note, such as "consistent, ..." or "kept (name); ..."."""
    from dpproof.audits.recording.evidence import Finding

    first = noted.partition(",")[0]
    return first if any(first == verdict.value for verdict in Finding) else first.partition(" (")[0]
