"""An experiment that compares some learners of the benchmark, for the page of one paper."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from dpproof.audits.engine.sampling.progress import watcher
from dpproof.executors import executor_for
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.first_lines import listed
from dpproof.reproduction.pages import Plots, markdown, write_plots
from dpproof.reproduction.suite import benchmark
from dpproof.reproduction.suite.arms import Arm
from dpproof.reproduction.suite.learners import DELTA
from dpproof.reproduction.suite.runs import ROOT
from dpproof.reproduction.suite.summary import Score, Table
from dpproof.reproduction.tables import Table as Rows

_REGRETS: Final = Path(__file__).with_name("regrets.md.j2")
"""The template of the table of regrets."""


@dataclass(frozen=True)
class Size:
    """The settings that say how much is run.

    Attributes:
        epsilons: the promised epsilons.
        runs: the number of runs of a learner at an epsilon; None for the number that its problem states.
        problems: the problems; empty for all of them.
    """

    epsilons: tuple[float, ...]
    runs: int | None
    problems: tuple[str, ...] = ()

    @property
    def suite(self) -> benchmark.Size:
        """The same size, as the benchmark states it."""
        return benchmark.Size(self.epsilons, self.runs, large=True)


class SuiteStudy(Study[Size]):
    """An experiment that shows some learners of the benchmark. Its runs are recorded with those of the benchmark."""

    tables = ()
    full = Size(benchmark.FULL.epsilons, benchmark.FULL.runs)
    learners: ClassVar[Sequence[Arm]]
    """The learners that the page shows."""
    plot_size: ClassVar[tuple[float, float]] = (10, 5)
    """Width and height of a plot, in inches."""

    @abc.abstractmethod
    def plots(self, table: Table) -> Plots:
        """Return the plots of the page."""

    @abc.abstractmethod
    def sentences(self, table: Table) -> list[str]:
        """Return sentences on what the numbers show, and on what they cannot show."""

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Return the scores, after the runs that are not recorded yet. Write the plots into the folder.

        Raises:
            ValueError: the seed is not 0. The runs of the benchmark have seeds of their own.
        """
        if seed:
            raise ValueError(
                f"seed ({seed}) must be 0 for {self.paper}: its runs are those of `dpproof benchmark`, which have "
                "fixed seeds"
            )
        told = watcher() or (lambda _done, _total: None)
        wanted = benchmark.chosen(size.problems, [arm.name for arm in self.learners], size.suite)
        with executor_for(workers) as executor:
            benchmark.run(folder.parent, wanted, size.suite, executor, told)
        return self._drawn(size, folder, benchmark.recorded(folder.parent))

    def recorded(self, folder: Path) -> Measured[Size]:
        """Return the recorded scores of the learners that the page shows."""
        return replace(super().recorded(folder), tables=self._rows(benchmark.recorded(folder)))

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on what the numbers show, and on what they cannot show."""
        table = _table(found)
        return [*self._missing(found.size, table), *self.sentences(table)]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""
        return {"first_lines": first, "rows": [one.as_json() for one in _table(found).scores]}

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """Return the values that the template of the page shows, by name. The table of regrets is Markdown text."""
        table = _table(found)
        columns = [*table.epsilons, math.inf]
        lines = list(self._lines(table, columns))
        return {"delta": DELTA, "regrets": markdown(_REGRETS, columns=columns, lines=lines, inf=math.inf)}

    def redraw(self, folder: Path) -> None:
        """Draw the plots again, from the recorded runs beside the page in a folder."""
        beside = folder / self._name
        beside.mkdir(exist_ok=True)
        replace(self._drawn(self.full, beside, benchmark.recorded(folder)), tables={}).write(beside)

    def _missing(self, size: Size, table: Table) -> Iterator[str]:
        """Yield how many cells of the page are not recorded."""
        names = [arm.name for arm in self.learners]
        wanted, known = benchmark.chosen(size.problems, names, size.suite), {one.cell for one in table.scores}
        if missing := sum(cell not in known for cell in wanted):
            yield (
                f"This page is not finished: {missing} of {len(wanted)} cells (a learner on a problem at an epsilon) "
                "are not recorded yet."
            )

    def _drawn(self, size: Size, folder: Path, table: Table) -> Measured[Size]:
        """Draw the plots into a folder, and return the results."""
        found = Measured(size, ROOT, self._rows(table), ())
        return replace(found, plots=write_plots(folder, self.plots(_table(found)), self.plot_size))

    def _rows(self, table: Table) -> Mapping[str, Rows]:
        """Return the scores of the shown learners, as rows."""
        names = {arm.name for arm in self.learners}
        return {"scores": [asdict(one) for one in table.scores if one.arm in names]}

    def _lines(self, table: Table, columns: Sequence[float]) -> Iterator[dict[str, Any]]:
        """Yield a row of the table of regrets for each problem and learner. A row has the score at each epsilon."""
        for problem in table.problems:
            for arm in self.learners:
                found = [table.one(problem.name, arm.name, epsilon) for epsilon in columns]
                if any(found):
                    runs = sorted({one.runs for one in found if one})
                    yield {
                        "problem": problem.name, "arm": arm, "scores": found, "runs": listed(runs),
                    }  # fmt: skip


def _table(found: Measured[Size]) -> Table:
    return Table(tuple(Score(**row) for row in found.tables["scores"]))
