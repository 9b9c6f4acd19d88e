"""``dpproof reproduce``: a paper's experiment, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from dpproof import answers
from dpproof.cli import show
from dpproof.cli.options import JSON, check_folder

__all__ = ["reproduce"]


def reproduce(
    paper: Annotated[str, typer.Argument(help="a paper's name")],
    quick: Annotated[bool, typer.Option("--quick", help="fewer seeds and parameters, the same code")] = False,
    out: Annotated[Path, typer.Option(help="folder for tables, plots and the page")] = Path(
        "build/reproduce"
    ),
    seed: Annotated[int, typer.Option(min=0, help="everything random derives from it")] = 0,
    json: JSON = False,
) -> None:
    """Run a paper's experiment again, and write its tables, plots and page."""
    from dpproof.reproduction.experiments import experiment_for

    experiment = experiment_for(paper)
    check_folder("out", out)
    out.mkdir(parents=True, exist_ok=True)
    found = experiment.run(out, quick=quick, seed=seed)
    show.either(
        answers.envelope(found), json, lambda answer, console: _print(experiment.title, answer, console)
    )


def _print(title: str, answer: Any, console: Console) -> None:
    headings = ("algorithm", "counts", "group", "epsilon", "certified", "regret", "deviation")
    table = show.table(*headings, title=title)
    for row in answer["rows"]:
        table.add_row(
            row["algorithm"],
            row["counts"],
            row["group"],
            show.figure(row["epsilon"]),
            show.at_most(row["certified_epsilon"]),
            f"{row['regret']:.0f}",
            f"{row['deviation']:.0f}",
        )
    console.print(table)
    console.print(f"never learning: {answer['never_learning']:.0f}; {answer['seconds']:.1f} s")
    console.print(f"written to {answer['folder']}", markup=False, soft_wrap=True)
