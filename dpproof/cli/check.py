"""``dpproof check``: check the papers or a claim file, and write the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click
from click.exceptions import Exit
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.answers import as_json
from dpproof.answers.audit import check_ready
from dpproof.answers.claims import ClaimLedger, check_claims, exit_code
from dpproof.answers.papers import PaperLedger, check_paper
from dpproof.claim_file import Reading, Refusal, entry_of, read_all
from dpproof.cli import show
from dpproof.cli.importing import import_from
from dpproof.cli.layout import print_table, table
from dpproof.cli.options import CLUSTER, JOURNAL, JSON, PATH, SEED, VERBOSE, check_file, check_folder, or_file
from dpproof.cli.verify import statements, wrong
from dpproof.executors import executor_for, journal_at
from dpproof.first_answer import of_claims, of_papers
from dpproof.formats import FORMATS, findings_of_claims, findings_of_papers, write_findings
from dpproof.outcome import Outcome
from dpproof.proofs_check.papers.paper import Paper
from dpproof.proofs_check.registry import papers
from dpproof.wording import at_most, figure

T = TypeVar("T")


@click.command()
@click.argument("target", shell_complete=or_file("papers", "deployments"))
@click.argument("where", required=False, type=PATH)
@click.option("--html", type=PATH, help="Folder to write the report to.")
@click.option("--sarif", type=PATH, help="File to write SARIF 2.1.0 to.")
@click.option("--junit", type=PATH, help="File to write JUnit XML to.")
@click.option("--markdown", type=PATH, help="File to write a summary in Markdown to.")
@click.option("--cluster", help=CLUSTER)
@click.option("--journal", type=PATH, help=JOURNAL)
@click.option("--allow-outside/--no-allow-outside", help="Claims may name files outside the project.")
@click.option("--seed", type=int, default=0, show_default=True, help=SEED)
@click.option(
    "--audits/--no-audits", default=True, show_default=True, help="Whether claims are audited, too."
)
@click.option("--strict/--no-strict", help="An inconclusive audit counts as a violation.")
@click.option(
    "--emit", type=click.Choice(["registry"]), help="Write a draft record for each claim of a file, and stop."
)
@VERBOSE
@JSON
def check(
    target: str,
    where: Path | None,
    html: Path | None,
    sarif: Path | None,
    junit: Path | None,
    markdown: Path | None,
    cluster: str | None,
    journal: Path | None,
    allow_outside: bool,
    seed: int,
    audits: bool,
    strict: bool,
    emit: str | None,
    verbose: bool,
    json: bool,
) -> None:
    """Account, verify and audit, and write one self-contained report.

    TARGET is papers, deployments, or a claim file. WHERE follows deployments: a newer checkout of the
    deployments registry, one of its records, or a table of your own.
    """
    if target == "deployments":
        others = {"html": html, "sarif": sarif, "junit": junit, "emit": emit}
        _refuse_others({**others, "cluster": cluster, "journal": journal})
        from dpproof.cli.deployments import check_deployments

        check_file("markdown", markdown, FORMATS["markdown"][0])
        raise Exit(check_deployments(where, json, verbose, markdown))
    if where is not None:
        raise ValueError(f"where ({str(where)!r}) can follow only the target 'deployments', not {target!r}.")
    if target != "papers" and not Path(target).is_file():
        rule = "must be 'papers', 'deployments' or an existing claim file"
        known = ["papers", "deployments", *_beside(target)]
        raise ValueError(f"target ({target!r}) {rule}{nearest(target, known)}")
    if emit is not None:
        if target == "papers":
            raise ValueError(
                "emit ('registry') writes records of claims. Give a claim file instead of 'papers'."
            )
        from dpproof.cli.deployments import emit_records

        raise Exit(emit_records(Path(target), allow_outside))
    check_folder("html", html)
    files = {"sarif": sarif, "junit": junit, "markdown": markdown}
    for name, path in files.items():
        check_file(name, path, FORMATS[name][0])
    asked = _Asked(html, files, seed, audits, strict, verbose, json)
    workers = _workers(cluster)
    with journal_at(journal):
        if target == "papers":
            _check_papers(asked, workers)
        import_from(Path(target).parent)
        _check_file(Path(target), read_all(Path(target), check_ready, outside=allow_outside), asked, workers)


def _refuse_others(given: Mapping[str, object]) -> None:
    """Raise if an option is given that the comparison of deployments does not have."""
    for name, value in given.items():
        if value is not None:
            rule = "has no meaning for 'deployments'. Use --json for data, and --verbose for a paragraph on each row."
            raise ValueError(f"{name} ({str(value)!r}) {rule}")


def _beside(target: str) -> list[str]:
    """Return the claim files in the same folder, one of which may be meant."""
    return [str(path) for path in Path(target).parent.glob("*.toml")]


@dataclass(frozen=True)
class _Asked:
    """Options of ``dpproof check``: how to check, and where to write the results."""

    html: Path | None
    files: Mapping[str, Path | None]
    seed: int
    audits: bool
    strict: bool
    verbose: bool
    json: bool

    def write_page(
        self,
        papers: Sequence[PaperLedger] = (),
        claims: Sequence[ClaimLedger] = (),
        refusals: Sequence[Refusal] = (),
        file: str = "",
    ) -> None:
        """Write the report if one is requested."""
        if self.html is not None:
            from dpproof.report.html import write_report

            write_report(self.html, papers=papers, claims=claims, refusals=refusals, file=file)


Workers = AbstractContextManager[Executor | None]


def _workers(cluster: str | None) -> Workers:
    return executor_for(1 if cluster is not None else os.cpu_count() or 1, cluster)


def _check_papers(asked: _Asked, workers: Workers) -> None:
    with workers as executor:
        ledgers = _staged(
            lambda stage: [_paper(paper, stage, asked.seed, executor) for paper in papers().values()]
        )
    asked.write_page(papers=ledgers)
    write_findings(findings_of_papers(ledgers), asked.files)
    page = _page(asked.html)
    body = as_json.envelope({"papers": [as_json.paper(ledger) for ledger in ledgers], "report": page})
    show.answer(body, asked.json, lambda console: _print_papers(ledgers, page, console, asked.verbose))
    raise Exit(1 if any(ledger.departures for ledger in ledgers) else 0)


def _paper(paper: Paper, stage: Callable[[str], None], seed: int, executor: Executor | None) -> PaperLedger:
    return check_paper(paper, stage, seed=seed, executor=executor)


def _check_file(path: Path, reading: Reading, asked: _Asked, workers: Workers) -> None:
    """Check the valid claims. Each refused claim gets one line, and the exit code is then 2."""
    for refusal in reading.refusals:
        click.echo(f"dpproof: {refusal}", err=True)
    if reading.claims and any(refusal.unloadable for refusal in reading.refusals):
        click.echo(
            "dpproof: Nothing was run, because a claim names something that cannot be loaded.", err=True
        )
        write_findings(findings_of_claims([], [], reading.refusals, str(path), strict=False), asked.files)
        raise Exit(2)
    if not reading.claims:
        raise Exit(2)
    with workers as executor:
        ledgers = _staged(
            lambda stage: check_claims(
                reading.claims,
                reading.budget,
                stage,
                audited=asked.audits,
                seed=asked.seed,
                executor=executor,
            )
        )
    asked.write_page(claims=ledgers, refusals=reading.refusals, file=path.name)
    found = findings_of_claims(ledgers, reading.lines, reading.refusals, str(path), strict=asked.strict)
    write_findings(found, asked.files)
    body = as_json.envelope(_body(ledgers, reading, asked.html))
    show.answer(body, asked.json, lambda console: _print_claims(ledgers, reading.refusals, asked, console))
    raise Exit(2 if reading.refusals else exit_code(ledgers, asked.strict))


def _body(ledgers: Sequence[ClaimLedger], reading: Reading, html: Path | None) -> as_json.Json:
    claims = [as_json.claim(ledger, entry_of(ledger.claim)) for ledger in ledgers]
    refused = [as_json.refusal(refusal) for refusal in reading.refusals]
    return {"claims": claims, "refused": refused, "report": _page(html)}


def _staged(work: Callable[[Callable[[str], None]], list[T]]) -> list[T]:
    """Run ``work`` while the terminal shows the present stage."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=None)
        return work(lambda text: progress.update(task, description=escape(text)))


def _page(html: Path | None) -> str | None:
    return None if html is None else (html / "index.html").as_posix()


def _print_papers(ledgers: Sequence[PaperLedger], page: str | None, console: Console, verbose: bool) -> None:
    for ledger in ledgers:
        console.rule()
        console.print(f"[bold]{escape(ledger.paper.title)}[/]")
        console.print(ledger.paper.citation, style="dim")
        statements(ledger.verified if verbose else wrong(ledger.verified), console, verbose)
        if ledger.account is not None:
            show.account(ledger.account, console, verbose)
        if ledger.audits:
            show.audits([audit.evidence for audit in ledger.audits], (), console)
        for line in ledger.departures:
            console.print(f"[red]not as recorded:[/] {escape(line)}")
    console.rule()
    show.first(of_papers(ledgers, page), console)


def _print_claims(
    ledgers: Sequence[ClaimLedger], refusals: Sequence[Refusal], asked: _Asked, console: Console
) -> None:
    show.first(of_claims(ledgers, refusals, _page(asked.html)), console)
    rows = table("claim", "verdict", "promised epsilon", "certified at most", "audit")
    for ledger in ledgers:
        rows.add_row(
            escape(ledger.claim.name),
            show.coloured(ledger.verdict),
            figure(ledger.claim.epsilon),
            at_most(ledger.account.bound.upper) if ledger.account else "-",
            show.coloured(ledger.audit.verdict) if ledger.audit else "-",
        )
    for refusal in refusals:
        rows.add_row(escape(refusal.title), show.coloured(Outcome.REFUSED), "-", "-", "-")
    print_table(rows, console)
    for ledger in ledgers:
        for remark in ledger.remarks:
            console.print(f"{ledger.claim.name}: {remark}", markup=False, highlight=False, soft_wrap=True)
    for refusal in refusals:
        console.print(f"{refusal.title}: {refusal.message}", markup=False, highlight=False, soft_wrap=True)
    for ledger in ledgers:
        if ledger.account:
            line = f"{ledger.claim.name}: released bits: {ledger.account.released_bits}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not asked.verbose:
        return
    accounts = (ledger.account for ledger in ledgers if ledger.account)
    for line in dict.fromkeys(map(show.trusted, accounts)):
        console.print(line, style="dim", highlight=False, soft_wrap=True)
    for ledger in ledgers:
        if ledger.account and ledger.account.arithmetic:
            line = f"{ledger.claim.name}: {in_words(ledger.account.arithmetic)}"
            console.print(line, markup=False, style="dim", highlight=False, soft_wrap=True)
