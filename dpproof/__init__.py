"""dpproof checks whether an algorithm is as private as its authors claim.

The library has four parts: ``dpproof.accountant`` (certified bounds), ``dpproof.mechanisms``
(the algorithms), ``dpproof.proofs_check`` (verdicts on theorems, with checked proofs), ``dpproof.audits`` (tests of
implementations). The public names are listed in ``__init__.pyi`` only. Each name is loaded at its first use.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from dpproof.version import __version__ as __version__

PARTS = ("accountant", "mechanisms", "proofs_check", "audits")


@cache
def _homes() -> dict[str, str]:
    """Return a mapping from each public name to the module that defines it."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in found for alias in node.names}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return ["__version__", *_homes()]
    if name in PARTS:
        return import_module(f"dpproof.{name}")
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module 'dpproof' has no attribute {name!r}")
    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_homes()])
