"""Pages of the documentation that are generated from data: the ledger and the parameter tables.

``python -m dpproof.report.pages`` writes them; with ``--check`` it only says whether they are up to date.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from accountant.accounted import CATALOGUE, accountant_for
from dpproof.cli.show import remarks

__all__ = ["ledger", "main", "parameters"]

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def ledger() -> str:
    """Every statement with its verdict, method, remarks and dependencies, as Markdown."""
    from proofs_check.registry import as_json, lookup, verify

    lines = ["# The ledger", "", "Every statement, with the verdict its certificates give. Generated.", ""]
    for result in verify():
        entry, statement = as_json(result), lookup(result.id)
        lines += [
            f"## {entry['id']}: {entry['verdict']}",
            "",
            f"**{entry['title']}** ({statement.source})",
            "",
        ]
        lines += [*([f"$$ {statement.latex} $$", ""] if statement.latex else []), statement.says, ""]
        lines += [f"- {line}" for line in remarks(entry)]
        lines += [f"- not covered: {entry['not_covered']}"]
        if entry["depends_on"]:
            lines += [f"- rests on: {', '.join(entry['depends_on'])}"]
        if entry["certificate"]:
            lines += [f"- {entry['method']}; certificates: {entry['certificate']}"]
        lines += [""]
    return "\n".join(lines)


def parameters() -> str:
    """The parameters of every mechanism, with unit, domain and default, as Markdown."""
    lines = ["# Parameters", "", "Flags of the command line, keys of claim files. Generated.", ""]
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
            lines += [
                f"| `{field.name}` | {about['help']} [{about['unit']}] | {about['domain']} | {default} |"
            ]
        lines += [""]
    return "\n".join(lines)


PAGES = {"ledger.md": ledger, "parameters.md": parameters}


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` compare: 1 if one is out of date."""
    stale = 0
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{name} is out of date: make docs", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
