"""Measure everything and write docs/benchmarks.md: ``make bench``."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import (
    accounting,
    evaluation_error,
    first_answers,
    policy_evaluation_speed,
    private_ucb_speed,
    report_opening,
    rlsvi_speed,
    rounded_noise_speed,
    sdp_pe_speed,
)
from benchmarks.timing import measured

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
RLSVI = [
    "rlsvi",
    "--states",
    "6",
    "--actions",
    "2",
    "--horizon",
    "20",
    "--episodes",
    "1000",
    "--adjacency",
    "rewards-only",
]
DPPROOF = str(Path(sys.executable).with_name("dpproof"))
PROCESSES = (
    ("dpproof account rlsvi", [DPPROOF, "account", *RLSVI, "--delta", "1e-6"], 5, 1.0),
    (
        "dpproof calibrate rlsvi",
        [DPPROOF, "calibrate", *RLSVI, "--target-epsilon", "1", "--delta", "1e-6"],
        5,
        None,
    ),
    ("dpproof verify papers", [DPPROOF, "verify", "papers"], 3, 10.0),
    ("dpproof check papers", [DPPROOF, "check", "papers"], 1, 60.0),
)


def process_rows() -> list[dict[str, Any]]:
    """Wall-clock seconds of whole processes, the median of a few after one that is not counted."""
    return [
        {
            "name": name,
            "seconds": _median(command, times),
            "note": f"target below {limit:g} s" if limit else "",
        }
        for name, command, times, limit in PROCESSES
    ]


def _median(command: list[str], times: int) -> float:
    seconds = []
    for _ in range(times + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def epsilon_rows() -> list[dict[str, Any]]:
    """Epsilons of RLSVI at the sizes the papers quote: published, its cost as Gaussians, tight, attained."""
    from dpproof.accountant.claims.adjacency import Adjacency
    from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters, account

    rows = []
    for sizes in ((6, 2, 20, 1000), (50, 10, 50, 100_000)):
        found = account(RLSVIParameters(*sizes), Adjacency.REWARDS_ONLY)
        assert found.published is not None
        assert found.attained is not None
        tight, attained = found.guarantee.epsilon("1e-6"), found.attained.guarantee.epsilon("1e-6")
        rows.append(
            {
                "sizes": sizes,
                "published": found.published.epsilon("1e-6").upper,
                "exact": found.published.exact.epsilon("1e-6").upper,
                "tight": tight.upper,
                "attained": attained.lower,
                "width": tight.relative_width,
            }
        )
    return rows


def page() -> str:
    """The whole page as Markdown."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = ["# Benchmarks", "", f"Written by `make bench` on {machine}. {measured()}", ""]
    lines += ["## Epsilon at delta = 1e-6, rewards-only", ""]
    lines += ["| S, A, H, K | published | its cost, as Gaussians | tight | attained | relative width |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {', '.join(map(str, row['sizes']))} | {row['published']:.6f} | {row['exact']:.6f} "
        f"| {row['tight']:.6f} | {row['attained']:.6f} | {row['width']:.1e} |"
        for row in epsilon_rows()
    ]
    lines += ["", *first_answers.section()]
    for title, rows in (
        ("Whole processes, wall clock", process_rows()),
        ("The report in a browser, wall clock", report_opening.rows()),
        ("RLSVI, CPU", rlsvi_speed.rows()),
        ("Policy evaluation, wall clock", policy_evaluation_speed.rows()),
        ("SDP-PE, CPU", sdp_pe_speed.rows()),
    ):
        lines += ["", f"## {title}", "", "| what | seconds | note |", "|---|---|---|"]
        lines += [f"| {row['name']} | {row['seconds']:.3f} | {row['note']} |" for row in rows]
    lines += ["", *evaluation_error.section()]
    lines += ["", *private_ucb_speed.section()]
    lines += ["", *_clipping()]
    lines += ["", *rounded_noise_speed.section()]
    lines += ["", *accounting.section()]
    return "\n".join([*lines, ""])


def _clipping() -> list[str]:
    """Per-example clipping beside its peers, or that the extra for it is missing."""
    try:
        from benchmarks import offline_training_speed
    except ImportError as missing:
        return [f"Clipping each example's gradient: skipped, {missing.name} is not installed (extra torch)."]
    return offline_training_speed.section()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
