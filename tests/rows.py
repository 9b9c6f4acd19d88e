"""Many rows in one test: each row is run, and one failure names every row that failed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]


def rows(names: str | Sequence[str], values: Iterable[Any], ids: Any = None) -> Callable[[Test], Test]:
    """A decorator like ``pytest.mark.parametrize`` that makes one test of all rows instead of one test a row.

    The rows share the fixtures of the test. Select single rows with ``pytest --row TEXT``.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(_table(isinstance(names, str) and len(keys) == 1, list(values), ids))

    def decorate(function: Test) -> Test:
        inner = getattr(getattr(function, "hypothesis", None), "inner_test", None)

        def test(request: pytest.FixtureRequest, **fixtures: Any) -> None:
            if "request" in wanted:
                fixtures["request"] = request
            text = request.config.getoption("--row", default="")
            outcomes = {}
            for name, row in table:
                if text in name:
                    if inner:
                        inner._hypothesis_internal_add_digest = f"{request.node.nodeid}[{name}]".encode()
                    outcomes[name] = _outcome(function, fixtures | dict(zip(keys, row, strict=True)))
            _report(outcomes)

        parameters = inspect.signature(function).parameters
        wanted = [name for name in parameters if name not in keys]
        assert set(keys) <= parameters.keys(), f"{function.__name__} does not take {keys}"
        kinds = [
            inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY)
            for x in {"request": 0, **dict.fromkeys(wanted)}
        ]
        test.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "pytestmark"):
            if hasattr(function, name):
                setattr(test, name, getattr(function, name))
        test.__wrapped__ = function  # type: ignore[attr-defined]
        return test

    return decorate


def _table(single: bool, values: list[Any], ids: Any) -> Iterable[tuple[str, Sequence[Any]]]:
    """Each row with its name. Two rows of one name are told apart by their numbers."""
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        given = ids[index] if isinstance(ids, Sequence) else None
        row = (value,) if single else tuple(value)
        if hasattr(value, "marks"):  # a pytest.param
            if value.marks:
                raise ValueError(f"row {value.id} has marks: give those rows a test of their own")
            row, given = value.values, value.id
        name = given or "-".join(str(ids(x)) if callable(ids) else _short(x) for x in row)
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), row


def _short(value: Any) -> str:
    """A value in at most 60 characters; functions and classes by name."""
    text = value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _outcome(function: Test, arguments: dict[str, Any]) -> BaseException | None:
    """What a row raised."""
    try:
        function(**arguments)
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as raised:
        return raised
    return None


def _report(outcomes: dict[str, BaseException | None]) -> None:
    """Fail with the names of all rows that failed; otherwise skip if any row was skipped."""
    if not outcomes:
        pytest.skip("no row of this name")
    skipped = {name: x for name, x in outcomes.items() if isinstance(x, pytest.skip.Exception)}
    failed = {name: x for name, x in outcomes.items() if x is not None and name not in skipped}
    if failed:
        lines = [f"  {name}: {type(x).__name__}: {str(x).strip()[:500]}" for name, x in failed.items()]
        heading = f"{len(failed)} of {len(outcomes)} rows failed:"
        raise AssertionError("\n".join([heading, *lines])) from next(iter(failed.values()))
    if skipped:
        reasons = "; ".join(f"{name}: {x}" for name, x in skipped.items())
        pytest.skip(f"{len(skipped)} of {len(outcomes)} rows (the others passed): {reasons}")


def tiered(values: Iterable[Any], *, fast: int = 1) -> list[Any]:
    """Values for ``pytest.mark.parametrize``: a few in the fast tier, evenly spread, and the others marked slow."""
    found = list(values)
    kept = {round(index * (len(found) - 1) / max(fast - 1, 1)) for index in range(fast)}
    return [value if index in kept else _slow(value) for index, value in enumerate(found)]


def _slow(value: Any) -> Any:
    if hasattr(value, "marks"):  # a pytest.param
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, pytest.mark.slow])
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=pytest.mark.slow)
