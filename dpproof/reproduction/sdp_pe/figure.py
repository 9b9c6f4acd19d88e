"""``dpproof reproduce sdp-pe``: all arms, their tables and plots, and the page on what they show."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpproof.executors import executor_for
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.sdp_pe.arms import HORIZON, STATES, Size, arms
from dpproof.reproduction.sdp_pe.first_lines import first_lines, on_river_swim
from dpproof.reproduction.sdp_pe.page import page
from dpproof.reproduction.sdp_pe.plots import write_figures
from dpproof.reproduction.sdp_pe.runs import run_arms
from dpproof.reproduction.sdp_pe.tables import rows, stage_rows, write_curves
from dpproof.reproduction.tables import write_rows

__all__ = ["FULL", "QUICK", "page_again", "run"]

FULL: Final = Size(episodes=20_000, seeds=20, epsilons=(0.1, 0.3, 1.0, 3.0, 10.0))
QUICK: Final = Size(episodes=20_000, seeds=2, epsilons=(0.1, 1.0))


def run(
    folder: Path, quick: bool, seed: int, size: Size | None = None, workers: int | None = None
) -> Mapping[str, Any]:
    """Run the experiments; write the page `sdp_pe.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size, `workers` for the number of processes.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    environment = river_swim(STATES, HORIZON)
    never = float(environment.optimal_values()[0, environment.start]) * size.episodes
    chosen = list(arms(size))
    with executor_for(workers or os.cpu_count() or 1) as executor:
        found = run_arms(chosen, size.seeds, seed, executor)
    table, stages = rows(chosen, found), stage_rows(chosen, found)
    beside = folder / "sdp_pe"
    beside.mkdir(parents=True, exist_ok=True)
    write_rows(beside / "regret.csv", table)
    write_rows(beside / "stages.csv", stages)
    write_curves(beside / "curves.csv", chosen, found, size.episodes)
    files = write_figures(beside, chosen, found, table, never)
    write_run(beside, size, seed, never=never, plots=[file.name for file in files])
    (folder / "sdp_pe.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "sdp-pe",
        "episodes": size.episodes,
        "seeds": size.seeds,
        "seed": seed,
        "never_learning": never,
        "first_lines": first_lines(never, on_river_swim(table)),
        "rows": table,
        "stages": stages,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "sdp_pe"
    held = read_run(beside, Size)
    table, stages = read_rows(beside / "regret.csv"), read_rows(beside / "stages.csv")
    files = [beside / name for name in held.more["plots"]]
    return page(held.size, held.seed, held.more["never"], table, stages, files)
