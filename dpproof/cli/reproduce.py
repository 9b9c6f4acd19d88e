"""``dpproof reproduce``: run a paper's experiment again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dpproof.accountant.numbers.arithmetic import Assumption, in_words
from dpproof.answers.as_json import envelope
from dpproof.audits.engine.sampling.progress import watched
from dpproof.cli import show
from dpproof.cli.corpus import progress_of
from dpproof.cli.layout import print_table, table
from dpproof.cli.options import JOURNAL, JSON, PATH, SEED, check_folder
from dpproof.executors import journal_at
from dpproof.reproduction.experiments import Experiment, experiment_for
from dpproof.wording import at_most, figure


@click.command()
@click.argument("paper")
@click.option("--quick", is_flag=True, help="Fewer seeds and parameters, the same code.")
@click.option(
    "--out",
    type=PATH,
    default="build/reproduce",
    show_default=True,
    help="Folder for tables, plots and the page.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED)
@click.option("--journal", type=PATH, help=JOURNAL)
@JSON
def reproduce(paper: str, quick: bool, out: Path, seed: int, journal: Path | None, json: bool) -> None:
    """Run a paper's experiment again, and write its tables, plots and page.

    PAPER is a paper's name, such as rlsvi.
    """
    experiment = experiment_for(paper)
    check_folder("out", out)
    out.mkdir(parents=True, exist_ok=True)
    with journal_at(journal), _shown(paper):
        found = experiment.study().run(out, quick=quick, seed=seed)
    show.answer(envelope(found), json, lambda console: _print(experiment, found, console))


@contextmanager
def _shown(paper: str) -> Iterator[None]:
    """Show a progress bar and the elapsed time on standard error if it is a terminal."""
    with progress_of(f"reproducing {paper}", None) as progress:
        task = progress.task_ids[0]
        with watched(lambda done, total: progress.update(task, completed=done, total=total)):
            yield


def _print(experiment: Experiment, answer: Any, console: Console) -> None:
    for sentence in answer["first_lines"]:
        console.print(f"- {sentence}", markup=False, soft_wrap=True)
    rows = table(*experiment.columns, title=experiment.title)
    for row in answer[experiment.table]:
        rows.add_row(*(_cell(name, row[name]) for name in experiment.columns))
    print_table(rows, console)
    for name in ("never_learning", "error", "runs"):
        if name in answer:
            console.print(f"{name.replace('_', ' ')}: {figure(answer[name])}")
    console.print(
        in_words(Assumption(one["id"]) for one in answer["arithmetic_assumptions"]),
        style="dim",
        highlight=False,
    )
    console.print(f"{answer['seconds']:.1f} s, written to {answer['folder']}", markup=False, soft_wrap=True)


def _cell(name: str, value: str | float | None) -> str:
    """Return a cell: a word unchanged, a certified number rounded up, any other number with four digits."""
    if isinstance(value, str):
        return value
    if name.startswith("certified"):
        return at_most(value)
    return figure(value) if value is None or isinstance(value, int) else f"{value:.4g}"
