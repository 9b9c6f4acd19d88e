"""The experiment of PRIVATE-UCB: the arms of the benchmark that concern it, with printed and with certified noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.reproduction.first_lines import listed
from dpproof.reproduction.pages import Plots, panels
from dpproof.reproduction.private_ucb.judges import JUDGES
from dpproof.reproduction.suite import benchmark
from dpproof.reproduction.suite.arms import ARMS, Promise
from dpproof.reproduction.suite.runs import POINTS
from dpproof.reproduction.suite.study import Size, SuiteStudy
from dpproof.reproduction.suite.summary import Score, Table

_SWIM: Final = "river-swim"
"""The problem of the paper's Figure 2."""
_BASELINES: Final = ("UCB-VI", "OPPO")
"""The arms with which the paper compares its algorithms."""
SHOWN: Final = tuple(
    arm for arm in ARMS.values() if arm.name.startswith("PRIVATE-UCB") or arm.name in _BASELINES
)
"""The arms that the page shows: the paper's algorithms with every noise, and its baselines."""
_GROUPS: Final = {
    "printed": ("printed noise and constants", ", printed", "no noise, printed"),
    "noise": ("printed noise", ", printed noise", "no noise, per step"),
    "least": ("least certified noise", "", "no noise, per step"),
    "pooled": ("least certified noise, pooled", ", pooled", "no noise"),
    "code": ("published code's scale, pooled", ", pooled, published code", "no noise"),
}
"""For each plot: its title, how the names of its private arms end, and how that of the arm without privacy ends."""


class PrivateUCB(SuiteStudy):
    """The experiment of Figure 2 of Chowdhury and Zhou (AAAI 2022), and the same learners on other problems."""

    paper = "private-ucb"
    judges = JUDGES
    learners = SHOWN
    quick = Size(benchmark.QUICK.epsilons, benchmark.QUICK.runs, (_SWIM,))
    plot_size = (10, 4)

    def plots(self, table: Table) -> Plots:
        """Return a plot like Figure 2 for each kind of noise."""
        return {name: partial(_draw, table, name) for name in _GROUPS}

    def sentences(self, table: Table) -> list[str]:
        """Return sentences on the printed constants, the best result at epsilon 1, and the baselines."""
        return [*_printed(table), *_best(table), _compared(table)]


STUDY: Final = PrivateUCB()


def _printed(table: Table) -> Iterator[str]:
    """Yield a sentence on the learners with the printed constants and without privacy."""
    names = [f"PRIVATE-UCB-{name}, no noise, printed" for name in ("VI", "PO")]
    told = [f"{_percent(one)} ({one.arm})" for one in _found(table, names)]
    if told:
        yield (
            "With the printed constants of Theorems 3.2 and 4.2 and without any noise, the regret on RiverSwim is "
            f"{listed(told)} of the regret without learning. The other learners of the paper's algorithms have "
            "constants that were chosen on other problems, unless their names end in *printed*."
        )


def _best(table: Table) -> Iterator[str]:
    """Yield the best of the paper's algorithms at a certified epsilon of 1, and its quantiles."""
    for promise in (Promise.REPLACE, Promise.LOCAL):
        for one in table.leaders(_SWIM, promise, 1.0)[:1]:
            yield (
                f"At a certified epsilon of 1 ({promise.value}) the least mean regret of the paper's algorithms on "
                f"RiverSwim is {_percent(one)} of the regret without learning ({one.arm}; {one.runs} runs). Half "
                f"of the runs are above {one.median:.1%}, the worst is {one.worst:.1%}."
            )


def _compared(table: Table) -> str:
    """Return a sentence on the baselines with which the paper compares, as the benchmark runs them."""
    known = {one.arm: _percent(one) for one in _found(table, _BASELINES)}
    told = [
        f"{name} has {known[name]} of the regret without learning"
        if name in known
        else f"{name} was not run yet"
        for name in _BASELINES
    ]
    return (
        "The paper compares with UCB-VI (Azar et al. 2017) and OPPO (Efroni et al. 2020). With their printed constants "
        f"on RiverSwim, {listed(told)}."
    )


def _percent(one: Score) -> str:
    return f"{one.mean:.2%} ± {one.error:.2%}"


def _found(table: Table, names: Any) -> list[Score]:
    return [one for name in names if (one := table.one(_SWIM, name))]


def _draw(table: Table, group: str, figure: Figure) -> None:
    """Draw value iteration left and policy optimisation right."""
    title, private, free = _GROUPS[group]
    for name, axes in panels(figure, ("VI", "PO"), sharey=True):
        for trust, line in (("joint", "-"), ("local", "--")):
            _curves(axes, table, f"PRIVATE-UCB-{name}, {trust}{private}", line, trust)
        for one in _found(table, [f"PRIVATE-UCB-{name}, {free}"]):
            _curve(axes, one, ":", "#000000", "no privacy")
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, label="never learning")
        axes.set(xlabel="share of the episodes", ylabel="regret / regret without learning", ylim=(0, 1.05))
        axes.set_title(f"PRIVATE-UCB-{name}, {title}")
        axes.legend(frameon=False, fontsize=6, ncols=2)


def _curves(axes: Axes, table: Table, arm: str, line: str, trust: str) -> None:
    """Draw the mean regret of an arm at each epsilon, as it grows with the episodes."""
    shades = mpl.colormaps["viridis"]
    for one in table.of(problem=_SWIM, arm=arm):
        colour = shades(0.9 * table.epsilons.index(one.epsilon) / max(1, len(table.epsilons) - 1))
        _curve(axes, one, line, colour, f"{trust}, epsilon {one.epsilon:g}")


def _curve(axes: Axes, one: Score, line: str, colour: Any, label: str) -> None:
    """Draw the mean cumulative regret of a score, with two standard errors at its end."""
    axes.plot(np.arange(POINTS + 1) / POINTS, (0, *one.curve), line, color=colour, linewidth=1.2, label=label)
    axes.errorbar([1.0], [one.mean], [2 * one.error], color=colour, capsize=2)
