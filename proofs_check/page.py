"""Reader of the pages on which statements stand: ``papers/<paper>/<statement>.md``.

A page is Markdown for people. It has a title, a list of facts, the printed statement with its formula, and one block
for each step. docs/reference/pages.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from dpproof.accountant.published.sources import Source
from dpproof.proofs_check.blocks import StepError, blocks
from dpproof.proofs_check.derivation import goal, is_theorem
from dpproof.proofs_check.statement import Judgement, Obligation, Severity, Statement
from dpproof.proofs_check.steps import obligation
from dpproof.proofs_check.verdict import Verdict

T = TypeVar("T")
FACTS = ("kind", "source", "published as", "verdict", "severity", "corrected by", "parts", "rests on", "laws",
         "sampled by")  # fmt: skip
NEEDED = ("kind", "source", "verdict")
SECTIONS = ("Statement", "Goals", "Steps", "Readings", "Rules", "Reason", "Domain", "Not covered")
HIDDEN = re.compile(r"<[A-Za-z/!?]|^ {0,3}\[[^\]]*\]:")
"""Markup and definitions of links, which a browser does not show as text."""
FENCES = ("```", "$$")
LOOSE = re.compile(r" {0,3}(#|>|=+ *$|-+ *$|~~~|`{3}|\$\$|[0-9]+[.)] )| {1,3}[-+*] |[+*] ")
"""Beginnings of lines that Markdown does not read as text."""
LIST_OF_IDS = re.compile(r"`[\w.-]+`(, `[\w.-]+`)*", re.ASCII)
Lines = list[tuple[int, str]]


class PageError(ValueError):
    """An error on a page. The message begins with the file and the line."""


@dataclass
class Page:
    """The lines of a page with their numbers, sorted into facts, sections and steps."""

    place: str
    title: str = ""
    facts: dict[str, tuple[int, str]] = field(default_factory=dict)
    sections: dict[str, Lines] = field(default_factory=dict)
    steps: dict[str, Lines] = field(default_factory=dict)
    goals: list[str] = field(default_factory=list)
    """The names of those steps that stand in the section Goals."""

    def error(self, number: int, message: str) -> PageError:
        """Return an error that names the file and the line."""
        return PageError(f"{self.place}:{number}: {message}")

    def fact(self, name: str) -> str | None:
        """Return a fact's text; None if the page does not state it."""
        return self.facts[name][1] if name in self.facts else None

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names ``module:object`` that a fact lists."""
        number, text = self.facts.get(name, (0, ""))
        found = tuple(re.findall(r"`([\w.]+:\w+)`", text))
        if text != ", ".join(f"`{x}`" for x in found):
            raise self.error(
                number, f"fact {name!r} must list names such as `package.module:function`, in backticks"
            )
        return found

    def ids(self, name: str) -> tuple[str, ...]:
        """Return the ids that a fact lists."""
        number, text = self.facts.get(name, (0, ""))
        if text and not LIST_OF_IDS.fullmatch(text):
            raise self.error(number, f"fact {name!r} ({text}) must list ids: `first.id`, `second.id`")
        return tuple(re.findall(r"[\w.-]+", text))

    def id(self, name: str) -> str | None:
        """Return the only id that a fact lists; None if the page does not state the fact."""
        found = self.ids(name)
        if len(found) > 1:
            raise self.error(self.facts[name][0], f"fact {name!r} must be one id, not {len(found)}")
        return found[0] if found else None

    def text(self, name: str) -> str:
        """Return a section as one paragraph, without the formula at its end."""
        return self.parted(self.sections.get(name, []), "$$")[0]

    def parted(self, lines: Lines, fence: str) -> tuple[str, Lines]:
        """Return the text before a block between two fences, and the lines of the block.

        Raises:
            PageError: for text after the block, for a second block, and for one that is not closed.
        """
        places = [place for place, (_, line) in enumerate(lines) if line == fence]
        if not places:
            return _joined(line for _, line in lines), []
        first, last = places[0], places[-1]
        if len(places) != 2 or _joined(line for _, line in lines[last + 1 :]):
            raise self.error(
                lines[first][0], f"one block between two lines {fence} must end the section or the step"
            )
        return _joined(line for _, line in lines[:first]), lines[first + 1 : last]

    def items(self, name: str) -> tuple[str, ...]:
        """Return the items of the list in a section."""
        found: list[list[str]] = []
        for number, line in self.sections.get(name, []):
            if line.startswith("- "):
                found.append([line[2:]])
            elif line.strip() and not (found and line.startswith("  ")):
                raise self.error(
                    number,
                    f"section {name!r} must be a list. Each item begins with '- ', and goes on indented.",
                )
            elif line.strip():
                found[-1].append(line)
        return tuple(map(_joined, found))


def _joined(lines: Iterable[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def parse(text: str, place: str, needed: Iterable[str] = NEEDED) -> Page:
    """Return the parts of a page. ``place`` is its file, for messages, and ``needed`` are the facts it must state.

    Raises:
        PageError: for a page without a title or a needed fact, for an unknown or repeated fact, section or step, for
            a comment, and for text that belongs to none of these.
    """
    page = Page(place)
    here: Lines | None = None
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        level, _, title = line.partition(" ")
        if not line.isprintable() or (HIDDEN.search(line) and not inside):
            raise page.error(number, "a page must not have hidden text or characters")
        if line in FENCES:
            inside = not inside
        if level == "#" and not page.title and title:
            page.title = title.strip()
        elif level in ("##", "###") and not inside:
            here = _opened(page, number, level, title.strip())
        elif here is not None and (inside or line in FENCES or not LOOSE.match(line)):
            here.append((number, line))
        elif here is not None:
            raise page.error(
                number, f"line {line!r} begins like a heading, a quotation or a list. Break it elsewhere."
            )
        elif line.strip():
            _add_fact(page, number, line)
    if not page.title:
        raise page.error(1, "the page must begin with '# ' and a title")
    if missing := [name for name in needed if name not in page.facts]:
        raise page.error(1, f"the page must state these facts: {', '.join(missing)}")
    for name in ("Steps", "Goals"):
        if loose := [number for number, line in page.sections.get(name, []) if line.strip()]:
            raise page.error(loose[0], f"section {name!r} must have nothing before its first '### ' and name")
    return page


def _opened(page: Page, number: int, level: str, title: str) -> Lines:
    """Begin a section or a step, and return its list of lines."""
    kind, held = ("section", page.sections) if level == "##" else ("step", page.steps)
    if kind == "section" and title not in SECTIONS:
        raise page.error(number, f"section {title!r} must be one of: {', '.join(SECTIONS)}")
    if title in held:
        raise page.error(number, f"{kind} {title!r} occurs twice")
    if kind == "step" and not re.fullmatch(r"[A-Za-z]\w*", title, re.ASCII):
        raise page.error(number, f"the name of a step ({title!r}) must have letters, digits and _ only")
    section = next(reversed(page.sections), "")
    if kind == "step" and section not in ("Goals", "Steps"):
        raise page.error(number, f"step {title!r} must be in the section '## Goals' or '## Steps'")
    if kind == "step" and section == "Goals":
        page.goals.append(title)
    return held.setdefault(title, [])


def _add_fact(page: Page, number: int, line: str) -> None:
    found = re.fullmatch(r"- ([a-z ]+): (.*)", line)
    if found is None and line.startswith("  ") and page.facts:
        name = next(reversed(page.facts))
        page.facts[name] = (page.facts[name][0], f"{page.facts[name][1]} {line.strip()}")
    elif found is None or found[1] not in FACTS or found[1] in page.facts:
        raise page.error(
            number, f"line {line!r} must be '- fact: text', where the fact is one of: {', '.join(FACTS)}"
        )
    else:
        page.facts[found[1]] = (number, found[2].strip())


def read_statement(identity: str, path: Path, place: str, needed: Iterable[str] = NEEDED) -> Statement:
    """Return the statement of a page. ``place`` names the file in messages.

    ``needed`` are the facts that the page must state. Without a kind it is a statement, without a source its own.

    Raises:
        PageError: for a page that cannot be read. The message names the file and the line.
    """
    try:
        page = parse(path.read_text(encoding="utf-8"), place, needed)
    except UnicodeDecodeError as error:
        raise PageError(f"{place}:1: the page must be text in UTF-8, but {error}") from None
    _refuse_gaps(page)
    formula = [line.strip() for _, line in page.parted(page.sections.get("Statement", []), "$$")[1]]
    try:
        return Statement(
            identity,
            page.fact("kind") or "statement",
            page.title,
            _source(page, identity),
            page.text("Statement"),
            "".join(formula),
            tuple(
                _step(page, name, page.steps[name])
                for name in sorted(page.steps, key=page.goals.__contains__)
            ),
            page.ids("rests on"),
            page.items("Rules"),
            page.items("Readings"),
            page.text("Not covered") or "nothing",
            page.id("corrected by"),
            page.ids("parts"),
            page.text("Reason") or None,
            page.text("Domain") or None,
            _judgement(page),
            page.ids("laws"),
            page.fact("verdict") or "",
            tuple(page.goals),
            page.names("sampled by"),
        )
    except ValueError as error:
        raise error if isinstance(error, PageError) else page.error(1, str(error)) from None


def _refuse_gaps(page: Page) -> None:
    """Raise an error for an unknown verdict, for readings beside goals, and for an empty section."""
    if "verdict" in page.facts and page.fact("verdict") not in [x.value for x in Verdict]:
        words = ", ".join(x.value for x in Verdict)
        raise page.error(
            page.facts["verdict"][0], f"the verdict ({page.fact('verdict')}) must be one of: {words}"
        )
    if page.goals and "Readings" in page.sections:
        raise page.error(
            1, "a page with '## Goals' must not have '## Readings': the kernel derives its goals"
        )
    if empty := [
        name
        for name, lines in page.sections.items()
        if name not in ("Goals", "Steps") and not _joined(x for _, x in lines)
    ]:
        raise page.error(1, f"section {empty[0]!r} must not be empty")


def _source(page: Page, identity: str) -> Source:
    text = page.fact("source") or f"{page.place} |  | {page.title}"
    found = re.fullmatch(r"(.+) \| (.*) \| (.+)", text)
    if found is None:
        number = page.facts["source"][0] if "source" in page.facts else 1
        raise page.error(number, "the page must have a fact '- source: paper | version | item'")
    return Source(found[1], found[2], found[3], page.id("published as") or identity)


def _judgement(page: Page) -> Judgement | None:
    if "severity" not in page.facts:
        return None
    number, text = page.facts["severity"]
    word, _, why = text.partition(". ")
    if word not in [x.value for x in Severity] or not why:
        words = ", ".join(x.value for x in Severity)
        raise page.error(
            number, f"the severity must be one of {words}, a full stop and one sentence that explains it"
        )
    return Judgement(Severity(word), why)


def _step(page: Page, name: str, lines: Lines) -> Obligation:
    note, block = page.parted(lines, "```")

    def read() -> Obligation:
        rows = blocks(block)
        return (goal if is_theorem(rows) else obligation)(name, note, rows)

    found = _placed(page, read)
    return replace(found, proofs=lambda: _placed(page, found.proofs))


def _placed(page: Page, read: Callable[[], T]) -> T:
    """Return what a function reads from a page. Its errors name the file and the line."""
    try:
        return read()
    except StepError as error:
        raise page.error(error.number, str(error)) from None
