"""What the paper says of its Figure 1 in section 6, each sentence beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpproof.mechanisms.environments.chain import chain_values
from dpproof.reproduction.policy_evaluation.kinds import DISCOUNT, STATES

Row = Mapping[str, Any]
_NONE = "no privacy"
_NEAR = 1.1
"""An RMSE within so many times the one without privacy counts as the same."""


_SCHEDULE = (
    '**"A regularization schedule proportional to sqrt(m) ... achieves the best overall accuracy"'
    " (DP-LSL).** Tabular; lambda = 2 m^p, p = 0, 1/8, ..., 2. Values of 0 everywhere have RMSE {zero:.3g}."
)
_SCHEDULED = (
    "{word}: with noise, another lambda is better than 2 sqrt(m), by more than three standard errors, in "
    "{beaten} of {shown} rows. Where the best RMSE is about that of values of 0, what helps is to estimate "
    "nothing."
)
_SMALL = (
    '**"The LSL algorithms work better with small batches of data, whereas the LSW approach is preferable'
    ' with large batches."** At lambda = 2 ||Phi||^2 sqrt(m); where each has the smaller mean RMSE:'
)
_ORDERED = (
    "{word}: so ordered in {agree} of {shown} rows. Where it is, DP-LSL's smaller error at small m may still "
    "be far above the values, which lie in [0, 1]."
)
_SAME = (
    '**"The DP algorithms converge to the same solutions as the non-private corresponding versions for '
    'large enough batch sizes."** RMSE at m = {last} over the one without privacy:'
)
_COUNTED = (
    "Within {near:g} times: {told}. The noise of both falls with m (the table of trajectories below), so "
    "that the solutions come together; the errors do so only where something else than noise is left. On "
    "aggregated features that is an error of .11, which stays. On tabular features nothing stays: DP-LSW's "
    "noise falls faster than the error without privacy and reaches it late, DP-LSL's with 2 sqrt(m) like "
    "m^(-1/4), LSL's own error faster, so that the ratio does not come to 1."
)


def claims(table: Sequence[Row], swept: Sequence[Row]) -> list[str]:
    """The section of the page: three sentences of the paper, three readings."""
    return [*_schedule(swept), "", *_small_batches(table), "", *_converged(table)]


def best(swept: Sequence[Row], trajectories: int, kind: str) -> tuple[Row, Row]:
    """The row of least RMSE in the sweep, and the one at lambda = 2 sqrt(m)."""
    held = [row for row in swept if (row["trajectories"], row["kind"]) == (trajectories, kind)]
    root = 2 * trajectories**0.5
    return min(held, key=lambda r: r["rmse"]), min(held, key=lambda r: abs(np.log(r["ridge"] / root)))


def _schedule(swept: Sequence[Row]) -> list[str]:
    zero = float(np.sqrt(np.mean(chain_values(STATES, DISCOUNT) ** 2)))
    lines = [
        _SCHEDULE.format(zero=zero),
        "",
        "| noise | m | best lambda | its p | RMSE there | RMSE at 2 sqrt(m) |",
        "|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in swept):
        for size in sorted({row["trajectories"] for row in swept}):
            least, root = best(swept, size, kind)
            power = round(np.log(least["ridge"] / 2) / np.log(size), 6)
            cells = (kind, size, f"{least['ridge']:.3g}", f"{power:.3g}", _rmse(least), _rmse(root))
            lines.append(f"| {' | '.join(map(str, cells))} |")
    beaten, shown = schedule_counts(swept)
    word = (
        "Refuted on this chain" if beaten == shown else "Not so everywhere" if beaten else "As measured here"
    )
    told = _SCHEDULED.format(word=word, beaten=beaten, shown=shown)
    return [*lines, "", told]


def schedule_counts(swept: Sequence[Row]) -> tuple[int, int]:
    """In how many rows with noise another lambda is clearly better than 2 sqrt(m), and the number of rows."""
    places = dict.fromkeys((row["trajectories"], row["kind"]) for row in swept if row["kind"] != _NONE)
    found = [best(swept, *place) for place in places]
    return sum(_apart(root, least) for least, root in found), len(found)


def _apart(root: Row, least: Row) -> bool:
    errors = float(np.hypot(root["rmse_error"], least["rmse_error"]))
    return bool(root["rmse"] - least["rmse"] > 3 * errors)


def _rmse(row: Row) -> str:
    return f"{row['rmse']:.3g} ± {row['rmse_error']:.1g}"


def _pairs(table: Sequence[Row]) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Features, noise, the batch sizes at which LSL's RMSE is the smaller, and those at which LSW's is."""
    held = {(r["features"], r["kind"], r["algorithm"], r["trajectories"]): r["rmse"] for r in table}
    sizes = sorted({row["trajectories"] for row in table})
    for features, kind in dict.fromkeys((r["features"], r["kind"]) for r in table):
        ridge = [m for m in sizes if held[features, kind, "LSL", m] < held[features, kind, "LSW", m]]
        yield features, kind, ridge, [m for m in sizes if m not in ridge]


def _small_batches(table: Sequence[Row]) -> list[str]:
    lines = [
        _SMALL,
        "",
        "| features | noise | DP-LSL at m = | DP-LSW at m = |",
        "|---|---|---|---|",
    ]
    for features, kind, ridge, weighted in _pairs(table):
        if kind == _NONE:
            continue
        lines.append(f"| {features} | {kind} | {_sizes(ridge)} | {_sizes(weighted)} |")
    agree, shown = small_batch_counts(table)
    told = _ORDERED.format(
        word="Confirmed" if agree == shown else "Confirmed in part" if agree else "Not so",
        agree=agree,
        shown=shown,
    )
    return [*lines, "", told]


def small_batch_counts(table: Sequence[Row]) -> tuple[int, int]:
    """In how many rows with noise DP-LSL is better up to a batch size and DP-LSW after, and of how many."""
    found = [
        bool(ridge and weighted) and max(ridge) < min(weighted)
        for _, kind, ridge, weighted in _pairs(table)
        if kind != _NONE
    ]
    return sum(found), len(found)


def _sizes(sizes: Sequence[int]) -> str:
    return "none" if not sizes else str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _converged(table: Sequence[Row]) -> list[str]:
    last, ratios = _ratios(table)
    names = tuple(dict.fromkeys(row["features"] for row in table))
    lines = [
        _SAME.format(last=last),
        "",
        f"| algorithm | noise | {' | '.join(names)} |",
        "|---|---|" + "---|" * len(names),
    ]
    for (algorithm, kind), found in ratios.items():
        lines.append(f"| DP-{algorithm} | {kind} | {' | '.join(f'{ratio:.3g}' for ratio in found)} |")
    counts = near_counts(table).items()
    told = ", ".join(f"DP-{name} in {near} of {shown}" for name, (near, shown) in counts)
    return [*lines, "", _COUNTED.format(near=_NEAR, told=told)]


def _ratios(table: Sequence[Row]) -> tuple[int, dict[tuple[str, str], list[float]]]:
    """The largest batch, and there each kind's RMSE over the one without privacy, features by features."""
    last = max(row["trajectories"] for row in table)
    held = {(r["algorithm"], r["kind"], r["features"]): r["rmse"] for r in table if r["trajectories"] == last}
    names = tuple(dict.fromkeys(row["features"] for row in table))
    kinds = dict.fromkeys(key[:2] for key in held if key[1] != _NONE)
    return last, {
        (algorithm, kind): [held[algorithm, kind, f] / held[algorithm, _NONE, f] for f in names]
        for algorithm, kind in kinds
    }


def near_counts(table: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """For LSW and LSL: in how many cells of that table the ratio is about 1, and of how many."""
    ratios = _ratios(table)[1]
    found = {name: [x for key, xs in ratios.items() if key[0] == name for x in xs] for name in ("LSW", "LSL")}
    return {name: (sum(x <= _NEAR for x in xs), len(xs)) for name, xs in found.items()}
