"""What a person sees of statements: their verdicts, what was checked, and what is taken on trust."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files as resources

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpproof.answers.verify import Verified
from dpproof.cli.show import coloured
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import beside, many, own_remarks


def statements(found: Verified, console: Console) -> None:
    """The ledger of ``dpproof verify``: verdicts, with what is assumed named once below.

    Below each verdict stands the number of readings it rests on, counted through all it rests on.
    """
    given = {text: _letter(n) for n, text in enumerate(_assumptions(found))}
    rows = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    rows.add_column("verdict", no_wrap=True)
    rows.add_column("statement", overflow="fold")
    for entry in found.statements:
        letters = ", ".join(given[text] for text in entry.assumptions)
        lines = [f"[bold]{entry.id}[/]  {escape(entry.title)}", *map(escape, own_remarks(entry))]
        given_below = [f"given {letters}"] if letters else []
        rows.add_row(_verdict(entry), "\n".join([*lines, *given_below]))
    console.print(rows)
    for text, letter in given.items():
        console.print(f"[bold]{letter}[/]  {escape(text)}", style="dim", highlight=False)
    _checked(found, list(given.values()), console)
    console.print()


def _verdict(entry: Result) -> str:
    """The cell of a statement's verdict: verdict, severity, assumptions, number of readings."""
    return "\n".join(
        [
            coloured(entry.verdict),
            *beside(entry.verdict, len(entry.readings), len(entry.assumptions), entry.severity),
        ]
    )


def _assumptions(found: Verified) -> Sequence[str]:
    return list(dict.fromkeys(text for entry in found.statements for text in entry.assumptions))


def _letter(place: int) -> str:
    """The name of an assumption by its place: a to z, then aa, ab and so on.

    >>> [_letter(place) for place in (0, 25, 26, 701, 702)]
    ['a', 'z', 'aa', 'zz', 'aaa']
    """
    before, last = divmod(place, 26)
    return (_letter(before - 1) if before else "") + chr(ord("a") + last)


def _checked(found: Verified, letters: Sequence[str], console: Console) -> None:
    """How many certificates were checked and where they are; what is taken on trust."""
    entries = found.statements
    files = {file for entry in entries for file in entry.certificates}
    folder = resources("dpproof.proofs_check") / "certificates"
    assumed = sum(entry.verdict is Verdict.ASSUMED for entry in entries)
    where = f"; FILE of it: {folder}/*.jsonl" if files else ""
    trusted = [
        *([f"{many(len(letters), 'assumption')}{_span(letters)}"] if letters else []),
        many(len(found.readings), "reading"),
        many(len(found.laws), "law"),
        f"{many(assumed, 'statement')} ASSUMED",
    ]
    lines = [
        "readings: steps of the argument that people read, counted through all that a statement rests on",
        f"checked: {many(len(files), 'certificate')} of {many(len(entries), 'statement')}, "
        f"again by python -m dpproof.proofs_check.kernel FILE{where}",
        f"taken on trust: {', '.join(trusted)}; dpproof explain ID says what one rests on",
    ]
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _span(letters: Sequence[str]) -> str:
    if not letters:
        return ""
    return f" ({letters[0]} above)" if len(letters) == 1 else f" ({letters[0]} to {letters[-1]} above)"
