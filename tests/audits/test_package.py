"""The package's names: all there, loaded late, imports in one direction only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dpproof.audits


@pytest.mark.parametrize("name", audits.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    assert getattr(audits, name).__doc__
    assert name in dir(audits)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = audits.nothing


def test_importing_the_package_loads_no_mechanism():
    code = "import sys, audits; sys.exit(any(m in sys.modules for m in ('numpy', 'dpproof.mechanisms.rl.rlsvi')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_the_packages_below_are_imported():
    for path in Path(audits.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not {name.split(".")[0] for name in names} & {"dpproof", "proofs_check"}, path
