"""The umbrella re-exports the very same objects, and importing any package loads nothing heavy."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PACKAGES = ("accountant", "mechanisms", "proofs_check", "audits")
NAMES = [(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_its_names_once(package):
    names = importlib.import_module(package).__all__
    assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_the_umbrella_gives_the_same_object(package, name):
    literal = getattr(importlib.import_module(package), name)
    assert getattr(importlib.import_module(f"dpproof.{package}"), name) is literal


@pytest.mark.parametrize("package", PACKAGES)
def test_the_umbrella_gives_nothing_else(package):
    umbrella = importlib.import_module(f"dpproof.{package}")
    public = {name for name in vars(umbrella) if name.isidentifier() and not name.startswith("_")}
    assert public == set(importlib.import_module(package).__all__)


@pytest.mark.parametrize("package", ["dpproof", *PACKAGES])
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(package).no_such_name  # noqa: B018 (the access is the test)


@pytest.mark.parametrize("package", ["dpproof", *PACKAGES])
def test_importing_loads_nothing_heavy(package):
    heavy = "{'sympy', 'numba', 'scipy', 'matplotlib', 'torch', 'gymnasium', 'mpmath'}"
    code = f"import sys, {package}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_loads_nothing_heavy():
    code = (
        "import sys; from dpproof import cli; sys.argv = ['dpproof', 'account', 'rlsvi', '--states', '1', "
        "'--actions', '1', '--horizon', '1', '--episodes', '2', '--adjacency', 'rewards-only', '--delta', "
        "'1e-6', '--json']\ntry:\n    cli.main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print(sorted({'sympy', 'numba', 'scipy', 'matplotlib', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
