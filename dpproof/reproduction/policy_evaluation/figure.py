"""``dpproof reproduce policy-evaluation``: the runs, their tables and plots, and the page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpproof.reproduction.policy_evaluation.kinds import EPSILON, Size
from dpproof.reproduction.policy_evaluation.page import page
from dpproof.reproduction.policy_evaluation.plots import write_figures
from dpproof.reproduction.policy_evaluation.runs import needed, other_noise, rows
from dpproof.reproduction.tables import write_rows

__all__ = ["FULL", "QUICK", "run"]

_GRID = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
FULL: Final = Size((*_GRID, 300_000, 1_000_000), (10_000, 100_000), 20)
QUICK: Final = Size(_GRID[::2], (10_000, 100_000), 3)
ERROR: Final = 0.1


def run(folder: Path, quick: bool, seed: int, size: Size | None = None) -> Mapping[str, Any]:
    """Run the experiment; write `policy_evaluation.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    table, swept = rows(size, seed)
    wanted, others = needed(ERROR), other_noise(size.swept[-1])
    beside = folder / "policy_evaluation"
    beside.mkdir(parents=True, exist_ok=True)
    for name, held in (("batches", table), ("ridge", swept), ("needed", wanted), ("alternatives", others)):
        write_rows(beside / f"{name}.csv", held, digits=9)
    files = write_figures(beside, table, swept)
    (folder / "policy_evaluation.md").write_text(
        page(size, seed, table, swept, wanted, others, ERROR, files), encoding="utf-8"
    )
    return {
        "experiment": "policy-evaluation",
        "epsilon": float(EPSILON),
        "runs": size.runs,
        "seed": seed,
        "rows": table,
        "ridge": swept,
        "needed": wanted,
        "alternatives": others,
        "error": ERROR,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }
