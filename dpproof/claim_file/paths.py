"""The files that a claim names: they stay inside the project unless whoever runs the check allows more.

The project is the folder one stands in and the folder of the claim file. A claim file may come from somebody
else; it shall not make this machine read a file of another place, or start a program there. What the search
path of programs finds, what Python imports, and programs beside the Python that runs are as trusted as it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from accountant.accounted import accountant_for
from accountant.claims import Claim

__all__ = ["check_inside", "paths_of"]


def paths_of(claim: Claim) -> Iterator[tuple[str, Path]]:
    """The paths in a claim, each with the key that holds it."""
    if claim.command is not None:
        program = Path(claim.command[0])
        if len(program.parts) > 1:
            yield "command", program
    elif not claim.outside:
        for field in accountant_for(claim.mechanism).parameters.fields():
            is_path = field.metadata["domain"].schema().get("format") == "path"
            if is_path and claim.parameters.get(field.name) is not None:
                yield field.name, Path(claim.parameters[field.name])


def check_inside(claim: Claim, file: Path) -> None:
    """Refuse a claim that names a file outside the project; links are followed first.

    Raises:
        ValueError: naming the key and the path.
    """
    project = (Path.cwd().resolve(), file.parent.resolve())
    for key, path in paths_of(claim):
        beside = key == "command" and path.absolute().parent == Path(sys.executable).parent
        if not beside and not any(path.resolve().is_relative_to(folder) for folder in project):
            rule = "must be inside the project; --allow-outside lets it pass"
            raise ValueError(f"{key} ({str(path)!r}) {rule}")
