"""``dpproof verify``: verdicts on statements, every certificate checked again by the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from dpproof.answers import as_json, coverage
from dpproof.answers.recorded import departures
from dpproof.answers.verify import ids_named
from dpproof.answers.verify import verify as verified
from dpproof.cli import show
from dpproof.cli.options import JSON
from dpproof.cli.statements import statements
from dpproof.proofs_check import registry
from dpproof.proofs_check.verdict import Result


def verify(
    names: Annotated[list[str], typer.Argument(help="papers, a paper's name, or statement ids")],
    json: JSON = False,
) -> None:
    """Re-check the certificates and print the verdicts."""
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    found = verified(ids)
    show.answer(as_json.verified(found), json, lambda console: statements(found, console))
    if "papers" in names and not json:
        share = coverage.coverage(found.statements)
        typer.echo(coverage.counts(share))
        typer.echo(coverage.line(share))
    raise typer.Exit(_exit_code(names, found.statements))


def _exit_code(names: list[str], found: Sequence[Result]) -> int:
    """Papers fail (1) where a verdict is not the recorded one, statements where refuted (1) or open (3)."""
    papers = [name for name in names if name in {"papers", *registry.papers()}]
    named = {identity for name in names if name not in papers for identity in ids_named(name)}
    own = [result for result in found if result.id in named and result.verdict.exit_code]
    departed = departures(found, *map(_prefix, papers)) if papers else []
    for line in (*departed, *(f"{result.id} is {result.verdict.value}" for result in own)):
        typer.echo(f"dpproof: {line}", err=True)
    return min([*(result.verdict.exit_code for result in own), *(1 for _ in departed)], default=0)


def _prefix(name: str) -> str:
    """How the ids of a paper begin; empty for all papers."""
    return "" if name == "papers" else f"{registry.papers()[name].prefix}."
