"""One profile for all property tests, and what every test leaves behind."""

import os
import sys
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import settings

# The same examples in every run, and no clock.
settings.register_profile("same-every-time", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("same-every-time")


DIGITS = 15
"""The digits of mpmath at the beginning of each test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--row TEXT``: of the tests that loop over rows, only the rows whose name contains the text."""
    parser.addoption("--row", default="", help="run only rows whose name contains this text")
    parser.addoption(
        "--after-fast",
        action="store_true",
        help="leave out what the fast tier has run without extras: fast tests of files that ask for no extra",
    )
    parser.addoption(
        "--slow-part",
        metavar="K/N",
        help="run only part K of the N parts of the slow tests (K counts from 0), and all other tests",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """``--after-fast``: keep slow tests, doctests, and all tests of files that skip tests where an extra is missing.

    ``--slow-part``: keep a part of the slow tests.
    """
    kept = items
    if config.getoption("--after-fast"):
        texts = {path: path.read_text(encoding="utf-8") for path in {item.path for item in items}}
        asks = {path for path, text in texts.items() if "importorskip" in text or "skipif" in text}
        kept = [
            item
            for item in items
            if item.get_closest_marker("slow") or item.path in asks or not isinstance(item, pytest.Function)
        ]
    if part := config.getoption("--slow-part"):
        number, parts = map(int, part.split("/"))
        if not 0 <= number < parts:
            raise pytest.UsageError(f"--slow-part {part} must be K/N with K from 0 to N - 1")
        of_item = (crc32(item.nodeid.encode()) % parts for item in kept)
        kept = [
            item
            for item, one in zip(kept, of_item, strict=True)
            if one == number or not item.get_closest_marker("slow")
        ]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.fixture(autouse=True)
def _forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set mpmath to `DIGITS` before a test. Afterwards forget the modules that it has imported from its own folder.

    Another test may use a module of the same name.
    """
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    path = sys.path[:]
    if "mpmath" in sys.modules:
        sys.modules["mpmath"].mp.dps = DIGITS
    yield
    if folder is not None:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
