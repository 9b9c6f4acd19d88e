"""``dpproof verify``: verdicts on statements, a new check of every certificate, and the assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path

import click
from click.exceptions import Exit
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpproof.answers import as_json, coverage
from dpproof.answers.own_page import verify_own
from dpproof.answers.verify import Verified, departures, ids_named
from dpproof.answers.verify import verify as verified
from dpproof.cli import show
from dpproof.cli.options import JSON, VERBOSE
from dpproof.cli.show import coloured
from dpproof.first_answer import of_number, of_own_page, of_passport, of_statements
from dpproof.proofs_check import registry
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import beside, many, own_remarks


def _names(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the papers and statements with this beginning, for the shell."""
    known = ["papers", "passport", *registry.papers(), *registry.statement_ids()]
    return [name for name in known if name.startswith(begun)]


@click.command()
@click.argument("names", nargs=-1, required=True, shell_complete=_names)
@VERBOSE
@JSON
def verify(names: tuple[str, ...], verbose: bool, json: bool) -> None:
    """Re-check the certificates and print the verdicts.

    NAMES are papers, a paper's name, or statement ids. One name that ends in .md is a page with a lemma of your own.
    One name that ends in .json is the certificate of a number, such as census-pl94-persons.json.
    The word "passport" and a file check the passport of a private agent.
    """
    if names[0] == "passport":
        if len(names) != 2:
            raise ValueError(f"names ({' '.join(names)}) must be passport and one file")
        raise Exit(_passport(Path(names[1]), json))
    if any(name.endswith(".md") for name in names):
        if len(names) > 1:
            raise ValueError(f"names ({' '.join(names)}): a page must be the only name")
        raise Exit(_own(Path(names[0]), verbose, json))
    if any(name.endswith(".json") for name in names):
        if len(names) > 1:
            raise ValueError(f"names ({' '.join(names)}): a certificate must be the only name")
        raise Exit(_number(Path(names[0]), json))
    ids = dict.fromkeys(identity for name in names for identity in ids_named(name))
    found = verified(ids)
    show.answer(
        as_json.verified(found), json, lambda console: _shown(found, console, verbose or len(ids) == 1)
    )
    if "papers" in names and not json:
        click.echo(coverage.line(coverage.coverage(found.statements)))
        click.echo(coverage.strength(found.statements))
    raise Exit(_exit_code(names, found.statements))


def _passport(path: Path, json: bool) -> int:
    """Print what follows from a passport, and return the exit code."""
    from dpproof.answers.passport import check_passport  # it loads the agents

    found = check_passport(path)
    show.answer(as_json.passport(found), json, lambda console: show.first(of_passport(found), console))
    return 0 if found.stands else 1


def _number(path: Path, json: bool) -> int:
    """Print what follows from the certificate of a number, and return the exit code."""
    from dpproof.answers.number import check_certificate  # it loads the deployments

    found = check_certificate(path)
    show.answer(as_json.number(found), json, lambda console: show.first(of_number(found), console))
    return 1 if found.number is None else 0


def _own(path: Path, verbose: bool, json: bool) -> int:
    """Print the verdict on a page of one's own, and return the exit code."""
    found = verify_own(path)

    def shown(console: Console) -> None:
        show.first(of_own_page(found, str(path)), console)
        if verbose:
            statements(Verified((found.result,)), console, verbose)

    show.answer(as_json.own_page(found), json, shown)
    return found.result.verdict.exit_code


def _shown(found: Verified, console: Console, verbose: bool) -> None:
    """Print the answer in words, then the statements that do not stand, or all of them."""
    show.first(of_statements(found), console)
    statements(found if verbose else wrong(found), console, verbose)


def wrong(found: Verified) -> Verified:
    """Return the statements that are refuted or open."""
    return Verified(
        tuple(
            entry
            for entry in found.statements
            if not entry.verdict.stands and entry.verdict is not Verdict.ASSUMED
        )
    )


def _exit_code(names: Sequence[str], found: Sequence[Result]) -> int:
    """Return the exit code.

    A verdict that differs from the one that the page states gives 1. A statement that was asked for by its id gives 1
    if it is refuted, and 3 if it is open.
    """
    papers = [name for name in names if name in {"papers", *registry.papers()}]
    named = {identity for name in names if name not in papers for identity in ids_named(name)}
    own = [result for result in found if result.id in named and result.verdict.exit_code]
    departed = departures(found, *map(_prefix, papers))
    for line in (*departed, *(f"{result.id} is {result.verdict.value}" for result in own)):
        click.echo(f"dpproof: {line}", err=True)
    codes = [result.verdict.exit_code for result in own]
    other = [line for line in departed if line.partition(":")[0] not in {result.id for result in own}]
    return min([*codes, *(1 for _ in other)], default=0)


def _prefix(name: str) -> str:
    """Return the prefix of the ids of a paper, which is empty for all papers."""
    return "" if name == "papers" else f"{registry.papers()[name].prefix}."


def statements(found: Verified, console: Console, verbose: bool) -> None:
    """Print the verdicts of ``dpproof verify``, and with ``verbose`` a list of what is assumed.

    Below each verdict is its number of readings, which are steps that people check. This number includes the
    readings of the statements on which the statement rests.
    """
    if not found.statements:
        return
    given = {text: _letter(n) for n, text in enumerate(_assumptions(found))}
    rows = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    rows.add_column("verdict", no_wrap=True)
    rows.add_column("statement", overflow="fold")
    for entry in found.statements:
        letters = ", ".join(given[text] for text in entry.assumptions)
        lines = [f"[bold]{entry.id}[/]  {escape(entry.title)}", *map(escape, own_remarks(entry))]
        given_below = [f"given {letters}"] if letters and verbose else []
        rows.add_row(_verdict(entry), "\n".join([*lines, *given_below]))
    console.print(rows)
    if not verbose:
        return
    for text, letter in given.items():
        console.print(f"[bold]{letter}[/]  {escape(text)}", style="dim", highlight=False)
    _checked(found, list(given.values()), console)
    console.print()


def _verdict(entry: Result) -> str:
    """Return the cell of a statement's verdict: verdict, severity, assumptions, number of readings."""
    return "\n".join(
        [
            coloured(entry.verdict),
            *beside(entry.verdict, len(entry.readings), len(entry.assumptions), entry.severity),
        ]
    )


def _assumptions(found: Verified) -> Sequence[str]:
    return list(dict.fromkeys(text for entry in found.statements for text in entry.assumptions))


def _letter(place: int) -> str:
    """Return the name of an assumption by its position: a to z, then aa, ab and so on.

    >>> [_letter(place) for place in (0, 25, 26, 701, 702)]
    ['a', 'z', 'aa', 'zz', 'aaa']
    """
    before, last = divmod(place, 26)
    return (_letter(before - 1) if before else "") + chr(ord("a") + last)


def _checked(found: Verified, letters: Sequence[str], console: Console) -> None:
    """Print how many certificates were checked, where they are, and what is assumed."""
    entries = found.statements
    files = {file for entry in entries for file in entry.certificates}
    folder = resources("dpproof.proofs_check") / "certificates"
    assumed = sum(entry.verdict is Verdict.ASSUMED for entry in entries)
    where = f"; the certificates are in {folder}/*.jsonl" if files else ""
    trusted = [
        *([f"{many(len(letters), 'assumption')}{_span(letters)}"] if letters else []),
        many(len(found.readings), "reading"),
        many(len(found.laws), "law"),
        f"{many(assumed, 'statement')} ASSUMED",
    ]
    lines = [
        "readings: steps that a person must check, including those of all statements that a statement rests on",
        f"checked: {many(len(files), 'certificate')} of {many(len(entries), 'statement')}; "
        f"python -m dpproof.proofs_check.kernel rlsvi.jsonl:3 checks one of them again, given its file and line{where}",
        f"taken on trust: {', '.join(trusted)}; dpproof explain ID lists them for one statement",
    ]
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _span(letters: Sequence[str]) -> str:
    if not letters:
        return ""
    return f" ({letters[0]} above)" if len(letters) == 1 else f" ({letters[0]} to {letters[-1]} above)"
