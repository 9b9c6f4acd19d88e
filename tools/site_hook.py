"""The hook of the documentation site: formulas, links to the ledger, linked files outside ``docs``, navigation."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from dpproof.proofs_check.registry import papers, statement_ids
from dpproof.report import ledger
from dpproof.report.formulas import mathml

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("proofs_check/certificates/*.jsonl", "examples/gallery/*.py")
BOOST = {"explanation/glossary.md": 20, "reference/claim-files.md": 4, "reference/front-door.md": 4, "how-to/": 2,
         "ledger/": 3, "statements/": 6, "findings.md": 2, "notes/": 0.3}  # fmt: skip
FORMULA = re.compile(r'<(div|span) class="arithmatex">\\[\[(](.*?)\\[\])]</\1>', re.DOTALL)
IDENTITY = re.compile(r'(?<!">)<code>([a-z]+\.[\w.]+)</code>')


def on_config(config: Any) -> None:
    """Add the pages of the ledger and the proof notes to the navigation."""
    tables = [{paper.title: f"ledger/{paper.name}.md"} for paper in papers().values()]
    results = next(part["Results"] for part in config.nav if "Results" in part)
    results[0] = {"The ledger": [{"Overview": "ledger.md"}, *tables]}
    notes = sorted(path.name for path in Path(config.docs_dir, "notes").glob("*.md"))
    config.nav.append({"Proof notes": [f"notes/{name}" for name in notes]})


def on_files(files: Files, config: Any) -> None:
    """Publish the ledger, the pages of statements, and the files outside ``docs`` that pages link to."""
    for path, text in ledger.site().items():
        files.append(File.generated(config, path, content=text))
    for path in (path for pattern in OUTSIDE for path in sorted(ROOT.glob(pattern))):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Page, **_more: Any) -> str:
    """Let links to files outside ``docs`` lead to their copies, and find some pages first."""
    for boost in (boost for path, boost in BOOST.items() if page.file.src_uri.startswith(path)):
        page.meta["search"] = {"boost": boost}
    up = page.file.src_uri.count("/")
    return markdown.replace(f"]({'../' * (up + 1)}", f"]({'../' * up}")


def on_page_content(html: str, page: Page, **_more: Any) -> str:
    """Write formulas as MathML, and link statements to the ledger."""
    return IDENTITY.sub(lambda found: _linked(found, page), FORMULA.sub(_formula, html))


def _formula(found: re.Match[str]) -> str:
    """Return the element of a formula with MathML in it."""
    inside = mathml(unescape(found[2]).strip(), display=found[1] == "div")
    return f'<{found[1]} class="formula">{inside}</{found[1]}>'


def _linked(found: re.Match[str], page: Page) -> str:
    """Return the id of a statement as a link, and any other code as it is."""
    if found[1] not in PLACES:
        return found[0]
    target = get_relative_url(PLACES[found[1]], page.url)
    return f'<a href="{target}">{found[0]}</a>'


def _places() -> dict[str, str]:
    """Return the address of the page of each statement."""
    return {name: f"{ledger.place(name).removesuffix('.md')}/" for name in statement_ids()}


PLACES = _places()
