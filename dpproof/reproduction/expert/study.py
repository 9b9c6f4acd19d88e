"""The experiment of expert-level learning: the sentences of its page, and the plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.executors import executor_for
from dpproof.mechanisms.environments.lunar_lander import has_box2d
from dpproof.mechanisms.rl.expert.problems import PROBLEMS
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.expert.histograms import COUNTED, EPISODES
from dpproof.reproduction.expert.judges import JUDGES
from dpproof.reproduction.expert.settings import ALONE, CHOICES, FULL, HIV_EPSILON, QUICK, Size
from dpproof.reproduction.first_lines import equal_rows, few_runs, listed
from dpproof.reproduction.pages import Plots, panels, write_plots
from dpproof.reproduction.tables import Row, Table, different, where

EXTRA: Final = "pip install 'dpproof[rl,torch]'"
_METHODS: Final = ("printed", "calibrated")
_WHY: Final = {
    "hiv": "Its first state is fixed and its dynamics have no chance, so that a policy has one return; the "
    "policies of these rows play the same actions.",
}


class ExpertLearning(Study[Size]):
    """The experiment of section 6 of Sharma et al. (2024), with certified noise next to the printed noise.

    If Box2D is not installed, LunarLander is left out, and the page states this. If a run was interrupted and
    is started again in the same folder, the run continues with the unfinished methods.
    """

    paper = "expert"
    tables = ("returns", "runs", "releases", "experts", "histogram")
    judges = JUDGES
    full = FULL
    quick = QUICK

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Run the experiment, with at most `workers` methods at a time, and return the results."""
        check_installed()
        from dpproof.reproduction.expert.runs import run_problems

        skipped = [] if has_box2d() else [name for name in size.problems if name == "lunarlander"]
        size = replace(size, problems=tuple(name for name in size.problems if name not in skipped))
        with executor_for(workers) as executor:
            found = dict(zip(self.tables, run_problems(size, seed, executor, folder / "parts"), strict=True))
        plots = write_plots(folder, _plots(found), (3 * len(size.problems), 2.8))
        return Measured(size, seed, found, plots, {"skipped": skipped})

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on disagreements with the paper, and on what the numbers cannot show."""
        returns = found.tables["returns"]
        return [*_compared(returns), *_undecided(returns), *few_runs(found.size.runs)]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""
        return {
            "experts": found.size.experts,
            "runs": found.size.runs,
            "seed": found.seed,
            "skipped": found.more["skipped"],
            "first_lines": first,
            "rows": found.tables["returns"],
            "releases": found.tables["releases"],
            "logged": found.tables["experts"],
            "histogram": found.tables["histogram"],
        }

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """Return the values that the template of the experiment's page shows, by name."""
        returns, releases, logged = (found.tables[name] for name in ("returns", "releases", "experts"))
        return {
            **found.more,
            "returns": returns,
            "releases": releases,
            "logged": logged,
            "counted": COUNTED,
            "episodes_each": EPISODES,
            "units": [f"{p.unit:g} for {name}" for name, p in PROBLEMS.items() if p.unit != 1],
            "findings": list(_findings(returns, releases)),
        }


STUDY: Final = ExpertLearning()


def missing() -> list[str]:
    """Return the required packages that are not installed."""
    return [name for name in ("torch", "gymnasium") if find_spec(name) is None]


def check_installed() -> None:
    """Check that all required packages are installed.

    Raises:
        ValueError: saying what to install.
    """
    if missing():
        raise ValueError(f"The experiment expert needs {' and '.join(missing())}: {EXTRA}")


def _compared(returns: Table) -> Iterator[str]:
    """Yield in how many comparisons DP-SGD has the larger mean return, and in how many the paper's method has it."""
    held = [row for row in returns if row["method"] in _METHODS and _in_paper(row)]
    pairs = [(own, _plain(returns, own)) for own in held]
    lower = [(own, plain) for own, plain in pairs if own["return"] < plain["return"]]
    higher = [(own, plain) for own, plain in pairs if own["return"] > plain["return"]]
    if pairs:
        yield (
            f"The paper's method is compared with DP-SGD {len(pairs)} times, at the budgets at which the paper reports "
            f"its method, with printed and with calibrated noise. DP-SGD has the larger mean return in "
            f"{len(lower)} of them{_clear(lower)}, and the method in {len(higher)}{_clear(higher)}. Where intervals "
            "overlap, these runs do not decide the order. This experiment is smaller than the paper's, which may help "
            "one of the two more."
        )


def _clear(pairs: Sequence[tuple[Row, Row]]) -> str:
    """Return where the 95% intervals of these pairs do not overlap, in brackets; nothing without pairs."""
    apart = [
        f"{own['problem']} with {own['method']} noise at epsilon {own['epsilon']:g}"
        for own, plain in pairs
        if abs(plain["return"] - own["return"]) > own["interval"] + plain["interval"]
    ]
    overlap = "all intervals overlap" if not apart else f"the 95% intervals do not overlap on {listed(apart)}"
    return f" ({overlap})" if pairs else ""


def _in_paper(row: Row) -> bool:
    """Return whether the paper reports its method at this budget. Otherwise it uses DP-SGD, or reports nothing."""
    reported = row["problem"] != "hiv" or row["epsilon"] == HIV_EPSILON
    return reported and CHOICES[row["problem"]][row["epsilon"]].printed


def _plain(returns: Table, own: Row) -> Row:
    """Return DP-SGD's row on the same problem at the same epsilon."""
    return where(returns, problem=own["problem"], method="DP-SGD", epsilon=own["epsilon"])[0]


def _groups(returns: Table, problem: str) -> list[list[Row]]:
    return equal_rows(where(returns, problem=problem), ("return", "interval"))


def _undecided(returns: Table) -> Iterator[str]:
    """Yield sentences on rows that are exactly equal, for each problem."""
    for problem in different(returns, "problem"):
        groups = _groups(returns, problem)
        if not groups:
            continue
        told = "; ".join(f"{listed(_names(group))} ({_shown(group[0])})" for group in groups)
        why = f" {_WHY[problem]}" if problem in _WHY else ""
        yield (
            f"{problem} has equal rows: to the last digit the return is the same for {told}. The differences "
            f"between such rows did not change the measured return.{why}"
        )


def _names(group: Table) -> list[str]:
    return [
        row["method"] if row["epsilon"] is None else f"{row['method']} at epsilon {row['epsilon']:g}"
        for row in group
    ]


def _shown(row: Row) -> str:
    return f"{row['return']:.4g} ± {row['interval']:.2g}"


def _findings(returns: Table, releases: Table) -> Iterator[str]:
    """Yield sentences that the tables imply."""
    for name in different(returns, "problem"):
        held = where(returns, problem=name)
        epsilons = sorted(epsilon for epsilon in different(held, "epsilon") if epsilon is not None)
        for epsilon in epsilons:
            ranked = sorted(where(held, epsilon=epsilon), key=lambda row: -row["return"])
            order = " > ".join(f"{row['method']} ({row['return']:.4g})" for row in ranked)
            clear = _apart(ranked[0], ranked[1])
            yield f"{name}, epsilon {epsilon:g}: {order}; the first two intervals {clear}."
        (last,) = where(releases, problem=name, epsilon=epsilons[-1])
        ours, theirs = last["calibrated_released"], last["printed_released"]
        yield f"{name}, epsilon {epsilons[-1]:g}: {ours:.3g} transitions released, {theirs:.3g} with printed noise."


def _apart(first: Row, second: Row) -> str:
    gap = first["return"] - second["return"]
    return "do not meet" if gap > first["interval"] + second["interval"] else "overlap"


_COLOURS = {"DP-SGD": "#0072B2", "printed": "#D55E00", "calibrated": "#009E73", ALONE: "#CC79A7"}
_SHIFTS = {"DP-SGD": 0.97, "printed": 1.0, "calibrated": 1.03, ALONE: 1.06}
"""Horizontal shifts of the methods, so that their intervals do not overlap."""


def _plots(tables: Mapping[str, Table]) -> Plots:
    """Return three plots with a panel for each problem."""
    returns, releases, experts, histogram = (
        tables[x] for x in ("returns", "releases", "experts", "histogram")
    )
    names = different(returns, "problem")

    def draw(one: Callable[[Axes, str], None], label: str, figure: Figure) -> None:
        for problem, axes in panels(figure, names):
            one(axes, problem)
            axes.set(title=problem, xlabel=label)

    return {
        "returns": partial(draw, lambda axes, problem: _returns(axes, problem, returns, experts), "epsilon"),
        "released": partial(draw, lambda axes, problem: _released(axes, problem, releases), "epsilon"),
        "experts": partial(draw, lambda axes, problem: _counted(axes, problem, histogram), "mean return"),
    }


def _counted(axes: Axes, problem: str, histogram: Table) -> None:
    """Draw how many experts have which mean return, as in Figure 2 of the paper."""
    rows = where(histogram, problem=problem)
    edges = [row["low"] for row in rows] + [rows[-1]["high"]]
    axes.stairs([row["experts"] for row in rows], edges, fill=True, color="#2471a3")
    axes.set(ylabel="experts")


def _returns(axes: Axes, problem: str, returns: Table, experts: Table) -> None:
    held = where(returns, problem=problem)
    for row in where(held, epsilon=None):
        axes.axhline(row["return"], color="#444444", linewidth=1, label="CQL, no privacy")
    for row in where(experts, problem=problem):
        axes.axhline(row["mean"], color="#999999", linewidth=1, linestyle=":", label="experts")
    for method, colour in _COLOURS.items():
        if mine := where(held, method=method):
            places = [row["epsilon"] * _SHIFTS[method] for row in mine]
            values, errors = [row["return"] for row in mine], [row["interval"] for row in mine]
            axes.errorbar(
                places, values, errors, marker="o", markersize=3, linewidth=1, color=colour, label=method
            )
    axes.set(xscale="log", ylabel="mean return, 95% intervals")
    axes.legend(frameon=False, fontsize=6)


def _released(axes: Axes, problem: str, releases: Table) -> None:
    held = where(releases, problem=problem)
    for kind in ("printed", "calibrated"):
        places, values = [row["epsilon"] for row in held], [row[f"{kind}_released"] for row in held]
        axes.plot(places, values, marker="o", markersize=3, linewidth=1, color=_COLOURS[kind], label=kind)
    axes.set(xscale="log", ylabel="released transitions, expected")
    axes.legend(frameon=False, fontsize=6)
