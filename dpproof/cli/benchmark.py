"""``dpproof benchmark``: every private learner on the same problems, at certified epsilons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit
from rich.console import Console

from dpproof.answers.as_json import envelope
from dpproof.cli import show
from dpproof.cli.corpus import progress_of
from dpproof.cli.layout import print_table, table
from dpproof.cli.options import CLUSTER, JSON, PATH, check_folder
from dpproof.executors import executor_for
from dpproof.reproduction.suite import benchmark as suite
from dpproof.reproduction.suite import frontier
from dpproof.reproduction.suite.runs import repeated
from dpproof.reproduction.suite.summary import Table
from dpproof.wording import at_most


@click.command()
@click.argument("learner", required=False)
@click.option(
    "--problem", "problems", multiple=True, help="Run this problem only. May be given several times."
)
@click.option("--arm", "arms", multiple=True, help="Run this learner only. May be given several times.")
@click.option("--quick", is_flag=True, help="Fewer runs and epsilons, no large problems, the same learners.")
@click.option(
    "--out", type=PATH, default="build/benchmark", show_default=True,
    help="Folder for the page. Recorded runs in it are not made again.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes; one for each core by default."
)
@click.option("--cluster", help=f"Or the {CLUSTER}.")
@click.option(
    "--repeat", type=click.FloatRange(0, 1, min_open=True),
    help="Run nothing new. Draw this share of the recorded runs at random, make them again, and compare every bit.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of --repeat's draw."
)
@JSON
def benchmark(
    learner: str | None,
    problems: tuple[str, ...],
    arms: tuple[str, ...],
    quick: bool,
    out: Path,
    workers: int | None,
    cluster: str | None,
    repeat: float | None,
    seed: int,
    json: bool,
) -> None:
    """Run every private learner on the same problems, and write the page of regret against certified epsilon.

    LEARNER is a learner of your own, given as module:class. It alone is run, and placed among the published scores. The
    how-to on benchmarks has an example. Work that is interrupted goes on where it stopped.
    """
    size = suite.QUICK if quick else suite.FULL
    wanted = suite.chosen(problems, (*arms, learner) if learner else arms, size)
    check_folder("out", out)
    if repeat is not None:
        _repeat(out, sorted({cell.problem for cell in wanted}), repeat, seed, json)
        return
    with (
        executor_for(workers or os.cpu_count() or 1, cluster) as executor,
        progress_of("benchmark", None) as progress,
    ):
        task = progress.task_ids[0]
        found = suite.run(
            out,
            wanted,
            size,
            executor,
            lambda done, total: progress.update(task, completed=done, total=total),
        )
    show.answer(envelope(_answer(found, out)), json, lambda console: _print(found, learner, out, console))


def _answer(found: Table, out: Path) -> dict[str, Any]:
    return {
        "experiment": "benchmark",
        "first_lines": frontier.first_lines(found),
        "rows": [one.as_json() for one in found.scores],
        "folder": out.as_posix(),
    }


def _print(found: Table, learner: str | None, out: Path, console: Console) -> None:
    if learner is not None:
        _print_places(found, learner, console)
        return
    for sentence in frontier.first_lines(found):
        console.print(f"- {sentence}", markup=False, soft_wrap=True)
    rows = table(
        "problem", "promise", "epsilon", "leader", "regret / never learning", "state", title="Who leads"
    )
    for lead in frontier.leads(found):
        regret = f"{lead.first.mean:.3f} ± {lead.first.error:.3f}"
        rows.add_row(
            lead.problem, lead.promise.value, f"{lead.epsilon:g}", lead.first.arm, regret, lead.state
        )
    print_table(rows, console)
    console.print(f"written to {out.as_posix()}", markup=False, soft_wrap=True)


def _print_places(found: Table, learner: str, console: Console) -> None:
    rows = table(
        "problem",
        "epsilon",
        "certified",
        "regret / never learning",
        "place",
        "best other",
        "its regret",
        title=learner,
    )
    for one, place, other in frontier.places(found, learner):
        best = ("-", "-") if other is None else (other.arm, f"{other.mean:.3f}")
        regret = f"{one.mean:.3f} ± {one.error:.3f}"
        rows.add_row(
            one.problem,
            f"{one.epsilon:g}",
            "nothing" if one.certified is None else at_most(one.certified),
            regret,
            str(place),
            *best,
        )
    print_table(rows, console)


def _repeat(out: Path, problems: list[str], share: float, seed: int, json: bool) -> None:
    """Make some recorded runs again. The exit code is 1 if a run gave other bits."""
    record = suite.record_of(out)
    known = [name for name in problems if record.rows(name)]
    if not known:
        raise ValueError(f"out ({str(out)!r}) has no recorded runs. Run `dpproof benchmark` first.")
    found = list(repeated(record, known, share, seed))
    wrong = [f"{cell.arm} on {cell.problem} at epsilon {cell.epsilon:g}, run {number}" for cell, number, same in found
             if not same]  # fmt: skip
    words = f"{len(found) - len(wrong)} of {len(found)} runs gave the same bits again."
    answer = {"experiment": "benchmark", "repeated": len(found), "differ": wrong}

    def told(console: Console) -> None:
        for line in (words, *(f"Other bits: {one}." for one in wrong)):
            console.print(line, markup=False, soft_wrap=True)

    show.answer(envelope(answer), json, told)
    if wrong:
        raise Exit(1)
