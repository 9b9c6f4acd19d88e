"""What the paper says of its Figure 1 in section 6, counted in what was measured; the first lines of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpproof.reproduction.engine import Row, Table, different, where
from dpproof.reproduction.first_lines import few_runs, listed
from dpproof.reproduction.policy_evaluation.small import BOUNDS, DELTA, EPSILON, METHODS

OWN, PLAIN, ZERO = METHODS
_NONE = "no privacy"
NEAR = 1.1
"""An RMSE within so many times the one without privacy counts as the same."""


class Counted(NamedTuple):
    """In how many rows something is so, of how many, and in a word."""

    so: int
    of: int
    word: str


def _counted(found: Sequence[bool], every: str, some: str, none: str) -> Counted:
    so = sum(found)
    return Counted(so, len(found), every if so == len(found) else some if so else none)


def schedules(swept: Table) -> list[tuple[str, int, Row, float, Row]]:
    """Noise, batch size, the row of least RMSE in the sweep, its power of m, and the row at 2 sqrt(m)."""
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
    """In how many rows with noise another lambda is clearly better than 2 sqrt(m)."""
    rows = schedules(swept)
    found = [_apart(root, least) for kind, _, least, _, root in rows if kind != _NONE]
    return _counted(found, "Refuted on this chain", "Not so everywhere", "As measured here")


def _apart(root: Row, least: Row) -> bool:
    errors = float(np.hypot(root["rmse_error"], least["rmse_error"]))
    return bool(root["rmse"] - least["rmse"] > 3 * errors)


def better(table: Table) -> Iterator[tuple[str, str, list[int], list[int]]]:
    """Features, noise, the batch sizes at which LSL's RMSE is the smaller, and those at which LSW's is."""
    held = {(r["features"], r["kind"], r["algorithm"], r["trajectories"]): r["rmse"] for r in table}
    sizes = sorted(different(table, "trajectories"))
    for features, kind in different(table, "features", "kind"):
        if kind != _NONE:
            ridge = [m for m in sizes if held[features, kind, "LSL", m] < held[features, kind, "LSW", m]]
            yield features, kind, ridge, [m for m in sizes if m not in ridge]


def ordered(table: Table) -> Counted:
    """In how many rows with noise DP-LSL is better up to a batch size and DP-LSW after."""
    found = [bool(ridge and other) and max(ridge) < min(other) for _, _, ridge, other in better(table)]
    return _counted(found, "Confirmed", "Confirmed in part", "Not so")


def ratios(table: Table) -> list[tuple[str, str, list[float]]]:
    """Algorithm, kind, and at the largest batch its RMSE over the one without privacy, by features."""
    last = where(table, trajectories=max(row["trajectories"] for row in table))
    held = {(row["algorithm"], row["kind"], row["features"]): row["rmse"] for row in last}
    names = different(table, "features")
    return [
        (algorithm, kind, [held[algorithm, kind, f] / held[algorithm, _NONE, f] for f in names])
        for algorithm, kind in different(last, "algorithm", "kind")
        if kind != _NONE
    ]


def near_counts(table: Table) -> list[str]:
    """For LSW and LSL: in how many cells of that table the ratio is about 1, and of how many."""
    rows = ratios(table)
    found = {name: [x for key, _, xs in rows if key == name for x in xs] for name in ("LSW", "LSL")}
    return [f"DP-{name} in {sum(x <= NEAR for x in xs)} of {len(xs)}" for name, xs in found.items()]


def first_lines(table: Table, swept: Table, small: Table, runs: int) -> list[str]:
    """The sentences; `small` holds the rows of `small_data`."""
    return [*_small(small), *_schedule(swept), *_ordered(table), *_near(table), *few_runs(runs)]


def _small(small: Table) -> Iterator[str]:
    """What DP-LSW is worth where values of 0 are better, and how much data it needs."""
    held = {(row["trajectories"], row["bound"], row["method"]): row["rmse"] for row in small}
    sizes = sorted(different(small, "trajectories"))
    worse = [m for m in sizes if held[m, BOUNDS[-1], OWN] >= held[m, BOUNDS[-1], ZERO]]
    if not worse:
        return
    told = listed([_told(held, worse[-1], bound) for bound in BOUNDS])
    needed = "; ".join(_needed(held, sizes, bound) for bound in BOUNDS)
    yield (
        f"DP-LSW is useless on small data. With {worse[-1]} trajectories at epsilon {EPSILON} and delta "
        f"{DELTA} its RMSE is {told}. The values lie in [0, 1], and an estimate of 0 everywhere has "
        f"{held[worse[-1], BOUNDS[-1], ZERO]:.3g}. Trajectories that DP-LSW needs, of the batch sizes run: "
        f"{needed}."
    )


def _told(held: Mapping[tuple[int, float, str], float], trajectories: int, bound: float) -> str:
    own, plain = (held[trajectories, bound, method] for method in (OWN, PLAIN))
    return f"{own:.3g} with Fmax {bound:g} (plain Gaussian noise on counts and sums: {plain:.3g})"


def _needed(held: Mapping[tuple[int, float, str], float], sizes: Sequence[int], bound: float) -> str:
    """From which batch size on DP-LSW is the better one."""
    words = []
    for other in (ZERO, PLAIN):
        enough = [m for m in sizes if held[m, bound, OWN] < held[m, bound, other]]
        name = "an estimate of 0" if other == ZERO else "plain Gaussian noise"
        words.append(f"{enough[0] if enough else f'more than {sizes[-1]}'} to beat {name}")
    return f"with Fmax {bound:g} {listed(words)}"


def _schedule(swept: Table) -> Iterator[str]:
    beaten, shown, _ = scheduled(swept)
    if beaten:
        yield (
            "The paper says that lambda proportional to sqrt(m) is best for DP-LSL. Another lambda is better "
            f"in {beaten} of {shown} rows here."
        )


def _ordered(table: Table) -> Iterator[str]:
    agree, shown, _ = ordered(table)
    if agree < shown:
        yield (
            "The paper says that DP-LSL is better with small batches and DP-LSW with large ones. It is not "
            f"so in {shown - agree} of {shown} rows here."
        )


def _near(table: Table) -> Iterator[str]:
    if any(ratio > NEAR for _, _, found in ratios(table) for ratio in found):
        yield (
            "The paper says that for large batches the private estimates converge to those without privacy. "
            "At the largest batch the error is within 1.1 times the one without privacy for "
            f"{listed(near_counts(table))} rows."
        )
