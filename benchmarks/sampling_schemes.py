"""Epsilon of one training run for every way to draw its batches: ``python -m benchmarks.sampling_schemes``.

The run has 1,000 steps, noise multiplier 1 and, on average, 10 uses of each record; epsilon is given at delta 1e-6. The
rows are the rows of the table in docs/how-to/batches.md, which this command prints. Peers are asked for the same run:
dp-accounting, and PLD_accounting if it is installed. Their numbers are not certified.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dpproof import account
from dpproof.accountant.claims.adjacency import UnprovedAdjacencyError

DELTA = 1e-6
POISSON = {"sampling_rate": 0.01, "noise_multiplier": 1.0, "steps": 1000}
PLAIN = {"noise_multiplier": 1.0, "steps": 100, "epochs": 10}


@dataclass(frozen=True)
class Row:
    """One way to draw a batch: its description, the mechanism with its parameters, and a peer's answer."""

    words: str
    mechanism: str
    given: dict[str, Any]
    peer: Callable[[], float | str] | None = field(default=None)


def _poisson_peer() -> float:
    """Return the epsilon of dp-accounting's PLD for Poisson samples."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    step = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))
    return float(PLDAccountant().compose(step, 1000).get_epsilon(DELTA))


def _truncated_peer() -> float:
    """Return the epsilon of dp-accounting's PLD for truncated Poisson samples."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    step = dp.TruncatedSubsampledGaussianDpEvent(60_000, 0.01, 800, 1.0)
    return float(PLDAccountant().compose(step, 1000).get_epsilon(DELTA))


def _allocated_peer(sigma: float, steps: int, selected: int, epochs: int) -> Callable[[], str]:
    def asked() -> str:
        peer = importlib.import_module("PLD_accounting")
        high, low = peer.gaussian_allocation_epsilon_range(
            delta=DELTA, sigma=sigma, num_steps=steps, num_selected=selected, num_epochs=epochs
        )
        return f"[{low:.4f}, {high:.4f}]"

    return asked


ROWS = (
    Row("Poisson, rate 1/100", "dp-sgd", POISSON, _poisson_peer),
    Row(
        "cyclic Poisson, 10 groups, rate 1/10", "cyclic-sgd", {**POISSON, "sampling_rate": 0.1, "groups": 10}
    ),
    Row("1 of 100 steps, 10 epochs", "allocated-sgd", PLAIN, _allocated_peer(1.0, 100, 1, 10)),
    Row(
        "2 of 200 steps, 5 epochs",
        "allocated-sgd",
        {"noise_multiplier": 1.0, "steps": 200, "epochs": 5, "chosen": 2},
        _allocated_peer(1.0, 200, 2, 5),
    ),
    Row(
        "balls-in-bins, 100 bins, 10 epochs",
        "allocated-sgd",
        {**PLAIN, "fresh": False},
        _allocated_peer(10**-0.5, 100, 1, 1),
    ),
    Row(
        "balls-in-bins, 4 bands, column norm 1.5",
        "allocated-sgd",
        {**PLAIN, "fresh": False, "bands": 4, "column_norm": 1.5},
    ),
    Row(
        "Poisson truncated at 800 of 60,000",
        "truncated-sgd",
        {**POISSON, "largest_batch": 800, "largest_dataset": 60_000},
        _truncated_peer,
    ),
    Row(
        "200 of 20,000 without replacement",
        "fixed-batch-sgd",
        {"noise_multiplier": 1.0, "steps": 1000, "batch": 200, "dataset": 20_000},
    ),
    Row(
        "20 of 2,000 with replacement",
        "fixed-batch-sgd",
        {"noise_multiplier": 1.0, "steps": 1000, "batch": 20, "dataset": 2000, "replacement": True},
    ),
    Row("shuffled in each of 10 epochs", "shuffled-sgd", PLAIN),
    Row("shuffled once, 10 epochs", "shuffled-sgd", {**PLAIN, "fresh": False}),
)


def cell(row: Row, relation: str) -> str:
    """Return the bounds on epsilon as text, or a dash if the relation has no guarantee."""
    try:
        result = account(row.mechanism, adjacency=relation, **row.given)
    except UnprovedAdjacencyError:
        return "-"
    found = result.epsilon(DELTA)
    if result.attained is None:
        return f"at most {found.upper:.4f}"
    return f"[{found.lower:.4f}, {found.upper:.4f}]"


def lines() -> Iterator[str]:
    """Yield the lines of the table in Markdown, one after the other as they are computed."""
    yield "| how a batch is drawn | add-remove | replace | peer, add-remove | seconds |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        begun = time.perf_counter()
        cells = [cell(row, relation) for relation in ("add-remove", "replace")]
        seconds = time.perf_counter() - begun
        yield f"| {row.words} | {' | '.join(cells)} | {_peer(row)} | {seconds:.1f} |"


def _peer(row: Row) -> str:
    if row.peer is None:
        return "-"
    try:
        found = row.peer()
    except ImportError:
        return "not installed"
    return found if isinstance(found, str) else f"{found:.4f}"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
