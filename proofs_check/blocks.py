"""Blocks of text: lines with the lines that are indented below them, and errors that know the number of their line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class StepError(ValueError):
    """An error in the text of a step. ``number`` is the number of the line."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


PLAIN = re.compile(r"[\w\s.,()+*/=<>-]*", re.ASCII)


@dataclass(frozen=True)
class Block:
    """A line of a step, with the lines that are indented below it."""

    number: int
    text: str
    below: tuple[Block, ...]

    @property
    def word(self) -> str:
        """The first word of the line."""
        return self.text.partition(" ")[0]

    @property
    def rest(self) -> str:
        """The line after its first word."""
        return self.text.partition(" ")[2].strip()

    def wrong(self, rule: str) -> StepError:
        """Return an error for this line."""
        return StepError(self.number, f"line {self.text!r} {rule}")

    def plain(self, text: str) -> str:
        """Return the text of a formula in this line. Raise an error for a character that no formula has.

        Such characters could be read in another way than people read them: a # begins a comment, and a letter that is
        raised is read as one that is not.
        """
        if not PLAIN.fullmatch(text):
            raise self.wrong("has a character that no formula has")
        if found := re.search(r"(?<![\w.])[0-9]\w*_", text):
            raise self.wrong(f"has the number {found[0]!r}, which must have digits only")
        return text

    def alone(self) -> Block:
        """Return the block. Raise an error if lines are indented below it, because nobody would read them."""
        if self.below:
            raise self.below[0].wrong(f"must not be indented below {self.text!r}")
        return self

    def match(self, pattern: str, form: str) -> re.Match[str]:
        """Match the rest of the line. ``form`` shows what was expected."""
        found = re.fullmatch(pattern, self.rest, re.DOTALL)
        if found is None:
            raise self.wrong(f"must have the form: {self.word} {form}")
        return found


def blocks(lines: Sequence[tuple[int, str]]) -> tuple[Block, ...]:
    """Return numbered lines as blocks, by their indentation. A line that ends in a backslash goes on in the next."""
    rows = list(_whole(lines))
    found, rest = _blocks(rows, 0, min((x[1] for x in rows), default=0))
    if rest < len(rows):
        raise StepError(rows[rest][0], f"line {rows[rest][2]!r} is indented less than the first line")
    return found


def _whole(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Generate number, indentation and text of each line that is not empty, with continued lines joined."""
    held = ""
    start = indent = 0
    for number, line in lines:
        if not held:
            start, indent = number, len(line) - len(line.lstrip())
        held += (" " if held else "") + line.strip()
        if held.endswith("\\"):
            held = held[:-1].rstrip()
            continue
        if held:
            yield start, indent, held
        held = ""
    if held:
        raise StepError(start, f"line {held!r} ends in a backslash, but no line follows")


def _blocks(rows: Sequence[tuple[int, int, str]], place: int, indent: int) -> tuple[tuple[Block, ...], int]:
    found: list[Block] = []
    while place < len(rows) and rows[place][1] >= indent:
        number, depth, text = rows[place]
        if depth > indent:
            raise StepError(number, f"line {text!r} is indented more than the lines beside it")
        below: tuple[Block, ...] = ()
        place += 1
        if place < len(rows) and rows[place][1] > indent:
            below, place = _blocks(rows, place, rows[place][1])
        found.append(Block(number, text, below))
    return tuple(found), place
