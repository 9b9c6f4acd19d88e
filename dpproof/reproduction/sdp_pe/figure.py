"""``dpproof reproduce sdp-pe``: all arms, their tables and plots, and the page on what they show."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpproof.executors import executor_for
from dpproof.reproduction.sdp_pe.arms import HORIZON, STATES, Size, arms
from dpproof.reproduction.sdp_pe.page import page
from dpproof.reproduction.sdp_pe.plots import write_figures
from dpproof.reproduction.sdp_pe.runs import run_arms
from dpproof.reproduction.sdp_pe.tables import rows, stage_rows, write_curves
from dpproof.reproduction.tables import write_rows
from mechanisms.environments.river_swim import river_swim

__all__ = ["FULL", "QUICK", "run"]

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
    text = page(size, seed, never, table, stages, files)
    (folder / "sdp_pe.md").write_text(text, encoding="utf-8")
    return {
        "experiment": "sdp-pe",
        "episodes": size.episodes,
        "seeds": size.seeds,
        "seed": seed,
        "never_learning": never,
        "rows": table,
        "stages": stages,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }
