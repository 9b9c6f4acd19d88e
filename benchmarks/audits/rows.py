"""Rows of measurements in a JSON-lines file: kept when a campaign is interrupted, counted when it goes on."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from rich.progress import Progress

Row = dict[str, Any]
IDENTITY = ("engine", "peer", "case", "trial", "cost", "claim", "per_side", "seed")
"""What tells measurements apart, of all kinds of rows."""
AHEAD = 4
LOADED = """
import sys, dpproof.audits.engine.runner
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("dpproof.audits")))
"""


@functools.cache
def engine() -> str:
    """A hash of the code, without its comments, that `dpproof.audits.engine.runner` loads of `audits`.

    Rows of another engine do not count.
    """
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=root, capture_output=True, text=True, check=True
    )
    texts = (Path(file).read_text(encoding="utf-8") for file in sorted(set(listed.stdout.split())))
    return hashlib.sha256("\0".join(map(code, texts)).encode()).hexdigest()[:12]


def code(text: str) -> str:
    """The program without comments and strings that stand alone.

    >>> code("# why" + chr(10) + "x = 1  # because")
    'x = 1'
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(part: ast.stmt) -> bool:
    return (
        isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Constant)
        and isinstance(part.value.value, str)
    )


def read(path: Path, **wanted: Any) -> list[Row]:
    """The rows that have these values, each measurement once; a last line that was cut off is left out."""
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if all(row.get(key) == value for key, value in wanted.items()):
            rows[tuple(row.get(key) for key in IDENTITY)] = row
    return list(rows.values())


def collect(
    path: Path,
    work: Callable[..., list[Row]],
    tasks: Sequence[tuple[Any, ...]],
    executor: Executor,
    **labels: Any,
) -> None:
    """Do ``work(*task)`` for every task and append its rows, with the labels, as soon as they are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    left, running = list(reversed(tasks)), set[Future[list[Row]]]()
    with path.open("a", encoding="utf-8") as file, Progress() as progress:
        shown = progress.add_task(" ".join(map(str, labels.values())), total=len(tasks))
        try:
            while left or running:
                while left and len(running) < AHEAD:
                    running.add(executor.submit(work, *left.pop()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                append(file, (row for future in done for row in future.result()), labels)
                progress.advance(shown, len(done))
        finally:
            for future in running:
                future.cancel()


def append(file: Any, rows: Iterable[Row], labels: Row) -> None:
    """Write rows, each on a line of its own."""
    for row in rows:
        file.write(json.dumps({**labels, **row}) + "\n")
    file.flush()
