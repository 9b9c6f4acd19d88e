"""``dpproof explain`` and ``dpproof init``: what a name means, and a claim file to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dpproof.cli import show

__all__ = ["explain", "init"]

STARTER = """\
# Claims that `dpproof check dpproof.toml` holds the implementation to.
# adjacency: add-remove | replace | rewards-only | expert; there is no default.
[[claim]]
name = "ward policy"
mechanism = "rlsvi"
parameters = { states = 6, actions = 2, horizon = 20, episodes = 1000 }
adjacency = "rewards-only"
epsilon = 2.0
delta = 1e-6
"""


def explain(identity: Annotated[str, typer.Argument(metavar="ID", help="a statement id")]) -> None:
    """Say what a statement says, what is known about it, and why."""
    from proofs_check.registry import as_json, lookup, statement_ids, verify

    if identity not in statement_ids():
        raise ValueError(f"id ({identity!r}) must be a statement id, as `dpproof verify papers` lists them")
    entry, result = lookup(identity), as_json(verify([identity])[0])
    console = Console()
    console.print(f"[bold]{identity}[/]: {escape(entry.title)}")
    console.print(f"{entry.source}", style="dim")
    console.print(escape(entry.says))
    console.print(f"verdict: {show.coloured(result['verdict'])}")
    for line in show.remarks(result):
        console.print(f"  {escape(line)}")
    for obligation in entry.obligations:
        console.print(f"  obligation {obligation.name}: {escape(obligation.note)}")
    if entry.rests_on:
        console.print(f"rests on: {', '.join(entry.rests_on)}")
    console.print(f"not covered: {escape(entry.not_covered)}")


def init(
    file: Annotated[Path, typer.Argument(help="where to write it")] = Path("dpproof.toml"),
) -> None:
    """Write a commented claim file to begin with; an existing file is left alone."""
    if file.exists():
        raise ValueError(f"file ({file}) must not exist yet: it is left as it is")
    file.write_text(STARTER, encoding="utf-8")
    typer.echo(f"wrote {file}; next: dpproof check {file}")
