"""The experiment of RLSVI, which its paper leaves open: the arms of the benchmark that concern it, side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.audits.engine.sampling.progress import watcher
from dpproof.executors import executor_for
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.pages import write_plots
from dpproof.reproduction.rlsvi.judges import JUDGES
from dpproof.reproduction.suite import benchmark
from dpproof.reproduction.suite.arms import ARMS, Promise
from dpproof.reproduction.suite.frontier import COLOURS, draw_line, line_of
from dpproof.reproduction.suite.learners import DELTA
from dpproof.reproduction.suite.runs import ROOT
from dpproof.reproduction.suite.summary import SURE, Score, Table
from dpproof.reproduction.tables import Table as Rows

SHOWN: Final = tuple(
    arm
    for arm in ARMS.values()
    if arm.promise is Promise.REWARDS or arm.name in ("RLSVI, no noise", "UCB-VI")
)
"""The arms that the page shows: all whose guarantee protects rewards only, and two without privacy."""


@dataclass(frozen=True)
class Size:
    """The settings that say how much is run.

    Attributes:
        epsilons: the promised epsilons.
        runs: the number of runs of an arm at an epsilon; None for the number that its problem states.
        problems: the problems; empty for all of them.
    """

    epsilons: tuple[float, ...]
    runs: int | None
    problems: tuple[str, ...] = ()

    @property
    def suite(self) -> benchmark.Size:
        """The same size, as the benchmark states it."""
        return benchmark.Size(self.epsilons, self.runs, large=True)


class RLSVIStudy(Study[Size]):
    """The comparison of RLSVI with other private learners. Its runs are recorded with those of the benchmark."""

    paper = "rlsvi"
    tables = ()
    judges = JUDGES
    full = Size(benchmark.FULL.epsilons, benchmark.FULL.runs)
    quick = Size(benchmark.QUICK.epsilons, benchmark.QUICK.runs, ("river-swim-4", "bandit"))

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Make the runs that are not recorded, write the plot into the folder, and return the scores.

        Raises:
            ValueError: the seed is not 0. The runs of the benchmark have seeds of their own.
        """
        if seed:
            raise ValueError(
                f"seed ({seed}) must be 0 for rlsvi: its runs are those of `dpproof benchmark`, which have fixed seeds"
            )
        told = watcher() or (lambda _done, _total: None)
        wanted = benchmark.chosen(size.problems, [arm.name for arm in SHOWN], size.suite)
        with executor_for(workers) as executor:
            table = benchmark.run(folder.parent, wanted, size.suite, executor, told)
        return _drawn(size, folder, table)

    def recorded(self, folder: Path) -> Measured[Size]:
        """Return the recorded scores of the benchmark that concern RLSVI."""
        return replace(super().recorded(folder), tables=_tables(benchmark.recorded(folder)))

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on what the numbers show, and on what they cannot show."""
        return [
            "The paper has no experiment. This page compares RLSVI with other learners at equal certified epsilon.",
            "Its guarantee protects the rewards of a user, not the visited states. So RLSVI is compared with learners "
            "under the same relation, and not with those of the other pages, whose guarantee protects states, too.",
            *_behind(_suite(found)),
        ]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""
        return {"first_lines": first, "rows": [one.as_json() for one in _suite(found).scores]}

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """Return the values that the template of the experiment's page shows, by name."""
        table = _suite(found)
        columns = [*table.epsilons, math.inf]
        return {"delta": DELTA, "columns": columns, "inf": math.inf, "lines": list(_lines(table, columns))}


STUDY: Final = RLSVIStudy()


def _drawn(size: Size, folder: Path, table: Table) -> Measured[Size]:
    """Draw the plot into a folder, and return the results."""
    found = Measured(size, ROOT, _tables(table), ("regret.svg",))
    write_plots(folder, {"regret": partial(_draw, _suite(found))}, (10, 5))
    return found


def _tables(table: Table) -> Mapping[str, Rows]:
    """Return the scores of the shown arms, as rows."""
    names = {arm.name for arm in SHOWN}
    return {"scores": [asdict(one) for one in table.scores if one.arm in names]}


def _suite(found: Measured[Size]) -> Table:
    return Table(tuple(Score(**row) for row in found.tables["scores"]))


def _behind(table: Table) -> Iterator[str]:
    """Yield, for each epsilon, on how many problems RLSVI is clearly behind or ahead of the best other learner."""
    for epsilon in table.epsilons:
        pairs = [pair for problem in table.problems for pair in _pair(table, problem.name, epsilon)]
        behind = sum(other.clearly_below(own) for own, other in pairs)
        ahead = sum(own.clearly_below(other) for own, other in pairs)
        if pairs:
            yield (
                f"At a certified epsilon of {epsilon:g} another learner has less regret than RLSVI on {behind} of "
                f"{len(pairs)} problems, and RLSVI has less than all others on {ahead}. The other differences are "
                f"below {SURE:g} standard errors."
            )


def _pair(table: Table, problem: str, epsilon: float) -> Iterator[tuple[Score, Score]]:
    """Yield RLSVI and the best other learner with the same promise, if both were run."""
    own = table.one(problem, "RLSVI", epsilon)
    others = [one for one in table.leaders(problem, Promise.REWARDS, epsilon) if one.arm != "RLSVI"]
    if own is not None and others:
        yield own, others[0]


def _lines(table: Table, columns: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield a line of the table for each problem and arm: the scores at each epsilon."""
    for problem in table.problems:
        for arm in SHOWN:
            found = [table.one(problem.name, arm.name, epsilon) for epsilon in columns]
            if any(found):
                yield {"problem": problem.name, "arm": arm, "scores": found}


def _draw(table: Table, figure: Figure) -> None:
    """Draw a panel for each problem, and one legend below them."""
    rows = 1 if len(table.problems) < _WIDE else 2
    columns = max(1, -(-len(table.problems) // rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, problem in itertools.zip_longest(panels.flat, table.problems):
        if problem is None:
            axes.set_visible(False)
        else:
            _panel(axes, table, problem.name)
    for axes in panels[-1]:
        axes.set_xlabel("certified epsilon")
    for axes in panels[:, 0]:
        axes.set_ylabel("regret / without learning")
    legends = [axes.get_legend_handles_labels() for axes in figure.axes]
    lines = {label: line for legend in legends for line, label in zip(*legend, strict=True)}
    figure.legend(
        lines.values(), lines, frameon=False, fontsize=7, ncols=len(SHOWN) // 2, loc="outside lower center"
    )


_WIDE: Final = 4
"""From this number of panels on they are in two rows."""


def _panel(axes: Axes, table: Table, problem: str) -> None:
    """Draw the regret of each learner: a line against certified epsilon, or a dotted line without privacy."""
    for number, arm in enumerate(SHOWN):
        if arm.promise is not Promise.NONE:
            draw_line(axes, line_of(table, problem, arm), arm, number)
        for one in table.of(problem=problem, arm=arm.name, promise=Promise.NONE):
            axes.axhline(one.mean, color=COLOURS[number], linestyle=":", linewidth=1.2, label=arm.name)
    axes.axhline(1, color="#999999", linewidth=0.8)
    axes.set(xscale="log", yscale="log")
    axes.set_title(problem, fontsize=8)


def _main() -> None:
    """Draw the plot of the documentation, from the scores that the package is published with."""
    beside = Path(__file__).resolve().parents[3] / "docs" / "experiments" / "rlsvi"
    beside.mkdir(exist_ok=True)
    replace(_drawn(STUDY.full, beside, benchmark.recorded()), tables={}).write(beside)


if __name__ == "__main__":
    _main()
