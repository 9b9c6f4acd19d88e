"""The report: a single HTML file that needs no network and escapes all text from users.

The report of one paper (rlsvi) derives the printed epsilon by computer algebra from a Renyi divergence c * alpha of
order alpha. sympy computes the steps, and checks them by identities that reduce to zero and by the sign of a term.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import sympy
from markupsafe import Markup

from dpproof.accountant.catalogue import CATALOGUE
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.accountant.numbers.arithmetic import recorded as assumptions_of
from dpproof.accountant.numbers.written import json_text, write_whole
from dpproof.answers import coverage
from dpproof.answers.claims import ClaimLedger
from dpproof.answers.papers import PaperLedger
from dpproof.answers.verify import Verified
from dpproof.audits.recording.evidence import Evidence
from dpproof.claim_file import Refusal
from dpproof.first_answer import of_claims, of_papers, taken_on_trust
from dpproof.proofs_check.papers.paper import Deployment
from dpproof.proofs_check.registry import coq_status, lookup
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.report import graph, overview, pieces, plots
from dpproof.report.formulas import mathml
from dpproof.report.notes import notes_of
from dpproof.version import __version__
from dpproof.wording import at_least, at_most, figure, many, noticed, own_remarks, result_words

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _formula(latex: str) -> Markup:
    """Return the formula as MathML, which browsers render. The input is this project's own text."""
    return Markup(mathml(latex)) if latex else Markup("")


def _svg(text: str) -> Markup:
    return Markup(text)


_ENVIRONMENT.filters.update(
    at_least=at_least,
    at_most=at_most,
    figure=figure,
    noticed=noticed,
    many=many,
    linked=pieces.linked,
    words=pieces.words_in,
    pill=pieces.pill_of,
    remarks=own_remarks,
    verdict=result_words,
    coq=coq_status,
    formula=_formula,
    arithmetic=lambda account: in_words(account.arithmetic),
    notes=notes_of,
    picture=lambda shown: Markup(plots.event(shown)),
    witness=lambda audit: json_text(audit.witness()),
)
_STYLE, _SCRIPT = (
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
)
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
"""Hash of the script. The content security policy of the page allows only this script."""


def render(
    *,
    papers: Sequence[PaperLedger] = (),
    claims: Sequence[ClaimLedger] = (),
    refusals: Sequence[Refusal] = (),
    file: str = "",
    date: str = "",
) -> str:
    """Return the report of papers and claims as HTML text. Claims in ``refusals`` are listed with their errors.

    Args:
        papers: the results for papers.
        claims: the results for claims.
        refusals: the claims that cannot be checked.
        file: the name of the claim file, which the page shows.
        date: the day of the check, which the page shows. If it is empty, the page does not depend on the day.
    """
    results = [result for ledger in papers for result in ledger.verified.statements]
    rows = overview.rows_of(papers, claims, refusals)
    shown = [_paper(ledger) for ledger in papers]
    page = _ENVIRONMENT.get_template("report.html.j2").render(
        about=file or ("papers" if papers else "claims"),
        date=date,
        version=__version__,
        style=Markup(_STYLE),
        script=Markup(_SCRIPT),
        script_hash=f"sha256-{_HASH}",
        headline=overview.headline(rows),
        answer=[*(of_papers(papers, None) if papers else ()), *_of_claims(claims, refusals)],
        departures=[line for ledger in papers for line in ledger.departures],
        rows=rows,
        kinds={mark.kind for row in rows for mark in row.marks},
        scale=overview.scale_of(rows),
        wrong=_wrong(papers),
        numbered={item.id for item in coverage.items() if item.kind == "statement"},
        in_part={name for paper in shown for name in paper["in_part"]},
        verdicts=[one for one in Verdict if any(result.verdict is one for result in results)],
        trust=_trust(papers, claims),
        papers=shown,
        places={result.id for result in results},
        claims=[_claim(ledger) for ledger in claims],
        refusals=refusals,
    )
    return pieces.with_own_ids(page)


def _of_claims(claims: Sequence[ClaimLedger], refusals: Sequence[Refusal]) -> list[str]:
    return of_claims(claims, refusals, None) if claims or refusals else []


def _wrong(papers: Sequence[PaperLedger]) -> list[tuple[Severity, list[Result]]]:
    """Return the refuted statements of all papers, grouped by severity, the most severe first."""
    entries = [entry for ledger in papers for entry in overview.refuted_of(ledger)]
    held = [(one, [entry for entry in entries if entry.severity is one]) for one in Severity]
    return [(severity, found) for severity, found in held if found]


def _trust(papers: Sequence[PaperLedger], claims: Sequence[ClaimLedger]) -> dict[str, Any]:
    """Return what is assumed, in one line and as lists."""
    every = [*(ledger.account for ledger in papers), *(ledger.account for ledger in claims)]
    accounts = [account for account in every if account is not None]
    rests = [account.rests for account in accounts if account.rests is not None]
    found = Verified((*(entry for ledger in papers for entry in ledger.verified.statements), *rests))
    audits = [known.evidence for ledger in papers for known in ledger.audits]
    audits += [ledger.audit for ledger in claims if ledger.audit is not None]
    return {
        "line": taken_on_trust(found, audits),
        "grouped": [
            ("Assumptions", pieces.by_paper(pieces.assumed_by(found.statements))),
            ("Readings: steps of an argument that people check", pieces.by_paper(_readings(found))),
        ],
        "lists": [
            ("Laws", found.laws),
            ("Conditions of the audits", _conditions(audits)),
            ("Arithmetic", sorted({in_words(account.arithmetic) for account in accounts})),
        ],
    }


def _readings(found: Verified) -> dict[str, str]:
    """Map each reading to the statement that needs it."""
    return {text: name for entry in found.statements for text, name in entry.readings.items()}


def _conditions(audits: Iterable[Evidence]) -> list[str]:
    return sorted({text for audit in audits for text in audit.taken_on_trust})


def write_report(
    folder: Path,
    *,
    papers: Sequence[PaperLedger] = (),
    claims: Sequence[ClaimLedger] = (),
    refusals: Sequence[Refusal] = (),
    file: str = "",
) -> Path:
    """Write the report of papers and claims to ``folder/index.html``, and return the path.

    If writing fails, no partial file is left.
    The page names the day if the environment variable SOURCE_DATE_EPOCH gives it, in seconds since 1970.
    """
    text = render(papers=papers, claims=claims, refusals=refusals, file=file, date=_given_date())
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "index.html", text)
    return folder / "index.html"


def _given_date() -> str:
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(given), UTC).date().isoformat() if given.isdecimal() else ""


def _paper(ledger: PaperLedger) -> dict[str, Any]:
    """Return the template's data for one paper: the results, the statements' texts, the figures."""
    paper, prefix = ledger.paper, ledger.paper.prefix
    share = coverage.coverage(ledger.verified.statements, f"{prefix}.")
    return {
        "ledger": ledger,
        "paper": paper,
        "share": coverage.line(share) if share.statements else None,
        "counts": coverage.counts(share),
        "left_open": coverage.left_open(share),
        "in_part": share.in_part,
        "source": _source(ledger),
        "as_expected": sum(audit.evidence.verdict is audit.expected for audit in ledger.audits),
        "audits": pieces.kinds_of(ledger.audits),
        "statements": [(result, lookup(result.id)) for result in ledger.verified.statements],
        "corrects": _corrects(ledger),
        "graph": _graph(ledger, prefix),
        "plots": _plots(paper.deployment),
        "derivation": [_formula(step) for step in _derivation(paper.name)],
    }


def _source(ledger: PaperLedger) -> str | None:
    """Return the source of most statements, which the page cites once, or None."""
    counted = Counter(lookup(result.id).source.paper for result in ledger.verified.statements)
    name, times = counted.most_common(1)[0] if counted else ("", 0)
    return name if 2 * times > counted.total() else None


def _claim(ledger: ClaimLedger) -> dict[str, Any]:
    """Return the template's data for one claim."""
    claim = ledger.claim
    known = ledger.account is not None and claim.mechanism in CATALOGUE
    where = (claim.mechanism, tuple(claim.parameters.items()), claim.adjacency)
    drawn = _drawn(*where, str(claim.delta)) if known else []
    return {"ledger": ledger, "plots": drawn, "word": overview.word_of(ledger)}


def _plots(deployment: Deployment | None) -> list[tuple[Markup, str]]:
    """Return the plots of a paper's mechanism, each with its caption."""
    if deployment is None:
        return []
    d = deployment
    return _drawn(d.mechanism, tuple(d.parameters.items()), d.adjacency, d.delta, d.along)


@lru_cache(maxsize=64)
def _drawn(
    mechanism: str,
    parameters: tuple[tuple[str, object], ...],
    adjacency: Adjacency,
    delta: str = "0",
    along: str | None = None,
) -> list[tuple[Markup, str]]:
    """Return the plots, which take seconds. Captions name assumptions on the machine's arithmetic."""
    where = (mechanism, dict(parameters), adjacency)
    with assumptions_of() as used:
        drawn = [
            plots.profile(*where, delta),
            (
                plots.trade_off(*where),
                "The trade-off function: misses of the best test between neighbours.",
            ),
        ]
        if along is not None:
            drawn.insert(0, (plots.growth(*where, delta, along), f"Epsilon against the number of {along}."))
    rests = in_words(used)
    return [(_svg(svg), f"{caption} {rests[0].upper()}{rests[1:]}.") for svg, caption in drawn]


def _graph(ledger: PaperLedger, prefix: str) -> Markup:
    """Return the dependency graph. Statements of other papers have the verdicts that their pages state."""
    own = {result.id: result.verdict for result in ledger.verified.statements}
    drawn = graph.edges(prefix)
    verdicts = {name: own.get(name, Verdict(lookup(name).expected)) for name in graph.names(drawn)}
    return _svg(graph.svg(drawn, verdicts, prefix, own))


def _corrects(ledger: PaperLedger) -> dict[str, list[str]]:
    """Map each correction to the statements that it corrects."""
    found: dict[str, list[str]] = {}
    for result in ledger.verified.statements:
        if result.corrected_by:
            found.setdefault(result.corrected_by, []).append(result.id)
    return found


def _derivation(paper: str) -> Sequence[str]:
    """Return the computer-algebra derivation for a paper, as LaTeX."""
    if paper != "rlsvi":
        return ()
    A, H, K, L = sympy.symbols("A H K L", positive=True)
    return derive_linear(2 * A / (H**3 * L), H * K).latex()


ALPHA = sympy.Symbol("alpha", positive=True)
LOG_DELTA = sympy.Symbol("ell", positive=True)
"""The symbol for log(1/delta). It is positive because delta < 1."""


@dataclass(frozen=True)
class Derivation:
    """A derivation of epsilon from a Renyi divergence: epsilon as a function of the order alpha, and its minimum."""

    curve: Any
    at_order: Any
    first_derivative: Any
    order: Any
    second_derivative: Any
    epsilon: Any

    def latex(self) -> tuple[str, ...]:
        """Return the steps as LaTeX: conversion, first derivative, best order, second derivative, epsilon."""
        names = (r"\varepsilon(\alpha)", r"\varepsilon'(\alpha)", r"\alpha^*", r"\varepsilon''(\alpha)")
        values = (self.at_order, self.first_derivative, self.order, self.second_derivative)
        steps = [f"{name} = {sympy.latex(value)}" for name, value in zip(names, values, strict=True)]
        return (*steps, rf"\varepsilon(\alpha^*) = {sympy.latex(self.epsilon)}")


def derive_linear(per_step: sympy.Expr, repetitions: sympy.Expr | int = 1) -> Derivation:
    """Return the derivation of the best epsilon for composed steps with a known Renyi divergence.

    The divergence of one step is per_step * alpha for every order alpha. The derivation multiplies it by the number
    of steps, converts the product to epsilon by Mironov's theorem, and minimises epsilon over alpha.

    Args:
        per_step: the factor of alpha in the Renyi divergence of one step, a positive sympy expression.
        repetitions: how many steps are composed.

    >>> c = sympy.Symbol("c", positive=True)
    >>> derive_linear(c).epsilon
    2*sqrt(c)*sqrt(ell) + c

    Raises:
        ArithmeticError: if one of the checks does not reduce to zero, or a sign is not established.
    """
    slope = sympy.simplify(per_step * repetitions)
    at_order = slope * ALPHA + LOG_DELTA / (ALPHA - 1)
    first, second = sympy.diff(at_order, ALPHA), sympy.diff(at_order, ALPHA, 2)
    order = 1 + sympy.sqrt(LOG_DELTA / slope)
    epsilon = sympy.expand(sympy.simplify(at_order.subs(ALPHA, order)))
    gap = sympy.Symbol("g", positive=True)
    square = (sympy.sqrt(slope) * gap - sympy.sqrt(LOG_DELTA)) ** 2 / gap
    _require(sympy.simplify(first.subs(ALPHA, order)) == 0, "epsilon'(alpha*) = 0")
    _require(second.subs(ALPHA, 1 + gap).is_positive, "epsilon'' > 0 for alpha > 1")
    _require(sympy.simplify(at_order.subs(ALPHA, 1 + gap) - epsilon - square) == 0, "epsilon is the minimum")
    return Derivation(slope * ALPHA, at_order, first, order, second, epsilon)


def _require(holds: object, what: str) -> None:
    if holds is not True and holds is not sympy.true:
        raise ArithmeticError(f"The derivation stops, because {what} was not established.")
