"""Output for the terminal: the same answers as in the JSON, formatted with rich."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpproof.accountant.numbers.arithmetic import Assumption, in_words
from dpproof.accountant.numbers.written import json_text
from dpproof.answers.as_json import Json
from dpproof.cli.layout import print_table, table
from dpproof.first_answer import of_account, of_calibration
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import at_least, at_most, figure, many, result_words, verdict_words, worth, would_see

if TYPE_CHECKING:
    from dpproof.accountant.numbers.bounds import Bound
    from dpproof.answers.account import Account, Published
    from dpproof.answers.calibration import Alternative, Calibration
    from dpproof.answers.corpus import CaseResult
    from dpproof.audits.recording.evidence import Evidence, Finding
    from dpproof.outcome import Outcome

AUDITS = "Audits: epsilon claimed, found, and what would have been seen with power 90 %"


def answer(body: Json, as_json: bool, render: Callable[[Console], None]) -> None:
    """Print the answer ``body`` as JSON, or else call ``render``, which prints the answer as text."""
    if as_json:
        click.echo(json_text(body))
    else:
        render(Console(emoji=False))


def coloured(word: Verdict | Finding | Outcome) -> str:
    """Return the text of a verdict with rich's markup for its colour."""
    return f"[{word.colour}]{escape(word.value)}[/]"


def first(lines: Iterable[str], console: Console) -> None:
    """Print the first lines of an answer, the most important one in bold."""
    for place, line in enumerate(lines):
        console.print(escape(line), highlight=False, soft_wrap=True, style="bold" if place == 1 else "")


def account(found: Account, console: Console, verbose: bool = False) -> None:
    """Print the answer of ``dpproof account``."""
    assert found.result is not None  # an event is shown by its claim
    first(of_account(found), console)
    rows = table(found.quantity, "at least", "at most", "rests on", "verdict")
    if found.published is not None:
        _published(rows, found.published, found.bound)
    if found.rests is not None:
        _row(rows, "dpproof", found.bound, found.rests, result_words(found.rests))
    if found.released is not None and found.released != found.bound:
        rows.add_row(
            "what is released, itself", at_least(found.released.lower), at_most(found.released.upper)
        )
    print_table(rows, console)
    if found.checked is not None:
        console.print(f"check: {escape(found.checked.words)}", highlight=False, soft_wrap=True)
    if found.printed is not None:
        _printed(found.printed, console)
    _notes(found.result.notes, console)
    if verbose:
        console.print(trusted(found), style="dim", highlight=False, soft_wrap=True)
        console.print(escape(in_words(found.arithmetic)), style="dim", highlight=False)


def _published(rows: Table, found: Published, own: Bound) -> None:
    """Add the published bound as the paper converts it, and with our conversion if the two differ."""
    if found.printed is not None:
        words = verdict_words(found.rests.verdict, len(found.rests.readings))
        _row(rows, "published, as the paper converts", found.printed, found.rests, words)
    if (found.exact.lower, found.exact.upper) != (own.lower, own.upper):
        words = verdict_words(found.exact_rests.verdict, len(found.exact_rests.readings))
        _row(rows, "published cost, converted as ours", found.exact, found.exact_rests, words)


def trusted(found: Account) -> str:
    """Return a text on what a certified result takes on trust, and the command that lists these facts."""
    rests = found.rests
    if rests is None:
        return f"taken on trust: {found.rests_on}"
    counts = (rests.assumptions, "assumption"), (rests.readings, "reading"), (rests.laws, "law")
    taken = [many(len(held), noun) for held, noun in counts if held]
    if not taken:
        return f"taken on trust: nothing; the kernel derives {rests.id}"
    return f"taken on trust: {', '.join(taken)}; see dpproof explain {rests.id}"


def _notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(f"note: {note}", style="dim", soft_wrap=True)


def _row(rows: Table, label: str, bound: Bound, rests: Result, words: str) -> None:
    verdict = f"{coloured(rests.verdict)}{escape(words.removeprefix(rests.verdict.value))}"
    rows.add_row(label, at_least(bound.lower), at_most(bound.upper), rests.id, verdict)


def calibrate(found: Calibration, console: Console, verbose: bool = False) -> None:
    """Print the answer of ``dpproof calibrate``."""
    first(of_calibration(found), console)
    if found.printed is not None:
        _printed(found.printed, console)
    if found.alternatives is not None:
        _alternatives(found.alternatives, found.accountant.noise, console)
    _notes(found.result.notes, console)
    if verbose:
        console.print(escape(in_words(found.arithmetic)), style="dim", highlight=False)
    beside = ", and in a claim file" if "claim" in found.code else ""
    console.print(f"\nin Python{beside}:\n", style="dim")
    for text in found.code.values():
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _alternatives(rows: Sequence[Alternative], noise: str, console: Console) -> None:
    """Print the noise for other targets and sizes, one change in each row."""
    made = table("if instead", noise, "times")
    for row in rows:
        ratio = escape(row.why) if row.why else figure(row.ratio)
        made.add_row(f"{row.change} {figure(row.to)}", figure(row.noise), ratio)
    print_table(made, console)


def _printed(printed: Mapping[str, Any], console: Console) -> None:
    """Print what the paper states for the same target, next to the result."""
    rows = table("for the same target", "printed", "exact", "ratio")
    for name, pair in printed.items():
        if isinstance(pair, Mapping):
            rows.add_row(name, *(figure(pair[side]) for side in ("printed", "exact", "ratio")))
    print_table(rows, console)
    remark = f" ({printed['remark']})" if "remark" in printed else ""
    console.print(f"printed by {printed['statement']}{remark}", style="dim")
    if "alternatives" in printed:
        others = table("noise, for the same target", "beta", "deviation")
        for one in printed["alternatives"]:
            others.add_row(escape(one["noise"]), figure(one["beta"]), figure(one["deviation"]))
        print_table(others, console)


def audits(found: Sequence[Evidence], arithmetic: Collection[Assumption], console: Console) -> None:
    """Print the findings of ``dpproof audit``."""
    for one in found:
        if worth(one):
            console.print(f"{escape(one.claim)}: {one.verdict.value}. {escape(worth(one))}", soft_wrap=True)
        if one.words:
            told = "\n  ".join([f"{one.claim}: {one.verdict.value}", *one.words])
            console.print(told, markup=False, highlight=False, soft_wrap=True)
    for sentence in dict.fromkeys(text for one in found for text in one.taken_on_trust):
        console.print(f"taken on trust: {sentence}", markup=False, highlight=False, soft_wrap=True)
    if arithmetic:
        line = f"claimed epsilon: {in_words(arithmetic)}"
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    headings = ("claim", "verdict", "claimed", "at least", "delta", "samples", "would see")
    rows = table(*headings, title=AUDITS)
    for one in found:
        rows.add_row(
            escape(one.claim),
            coloured(one.verdict),
            at_most(one.claimed_epsilon),
            _found(one),
            figure(one.delta),
            str(one.samples),
            would_see(one.would_have_seen),
        )
    print_table(rows, console)


def _found(one: Evidence) -> str:
    """Return the epsilon that was found, or "> claim" if it is only known to exceed the claim."""
    if one.verdict.violated and one.epsilon_lower == one.claimed_epsilon:
        return f"> {figure(one.claimed_epsilon)}"
    return at_least(one.epsilon_lower)


class CorpusRows:
    """The table of ``dpproof audit corpus``, printed row by row as cases finish.

    Args:
        names: the names of all cases, which determine the width of a column.
        quiet: whether to print nothing.
    """

    def __init__(self, names: Sequence[str], quiet: bool) -> None:
        self._console = Console(quiet=quiet, soft_wrap=True, highlight=False, emoji=False)
        self._width, self._begun = max(map(len, names)), False

    def _line(self, name: str, expected: str, found: str, samples: str, seconds: str, reason: str) -> str:
        left = f"{name:<{self._width}}  {expected:<32}"
        return escape(f"{left}{found:<32}{samples:>10}{seconds:>9}  {reason}")

    def print(self, outcome: CaseResult) -> None:
        """Print one row, below the headings."""
        if not self._begun:
            self._begun = True
            headings = self._line("case", "expected", "found", "samples", "seconds", "reason")
            self._console.print(headings, style="bold")
        samples = "-" if outcome.evidence is None else str(outcome.evidence.samples)
        seconds = "-" if outcome.found == "skipped" else f"{outcome.seconds:.1f}"
        reason = outcome.error or "" if outcome.found == "skipped" else outcome.reason
        line = self._line(outcome.name, outcome.expected, outcome.found, samples, seconds, reason)
        style = "red" if outcome.missed else "yellow" if outcome.found == "skipped" else ""
        self._console.print(line, style=style)

    def summary(self, done: Sequence[CaseResult]) -> None:
        """Print how many cases had the expected result."""
        missed, skipped = sum(one.missed for one in done), sum(one.found == "skipped" for one in done)
        took = sum(one.seconds for one in done)
        right = len(done) - missed - skipped
        self._console.print(f"{right} as expected, {missed} not, {skipped} skipped; {took:.0f} s of work")
