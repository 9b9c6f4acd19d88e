"""The accountant beside its peers, every cell in a process of its own."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.metadata import version
from typing import Any

from benchmarks.accounting_tasks import TASKS

TIME_LIMIT = 120
VERSIONS = ("dp-accounting", "prv-accountant", "opacus")
ABOUT = (
    "`python -m benchmarks.accounting`, every cell in a process of its own: the ends of epsilon (at delta = "
    "1e-6, rate .01 and noise 1 where the task does not say otherwise), the seconds of the first answer "
    "(imports included) and the median of three more, and the process's largest resident memory. Against "
    + ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    + ". An end that a library does not give is `none`."
)


def cell(task: str, library: str) -> dict[str, Any]:
    """What one library gave, or why it gave nothing."""
    command = [sys.executable, "-m", "benchmarks.accounting_tasks", task, library]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"refused": f"no answer within {TIME_LIMIT} s"}
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1][:90]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows() -> list[dict[str, Any]]:
    """One row for each task and library, the fastest run's figures."""
    return [{"task": t, "library": lib, **cell(t, lib)} for t, made in TASKS.items() for lib in made]


def table() -> list[str]:
    """The rows as Markdown."""
    lines = ["| task | library | lower | upper | first s | s | MiB |", "|---|---|---|---|---|---|---|"]
    for row in rows():
        if "refused" in row:
            lines.append(f"| {row['task']} | {row['library']} | no answer: {row['refused']} | | | | |")
        else:
            ends = " | ".join(_shown(row[end]) for end in ("lower", "upper"))
            figures = f"{row['first']:.3f} | {row['seconds']:.4f} | {row['memory']:.0f}"
            lines.append(f"| {row['task']} | {row['library']} | {ends} | {figures} |")
    return lines


def _shown(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.12g}" if math.isfinite(value) else str(value)


if __name__ == "__main__":
    print("\n".join(table()))
