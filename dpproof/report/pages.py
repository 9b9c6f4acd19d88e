"""Generated pages of the documentation: ledger, parameter tables, experiments.

``python -m dpproof.report.pages`` writes them. With ``--check`` it only reports whether they are up to date.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.answers import coverage
from dpproof.claim_file.schema import schema_text
from dpproof.glossary import GLOSSARY
from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import certificate_id, coq_status, lookup, papers, verify
from dpproof.proofs_check.statement import Statement
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.report import graph
from dpproof.report.badges import badges
from dpproof.report.formal import goal_text
from dpproof.report.notes import notes_of
from dpproof.report.stubs import account_stub, calibrate_stub
from dpproof.reproduction.experiments import experiments
from dpproof.wording import own_remarks, result_words

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def _verified() -> dict[str, Result]:
    """Return all verified statements by id."""
    return {result.id: result for result in verify()}


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
    "The ledger lists every statement of the papers with its verdict. `make docs` generates this page.",
    "",
    *(f"- **{verdict.value}**: {verdict.meaning}" for verdict in Verdict),
    "",
    "A *reading* is a step of the argument that people read and the kernel does not check. Examples are how",
    "obligations make up a statement, and the meaning of a definition. The number of readings includes those of",
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


def _page(name: str, title: str, citation: str, prefix: str, found: Mapping[str, Result]) -> str:
    """Return the page of one paper: counts, table, graph, and a block for each statement."""
    own = [entry for key, entry in found.items() if key.startswith(f"{prefix}.")]
    share = coverage.coverage(found.values(), f"{prefix}.")
    lines = [f"# {title}", "", f"{citation}. Generated; [all papers](../ledger.md).", ""]
    lines += [f"{coverage.counts(share)}. {coverage.line(share)}.", ""] if share.statements else []
    lines += _left_open(share)
    lines += ["| statement | kind | verdict | method | Coq | corrected by |", "|---|---|---|---|---|---|"]
    lines += [_row(entry, prefix) for entry in own]
    lines += [
        "",
        "The graph shows which statements rest on others (statements of other pages are dashed; it includes parts):",
        "",
    ]
    lines += [f"![Which statements rest on others]({name}.svg)", ""]
    return "\n".join([*lines, *(line for entry in own for line in _block(entry, prefix, found))])


def _row(entry: Result, prefix: str) -> str:
    corrected = _link(entry.corrected_by, prefix) if entry.corrected_by else ""
    plain = (entry.kind, result_words(entry), entry.method.value if entry.method else "", coq_status(entry))
    cells = (_link(entry.id, prefix), *plain, corrected)
    return f"| {' | '.join(cells)} |"


def _link(identity: str, prefix: str) -> str:
    """Return a link to a statement, on this page or another."""
    theirs = identity.split(".")[0]
    page = next(name for name, book in papers().items() if book.prefix == theirs)
    return f"[{identity}]({'' if theirs == prefix else f'{page}.md'}#{identity})"


def _block(entry: Result, prefix: str, found: Mapping[str, Result]) -> Iterator[str]:
    """Yield all lines on one statement."""
    statement = lookup(entry.id)
    yield from (f'<a id="{entry.id}"></a>', "", f"## {entry.id}: {result_words(entry)}", "")
    yield from (f"**{entry.title}** ({entry.kind}; {statement.source})", "")
    yield from ([f"$$ {statement.latex} $$", ""] if statement.latex else [])
    yield from (statement.says, "")
    yield from (f"- {line}" for line in own_remarks(entry))
    yield from (f"- corrects: {_link(name, prefix)}" for name in _corrected(entry.id, found))
    yield from (f"- read as: {text}" for text in entry.own_readings)
    yield from (f"- given: {text}" for text in entry.assumptions)
    yield from (f"- law: {LAWS[name]} (`{name}`)" for name in entry.laws)
    yield f"- not covered: {entry.not_covered}"
    for word, names in (("rests on", statement.rests_on), ("parts", statement.parts)):
        if names:
            yield f"- {word}: {', '.join(_link(name, prefix) for name in names)}"
    if found_notes := notes_of(statement):
        yield f"- proof: {', '.join(f'[{name}](../notes/{name})' for name in found_notes)}"
    if entry.method:
        yield f"- {entry.method.value}; Coq: {coq_status(entry)}"
    if steps := _refuted_steps(entry, found):
        yield f"- refuted beside it: {', '.join(_link(name, prefix) for name in steps)}"
    yield from _obligations(statement)
    yield ""


def _refuted_steps(entry: Result, found: Mapping[str, Result]) -> list[str]:
    """Return refuted steps and readings whose ids begin with a statement's id, if it is not refuted itself."""
    below = (name for name in found if name.startswith(f"{entry.id}.") and name not in entry.parts)
    refuted = (name for name in below if found[name].verdict is Verdict.REFUTED)
    return [] if entry.verdict is Verdict.REFUTED else list(refuted)


def _corrected(identity: str, found: Mapping[str, Result]) -> list[str]:
    return [name for name, entry in found.items() if entry.corrected_by == identity]


def _obligations(statement: Statement) -> Iterator[str]:

    for x in statement.obligations:
        file, _, line = stored(certificate_id(statement, x)).place.rpartition(":")
        yield f"- [`{x.name}`](../../{file}#L{line}): {x.note}"
        yield f"  `{goal_text(x.goal)}`"


def parameters() -> str:
    """Return the page with the parameters of every mechanism (unit, domain and default), as Markdown."""
    lines = [
        "# Parameters",
        "",
        "These names are flags of the command line and keys of claim files. `make docs` generates this page.",
        "",
    ]
    for name in CATALOGUE:
        accountant = accountant_for(name)
        lines += [
            f"## {name}: {accountant.title}",
            "",
            "| name | meaning | domain | default |",
            "|---|---|---|---|",
        ]
        for field in accountant.parameters.fields():
            default = "required" if field.default is dataclasses.MISSING else repr(field.default)
            about = field.metadata
            meaning = f"{_cell(about['help'])} [{about['unit']}]"
            lines += [f"| `{field.name}` | {meaning} | {about['domain']} | {default} |"]
        lines += ["", f"For example `{example(accountant)}`.", ""]
    return "\n".join(lines)


def example(accountant: Accountant) -> str:
    """Return a ``dpproof account`` command for the mechanism with its example parameters.

    >>> example(accountant_for("laplace"))
    'dpproof account laplace --scale 5.0 --sensitivity 1.0 --delta 1e-06'
    """
    fields = {field.name: getattr(accountant.example, field.name) for field in accountant.parameters.fields()}
    plain = {field.name: field.default for field in accountant.parameters.fields()}
    flags = [f"--{name.replace('_', '-')} {value}" for name, value in fields.items() if value != plain[name]]
    relation = [] if accountant.adjacency else [f"--adjacency {accountant.relations[0].value}"]
    return " ".join(["dpproof account", accountant.name, *flags, "--delta 1e-06", *relation])


def public_names() -> str:
    """Return the page with the public names of ``dpproof`` and the first line of each docstring, as Markdown."""
    lines = [
        "# Public names",
        "",
        "Import each name with `from dpproof import NAME`. `make docs` generates this page.",
        "",
    ]
    lines += ["| name | what it is | defined in |", "|---|---|---|"]
    package = importlib.import_module((__package__ or "dpproof").partition(".")[0])
    for name in sorted(set(package.__all__) - {"__version__"}):
        found = getattr(package, name)
        said = (inspect.getdoc(found) or "").partition("\n")[0].replace("``", "`")
        lines.append(f"| `{name}` | {_cell(said)} | `{found.__module__}` |")
    return "\n".join([*lines, ""])


def glossary() -> str:
    """Return the page with the glossary, as Markdown."""
    lines = [
        "# Glossary",
        "",
        "The project uses one word for each thing. `dpproof explain WORD` prints its meaning.",
    ]
    lines += ["Generated: `make docs`.", ""]
    return "\n".join([*lines, *(f"## {word}\n\n{meaning}\n" for word, meaning in GLOSSARY.items())])


def _cell(text: str) -> str:
    """Escape bars in the text of a table cell."""
    return text.replace("|", "\\|")


def pages() -> dict[str, str]:
    """Return the text of each generated page, by its path below ``docs``."""
    found = _verified()
    verdicts = {name: entry.verdict for name, entry in found.items()}
    made = {
        "ledger.md": ledger(found),
        "parameters.md": parameters(),
        "explanation/glossary.md": glossary(),
        "reference/names.md": public_names(),
        "claim-file.schema.json": schema_text(),
        "../dpproof/front/account.pyi": account_stub(),
        "../dpproof/front/calibrate.pyi": calibrate_stub(),
        **badges(coverage.coverage(found.values())),
    }
    for name, experiment in experiments().items():
        made[f"experiments/{name.replace('-', '_')}.md"] = experiment.study().page(DOCS / "experiments")
    for paper in papers().values():
        prefix = paper.prefix
        made[f"ledger/{paper.name}.md"] = _page(paper.name, paper.title, paper.citation, prefix, found)
        made[f"ledger/{paper.name}.svg"] = graph.svg(graph.edges(prefix), verdicts, prefix)
    return made


def main(arguments: list[str]) -> int:
    """Write the generated pages. With ``--check``, write nothing, and return 1 if a page is out of date."""
    stale = 0
    for name, text in pages().items():
        path = DOCS / name
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{name} is out of date: make docs", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
