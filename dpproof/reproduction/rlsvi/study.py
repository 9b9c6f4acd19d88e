"""The experiment of RLSVI, which its paper leaves open: the arms of the benchmark that concern it, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.reproduction.pages import Plots
from dpproof.reproduction.rlsvi.judges import JUDGES
from dpproof.reproduction.suite import benchmark
from dpproof.reproduction.suite.arms import ARMS, Promise
from dpproof.reproduction.suite.frontier import COLOURS, draw_line, line_of
from dpproof.reproduction.suite.study import Size, SuiteStudy
from dpproof.reproduction.suite.summary import SURE, Score, Table

SHOWN: Final = tuple(
    arm
    for arm in ARMS.values()
    if arm.promise is Promise.REWARDS or arm.name in ("RLSVI, no noise", "UCB-VI")
)
"""The arms that the page shows: all whose guarantee protects rewards only, and two without privacy."""


class RLSVIStudy(SuiteStudy):
    """The comparison of RLSVI with other private learners."""

    paper = "rlsvi"
    judges = JUDGES
    learners = SHOWN
    quick = Size(benchmark.QUICK.epsilons, benchmark.QUICK.runs, ("river-swim-4", "bandit"))

    def plots(self, table: Table) -> Plots:
        """Return the plot of regret against certified epsilon."""
        return {"regret": partial(_draw, table)}

    def sentences(self, table: Table) -> list[str]:
        """Return sentences on how RLSVI compares with other learners."""
        return [
            "The paper has no experiment. This page compares RLSVI with other learners at equal certified epsilon.",
            "Its guarantee protects the rewards of a user, not the visited states. So RLSVI is compared with learners "
            "under the same relation, and not with those of the other pages, whose guarantee protects states, too.",
            "The other learners have constants that were chosen on other problems. Of RLSVI only the noise was scaled.",
            *_behind(table),
        ]


STUDY: Final = RLSVIStudy()


def _behind(table: Table) -> Iterator[str]:
    """Yield, for each epsilon, on how many problems RLSVI is clearly behind or ahead of the best other learner."""
    for epsilon in table.epsilons:
        pairs = [pair for problem in table.problems for pair in _pair(table, problem.name, epsilon)]
        behind = sum(other.clearly_below(own) for own, other in pairs)
        ahead = sum(own.clearly_below(other) for own, other in pairs)
        rest = len(pairs) - behind - ahead
        if pairs:
            yield (
                f"At a certified epsilon of {epsilon:g} another learner has less regret than RLSVI on {behind} of "
                f"{len(pairs)} problems, and RLSVI has less than all others on {ahead}.{_close(rest)}"
            )


def _close(rest: int) -> str:
    """Return a sentence on the problems on which no difference is clear; nothing if there are none."""
    return f" On the other {rest} the difference is below {SURE:g} standard errors." if rest else ""


def _pair(table: Table, problem: str, epsilon: float) -> Iterator[tuple[Score, Score]]:
    """Yield RLSVI and the best other learner with the same promise, if both were run."""
    own = table.one(problem, "RLSVI", epsilon)
    others = [one for one in table.leaders(problem, Promise.REWARDS, epsilon) if one.arm != "RLSVI"]
    if own is not None and others:
        yield own, others[0]


def _draw(table: Table, figure: Figure) -> None:
    """Draw a panel for each problem, and one legend below them."""
    problems = [one for one in table.problems if any(line_of(table, one.name, arm) for arm in SHOWN)]
    rows = 1 if len(problems) < _WIDE else 2
    columns = max(1, -(-len(problems) // rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, problem in itertools.zip_longest(panels.flat, problems):
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
