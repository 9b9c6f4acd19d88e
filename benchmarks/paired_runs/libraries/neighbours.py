"""Neighbours of a table by the strategies of dp-recorder, under its names, with our own random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

HUGE = (np.finfo(float).max, np.finfo(float).min, 2.0**63, -(2.0**63))
SHIFT = 200
ADDED = ("copy_random", "uniform_domain", "uniform_supported")
BROKEN = ("insert_nan", "insert_inf", "insert_large_outliers", "insert_shifted_outliers")
"""Strategies whose new record is outside the domain."""


def table(domain: dict[str, int], records: int, seed: int = 0) -> pd.DataFrame:
    """Return a table of uniform records in which each value of the domain occurs."""
    rng = np.random.default_rng(seed)
    rows = {name: [*range(size), *rng.integers(0, size, records - size)] for name, size in domain.items()}
    return pd.DataFrame(rows)


def record(
    strategy: str, data: pd.DataFrame, domain: dict[str, int], rng: np.random.Generator
) -> list[float]:
    """Return the new record of a strategy."""
    if strategy == "copy_random":
        return [float(one) for one in data.iloc[int(rng.integers(len(data)))]]
    made = {
        "uniform_domain": lambda name: rng.integers(domain[name]),
        "uniform_supported": lambda name: rng.choice(data[name].unique()),
        "insert_nan": lambda name: np.nan,
        "insert_inf": lambda name: rng.choice([np.inf, -np.inf]),
        "insert_large_outliers": lambda name: rng.choice(HUGE),
        "insert_shifted_outliers": lambda name: (
            data[name].min() - SHIFT if rng.random() < 0.5 else data[name].max() + SHIFT
        ),
    }[strategy]
    return [float(made(name)) for name in domain]


def unbounded(data: pd.DataFrame, domain: dict[str, int]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Generate the nine neighbours under add-remove."""
    for strategy in (*ADDED, *BROKEN):
        rng = np.random.default_rng(1)
        row = pd.DataFrame([record(strategy, data, domain, rng)], columns=data.columns)
        yield f"add:{strategy}", _whole(pd.concat([data, row], ignore_index=True))
    for seed in (2, 3):
        gone = int(np.random.default_rng(seed).integers(len(data)))
        yield f"remove:randidx(s={seed})", data.drop(index=gone).reset_index(drop=True)


def bounded(data: pd.DataFrame, domain: dict[str, int]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Generate the six neighbours under replace."""
    for strategy in ("uniform_supported", "uniform_domain", *BROKEN):
        rng = np.random.default_rng(1)
        place = int(rng.integers(len(data)))
        other = data.astype(float)
        other.iloc[place] = record(strategy, data, domain, rng)
        yield f"replace:{strategy}", _whole(other)


def _whole(data: pd.DataFrame) -> pd.DataFrame:
    """Return the table as integers, if all its numbers are whole and not too large."""
    values = data.to_numpy(float)
    return data.astype(int) if np.all(np.isfinite(values)) and np.abs(values).max() < 2**53 else data
