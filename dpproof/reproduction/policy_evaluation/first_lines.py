"""The first lines of the page on private policy evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpproof.reproduction.first_lines import few_runs, listed
from dpproof.reproduction.policy_evaluation.claims import near_counts, schedule_counts, small_batch_counts
from dpproof.reproduction.policy_evaluation.small import BOUNDS, DELTA, EPSILON, METHODS

Row = Mapping[str, Any]
OWN, PLAIN, ZERO = METHODS


def first_lines(table: Sequence[Row], swept: Sequence[Row], small: Sequence[Row], runs: int) -> list[str]:
    """The sentences; `small` holds the rows of `small_data`."""
    return [*_small(small), *_schedule(swept), *_ordered(table), *_near(table), *few_runs(runs)]


def _small(small: Sequence[Row]) -> Iterator[str]:
    """What DP-LSW is worth where values of 0 are better, and how much data it needs."""
    held = {(row["trajectories"], row["bound"], row["method"]): row["rmse"] for row in small}
    sizes = sorted({row["trajectories"] for row in small})
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


def _schedule(swept: Sequence[Row]) -> Iterator[str]:
    beaten, shown = schedule_counts(swept)
    if beaten:
        yield (
            "The paper says that lambda proportional to sqrt(m) is best for DP-LSL. Another lambda is better "
            f"in {beaten} of {shown} rows here."
        )


def _ordered(table: Sequence[Row]) -> Iterator[str]:
    agree, shown = small_batch_counts(table)
    if agree < shown:
        yield (
            "The paper says that DP-LSL is better with small batches and DP-LSW with large ones. It is not "
            f"so in {shown - agree} of {shown} rows here."
        )


def _near(table: Sequence[Row]) -> Iterator[str]:
    counts = near_counts(table)
    if any(near < shown for near, shown in counts.values()):
        told = listed([f"DP-{name} in {near} of {shown}" for name, (near, shown) in counts.items()])
        yield (
            "The paper says that for large batches the private estimates converge to those without privacy. "
            f"At the largest batch the error is within 1.1 times the one without privacy for {told} rows."
        )
