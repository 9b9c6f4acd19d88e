"""Write the section of docs/paired-runs.md on other people's code, from the rows that `rows` printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.paired_runs.libraries.words import AFTER, BEFORE, HEADING

PAGE = Path(__file__).parents[3] / "docs" / "paired-runs.md"
LIBRARIES = ("dpmm", "mbi", "synthcity")
PASSED = ("passed", "not ")
Row = dict[str, Any]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Generate the lines of the section."""
    yield f"{HEADING}\n\n{BEFORE}\n"
    yield "| library | version | mechanism | change | dpproof | dp-recorder (published) |"
    yield "|---|---|---|---|---|---|"
    notes: dict[str, int] = {}
    for name in LIBRARIES:
        own = [row for row in rows if row["library"] == name]
        yield from (
            (_line(row, notes) for row in own) if own else [f"| {name} | skipped: not installed | | | | |"]
        )
    yield ""
    yield from (f"{number}. {text[0].upper()}{text[1:]}." for text, number in notes.items())
    yield f"\n{_counts(rows)}\n\n{AFTER}" if rows else ""


def _line(row: Row, notes: dict[str, int]) -> str:
    place = f", `{row['place']}`" if row["place"] else ""
    kind = f" ({row['kind']}{place})" if row["kind"] else ""
    note = ""
    if row["answer"] != "no difference found" and row["meaning"]:
        note = f", note {notes.setdefault(row['meaning'], len(notes) + 1)}"
    outside = "" if row["covered"] else " *"
    needed = f", epsilon {row['needed']:.3g}" if row["kind"] == "sensitivity" else ""
    told = f"{row['answer']}{kind}{needed}{note}"
    return (
        f"| {row['library']} | {row['version']} | {row['mechanism']} | {row['change']}{outside} | {told} |"
        f" {row['published']} |"
    )


def _counts(rows: Sequence[Row]) -> str:
    """Return the sentences with the counts."""
    failed = [row for row in rows if not row["published"].startswith(PASSED)]
    passed = [row for row in rows if row["published"].startswith("passed")]
    sound = [row for row in rows if row["covered"] and not row["meaning"]]
    return (
        f"Of the {len(rows)} cases, {len(failed)} are like published failures of dp-recorder: {_said(failed)}."
        f" {len(passed)} are like tests that passed there: {_said(passed)}. On the {len(sound)} pairs for which we know"
        f" of no fault and whose records are in the domain: {_said(sound)}."
    )


def _said(rows: Sequence[Row]) -> str:
    answers = [row["answer"] for row in rows]
    return ", ".join(
        f"*{one}* {answers.count(one)}" for one in ("difference", "undecided", "no difference found")
    )


def kept(text: str) -> tuple[str, str]:
    """Return a page without this section, and the section, which is empty if the page has none."""
    before, found, section = text.partition(HEADING)
    return before.rstrip() + "\n", found + section


def main(names: list[str]) -> None:
    """Replace the section of the page by the rows of the named files."""
    texts = [Path(name).read_text(encoding="utf-8") for name in names]
    # libraries print, too
    rows = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith('{"')]
    before, _ = kept(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}\n" + "\n".join(lines(rows)).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
