"""The command line, run inside the test's own process, and the answer taken apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dpproof import cli
from dpproof.proofs_check import registry


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True)
class Ran:
    """What one run of ``dpproof`` left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as strict JSON: nothing before it, nothing after, no NaN and no Infinity."""
        return json.loads(self.out, parse_constant=_refuse_constant)


Run = Callable[..., Ran]

SMALL = {"states": 2, "actions": 2, "horizon": 2, "episodes": 4}
"""Sizes whose certified epsilon at 1e-6 is 2.8958..., and for which a pair attains 2.5217...."""

USER_MODULE = """
import numpy as np

def pairs():
    return 0.0, 1.0

def answers():
    return True, False

def three():
    return 1, 2, 3

def failing_pairs():
    raise RuntimeError("no data today")

def good(value, n, rng):
    return value + rng.geometric(0.632, n) - rng.geometric(0.632, n)

def bad(value, n, rng):
    return value + rng.laplace(0, 0.4, n)

def not_a_number(value, n, rng):
    return np.full(n, np.nan)

def failing(value, n, rng):
    raise RuntimeError("out of order")
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``dpproof`` with these arguments, as its console script does."""

    def _run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["dpproof", *map(str, arguments)])
        monkeypatch.setattr(sys, "path", list(sys.path))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        written = capsys.readouterr()
        return Ran(ended.value.code or 0, written.out, written.err)

    return _run


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Callable[..., str]:
    """Run ``dpproof``, require the refusal of a bad input, and return its one line."""

    def _refused(*arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        ran = run(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("dpproof: ")
        assert ran.err.endswith("\n")
        assert len(ran.err.splitlines()) == 1
        assert sorted(tmp_path.rglob("*")) == before
        return ran.err

    return _refused


@pytest.fixture
def user_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an importable module with mechanisms and neighbours of a user's own."""
    name = "callables_of_a_user"
    (tmp_path / f"{name}.py").write_text(USER_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return name


@pytest.fixture
def claim_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a claim file of RLSVI claims; each is a mapping of keys, changed or (None) left out."""

    def _write(*changes: dict[str, Any]) -> Path:
        entries = []
        for change in changes:
            entry = {
                "name": "ward",
                "mechanism": "rlsvi",
                "parameters": SMALL,
                "adjacency": "rewards-only",
                "epsilon": 5.0,
                "delta": 1e-6,
                **change,
            }
            kept = {key: value for key, value in entry.items() if value is not None}
            entries.append("[[claim]]\n" + "".join(f"{key} = {_toml(x)}\n" for key, x in kept.items()))
        path = tmp_path / "claims.toml"
        path.write_text("\n".join(entries), encoding="utf-8")
        return path

    return _write


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(x)}" for key, x in value.items()) + " }"
    return json.dumps(value) if isinstance(value, str | list) else str(value).lower()


@pytest.fixture
def another_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the page of equation 2 state that it is refuted."""
    read, other = registry._read, replace(registry.lookup("rlsvi.eq2"), expected="REFUTED")
    monkeypatch.setattr(registry, "_read", lambda name: other if name == other.id else read(name))
