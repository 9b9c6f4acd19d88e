#!/usr/bin/env python3
"""Prints the numbers of the house for one commit or several, side by side.

    python tools/house_numbers.py [COMMIT ...]     # without one: HEAD

It needs Python and git only. Every number is counted from the files of the commit; none is kept by hand.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

PACKAGES = ("accountant", "mechanisms", "proofs_check", "audits", "dpproof")
MECHANISM = "geometric"
"""A noise primitive whose quoted name is looked for: every file that has it is a place to edit."""


@dataclass
class Tree:
    """The files of one commit: path -> bytes."""

    files: dict[str, bytes]

    @classmethod
    def of(cls, commit: str) -> Tree:
        """The tree of a commit."""
        packed = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            members = (member for member in archive if member.isfile())
            return cls({member.name: archive.extractfile(member).read() for member in members})  # type: ignore[union-attr] # members are files

    @cached_property
    def shipped(self) -> dict[str, str]:
        """Python of the five packages."""
        return {
            path: text.decode()
            for path, text in self.files.items()
            if path.split("/")[0] in PACKAGES and path.endswith(".py")
        }

    @cached_property
    def parsed(self) -> dict[str, ast.Module]:
        """The syntax trees of what is shipped."""
        return {path: ast.parse(text) for path, text in self.shipped.items()}

    @cached_property
    def modules(self) -> dict[str, str]:
        """Module name, such as ``dpproof.accountant.numbers.bounds``, -> path."""
        return {_module(path): path for path in self.shipped}

    @cached_property
    def imports(self) -> list[tuple[str, str, bool]]:
        """(module, imported module of our own, whether inside a function), each once."""
        found = set()
        for path, tree in self.parsed.items():
            here = _module(path)
            for node, inside in _walk(tree):
                found |= {(here, there, inside) for there in self._named(here, path, node) if there != here}
        return sorted(found)

    def _named(self, here: str, path: str, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(here, path, node)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            return
        for name in names:
            plain = (
                name.removeprefix("dpproof.")
                if name.split(".")[1:2] and name.split(".")[1] in PACKAGES
                else name
            )
            for known in (plain, plain.rpartition(".")[0]):
                if known in self.modules:
                    yield known
                    break


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _base(here: str, path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = here.split(".") if path.endswith("__init__.py") else here.split(".")[:-1]
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _walk(tree: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for node in ast.iter_child_nodes(tree):
        yield node, inside
        yield from _walk(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _lines(tree: Tree, wanted: Callable[[str], bool]) -> int:
    return sum(text.count(b"\n") for path, text in tree.files.items() if wanted(path))


def _under(path: str, *folders: str) -> bool:
    return path.split("/")[0] in folders


def _directly(tree: Tree, folder: str) -> int:
    """Files and folders directly in a folder."""
    return len({path.split("/")[1] for path in tree.files if path.startswith(f"{folder}/")})


def _functions(tree: Tree) -> list[int]:
    """The lines of every function without its docstring."""
    found = []
    for parsed in tree.parsed.values():
        for node in ast.walk(parsed):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                found.append((body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0)
    return found


def _isinstance(tree: Tree) -> float:
    """Calls of isinstance in a thousand shipped lines."""
    calls = sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for parsed in tree.parsed.values()
        for node in ast.walk(parsed)
    )
    return round(1000 * calls / max(1, sum(text.count("\n") for text in tree.shipped.values())), 1)


def _any(tree: Tree, folder: str) -> int:
    """Arguments of functions annotated with Any, alone or within another type."""
    return sum(
        bool(arg.annotation) and "Any" in {n.id for n in ast.walk(arg.annotation) if isinstance(n, ast.Name)}
        for path, parsed in tree.parsed.items()
        if _under(path, folder)
        for node in ast.walk(parsed)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for arg in (
            *node.args.posonlyargs,
            *node.args.args,
            *node.args.kwonlyargs,
            node.args.vararg,
            node.args.kwarg,
        )
        if arg is not None
    )


def _public(tree: Tree) -> int:
    """Names that the packages list for type checkers or in ``__all__``, each once a package."""
    names: set[tuple[str, str]] = set()
    for package in PACKAGES:
        for path in (f"{package}/__init__.pyi", f"{package}/__init__.py"):
            if path in tree.files:
                names |= {(package, name) for name in _listed(ast.parse(tree.files[path].decode()))}
                break
    return len(names)


def _listed(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.asname == alias.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
                yield from (
                    e.value
                    for e in ast.walk(node.value)
                    if isinstance(e, ast.Constant) and isinstance(e.value, str)
                )


def _upward(tree: Tree) -> int:
    """Imports of a package's own ``__init__`` or of a folder's from within it."""
    return sum(
        here.startswith(f"{there}.")
        for here, there, _ in tree.imports
        if tree.modules[there].endswith("__init__.py")
    )


def _mutual(tree: Tree) -> int:
    """Pairs of folders of one package, neither inside the other, that import each other at module level."""
    edges: set[tuple[str, str]] = set()
    for here, there, inside in tree.imports:
        a, b = (str(PurePosixPath(tree.modules[name]).parent) for name in (here, there))
        if not inside and a != b and not a.startswith(f"{b}/") and not b.startswith(f"{a}/"):
            edges.add((a, b))
    return sum((b, a) in edges for a, b in edges) // 2


def _single(tree: Tree) -> int:
    """Modules that exactly one other module of the same folder imports, and nothing else."""
    importers = defaultdict(set)
    for here, there, _ in tree.imports:
        importers[there].add(here)
    return sum(
        len(users) == 1
        and tree.modules[there].rpartition("/")[0] == tree.modules[next(iter(users))].rpartition("/")[0]
        for there, users in importers.items()
        if not tree.modules[there].endswith("__init__.py")
        and not tree.modules[next(iter(users))].endswith("__init__.py")
    )


def _entry_points(tree: Tree) -> int:
    """Public functions of the audits that run one: ``audit`` and ``audit_...``."""
    path = next(p for p in ("audits/__init__.pyi", "dpproof/__init__.pyi") if p in tree.files)
    return sum(
        name == "audit" or name.startswith("audit_")
        for name in set(_listed(ast.parse(tree.files[path].decode())))
    )


def _names(tree: Tree) -> list[str]:
    """Mechanisms by the names of the command line: the keys of the catalogue."""
    for path in ("accountant/catalogue.py", "accountant/claims/result.py", "accountant/accounted.py"):
        for node in tree.parsed[path].body if path in tree.parsed else ():
            value = getattr(node, "value", None)
            if "CATALOGUE" in ast.unparse(node).split("=")[0] and isinstance(value, ast.Dict):
                return [key.value for key in value.keys if isinstance(key, ast.Constant)]
    return []


def _registries(tree: Tree) -> list[str]:
    """Tables at module level in which three or more mechanisms or papers are named by hand."""
    names = set(_names(tree)) | {
        "private-ucb",
        "private_ucb",
        "sdp-pe",
        "sdp_pe",
        "policy-evaluation",
        "policy_evaluation",
        "expert",
    }
    found = []
    for path, parsed in tree.parsed.items():
        for node in parsed.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
                node.value, ast.Dict | ast.Tuple | ast.List | ast.Set | ast.Call
            ):
                held = {
                    n.value
                    for n in ast.walk(node.value)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                }
                if len(held & names) >= 3:
                    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                    found.append(f"{path}: {ast.unparse(target)}")
    return found


def _places(tree: Tree) -> int:
    """How many shipped files contain the quoted name of one noise primitive."""
    quoted = re.compile(rb"[\"']" + MECHANISM.encode() + rb"[\"']")
    return sum(
        bool(quoted.search(text))
        for path, text in tree.files.items()
        if _under(path, *PACKAGES) and path.endswith((".py", ".pyi"))
    )


ROWS: dict[str, Callable[[Tree], object]] = {
    "tracked files": lambda t: len(t.files),
    "certificate files": lambda t: sum(path.startswith("proofs_check/certificates/") for path in t.files),
    "shipped Python, lines": lambda t: _lines(t, lambda p: _under(p, *PACKAGES) and p.endswith(".py")),
    "tests, lines": lambda t: _lines(t, lambda p: _under(p, "tests") and p.endswith(".py")),
    "benchmarks, lines": lambda t: _lines(t, lambda p: _under(p, "benchmarks") and p.endswith(".py")),
    "docs, lines": lambda t: _lines(t, lambda p: p.endswith(".md")),
    "public names": _public,
    "audit entry points": _entry_points,
    "registries kept by hand": lambda t: len(_registries(t)),
    f"shipped files with the quoted name {MECHANISM}": _places,
    "directly in accountant": lambda t: _directly(t, "accountant"),
    "directly in audits": lambda t: _directly(t, "audits"),
    "imports of an own package from within it": _upward,
    "mutual folder pairs": _mutual,
    "own imports inside functions": lambda t: sum(inside for _, _, inside in t.imports),
    "modules with a single importer, beside it": _single,
    "isinstance in 1,000 lines": _isinstance,
    "Any arguments in audits": lambda t: _any(t, "audits"),
    "Any arguments in dpproof": lambda t: _any(t, "dpproof"),
    "lines of a function, median": lambda t: statistics.median(_functions(t)),
    "lines of a function, most": lambda t: max(_functions(t)),
    "lines of a shipped file, median": lambda t: statistics.median(
        text.count("\n") for text in t.shipped.values()
    ),
}


def main() -> None:
    """Print one row a number, one column a commit."""
    commits = sys.argv[1:] or ["HEAD"]
    trees = [Tree.of(commit) for commit in commits]
    width = max(map(len, ROWS))
    print(" " * width, *(f"{commit[:12]:>12}" for commit in commits))
    for name, count in ROWS.items():
        print(f"{name:<{width}}", *(f"{count(tree):>12}" for tree in trees))


if __name__ == "__main__":
    main()
