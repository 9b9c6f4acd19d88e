"""Run the campaign, go on where it stopped, and write docs/soundness.md: ``make campaign``.

    python -m benchmarks.soundness [--minutes M] [--folder DIR] [--only NAME]

Each chunk of a case is drawn from a seed of its own and appended to the folder's file when it is done, so
that an interrupted campaign loses at most the chunks in work, and gives the same result when resumed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import zlib
from collections import Counter, defaultdict
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.soundness import attacks, rounded_noise
from benchmarks.soundness.cases import Case, Outcome
from benchmarks.soundness.checks import CASES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "soundness.md"


def run_chunk(name: str, chunk: int) -> dict[str, Any]:
    """One unit of work: a case's points number chunk * size and on."""
    case = next(case for case in CASES if case.name == name)
    rng = np.random.default_rng([zlib.crc32(name.encode()), chunk])
    start = time.process_time()
    outcomes = [case.outcome(rng) for _ in range(case.chunk)]
    seconds = time.process_time() - start
    wrong = [f"violation: {o.detail[:400]}" for o in outcomes if o.status == "violation"]
    unanswered = [f"no answer: {o.detail[:300]}" for o in outcomes if o.status == "no answer"]
    regions = {region: _summary(outcomes, region) for region in {outcome.region for outcome in outcomes}}
    return {
        "case": name,
        "chunk": chunk,
        "regions": regions,
        "trouble": wrong + unanswered[:3],
        "seconds": seconds,
    }


def _summary(outcomes: list[Outcome], region: str) -> list[float]:
    """How many answers, refusals and violations a region had; its widest answer, and the 95% one."""
    here = [outcome for outcome in outcomes if outcome.region == region]
    widths = [outcome.width for outcome in here if outcome.status == "ok"]
    counts = [sum(o.status == status for o in here) for status in ("ok", "no answer", "violation")]
    return [*counts, max(widths, default=0.0), _high(widths)]


def _high(widths: list[float]) -> float:
    """The width that 95 of 100 answers do not exceed."""
    return float(np.quantile(widths, 0.95)) if widths else math.inf


class Agenda:
    """What is left to do: always the case on which the least time was spent.

    So an early end has seen all cases, and what is cheap is done before what is dear takes the rest.
    """

    def __init__(self, known: list[dict[str, Any]], only: str | None = None) -> None:
        done = {(row["case"], row["chunk"]) for row in known}
        cases = [case for case in CASES if only in (None, case.name)]
        self.left = {
            case.name: [
                k for k in reversed(range(-(-case.points // case.chunk))) if (case.name, k) not in done
            ]
            for case in cases
        }
        self.spent = dict.fromkeys(self.left, 0.0)
        self.running = Counter[str]()
        for row in known:
            self.spent[row["case"]] = self.spent.get(row["case"], 0.0) + row["seconds"]

    def take(self) -> tuple[str, int] | None:
        """The next chunk, or None where nothing is left."""
        waiting = [name for name, chunks in self.left.items() if chunks]
        if not waiting:
            return None
        name = min(
            waiting, key=lambda name: (self.spent[name] * (1 + self.running[name]), self.running[name])
        )
        self.running[name] += 1
        return name, self.left[name].pop()

    def finish(self, row: dict[str, Any]) -> None:
        """Count a chunk that is done."""
        self.running[row["case"]] -= 1
        self.spent[row["case"]] += row["seconds"]


def campaign(folder: Path, minutes: float, only: str | None, executor: Executor) -> None:
    """Work until the time is over or everything is done."""
    folder.mkdir(parents=True, exist_ok=True)
    path, deadline = folder / "chunks.jsonl", time.monotonic() + 60 * minutes
    agenda = Agenda(read(path), only)
    running: set[Future[dict[str, Any]]] = set()
    with path.open("a", encoding="utf-8") as file, Progress() as progress:
        task = progress.add_task("chunks", total=sum(map(len, agenda.left.values())))
        while True:
            while len(running) < 2 * (os.cpu_count() or 1) and time.monotonic() < deadline:
                following = agenda.take()
                if following is None:
                    break
                running.add(executor.submit(run_chunk, *following))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                row = future.result()
                agenda.finish(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                progress.advance(task)


def read(path: Path) -> list[dict[str, Any]]:
    """The chunks done; a last line that was cut off is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


_MENDED = """
## Found and corrected

Earlier runs found these wrong ends. Each is now a regression test in `tests/test_soundness_slice.py`.

- The grid for 7 Gaussians with standard deviation 0.0067: where all of Q's masses underflow, the splitting gave a
  mass that is not a number. The upper end of delta was nearly 0 where delta is 1.
- Unequal Gaussians at epsilon 589: a tail below the smallest mass was rounded up to it and then subtracted without
  adding the error. The lower end of delta was too high by 4e-6 of its value.
- DP-SGD at rate 0.4, standard deviation 0.56, 14134 steps on the grid: the surplus of an outcome was used twice. The
  lower end of epsilon was too high by 1.5e-4 of its value.
- Spherical Gaussians in three dimensions with a ratio of deviations of exp(-0.0204), once, at delta 1.4e-30: the
  rounding of the logarithm of a probability below 1e-16 was not charged. At the upper end of epsilon the true delta
  was 1.4 % above the asked one. Found on 2026-11-30.

A search by hand found a third kind, which no case of the campaign meets, because it asks for masses of many cells:

- Spherical Gaussians on a grid: where the mass of a cell is hardly known, an error above 100 % was cut to 100 %. So a
  mass could be more than its upper end, 13 to 29 times in the cells that were seen. No wrong epsilon of a composition
  is known. Found on 2026-11-30.
"""


_HOW_TO_READ = """\
Each point is a set of parameters, drawn at random from the box of its case. The boxes are listed below. A case of
kind `closed form` is compared with a formula in ball arithmetic, and one of kind `reference` with another method at
higher precision. `consistency` compares answers with each other. A region is a part of a box, or a method. In
the region `epsilon infinite` the answer is that no finite epsilon holds, so a too small upper bound cannot occur there.

A violation is an upper bound below the reference, or a lower bound above it. A refusal, or an infinite upper bound
with a finite lower bound, counts as no answer. The width of an answer is (upper - lower)/upper. `width, 95%` is a
width that 95 of 100 answers do not exceed: the median over equal parts of the case. `DP-SGD, both routes` compares
two methods of computation; `one route only` counts the points at which one of them gave no answer. `pairs by their
masses` asks for delta from the rounded probabilities of which a grid is made."""


def page(rows: list[dict[str, Any]], folder: Path) -> str:
    """The campaign's result as Markdown, with the rounded noise and the attacks that were made in this folder."""
    hours = sum(row["seconds"] for row in rows) / 3600
    done = sum(int(sum(values[:3])) for row in rows for values in row["regions"].values())
    planned = sum(case.points for case in CASES)
    lines = [
        "# Soundness campaign",
        "",
        f"Written by `make campaign`; {hours:.2f} processor hours and {done:,} of {planned:,} planned points so far.",
        "",
        _HOW_TO_READ,
        "",
    ]
    lines += ["| case | kind | region | points | violations | no answer | width, 95% | widest |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for case in CASES:
        lines += _lines(case, [row for row in rows if row["case"] == case.name])
    lines += ["", "## Boxes, and how many points are planned", ""]
    lines += [f"- {case.name}: {_progress(case, rows)}; {case.promise}" for case in CASES]
    trouble = [line for row in rows for line in row["trouble"] if line.startswith("violation")]
    lines += ["", "## Violations", "", *(trouble or ["None."]), _MENDED.rstrip()]
    return "\n".join([*lines, *rounded_noise.section(folder), *attacks.section(folder), ""])


def _progress(case: Case, rows: list[dict[str, Any]]) -> str:
    """Return how many of the planned points are done.

    >>> case = next(case for case in CASES if case.name == "binomial")
    >>> _progress(case, [{"case": "binomial"}] * 3)
    '60 of 10,000 points'
    """
    done = case.chunk * sum(row["case"] == case.name for row in rows)
    return f"all {done:,} points" if done == case.points else f"{done:,} of {case.points:,} points"


def _lines(case: Case, rows: list[dict[str, Any]]) -> list[str]:
    merged: dict[str, list[list[float]]] = defaultdict(list)
    for row in rows:
        for region, values in row["regions"].items():
            merged[region].append(values)
    lines = []
    for region, values in sorted(merged.items()):
        ok, unanswered, wrong = (sum(int(v[k]) for v in values) for k in range(3))
        widest = max(v[3] for v in values)
        high = float(np.median([v[4] for v in values]))
        lines.append(
            f"| {case.name} | {case.kind} | {region} | {ok + unanswered + wrong} | {wrong} | {unanswered} "
            f"| {high:.1e} | {widest:.1e} |"
        )
    return lines


def main() -> None:
    """Parse, run, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "campaign")
    parser.add_argument("--only", choices=[case.name for case in CASES])
    given = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as executor:
        campaign(given.folder, given.minutes, given.only, executor)
    PAGE.write_text(page(read(given.folder / "chunks.jsonl"), given.folder), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
