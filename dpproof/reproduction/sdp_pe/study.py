"""The experiments of SDP-PE: the sentences of the page, each computed from the tables, and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.executors import executor_for
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.reproduction.curves import draw_curve, write_curves
from dpproof.reproduction.engine import Measured, Study
from dpproof.reproduction.first_lines import equal_rows, few_runs, listed
from dpproof.reproduction.pages import Plots, write_plots
from dpproof.reproduction.sdp_pe.arms import (
    BETA,
    HORIZON,
    STATES,
    Arm,
    Found,
    Kind,
    Size,
    arms,
    rows,
    run_arms,
    stage_rows,
)
from dpproof.reproduction.sdp_pe.judges import JUDGES
from dpproof.reproduction.sdp_pe.noise import noise_rows
from dpproof.reproduction.tables import Row, Table, different, where

_KNOWN: Final = (
    "The possible transitions are taken as known. The algorithm as run here is told which next states are "
    "possible after each state and action, and learns only their probabilities. It also enumerates all "
    "policies, so that only tiny problems can be run."
)
_LEARNT: Final = 0.9
"""A regret above this share of the regret without learning counts as not having learnt."""


class ShufflePE(Study[Size]):
    """The experiments of Figures 6 to 8 of Bai et al. (2026), with certified noise next to the printed noise."""

    paper = "sdp-pe"
    tables = ("regret", "stages", "noise")
    judges = JUDGES
    full = Size(episodes=20_000, seeds=20, epsilons=(0.1, 0.3, 1.0, 3.0, 10.0))
    quick = Size(episodes=20_000, seeds=2, epsilons=(0.1, 1.0))

    def measure(self, size: Size, seed: int, folder: Path, workers: int) -> Measured[Size]:
        """Run the experiments, write their plots into the folder, and return the results.

        The results include the regret of a learner that never learns.
        """
        environment = river_swim(STATES, HORIZON)
        never = float(environment.optimal_values()[0, environment.start]) * size.episodes
        chosen = list(arms(size))
        with executor_for(workers) as executor:
            found = run_arms(chosen, size.seeds, seed, executor)
        tables = {
            "regret": rows(chosen, found),
            "stages": stage_rows(chosen, found),
            "noise": noise_rows(size.epsilons),
        }
        write_curves(
            folder / "curves.csv", {arm.name: found[arm.name].curves for arm in chosen}, size.episodes
        )
        plots = write_plots(folder, _plots(chosen, found, tables["regret"], never), (6, 4))
        return Measured(size, seed, tables, plots, {"never": never})

    def first_lines(self, found: Measured[Size]) -> list[str]:
        """Return sentences on disagreements with the paper in RiverSwim, and on what the numbers cannot show."""
        swim = _on_river_swim(found.tables["regret"])
        return [
            *_unlearnt(found.more["never"], swim),
            _KNOWN,
            *_undecided(swim),
            *few_runs(swim[0]["seeds"]),
        ]

    def answer(self, found: Measured[Size], first: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer of ``dpproof reproduce`` as JSON data. `first` holds the page's first sentences."""
        return {
            "episodes": found.size.episodes,
            "seeds": found.size.seeds,
            "seed": found.seed,
            "never_learning": found.more["never"],
            "first_lines": first,
            "rows": found.tables["regret"],
            "stages": found.tables["stages"],
            "noise": found.tables["noise"],
        }

    def shown(self, found: Measured[Size]) -> Mapping[str, Any]:
        """Return the values that the template of the experiment's page shows, by name."""
        never, table = found.more["never"], found.tables["regret"]
        findings = _findings(never, found.size.episodes, _on_river_swim(table), found.tables["stages"])
        return {
            "never": never,
            "beta": BETA,
            "table": table,
            "findings": findings,
            "noises": found.tables["noise"],
        }


STUDY: Final = ShufflePE()


def _on_river_swim(table: Table) -> list[Row]:
    return where(table, problem="RiverSwim")


def _by_epsilon(swim: Table, kind: Kind) -> dict[float, Row]:
    return {row["epsilon"]: row for row in where(swim, algorithm=kind.value)}


def _unlearnt(never: float, swim: Table) -> Iterator[str]:
    """Yield epsilons at which no private algorithm learns, so that their order means little."""
    found = []
    for epsilon in _by_epsilon(swim, Kind.JDP):
        least = min(row["regret"] for row in where(swim, epsilon=epsilon))
        if least > _LEARNT * never:
            found.append(
                f"{epsilon:g} (the least regret is {least / never:.0%} of the regret without learning)"
            )
    if found:
        yield f"No private algorithm learns at epsilon {listed(found)}. There their order means little."


def _undecided(swim: Table) -> Iterator[str]:
    """Yield sentences on rows that are exactly equal."""
    for group in equal_rows(swim, ("regret", "deviation")):
        names = listed(different(group, "algorithm"))
        epsilons = [f"{row['epsilon']:g}" for row in group if row["epsilon"] is not None]
        told = f" (epsilon {listed(epsilons)})" if epsilons else ""
        yield (
            f"{names}{told} decide nothing: to the last digit their regret is the same, "
            f"{group[0]['regret']:.0f} ± {group[0]['deviation']:.0f}."
        )


def _findings(never: float, episodes: int, swim: Table, stages: Table) -> list[str]:
    """Return sentences whose numbers, and whose direction, are computed from the tables."""
    return [
        *_noise(swim),
        *_ranking(swim),
        *_literal(never, episodes, swim, stages),
        *_switch_counts(swim),
        _coverage(stages),
    ]


def _noise(swim: Table) -> list[str]:
    """Return sentences that compare printed and calibrated noise at the same guarantee."""
    printed, own = _by_epsilon(swim, Kind.PRINTED), _by_epsilon(swim, Kind.CALIBRATED)
    ratios = [f"{printed[e]['noise'] / own[e]['noise']:.1f} at epsilon {e:g}" for e in own]
    regrets = [f"{printed[e]['regret']:.0f} to {own[e]['regret']:.0f} at epsilon {e:g}" for e in own]
    return [
        f"The printed noise is larger than what the same guarantee needs by a factor of {', '.join(ratios)}.",
        f"With calibrated noise the regret changes from {', '.join(regrets)}.",
    ]


def _ranking(swim: Table) -> list[str]:
    """Return the algorithms from the least regret to the largest, at each epsilon."""
    kinds = (Kind.LDP, Kind.JDP, Kind.PRINTED, Kind.CALIBRATED, Kind.SUMMED)
    found = []
    for epsilon in _by_epsilon(swim, Kind.JDP):
        chosen = [_by_epsilon(swim, kind)[epsilon] for kind in kinds if epsilon in _by_epsilon(swim, kind)]
        rows = sorted(chosen, key=lambda row: float(row["regret"]))
        names = " < ".join(f"{row['algorithm']} ({row['regret']:.0f})" for row in rows)
        found.append(f"Epsilon {epsilon:g}: {names}.")
    return found


def _literal(never: float, episodes: int, swim: Table, stages: Table) -> list[str]:
    found, value = [], never / episodes
    for kind in (Kind.PE_LITERAL, Kind.LITERAL):
        runs = where(stages, algorithm=kind.value)
        regrets = [row["regret"] for row in where(swim, algorithm=kind.value)]
        found.append(
            f"{kind.value} (C = 1, C_1 = 6): the smallest threshold is "
            f"{min(row['threshold'] for row in runs):.3g}, above every difference of values "
            f"({value:.3f} at most); of 262144 policies {min(row['active'] for row in runs):.0f} "
            f"stay; the regret is {min(regrets):.0f} to {max(regrets):.0f} of {never:.0f}."
        )
    return found


def _switch_counts(swim: Table) -> list[str]:
    found = []
    for epsilon, row in _by_epsilon(swim, Kind.CALIBRATED).items():
        found.append(
            f"SDP-PE at epsilon {epsilon:g}: {row['switches']:.0f} switches in {row['stages']} stages; the "
            f"policy of UCB-VI under JDP changes at least {_by_epsilon(swim, Kind.JDP)[epsilon]['switches']:.0f} "
            "times."
        )
    found.append(
        "The paper reports 88 switches: eight policies (six layers, two parts of fine exploration) in each "
        "of 11 stages. Twelve stages are needed; the first has episodes for two layers, the second for four."
    )
    return found


def _coverage(stages: Table) -> str:
    worst = max(row["coverage_gap"] for row in stages)
    return (
        "Equation (4) over single policies is infinite as long as two active policies differ in a state that one of "
        f"them reaches. The algorithm plays mixtures instead. By their duality gap they are within {worst:.2%} of the "
        "least worst coverage (Lemma 9 as repaired allows 2.08%)."
    )


_SHADES = {kind: f"C{place}" for place, kind in enumerate(Kind)}
_HIDDEN = (Kind.PE_LITERAL, Kind.LITERAL)


def _plots(arms: Sequence[Arm], found: Mapping[str, Found], table: Table, never: float) -> Plots:
    swim = [arm for arm in arms if arm.problem == "RiverSwim"]
    plots: dict[str, Callable[[Axes], None]] = {"epsilon": partial(_against_epsilon, swim, found, never)}
    for epsilon in sorted({arm.epsilon for arm in swim if arm.epsilon is not None}):
        chosen = [arm for arm in swim if arm.epsilon in (None, epsilon) and arm.kind not in _HIDDEN]
        plots[f"curves_{epsilon:g}"] = partial(_curves, chosen, found, f"RiverSwim, epsilon {epsilon:g}")
    bandit = [arm for arm in arms if arm.problem == "bandit"]
    plots["bandit"] = partial(_curves, bandit, found, "bandit of 20 arms")
    plots["switches"] = partial(_switches, table)
    return {name: partial(_draw, draw) for name, draw in plots.items()}


def _draw(draw: Callable[[Axes], None], figure: Figure) -> None:
    axes = figure.subplots()
    draw(axes)
    axes.legend(frameon=False, fontsize=6)


def _against_epsilon(arms: Sequence[Arm], found: Mapping[str, Found], never: float, axes: Axes) -> None:
    for kind in Kind:
        chosen = [arm for arm in arms if arm.kind is kind]
        totals = [found[arm.name].curves[:, -1] for arm in chosen]
        if chosen and chosen[0].epsilon is None:
            axes.axhline(totals[0].mean(), color=_SHADES[kind], linestyle=":", label=kind.value)
        elif chosen:
            epsilons = [arm.epsilon or 0.0 for arm in chosen]
            means, spreads = [t.mean() for t in totals], [t.std() for t in totals]
            axes.errorbar(epsilons, means, spreads, color=_SHADES[kind], label=kind.value, capsize=2)
    axes.axhline(never, color="#999999", linewidth=0.8, label="never learning")
    axes.set(xscale="log", xlabel="epsilon", ylabel="final regret", ylim=(0, 1.05 * never))


def _curves(arms: Sequence[Arm], found: Mapping[str, Found], title: str, axes: Axes) -> None:
    for arm in arms:
        draw_curve(axes, found[arm.name].curves, arm.episodes, "-", _SHADES[arm.kind], arm.kind.value)
    axes.set(xlabel="episode", ylabel="cumulative regret", title=title, ylim=(0, None))


def _switches(table: Table, axes: Axes) -> None:
    for row in _on_river_swim(table):
        if row["epsilon"] in (None, 1.0):
            kind = Kind(row["algorithm"])
            axes.plot(max(row["switches"], 1), row["regret"], "o", color=_SHADES[kind], label=kind.value)
    axes.set(xscale="log", xlabel="policy switches", ylabel="final regret", ylim=(0, None))
