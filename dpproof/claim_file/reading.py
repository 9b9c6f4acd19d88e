"""Reading of a whole claim file: its claims, its budget, and its errors with file and line.

The TOML reader keeps no line numbers. `Lines` finds the line numbers in one pass over the text. It cuts the text
into statements: a header, or a key with its value. A statement may take several lines. `Lines` recognises strings,
comments and brackets by the rules of TOML 1.0.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.parameters import Reals, Values
from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.enclosures import typed
from dpproof.audits.engine.errors import LoadError
from dpproof.claim_file.entry import checked_table, claim_from
from dpproof.claim_file.paths import check_inside

TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}]|\n|[^\"'#\[\]{}\n]+|.",
    re.DOTALL,
)
"""Matches one part of a TOML text: a string, a comment, a bracket, the end of a line, or text between them."""
ENDLESS = re.compile(r"(?<![\w.:+-])[+-]?(?:\d[\d_]{4000,}|0[xob][0-9A-Fa-f_]{3000,})(?![\w.:+-])(?!\s*[=.])")
"""Matches an integer that is too long for Python to read or write. The limit is 4,300 digits."""
SUBJECT = re.compile(r"\W*(?:(?:audit: |parameter |key )\W*)*([\w-]+)")
"""Matches the beginning of an error message, and finds the key that the message is about."""


def readable(text: str) -> str:
    """Return the text of a claim file with a short text in place of each integer that is too long for Python.

    The short text is wrapped in lists, which no key accepts as a value. So the claim is refused.

    >>> readable("a = 1" + 4999 * "0" + " # b")
    "a = [['an integer of 5000 digits']] # b"
    """
    tokens = (token.group() for token in TOKEN.finditer(text))
    return "".join(token if token[0] in "\"'#" else ENDLESS.sub(_word, token) for token in tokens)


def _word(integer: re.Match[str]) -> str:
    digits = integer.group().lstrip("+-").replace("_", "")
    return f"[['an integer of {len(digits)} digits']]"


@dataclass(frozen=True)
class Statement:
    """One statement of a TOML file: a header, or a key with its value. ``line`` is its first line, from 1."""

    line: int
    text: str

    @property
    def holds(self) -> dict[str, Any]:
        """The data of the statement, or an empty table if it cannot be parsed alone."""
        try:
            return tomllib.loads(self.text)
        except ValueError:
            return {}

    @property
    def begins_claim(self) -> bool:
        """Whether the statement is ``[[claim]]``."""
        return self.text.startswith("[[") and self.holds == {"claim": [{}]}


def _statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text.

    The end of a line ends a statement, except in a string or in brackets.
    """
    line, depth, start, parts = 1, 0, 1, list[str]()
    for match in TOKEN.finditer(text + "\n"):
        token = match.group()
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and depth <= 0:
            if whole := "".join(parts).strip():
                yield Statement(start, whole)
            depth, parts = 0, []
        elif not token.startswith("#"):
            start = start if parts else line
            parts.append(token)
        line += token.count("\n")


class Lines:
    r"""The line numbers of the claims in the text of a claim file, and of their keys.

    >>> Lines("[[claim]]\nname = 'a'\nepsilon = -1").of(1, "epsilon (-1) must be at least 0")
    3
    >>> Lines("[[claim]]\nname = 'a'").of(1, "adjacency is missing; there is no default")
    1
    """

    def __init__(self, text: str) -> None:
        self._claims: list[list[Statement]] = []
        for statement in _statements(text):
            if statement.begins_claim:
                self._claims.append([statement])
            elif self._claims:
                self._claims[-1].append(statement)

    def of(self, place: int, refusal: str = "") -> int | None:
        """Return the line, counted from 1, that an error message about claim number ``place`` refers to.

        If the message ``refusal`` begins with a key of the claim, this is the line of the key, and otherwise the line
        of the claim's header. The result is None if the line is unknown, as for claims within a list.
        """
        if len(self._claims) < place:
            return None
        header, *rest = self._claims[place - 1]
        named = SUBJECT.match(refusal)
        key = None if named is None else named.group(1)
        return next((one.line for one in rest if _says(one.holds, key)), header.line)


def _says(held: dict[str, object], key: str | None) -> bool:
    """Return whether a statement sets ``key`` in the claim or in a table of the claim."""
    inner = held.get("claim", held)  # [claim.parameters], but no key of that name
    held = inner if isinstance(inner, dict) else held
    return key in held or any(isinstance(table, dict) and key in table for table in held.values())


BUDGET: Mapping[str, Values] = {
    "seconds": Reals(0, lower_open=True),
    "alpha": Reals(1e-300, 1, upper_open=True),
}
"""Keys of the table ``[budget]`` of a claim file, with their domains."""


@dataclass(frozen=True)
class Budget:
    """The budget for checking all claims of a file.

    Attributes:
        seconds: the time for all audits together, from the start of the check. After this time no audit begins, and
            a running audit ends without a finding. `dpproof.audits.time_budget` says which audits can be ended.
        alpha: the largest allowed probability that at least one true claim of the file is called broken.
    """

    seconds: float | None = None
    alpha: float = 0.01


@dataclass(frozen=True)
class Refusal:
    """The error of a claim that cannot be checked. Its text is one line with the file, the line and the rule."""

    path: Path
    line: int | None
    place: int
    message: str
    unloadable: bool = False
    """Whether an object named in the claim cannot be loaded."""
    name: str = ""
    """The name of the claim; empty if the file gives none."""

    @property
    def title(self) -> str:
        """The name of the claim, or its place in the file."""
        return self.name or self.called

    @property
    def where(self) -> str:
        """The file, followed by the line if it is known."""
        return f"{self.path}" if self.line is None else f"{self.path}:{self.line}"

    @property
    def called(self) -> str:
        """Text used instead of the claim's name, because the name itself may be invalid."""
        return f"claim {self.place}"

    def __str__(self) -> str:
        return f"{self.where}: {self.called}: {self.message}"


@dataclass(frozen=True)
class Reading:
    """The contents of a claim file: its valid claims, the errors of the other claims, and the budget."""

    claims: tuple[Claim, ...]
    refusals: tuple[Refusal, ...]
    budget: Budget
    lines: tuple[int | None, ...]
    """The line of each valid claim."""


Ready = Callable[[Claim], None]


def _nothing_more(_claim: Claim) -> None:
    """Accept every claim: no check beyond the types of its values."""


def read_claims(path: Path, ready: Ready = _nothing_more) -> tuple[Claim, ...]:
    """Return all claims of a file, after checking each of them. ``ready`` is one more check of a claim.

    Raises:
        ValueError: a claim is invalid; the message names the file, the line, the value and the rule.
        FileNotFoundError: if there is no such file.
    """
    reading = read_all(path, ready)
    if reading.refusals:
        raise ValueError(str(reading.refusals[0]))
    return reading.claims


def read_all(path: Path, ready: Ready = _nothing_more, *, outside: bool = False) -> Reading:
    """Return the contents of a claim file. An invalid claim does not affect the others.

    Args:
        path: the file.
        ready: function that checks a claim. A ValueError from it makes the claim invalid.
        outside: whether claims may name files outside the project; see `claim_file.paths`.

    Raises:
        ValueError: the file is not valid TOML, has an unknown table, has no claim, or has an invalid budget.
        FileNotFoundError: if there is no such file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(readable(text), parse_float=typed)
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode
        raise ValueError(f"{path}: The file is not valid TOML: {error}") from error
    unknown = sorted(set(document) - {"claim", "budget"})
    if unknown:
        near = nearest(unknown[0], ("claim", "budget"))
        raise ValueError(f"{path}: key ({unknown[0]!r}) must be one of: claim, budget{near}")
    entries = document.get("claim", [])
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: The file must contain at least one [[claim]].")
    budget = _budget(document.get("budget", {}), path)
    checks = (ready,) if outside else (partial(check_inside, file=path), ready)
    claims, refused = _sorted_out(entries, checks)
    lines = Lines(text)
    return Reading(
        tuple(claims.values()),
        tuple(_refusal(path, lines, place, why, entries[place - 1]) for place, why in refused.items()),
        budget,
        tuple(map(lines.of, claims)),
    )


def _refusal(path: Path, lines: Lines, place: int, why: ValueError, entry: object) -> Refusal:
    message = _one_line(str(why))
    given = entry.get("name") if isinstance(entry, dict) else None
    name = _one_line(given.strip()) if isinstance(given, str) else ""
    return Refusal(path, lines.of(place, message), place, message, isinstance(why, LoadError), name)


def _sorted_out(
    entries: list[object], checks: tuple[Ready, ...]
) -> tuple[dict[int, Claim], dict[int, ValueError]]:
    """Return the claims by the position of their entry, and the errors of the others.

    The second claim with the same name is refused.
    """
    claims: dict[int, Claim] = {}
    refused: dict[int, ValueError] = {}
    names: set[str] = set()
    for place, entry in enumerate(entries, 1):
        try:
            claim = claim_from(entry)
            if claim.name in names:
                raise ValueError(f"name ({claim.name!r}) must be unique. An earlier claim has the same name.")
            names.add(claim.name)
            for check in checks:
                check(claim)
            claims[place] = claim
        except ValueError as error:
            refused[place] = error
    return claims, refused


def _one_line(text: str) -> str:
    """Return the text on one line.

    Unprintable characters are escaped, because a user's code may have written it.
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _budget(table: object, path: Path) -> Budget:
    try:
        return Budget(**checked_table("budget", table, BUDGET))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
