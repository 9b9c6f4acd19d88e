"""Imports go one way: accountant, mechanisms, then audits and proofs_check side by side, dpproof on top."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.rows import rows

ROOT = Path(__file__).resolve().parent.parent
BELOW = ("accountant", "mechanisms", "proofs_check", "audits")
OURS = {*BELOW, "dpproof"}
MAY_IMPORT = {
    "accountant": set(),
    "mechanisms": {"accountant"},
    "audits": {"accountant", "mechanisms"},
    "proofs_check": {"accountant", "mechanisms"},
    "dpproof": OURS,
}
FORBIDDEN = {"accountant": {"torch", "numba"}, "proofs_check": {"torch", "numba"}}


def imported(text):
    """The absolute names that a module's text imports, wherever in the text and in whatever way."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names |= {f"dpproof.{alias.name}" for alias in node.names} if module == "dpproof" else {module}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            names |= {text for text in map(_beginning, node.args[:1]) if text}
    return names


def _beginning(node):
    """The text that an argument begins with, if it is written down."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _top(name):
    """The package that a name belongs to: one of ours, or somebody else's."""
    parts = name.split(".")
    return parts[1] if parts[0] == "dpproof" and parts[1:2] and parts[1] in BELOW else parts[0]


def offences(package, text):
    """What a module of ``package`` imports and may not."""
    names = imported(text)
    tops = set(map(_top, names))
    wrong = tops & (OURS - MAY_IMPORT[package] - {package} | FORBIDDEN.get(package, set()))
    return wrong | {name for name in names if name.startswith(".")}


def kernel_offences(text):
    """What a module of the kernel imports beyond the standard library and the kernel itself."""
    names = imported(text)
    beyond = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    return {name for name in beyond if not name.startswith("dpproof.proofs_check.kernel")}


def modules(folder):
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def ident(path):
    return path.relative_to(ROOT).as_posix()


@rows("path", [x for name in sorted(OURS) for x in modules(name)], ids=ident)
def test_a_module_imports_downwards_only(path):
    assert not offences(path.relative_to(ROOT).parts[0], path.read_text(encoding="utf-8"))


@rows("path", modules("proofs_check/kernel"), ids=ident)
def test_the_kernel_imports_the_standard_library_only(path):
    assert not kernel_offences(path.read_text(encoding="utf-8"))


@rows(
    ("package", "text", "found"),
    [
        ("accountant", "import dpproof.audits", {"audits"}),
        ("accountant", "from dpproof import audits", {"audits"}),
        ("accountant", "from dpproof.mechanisms.rl import users", {"mechanisms"}),
        ("accountant", "def f():\n    import dpproof.cli", {"dpproof"}),
        ("accountant", "if TYPE_CHECKING:\n    from dpproof.proofs_check import Verdict", {"proofs_check"}),
        ("accountant", "import numba as nb, torch", {"numba", "torch"}),
        ("accountant", "from . import bounds", {"."}),
        ("accountant", "importlib.import_module('dpproof.audits.engine.runner')", {"audits"}),
        ("accountant", "import_module(f'dpproof.mechanisms.{name}')", {"mechanisms"}),
        ("accountant", "__import__('dpproof')", {"dpproof"}),
        ("mechanisms", "import dpproof.audits, numba", {"audits"}),
        ("mechanisms", "import dpproof.proofs_check.kernel", {"proofs_check"}),
        ("audits", "from dpproof.proofs_check import verify", {"proofs_check"}),
        ("proofs_check", "from dpproof.audits import audit", {"audits"}),
        ("audits", "import dpproof", {"dpproof"}),
        (
            "audits",
            "import dpproof.accountant, dpproof.mechanisms.rl.rlsvi.rlsvi, dpproof.audits.engine.runner, numpy",
            set(),
        ),
        ("dpproof", "from dpproof import accountant, mechanisms, proofs_check, audits", set()),
    ],
)
def test_a_module_that_breaks_the_direction_would_be_found(package, text, found):
    assert offences(package, text) == found


@rows(
    ("text", "found"),
    [
        ("import sympy", {"sympy"}),
        ("def f():\n    from flint import arb", {"flint"}),
        ("from dpproof.proofs_check.registry import verify", {"dpproof.proofs_check.registry"}),
        ("import dpproof.accountant.numbers.bounds", {"dpproof.accountant.numbers.bounds"}),
        ("import fractions, json\nfrom dpproof.proofs_check.kernel import certificate", set()),
    ],
)
def test_a_kernel_that_leans_on_others_would_be_found(text, found):
    assert kernel_offences(text) == found


def test_the_front_door_goes_one_way():
    """Answers know nothing of their forms, and no form knows the command line."""
    may = {"answers": set(), "formats": {"answers"}, "report": {"answers"}}
    for folder, below in may.items():
        for path in sorted((ROOT / "dpproof" / folder).rglob("*.py")):
            names = {name.split(".")[1] for name in imported(path.read_text()) if name.startswith("dpproof.")}
            assert not names & {"answers", "cli", "formats", "report"} - below - {folder}, path
