"""``dpproof reproduce expert``: the runs, their tables and plots, and the page."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpproof.executors import executor_for
from dpproof.reproduction.expert.first_lines import first_lines
from dpproof.reproduction.expert.page import page
from dpproof.reproduction.expert.settings import FULL, QUICK, Size
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.tables import write_rows

__all__ = ["check_installed", "missing", "page_again", "run"]

EXTRA = "pip install 'dpproof[offline-rl]'"


def missing() -> list[str]:
    """What the experiment needs and is not installed."""
    return [name for name in ("torch", "gymnasium") if find_spec(name) is None]


def check_installed() -> None:
    """Refuse to begin without what the experiment needs.

    Raises:
        ValueError: saying what to install.
    """
    if missing():
        raise ValueError(f"the experiment expert needs {' and '.join(missing())}: {EXTRA}")


def run(
    folder: Path, quick: bool, seed: int, size: Size | None = None, workers: int | None = None
) -> Mapping[str, Any]:
    """Run the experiment; write `expert.md`, and tables and plots into a folder beside it.

    LunarLander is left out, and the page says so, where Box2D is not installed. `size` stands for the full or
    the quick size; `workers` is how many problems are run at once.
    Interrupted and begun again in the same folder, it goes on with the problems that were not finished.
    """
    check_installed()
    from dpproof.mechanisms.environments.lunar_lander import has_box2d
    from dpproof.reproduction.expert.plots import write_figures
    from dpproof.reproduction.expert.runs import run_problems

    size = size or (QUICK if quick else FULL)
    skipped = [] if has_box2d() else [name for name in size.problems if name == "lunarlander"]
    size = replace(size, problems=tuple(name for name in size.problems if name not in skipped))
    begin = time.perf_counter()
    with executor_for(workers or min(os.cpu_count() or 1, len(size.problems))) as executor:
        returns, releases, experts = run_problems(size, seed, executor, folder / "expert" / "parts")
    beside = folder / "expert"
    beside.mkdir(parents=True, exist_ok=True)
    for name, table in (("returns", returns), ("releases", releases), ("experts", experts)):
        write_rows(beside / f"{name}.csv", table)
    files = write_figures(beside, returns, releases, experts)
    write_run(beside, size, seed, skipped=skipped, plots=[file.name for file in files])
    (folder / "expert.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "expert",
        "experts": size.experts,
        "runs": size.runs,
        "seed": seed,
        "skipped": skipped,
        "first_lines": first_lines(returns, size.runs),
        "rows": returns,
        "releases": releases,
        "logged": experts,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "expert"
    held = read_run(beside, Size)
    returns, releases, experts = (
        read_rows(beside / f"{name}.csv") for name in ("returns", "releases", "experts")
    )
    files = [beside / name for name in held.more["plots"]]
    return page(held.size, held.seed, returns, releases, experts, held.more["skipped"], files)
