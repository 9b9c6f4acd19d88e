"""Generated pages of the documentation: parameter tables, names, glossary, experiments.

``python -m dpproof.report.pages`` writes them. With ``--check`` it only reports whether they are up to date.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from pathlib import Path

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.answers import coverage
from dpproof.claim_file.schema import schema_text
from dpproof.glossary import GLOSSARY
from dpproof.proofs_check.registry import verify
from dpproof.report import deployments, sweeps
from dpproof.report.badges import badges
from dpproof.report.stubs import account_stub, calibrate_stub
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.suite import benchmark

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


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
    return {**_plain_pages(), "deployments.md": deployments.page()[0]}


def _plain_pages() -> dict[str, str]:
    made = {
        "parameters.md": parameters(),
        "explanation/glossary.md": glossary(),
        "reference/names.md": public_names(),
        "claim-file.schema.json": schema_text(),
        "../dpproof/front/account.pyi": account_stub(),
        "../dpproof/front/calibrate.pyi": calibrate_stub(),
        **badges(coverage.coverage(verify())),
    }
    for name, experiment in experiments().items():
        made[f"experiments/{name.replace('-', '_')}.md"] = experiment.study().page(DOCS / "experiments")
    made["sweep.md"] = sweeps.page()
    made["experiments/frontier.md"] = benchmark.page(DOCS / "experiments")
    return made


def main(arguments: list[str]) -> int:
    """Write the generated pages. With ``--check``, write nothing, and return 1 if a page is out of date."""
    stale = 0
    compared, picture = deployments.page()
    if "--check" not in arguments:
        (DOCS / deployments.PICTURE).write_bytes(picture)
    for name, text in {**_plain_pages(), "deployments.md": compared}.items():
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
