"""The measured rows as Markdown tables."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.audits import alarms, boundary, peers, power, seen, shares
from benchmarks.audits.rows import Row
from dpproof.audits.corpus.case import Case

NEEDED = 0.9
"""A tool is said to refute with so many samples if so large a share of its runs did."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [_line(heads), "|---" * len(heads) + "|", *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def by(rows: Iterable[Row], key: str) -> dict[Any, list[Row]]:
    """The rows with each value of a key."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[key]].append(row)
    return found


def alarm_table(rows: Sequence[Row]) -> list[str]:
    """False alarms per mechanism, beside what the level allows."""
    grouped = by(rows, "case")
    lines = [_alarms(name, case, grouped[name]) for name, case in alarms.cases().items() if name in grouped]
    heads = ["mechanism", "claim", "samples", "runs", "refused"]
    for alpha in alarms.ALPHAS:
        heads += [f"alarms at {alpha:g}", "allowed", "floating point only"]
    return table(heads, lines)


def _alarms(name: str, case: Any, rows: Sequence[Row]) -> list[str]:
    valid = [row for row in rows if row["refused"] is None]
    samples = f"{alarms.DEAR.get(name, alarms.BUDGET):,}"
    cells = [name, _claim(case), samples, f"{len(valid)}", f"{len(rows) - len(valid)}"]
    for alpha in alarms.ALPHAS:
        found = sum(row["violations"][str(alpha)] for row in valid)
        bits = sum(row.get("bits", {}).get(str(alpha), False) for row in valid)
        cells += [f"{found}", f"{alarms.allowed(len(valid), alpha)}", f"{bits}"]
    return cells


def boundary_table(rows: Sequence[Row]) -> list[str]:
    """False alarms per kind of output, beside what the level allows."""
    heads = ["output", "mechanisms", "runs", f"alarms at {boundary.ALPHA:g}", "allowed"]
    lines = [_of_kind(kind, found) for kind, found in by(rows, "kind").items()]
    lines += [_of_kind("all", rows)] if rows else []
    return table([*heads, "floating point only", "most alarms of one mechanism"], lines)


def _of_kind(kind: str, rows: Sequence[Row]) -> list[str]:
    cases = by(rows, "case")
    alarms_of = {name: sum(row["verdict"] == "violation" for row in found) for name, found in cases.items()}
    worst = max(alarms_of, key=lambda name: alarms_of[name])
    bits = sum("floating point" in row["verdict"] for row in rows)
    most = f"{alarms_of[worst]} of {len(cases[worst])}: {worst}" if alarms_of[worst] else "none"
    allowed = alarms.allowed(len(rows), boundary.ALPHA)
    return [
        kind,
        f"{len(cases)}",
        f"{len(rows):,}",
        f"{sum(alarms_of.values())}",
        f"{allowed}",
        f"{bits:,}",
        most,
    ]


def _claim(case: Any) -> str:
    if not isinstance(case, Case):
        return "its zCDP curve"
    claimed = case.claim.epsilon(case.delta).upper
    pure = math.isfinite(case.claim.epsilon(0).upper)
    kind = "" if pure else f", {type(case.claim).__name__}"
    return f"{claimed:.3g}{kind}" if pure else f"({claimed:.3g}, {case.delta:g}){kind}"


def power_table(rows: Sequence[Row]) -> list[str]:
    """Samples until the violation is found, beside limit and target."""
    grouped = by(rows, "trial")
    heads = [
        "claim -> truth",
        "runs",
        "refuted",
        "mean samples",
        "+-",
        "90 % of runs",
        "limit",
        "mean / limit",
        "target",
    ]
    return table(
        heads,
        [_power(trial, grouped[trial.name]) for trial in power.TRIALS.values() if trial.name in grouped],
    )


def _power(trial: power.Measure, rows: Sequence[Row]) -> list[str]:
    spent, limit = np.array([row["samples"] for row in rows]), trial.limit()
    error = spent.std(ddof=1) / math.sqrt(spent.size)
    return [
        trial.name,
        f"{spent.size}",
        f"{sum(row['refuted'] for row in rows)}",
        f"{spent.mean():,.0f}",
        f"{error:,.0f}",
        f"{np.quantile(spent, 0.9):,.0f}",
        f"{limit:,.0f}",
        f"{spent.mean() / limit:.2f}",
        ""
        if trial.target is None
        else f"{trial.target:,.0f}: {'met' if spent.mean() <= trial.target else 'missed'}",
    ]


def seen_table(rows: Sequence[Row]) -> list[str]:
    """Violations found at twice the claim, within the budget at which a true claim is "consistent"."""
    grouped = by(rows, "case")
    heads = ["claim", "consistent from", "would have seen", "runs at twice the claim", "refuted", "share"]
    return table(heads, [_seen(name, grouped[name]) for name in seen.CASES if name in grouped])


def _seen(name: str, rows: Sequence[Row]) -> list[str]:
    refuted = sum(row["refuted"] for row in rows)
    return [
        name,
        f"{rows[0]['budget']:,}",
        f"{rows[0]['would_have_seen']:.3g}",
        f"{len(rows)}",
        f"{refuted}",
        f"{refuted / len(rows):.1%}",
    ]


def shares_table(rows: Sequence[Row]) -> list[str]:
    """Mean samples with the default scores, and with the main ones alone."""
    grouped = by(rows, "cost")
    heads = ["claim -> truth", "main scores", "runs", "refuted", "main alone", "default", "more"]
    return table(heads, [_cost(name, grouped[name]) for name in shares.COSTS if name in grouped])


def _cost(name: str, rows: Sequence[Row]) -> list[str]:
    alone, default = (statistics.fmean(row[key] for row in rows) for key in ("main", "default"))
    refuted = sum(all(row["refuted"]) for row in rows)
    more = f"{default / alone - 1:+.1%}"
    main = ", ".join(shares.COSTS[name].main)
    return [name, main, f"{len(rows)}", f"{refuted}", f"{alone:,.0f}", f"{default:,.0f}", more]


def overhead_table(rows: Sequence[Row]) -> list[str]:
    """The last measurement of every claim."""
    found = {row["claim"]: row for row in rows}
    heads = ["claim, true", "numpy draws, s", "the audit, s", "overhead"]
    return table(
        heads,
        [
            [
                name,
                f"{row['drawn']:.3f}",
                f"{row['audited']:.3f}",
                f"{row['audited'] / row['drawn'] - 1:.1f}",
            ]
            for name, row in found.items()
        ],
    )


HEADS = (
    "claim",
    "tool",
    "refutes with",
    "s a run",
    "most tried",
    "refuted there",
    "bound there",
    "s a run",
)
"""The column headings of the table of tools."""


def peer_lines(rows: Sequence[Row], own: Sequence[Row], alarm_rows: Sequence[Row]) -> Iterator[list[str]]:
    """The lines on the tools that were measured, by claim."""
    for claim in peers.CLAIMS:
        if (mine := _own(claim, own, alarm_rows)) is not None:
            yield mine
        yield from (_peer(claim, name, found) for name, found in _of(claim, rows))


def _of(claim: peers.Claim, rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    sizes = {name: peer.sizes for name, peer in peers.PEERS.items()}
    mine = (row for row in rows if row["claim"] == claim.name and row["per_side"] in sizes[row["peer"]])
    grouped = by(mine, "peer")
    return [(name, grouped[name]) for name in sizes if name in grouped]


def _own(claim: peers.Claim, own: Sequence[Row], alarm_rows: Sequence[Row]) -> list[str] | None:
    """Ours stops by itself: the mean, and what nine of ten runs kept within; None if it was not measured."""
    case = {"Laplace 1 -> 1.0": alarms.UNIT.name, "Gaussian point, exact": "gaussian, at its point"}.get(
        claim.name
    )
    if case is not None:
        mine = [row for row in alarm_rows if row["case"] == case and row["refused"] is None]
        alarmed = sum(row["violations"]["0.01"] for row in mine)
        seconds = _median(row["seconds"] for row in mine)
        shown = [
            claim.name,
            "dpproof",
            "",
            "",
            f"{alarms.BUDGET:,}",
            f"{alarmed} of {len(mine)}",
            "",
            seconds,
        ]
        return shown if mine else None
    name = (
        "Gaussian point, 0.5 of the noise" if claim.delta else f"Laplace {claim.claimed:g} -> {claim.true:g}"
    )
    mine = [row for row in own if row["trial"] == name]
    spent = [row["samples"] for row in mine]
    seconds = _median(row["seconds"] for row in mine)
    return [claim.name, "dpproof", _needed(spent), seconds, "", "", "", ""] if mine else None


def _needed(spent: Sequence[int]) -> str:
    return f"{np.mean(spent):,.0f} (90 %: {np.quantile(spent, 0.9):,.0f})"


def _stopping(claim: peers.Claim, name: str, rows: Sequence[Row]) -> list[str]:
    """A tool that stops by itself: like ours, with the most samples that it might have drawn."""
    refuted = sum(row["refutes"] for row in rows)
    seconds = _median(row["cpu"] for row in rows)
    enough = refuted >= NEEDED * len(rows)
    first = [_needed([row["samples"] for row in rows]), seconds] if enough else ["none", ""]
    most = f"{2 * max(row['per_side'] for row in rows):,}"
    return [claim.name, name, *first, most, f"{refuted} of {len(rows)}", "", seconds]


def _peer(claim: peers.Claim, name: str, rows: Sequence[Row]) -> list[str]:
    if name in peers.PEERS and peers.PEERS[name].stops:
        return _stopping(claim, name, rows)
    sizes = by(rows, "samples")
    enough = [size for size, runs in sorted(sizes.items()) if _always(sizes, size)]
    most = max(sizes)
    first = [f"{enough[0]:,}", _median(row["cpu"] for row in sizes[enough[0]])] if enough else ["none", ""]
    refuted = f"{sum(row['refutes'] for row in sizes[most])} of {len(sizes[most])}"
    bounds = [row["epsilon_lower"] for row in sizes[most]]
    bound = "" if None in bounds else f"{statistics.median(bounds):.3f}"
    return [
        claim.name,
        name,
        *first,
        f"{most:,}",
        refuted,
        bound,
        _median(row["cpu"] for row in sizes[most]),
    ]


def _always(sizes: dict[int, list[Row]], least: int) -> bool:
    """Whether nearly all runs refute with so many samples and with more."""
    return all(
        sum(row["refutes"] for row in runs) >= NEEDED * len(runs)
        for size, runs in sizes.items()
        if size >= least
    )


def _median(seconds: Iterable[float]) -> str:
    found = list(seconds)
    return f"{statistics.median(found):.2f}" if found else ""
