"""``dpproof verify``: verdicts on statements, every certificate checked again by the kernel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpproof.answers import coverage
from dpproof.answers.recorded import departures
from dpproof.answers.verify import ids_named
from dpproof.answers.verify import verify as verified
from dpproof.cli import show
from dpproof.cli.options import JSON
from dpproof.cli.statements import statements
from dpproof.proofs_check.verdict import Verdict

__all__ = ["verify"]


def verify(
    names: Annotated[list[str], typer.Argument(help="papers, a paper's name, or statement ids")],
    json: JSON = False,
) -> None:
    """Re-check the certificates and print the verdicts."""
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    answer = verified(ids)
    show.either(answer, json, statements)
    if "papers" in names and not json:
        share = coverage.coverage(answer["statements"])
        typer.echo(coverage.counts(share))
        typer.echo(coverage.line(share))
    raise typer.Exit(_exit_code(names, answer["statements"]))


def _exit_code(names: list[str], found: list[dict[str, Any]]) -> int:
    """Papers fail (1) where a verdict is not the recorded one, statements where refuted (1) or open (3)."""
    papers = [name for name in names if name in {"papers", *_papers()}]
    named = {identity for name in names if name not in papers for identity in ids_named(name)}
    verdicts = {entry["id"]: Verdict(entry["verdict"]) for entry in found}
    failed = {identity: verdict for identity, verdict in verdicts.items() if verdict.exit_code}
    own = {identity: verdict for identity, verdict in failed.items() if identity in named}
    departed = departures(found, *map(_prefix, papers)) if papers else []
    for line in (*departed, *(f"{identity} is {verdict.value}" for identity, verdict in own.items())):
        typer.echo(f"dpproof: {line}", err=True)
    return min([*(verdict.exit_code for verdict in own.values()), *(1 for _ in departed)], default=0)


def _prefix(name: str) -> str:
    """How the ids of a paper begin; empty for all papers."""
    from dpproof.proofs_check.registry import papers

    return "" if name == "papers" else f"{papers()[name].prefix}."


def _papers() -> frozenset[str]:
    from dpproof.proofs_check.registry import papers

    return frozenset(papers())
