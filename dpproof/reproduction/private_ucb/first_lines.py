"""The first lines of the page on PRIVATE-UCB."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dpproof.mechanisms.rl.private_ucb.constants import SPARSE, TUNED, Constants
from dpproof.reproduction.first_lines import ENOUGH, equal_rows, few_runs, listed
from dpproof.reproduction.private_ucb.arms import Group
from dpproof.reproduction.private_ucb.tables import FAILED

__all__ = ["best", "first_lines"]

Row = Mapping[str, Any]
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
