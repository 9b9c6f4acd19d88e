"""``dpproof check deployments``: published guarantees of deployments beside certified ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from dpproof.accountant.numbers.written import write_whole
from dpproof.answers import as_json
from dpproof.claim_file import read_all
from dpproof.cli import show
from dpproof.cli.layout import print_table, table
from dpproof.deployments.carried import carried
from dpproof.deployments.comparing import KINDS, Comparison, Word, compare_all, fairness
from dpproof.deployments.records import Deployment, bundled, read_file
from dpproof.deployments.registry import SCHEMA, read_record, read_registry, record_of
from dpproof.formats.deployments import markdown_of_deployments
from dpproof.wording import figure

_COLOURS = {
    Word.REPRODUCED: "green",
    Word.ROUNDED_DOWN: "yellow",
    Word.LOOSE: "yellow",
    Word.CONDITIONAL: "cyan",
    Word.INCONSISTENT: "red",
    Word.UNDERSPECIFIED: "dim",
}


def check_deployments(where: Path | None, as_data: bool, verbose: bool, markdown: Path | None = None) -> int:
    """Print the comparison of the bundled rows, of a file, or of a checkout of the registry. Return the exit code.

    ``markdown`` is a file for a summary. The code is 1 if a record breaks the rules of the registry, else 0. A verdict
    on a published number is no error.
    """
    rows, wrong = _rows(where)
    found = compare_all(rows)
    if markdown is not None:
        write_whole(markdown, markdown_of_deployments(first_lines(found, wrong), found))
    body = as_json.envelope({"deployments": [to_json(one) for one in found], "wrong": list(wrong)})
    show.answer(body, as_data, lambda console: _print(found, wrong, console, verbose))
    return 1 if wrong else 0


def _rows(where: Path | None) -> tuple[Sequence[Deployment], Sequence[str]]:
    if where is None:
        return bundled(), ()
    if where.is_dir():
        return read_registry(where, bundled())
    if not where.is_file():
        raise ValueError(
            f"file ({where}) must be a folder of the registry, one of its records, or a table in TOML."
        )
    if where.suffix == ".toml":
        return read_file(where), ()
    return read_record(where, where.absolute().parent.parent / SCHEMA, bundled())


def to_json(one: Comparison) -> as_json.Json:
    """Return one row of the comparison as data for JSON."""
    row, best, reading = one.row, one.found.best, one.reading
    return {
        "id": row.id,
        "name": row.name,
        "curator": row.curator,
        "year": row.year,
        "record": row.record or None,
        "source": row.source,
        "unit": row.unit or None,
        "adjacency": row.relation or None,
        "trust": row.trust,
        "given": list(row.given),
        "missing": list(row.missing),
        "published": dict(row.published),
        "quantity": row.quantity or None,
        "recomputed": KINDS[one.found.kind],
        "certified": None if best is None else {"lower": float(best[0]), "upper": float(best[1])},
        "verdict": one.word.value,
        "words": one.verdict,
        "slack": None if one.slack is None else float(one.slack),
        "reading": None if reading is None else {"name": reading.name, "assumes": reading.assumes or None},
        "certificates": list(carried(row)),
        "fairness": fairness(one),
    }


def _print(found: Sequence[Comparison], wrong: Sequence[str], console: Console, verbose: bool) -> None:
    show.first(first_lines(found, wrong), console)
    rows = table("deployment", "published", "certified", "recomputed", "verdict")
    for one in found:
        colour = _COLOURS[one.word]
        words = f"[{colour}]{escape(one.verdict)}[/]"
        rows.add_row(
            escape(f"{one.row.curator}: {one.row.name}"), one.published, one.certified, one.found.kind, words
        )
    print_table(rows, console)
    for one in found if verbose else [one for one in found if one.word is Word.INCONSISTENT]:
        console.print(f"\n[bold]{escape(one.row.name)}[/]")
        console.print(escape(fairness(one)), highlight=False, soft_wrap=True)


def first_lines(found: Sequence[Comparison], wrong: Sequence[str]) -> list[str]:
    """Return the first lines of the answer: how many rows were recomputed, and with which outcome."""
    counts = Counter(one.word for one in found)
    done = sum(one.found.best is not None for one in found)
    outcome = ", ".join(f"{counts[word]} {word.value}" for word in Word if counts[word])
    above = sum(one.slack is not None and one.slack >= 0 for one in found)
    lines = [
        f"{len(found)} published guarantees, {done} of them recomputed.",
        f"Outcome: {outcome or 'no row could be read'}.",
        f"{above} of the {done} published numbers are upper bounds, given what the sources state and each condition.",
        "A number that is reproduced may still be looser than the certified one. --verbose prints a paragraph on each.",
    ]
    more = [f"Another {len(wrong) - _SHOWN} faults are in the JSON answer."] * (len(wrong) > _SHOWN)
    return [*lines, *(f"A record has a fault: {told}" for told in wrong[:_SHOWN]), *more]


_SHOWN = 5


def emit_records(path: Path, outside: bool) -> int:
    """Write a draft of a registry record for each claim of a file into the current folder. Return the exit code."""
    reading = read_all(path, outside=outside)
    for refusal in reading.refusals:
        click.echo(f"dpproof: {refusal}", err=True)
    if reading.refusals:
        return 2
    for claim in reading.claims:
        told = f"Claimed: epsilon {figure(claim.epsilon)} at delta {figure(claim.delta)}. `dpproof check` checks it."
        file = Path(re.sub(r"[^a-z0-9]+", "_", claim.name.lower()).strip("_") + ".yaml")
        write_whole(file, record_of(claim, told))
        click.echo(f"Wrote {file}. Fill in the fields that say 'To be filled in'.")
    return 0
