"""The experiment of private policy evaluation: what is run, the plots, and what its page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.mechanisms.environments.chain import chain_values
from dpproof.reproduction.engine import (
    Measured,
    Plots,
    Row,
    Study,
    Table,
    different,
    panels,
    where,
    write_plots,
)
from dpproof.reproduction.policy_evaluation import claims, small
from dpproof.reproduction.policy_evaluation.kinds import DISCOUNT, EPSILON, FEATURES, STATES, Size
from dpproof.reproduction.policy_evaluation.runs import needed, other_noise, rows

ERROR: Final = 0.1
"""The deviation of the noise that the table of trajectories is about."""
_GRID = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


class PolicyEvaluation(Study[Size]):
    """Figure 1 of Balle, Gomrokchi and Precup (ICML 2016), with exact noise beside the printed."""

    paper = "policy-evaluation"
    tables = ("batches", "ridge", "small", "needed", "alternatives")
    text = ("delta",)
    digits = 9
    full = Size((*_GRID, 300_000, 1_000_000), (10_000, 100_000), 20)
    quick = Size(_GRID[::2], (10_000, 100_000), 3, (1000, 10_000, 100_000), 10)

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Run everything in this process."""
        table, swept = rows(size, seed)
        measured = (table, swept, small.small_data(size, seed), needed(ERROR), other_noise(size.swept[-1]))
        plots = write_plots(folder, _plots(table, swept), (9, 3.6))
        return Measured(size, seed, dict(zip(self.tables, measured, strict=True)), plots, {"error": ERROR})

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """See ``Study.first_lines``."""
        table, swept, few, *_ = (found.tables[name] for name in self.tables)
        return claims.first_lines(table, swept, few, found.size.runs)

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """See ``Study.answer``."""
        table, *others = (found.tables[name] for name in self.tables)
        return {
            "epsilon": float(EPSILON),
            "runs": found.size.runs,
            "seed": found.seed,
            "first_lines": first,
            "rows": table,
            **dict(zip(self.tables[1:], others, strict=True)),
            "error": found.more["error"],
        }

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """See ``Study.shown``."""
        table, swept, few, wanted, others = (found.tables[name] for name in self.tables)
        return {
            "epsilon": EPSILON,
            "table": table,
            "small": few,
            "small_epsilon": small.EPSILON,
            "small_delta": small.DELTA,
            "zero": float(np.sqrt(np.mean(chain_values(STATES, DISCOUNT) ** 2))),
            "schedule": claims.schedules(swept),
            "scheduled": claims.scheduled(swept),
            "better": [(*row[:2], *map(_sizes, row[2:])) for row in claims.better(table)],
            "ordered": claims.ordered(table),
            "last": max(row["trajectories"] for row in table),
            "ratios": claims.ratios(table),
            "near": claims.NEAR,
            "near_counts": claims.near_counts(table),
            "error": found.more["error"],
            "needed": list(_needed(wanted)),
            "alternatives": others,
        }


STUDY: Final = PolicyEvaluation()


def _sizes(sizes: Sequence[int]) -> str:
    return "none" if not sizes else str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _needed(wanted: Table) -> Iterator[dict[str, Any]]:
    """Rows with how many times fewer trajectories are needed than printed, at the same delta and Fmax."""
    known = {(r["algorithm"], r["features"], r["kind"]): r["trajectories"] for r in wanted}
    for row in wanted:
        found = row["trajectories"]
        theirs = known[row["algorithm"], row["features"], f"printed, {row['kind'].split(', ', 1)[1]}"]
        ratio = None if theirs is None or found is None else float(f"{theirs / found:.2g}")
        count = "more than 1e15" if found is None else f"{found:.3g}" if found > 10**7 else str(found)
        yield {**row, "count": count, "ratio": ratio}


_COLOURS = {"no privacy": "#444444", "printed": "#c0392b", "room": "#2471a3", "planned": "#1e8449"}
_NONE = "no privacy"


def _plots(table: Table, swept: Table) -> Plots:
    batches = "trajectories m"
    return {
        "non_private": lambda f: _pair(f, table, lambda r: r["kind"] == _NONE, "rmse", batches),
        "ridge": lambda f: _ridges(f, table, swept),
        "aggregated": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("aggregated",)),
        "tabular": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("tabular",)),
        "risk": lambda f: _pair(f, table, _loose("0.1", none=False), "risk", batches),
        "small_delta": lambda f: _pair(f, table, _loose("1e-6"), "rmse", batches),
        "public_bound": lambda f: _pair(f, table, _tight, "rmse", batches),
    }


def _loose(delta: str, none: bool = True) -> Callable[[Row], bool]:
    def chosen(row: Row) -> bool:
        return (none and row["kind"] == _NONE) or f"delta {delta}, Fmax 100" in row["kind"]

    return chosen


def _tight(row: Row) -> bool:
    return bool(row["kind"] == _NONE or row["kind"].endswith("delta 1e-6, Fmax 1"))


def _pair(
    figure: Figure, table: Table, chosen: Callable[[Row], bool], what: str, label: str,
    features: Iterable[str] = tuple(FEATURES),
) -> None:  # fmt: skip
    """A panel for each kind of features."""
    for name, axes in panels(figure, tuple(features)):
        held = [row for row in where(table, features=name) if chosen(row)]
        _lines(axes, held, "trajectories", what)
        axes.set(title=name, xlabel=label, ylabel="RMSE" if what == "rmse" else "excess empirical risk")


def _ridges(figure: Figure, table: Table, swept: Table) -> None:
    """A panel for each batch size: LSL against lambda, LSW as level lines."""
    for size, axes in panels(figure, sorted(different(swept, "trajectories"))):
        held = where(swept, trajectories=size)
        _lines(axes, held, "ridge", "rmse")
        for row in where(table, trajectories=size, features="tabular", algorithm="LSW"):
            if row["kind"] in different(held, "kind"):
                axes.axhline(row["rmse"], color=_colour(row["kind"]), linestyle="--", linewidth=1)
        axes.set(title=f"tabular, m = {size} (dashed: LSW)", xlabel="lambda", ylabel="RMSE")


def _colour(kind: str) -> str:
    return _COLOURS[kind.split(",")[0]]


def _lines(axes: Axes, table: Table, along: str, what: str) -> None:
    for algorithm, style in (("LSW", "--"), ("LSL", "-")):
        for kind in different(table, "kind"):
            if held := where(table, algorithm=algorithm, kind=kind):
                places, values = [row[along] for row in held], [row[what] for row in held]
                errors = [row[f"{what}_error"] for row in held]
                label = f"{algorithm}, {kind.split(', delta')[0]}"
                axes.errorbar(
                    places, values, errors, linestyle=style, color=_colour(kind), linewidth=1.2, label=label
                )
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=6)
