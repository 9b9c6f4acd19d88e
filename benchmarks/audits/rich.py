"""Rich outputs: samples until a violation is found, by default and by each score alone; false alarms.

    python -m benchmarks.audits.rich [--runs N]

measures all faults of `benchmarks.audits.rich_faults`, stores the rows in ``benchmarks/audits/rich.json``, and writes
the section of docs/audits.md. Each score is first run alone `SCREEN` times. The `BEST` scores of this screening are run
as often as the default, on the same seeds; the best of them is the best single score in hindsight.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.rich_faults import FAULTS, SOUND, Draw
from dpproof.audits.engine.betting.curves import CurvePoint
from dpproof.audits.engine.betting.schedule import Blocks, Pace
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.scores.atoms import only_bits
from dpproof.audits.engine.scores.classifiers import logistic, trees
from dpproof.audits.engine.scores.kernel import Kernel
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.engine.scores.protocol import Score

CLAIM, ALPHA, LEVEL = CurvePoint(1.0, 0.0), 0.01, 0.05
RUNS, SCREEN, BEST, ALARMS = 20, 3, 2, 60
BUDGET, SPENT = 20_000, 2_000
"""The largest number of samples of a run on a faulty mechanism, and the number of samples on a sound one."""
PROBE = 300
STORED = Path(__file__).with_name("rich.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "audits.md"
HEAD = "## Vectors, dictionaries, texts, trees and images"
Row = dict[str, Any]


def main() -> None:
    """Measure, store, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    rows: dict[str, list[Row]] = {"faults": [], "sound": []}
    for name, draw in FAULTS.items():
        rows["faults"].append(fault(name, draw, runs))
        print(rows["faults"][-1], flush=True)
    for name, draw in SOUND.items():
        rows["sound"].append(sound(name, draw, ALARMS))
        print(rows["sound"][-1], flush=True)
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    write(PAGE)


def layout_of(draw: Draw) -> Layout:
    """The layout of a mechanism, from a probe of its own."""
    rng = np.random.default_rng(10**6)
    return Layout.of([draw(np.full(PROBE, label), rng) for label in (0, 1)])


def samples(draw: Draw, layout: Layout, scores: Sequence[Score], seed: int, budget: int = BUDGET) -> float:
    """The samples until the claim is refuted at level `ALPHA` in more than floating-point bits; else infinity."""
    return _run(draw, layout, scores, seed, budget, ALPHA)


def _run(draw: Draw, layout: Layout, scores: Sequence[Score], seed: int, budget: int, alpha: float) -> float:
    pace, rng = Pace(), np.random.default_rng(seed)

    def blocks() -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        for size, *_ in Blocks(budget, pace):
            labels = rng.integers(0, 2, size)
            yield layout.settled(draw(labels, rng)), labels

    trial = run_trial((CLAIM,), blocks(), scores, alpha, pace=pace)
    return trial.samples if trial.refuted_in_values else math.inf


def single(layout: Layout) -> tuple[Score, ...]:
    """The scores that are run alone: the default ones without floating-point bits, and further classifiers."""
    more = (trees(view=layout.view), logistic(view=layout.view), Kernel(view=layout.view))
    known = tuple(score for score in layout.scores() if not only_bits(score))
    return (*known, *(score for score in more if score.name not in {one.name for one in known}))


def fault(name: str, draw: Draw, runs: int) -> Row:
    """Mean samples by default, and by the best single score in hindsight."""
    layout = layout_of(draw)
    tried = {score.name: score for score in single(layout)}
    default = [samples(draw, layout, layout.scores(), seed) for seed in range(runs)]
    most = min(BUDGET, 4 * int(min(max(default), BUDGET)))
    screened = {
        one: np.mean(
            [min(samples(draw, layout, [score], 1000 + seed, most), 2 * most) for seed in range(SCREEN)]
        )
        for one, score in tried.items()
    }
    best = sorted(screened, key=lambda one: float(screened[one]))[:BEST]
    alone = {one: [samples(draw, layout, [tried[one]], seed, BUDGET) for seed in range(runs)] for one in best}
    first = min(alone, key=lambda one: float(np.mean(np.minimum(alone[one], 2 * BUDGET))))
    return {
        "name": name,
        "runs": runs,
        "default": [_number(one) for one in default],
        "best": first,
        "alone": [_number(one) for one in alone[first]],
    }


def sound(name: str, draw: Draw, runs: int) -> Row:
    """False alarms at level `LEVEL` at the boundary of the claim, and how many the level allows."""
    layout = layout_of(draw)
    found = sum(_run(draw, layout, layout.scores(), seed, SPENT, LEVEL) < math.inf for seed in range(runs))
    return {"name": name, "runs": runs, "samples": SPENT, "alarms": found}


def _number(spent: float) -> int | None:
    return None if spent == math.inf else int(spent)


def section(rows: dict[str, list[Row]]) -> list[str]:
    """The section of docs/audits.md."""
    return [
        HEAD,
        "",
        _paragraph(
            f"""Written by `python -m benchmarks.audits.rich`. The claim is epsilon 1 and alpha is {ALPHA}. The column
            "default" has the mean samples of both inputs until the default scores together find the violation. The
            column "best alone" has the mean samples of the single score that is best in hindsight. All default scores
            but the one of floating-point bits, and classifiers that are not among them, were run alone. A run ends
            after {BUDGET:,} samples at most."""
        ),
        "",
        "| output and fault | runs | found | default | 90 % of runs | best single score | found | best alone | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
        *map(_line, rows["faults"]),
        "",
        _paragraph(
            f"""The wanted ratio is at most 3. The next table has sound mechanisms that meet epsilon 1 exactly. Each
            run has {SPENT:,} samples and alpha {LEVEL}. The mean number of false alarms that this level allows is also
            given. A violation through floating-point bits alone is true of numpy's noise, so it is counted neither as a
            find nor as an alarm."""
        ),
        "",
        "| sound output | runs | false alarms | allowed on average |",
        "|---|---|---|---|",
        *(f"| {r['name']} | {r['runs']} | {r['alarms']} | {LEVEL * r['runs']:g} |" for r in rows["sound"]),
        "",
    ]


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 115)


def _line(row: Row) -> str:
    default, alone = (
        np.array([BUDGET if x is None else x for x in row[key]]) for key in ("default", "alone")
    )
    found, found_alone = (sum(x is not None for x in row[key]) for key in ("default", "alone"))
    shown = [
        row["name"],
        str(row["runs"]),
        str(found),
        f"{default.mean():,.0f}",
        f"{np.quantile(default, 0.9):,.0f}",
        row["best"],
        str(found_alone),
        f"{alone.mean():,.0f}",
        f"{default.mean() / alone.mean():.2f}",
    ]
    return "| " + " | ".join(shown) + " |"


def stored() -> dict[str, list[Row]]:
    """The rows that were measured last."""
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


def write(page: Path) -> None:
    """Replace the section in a page; a page without the section gets it before the section on time."""
    text = page.read_text(encoding="utf-8")
    new = "\n".join(section(stored())) + "\n"
    before = "## What an audit costs in time"
    old = re.search(rf"{re.escape(HEAD)}\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    text = text.replace(old.group(), new) if old else text.replace(before, new + before)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
