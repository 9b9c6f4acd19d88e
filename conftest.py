"""Modules that need an extra have no doctests where it is not installed, and Ctrl-C interrupts all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parent / "dpproof"
NEEDS = {
    "torch": (
        "\nimport torch",
        "\nfrom dpproof.mechanisms.rl.expert.offline",
    ),
    "opendp": ("import opendp.prelude",),
}
"""An extra's module -> what the text of a module that needs it has, be it through another module."""
FOLDERS = ("accountant", "mechanisms", "audits", "reproduction")


def _missing() -> Iterator[str]:
    """The modules whose doctests cannot run here."""
    wanted = [text for name, texts in NEEDS.items() if find_spec(name) is None for text in texts]
    for path in (path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))):
        if any(text in path.read_text(encoding="utf-8") for text in wanted):
            yield str(path)


collect_ignore = list(_missing())


def pytest_configure() -> None:
    """Let Ctrl-C interrupt the tests. A shell that starts them in the background has Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
