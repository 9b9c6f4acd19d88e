"""A claim file as a whole: its claims, its budget, and what is wrong with it, by file and line."""

from __future__ import annotations

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
from dpproof.audits.engine.unaudited import LoadError
from dpproof.claim_file.entry import checked_table, claim_from
from dpproof.claim_file.lines import Lines, readable
from dpproof.claim_file.paths import check_inside

__all__ = ["BUDGET", "Budget", "Reading", "Refusal", "read_all", "read_claims"]

BUDGET: Mapping[str, Values] = {
    "seconds": Reals(0, lower_open=True),
    "alpha": Reals(1e-300, 1, upper_open=True),
}
"""What ``[budget]`` may hold."""


@dataclass(frozen=True)
class Budget:
    """What checking a file may cost.

    Attributes:
        seconds: for all audits together, from the start of the check; what has not begun by then is not
            audited, and an audit that is running ends without a finding. See `dpproof.audits.time_budget` for what
            can be ended.
        alpha: the probability that any claim of the file which is kept is called broken.
    """

    seconds: float | None = None
    alpha: float = 0.01


@dataclass(frozen=True)
class Refusal:
    """What is wrong with one claim; as text, one line that names the file, the line, the value, the rule."""

    path: Path
    line: int | None
    place: int
    message: str
    unloadable: bool = False
    """Whether something that the claim names cannot be loaded."""

    @property
    def where(self) -> str:
        """The file and, where it is known, the line."""
        return f"{self.path}" if self.line is None else f"{self.path}:{self.line}"

    @property
    def called(self) -> str:
        """What stands for the name, which may be what is wrong."""
        return f"claim {self.place}"

    def __str__(self) -> str:
        return f"{self.where}: {self.called}: {self.message}"


@dataclass(frozen=True)
class Reading:
    """The claims of a file that can be checked, the others' refusals, and the budget."""

    claims: tuple[Claim, ...]
    refusals: tuple[Refusal, ...]
    budget: Budget
    lines: tuple[int | None, ...]
    """The line of each claim that can be checked."""


Ready = Callable[[Claim], None]


def _nothing_more(_claim: Claim) -> None:
    """The check of a claim that asks for nothing beyond its types."""


def read_claims(path: Path, ready: Ready = _nothing_more) -> tuple[Claim, ...]:
    """All claims of a file, each checked before any work starts; ``ready`` may refuse one, too.

    Raises:
        ValueError: naming the file, the line, the value and the rule.
        FileNotFoundError: if there is no such file.
    """
    reading = read_all(path, ready)
    if reading.refusals:
        raise ValueError(str(reading.refusals[0]))
    return reading.claims


def read_all(path: Path, ready: Ready = _nothing_more, *, outside: bool = False) -> Reading:
    """What a file holds; a claim that is refused leaves the others as they are.

    Args:
        path: the file.
        ready: may refuse a claim.
        outside: whether claims may name files outside the project; see `claim_file.paths`.

    Raises:
        ValueError: the file is none of claims: no TOML, an unknown table, no claim, a bad budget.
        FileNotFoundError: if there is no such file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(readable(text), parse_float=typed)
    except (ValueError, RecursionError) as error:  # no TOML, or no Unicode
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    unknown = sorted(set(document) - {"claim", "budget"})
    if unknown:
        near = nearest(unknown[0], ("claim", "budget"))
        raise ValueError(f"{path}: key ({unknown[0]!r}) must be one of: claim, budget{near}")
    entries = document.get("claim", [])
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: there must be at least one [[claim]]")
    budget = _budget(document.get("budget", {}), path)
    checks = (ready,) if outside else (partial(check_inside, file=path), ready)
    found = list(_each(entries, checks))
    refused = [(place, why) for place, why in enumerate(found, 1) if isinstance(why, ValueError)]
    kept = [(place, claim) for place, claim in enumerate(found, 1) if isinstance(claim, Claim)]
    lines = Lines(text)
    return Reading(
        tuple(claim for _, claim in kept),
        tuple(_refusal(path, lines, place, why) for place, why in refused),
        budget,
        tuple(lines.of(place) for place, _ in kept),
    )


def _refusal(path: Path, lines: Lines, place: int, why: ValueError) -> Refusal:
    message = _one_line(str(why))
    return Refusal(path, lines.of(place, message), place, message, isinstance(why, LoadError))


def _each(entries: list[Any], checks: tuple[Ready, ...]) -> Iterator[Claim | ValueError]:
    """The claim of each entry, or why it is refused; a name that stands twice is refused the second time."""
    names: set[str] = set()
    for entry in entries:
        try:
            claim = claim_from(entry)
            if claim.name in names:
                raise ValueError(f"name ({claim.name!r}) must be unique")
            names.add(claim.name)
            for check in checks:
                check(claim)
        except ValueError as error:
            yield error
        else:
            yield claim


def _one_line(text: str) -> str:
    """The text with what does not print written out: somebody's code may have said it."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _budget(table: Any, path: Path) -> Budget:
    try:
        return Budget(**checked_table("budget", table, BUDGET))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
