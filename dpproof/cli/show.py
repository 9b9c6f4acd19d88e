"""What a person sees: the same answers as the JSON, laid out with rich."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.accountant.numbers.written import json_text
from dpproof.audits.recording.evidence import Finding
from dpproof.cli.layout import put, table
from dpproof.outcome import Outcome
from dpproof.proofs_check.verdict import Verdict
from dpproof.wording import at_least, at_most, figure, many, verdict_words, worth, would_see

__all__ = [
    "COLOURS",
    "CorpusRows",
    "account",
    "audits",
    "calibrate",
    "coloured",
    "either",
    "released_bits",
    "sizes",
    "trusted",
]

if TYPE_CHECKING:
    from dpproof.answers.corpus import CaseResult

Answer = Mapping[str, Any]
COLOURS = {word.value: word.colour for kind in (Verdict, Finding, Outcome) for word in kind}

AUDITS = "Audits: epsilon claimed, found, and what would have been seen with power 90 %"


def either(answer: Answer, as_json: bool, render: Callable[[Answer, Console], None]) -> None:
    """Print ``answer`` as JSON, or through ``render``."""
    if as_json:
        typer.echo(json_text(answer))
    else:
        render(answer, Console())


def coloured(word: str) -> str:
    """A verdict in its colour."""
    return f"[{COLOURS.get(word, 'white')}]{escape(word)}[/]"


def sizes(answer: Answer) -> str:
    """What was asked about: mechanism, parameters and neighbouring relation."""
    given = ", ".join(f"{name} {value}" for name, value in answer["parameters"].items())
    return f"{answer['name']} ({given}), neighbours: {answer['adjacency']}"


def account(answer: Answer, console: Console) -> None:
    """The answer of ``dpproof account``."""
    asked, found = ("epsilon", "delta") if isinstance(answer["delta"], dict) else ("delta", "epsilon")
    rows = table(found, "at least", "at most", "rests on", "verdict")
    published = answer["published"] or {}
    if "epsilon" in published:
        _row(rows, "published, as the paper converts", published["epsilon"], published)
    if f"{found}_exact" in published and _ends(published[f"{found}_exact"]) != _ends(answer[found]):
        rests = {"statement": published["exact_statement"]} | {
            key: published[f"exact_{key}"] for key in ("verdict", "readings_all")
        }
        _row(rows, "published cost, converted as ours", published[f"{found}_exact"], rests)
    _row(rows, "dpproof", answer[found], answer)
    if answer["mechanism"] and answer["mechanism"] != answer[found]:
        rows.add_row(
            "what is released, itself",
            at_least(answer["mechanism"]["lower"]),
            at_most(answer["mechanism"]["upper"]),
        )
    console.print(escape(sizes(answer)))
    console.print(f"{found} at {asked} {figure(answer[asked])}, of {answer['released']}")
    if answer["joint_by"]:
        console.print(f"the users' actions are jointly private with the same, by {answer['joint_by']}")
    put(rows, console)
    console.print(escape(released_bits(answer)), highlight=False)
    if answer["mechanism"]:
        console.print(f"attained by: {answer['mechanism']['attained_by']}", style="dim")
    if "printed" in answer:
        _printed(answer["printed"], console)
    console.print(trusted(answer), style="dim", highlight=False, soft_wrap=True)
    _arithmetic(answer, console)
    _notes(answer, console)


def trusted(answer: Answer) -> str:
    """What an account takes on trust, and the command that lists it."""
    if "rests_on" in answer:
        return f"taken on trust: {answer['rests_on']}"
    assumed, read, laws = len(answer["assumptions"]), answer["readings_all"], len(answer["laws_all"])
    taken = [many(n, noun) for n, noun in ((assumed, "assumption"), (read, "reading"), (laws, "law")) if n]
    if not taken:
        return f"taken on trust: nothing; the kernel derives {answer['statement']}"
    return f"taken on trust: {', '.join(taken)}; see dpproof explain {answer['statement']}"


def released_bits(answer: Answer) -> str:
    """Whether the certified numbers speak of what the library releases, to the last bit."""
    return f"released bits: {answer['released_bits']}"


def _arithmetic(answer: Answer, console: Console) -> None:
    console.print(escape(in_words(answer["arithmetic_assumptions"])), style="dim", highlight=False)


def _notes(answer: Answer, console: Console) -> None:
    for note in answer["notes"]:
        console.print(f"note: {note}", style="dim")


def _ends(bound: Answer) -> tuple[Any, Any]:
    return bound["lower"], bound["upper"]


def _row(rows: Table, label: str, ends: Answer, rests: Answer) -> None:
    rows.add_row(
        label,
        at_least(ends["lower"]),
        at_most(ends["upper"]),
        rests["statement"],
        f"{coloured(rests['verdict'])}{escape(verdict_words(rests).removeprefix(rests['verdict']))}",
    )


def calibrate(answer: Answer, console: Console) -> None:
    """The answer of ``dpproof calibrate``."""
    noise, least = answer["noise"], answer["minimal"]
    console.print(escape(sizes(answer)))
    console.print(f"[bold]{noise['name']} = {noise['value']!r}[/] meets epsilon {answer['target_epsilon']:g}")
    console.print(f"  certified epsilon at most {answer['epsilon']['upper']!r} at delta {answer['delta']:g}")
    console.print(f"  {released_bits(answer)}", markup=False, highlight=False)
    console.print(f"  {least['value_below']!r} would not: epsilon at least {least['epsilon_lower']!r}")
    if "printed" in answer:
        _printed(answer["printed"], console)
    if "what_if" in answer:
        _what_if(answer["what_if"], noise["name"], console)
    _arithmetic(answer, console)
    _notes(answer, console)
    console.print("\nin Python, and in a claim file:\n", style="dim")
    for text in answer["code"].values():
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _what_if(rows: Sequence[Answer], noise: str, console: Console) -> None:
    """The noise for other goals and sizes, one change at a time."""
    made = table("if instead", noise, "times")
    for row in rows:
        why = row.get("why", "")
        made.add_row(
            f"{row['change']} {figure(row['to'])}",
            figure(row["noise"]),
            figure(row["ratio"]) if not why else escape(why),
        )
    put(made, console)


def _printed(printed: Answer, console: Console) -> None:
    """What the paper prints for the same target, beside what was found."""
    rows = table("for the same target", "printed", "exact", "ratio")
    for name, pair in printed.items():
        if isinstance(pair, Mapping):
            rows.add_row(name, *(figure(pair[side]) for side in ("printed", "exact", "ratio")))
    put(rows, console)
    remark = f" ({printed['remark']})" if "remark" in printed else ""
    console.print(f"printed by {printed['statement']}{remark}", style="dim")
    if "alternatives" in printed:
        others = table("noise, for the same target", "beta", "deviation")
        for one in printed["alternatives"]:
            others.add_row(escape(one["noise"]), figure(one["beta"]), figure(one["deviation"]))
        put(others, console)


def audits(answer: Answer, console: Console) -> None:
    """The findings of ``dpproof audit``."""
    for entry in answer["audits"]:
        if worth(entry):
            console.print(
                f"{escape(entry['claim'])}: {entry['verdict']}. {escape(worth(entry))}", soft_wrap=True
            )
    for sentence in _on_trust(answer["audits"]):
        console.print(f"taken on trust: {sentence}", markup=False, highlight=False, soft_wrap=True)
    if answer.get("arithmetic_assumptions"):
        line = f"claimed epsilon: {in_words(answer['arithmetic_assumptions'])}"
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    headings = ("claim", "verdict", "claimed", "at least", "delta", "samples", "would see")
    rows = table(*headings, title=AUDITS)
    for entry in answer["audits"]:
        rows.add_row(
            escape(entry["claim"]),
            coloured(entry["verdict"]),
            at_most(entry["claimed_epsilon"]),
            _found(entry),
            figure(entry["delta"]),
            str(entry["samples"]),
            would_see(entry["would_have_seen"]),
        )
    put(rows, console)


def _on_trust(entries: Sequence[Answer]) -> Sequence[str]:
    """What audits take on trust, each sentence once."""
    return list(dict.fromkeys(text for entry in entries for text in entry.get("taken_on_trust", ())))


def _found(entry: Answer) -> str:
    """The epsilon that was found; where all that is known is that the claimed one is exceeded, that."""
    if Finding(entry["verdict"]).violated and entry["epsilon_lower"] == entry["claimed_epsilon"]:
        return f"> {figure(entry['claimed_epsilon'])}"
    return at_least(entry["epsilon_lower"])


class CorpusRows:
    """The table of ``dpproof audit corpus``, printed row by row as cases are done.

    Args:
        names: of all cases, for the width of their column.
        quiet: print nothing.
    """

    def __init__(self, names: Sequence[str], quiet: bool) -> None:
        self._console = Console(quiet=quiet, soft_wrap=True, highlight=False)
        self._width, self._begun = max(map(len, names)), False

    def _line(self, name: str, expected: str, found: str, samples: str, seconds: str, reason: str) -> str:
        left = f"{name:<{self._width}}  {expected:<32}"
        return escape(f"{left}{found:<32}{samples:>10}{seconds:>9}  {reason}")

    def print(self, outcome: CaseResult) -> None:
        """One row, below the headings."""
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
        """How many came out as they must."""
        missed, skipped = sum(one.missed for one in done), sum(one.found == "skipped" for one in done)
        took = sum(one.seconds for one in done)
        right = len(done) - missed - skipped
        self._console.print(f"{right} as expected, {missed} not, {skipped} skipped; {took:.0f} s of work")
