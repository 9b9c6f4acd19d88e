"""The runs of the benchmark: which there are, how each is made from its own seed, and where they are recorded.

A cell is an arm on a problem at an epsilon. Run i of every cell of a problem has the same seed, so arms are compared on
the same users. Recorded runs are not made again, so interrupted work goes on where it stopped.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpproof.mechanisms.agents.learner import Floats
from dpproof.reproduction.suite.arms import ARMS, EPSILONS, Arm, arm_of
from dpproof.reproduction.suite.learners import Ready
from dpproof.reproduction.suite.problems import PROBLEMS, Problem
from dpproof.version import __version__

ROOT: Final = 20261128
"""The root of all seeds of the recorded benchmark."""
POINTS: Final = 10
"""Number of points at which the cumulative regret of a run is recorded."""
_BLOCK: Final = 10
"""Number of runs of a task."""


@dataclass(frozen=True)
class Cell:
    """An arm on a problem at a promised epsilon, which is infinite without privacy."""

    problem: str
    arm: str
    epsilon: float

    def ready(self) -> Ready:
        """Return the arm, ready to run. The calibrated noise is kept for further calls."""
        return _ready(self)

    def run(self, number: int, root: int = ROOT) -> Floats:
        """Return the cumulative regret of a run at `POINTS` points, as 32-bit floating-point numbers."""
        regret = self.ready().play(seed_of(self.problem, number, root)).cumsum()
        places = np.linspace(0, len(regret), POINTS + 1).astype(np.int64)[1:] - 1
        return regret[places].astype(np.float32).astype(np.float64)


@lru_cache(maxsize=64)
def _ready(cell: Cell) -> Ready:
    return arm_of(cell.arm).make(PROBLEMS[cell.problem], cell.epsilon)


def seed_of(problem: str, number: int, root: int = ROOT) -> np.random.SeedSequence:
    """Return the seed of a run, which is the same for every arm and epsilon.

    >>> seed_of("chain", 3).spawn_key == seed_of("chain", 3).spawn_key != seed_of("queue", 3).spawn_key
    True
    """
    return np.random.SeedSequence(root, spawn_key=(zlib.crc32(problem.encode()), number))


def cells(
    problems: Iterable[Problem], arms: Iterable[Arm], epsilons: Sequence[float] = EPSILONS
) -> Iterator[Cell]:
    """Yield the cells of all arms that run on these problems."""
    chosen = tuple(arms)
    for problem in problems:
        for arm in chosen:
            if arm.fits(problem):
                for epsilon in arm.epsilons(epsilons):
                    yield Cell(problem.name, arm.name, epsilon)


Row = Mapping[str, Any]
_Promised = tuple[float | None, float | None]


class Record:
    """Recorded runs, one Parquet file for each problem.

    A row has the arm, the promised epsilon, the number of the run, the cumulative regret at `POINTS` points
    (``regret_1`` is after a tenth of the episodes), the certified epsilon at delta, and the version of this project.

    Args:
        folder: the folder of the files. It is made if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows: dict[str, dict[tuple[str, float, int], Row]] = {}

    def rows(self, problem: str) -> dict[tuple[str, float, int], Row]:
        """Return the recorded runs of a problem, by arm, epsilon and number."""
        if problem not in self._rows:
            found = _read(self._file(problem))
            self._rows[problem] = {(row["arm"], row["epsilon"], row["run"]): row for row in found}
        return self._rows[problem]

    def cells(self) -> Iterator[Cell]:
        """Yield the cells that have recorded runs: known arms in their order, then other people's learners."""
        for problem in PROBLEMS:
            known = {(arm, epsilon) for arm, epsilon, _ in self.rows(problem)}
            order = [name for name in ARMS if name in {arm for arm, _ in known}]
            for arm in [*order, *sorted({arm for arm, _ in known} - set(ARMS))]:
                yield from (Cell(problem, arm, epsilon) for name, epsilon in sorted(known) if name == arm)

    def missing(self, cell: Cell, runs: int) -> list[int]:
        """Return the numbers of the first runs of a cell that are not recorded."""
        known = self.rows(cell.problem)
        return [number for number in range(runs) if (cell.arm, cell.epsilon, number) not in known]

    def regrets(self, cell: Cell) -> Floats:
        """Return the recorded cumulative regrets of a cell, an array (runs, points), in the order of the runs."""
        known = self.rows(cell.problem)
        found = sorted(
            row["run"] for (arm, e, _), row in known.items() if (arm, e) == (cell.arm, cell.epsilon)
        )
        rows = [_points(known[cell.arm, cell.epsilon, number]) for number in found]
        return np.array(rows).reshape(len(rows), POINTS)

    def add(self, cell: Cell, number: int, regret: Floats, promised: _Promised) -> None:
        """Note a run, and the certified epsilon and the delta of its cell. `write` puts it on disk."""
        points = {f"regret_{i}": float(x) for i, x in enumerate(regret, 1)}
        more = {"certified": promised[0], "delta": promised[1], "version": __version__}
        row = {"arm": cell.arm, "epsilon": cell.epsilon, "run": number, **points, **more}
        self.rows(cell.problem)[cell.arm, cell.epsilon, number] = row

    def promised(self, cell: Cell) -> _Promised:
        """Return the recorded certified epsilon of a cell, and its delta."""
        known = self.rows(cell.problem)
        row = next(row for (arm, e, _), row in known.items() if (arm, e) == (cell.arm, cell.epsilon))
        return row["certified"], row["delta"]

    def write(self, problem: str) -> None:
        """Write the runs of a problem into its file, which is replaced at once or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = self.rows(problem)
        _write(self._file(problem), [rows[key] for key in sorted(rows)])

    def _file(self, problem: str) -> Path:
        return self.folder / f"{problem}.parquet"


def _points(row: Row) -> list[float]:
    return [row[f"regret_{i}"] for i in range(1, POINTS + 1)]


def _read(file: Path) -> list[Row]:
    if not file.is_file():
        return []
    found: list[Row] = _parquet().read_table(file).to_pylist()
    return found


def _write(file: Path, rows: Sequence[Row]) -> None:
    import pyarrow

    fields = [(name, pyarrow.string()) for name in ("arm", "version")]
    kinds = dict(fields) | {"run": pyarrow.int32()}
    kinds |= dict.fromkeys(("epsilon", "certified", "delta"), pyarrow.float64())
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float32())) for name in rows[0]])
    unready = file.with_suffix(".part")
    _parquet().write_table(pyarrow.Table.from_pylist(rows, schema), unready, compression="zstd")
    unready.replace(file)


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError(
            "the benchmark records its runs as Parquet, which needs pyarrow. Run: pip install 'dpproof[interop]'"
        ) from error
    return pyarrow.parquet


_PAUSE: Final = 30
"""Finished runs are written after so many seconds, and at the end."""


def make_missing(
    record: Record, chosen: Iterable[Cell], runs: int | None, executor: Executor | None
) -> Iterator[int]:
    """Make all runs that are not recorded, and yield the number of finished runs after each task.

    Args:
        record: the recorded runs, which grow.
        chosen: the cells to run.
        runs: the number of runs of each cell; None for the number that its problem states.
        executor: what runs the tasks; this process if it is None.
    """
    tasks = [
        (cell, tuple(wanted[i : i + _BLOCK]))
        for cell in chosen
        for wanted in [record.missing(cell, runs or PROBLEMS[cell.problem].runs)]
        for i in range(0, len(wanted), _BLOCK)
    ]
    done, written, changed = 0, time.monotonic(), set[str]()
    try:
        for cell, numbers, (promised, found) in _results(tasks, executor):
            for number, regret in zip(numbers, found, strict=True):
                record.add(cell, number, regret, promised)
            changed.add(cell.problem)
            done += len(numbers)
            if time.monotonic() - written > _PAUSE:
                _write_all(record, changed)
                written = time.monotonic()
            yield done
    finally:
        _write_all(record, changed)


def _write_all(record: Record, changed: set[str]) -> None:
    for problem in sorted(changed):
        record.write(problem)
    changed.clear()


_Task = tuple[Cell, tuple[int, ...]]
_Found = tuple[_Promised, list[Floats]]


def _results(
    tasks: Sequence[_Task], executor: Executor | None
) -> Iterator[tuple[Cell, tuple[int, ...], _Found]]:
    if executor is None:
        yield from ((*task, _run_block(task)) for task in tasks)
        return
    waiting = {executor.submit(_run_block, task): task for task in tasks}
    for future in as_completed(waiting):
        yield (*waiting.pop(future), future.result())


def _run_block(task: _Task) -> _Found:
    cell, numbers = task
    ready = cell.ready()
    return (ready.certified, ready.delta), [cell.run(number) for number in numbers]


def repeated(
    record: Record, problems: Iterable[str], share: float, seed: int
) -> Iterator[tuple[Cell, int, bool]]:
    """Draw a share of the recorded runs at random, make them again, and yield whether each gave the same bits.

    Args:
        record: the recorded runs.
        problems: the problems of the runs.
        share: the share, in (0, 1]. At least one run of each problem is drawn.
        seed: the seed of the draw.
    """
    rng = np.random.default_rng(seed)
    for problem in problems:
        rows = record.rows(problem)
        keys = sorted(rows)
        for place in sorted(rng.choice(len(keys), max(1, round(share * len(keys))), replace=False)):
            arm, epsilon, number = keys[place]
            cell = Cell(problem, arm, epsilon)
            yield cell, number, bool((cell.run(number) == _points(rows[keys[place]])).all())
