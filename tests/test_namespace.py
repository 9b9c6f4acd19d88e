"""One import root: public names are listed once, load late, and nothing beside a user's files disturbs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dpproof

PACKAGES = ("accountant", "mechanisms", "proofs_check", "audits")
HEAVY = "{'numpy', 'sympy', 'numba', 'scipy', 'matplotlib', 'torch', 'gymnasium', 'mpmath', 'flint'}"


def python(code, folder="."):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_public_name_loads_and_says_what_it_is():
    names = dpproof.__all__
    assert len(names) == len(set(names)) > 50
    assert set(names) <= set(dir(dpproof))
    assert not [name for name in names if not getattr(dpproof, name).__doc__]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        dpproof.no_such_name  # noqa: B018 (the access is the test)


@pytest.mark.parametrize("package", ["", *(f".{name}" for name in PACKAGES), ".proofs_check.kernel"])
def test_importing_loads_nothing_heavy(package):
    assert python(f"import sys, dpproof{package}; print(sorted({HEAVY} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_is_no_package_of_its_own(package):
    root = Path(__file__).resolve().parent.parent
    code = f"try:\n    import {package}\nexcept ImportError as said:\n    print(said)"
    assert python(code, root) == f"{package} cannot be imported alone. Write: import dpproof.{package}"


@pytest.mark.slow
def test_modules_of_a_user_with_the_names_of_folders_disturb_nothing(tmp_path):
    """Beside a claim file, a sampler's module and a test; each raises an error when it is imported."""
    for name in ("accountant", "audits", "proofs_check"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the user was imported')\n")
    (tmp_path / "mechanisms.py").write_text(
        "def noisy(data, n, rng):\n    return sum(data) + rng.geometric(0.6, n) - rng.geometric(0.6, n)\n\n"
        "def neighbours():\n    return [0.0], [1.0]\n"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "__init__.py").write_text(
        "raise SystemExit('a folder of the user was imported')\n"
    )
    claim = (
        '[[claim]]\nname = "sum"\nmechanism = "mechanisms:noisy"\nneighbours = "mechanisms:neighbours"\n'
        'adjacency = "replace"\nepsilon = 1.0\naudit = { budget = 20000 }\n'
    )
    (tmp_path / "dpproof.toml").write_text(claim)
    code = "import sys; from dpproof.cli import main; sys.argv = ['dpproof', 'check', 'dpproof.toml']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "of the user was imported" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    test = "import mechanisms\n\ndef test_it():\n    assert mechanisms.neighbours() == ([0.0], [1.0])\n"
    (tmp_path / "test_own.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_own.py")],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


SLOW = "sympy numba scipy matplotlib torch sklearn pydantic dp_accounting dpproof.audits.engine.runner"
GAUSSIAN = ["account", "gaussian", "--sigma", "5", "--delta", "1e-6"]
DP_SGD = ["account", "dp-sgd", "--sampling-rate", ".01", "--noise-multiplier", "1", "--steps", "1000"]
SIZES = [
    "--states",
    "1",
    "--actions",
    "1",
    "--horizon",
    "1",
    "--episodes",
    "2",
    "--adjacency",
    "rewards-only",
]


@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        (["--help"], "numpy flint rich dpproof.answers.account dpproof.proofs_check.registry"),
        (GAUSSIAN, "numpy dpproof.accountant.privacy_loss.notion"),
        ([*DP_SGD, "--adjacency", "add-remove", "--delta", "1e-6"], "numpy.ma"),
        (["account", "rlsvi", *SIZES, "--delta", "1e-6", "--json"], "numpy.ma"),
    ],
)
def test_a_first_answer_loads_nothing_it_can_do_without(arguments, also):
    code = (
        f"import sys; from dpproof import cli; sys.argv = {['dpproof', *arguments]}\ntry:\n    cli.main()\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        f"print(sorted(set({SLOW.split() + also.split()}) & set(sys.modules)))"
    )
    assert python(code).splitlines()[-1] == "[]"


def test_the_first_function_loads_nothing_it_can_do_without():
    code = "import sys; from dpproof import account; print(sorted({'numpy', 'rich', 'click'} & set(sys.modules)))"
    assert python(code) == "[]"
