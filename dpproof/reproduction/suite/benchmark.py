"""The benchmark as a whole: its sizes, and the folder in which its runs, scores, plots and page are recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpproof.accountant.claims.spelling import one_of
from dpproof.reproduction.pages import write_plots
from dpproof.reproduction.suite import frontier
from dpproof.reproduction.suite.arms import ARMS, EPSILONS, Arm, arm_of
from dpproof.reproduction.suite.problems import PROBLEMS, Problem
from dpproof.reproduction.suite.runs import Cell, Record, cells, make_missing
from dpproof.reproduction.suite.summary import Score, Table, read_scores, score, write_scores

NAME: Final = "frontier"
"""The name of the page, and of the folder beside it."""
SCORES: Final = Path(__file__).with_name("scores.csv")
"""The scores that this package is published with."""


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        epsilons: the promised epsilons.
        runs: the number of runs of each cell; None for the number that its problem states.
        large: whether large problems are run, too.
    """

    epsilons: tuple[float, ...]
    runs: int | None
    large: bool


FULL: Final = Size(EPSILONS, None, large=True)
QUICK: Final = Size((1.0, 10.0), 4, large=False)


def chosen(problems: Collection[str], arms: Collection[str], size: Size) -> list[Cell]:
    """Return the cells of some problems and arms. An empty collection means all of them.

    Raises:
        ValueError: there is no problem or arm of a name.
    """
    for name in problems:
        if name not in PROBLEMS:
            raise ValueError(f"problem ({name!r}) {one_of(name, PROBLEMS)}")
    some: list[Problem] = [one for name, one in PROBLEMS.items() if name in problems or not problems]
    who: list[Arm] = [arm_of(name) for name in (arms or ARMS)]
    return list(cells([one for one in some if size.large or not one.large], who, size.epsilons))


def record_of(folder: Path) -> Record:
    """Return the recorded runs of the page in a folder."""
    return Record(folder / NAME)


def run(
    folder: Path,
    wanted: Sequence[Cell],
    size: Size,
    executor: Executor | None,
    told: Callable[[int, int], object],
) -> Table:
    """Make the runs that are not recorded, and write the scores, the plots and the page.

    Args:
        folder: the folder of the page. Runs, scores and plots are in a folder beside the page.
        wanted: the cells to run.
        size: how much is run.
        executor: what runs the tasks; this process if it is None.
        told: a function that is called with the number of finished runs and the number of runs to make.
    """
    record = record_of(folder)
    total = sum(len(record.missing(cell, size.runs or PROBLEMS[cell.problem].runs)) for cell in wanted)
    for done in make_missing(record, wanted, size.runs, executor):
        told(done, total)
    return write(folder)


def write(folder: Path, scores: Path | None = None) -> Table:
    """Write scores, plots and page from the recorded runs, and return the scores.

    Args:
        folder: the folder of the page.
        scores: the file of the scores; None for a file beside the page.

    Raises:
        ValueError: no run is recorded.
    """
    record, beside = record_of(folder), folder / NAME
    found = [one for cell in record.cells() for one in [score(record, cell)] if one is not None]
    if not found:
        raise ValueError(f"out ({str(folder)!r}) has no recorded runs. Run `dpproof benchmark` first.")
    write_scores(scores or beside / SCORES.name, found)
    table = _placed(folder)
    write_plots(beside, frontier.plots(table), (8, 4))
    (folder / f"{NAME}.md").write_text(page(folder), encoding="utf-8")
    return table


def recorded(folder: Path) -> Table:
    """Return the scores beside the page in a folder, or the published ones if there are none."""
    return Table(tuple(_own(folder) or _published()))


def page(folder: Path) -> str:
    """Return the text of the page in a folder: its own scores among those that this package is published with."""
    return frontier.page(_placed(folder), NAME)


def _placed(folder: Path) -> Table:
    """Return the scores in a folder among those that this package is published with."""
    own = {one.cell: one for one in _own(folder)}
    others = {one.cell: one for one in _published() if one.cell not in own}
    return Table(tuple((others | own).values()), len(others) if own else 0)


def _own(folder: Path) -> list[Score]:
    beside = folder / NAME / SCORES.name
    return read_scores(beside) if beside.is_file() else []


def _published() -> list[Score]:
    return read_scores(SCORES) if SCORES.is_file() else []
