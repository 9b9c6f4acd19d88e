"""The frontier page: regret against certified epsilon, who leads where, and what privacy costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.reproduction.first_lines import listed
from dpproof.reproduction.pages import Plots, rendered
from dpproof.reproduction.suite.arms import ARMS, Arm, Promise, arm_of
from dpproof.reproduction.suite.problems import PROBLEMS
from dpproof.reproduction.suite.runs import ROOT, cells
from dpproof.reproduction.suite.summary import FAILED, LEARNS, SURE, Score, Table

_PRIVATE: Final = (Promise.REPLACE, Promise.SHUFFLE, Promise.LOCAL, Promise.REWARDS)
_MARKS: Final = dict(zip(_PRIVATE, "osv^", strict=True))
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""


@dataclass(frozen=True)
class Lead:
    """Who leads on a problem among arms with the same promise, and whether the second is clearly behind.

    The second is the best arm that did not make the same runs as the first. It is None if there is none.
    """

    problem: str
    promise: Promise
    epsilon: float
    first: Score
    second: Score | None

    @property
    def state(self) -> str:
        """Whether the first is clearly ahead of the second: "decided", "undecided", or "alone" without a second."""
        if self.second is None:
            return "alone"
        return "decided" if self.first.clearly_below(self.second) else "undecided"


def arms_of(table: Table) -> list[Arm]:
    """Return the arms that have scores: known arms in their order, then other people's learners."""
    known = {one.arm for one in table.scores}
    return [arm_of(name) for name in [*(name for name in ARMS if name in known), *sorted(known - set(ARMS))]]


def leads(table: Table) -> Iterator[Lead]:
    """Yield who leads, for each problem, promise and epsilon."""
    for problem in table.problems:
        for promise in _PRIVATE:
            for epsilon in table.epsilons:
                found = table.leaders(problem.name, promise, epsilon)
                if found:
                    others = [one for one in found[1:] if not one.same_runs(found[0])]
                    yield Lead(problem.name, promise, epsilon, found[0], others[0] if others else None)


def places(table: Table, arm: str) -> Iterator[tuple[Score, int, Score | None]]:
    """Yield each score of an arm, its place among the arms with the same promise, and the best other score."""
    for one in table.of(arm=arm):
        others = [x for x in table.leaders(one.problem, one.promise, one.epsilon) if x.arm != arm]
        yield one, 1 + sum(x.mean < one.mean for x in others), others[0] if others else None


def pooled(table: Table) -> list[dict[str, Any]]:
    """Return a row for each arm that ran on every small problem of its kind: its pooled regret at each epsilon."""
    small = [problem.name for problem in table.problems if not problem.large]
    rows = []
    for arm in arms_of(table):
        places = [name for name in small if table.of(problem=name, arm=arm.name)]
        if not places:
            continue
        epsilons = [math.inf] if arm.promise is Promise.NONE else table.epsilons
        values = {epsilon: table.pooled(arm.name, epsilon, places) for epsilon in epsilons}
        rows.append({"arm": arm, "problems": len(places), "values": values, "all": len(places) == len(small)})
    return rows


def costs(table: Table) -> Iterator[dict[str, Any]]:
    """Yield what privacy costs: the episodes without learning whose regret is the difference to no privacy."""
    for problem in table.problems:
        free = min(
            table.of(problem=problem.name, promise=Promise.NONE), key=lambda one: one.mean, default=None
        )
        if free is None:
            continue
        for promise in _PRIVATE:
            found = {e: table.leaders(problem.name, promise, e) for e in table.epsilons}
            cost = {e: known[0].episodes - free.episodes for e, known in found.items() if known}
            if cost:
                yield {"problem": problem, "promise": promise, "cost": cost, "free": free}


def first_lines(table: Table) -> list[str]:
    """Return the sentences that answer the question of the page."""
    lines = [*_borrowed(table), *_unfinished(table)]
    small = [problem.name for problem in table.problems if not problem.large]
    for epsilon in (1.0, 10.0):
        known = [
            (value, arm.name)
            for arm in arms_of(table)
            if arm.promise is Promise.REPLACE
            for value in [table.pooled(arm.name, epsilon, small)]
            if value is not None and all(_keeps(table, name, arm, epsilon) for name in small)
        ]
        if known:
            (value, error), name = min(known)
            lines.append(
                f"At a certified epsilon of {epsilon:g} under `replace` with a trusted server, {name} has the least "
                f"regret pooled over {len(small)} problems, of the {len(known)} learners that were run on all of them: "
                f"{value:.1%} ± {error:.1%} of the regret without learning."
            )
        else:
            lines.append(
                f"No learner was run on all {len(small)} small problems at a certified epsilon of {epsilon:g} under "
                "`replace` with a trusted server."
            )
    states = Counter(one.state for one in leads(table))
    lines.append(
        f"A lead is the least regret on a problem with a promise at an epsilon. {states['decided']} leads are decided: "
        f"the second is more than {SURE:g} standard errors behind. {states['undecided']} are not, and in "
        f"{states['alone']} there is one learner only."
    )
    return lines


def _borrowed(table: Table) -> Iterator[str]:
    if table.published:
        yield (
            f"{table.published} cells (a learner on a problem at an epsilon) were not run for this page. They are "
            "those that the package is published with."
        )


def _unfinished(table: Table) -> Iterator[str]:
    """Yield what is not recorded yet. Whoever is not run cannot lead."""
    known = {one.cell for one in table.scores}
    missing = [cell for cell in cells(PROBLEMS.values(), ARMS.values()) if cell not in known]
    if missing:
        arms = {cell.arm for cell in missing} - {cell.arm for cell in known}
        problems = {cell.problem for cell in missing} - {cell.problem for cell in known}
        yield (
            f"This page is not finished: {len(missing)} of {len(missing) + len(known)} cells (a learner on a problem "
            "at an epsilon) are not recorded yet. Whoever is not run cannot lead."
        )
        for kind, names in (("on the problems", problems), ("of the learners", arms)):
            if names:
                yield f"No run is recorded {kind} {listed([f'*{name}*' for name in sorted(names)])}."


def _keeps(table: Table, problem: str, arm: Arm, epsilon: float) -> bool:
    return any(one.arm == arm.name for one in table.leaders(problem, arm.promise, epsilon))


def plots(table: Table) -> Plots:
    """Return the plots: regret against certified epsilon, for each problem."""
    return {problem.name: partial(_draw, table, problem.name) for problem in table.problems}


def _draw(table: Table, problem: str, figure: Figure) -> None:
    axes = figure.subplots()
    ranked = _shown(table, problem)
    for number, arm in enumerate(ranked):
        draw_line(axes, line_of(table, problem, arm), arm, number)
    free = table.of(problem=problem, promise=Promise.NONE)
    if free:
        least = min(free, key=lambda one: one.mean)
        axes.axhline(max(least.mean, 1e-4), color="#555555", linewidth=0.8, linestyle=":")
        axes.annotate(f"{least.arm}", (1.0, max(least.mean, 1e-4)), xycoords=("axes fraction", "data"), ha="right",
                      va="bottom", fontsize=6)  # fmt: skip
    axes.axhline(1, color="#999999", linewidth=0.8)
    axes.set(
        xscale="log", yscale="log", xlabel="certified epsilon", ylabel="regret / regret without learning"
    )
    axes.set_title(problem)
    if ranked:  # a legend without entries is a warning
        axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1.01, 0.5))


_MOST_LINES: Final = 2
"""The number of arms of a promise and an epsilon that a plot shows."""


def _shown(table: Table, problem: str) -> list[Arm]:
    """Return the arms that a plot shows: those that are first or second at some epsilon, and printed ones."""
    best = {
        one.arm
        for promise in _PRIVATE
        for epsilon in table.epsilons
        for one in table.leaders(problem, promise, epsilon)[:_MOST_LINES]
    }
    arms = [
        arm for arm in arms_of(table) if arm.name in best or (arm.name.endswith("printed") and not arm.fixed)
    ]
    found = [arm for arm in arms if len(line_of(table, problem, arm)) > 1]
    return sorted(found, key=lambda arm: min(one.mean for one in line_of(table, problem, arm)))


def line_of(table: Table, problem: str, arm: Arm) -> list[Score]:
    """Return the scores of a private arm on a problem, the least certified epsilon first."""
    found = table.of(problem=problem, arm=arm.name)
    return sorted((one for one in found if one.certified), key=lambda one: one.certified or 0.0)


def draw_line(axes: Axes, line: Sequence[Score], arm: Arm, number: int) -> None:
    """Draw the regret of an arm against its certified epsilon. `number` selects the colour and the dashes."""
    dashes = ("-", "--", ":", "-.")[number // len(COLOURS) % 4]
    axes.errorbar(
        [one.certified or 0.0 for one in line], [one.mean for one in line], [2 * one.error for one in line],
        color=COLOURS[number % len(COLOURS)], linestyle=dashes, marker=_MARKS[arm.promise], markersize=3,
        linewidth=1, label=arm.name,
    )  # fmt: skip


def page(table: Table, folder: str) -> str:
    """Return the text of the page. Its plots are in `folder`."""
    template = Path(__file__).with_name("frontier.md.j2")
    return rendered(
        template, first_lines(table),
        table=table, arms=arms_of(table), promises=_PRIVATE, none=Promise.NONE,
        pooled=pooled(table), leads=list(leads(table)),
        costs=list(costs(table)), folder=folder, failed=FAILED, learns=LEARNS, sure=SURE, root=ROOT, inf=math.inf,
    )  # fmt: skip
