"""``dpproof reproduce sdp-pe``: all arms, their tables and plots, and the page on what they show.

The page of the experiments, written from its tables: every number in it was measured by the run.

The figures as SVG: regret against epsilon, against the episode, in the bandit, and against switches.

What the runs say, as rows: regret, switches, noise and what became of the active policies.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from dpproof.executors import executor_for
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.reproduction.first_lines import written
from dpproof.reproduction.recorded import read_rows, read_run, write_run
from dpproof.reproduction.sdp_pe.arms import BETA, HORIZON, STATES, Arm, Kind, Size, arms
from dpproof.reproduction.sdp_pe.first_lines import first_lines, on_river_swim
from dpproof.reproduction.sdp_pe.runs import Found, points, run_arms
from dpproof.reproduction.style import STYLE, save
from dpproof.reproduction.tables import write_rows


def rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row an arm; regrets and switches are means over the seeds."""
    return [_row(arm, found[arm.name]) for arm in arms]


def _row(arm: Arm, runs: Found) -> dict[str, Any]:
    totals = runs.curves[:, -1]
    kept = [stages[-1].optimal_stays for stages in runs.stages if stages]
    return {
        "problem": arm.problem,
        "algorithm": arm.kind.value,
        "epsilon": arm.epsilon,
        "certified_epsilon": arm.epsilon if runs.certified is None else runs.certified,
        "delta": None if arm.epsilon is None else float(BETA),
        "noise": runs.noise,
        "regret": float(totals.mean()),
        "deviation": float(totals.std(ddof=1)) if len(totals) > 1 else 0.0,
        "worst": float(totals.max()),
        "switches": float(np.mean(runs.switches)),
        "stages": len(runs.stages[0]) or None,
        "optimal_stays": float(np.mean(kept)) if kept else None,
        "seeds": len(totals),
    }


def stage_rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row for each stage of each arm that eliminates: means over the seeds."""
    return [
        {
            "problem": arm.problem,
            "algorithm": arm.kind.value,
            "epsilon": arm.epsilon,
            "stage": number + 1,
            "length": reports[0].length,
            "level": float(np.mean([report.level for report in reports])),
            "infrequent": float(np.mean([report.infrequent for report in reports])),
            "coverage_gap": max(report.coverage_gap for report in reports),
            "threshold": float(np.mean([report.threshold for report in reports])),
            "active": float(np.mean([report.active for report in reports])),
            "optimal_stays": float(np.mean([report.optimal_stays for report in reports])),
            "worst_regret": float(np.mean([report.worst_regret for report in reports])),
        }
        for arm in arms
        for number, reports in enumerate(zip(*found[arm.name].stages, strict=True))
    ]


def write_curves(file: Path, arms: Sequence[Arm], found: Mapping[str, Found], episodes: int) -> None:
    """Write mean and standard deviation of every arm's cumulative regret at the kept episodes, as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("arm", "episode", "mean", "deviation"))
        for arm in arms:
            curves = found[arm.name].curves
            for place, m, d in zip(points(episodes), curves.mean(axis=0), curves.std(axis=0), strict=True):
                writer.writerow((arm.name, place, f"{m:.1f}", f"{d:.1f}"))


_SHADES = {kind: f"C{place}" for place, kind in enumerate(Kind)}
_HIDDEN = (Kind.PE_LITERAL, Kind.LITERAL)


def write_figures(
    folder: Path,
    arms: Sequence[Arm],
    found: Mapping[str, Found],
    table: Sequence[Mapping[str, Any]],
    never: float,
) -> list[Path]:
    """Write all figures and return their paths."""
    swim = [arm for arm in arms if arm.problem == "RiverSwim"]
    epsilons = sorted({arm.epsilon for arm in swim if arm.epsilon is not None})
    with mpl.rc_context(STYLE):
        files = [save(_against_epsilon(swim, found, never), folder / "epsilon.svg")]
        for epsilon in epsilons:
            chosen = [a for a in swim if a.epsilon in (None, epsilon) and a.kind not in _HIDDEN]
            title = f"RiverSwim, epsilon {epsilon:g}"
            files.append(save(_curves(chosen, found, title), folder / f"curves_{epsilon:g}.svg"))
        bandit = [arm for arm in arms if arm.problem == "bandit"]
        files.append(save(_curves(bandit, found, "bandit of 20 arms"), folder / "bandit.svg"))
        files.append(save(_switches(table), folder / "switches.svg"))
    return files


def _figure() -> tuple[Figure, Any]:
    figure = Figure(figsize=(6, 4), layout="constrained")
    return figure, figure.subplots()


def _against_epsilon(arms: Sequence[Arm], found: Mapping[str, Found], never: float) -> Figure:
    figure, axes = _figure()
    for kind in Kind:
        chosen = [arm for arm in arms if arm.kind is kind]
        totals = [found[arm.name].curves[:, -1] for arm in chosen]
        if chosen and chosen[0].epsilon is None:
            axes.axhline(totals[0].mean(), color=_SHADES[kind], linestyle=":", label=kind.value)
        elif chosen:
            epsilons = [arm.epsilon for arm in chosen]
            means, spreads = [t.mean() for t in totals], [t.std() for t in totals]
            axes.errorbar(epsilons, means, spreads, color=_SHADES[kind], label=kind.value, capsize=2)
    axes.axhline(never, color="#999999", linewidth=0.8, label="never learning")
    axes.set(xscale="log", xlabel="epsilon", ylabel="final regret", ylim=(0, 1.05 * never))
    axes.legend(frameon=False, fontsize=6)
    return figure


def _curves(arms: Sequence[Arm], found: Mapping[str, Found], title: str) -> Figure:
    figure, axes = _figure()
    for arm in arms:
        curves = found[arm.name].curves
        mean, spread = curves.mean(axis=0), curves.std(axis=0)
        places = points(arm.episodes)
        axes.plot(places, mean, color=_SHADES[arm.kind], linewidth=1.4, label=arm.kind.value)
        axes.fill_between(
            places, mean - spread, mean + spread, color=_SHADES[arm.kind], alpha=0.15, linewidth=0
        )
    axes.set(xlabel="episode", ylabel="cumulative regret", title=title, ylim=(0, None))
    axes.legend(frameon=False, fontsize=6)
    return figure


def _switches(table: Sequence[Mapping[str, Any]]) -> Figure:
    figure, axes = _figure()
    for row in table:
        if row["problem"] == "RiverSwim" and row["epsilon"] in (None, 1.0):
            kind = Kind(row["algorithm"])
            axes.plot(max(row["switches"], 1), row["regret"], "o", color=_SHADES[kind], label=kind.value)
    axes.set(xscale="log", xlabel="policy switches", ylabel="final regret", ylim=(0, None))
    axes.legend(frameon=False, fontsize=6)
    return figure


Row = Mapping[str, Any]


def page(
    size: Size, seed: int, never: float, table: Sequence[Row], stages: Sequence[Row], files: Sequence[Path]
) -> str:
    """The page as Markdown."""
    swim = on_river_swim(table)
    lines = [
        "# SDP-PE on RiverSwim and a bandit: Figures 6 to 8 again",
        "",
        *written(first_lines(never, swim)),
        "Generated by `dpproof reproduce sdp-pe`. RiverSwim with X = 4, A = 2, H = 6, where 262144 policies "
        f"differ; {size.episodes} episodes, {size.seeds} seeds (root seed {seed}). Regret is exact: a policy "
        "or a mixture is evaluated in the true model. Never learning costs "
        f"{never:.0f}. A guarantee is (epsilon, {BETA}) about one user (an episode) replaced; *certified* is "
        "the epsilon that the noise really gives. *Noise* is the standard deviation of one counter of the "
        "longest batch, messages sent as bits. Rewards of elimination are bits, 1 with the chance paid; "
        "optimism (UCB-VI is DP-UCBVI of Qiao and Wang, Gaussian noise through the square root of the "
        "running count, and of each user's own counts) counts their means. Constants are tuned ones, "
        "without a regret guarantee, but where literal ones are named. With *visits summed* N(h, x, a) has "
        "no counters: it is the sum of the released N(h, x, a, x'), so that a replaced user changes fewer.",
        "",
        "## RiverSwim",
        "",
        *_table(swim),
        "",
        "## The bandit",
        "",
        "Twenty arms, a new bandit each seed; users differ. Optimism here sees bits too.",
        "",
        *_table([row for row in table if row["problem"] == "bandit"]),
        "",
        "## What it shows",
        "",
        *(f"- {text}" for text in _findings(never, size.episodes, swim, stages)),
        "",
        "## Plots",
        "",
        *(f"![{file.stem}]({file.parent.name}/{file.name})" for file in files),
        "",
    ]
    return "\n".join(lines)


def _table(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| algorithm | epsilon | certified | noise | regret | deviation | switches | best policy kept |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            row["algorithm"],
            "none" if row["epsilon"] is None else f"{row['epsilon']:g}",
            "-" if row["epsilon"] is None else f"{row['certified_epsilon']:.3g}",
            "-" if row["noise"] is None else f"{row['noise']:.1f}",
            f"{row['regret']:.0f}",
            f"{row['deviation']:.0f}",
            ("" if row["stages"] else "at least ") + f"{row['switches']:.0f}",
            "-" if row["optimal_stays"] is None else f"{row['optimal_stays']:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _findings(never: float, episodes: int, swim: Sequence[Row], stages: Sequence[Row]) -> list[str]:
    """Sentences whose numbers, and whose direction, are read off the tables."""
    return [
        *_noise(swim),
        *_order(swim),
        *_literal(never, episodes, swim, stages),
        *_switching(swim),
        _coverage(stages),
    ]


def _pick(rows: Sequence[Row], kind: Kind) -> dict[float | None, Row]:
    return {row["epsilon"]: row for row in rows if row["algorithm"] == kind.value}


def _noise(swim: Sequence[Row]) -> list[str]:
    """Printed against calibrated noise at one guarantee."""
    printed, own = _pick(swim, Kind.PRINTED), _pick(swim, Kind.CALIBRATED)
    ratios = [f"{printed[e]['noise'] / own[e]['noise']:.1f} at epsilon {e:g}" for e in own]
    regrets = [f"{printed[e]['regret']:.0f} to {own[e]['regret']:.0f} at epsilon {e:g}" for e in own]
    return [
        f"The printed noise is larger than what the same guarantee needs by a factor of {', '.join(ratios)}.",
        f"Calibrating it takes the regret from {', '.join(regrets)}.",
    ]


def _order(swim: Sequence[Row]) -> list[str]:
    """The algorithms from the least regret to the largest, at each epsilon."""
    kinds = (Kind.LDP, Kind.JDP, Kind.PRINTED, Kind.CALIBRATED, Kind.SUMMED)
    found = []
    for epsilon in _pick(swim, Kind.JDP):
        chosen = [_pick(swim, kind)[epsilon] for kind in kinds if epsilon in _pick(swim, kind)]
        rows = sorted(chosen, key=lambda row: float(row["regret"]))
        names = " < ".join(f"{row['algorithm']} ({row['regret']:.0f})" for row in rows)
        found.append(f"Epsilon {epsilon:g}: {names}.")
    return found


def _literal(never: float, episodes: int, swim: Sequence[Row], stages: Sequence[Row]) -> list[str]:
    found, value = [], never / episodes
    for kind in (Kind.PE_LITERAL, Kind.LITERAL):
        runs = [row for row in stages if row["algorithm"] == kind.value]
        regrets = [row["regret"] for row in swim if row["algorithm"] == kind.value]
        found.append(
            f"{kind.value} (C = 1, C_1 = 6): the smallest threshold is "
            f"{min(row['threshold'] for row in runs):.3g}, above every difference of values "
            f"({value:.3f} at most); of 262144 policies {min(row['active'] for row in runs):.0f} "
            f"stay; the regret is {min(regrets):.0f} to {max(regrets):.0f} of {never:.0f}."
        )
    return found


def _switching(swim: Sequence[Row]) -> list[str]:
    found = []
    for epsilon, row in _pick(swim, Kind.CALIBRATED).items():
        found.append(
            f"SDP-PE at epsilon {epsilon:g}: {row['switches']:.0f} switches in {row['stages']} stages; the "
            f"policy of UCB-VI under JDP changes at least {_pick(swim, Kind.JDP)[epsilon]['switches']:.0f} "
            "times."
        )
    found.append(
        "The paper reports 88 switches: eight policies (six layers, two parts of fine exploration) in each "
        "of 11 stages. Twelve stages are needed; the first has episodes for two layers, the second for four."
    )
    return found


def _coverage(stages: Sequence[Row]) -> str:
    worst = max(row["coverage_gap"] for row in stages)
    return (
        "Equation (4) over single policies is infinite while two active policies differ where one of them "
        f"comes. The mixtures played instead are within {worst:.2%} of the least worst coverage, by their "
        "duality gap (Lemma 9 as repaired allows 2.08%)."
    )


FULL: Final = Size(episodes=20_000, seeds=20, epsilons=(0.1, 0.3, 1.0, 3.0, 10.0))
QUICK: Final = Size(episodes=20_000, seeds=2, epsilons=(0.1, 1.0))


def run(
    folder: Path, quick: bool, seed: int, size: Size | None = None, workers: int | None = None
) -> Mapping[str, Any]:
    """Run the experiments; write the page `sdp_pe.md`, and tables and plots into a folder beside it.

    `size` stands for the full or the quick size, `workers` for the number of processes.
    """
    size = size or (QUICK if quick else FULL)
    begin = time.perf_counter()
    environment = river_swim(STATES, HORIZON)
    never = float(environment.optimal_values()[0, environment.start]) * size.episodes
    chosen = list(arms(size))
    with executor_for(workers or os.cpu_count() or 1) as executor:
        found = run_arms(chosen, size.seeds, seed, executor)
    table, stages = rows(chosen, found), stage_rows(chosen, found)
    beside = folder / "sdp_pe"
    beside.mkdir(parents=True, exist_ok=True)
    write_rows(beside / "regret.csv", table)
    write_rows(beside / "stages.csv", stages)
    write_curves(beside / "curves.csv", chosen, found, size.episodes)
    files = write_figures(beside, chosen, found, table, never)
    write_run(beside, size, seed, never=never, plots=[file.name for file in files])
    (folder / "sdp_pe.md").write_text(page_again(folder), encoding="utf-8")
    return {
        "experiment": "sdp-pe",
        "episodes": size.episodes,
        "seeds": size.seeds,
        "seed": seed,
        "never_learning": never,
        "first_lines": first_lines(never, on_river_swim(table)),
        "rows": table,
        "stages": stages,
        "seconds": time.perf_counter() - begin,
        "folder": folder.as_posix(),
    }


def page_again(folder: Path) -> str:
    """Return the page, written from the tables in the folder beside it."""
    beside = folder / "sdp_pe"
    held = read_run(beside, Size)
    table, stages = read_rows(beside / "regret.csv"), read_rows(beside / "stages.csv")
    files = [beside / name for name in held.more["plots"]]
    return page(held.size, held.seed, held.more["never"], table, stages, files)
