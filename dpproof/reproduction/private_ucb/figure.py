"""``dpproof reproduce private-ucb``: all arms, their tables and plots, and the page on what they show."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.reproduction.private_ucb.arms import HORIZON, STATES, Arm, Size, arms
from dpproof.reproduction.private_ucb.first_lines import first_lines
from dpproof.reproduction.private_ucb.page import page
from dpproof.reproduction.private_ucb.plots import write_figures
from dpproof.reproduction.private_ucb.runs import run_arms
from dpproof.reproduction.private_ucb.tables import paying, rows, write_curves
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.tables import write_rows

__all__ = ["FULL", "QUICK", "page_again", "run"]

FULL: Final = Size(episodes=20_000, seeds=100, epsilons=(1.0, 10.0, 100.0, 1000.0))
QUICK: Final = Size(episodes=9_000, seeds=2, epsilons=(1.0, 100.0))


def run(folder: Path, quick: bool, seed: int, size: Size | None = None) -> Mapping[str, Any]:
    """Run the experiment; write the page `private_ucb.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    environment = river_swim(STATES, HORIZON)
    never = float(environment.optimal_values()[0, environment.start]) * size.episodes
    chosen: list[Arm] = list(arms(size))
    curves = run_arms(environment, chosen, size, seed, os.cpu_count() or 1)
    table = rows(chosen, curves, never, seed)
    beside = folder / "private_ucb"
    beside.mkdir(parents=True, exist_ok=True)
    write_rows(beside / "regret.csv", table)
    write_curves(beside / "curves.csv", chosen, curves, size.episodes)
    files = write_figures(beside, chosen, curves, size.episodes, never)
    plotted = f"{size.seeds} runs (root seed {seed}), or fewer where the tables say so"
    write_run(beside, size, seed, never=never, plotted=plotted, plots=[file.name for file in files])
    (folder / "private_ucb.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "private-ucb",
        "episodes": size.episodes,
        "seeds": size.seeds,
        "seed": seed,
        "never_learning": never,
        "first_lines": first_lines(never, table),
        "rows": table,
        "pays": paying(table, never),
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "private_ucb"
    held, table = read_run(beside, Size), read_rows(beside / "regret.csv")
    never, files = held.more["never"], [beside / name for name in held.more["plots"]]
    return page(held.size, never, table, paying(table, never), held.more["plotted"], files)
