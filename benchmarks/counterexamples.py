"""Search for points at which wrong statements fail, and for proofs that the kernel should not accept.

A mutation of a statement moves one side past the truth; a widening moves one end of a domain away. The tests of the
certificates check the points that this search found. ``python -m benchmarks.counterexamples`` searches with new seeds.

    python -m benchmarks.counterexamples [--seed N] [--tries N] [--update]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.kernel import Rejected, check, load
from dpproof.proofs_check.registry import certificate_id, statements
from dpproof.proofs_check.search import certificate, refute

POINTS = Path(__file__).resolve().parent.parent / "tests/proofs_check/points.json"
"""By obligation: a point where its mutation fails, and the number of a widening with a point where that fails."""

Goal = dict[str, Any]


def widened(goal: Goal) -> Iterator[Goal]:
    """The same goal with one end of one interval moved away, or dropped."""
    for v, text in goal["vars"].items():
        low, high = text[1:-1].split(", ")
        if low != "-inf":
            yield {**goal, "vars": {**goal["vars"], v: f"[{Fraction(low) - 3}, {high}{text[-1]}"}}
            yield {**goal, "vars": {**goal["vars"], v: f"(-inf, {high}{text[-1]}"}}
        if high != "inf":
            yield {**goal, "vars": {**goal["vars"], v: f"{text[0]}{low}, {Fraction(high) + 3}]"}}
            yield {**goal, "vars": {**goal["vars"], v: f"{text[0]}{low}, inf)"}}


def proves(goal: Goal, node: Any, verdict: str = "PROVED") -> bool:
    """Whether the kernel accepts this proof (or point) for the goal."""
    try:
        check(certificate("moved", goal, verdict, node), goal)
    except Rejected:
        return False
    return True


def searched(seed: int, tries: int) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The points found, by obligation, and what must not be: proofs of goals that fail, points for true goals."""
    points: dict[str, dict[str, Any]] = {}
    wrong = []
    for entry in statements():
        for x in (y for y in entry.obligations if "vars" in y.goal):
            name = certificate_id(entry, x)
            data = load(stored(name).text)
            proved = data["verdict"] == "PROVED"
            found: dict[str, Any] = {}
            if x.mutation is not None and "random" not in x.mutation:
                point = refute(x.mutation, seed, max(tries, 2000) if proved else tries)
                if (point is None) == proved:
                    wrong.append(f"{name}: mutation")
                if point is not None:
                    found["mutation"] = point
            for number, wide in enumerate(widened(x.goal) if proved else ()):
                point = refute(wide, seed, tries)
                if point is not None and proves(wide, data["proof"]):
                    wrong.append(f"{name}: widening {number}")
                if point is not None and "wide" not in found:
                    found["wide"] = [number, point]
            points |= {name: found} if found else {}
    return points, wrong


def main() -> int:
    """Search, report, and with --update store the points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    points, wrong = searched(arguments.seed, arguments.tries)
    print(f"seed {arguments.seed}: points for {len(points)} obligations; wrong: {wrong or 'none'}")
    if arguments.update and not wrong:
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(points.items())]
        POINTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
