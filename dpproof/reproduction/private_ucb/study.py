"""The experiment of PRIVATE-UCB: the sentences of its page, each computed from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.private_ucb.constants import SPARSE, TUNED, Constants
from dpproof.reproduction.curves import Curves, draw_curve, write_curves
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.first_lines import equal_rows, few_runs, listed
from dpproof.reproduction.pages import Plots, panels, write_plots
from dpproof.reproduction.private_ucb.arms import (
    DELTA,
    FAILED,
    HORIZON,
    STATES,
    Arm,
    Group,
    Size,
    arms,
    rows,
    run_arms,
)
from dpproof.reproduction.private_ucb.judges import JUDGES
from dpproof.reproduction.suite.benchmark import recorded
from dpproof.reproduction.suite.summary import Table as Scores
from dpproof.reproduction.tables import Row, Table, different, where


class PrivateUCB(Study[Size]):
    """The experiment of Figure 2 of Chowdhury and Zhou (AAAI 2022), with the printed noise and with other noise."""

    paper = "private-ucb"
    tables = ("regret",)
    judges = JUDGES
    full = Size(episodes=20_000, seeds=100, epsilons=(1.0, 10.0, 100.0, 1000.0))
    quick = Size(episodes=9_000, seeds=2, epsilons=(1.0, 100.0))

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Run the experiment, write its plots into the folder, and return its results.

        The results include the regret of a learner that never learns.
        """
        environment = river_swim(STATES, HORIZON)
        never = float(environment.optimal_values()[0, environment.start]) * size.episodes
        chosen = list(arms(size))
        curves = run_arms(environment, chosen, size, seed, workers)
        write_curves(folder / "curves.csv", {arm.name: curves[arm.name] for arm in chosen}, size.episodes)
        plots = write_plots(folder, _plots(chosen, curves, size.episodes, never), (10, 4))
        plotted = f"{size.seeds} runs (root seed {seed}), or fewer where the tables say so"
        tables = {
            "regret": rows(chosen, curves, never, seed),
            "baselines": _baselines(recorded(folder.parent)),
        }
        return Measured(size, seed, tables, plots, {"never": never, "plotted": plotted})

    def recorded(self, folder: Path) -> Measured[Size]:
        """Return the recorded results, and those of the paper's baselines in the benchmark."""
        found = super().recorded(folder)
        return replace(found, tables={**found.tables, "baselines": _baselines(recorded(folder))})

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on disagreements with the paper, and on what the numbers cannot show."""
        never, table = found.more["never"], found.tables["regret"]
        return [
            _constants(never, table),
            _spread(table),
            _compared(found.tables["baselines"]),
            *_undecided(table),
            *_few(table),
        ]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data.

        `first` holds the first sentences of the experiment's page.
        """
        never, table = found.more["never"], found.tables["regret"]
        return {
            "episodes": found.size.episodes,
            "seeds": found.size.seeds,
            "seed": found.seed,
            "never_learning": never,
            "first_lines": first,
            "rows": table,
            "pays": paying(table, never),
        }

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """Return the values that the template of the experiment's page shows, by name."""
        never, table = found.more["never"], found.tables["regret"]
        return {
            **found.more,
            "table": table,
            "runs": _runs(table),
            "delta": DELTA,
            "failed": FAILED,
            "findings": _findings(never, table),
            "pays": paying(table, never),
        }


STUDY: Final = PrivateUCB()


def _runs(table: Table) -> list[str]:
    """Return how often the rows were run, and from which root seed."""
    return [
        f"{runs} runs (root seed {root}) of *{'*, *'.join(different(where(table, seeds=runs, root=root), 'group'))}*"
        for runs, root in different(table, "seeds", "root")
    ]


_BASELINES: Final = ("UCB-VI", "OPPO")
"""The arms of the benchmark with which the paper compares its algorithms."""


def _baselines(scores: Scores) -> Table:
    """Return the regrets of the paper's baselines on RiverSwim, relative to the regret without learning."""
    found = [(name, scores.one("river-swim", name)) for name in _BASELINES]
    return [{"algorithm": name, "regret": one.mean, "error": one.error} for name, one in found if one]


def _compared(table: Table) -> str:
    """Return a sentence on the baselines with which the paper compares, as the benchmark runs them."""
    known = {row["algorithm"]: row for row in table}
    told = [
        f"{name} has {known[name]['regret']:.1%} ± {known[name]['error']:.1%} of the regret without learning"
        if name in known
        else f"{name} was not run yet"
        for name in _BASELINES
    ]
    return (
        "The paper compares with UCB-VI (Azar et al. 2017) and OPPO (Efroni et al. 2020). In the benchmark, with their "
        f"printed constants on RiverSwim, {listed(told)}. "
        'On this page "without privacy" means the algorithms of this paper on exact counts.'
    )


def _few(table: Table) -> list[str]:
    """Return the remarks for rows with few runs."""
    return [
        f"{line} This holds for rows under: {'; '.join(different(where(table, seeds=runs), 'group'))}."
        for runs in different(table, "seeds")
        for line in few_runs(runs)
    ]


def best(table: Table, epsilon: float) -> Row:
    """Return the row with the least mean regret among the rows whose certified epsilon is at most `epsilon`.

    A certified epsilon that is above `epsilon` only by rounding counts, too.
    """
    private = [row for row in table if row["epsilon"] and row["certified_epsilon"] <= 1.0001 * epsilon]
    return min(private, key=lambda row: float(row["regret"]))


def _constants(never: float, table: Table) -> str:
    """Return a sentence on the used constants, and on the results with the printed ones."""
    free = where(table, group=Group.THEORY.value, epsilon=None)
    told = listed([f"{row['regret']:.0f} ({row['algorithm']}, {row['counts']})" for row in free])
    return (
        f'Only the rows under "{Group.THEORY.value}" use the constants of the paper\'s theorems. With those '
        f"even PRIVATE-UCB without privacy does not learn: its regret is {told} of {never:.0f}. All other "
        f"rows use constants that were tuned on this environment: {_told(TUNED)}; in batches and with the "
        f"square root {_told(SPARSE)}. Elsewhere these may not learn."
    )


def _told(constants: Constants) -> str:
    return (
        f"width {constants.width:g}, error terms {constants.error:g}, shift {constants.shift:g}, learning "
        f"rate {constants.learning_rate:g} times the printed one"
    )


def _spread(table: Table) -> str:
    """Return quantiles and failures of the best arm at epsilon 1, in words."""
    found = best(table, 1.0)
    return (
        f"The least mean regret at a certified epsilon of 1 is {found['regret']:.0f} ± "
        f"{found['standard_error']:.0f} ({found['algorithm']}, {found['group']}; {found['seeds']} runs). "
        f"Half of the runs are above {found['median']:.0f}, one in ten above {found['high']:.0f}, the worst "
        f"is {found['worst']:.0f}, and {found['failed']:.0%} fail (above {FAILED:g} of the regret without learning)."
    )


def _undecided(table: Table) -> Iterator[str]:
    """Yield sentences on rows that are exactly equal."""
    for group in equal_rows(table, ("regret", "deviation")):
        places, epsilons = _values(group, "group"), _values(group, "epsilon")
        yield (
            f"{len(group)} rows of {_values(group, 'algorithm')} under {places} (epsilon {epsilons}) decide "
            f"nothing: to the last digit their regret is the same, {group[0]['regret']:.0f}."
        )


def _values(group: Table, name: str) -> str:
    return listed(
        [x if isinstance(x, str) else "none" if x is None else f"{x:g}" for x in different(group, name)]
    )


def _findings(never: float, table: Table) -> list[str]:
    """Return sentences whose numbers, and whose direction, are computed from the table."""
    return [
        *_pairs(table, Group.PRINTED, Group.HONEST, "Keeping the printed promise (per-step counters)"),
        *_pairs(table, Group.HONEST, Group.POOLED, "Pooling the counters at the same guarantee"),
        *_pairs(table, Group.ROOT, Group.BEST, "Batches and the cap at the same guarantee"),
        _least(never, table),
    ]


def _pairs(table: Table, one: Group, other: Group, label: str) -> list[str]:
    """Return how the regret changes from one group to another, for joint privacy and each algorithm."""
    lines = []
    for algorithm in ("VI", "PO"):
        changes = [
            f"{first['regret']:.0f} to {second['regret']:.0f} at epsilon {first['epsilon']:g}"
            for first in where(table, group=one.value, algorithm=algorithm, counts="joint")
            for second in where(table, group=other.value, algorithm=algorithm, counts="joint")
            if first["epsilon"] == second["epsilon"]
        ]
        lines.append(f"{label}, {algorithm}: the mean regret changes from {', '.join(changes)}.")
    return lines


def _least(never: float, table: Table) -> str:
    found = best(table, 1.0)
    return (
        f"At a certified epsilon of at most 1 the least mean regret is {found['regret']:.0f} ± "
        f"{found['standard_error']:.0f} ({found['algorithm']}, {found['group']}), "
        f"{found['regret'] / never:.1%} of the regret without learning; its maximum is {found['worst']:.0f}."
    )


def paying(table: Table, never: float, share: float = 0.5) -> list[dict[str, Any]]:
    """Return the least epsilon at which each algorithm learns, for each kind of private counts.

    An algorithm learns if its regret is below `share` times `never`, which is the regret without learning.
    """
    as_published = (Group.THEORY.value, Group.CODE.value, Group.PRINTED.value)
    private = [row for row in table if row["epsilon"] and row["group"] not in as_published]
    found = []
    for algorithm, counts, group in different(private, "algorithm", "counts", "group"):
        kind = {"algorithm": algorithm, "counts": counts, "group": group}
        paid = [row["epsilon"] for row in where(private, **kind) if row["regret"] < share * never]
        found.append({**kind, "epsilon": min(paid, default=None)})
    return found


_PANELS = {
    "code": (Group.CODE, Group.EXACT),
    "printed": (Group.PRINTED, Group.EXACT),
    "honest": (Group.HONEST, Group.EXACT),
    "pooled": (Group.POOLED, Group.EXACT),
    "best": (Group.ROOT, Group.BEST, Group.EXACT),
}
_LINES = {"joint": "-", "local": "--", "pooled": "-", "per step": "-"}


def _plots(arms: Sequence[Arm], curves: Curves, episodes: int, never: float) -> Plots:
    """Return a plot for each group of counters: value iteration left and policy optimisation right."""

    def draw(name: str, figure: Figure) -> None:
        groups = _PANELS[name]
        for algorithm, axes in panels(figure, ("VI", "PO"), sharey=True):
            chosen = [arm for arm in arms if arm.algorithm == algorithm and arm.group in groups]
            _draw(axes, [arm for arm in chosen if _shown(arm, name)], curves, episodes, never)
            axes.set_title(f"PRIVATE-UCB-{algorithm}, {groups[0].value}")

    return {name: partial(draw, name) for name in _PANELS}


def _shown(arm: Arm, name: str) -> bool:
    """Return whether an arm is shown. Without privacy, only the matching kind of counters is shown."""
    pooled = name not in ("printed", "honest")
    return arm.group is not Group.EXACT or arm.trust == ("pooled" if pooled else "per step")


def _draw(axes: Axes, arms: Sequence[Arm], curves: Curves, episodes: int, never: float) -> None:
    shades = mpl.colormaps["viridis"]
    levels = sorted({arm.epsilon for arm in arms})
    for arm in arms:
        colour = shades(0.9 * levels.index(arm.epsilon) / max(1, len(levels) - 1))
        line = ":" if arm.group is Group.ROOT else _LINES[arm.trust]
        draw_curve(axes, curves[arm.name], episodes, line, colour, _label(arm))
    axes.plot([0, episodes], [0, never], color="#999999", linewidth=0.8, label="never learning")
    axes.set(xlabel="episode", ylabel="cumulative regret", ylim=(0, 1.05 * never))
    axes.legend(frameon=False, fontsize=6, ncols=2)


def _label(arm: Arm) -> str:
    if arm.group is Group.EXACT:
        return "no privacy"
    kind = {Group.ROOT: "square root", Group.BEST: "batches"}.get(arm.group, arm.trust)
    return f"{kind}, epsilon {arm.epsilon:g}"
