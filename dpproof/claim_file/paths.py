"""Check that the files named in a claim are inside the project, unless the user allows more.

The project is the current folder and the folder of the claim file. A claim file from somebody else must not
make this machine read a file, or start a program, in another folder.

Links are followed first. Then these are checked: every parameter that is a file, the program of a command if
it is written with a path separator, and every argument of a command. An argument is also cut into pieces at
white space, quotes and other special characters of a shell. A piece is checked if it has a path separator or
names an existing file. File names may contain special characters. So if the whole argument is the name of an
existing file, its first piece is not checked, and closing brackets do not cut.

These are not checked: a program named without a separator, which is found on the search path; programs in the
folder of the running Python, and Python's imports; paths that an interpreter (``sh -c``, ``python -c``)
builds at run time, such as ``$HOME``; and the actions of a program.
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
"""Characters that may separate a path from the rest of an argument."""
WITHIN = re.compile(r"""[\s=:,;|&<>({\[`'"@$]+""")
"""The characters in ``SIGNS`` without the closing brackets, which the name of a folder may end with."""
FLAG = re.compile(r"^-[\w-]*?(?=\.{0,2}/)")
"""Matches a flag that is directly followed by a path, such as ``-I`` in ``-I/usr/include``."""


def paths_of(claim: Claim) -> Iterator[tuple[str, Path]]:
    """Yield the paths in a claim, each with the key that contains it."""
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
    """Return the paths that an argument may name: the argument itself, and its pieces.

    If a file with the argument's name exists, the program may still read another file: the author of the
    claim may have put a file named ``--config=/etc/passwd`` into the project.
    """
    there = os.path.lexists(argument)
    pieces = [piece for piece in (WITHIN if there else SIGNS).split(argument) if piece]
    behind_flags = [path for piece in pieces if (path := FLAG.sub("", piece, count=1)) != piece]
    if there and pieces and argument.startswith(pieces[0]):
        del pieces[0]
    words = dict.fromkeys([argument, *pieces, *behind_flags])
    yield from (Path(word) for word in words if word and (_has_separator(word) or os.path.lexists(word)))


def check_inside(claim: Claim, file: Path) -> None:
    """Check that all files named in a claim are inside the project. Links are followed first.

    The project is the current folder and the folder of the claim file.

    Raises:
        ValueError: a file is outside the project; the message names the key and the path.
    """
    project = (Path.cwd().resolve(), file.parent.resolve())
    for key, path in paths_of(claim):
        beside = key == "command" and path.absolute().parent == Path(sys.executable).parent
        if "\0" in str(path):
            raise ValueError(
                f"{key} ({str(path)!r}) must be a file name. File names cannot contain a null character."
            )
        real = Path(os.path.realpath(path))  # unlike resolve, it raises nothing on a circle of links
        if not beside and not any(real.is_relative_to(folder) for folder in project):
            rule = "must be inside the project. `dpproof check --allow-outside` accepts other files."
            raise ValueError(f"{key} ({str(path)!r}) {rule}")
