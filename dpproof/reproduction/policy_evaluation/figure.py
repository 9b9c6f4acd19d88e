"""``dpproof reproduce policy-evaluation``: the runs, their tables and plots, and the page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpproof.reproduction.policy_evaluation.first_lines import first_lines
from dpproof.reproduction.policy_evaluation.kinds import EPSILON, Size
from dpproof.reproduction.policy_evaluation.page import page
from dpproof.reproduction.policy_evaluation.plots import write_figures
from dpproof.reproduction.policy_evaluation.runs import needed, other_noise, rows
from dpproof.reproduction.policy_evaluation.small import small_data
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.tables import write_rows

__all__ = ["FULL", "QUICK", "page_again", "run"]

_GRID = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
FULL: Final = Size((*_GRID, 300_000, 1_000_000), (10_000, 100_000), 20)
QUICK: Final = Size(_GRID[::2], (10_000, 100_000), 3, (1000, 10_000, 100_000), 10)
ERROR: Final = 0.1
_TABLES: Final = ("batches", "ridge", "small", "needed", "alternatives")


def run(folder: Path, quick: bool, seed: int, size: Size | None = None) -> Mapping[str, Any]:
    """Run the experiment; write `policy_evaluation.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    table, swept = rows(size, seed)
    small = small_data(size, seed)
    wanted, others = needed(ERROR), other_noise(size.swept[-1])
    beside = folder / "policy_evaluation"
    beside.mkdir(parents=True, exist_ok=True)
    for name, held in zip(_TABLES, (table, swept, small, wanted, others), strict=True):
        write_rows(beside / f"{name}.csv", held, digits=9)
    files = write_figures(beside, table, swept)
    write_run(beside, size, seed, error=ERROR, plots=[file.name for file in files])
    (folder / "policy_evaluation.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "policy-evaluation",
        "epsilon": float(EPSILON),
        "runs": size.runs,
        "seed": seed,
        "first_lines": first_lines(table, swept, small, size.runs),
        "rows": table,
        "ridge": swept,
        "small": small,
        "needed": wanted,
        "alternatives": others,
        "error": ERROR,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "policy_evaluation"
    held = read_run(beside, Size)
    tables = [read_rows(beside / f"{name}.csv", text=("delta",)) for name in _TABLES]
    table, swept, small, wanted, others = tables
    files = [beside / name for name in held.more["plots"]]
    return page(held.size, held.seed, table, swept, small, wanted, others, held.more["error"], files)
