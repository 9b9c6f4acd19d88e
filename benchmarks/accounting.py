"""The accountant beside its peers, every cell in a process of its own.

``python -m benchmarks.accounting`` prints the section of docs/benchmarks.md. Two of the peers are asked in another
Python, whose path is in ``ACCOUNTING_PEERS``. It needs jax-privacy==2.0.0 and PLD_accounting[performance]==2.0. Without
it, their cells say so.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from benchmarks.accounting_tasks import TASKS
from benchmarks.timing import measured

TIME_LIMIT = 400
VERSIONS = ("dp-accounting", "prv-accountant", "opacus")
ELSEWHERE = {"jax_privacy": "jax_privacy", "PLD_accounting": "PLD_accounting"}
"""Library -> distribution of the peers that are asked in another interpreter."""
PEERS = os.environ.get("ACCOUNTING_PEERS", "")
ABOUT = """`python -m benchmarks.accounting`, every cell in a process of its own: the bounds on epsilon (at delta = \
1e-6, rate .01 and noise 1 where the task does not say otherwise), the seconds of the first answer (imports included) \
and the median of three more, and the process's largest resident memory. A first answer above 20 s is not repeated. \
A bound that a library does not give is `none`. Against {versions}.

jax_privacy computes no losses itself: `DpsgdTrainingAccountant.compute_epsilon` asks dp-accounting's PLD and returns \
its number. Its row measures this entry point. PLD_accounting samples one Gaussian, and dp-accounting composes the \
answer. The row with rate 4.08e-5 has the size of the training of a foundation model (a batch of 518,000 out of \
1.27e10 sequences); its parameters are chosen here. Load of the machine (mean number of running processes, 2 cores): \
{before:.1f} at the start, {after:.1f} at the end. Other work shares the machine, so that only ratios matter. {when}"""


def peers_said(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the other interpreter, where JAX sees the processor only."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [PEERS, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, check=False, env=environment
    )


def versions() -> str:
    """Return the names of the peers with their versions."""
    found = [f"{name} {version(name)}" for name in VERSIONS]
    for library, distribution in ELSEWHERE.items() if PEERS else ():
        asked = f"from importlib.metadata import version; print(version({distribution!r}))"
        found.append(f"{library} {peers_said('-c', asked).stdout.strip()}")
    return ", ".join(found)


def cell(task: str, library: str) -> dict[str, Any]:
    """What one library gave, or why it gave nothing."""
    command = ["-m", "benchmarks.accounting_tasks", task, library]
    if library in ELSEWHERE and not PEERS:
        return {"refused": "not asked; ACCOUNTING_PEERS names no interpreter"}
    try:
        done = peers_said(*command) if library in ELSEWHERE else _here(*command)
    except subprocess.TimeoutExpired:
        return {"refused": f"no answer within {TIME_LIMIT} s"}
    if done.returncode:
        return {"refused": done.stderr.strip().splitlines()[-1][:90]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _here(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, check=False
    )


def rows() -> Iterator[dict[str, Any]]:
    """Yield one row for each task and library."""
    for task, made in TASKS.items():
        for library in made:
            yield {"task": task, "library": library, **cell(task, library)}


def section() -> list[str]:
    """Return the section of the page as Markdown."""
    before = os.getloadavg()[0]
    lines = ["| task | library | lower | upper | first s | s | MiB |", "|---|---|---|---|---|---|---|"]
    for row in rows():
        if "refused" in row:
            lines.append(f"| {row['task']} | {row['library']} | no answer: {row['refused']} | | | | |")
        else:
            ends = " | ".join(_shown(row[end]) for end in ("lower", "upper"))
            figures = f"{row['first']:.3f} | {row['seconds']:.4f} | {row['memory']:.0f}"
            lines.append(f"| {row['task']} | {row['library']} | {ends} | {figures} |")
        print(lines[-1], file=sys.stderr, flush=True)
    after = os.getloadavg()[0]
    about = ABOUT.format(versions=versions(), before=before, after=after, when=measured())
    return ["## The accountant beside its peers", "", about, "", *lines]


def _shown(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.12g}" if math.isfinite(value) else str(value)


if __name__ == "__main__":
    print("\n".join(section()))
