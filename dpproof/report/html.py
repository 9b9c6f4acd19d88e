"""The report: one HTML file that needs no network, everything from outside escaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from latex2mathml.converter import convert as to_mathml
from markupsafe import Markup

from dpproof import __version__
from dpproof.cli.show import at_least, at_most, figure, own_remarks
from dpproof.report import plots
from dpproof.report.ledger import ClaimLedger, PaperLedger

__all__ = ["render", "write_report"]

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _formula(latex: str) -> Markup:
    """MathML, which browsers set without help; the input is this project's own text."""
    text = latex.replace("''", r"^{\prime\prime}").replace("'", r"^{\prime}")
    return Markup(to_mathml(text, display="block")) if latex else Markup("")


def _svg(text: str) -> Markup:
    return Markup(text)


_ENVIRONMENT.filters.update(
    at_least=at_least, at_most=at_most, figure=figure, remarks=own_remarks, formula=_formula
)


def render(*, papers: Sequence[PaperLedger] = (), claims: Sequence[ClaimLedger] = ()) -> str:
    """The page as text."""
    template = _ENVIRONMENT.get_template("report.html.j2")
    return template.render(
        version=__version__, papers=[_paper(ledger) for ledger in papers], claims=list(claims)
    )


def write_report(folder: Path, **ledgers: Any) -> Path:
    """Write ``folder/index.html``, whole or not at all, and return its path."""
    text = render(**ledgers)
    folder.mkdir(parents=True, exist_ok=True)
    page, partial = folder / "index.html", folder / "index.html.partial"
    partial.write_text(text, encoding="utf-8")
    partial.replace(page)
    return page


def _paper(ledger: PaperLedger) -> dict[str, Any]:
    """What the template needs of one paper: the ledger, the statements' texts, the pictures."""
    from proofs_check.registry import lookup

    paper = ledger.paper
    where = (paper.mechanism, paper.parameters, paper.adjacency)
    return {
        "ledger": ledger,
        "paper": paper,
        "statements": [(entry, lookup(entry["id"])) for entry in ledger.statements],
        "growth": _svg(plots.growth(*where, paper.delta, "episodes")),
        "profile": _svg(plots.profile(*where)),
        "derivation": [_formula(step) for step in _derivation(paper.name)],
    }


def _derivation(paper: str) -> Sequence[str]:
    """The computer-algebra derivation that belongs to a paper, as LaTeX."""
    if paper != "rlsvi":
        return ()
    import sympy

    from accountant.symbolic import derive_linear

    A, H, K, L = sympy.symbols("A H K L", positive=True)
    return derive_linear(2 * A / (H**3 * L), H * K).latex()
