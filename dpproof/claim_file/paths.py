"""The files that a claim names: they must be inside the project, unless the user allows more.

The project is the current folder and the folder of the claim file. A claim file may come from somebody else. It
must not make this machine read a file elsewhere or start a program there.

Checked, after following links: every parameter that is a file, the program of a command that is written with a
path separator, and every argument of it. An argument is also cut into pieces at white space, quotes and other
signs of a shell. A piece is checked if it has a path separator or names something that exists. If the whole
argument exists, its beginning and what follows a closing bracket are not pieces, because file names may hold
such signs.

Not checked: a program named without a separator, which the search path finds; programs beside the running
Python, and what Python imports; paths that text for an interpreter (``sh -c``, ``python -c``) builds when it
runs, such as ``$HOME``; and what a program does once it runs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.claim import Claim

SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))
SIGNS = re.compile(r"""[\s=:,;|&<>(){}\[\]`'"@$]+""")
"""What may stand between a path and the rest of an argument."""
WITHIN = re.compile(r"""[\s=:,;|&<>({\[`'"@$]+""")
"""Those of them that the name of a folder hardly ever ends in: all but the brackets that close."""
FLAG = re.compile(r"^-[\w-]*?(?=\.{0,2}/)")
"""A flag with a path right behind it, such as ``-I/usr/include``."""


def paths_of(claim: Claim) -> Iterator[tuple[str, Path]]:
    """The paths in a claim, each with the key that holds it."""
    if claim.command is not None:
        program, *arguments = claim.command
        if _has_separator(program):
            yield "command", Path(program)
        for argument in arguments:
            yield from (("command: argument", path) for path in _paths_in(argument))
    elif not claim.outside:
        for field in accountant_for(claim.mechanism).parameters.fields():
            given = claim.parameters.get(field.name)
            if field.metadata["domain"].schema().get("format") == "path" and isinstance(given, str):
                yield field.name, Path(given)  # what is no text is refused with the other parameters


def _has_separator(text: str) -> bool:
    return any(separator in text for separator in SEPARATORS)


def _paths_in(argument: str) -> Iterator[Path]:
    """The paths that an argument may name: the argument itself, and its pieces.

    A file that has the argument's name is no proof that the program reads that one: who wrote the claim can
    have put ``--config=/etc/passwd`` into the project.
    """
    there = os.path.lexists(argument)
    pieces = [piece for piece in (WITHIN if there else SIGNS).split(argument) if piece]
    behind_flags = [path for piece in pieces if (path := FLAG.sub("", piece, count=1)) != piece]
    if there and pieces and argument.startswith(pieces[0]):
        del pieces[0]
    words = dict.fromkeys([argument, *pieces, *behind_flags])
    yield from (Path(word) for word in words if word and (_has_separator(word) or os.path.lexists(word)))


def check_inside(claim: Claim, file: Path) -> None:
    """Refuse a claim that names a file outside the project; links are followed first.

    Raises:
        ValueError: naming the key and the path.
    """
    project = (Path.cwd().resolve(), file.parent.resolve())
    for key, path in paths_of(claim):
        beside = key == "command" and path.absolute().parent == Path(sys.executable).parent
        if "\0" in str(path):
            raise ValueError(f"{key} ({str(path)!r}) must be the name of a file: none holds a null")
        real = Path(os.path.realpath(path))  # unlike resolve, it raises nothing on a circle of links
        if not beside and not any(real.is_relative_to(folder) for folder in project):
            rule = "must be inside the project; --allow-outside lets it pass"
            raise ValueError(f"{key} ({str(path)!r}) {rule}")
