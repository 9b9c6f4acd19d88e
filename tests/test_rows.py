"""A loop over rows loses nothing: every row runs, and a failure says which rows failed and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows

pytest_plugins = ["pytester"]
TESTS = """
import pytest
from tests.rows import rows

@rows("n", range(10))
def test_odd(n):
    assert n % 2 == 0

@rows(("n", "text"), [(1, "a"), (1, "a"), (2, "b")], ids=["x", "x", "y"])
def test_names(n, text, tmp_path):
    assert (n, tmp_path.is_dir()) == (3, True)

@rows("n", range(3), ids=lambda n: f"row {n}")
def test_nothing_raised(n):
    with pytest.raises(ValueError):
        n + 1

@rows("n", range(3))
def test_one_is_skipped(n):
    if n == 1:
        pytest.skip("an extra is missing")

@rows("n", range(3))
def test_skipped_and_failed(n):
    if n == 1:
        pytest.skip("an extra is missing")
    assert n == 0
"""


@pytest.fixture
def ran(pytester):
    pytester.makepyfile(TESTS)
    pytester.makeconftest("def pytest_addoption(parser):\n    parser.addoption('--row', default='')\n")
    return lambda *arguments: pytester.runpytest("-rA", "-p", "no:cacheprovider", *arguments)


def test_a_failure_names_every_row_that_failed(ran):
    result = ran()
    result.assert_outcomes(failed=4, skipped=1)
    text = result.stdout.str()
    assert "AssertionError: 5 of 10 rows failed:" in text
    for n in range(10):
        assert (f"  {n}: AssertionError: assert ({n} % 2) == 0" in text) == (n % 2 == 1)
    assert all(f"  {name}: AssertionError" in text for name in ("x", "x#2", "y"))
    assert "  row 2: Failed: DID NOT RAISE" in text
    assert "1 of 3 rows (the others passed): 1: an extra is missing" in text
    assert "1 of 3 rows failed:\nE" in text


def test_rows_are_selected_by_text(ran):
    result = ran("--row", "row 2")
    result.assert_outcomes(failed=1, skipped=4)
    assert "1 of 1 rows failed:" in result.stdout.str()


@rows("low", [0, 5])
@given(x=st.integers(0, 3))
def test_random_inputs_have_rows_too(low, x):
    assert low <= low + x < low + 4


@rows("a", [1, 2])
@rows("b", [3, 4])
def test_rows_of_rows(a, b, request):
    assert a < b
    assert "request" not in request.fixturenames or request.node.name == "test_rows_of_rows"


def test_a_name_that_the_test_does_not_take_is_refused():
    with pytest.raises(AssertionError, match=r"lambda> does not take \['n'\]"):
        rows("n", [1])(lambda: None)
