"""One profile for all property tests: the same examples in every run, and no clock."""

import pytest
from hypothesis import settings

settings.register_profile("same-every-time", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("same-every-time")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--row TEXT``: of the tests that loop over rows, only the rows whose name contains the text."""
    parser.addoption("--row", default="", help="run only rows whose name contains this text")
