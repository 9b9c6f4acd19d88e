"""The experiment of private policy evaluation: the sentences of its page, and the plots.

The page shows the numbers behind the statements of section 6 of the paper about its Figure 1. lambda is the ridge
parameter of DP-LSL, and m is the number of trajectories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.mechanisms.environments.chain import chain_values
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.first_lines import few_runs, listed
from dpproof.reproduction.pages import Plots, panels, write_plots
from dpproof.reproduction.policy_evaluation.judges import JUDGES, NEAR
from dpproof.reproduction.policy_evaluation.kinds import DISCOUNT, EPSILON, FEATURES, STATES, Size
from dpproof.reproduction.policy_evaluation.runs import (
    BOUNDS,
    METHODS,
    SMALL_DELTA,
    SMALL_EPSILON,
    needed,
    other_noise,
    rows,
    small_data,
)
from dpproof.reproduction.tables import Row, Table, different, where

ERROR: Final = 0.1
"""The page states how many trajectories are needed for noise of this standard deviation."""
OWN, PLAIN, ZERO = METHODS
_NONE = "no privacy"
_GRID = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


class PolicyEvaluation(Study[Size]):
    """The experiment of Figure 1 of Balle, Gomrokchi and Precup (ICML 2016), with exact and with printed noise."""

    paper = "policy-evaluation"
    tables = ("batches", "ridge", "small", "needed", "alternatives")
    text = ("delta",)
    digits = 9
    judges = JUDGES
    full = Size((*_GRID, 300_000, 1_000_000), (10_000, 100_000), 20)
    quick = Size(_GRID[::2], (10_000, 100_000), 3, (1000, 10_000, 100_000), 10)

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Run the experiment in this process, write its plots into the folder, and return its results."""
        table, swept = rows(size, seed)
        measured = (table, swept, small_data(size, seed), needed(ERROR), other_noise(size.swept[-1]))
        plots = write_plots(folder, _plots(table, swept), (9, 3.6))
        return Measured(size, seed, dict(zip(self.tables, measured, strict=True)), plots, {"error": ERROR})

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on disagreements with the paper, and on what the numbers cannot show."""
        return [*_small(found.tables["small"]), *few_runs(found.size.runs)]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""
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
        """Return the values that the template of the experiment's page shows, by name."""
        table, swept, few, wanted, others = (found.tables[name] for name in self.tables)
        return {
            "epsilon": EPSILON,
            "table": table,
            "small": few,
            "small_epsilon": SMALL_EPSILON,
            "small_delta": SMALL_DELTA,
            "zero": float(np.sqrt(np.mean(chain_values(STATES, DISCOUNT) ** 2))),
            "schedule": schedules(swept),
            "scheduled": scheduled(swept),
            "better": [(*row[:2], *map(_sizes, row[2:])) for row in better(table)],
            "ordered": ordered(table),
            "last": max(row["trajectories"] for row in table),
            "ratios": ratios(table),
            "near": NEAR,
            "near_counts": near_counts(table),
            "error": found.more["error"],
            "needed": list(_needed(wanted)),
            "alternatives": others,
        }


STUDY: Final = PolicyEvaluation()


class Counted(NamedTuple):
    """The result of checking a statement in `of` cases. It holds in `so` of them."""

    so: int
    of: int


def schedules(swept: Table) -> list[tuple[str, int, Row, float, Row]]:
    """Return which ridge parameter has the least error, for each kind of noise and each batch size m.

    A tuple holds five entries: the kind of noise, m, the row with the least error, a power p, and another row. The
    ridge parameter of the row with the least error is 2 m^p. The other row is the one whose ridge parameter is
    nearest to 2 sqrt(m).
    """
    found = []
    for kind in different(swept, "kind"):
        for size in sorted(different(swept, "trajectories")):
            held = where(swept, trajectories=size, kind=kind)
            least, root = min(held, key=lambda row: row["rmse"]), _nearest(held, 2 * size**0.5)
            power = round(np.log(least["ridge"] / 2) / np.log(size), 6)
            found.append((kind, size, least, power, root))
    return found


def _nearest(held: Table, ridge: float) -> Row:
    return min(held, key=lambda row: abs(np.log(row["ridge"] / ridge)))


def scheduled(swept: Table) -> Counted:
    """Count how often another ridge parameter is clearly better than 2 sqrt(m), over the rows of `schedules`."""
    rows = schedules(swept)
    found = [_apart(root, least) for kind, _, least, _, root in rows if kind != _NONE]
    return Counted(sum(found), len(found))


def _apart(root: Row, least: Row) -> bool:
    errors = float(np.hypot(root["rmse_error"], least["rmse_error"]))
    return bool(root["rmse"] - least["rmse"] > 3 * errors)


def better(table: Table) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Yield tuples (features, noise, sizes, other sizes), where sizes are batch sizes.

    DP-LSL has a smaller error than DP-LSW at ``sizes``, and not at ``other sizes``.
    """
    held = {(r["features"], r["kind"], r["algorithm"], r["trajectories"]): r["rmse"] for r in table}
    sizes = sorted(different(table, "trajectories"))
    for features, kind in different(table, "features", "kind"):
        if kind != _NONE:
            ridge = [m for m in sizes if held[features, kind, "LSL", m] < held[features, kind, "LSW", m]]
            yield features, kind, ridge, [m for m in sizes if m not in ridge]


def ordered(table: Table) -> Counted:
    """Count the pairs (noise, features) for which DP-LSL is better with small batches, and DP-LSW with large ones."""
    found = [bool(ridge and other) and max(ridge) < min(other) for _, _, ridge, other in better(table)]
    return Counted(sum(found), len(found))


def ratios(table: Table) -> list[tuple[str, str, list[float]]]:
    """Return the errors with noise divided by those without privacy, at the largest batch size.

    A tuple holds the algorithm, the kind of noise, and the ratios for each kind of features.
    """
    last = where(table, trajectories=max(row["trajectories"] for row in table))
    held = {(row["algorithm"], row["kind"], row["features"]): row["rmse"] for row in last}
    names = different(table, "features")
    return [
        (algorithm, kind, [held[algorithm, kind, f] / held[algorithm, _NONE, f] for f in names])
        for algorithm, kind in different(last, "algorithm", "kind")
        if kind != _NONE
    ]


def near_counts(table: Table) -> list[str]:
    """Return two texts, for DP-LSW and for DP-LSL: how many ratios (see `ratios`) are at most `NEAR`."""
    rows = ratios(table)
    found = {name: [x for key, _, xs in rows if key == name for x in xs] for name in ("LSW", "LSL")}
    return [f"DP-{name} in {sum(x <= NEAR for x in xs)} of {len(xs)}" for name, xs in found.items()]


def _small(rows: Table) -> Iterator[str]:
    """Yield sentences on batches where an estimate of 0 beats DP-LSW, and on the data that DP-LSW needs."""
    held = {(row["trajectories"], row["bound"], row["method"]): row["rmse"] for row in rows}
    sizes = sorted(different(rows, "trajectories"))
    worse = [m for m in sizes if held[m, BOUNDS[-1], OWN] >= held[m, BOUNDS[-1], ZERO]]
    if not worse:
        return
    told = listed([_told(held, worse[-1], bound) for bound in BOUNDS])
    needed = "; ".join(_enough(held, sizes, bound) for bound in BOUNDS)
    yield (
        f"On small data DP-LSW has a larger error than an estimate of 0. With {worse[-1]} trajectories at epsilon "
        f"{SMALL_EPSILON} and delta {SMALL_DELTA} its RMSE is {told}. The values lie in [0, 1], and 0 everywhere has "
        f"{held[worse[-1], BOUNDS[-1], ZERO]:.3g}. Trajectories that DP-LSW needs, of the batch sizes run: "
        f"{needed}."
    )


def _told(held: Mapping[tuple[int, float, str], float], trajectories: int, bound: float) -> str:
    own, plain = (held[trajectories, bound, method] for method in (OWN, PLAIN))
    return f"{own:.3g} with Fmax {bound:g} (plain Gaussian noise on counts and sums: {plain:.3g})"


def _enough(held: Mapping[tuple[int, float, str], float], sizes: Sequence[int], bound: float) -> str:
    """Return the batch size from which on DP-LSW is better."""
    words = []
    for other in (ZERO, PLAIN):
        enough = [m for m in sizes if held[m, bound, OWN] < held[m, bound, other]]
        name = "an estimate of 0" if other == ZERO else "plain Gaussian noise"
        words.append(f"{enough[0] if enough else f'more than {sizes[-1]}'} to beat {name}")
    return f"with Fmax {bound:g} {listed(words)}"


def _sizes(sizes: Sequence[int]) -> str:
    return "none" if not sizes else str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _needed(wanted: Table) -> Iterator[dict[str, Any]]:
    """Yield rows with the ratio of the trajectories needed by the printed noise, at the same delta and Fmax."""
    known = {(r["algorithm"], r["features"], r["kind"]): r["trajectories"] for r in wanted}
    for row in wanted:
        found = row["trajectories"]
        theirs = known[row["algorithm"], row["features"], f"printed, {row['kind'].split(', ', 1)[1]}"]
        ratio = None if theirs is None or found is None else float(f"{theirs / found:.2g}")
        count = "more than 1e15" if found is None else f"{found:.3g}" if found > 10**7 else str(found)
        yield {**row, "count": count, "ratio": ratio}


_COLOURS = {"no privacy": "#444444", "printed": "#c0392b", "room": "#2471a3", "planned": "#1e8449"}


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
    """Draw a panel for each kind of features."""
    for name, axes in panels(figure, tuple(features)):
        held = [row for row in where(table, features=name) if chosen(row)]
        _lines(axes, held, "trajectories", what)
        axes.set(title=name, xlabel=label, ylabel="RMSE" if what == "rmse" else "excess empirical risk")


def _ridges(figure: Figure, table: Table, swept: Table) -> None:
    """Draw a panel for each batch size: LSL against lambda, and LSW as horizontal lines."""
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
