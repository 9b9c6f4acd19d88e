"""``dpproof reproduce private-ucb``: all arms, their tables and plots, and the page on what they show.

The page of the experiment, written from its tables: every number in it was measured by the run.

The first lines of the page on PRIVATE-UCB.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.private_ucb.constants import SPARSE, TUNED, Constants
from dpproof.reproduction.first_lines import ENOUGH, equal_rows, few_runs, listed, written
from dpproof.reproduction.private_ucb.arms import DELTA, HORIZON, STATES, Arm, Group, Size, arms
from dpproof.reproduction.private_ucb.plots import write_figures
from dpproof.reproduction.private_ucb.runs import run_arms
from dpproof.reproduction.private_ucb.tables import FAILED, paying, rows, write_curves
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.tables import write_rows

_LEARNT: Final = 0.9
"""A regret above this share of never learning counts as not having learnt."""
_BASELINES: Final = (
    "UCB-VI (Azar et al. 2017) and OPPO (Efroni et al. 2020), with which the paper compares, are not run. "
    '"Without privacy" means this paper\'s algorithms on exact counts.'
)


def first_lines(never: float, table: Sequence[Row]) -> list[str]:
    """The sentences; `never` is the regret of never learning."""
    return [
        _constants(never, table),
        _spread(table),
        *_unlearnt(never, table),
        *_local(never, table),
        _BASELINES,
        *_undecided(table),
        *_few(table),
    ]


def _few(table: Sequence[Row]) -> list[str]:
    """What is due where some rows stand on few runs."""
    few: dict[int, dict[str, None]] = {}
    for row in table:
        if row["seeds"] < ENOUGH:
            few.setdefault(row["seeds"], {})[row["group"]] = None
    return [
        f"{line} This holds for rows under: {'; '.join(groups)}."
        for runs, groups in few.items()
        for line in few_runs(runs)
    ]


def best(table: Sequence[Row], epsilon: float) -> Row:
    """The row of least mean regret that is certified at `epsilon`, up to the calibration's tolerance."""
    private = [row for row in table if row["epsilon"] and row["certified_epsilon"] <= 1.0001 * epsilon]
    return min(private, key=lambda row: float(row["regret"]))


def _constants(never: float, table: Sequence[Row]) -> str:
    """Which constants are used, and what the printed ones do."""
    free = [row for row in table if row["group"] == Group.THEORY.value and row["epsilon"] is None]
    told = listed([f"{row['regret']:.0f} ({row['algorithm']}, {row['counts']})" for row in free])
    return (
        f'Only the rows under "{Group.THEORY.value}" use the constants of the paper\'s theorems. With those '
        f"even the learner without privacy does not learn: its regret is {told} of {never:.0f}. All other "
        f"rows use constants that were tuned on this environment: {_told(TUNED)}; in batches and with the "
        f"square root {_told(SPARSE)}. Elsewhere these may not learn."
    )


def _told(constants: Constants) -> str:
    return (
        f"width {constants.width:g}, error terms {constants.error:g}, shift {constants.shift:g}, learning "
        f"rate {constants.learning_rate:g} times the printed one"
    )


def _spread(table: Sequence[Row]) -> str:
    """The headline's law: the best arm at epsilon 1, by its quantiles and failures."""
    found = best(table, 1.0)
    return (
        f"The least mean regret at a certified epsilon of 1 is {found['regret']:.0f} ± "
        f"{found['standard_error']:.0f} ({found['algorithm']}, {found['group']}; {found['seeds']} runs). "
        f"Half of the runs are above {found['median']:.0f}, one in ten above {found['high']:.0f}, the worst "
        f"is {found['worst']:.0f}, and {found['failed']:.0%} fail (above {FAILED:g} of never learning)."
    )


def _unlearnt(never: float, table: Sequence[Row]) -> Iterator[str]:
    """Epsilons at which the printed noise leaves nothing to learn, unlike in the paper's figure."""
    held = [row for row in table if row["group"] == Group.PRINTED.value and row["counts"] == "joint"]
    found = [e for e in _epsilons(held) if min(_regrets(held, e)) > _LEARNT * never]
    if found:
        yield (
            f"In the paper's Figure 2 the learners under joint privacy learn. With the printed noise none "
            f"does at epsilon {listed([f'{e:g}' for e in found])}: every regret is above {_LEARNT:.0%} of "
            "never learning."
        )


def _epsilons(rows: Sequence[Row]) -> list[float]:
    return sorted({row["epsilon"] for row in rows})


def _regrets(rows: Sequence[Row], epsilon: float) -> list[float]:
    return [row["regret"] for row in rows if row["epsilon"] == epsilon]


def _local(never: float, table: Sequence[Row]) -> Iterator[str]:
    """Rows that learn and in which local privacy costs less than joint privacy, unlike in the paper."""
    names = ("algorithm", "group", "epsilon")
    joint = {tuple(row[x] for x in names): row for row in table if row["counts"] == "joint"}
    opposite = []
    for row in table:
        other = joint.get(tuple(row[x] for x in names)) if row["counts"] == "local" else None
        if other is not None and row["regret"] < _LEARNT * never and _clearly_less(row, other):
            opposite.append(
                f"{row['algorithm']}, {row['group']}, epsilon {row['epsilon']:g} ({row['regret']:.0f} "
                f"against {other['regret']:.0f})"
            )
    if opposite:
        yield (
            "In the paper local privacy costs more regret than joint privacy. Here it costs less, by more "
            f"than two standard errors, under {'; under '.join(opposite)}."
        )


def _clearly_less(row: Row, other: Row) -> bool:
    errors = math.hypot(row["standard_error"], other["standard_error"])
    return bool(other["regret"] - row["regret"] > 2 * errors)


def _undecided(table: Sequence[Row]) -> Iterator[str]:
    """Rows that are the same to the last digit."""
    for group in equal_rows(table, ("regret", "deviation")):
        places, epsilons = _words(group, "group"), _words(group, "epsilon")
        yield (
            f"{len(group)} rows of {_words(group, 'algorithm')} under {places} (epsilon {epsilons}) decide "
            f"nothing: to the last digit their regret is the same, {group[0]['regret']:.0f}."
        )


def _words(group: Sequence[Row], name: str) -> str:
    values = dict.fromkeys(row[name] for row in group)
    return listed(["none" if x is None else f"{x:g}" if isinstance(x, int | float) else x for x in values])


Row = Mapping[str, Any]

_WHAT = {
    Group.EXACT: (
        "PRIVATE-UCB-VI and PRIVATE-UCB-PO on exact counts, with tuned constants, and DP-UCBVI (Qiao and "
        "Wang 2023) on exact counts. The constants of DP-UCBVI are reconstructed and not checked against "
        "its paper (`mechanisms/rl/private_ucb/dp_ucbvi.py`), and they are scaled here."
    ),
    Group.THEORY: (
        "The constants of Theorems 3.2 and 4.2 as they are printed, on exact counts and with the printed "
        "noise on per-step counters. In all other groups the constants are tuned."
    ),
    Group.CODE: (
        "Laplace noise of scale 1/epsilon, which is what the published code draws, here on real trees and on "
        "one table for all steps. The certified epsilon of this noise is in the column beside."
    ),
    Group.PRINTED: (
        "Per-step counters and Laplace noise of the printed scale, as in the paper, but tuned constants. "
        "*Constants as printed* has the same noise with the printed constants."
    ),
    Group.HONEST: "The same with the least Laplace noise whose certified epsilon is the one promised.",
    Group.POOLED: "Honest Laplace noise, one table of counters for all steps, counts made consistent.",
    Group.ROOT: (
        "Gaussian noise through the square root of the running count, visits summed from transitions, "
        f"counts that noise alone could make set to 0; (epsilon, {DELTA})."
    ),
    Group.BEST: (
        "The same, but an episode counts at most 7 visits of a cell and counts are released before every "
        f"hundredth episode of the first half; (epsilon, {DELTA})."
    ),
}


def page(
    size: Size, never: float, table: Sequence[Row], pays: Sequence[Row], plotted: str, files: Sequence[Path]
) -> str:
    """The page as Markdown."""
    lines = [
        "# PRIVATE-UCB on RiverSwim: Figure 2 again",
        "",
        *written(first_lines(never, table)),
        "Generated by `dpproof reproduce private-ucb`. RiverSwim with S = 6, A = 2, H = 20; "
        f"{size.episodes} episodes; {_runs(table)}. Regret is exact: the policy of "
        f"every episode is evaluated in the true model. Never learning costs {never:.0f}. A guarantee is "
        "about one user (an episode) replaced; *certified* is the epsilon that the noise really gives, at "
        f"delta 0 for Laplace and {DELTA} for Gaussian noise. *Mean* is the mean of the total regret with "
        "its standard error; then come its quantiles and its maximum. *Failed* is the share of runs with a "
        f"regret above {FAILED:g} of never learning ({FAILED * never:.0f}).",
        "",
    ]
    for group, text in _WHAT.items():
        lines += [f"## {group.value[0].upper()}{group.value[1:]}", "", text, "", *_table(table, group), ""]
    lines += ["## What it shows", "", *_findings(never, table), ""]
    lines += ["## Where private learning starts to pay", "", *_paying(never, pays), ""]
    lines += ["## Plots", "", f"Mean and one standard deviation of {plotted}.", ""]
    lines += [*(f"![{file.stem}]({file.parent.name}/{file.name})" for file in files), ""]
    return "\n".join(lines)


def _runs(table: Sequence[Row]) -> str:
    """How often the rows were run, and from which root seed."""
    groups: dict[tuple[int, int], dict[str, None]] = {}
    for row in table:
        groups.setdefault((row["seeds"], row["root"]), {})[row["group"]] = None
    return "; ".join(
        f"{runs} runs (root seed {root}) of *{'*, *'.join(names)}*" for (runs, root), names in groups.items()
    )


def _table(table: Sequence[Row], group: Group) -> list[str]:
    lines = [
        "| algorithm | counts | epsilon | certified | mean | median | 10% to 90% | maximum | failed | runs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table:
        if row["group"] == group.value:
            epsilon = "none" if row["epsilon"] is None else f"{row['epsilon']:g}"
            certified = "-" if row["certified_epsilon"] is None else f"{row['certified_epsilon']:.6g}"
            lines.append(f"| {row['algorithm']} | {row['counts']} | {epsilon} | {certified} | {_law(row)} |")
    return lines


def _law(row: Row) -> str:
    """Mean, quantiles, maximum, failures and runs; a dash where they were not recorded."""
    spread = (
        "- | -" if row["median"] is None else f"{row['median']:.0f} | {row['low']:.0f} to {row['high']:.0f}"
    )
    failed = "-" if row["failed"] is None else f"{row['failed']:.0%}"
    mean = f"{row['regret']:.0f} ± {row['standard_error']:.0f}"
    return f"{mean} | {spread} | {row['worst']:.0f} | {failed} | {row['seeds']}"


def _findings(never: float, table: Sequence[Row]) -> list[str]:
    """Sentences whose numbers, and whose direction, are read off the table."""
    return [
        f"- {text}"
        for text in (
            *_pairs(table, Group.PRINTED, Group.HONEST, "Keeping the printed promise (per-step counters)"),
            *_pairs(table, Group.HONEST, Group.POOLED, "Pooling the counters at the same guarantee"),
            *_pairs(table, Group.ROOT, Group.BEST, "Batches and the cap at the same guarantee"),
            _least(never, table),
        )
    ]


def _pairs(table: Sequence[Row], one: Group, other: Group, label: str) -> list[str]:
    """How the regret changes from one group to another, joint model, for each algorithm."""
    lines = []
    for algorithm in ("VI", "PO"):
        changes = [
            f"{first['regret']:.0f} to {second['regret']:.0f} at epsilon {first['epsilon']:g}"
            for first in table
            for second in table
            if first["group"] == one.value
            and second["group"] == other.value
            and first["algorithm"] == second["algorithm"] == algorithm
            and first["counts"] == second["counts"] == "joint"
            and first["epsilon"] == second["epsilon"]
        ]
        lines.append(f"{label}, {algorithm}: from {', '.join(changes)}.")
    return lines


def _least(never: float, table: Sequence[Row]) -> str:
    found = best(table, 1.0)
    return (
        f"At a certified epsilon of at most 1 the least mean regret is {found['regret']:.0f} ± "
        f"{found['standard_error']:.0f} ({found['algorithm']}, {found['group']}), "
        f"{found['regret'] / never:.1%} of never learning; its maximum is {found['worst']:.0f}."
    )


def _paying(never: float, pays: Sequence[Row]) -> list[str]:
    lines = [
        f"The least epsilon run at which the mean regret is below half of never learning ({never / 2:.0f}):",
        "",
        "| algorithm | counts | noise | epsilon |",
        "|---|---|---|---|",
    ]
    for row in pays:
        epsilon = "none of those run" if row["epsilon"] is None else f"{row['epsilon']:g}"
        lines.append(f"| {row['algorithm']} | {row['counts']} | {row['group']} | {epsilon} |")
    lines += [
        "",
        "It pays earlier with fewer counters (pooled over the steps), with correlated Gaussian noise instead "
        "of a tree of Laplace noise, without counts that are sums of others and, where the noise is what "
        "hinders, with less of a user counted (the cap) and fewer releases (batches). Batches make the "
        "learner wait: where noise is small they cost regret.",
    ]
    return lines


FULL: Final = Size(episodes=20_000, seeds=100, epsilons=(1.0, 10.0, 100.0, 1000.0))
QUICK: Final = Size(episodes=9_000, seeds=2, epsilons=(1.0, 100.0))


def run(folder: Path, quick: bool, seed: int, size: Size | None = None) -> Mapping[str, Any]:
    """Run the experiment; write the page `private_ucb.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    environment = river_swim(STATES, HORIZON)
    never = float(environment.optimal_values()[0, environment.start]) * size.episodes
    chosen: list[Arm] = list(arms(size))
    curves = run_arms(environment, chosen, size, seed, os.cpu_count() or 1)
    table = rows(chosen, curves, never, seed)
    beside = folder / "private_ucb"
    beside.mkdir(parents=True, exist_ok=True)
    write_rows(beside / "regret.csv", table)
    write_curves(beside / "curves.csv", chosen, curves, size.episodes)
    files = write_figures(beside, chosen, curves, size.episodes, never)
    plotted = f"{size.seeds} runs (root seed {seed}), or fewer where the tables say so"
    write_run(beside, size, seed, never=never, plotted=plotted, plots=[file.name for file in files])
    (folder / "private_ucb.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "private-ucb",
        "episodes": size.episodes,
        "seeds": size.seeds,
        "seed": seed,
        "never_learning": never,
        "first_lines": first_lines(never, table),
        "rows": table,
        "pays": paying(table, never),
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "private_ucb"
    held, table = read_run(beside, Size), read_rows(beside / "regret.csv")
    never, files = held.more["never"], [beside / name for name in held.more["plots"]]
    return page(held.size, never, table, paying(table, never), held.more["plotted"], files)
