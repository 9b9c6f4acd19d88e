"""``dpproof verify``: verdicts on statements, every certificate checked again by the kernel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpproof import answers
from dpproof.cli import show
from dpproof.cli.options import JSON
from dpproof.report.recorded import departures

__all__ = ["ids_named", "verify"]


def ids_named(name: str) -> tuple[str, ...]:
    """The statement ids that ``papers``, a paper's command-line name, or a statement id stands for.

    >>> ids_named("rlsvi.eq2")
    ('rlsvi.eq2',)

    Raises:
        ValueError: for an unknown name.
    """
    from proofs_check.registry import MODULES, statement_ids

    everything = statement_ids()
    if name == "papers":
        return everything
    if name in MODULES:
        return statement_ids(f"{name}.")
    if name in everything:
        return (name,)
    raise ValueError(f"name ({name!r}) must be papers, a paper ({', '.join(MODULES)}) or a statement id")


def verify(
    names: Annotated[list[str], typer.Argument(help="papers, a paper's name, or statement ids")],
    json: JSON = False,
) -> None:
    """Re-check the certificates and print the verdicts."""
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    answer = answers.verify(ids)
    show.either(answer, json, show.statements)
    raise typer.Exit(1 if _complaints(names, answer["statements"]) else 0)


def _complaints(names: list[str], found: list[dict[str, Any]]) -> list[str]:
    """For papers: verdicts that are not the recorded ones. For single statements: refutations."""
    if all(name in {"papers", *_papers()} for name in names):
        lines = departures(found)
    else:
        lines = [f"{entry['id']} is refuted" for entry in found if entry["verdict"] == "REFUTED"]
    for line in lines:
        typer.echo(f"dpproof: {line}", err=True)
    return lines


def _papers() -> frozenset[str]:
    from proofs_check.registry import MODULES

    return frozenset(MODULES)
