"""One profile for all property tests, and what every test leaves behind."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, and no clock.
settings.register_profile("same-every-time", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("same-every-time")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--row TEXT``: of the tests that loop over rows, only the rows whose name contains the text."""
    parser.addoption("--row", default="", help="run only rows whose name contains this text")


@pytest.fixture(autouse=True)
def _forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forget the modules a test has imported from its own folder: another test may use the same name."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    path = sys.path[:]
    yield
    if folder is not None:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if folder in Path(getattr(module, "__file__", None) or "/").parents:
                del sys.modules[name]
