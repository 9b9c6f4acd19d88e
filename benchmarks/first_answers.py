"""How long the first answer takes, as whole processes, beside dp-accounting: ``python -m benchmarks.first_answers``.

Every task runs once uncounted, so that files and bytecode are in the caches. Then dpproof and the script take
turns, so that other work on the machine meets both.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.timing import measured

TIMES = 15
DPPROOF = str(Path(sys.executable).with_name("dpproof"))
PLD = (
    "from dp_accounting import GaussianDpEvent as G, PoissonSampledDpEvent as P\n"
    "from dp_accounting.pld import PLDAccountant\n"
    "print(PLDAccountant().compose({made}).get_epsilon(1e-6))"
)


@dataclass(frozen=True)
class Task:
    """A command of dpproof, the seconds it should stay below, and a script that computes the same epsilon."""

    name: str
    command: tuple[str, ...]
    target: float | None
    script: str | None = None


def _python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def _account(*flags: str) -> tuple[str, ...]:
    return (DPPROOF, "account", *flags, "--delta", "1e-6")


DP_SGD = ("dp-sgd", "--sampling-rate", ".01", "--noise-multiplier", "1", "--steps", "1000")
TASKS = (
    Task("python starting and stopping", _python("pass"), None),
    Task("import dpproof", _python("import dpproof"), 0.05),
    Task("from dpproof import account", _python("from dpproof import account"), 0.2),
    Task("dpproof --help", (DPPROOF, "--help"), 0.2),
    Task(
        "account gaussian",
        _account("gaussian", "--sigma", "5"),
        0.25,
        PLD.format(made="G(5.0)"),
    ),
    Task(
        "account dp-sgd, 1,000 steps",
        _account(*DP_SGD, "--adjacency", "add-remove"),
        0.3,
        PLD.format(made="P(0.01, G(1.0)), 1000"),
    ),
)


def seconds(command: Sequence[str]) -> tuple[float, float]:
    """Wall-clock and processor seconds of one process, from its start to its end.

    Raises:
        RuntimeError: the process failed.
    """
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        begin = time.perf_counter()
        said = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), end) for end in (1, 2)]
        child = os.posix_spawn(command[0], list(command), os.environ, file_actions=said)
        _, status, used = os.wait4(child, 0)
        taken = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"command ({' '.join(command)}) must end with exit code 0: {status}")
    return taken, used.ru_utime + used.ru_stime


def row(task: Task) -> str:
    """Medians of a task and of the script, as a row in Markdown."""
    commands = [task.command, *([] if task.script is None else [_python(task.script)])]
    runs = [[seconds(command) for command in commands] for _ in range(TIMES + 1)][1:]
    (wall, used), *peer = (
        [statistics.median(ends) for ends in zip(*of, strict=True)] for of in zip(*runs, strict=True)
    )
    beside = f"{peer[0][0]:.3f} | {peer[0][1]:.3f} | {peer[0][1] / used:.1f}" if peer else " | | "
    return f"| {task.name} | {wall:.3f} | {used:.3f} | {'' if task.target is None else f'{task.target:g}'} | {beside} |"


def section() -> list[str]:
    """The section of the page."""
    return [
        "## The first answer",
        "",
        f"{measured()} `python -m benchmarks.first_answers`: whole processes with warm caches, medians of {TIMES}"
        f" runs, in turn with a script that asks dp-accounting {version('dp-accounting')} for the same epsilon"
        " (`PLDAccountant`, whose answer has no lower bound). Other work on the machine lengthens wall-clock"
        " seconds more than processor seconds; the ratio is of processor seconds. Before the first run"
        f" {os.getloadavg()[0]:.1f} processes wanted one of {os.cpu_count()} cores.",
        "",
        "| what | wall | processor | target | dp-accounting, wall | processor | ratio |",
        "|---|---|---|---|---|---|---|",
        *map(row, TASKS),
    ]


if __name__ == "__main__":
    print("\n".join(section()))
