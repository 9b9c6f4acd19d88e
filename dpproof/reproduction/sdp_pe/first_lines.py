"""The first lines of the page on SDP-PE."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dpproof.reproduction.first_lines import equal_rows, few_runs, listed
from dpproof.reproduction.sdp_pe.arms import Kind

Row = Mapping[str, Any]
_KNOWN: Final = (
    "The possible transitions are taken as known. The algorithm as run here is told which next states are "
    "possible after each state and action, and learns only their probabilities. It also enumerates all "
    "policies, so that only tiny problems can be run."
)
_NEAR: Final = 1.5
"""A regret within so many times another's "closely approaches" it."""
_LEARNT: Final = 0.9
"""A regret above this share of never learning counts as not having learnt."""


def first_lines(never: float, swim: Sequence[Row]) -> list[str]:
    """The sentences of the rows on RiverSwim; `never` is the regret of never learning."""
    return [
        *_order(swim),
        *_near(swim),
        *_unlearnt(never, swim),
        _KNOWN,
        *_undecided(swim),
        *few_runs(swim[0]["seeds"]),
    ]


def on_river_swim(table: Sequence[Row]) -> list[Row]:
    """The rows on RiverSwim."""
    return [row for row in table if row["problem"] == "RiverSwim"]


def _by_epsilon(swim: Sequence[Row], kind: Kind) -> dict[float, Row]:
    return {row["epsilon"]: row for row in swim if row["algorithm"] == kind.value}


def _order(swim: Sequence[Row]) -> Iterator[str]:
    """SDP-PE above the local model, where the paper has it below at every epsilon."""
    local = _by_epsilon(swim, Kind.LDP)
    for kind in (Kind.CALIBRATED, Kind.PRINTED):
        own = _by_epsilon(swim, kind)
        opposite = [e for e in own if own[e]["regret"] > local[e]["regret"]]
        if opposite:
            told = listed([f"{e:g} ({_against(own[e], local[e])})" for e in opposite])
            yield (
                f"The paper has SDP-PE between UCB-VI, JDP and UCB-VI, LDP at every epsilon. {kind.value} is "
                f"the worst of the three here at epsilon {told}."
            )


def _against(own: Row, other: Row) -> str:
    errors = math.hypot(own["deviation"], other["deviation"]) / math.sqrt(own["seeds"])
    gap = own["regret"] - other["regret"]
    apart = f", {gap / errors:.1f} standard errors" if errors > 0 else ""
    return f"regret {own['regret']:.0f} against {other['regret']:.0f}{apart}"


def _near(swim: Sequence[Row]) -> Iterator[str]:
    """SDP-PE far above elimination without privacy, which the paper says it closely approaches."""
    free = next(row["regret"] for row in swim if row["algorithm"] == Kind.PE.value)
    ratios = {e: row["regret"] / free for e, row in _by_epsilon(swim, Kind.CALIBRATED).items()}
    if max(ratios.values()) > _NEAR:
        told = listed([f"{ratio:.1f} times at epsilon {e:g}" for e, ratio in ratios.items()])
        yield (
            "The paper says that SDP-PE closely approaches elimination without privacy. With calibrated "
            f"noise its regret is {told}."
        )


def _unlearnt(never: float, swim: Sequence[Row]) -> Iterator[str]:
    """Epsilons at which no private algorithm learns: their order means little."""
    found = []
    for epsilon in _by_epsilon(swim, Kind.JDP):
        least = min(row["regret"] for row in swim if row["epsilon"] == epsilon)
        if least > _LEARNT * never:
            found.append(f"{epsilon:g} (the least regret is {least / never:.0%} of never learning)")
    if found:
        yield f"No private algorithm learns at epsilon {listed(found)}. Their order says little there."


def _undecided(swim: Sequence[Row]) -> Iterator[str]:
    """Rows that are the same to the last digit."""
    for group in equal_rows(swim, ("regret", "deviation")):
        names = listed(list(dict.fromkeys(row["algorithm"] for row in group)))
        epsilons = [f"{row['epsilon']:g}" for row in group if row["epsilon"] is not None]
        told = f" (epsilon {listed(epsilons)})" if epsilons else ""
        yield (
            f"{names}{told} decide nothing: to the last digit their regret is the same, "
            f"{group[0]['regret']:.0f} ± {group[0]['deviation']:.0f}."
        )
