"""``dpproof audit corpus``: mechanisms with a known result, printed row by row as they finish."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dpproof.accountant.claims.parameters import Domain, Integers, Reals
from dpproof.accountant.numbers.written import json_text
from dpproof.answers import as_json
from dpproof.answers import audit as auditing
from dpproof.answers.corpus import CaseResult, cases_with, run_cases
from dpproof.cli import show
from dpproof.executors import executor_for, journal_at

if TYPE_CHECKING:
    from dpproof.audits.plan import Asked
    from dpproof.audits.recording.evidence import Evidence


def kept(found: Iterable[Evidence], witnesses: Path | None) -> Iterator[Evidence]:
    """Yield the given findings unchanged. A violation's record is first written to the folder ``witnesses``."""
    for evidence in found:
        if witnesses is not None and evidence.verdict.violated:
            auditing.write_witness(evidence, witnesses)
        yield evidence


def progress_of(text: str, total: int | None) -> Progress:
    """Return a progress bar for a context. It is shown on standard error if this is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    seen = console.is_terminal
    # Rows go above the bar where both are on one terminal, and to the file that standard output is.
    progress = Progress(
        *columns, console=console, transient=True, disable=not seen, redirect_stdout=sys.stdout.isatty()
    )
    progress.add_task(text, total=total)
    return progress


CHECKED: Mapping[str, Domain] = {
    "seed": Integers(0),
    "budget": Integers(1),
    "alpha": Reals(1e-300, 1, upper_open=True),
}


def audit_corpus(
    options: Asked,
    budget: int | None,
    journal: Path | None,
    only: str | None,
    workers: int | None,
    cluster: str | None,
    witnesses: Path | None,
    json: bool,
) -> None:
    """Audit the cases of the corpus and print a row for each. After an interruption, finished rows remain."""
    if budget is not None:
        options = {**options, "budget": budget}
    for name, value in options.items():
        if not CHECKED[name].admits(value):
            raise ValueError(f"{name} ({value!r}) must be {CHECKED[name]}")
    cases = cases_with(only)
    shared = (os.cpu_count() or 1) if workers is None else workers
    done: list[CaseResult] = []
    rows = show.CorpusRows([case.name for case in cases], quiet=json)
    try:
        with (
            journal_at(journal),
            executor_for(min(shared, len(cases)), cluster) as executor,
            progress_of("corpus", len(cases)) as progress,
        ):
            for outcome in run_cases(cases, options, executor):
                done.append(outcome)
                list(kept([] if outcome.evidence is None else [outcome.evidence], witnesses))
                rows.print(outcome)
                progress.advance(progress.task_ids[0])
    except KeyboardInterrupt:
        click.echo(f"dpproof: interrupted after {len(done)} of {len(cases)} cases", err=True)
    missed = [outcome for outcome in done if outcome.missed]
    for outcome in missed:
        said = f", found {outcome.found}" + (f" ({outcome.error})" if outcome.error else "")
        click.echo(f"dpproof: {outcome.name}: expected {outcome.expected}{said}", err=True)
    if json:
        click.echo(json_text(as_json.envelope({"audits": [as_json.case(one) for one in done]})))
    else:
        rows.summary(done)
    raise Exit(1 if missed else 3 if len(done) < len(cases) else 0)
