"""``dpproof check``: the whole answer, for the papers or for a claim file, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dpproof import answers
from dpproof.auditing import check_ready
from dpproof.claim_file import read_claims
from dpproof.cli import show
from dpproof.cli.options import JSON, check_folder
from dpproof.report.ledger import PAPERS, ClaimLedger, PaperLedger, check_claim, check_paper

__all__ = ["check"]

_EXIT = {"kept": 0, "broken": 1, "not certified": 3}


def check(
    target: Annotated[str, typer.Argument(help="papers, or a claim file")],
    html: Annotated[Path | None, typer.Option(help="folder to write the report to")] = None,
    seed: Annotated[int, typer.Option(help="everything random derives from it")] = 0,
    strict: Annotated[bool, typer.Option(help="an inconclusive audit counts as a violation")] = False,
    json: JSON = False,
) -> None:
    """Account, verify and audit, and write one self-contained report."""
    if target != "papers" and not Path(target).is_file():
        raise ValueError(f"target ({target!r}) must be papers, or an existing claim file")
    check_folder("html", html)
    if target == "papers":
        _check_papers(html, seed, json)
    _check_file(Path(target), html, seed, strict, json)


def _check_papers(html: Path | None, seed: int, json: bool) -> None:
    with ProcessPoolExecutor(os.cpu_count()) as executor:
        ledgers = _staged(lambda stage: [_paper(paper, stage, seed, executor) for paper in PAPERS])
    if html is not None:
        from dpproof.report.html import write_report

        write_report(html, papers=ledgers)
    body = {"papers": [ledger.as_json() for ledger in ledgers], "report": _page(html)}
    show.either(answers.envelope(body), json, lambda _answer, console: _print_papers(ledgers, html, console))
    raise typer.Exit(1 if any(ledger.departures for ledger in ledgers) else 0)


def _paper(paper: Any, stage: Callable[[str], None], seed: int, executor: Executor) -> PaperLedger:
    return check_paper(paper, stage, seed=seed, executor=executor)


def _check_file(path: Path, html: Path | None, seed: int, strict: bool, json: bool) -> None:
    claims = read_claims(path, check_ready)
    with ProcessPoolExecutor(os.cpu_count()) as executor:
        options = {"seed": seed, "executor": executor}
        ledgers = _staged(lambda stage: [check_claim(claim, stage, **options) for claim in claims])
    if html is not None:
        from dpproof.report.html import write_report

        write_report(html, claims=ledgers)
    body = {"claims": [ledger.as_json() for ledger in ledgers], "report": _page(html)}
    show.either(answers.envelope(body), json, lambda _answer, console: _print_claims(ledgers, console))
    raise typer.Exit(_exit_code(ledgers, strict))


def _exit_code(ledgers: Sequence[ClaimLedger], strict: bool) -> int:
    """The worst of all claims: broken before not certified before kept."""
    codes = {_EXIT[ledger.verdict] for ledger in ledgers}
    vague = any(ledger.audit is not None and ledger.audit["verdict"] == "inconclusive" for ledger in ledgers)
    if strict and vague:
        codes.add(1)
    return 1 if 1 in codes else max(codes)


def _staged(work: Callable[[Callable[[str], None]], list[Any]]) -> list[Any]:
    """Run ``work`` while the terminal shows its present stage."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=None)
        return work(lambda text: progress.update(task, description=escape(text)))


def _page(html: Path | None) -> str | None:
    return None if html is None else (html / "index.html").as_posix()


def _print_papers(ledgers: Sequence[PaperLedger], html: Path | None, console: Console) -> None:
    for ledger in ledgers:
        console.rule(f"[bold]{escape(ledger.paper.title)}[/]")
        console.print(ledger.paper.citation, style="dim")
        show.statements({"statements": ledger.statements}, console)
        if ledger.account is not None:
            show.account(ledger.account, console)
        if ledger.audits:
            show.audits({"audits": ledger.audits}, console)
        for line in ledger.departures:
            console.print(f"[red]not as recorded:[/] {escape(line)}")
        console.print("all as recorded" if not ledger.departures else "", style="green")
    if html is not None:
        console.print(f"report: {_page(html)}", markup=False, soft_wrap=True)


def _print_claims(ledgers: Sequence[ClaimLedger], console: Console) -> None:
    rows = show.table("claim", "verdict", "promised epsilon", "certified at most", "audit", "remarks")
    for ledger in ledgers:
        rows.add_row(
            escape(ledger.claim.name),
            show.coloured(ledger.verdict),
            show.figure(answers.number(ledger.claim.epsilon)),
            show.at_most(ledger.account["epsilon"]["upper"]) if ledger.account else "-",
            show.coloured(ledger.audit["verdict"]) if ledger.audit else "-",
            escape("\n".join(ledger.remarks)),
        )
    console.print(rows)
