"""``dpproof verify``: verdicts on statements, every certificate checked again by the kernel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpproof import answers
from dpproof.cli import show
from dpproof.cli.options import JSON
from dpproof.report import coverage
from dpproof.report.recorded import departures

__all__ = ["ids_named", "verify"]


def ids_named(name: str) -> tuple[str, ...]:
    """The statement ids that ``papers``, a paper's command-line name, or a statement id stands for.

    >>> ids_named("rlsvi.eq2")
    ('rlsvi.eq2',)

    Raises:
        ValueError: for an unknown name.
    """
    from proofs_check.registry import BOOKS, statement_ids

    everything = statement_ids()
    if name == "papers":
        return everything
    if name in BOOKS:
        return statement_ids(f"{BOOKS[name].prefix}.")
    if name in everything:
        return (name,)
    raise ValueError(f"name ({name!r}) must be papers, a paper ({', '.join(BOOKS)}) or a statement id")


def verify(
    names: Annotated[list[str], typer.Argument(help="papers, a paper's name, or statement ids")],
    json: JSON = False,
) -> None:
    """Re-check the certificates and print the verdicts."""
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    answer = answers.verify(ids)
    show.either(answer, json, show.statements)
    if "papers" in names and not json:
        typer.echo(coverage.line(coverage.coverage(answer["statements"])))
    raise typer.Exit(_exit_code(names, answer["statements"]))


def _exit_code(names: list[str], found: list[dict[str, Any]]) -> int:
    """For papers 1 if a verdict is not the recorded one; for statements 1 if refuted, 3 if open."""
    if all(name in {"papers", *_papers()} for name in names):
        lines = departures(found, *map(_prefix, names))
        code = 1
    else:
        lines = [f"{entry['id']} is {entry['verdict']}" for entry in found if entry["verdict"] in _FAILURES]
        code = min(
            (_FAILURES[entry["verdict"]] for entry in found if entry["verdict"] in _FAILURES), default=0
        )
    for line in lines:
        typer.echo(f"dpproof: {line}", err=True)
    return code if lines else 0


_FAILURES = {"REFUTED": 1, "OPEN": 3}


def _prefix(name: str) -> str:
    """How the ids of a paper begin; empty for all papers."""
    from proofs_check.registry import BOOKS

    return "" if name == "papers" else f"{BOOKS[name].prefix}."


def _papers() -> frozenset[str]:
    from proofs_check.registry import BOOKS

    return frozenset(BOOKS)
