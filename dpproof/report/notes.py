"""Finds stale proof notes. A note is stale if one of its functions or statements has changed since people read it.

A note in ``docs/notes`` begins with a header::

    ---
    functions:
      - dpproof.accountant.guarantees.trade_off:BestOf 0f3a5c7d9e1b2a4c
      - classic.markov 9b8e7d6c5f4a3b2c
    ---

An entry is a function, class or constant (``module:qualname``), or the id of a statement. Code is hashed by
its syntax tree, without layout, comments and docstrings. The hash of a statement covers its formal claims.
``python -m dpproof.report.notes`` lists the notes to read again. ``--update NOTE.md ...`` writes the present hashes
into the named notes, or into all notes if none is named. A new note needs only the names.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from dpproof.proofs_check.registry import lookup
from dpproof.proofs_check.statement import Statement

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "notes"
_BEGIN, _END = "---\nfunctions:\n", "---\n"
Entry = tuple[str, str]
"""The name of a function or statement in a note's header, and its hash when the note was last read."""


def entries(text: str) -> list[Entry]:
    r"""Return the names and hashes in the header of a note. A hash that is not written yet is empty.

    >>> entries("---\nfunctions:\n  - classic.markov 12ab\n---\n\n# Markov\n")
    [('classic.markov', '12ab')]

    Raises:
        ValueError: if the text does not begin with a header, or a line of it is no entry.
    """
    head, end, _ = text.removeprefix(_BEGIN).partition(_END)
    if not text.startswith(_BEGIN) or not end or not head:
        raise ValueError(
            "A note must begin with these lines: '---', 'functions:', '  - name hash' for each function, and '---'."
        )
    return [_entry(line) for line in head.splitlines()]


def _entry(line: str) -> Entry:
    words = line.split()
    if not line.startswith("  - ") or len(words) not in (2, 3):
        raise ValueError(f"The line {line!r} of a header must have the form '  - name hash'")
    return words[1], words[2] if len(words) == 3 else ""


def fingerprint(name: str) -> str:
    """Return the present hash of a piece of code (``name`` is ``module:qualname``) or of a statement's claims (an id).

    Raises:
        ValueError: if there is no such function or statement.
    """
    text = _syntax(name) if ":" in name else _claims(name)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _claims(identity: str) -> str:
    try:
        entry = lookup(identity)
    except KeyError:
        raise ValueError(f"statement ({identity!r}) is not registered") from None
    claims = [(x.name, x.goal) for x in entry.obligations]
    held = [entry.says, entry.latex, claims, entry.parts, entry.rests_on, entry.rules, entry.reading]
    return json.dumps(held, sort_keys=True)


@lru_cache(maxsize=256)
def _module(name: str) -> ast.Module:
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise ValueError(f"module ({name!r}) does not exist")
    return ast.parse(Path(found.origin).read_text(encoding="utf-8"))


def _syntax(name: str) -> str:
    module, _, path = name.partition(":")
    node: ast.AST = _module(module)
    for part in path.split("."):
        inside = [x for x in ast.iter_child_nodes(node) if part in _names(x)]
        if not inside:
            raise ValueError(f"function ({name!r}) does not exist")
        node = inside[-1]
    return _dumped(node)


def _names(node: ast.AST) -> list[str]:
    """Return the names that a definition or an assignment binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [x.id for x in targets if isinstance(x, ast.Name)]
    return []


def _dumped(node: object) -> str:
    """Return a syntax tree as text, without positions, docstrings and empty fields.

    Empty fields differ between versions of Python.
    """
    match node:
        case list():
            return "[" + ",".join(map(_dumped, node)) + "]"
        case ast.AST():
            fields = dict(ast.iter_fields(node))
            if _documented(node):
                fields["body"] = fields["body"][1:]
            kept = {name: x for name, x in fields.items() if x not in (None, []) and name != "kind"}
            return f"{type(node).__name__}({','.join(f'{name}={_dumped(x)}' for name, x in kept.items())})"
    return repr(node)


def _documented(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return bool(ast.get_docstring(node))
    return False


def _notes() -> Iterator[tuple[Path, str]]:
    for path in sorted(FOLDER.glob("*.md")):
        yield path, path.read_text(encoding="utf-8")


def stale() -> list[str]:
    """Return a line for each note with an unreadable header, and for each function or statement that has changed."""
    return [line for path, text in _notes() for line in _problems(path.name, text)]


def _problems(note: str, text: str) -> Iterator[str]:
    try:
        listed = entries(text)
    except ValueError as error:
        yield f"{note}: {error}"
        return
    for name, known in listed:
        try:
            present = fingerprint(name)
        except ValueError as error:
            yield f"{note}: {error}"
            continue
        if present != known:
            yield f"{note}: {name} {'has changed' if known else 'has no hash yet'}; read the note again"


def updated(text: str) -> str:
    """Return the text of a note with the present hashes in its header.

    Raises:
        ValueError: for a header that cannot be read, or a name that is not known.
    """
    lines = [f"  - {name} {fingerprint(name)}\n" for name, _ in entries(text)]
    return _BEGIN + "".join(lines) + _END + text.removeprefix(_BEGIN).partition(_END)[2]


def notes_of(statement: Statement) -> list[str]:
    """Return the file names of the notes that a statement names, or that contain its id."""
    said = [statement.says, statement.not_covered, *statement.rules, *statement.reading]
    words = " ".join([*said, *(x.note for x in statement.obligations)])
    return [name for name, text in _texts() if f"notes/{name}" in words or statement.id in text]


@lru_cache(maxsize=1)
def _texts() -> list[tuple[str, frozenset[str]]]:
    """Return the set of words in each note, without surrounding punctuation."""
    return [
        (path.name, frozenset(word.strip("`*()[],;:.\"'") for word in text.split()))
        for path, text in _notes()
    ]


def main(arguments: list[str]) -> int:
    """Print the stale notes, and return 1 if there is one. ``--update`` first writes the present hashes."""
    read = [name for name in arguments if name != "--update"]
    if unknown := set(read) - {path.name for path, _ in _notes()}:
        raise ValueError(f"note ({', '.join(sorted(unknown))}) does not exist in docs/notes")
    if "--update" in arguments:
        for path, text in _notes():
            if text.startswith(_BEGIN) and (not read or path.name in read):
                path.write_text(updated(text), encoding="utf-8")
    problems = stale()
    for line in problems:
        print(f"docs/notes/{line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
