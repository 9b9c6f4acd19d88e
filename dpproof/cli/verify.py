"""``dpproof verify``: verdicts on statements, every certificate checked again by the kernel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpproof import answers
from dpproof.accountant.claims.spelling import nearest
from dpproof.cli import show
from dpproof.cli.options import JSON
from dpproof.cli.statements import statements
from dpproof.report import coverage
from dpproof.report.recorded import departures

__all__ = ["ids_named", "verify"]


def ids_named(name: str) -> tuple[str, ...]:
    """The statement ids that ``papers``, a paper's command-line name, or a statement id stands for.

    >>> ids_named("rlsvi.eq2"), ids_named("sdp.lemma19")
    (('rlsvi.eq2',), ('sdp.lemma7',))

    Raises:
        ValueError: for an unknown name.
    """
    from dpproof.proofs_check.registry import papers, statement_ids

    everything = statement_ids()
    if name == "papers":
        return everything
    if name in papers():
        return statement_ids(f"{papers()[name].prefix}.")
    if (identity := coverage.identity_of(name)) in everything:
        return (identity,)
    rule = f"must be papers, a paper ({', '.join(papers())}) or a statement id"
    raise ValueError(f"name ({name!r}) {rule}{nearest(name, ('papers', *papers(), *everything))}")


def verify(
    names: Annotated[list[str], typer.Argument(help="papers, a paper's name, or statement ids")],
    json: JSON = False,
) -> None:
    """Re-check the certificates and print the verdicts."""
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    answer = answers.verify(ids)
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
    failed = {entry["id"]: entry["verdict"] for entry in found if entry["verdict"] in _FAILURES}
    own = {identity: verdict for identity, verdict in failed.items() if identity in named}
    departed = departures(found, *map(_prefix, papers)) if papers else []
    for line in (*departed, *(f"{identity} is {verdict}" for identity, verdict in own.items())):
        typer.echo(f"dpproof: {line}", err=True)
    return min([*(_FAILURES[verdict] for verdict in own.values()), *(1 for _ in departed)], default=0)


_FAILURES = {"REFUTED": 1, "OPEN": 3}


def _prefix(name: str) -> str:
    """How the ids of a paper begin; empty for all papers."""
    from dpproof.proofs_check.registry import papers

    return "" if name == "papers" else f"{papers()[name].prefix}."


def _papers() -> frozenset[str]:
    from dpproof.proofs_check.registry import papers

    return frozenset(papers())
