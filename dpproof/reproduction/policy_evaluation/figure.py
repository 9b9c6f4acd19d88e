"""``dpproof reproduce policy-evaluation``: the runs, their tables and plots, and the page.

The page of the experiment, written from its tables: every number in it was computed by the run.

The plots of Figure 1, and one at a small delta: means and standard errors, as SVG.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.reproduction.first_lines import written
from dpproof.reproduction.policy_evaluation.claims import claims
from dpproof.reproduction.policy_evaluation.first_lines import first_lines
from dpproof.reproduction.policy_evaluation.kinds import EPSILON, FEATURES, KINDS, Size
from dpproof.reproduction.policy_evaluation.runs import needed, other_noise, rows
from dpproof.reproduction.policy_evaluation.small import DELTA, METHODS, small_data
from dpproof.reproduction.policy_evaluation.small import EPSILON as EPSILON_HERE
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.style import STYLE, save
from dpproof.reproduction.tables import write_rows

_COLOURS = {"no privacy": "#444444", "printed": "#c0392b", "room": "#2471a3", "planned": "#1e8449"}
_NONE = "no privacy"


def write_figures(folder: Path, table: Sequence[Row], swept: Sequence[Row]) -> list[Path]:
    """One SVG for each plot; their paths."""
    batches = "trajectories m"
    plots: dict[str, Callable[[Any], None]] = {
        "non_private": lambda f: _pair(f, table, lambda r: r["kind"] == _NONE, "rmse", batches),
        "ridge": lambda f: _ridges(f, table, swept),
        "aggregated": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("aggregated",)),
        "tabular": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("tabular",)),
        "risk": lambda f: _pair(f, table, _loose("0.1", none=False), "risk", batches),
        "small_delta": lambda f: _pair(f, table, _loose("1e-6"), "rmse", batches),
        "public_bound": lambda f: _pair(f, table, _tight, "rmse", batches),
    }
    files = []
    with mpl.rc_context(STYLE):
        for name, draw in plots.items():
            figure = Figure(figsize=(9, 3.6), layout="constrained")
            draw(figure)
            files.append(save(figure, folder / f"{name}.svg"))
    return files


def _loose(delta: str, none: bool = True) -> Callable[[Row], bool]:
    def chosen(row: Row) -> bool:
        return (none and row["kind"] == _NONE) or f"delta {delta}, Fmax 100" in row["kind"]

    return chosen


def _tight(row: Row) -> bool:
    return bool(row["kind"] == _NONE or row["kind"].endswith("delta 1e-6, Fmax 1"))


def _pair(
    figure: Figure, table: Sequence[Row], chosen: Callable[[Row], bool], what: str, label: str,
    features: Iterable[str] = tuple(FEATURES),
) -> None:  # fmt: skip
    """A panel for each kind of features."""
    names = tuple(features)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        held = [row for row in table if row["features"] == name and chosen(row)]
        _lines(axes, held, "trajectories", what)
        axes.set(title=name, xlabel=label, ylabel="RMSE" if what == "rmse" else "excess empirical risk")


def _ridges(figure: Figure, table: Sequence[Row], swept: Sequence[Row]) -> None:
    """A panel for each batch size: LSL against lambda, LSW as level lines."""
    sizes = sorted({row["trajectories"] for row in swept})
    for axes, size in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        held = [row for row in swept if row["trajectories"] == size]
        _lines(axes, held, "ridge", "rmse")
        kinds = {row["kind"] for row in held}
        for row in table:
            if (row["trajectories"], row["features"], row["algorithm"]) == (size, "tabular", "LSW") and row[
                "kind"
            ] in kinds:
                axes.axhline(row["rmse"], color=_colour(row["kind"]), linestyle="--", linewidth=1)
        axes.set(title=f"tabular, m = {size} (dashed: LSW)", xlabel="lambda", ylabel="RMSE")


def _colour(kind: str) -> str:
    return _COLOURS[kind.split(",")[0]]


def _lines(axes: Axes, table: Sequence[Row], along: str, what: str) -> None:
    for algorithm, style in (("LSW", "--"), ("LSL", "-")):
        for kind in dict.fromkeys(row["kind"] for row in table):
            held = [row for row in table if (row["algorithm"], row["kind"]) == (algorithm, kind)]
            if held:
                places, values = [row[along] for row in held], [row[what] for row in held]
                errors = [row[f"{what}_error"] for row in held]
                label = f"{algorithm}, {kind.split(', delta')[0]}"
                axes.errorbar(
                    places, values, errors, linestyle=style, color=_colour(kind), linewidth=1.2, label=label
                )
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=6)


Row = Mapping[str, Any]


def page(
    size: Size, seed: int, table: Sequence[Row], swept: Sequence[Row], small: Sequence[Row],
    needed: Sequence[Row], others: Sequence[Row], error: float, files: Sequence[Path],
) -> str:  # fmt: skip
    """The page as Markdown."""
    lines = [
        "# Private policy evaluation on the chain: Figure 1 again",
        "",
        *written(first_lines(table, swept, small, size.runs)),
        *_about(size, seed),
        "",
        *_measured(table),
        "",
        "## Small data",
        "",
        *_small(small),
        "",
        "## What the paper says of it",
        "",
        *claims(table, swept),
        "",
        f"## Trajectories until the noise is at most {error:g}",
        "",
        "On expected visits; the noise's part of the RMSE is its deviation, values lie in [0, 1]. Numbers "
        "are enough, and at most 1.3% more than the least; DP-LSL has lambda = 2 ||Phi||^2 sqrt(m).",
        "",
        *_needed(needed),
        "",
        "## Other noise",
        "",
        "DP-LSW on expected visits, Fmax 1: the standard deviation of a coordinate, each kind with the best "
        "smoothing tried. Student's t and Laplace-log-normal noise are certified through zCDP, with room to "
        "spare, the Gaussian exactly; with one "
        "feature others can be better (docs/notes/policy_evaluation.md).",
        "",
        *_others(others),
        "",
        "## Plots",
        "",
        *(f"![{file.stem}]({file.parent.name}/{file.name})" for file in files),
        "",
    ]
    return "\n".join(lines)


def _about(size: Size, seed: int) -> list[str]:
    """What is run, and what the words in the tables mean."""
    return [
        "Generated by `dpproof reproduce policy-evaluation`. The chain of N = 40 states, stay with p = "
        ".5, reward 1 on reaching the last state, gamma = .99; RMSE against exact dynamic programming "
        f"over all 40 states; {size.runs} runs (root seed {seed}), means and standard errors; epsilon "
        f"{EPSILON}, one trajectory replaced. Left open by the paper and chosen here: uniform start before "
        "the last state, which is visited with return 0; w = 1/N, rho = 1, lambda = 2 ||Phi||^2 sqrt(m). "
        "Aggregation joins neighbouring pairs, also the last state, of value 0, with the one before, of "
        "value .99: that pair alone keeps the RMSE of every aggregated estimate above .11.",
        "",
        "*printed* is the paper's alpha and beta. *room* is exact: 1.1 times the noise of constant scale, "
        "and the most smoothing certified with it; no data looked at. *planned* is exact with the "
        "smoothing chosen for the visits that are expected. Fmax bounds returns publicly: 100 is Rmax/(1 "
        "- gamma), 1 is true of this chain. The envelope of DP-LSL is that of the algorithm, with the "
        "minimum: the maximum that the paper's Lemma 9 prints is refuted (`eval.lemma9.constant`).",
    ]


def _measured(table: Sequence[Row]) -> list[str]:
    lines = []
    for features in dict.fromkeys(row["features"] for row in table):
        held = [row for row in table if row["features"] == features]
        sizes = sorted({row["trajectories"] for row in held})
        shown = [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
        lines += [
            f"## RMSE, {features}",
            "",
            f"| algorithm | noise | {' | '.join(f'm = {m}' for m in shown)} |",
        ]
        lines += ["|---|---|" + "---|" * len(shown)]
        for algorithm in ("LSW", "LSL"):
            for kind in KINDS:
                cells = [_cell(held, algorithm, kind.name, m) for m in shown]
                lines.append(f"| {algorithm} | {kind.name} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def _cell(table: Sequence[Row], algorithm: str, kind: str, trajectories: int) -> str:
    row = next(
        r for r in table if (r["algorithm"], r["kind"], r["trajectories"]) == (algorithm, kind, trajectories)
    )
    return _rmse(row)


def _rmse(row: Row) -> str:
    return f"{row['rmse']:.3g} ± {row['rmse_error']:.1g}"


def _small(small: Sequence[Row]) -> list[str]:
    first = small[0]
    lines = [
        f"RMSE on tabular features at epsilon {EPSILON_HERE}, delta {DELTA}; mean and standard error over "
        f"{first['runs']} runs (root seed {first['root']}). DP-LSW has the noise of `DPLSW` with calibration "
        "room. *Gaussian counts and sums* adds Gaussian noise to the visits and the sums of returns of every "
        "state, with the same guarantee, divides, and cuts the quotient to [0, Fmax].",
        "",
        f"| trajectories | Fmax | {' | '.join(METHODS)} |",
        "|---|---|" + "---|" * len(METHODS),
    ]
    held = {(row["trajectories"], row["bound"], row["method"]): row for row in small}
    for trajectories, bound in dict.fromkeys(key[:2] for key in held):
        *noisy, zero = (held[trajectories, bound, method] for method in METHODS)
        cells = [*map(_rmse, noisy), f"{zero['rmse']:.3g}"]
        lines.append(f"| {trajectories} | {bound:g} | {' | '.join(cells)} |")
    return lines


def _needed(needed: Sequence[Row]) -> list[str]:
    """Trajectories by kind, and how many times fewer than printed, at the same delta and Fmax."""
    lines = ["| algorithm | features | noise | trajectories | printed over it |", "|---|---|---|---|---|"]
    known = {(r["algorithm"], r["features"], r["kind"]): r["trajectories"] for r in needed}
    for (algorithm, features, kind), found in known.items():
        theirs = known[algorithm, features, f"printed, {kind.split(', ', 1)[1]}"]
        ratio = "-" if theirs is None or found is None else f"{float(f'{theirs / found:.2g}'):g}"
        count = "more than 1e15" if found is None else f"{found:.3g}" if found > 10**7 else str(found)
        lines.append(f"| DP-{algorithm} | {features} | {kind} | {count} | {ratio} |")
    return lines


def _others(others: Sequence[Row]) -> list[str]:
    lines = ["| features | delta | m | noise | beta | deviation |", "|---|---|---|---|---|---|"]
    for r in others:
        what = (r["features"], r["delta"], r["trajectories"], r["noise"])
        lines.append(f"| {' | '.join(map(str, what))} | {r['beta']:.3g} | {r['deviation']:.3g} |")
    return lines


_GRID = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
FULL: Final = Size((*_GRID, 300_000, 1_000_000), (10_000, 100_000), 20)
QUICK: Final = Size(_GRID[::2], (10_000, 100_000), 3, (1000, 10_000, 100_000), 10)
ERROR: Final = 0.1
_TABLES: Final = ("batches", "ridge", "small", "needed", "alternatives")


def run(folder: Path, quick: bool, seed: int, size: Size | None = None) -> Mapping[str, Any]:
    """Run the experiment; write `policy_evaluation.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    table, swept = rows(size, seed)
    small = small_data(size, seed)
    wanted, others = needed(ERROR), other_noise(size.swept[-1])
    beside = folder / "policy_evaluation"
    beside.mkdir(parents=True, exist_ok=True)
    for name, held in zip(_TABLES, (table, swept, small, wanted, others), strict=True):
        write_rows(beside / f"{name}.csv", held, digits=9)
    files = write_figures(beside, table, swept)
    write_run(beside, size, seed, error=ERROR, plots=[file.name for file in files])
    (folder / "policy_evaluation.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "policy-evaluation",
        "epsilon": float(EPSILON),
        "runs": size.runs,
        "seed": seed,
        "first_lines": first_lines(table, swept, small, size.runs),
        "rows": table,
        "ridge": swept,
        "small": small,
        "needed": wanted,
        "alternatives": others,
        "error": ERROR,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "policy_evaluation"
    held = read_run(beside, Size)
    tables = [read_rows(beside / f"{name}.csv", text=("delta",)) for name in _TABLES]
    table, swept, small, wanted, others = tables
    files = [beside / name for name in held.more["plots"]]
    return page(held.size, held.seed, table, swept, small, wanted, others, held.more["error"], files)
