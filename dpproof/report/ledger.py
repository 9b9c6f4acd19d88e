"""The ledger on the site: all statements with their verdicts, one table for each paper, and a page for each statement.

Nothing of it is stored. The site's hook asks for these pages when it builds the site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpproof.answers import coverage
from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import (
    certificate_id,
    coq_status,
    folder_of,
    lookup,
    page_of,
    papers,
    verify,
)
from dpproof.proofs_check.statement import Statement
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.report import graph
from dpproof.report.notes import notes_of
from dpproof.wording import own_remarks, result_words


def site() -> dict[str, str]:
    """Return the text of each page of the ledger, by its path on the site."""
    found = {result.id: result for result in verify()}
    verdicts = {name: entry.verdict for name, entry in found.items()}
    made = {"ledger.md": ledger(found)}
    for paper in papers().values():
        made[f"ledger/{paper.name}.md"] = _paper(paper.name, paper.title, paper.citation, paper.prefix, found)
        made[f"ledger/{paper.name}.svg"] = graph.svg(graph.edges(paper.prefix), verdicts, paper.prefix)
    return made | {place(name): _statement(entry, found) for name, entry in found.items()}


def place(identity: str) -> str:
    """Return the path of the page of a statement on the site.

    >>> place("rlsvi.eq2")
    'statements/rlsvi/eq2.md'
    """
    return f"statements/{folder_of(identity)}/{page_of(identity).name}"


def ledger(found: Mapping[str, Result]) -> str:
    """Return the page on the ledger (all statements with their verdicts), as Markdown: meanings and counts."""
    lines = [*_HOW_TO_READ, *_HEADING]
    for paper in papers().values():
        share = coverage.coverage(found.values(), f"{paper.prefix}.")
        lines.append(f"| [{paper.title}](ledger/{paper.name}.md) | {_shares(share)} |")
    total = coverage.coverage(found.values())
    lines += [f"| all | {_shares(total)} |", "", f"All papers: {coverage.counts(total)}.", ""]
    return "\n".join([*lines, *_left_open(total)])


def _left_open(share: coverage.Share) -> list[str]:
    """Return a paragraph for each kind of statement that is not decided."""
    held = coverage.left_open(share)
    return [line for words, names in held for line in (f"{words}: {', '.join(names)}.", "")]


_HOW_TO_READ = (
    "# The ledger",
    "",
    "The ledger lists every statement of the papers with its verdict.",
    "",
    *(f"- **{verdict.value}**: {verdict.meaning}" for verdict in Verdict),
    "",
    "A *reading* is a step of the argument that people read and the kernel does not check. Examples are how",
    "claims make up a statement, and the meaning of a definition. The number of readings includes those of",
    "everything that a statement rests on. A *law* is a density, a tail or a generating function that is taken as",
    "known, from one table, `proofs_check/laws.py`. *Not covered* lists what the formal claims leave out. A comparison",
    "with a recorded manifest detects a deleted or changed step ([what a verdict rests on](notes/verdicts.md)).",
    "*Cross-checked by Coq* means that Coq checked a statement and everything it rests on. The table counts the",
    "statements that the papers number (`proofs_check/papers/ids.txt`). A statement is decided if all its parts are.",
    "",
)
_HEADING = (
    "| paper | statements | decided | open or open in part | without assumptions | quoted theorems decided |",
    "|---|---:|---:|---:|---:|---:|",
)


def _shares(share: coverage.Share) -> str:
    if not share.statements:
        return "- | - | - | - | -"
    return (
        f"{share.statements} | {len(share.decided)} | {len(share.undecided)} | {len(share.outright)} | "
        f"{len(share.quoted_decided)} of {share.quoted}"
    )


def _paper(name: str, title: str, citation: str, prefix: str, found: Mapping[str, Result]) -> str:
    """Return the page of one paper: counts, table and graph."""
    own = [entry for key, entry in found.items() if key.startswith(f"{prefix}.")]
    share = coverage.coverage(found.values(), f"{prefix}.")
    lines = [f"# {title}", "", f"{citation}. [All papers](../ledger.md).", ""]
    lines += [f"{coverage.counts(share)}. {coverage.line(share)}.", ""] if share.statements else []
    lines += _left_open(share)
    lines += ["| statement | title | kind | verdict | Coq |", "|---|---|---|---|---|"]
    lines += [
        f"| {_link(entry.id, '../')} | {entry.title} | {entry.kind} | {result_words(entry)} | {coq_status(entry)} |"
        for entry in own
    ]
    lines += [
        "",
        "The graph shows which statements rest on others. Statements of other papers are dashed.",
        "",
    ]
    return "\n".join([*lines, f"![Which statements rest on others]({name}.svg)", ""])


def _link(identity: str, up: str = "../../") -> str:
    """Return a link to the page of a statement, from a page that lies as deep as ``up`` says."""
    return f"[{identity}]({up}{place(identity)})"


def _statement(entry: Result, found: Mapping[str, Result]) -> str:
    """Return the page of a statement as it stands in the repository, with what was derived about it below its title."""
    title, _, text = page_of(entry.id).read_text(encoding="utf-8").partition("\n")
    return "\n".join([title, "", *_derived(entry, found), text])


def _derived(entry: Result, found: Mapping[str, Result]) -> Iterator[str]:
    """Yield lines of a box: the verdict, and everything on which it depends."""
    statement = lookup(entry.id)
    yield from (f'!!! note "{entry.id} is {result_words(entry)}"', "")
    yield from (f"    - {line}" for line in own_remarks(entry))
    corrects = [name for name, x in found.items() if x.corrected_by == entry.id]
    yield from (f"    - corrects: {_link(name)}" for name in corrects)
    yield from (f"    - given: {text}" for text in entry.assumptions)
    yield from (f"    - law: {LAWS[name]} (`{name}`)" for name in entry.laws)
    yield from (
        f"    - to read in {_link(name)}: {text}" for text, name in entry.readings.items() if name != entry.id
    )
    if beside := _refuted_steps(entry, found):
        yield f"    - refuted beside it: {', '.join(map(_link, beside))}"
    if found_notes := notes_of(statement):
        yield f"    - explained in {', '.join(f'[{name}](../../notes/{name})' for name in found_notes)}"
    if entry.method:
        yield f"    - {entry.method.value}; Coq: {coq_status(entry)}; paper: [{_paper_of(entry)}]({_ledger_of(entry)})"
    if certificates := list(_certificates(statement)):
        yield f"    - certificates: {', '.join(certificates)}"


def _paper_of(entry: Result) -> str:
    return next(paper.title for paper in papers().values() if entry.id.startswith(f"{paper.prefix}."))


def _ledger_of(entry: Result) -> str:
    return f"../../ledger/{next(x.name for x in papers().values() if entry.id.startswith(f'{x.prefix}.'))}.md"


def _certificates(statement: Statement) -> Iterator[str]:
    """Yield a link to the line of each certificate."""
    for x in () if statement.reason else statement.obligations:
        file, _, line = stored(certificate_id(statement, x)).place.rpartition(":")
        yield f"[`{x.name}`](../../../{file}#L{line})"


def _refuted_steps(entry: Result, found: Mapping[str, Result]) -> list[str]:
    """Return refuted steps and readings whose ids begin with a statement's id, if it is not refuted itself."""
    below = (name for name in found if name.startswith(f"{entry.id}.") and name not in entry.parts)
    refuted = (name for name in below if found[name].verdict is Verdict.REFUTED)
    return [] if entry.verdict is Verdict.REFUTED else list(refuted)
