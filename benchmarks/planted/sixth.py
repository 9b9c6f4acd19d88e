"""Faults that the sixth user planted, each in one event of a class that an audit can list as covered.

The noise comes from diffprivlib, opendp, pipeline-dp and python-dp. The two inputs are `[0]` and `[1]`. Of each fault
the mean probability of the event, the true epsilon over the claim, and the input on which the event is rare were drawn
before the event was written down. The event is the nearest one of its class that the outputs allow.

On the input `side` the function keeps an output of the event with probability exp(-times * claim). Otherwise it draws
until an output is outside the event, or, if the fault has `to`, it changes the output to one outside. So the event
has the probability `mass` on one input and mass * exp(-times * claim) on the other. Some outputs also move
with the input in another place, which costs the epsilon `extra`; the true epsilon is times * claim + extra.

Run `python -m benchmarks.planted.sixth FILE` to audit all of them and to write one JSON line for each.
`--check` estimates the probability of each event and runs no audit. `--only NAME` selects by a part of the name.
`--untouched` audits the functions without a fault, with the same claims and budgets. `--tight` gives each fault in
one or three numbers the true epsilon 2.05 claims, and the smaller claims and budgets of `TIGHT`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import diffprivlib.mechanisms as dm
import numpy as np
import opendp.prelude as dp

import dpproof
from benchmarks.planted.fifth import (
    BEYOND,
    BITS,
    INTERVAL,
    LENGTH,
    NORM,
    PARITY,
    PROJECTION,
    REMAINDER,
    REPEATS,
    SIX,
    TAIL,
    TOKEN,
    TWO,
    Draw,
    Event,
    Run,
    bits,
    digit,
    groups,
    packed,
    real,
    whole,
    words,
)

PATTERNS = "a few patterns of adjacent low bits"


@dataclass(frozen=True)
class Base:
    """A function without a fault, and the claim, budget and time limit of the audits."""

    draw: Draw
    claim: float
    budget: int
    extra: float
    package: str
    seconds: float = 60.0

    def run(self, data: Any, n: int, rng: Any) -> Any:
        """The outputs without a fault."""
        return packed(list(self.draw(int(data[0]), n)))


@dataclass(frozen=True)
class Fault:
    """A function with one fault: the input on which an event is too rare, and by how many claims."""

    name: str
    kind: str
    base: str
    side: int
    times: float
    mass: float
    event: Event
    to: Callable[[Any], Any] | None = None

    @property
    def run(self) -> Run:
        """The faulty function."""
        base, keep = BASES[self.base], math.exp(-self.times * BASES[self.base].claim)

        def run(data: Any, n: int, rng: Any) -> Any:
            rows = list(base.draw(int(data[0]), n))
            if data[0] != self.side:
                return packed(rows)
            hit = [self.event(row) and rng.random() >= keep for row in rows]
            return packed([self.moved(row) if bad else row for row, bad in zip(rows, hit, strict=True)])

        return run

    def moved(self, row: Any) -> Any:
        """Return an output outside the event instead of this one."""
        if self.to is not None:
            return self.to(row)
        while self.event(row):
            row = BASES[self.base].draw(self.side, 1)[0]
        return row


def first_moves(rows: np.ndarray, by: float) -> np.ndarray:
    """The rows, with a number added to the first coordinate."""
    rows[:, 0] += by
    return rows


SCALED = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=3.0)
WIDE = dm.Laplace(epsilon=0.05, sensitivity=1.0)


def counts(n: int, width: int) -> np.ndarray:
    """A table of noisy counts with the noise of opendp."""
    return np.array(SCALED([0] * (n * width))).reshape(n, width)


def text(flag: int, n: int) -> list[str]:
    """Sentences with a count, an amount and a code."""
    rows = zip(whole(3.0, n), real(50.0, n), whole(300.0, n), strict=True)
    return [f"visits {k + flag}, spent {a:.2f}, code {c}" for k, a, c in rows]


def table(flag: int, n: int) -> list[list[tuple[str, int, float]]]:
    """Tables of two cities, as lists of rows with a name, a count and an amount."""
    rows = zip(first_moves(whole(4.0, n, 2), flag).tolist(), real(25.0, n, 2).round(1).tolist(), strict=True)
    return [list(zip("xy", a, b, strict=True)) for a, b in rows]


def report(flag: int, n: int) -> list[dict[str, Any]]:
    """Dictionaries with a count, an amount of two decimals and a list of two counts."""
    rows = zip(whole(3.0, n), real(30.0, n).round(2), whole(2.5, n, 2).tolist(), strict=True)
    return [{"count": int(k) + flag, "sum": float(s), "by": q} for k, s, q in rows]


# fmt: off
PDP, PYDP, DPL, ODP = "pipeline-dp", "python-dp", "diffprivlib", "opendp"
BASES = {
    "real": Base(lambda f, n: real(10.0, n), 1.2, 80_000, 0, PDP),
    "wide": Base(lambda f, n: real(10.0, n), 1.8, 120_000, 0, PDP),
    "cents": Base(lambda f, n: real(20.0, n).round(2), 1.5, 80_000, 0, PDP),
    "laplace": Base(lambda f, n: [WIDE.randomise(0.0) for _ in range(n)], 1.4, 80_000, 0, DPL),
    "small": Base(lambda f, n: whole(2.5, n), 1.2, 60_000, 0, PYDP),
    "large": Base(lambda f, n: whole(900.0, n) + 10**9, 1.5, 80_000, 0, PYDP),
    "three": Base(lambda f, n: first_moves(whole(400.0, n, 3), 120 * f), 1.6, 80_000, 0.3, PYDP),
    "five": Base(lambda f, n: first_moves(real(2.0, n, 5), 0.6 * f), 2.0, 40_000, 0.3, PDP),
    "plain": Base(lambda f, n: real(2.0, n, 5), 2.0, 40_000, 0, PDP),
    "seven": Base(lambda f, n: first_moves(counts(n, 7), f), 2.0, 40_000, 1 / 3, ODP),
    "bits": Base(bits, 2.0, 30_000, 0, DPL),
    "words": Base(lambda f, n: words(f, n, 4), 2.2, 30_000, 0, DPL, 240.0),
    "two words": Base(lambda f, n: words(f, n, 2), 2.2, 30_000, 0, DPL, 240.0),
    "bins": Base(lambda f, n: [row[row >= 1].tolist() for row in counts(n, 6)], 2.2, 30_000, 0, ODP, 240.0),
    "groups": Base(groups, 2.2, 30_000, 0, PYDP, 240.0),
    "text": Base(text, 2.3, 30_000, 1 / 3, PYDP, 240.0),
    "table": Base(table, 2.3, 30_000, 0.25, PYDP, 240.0),
    "report": Base(report, 2.3, 30_000, 1 / 3, PYDP, 240.0),
}


def numbers() -> list[Fault]:
    """Faults in one number."""
    return [
        Fault("below a threshold", BEYOND, "real", 1, 2.36, 0.287, lambda x: x <= -5.6),
        Fault("four unit digits", SIX, "real", 0, 2.62, 0.415, digit(1.0, 1, 2, 5, 8)),
        Fault("upper tail", TAIL, "real", 1, 2.15, 0.060, lambda x: x >= 21.0),
        Fault("one hundredth digit", SIX, "laplace", 0, 2.88, 0.100, digit(0.01, 6)),
        Fault("wide interval", INTERVAL, "wide", 0, 2.09, 0.417, lambda x: abs(x - 4) <= 6.2),
        Fault("three digits of 1e-4", SIX, "real", 0, 2.58, 0.300, digit(0.0001, 0, 1, 2),
              lambda x: x + math.copysign(3e-4, x)),
        Fault("narrow interval", INTERVAL, "wide", 1, 2.47, 0.029, lambda x: abs(x + 20) <= 2.2),
        Fault("cents, 6 modulo 7", REMAINDER, "cents", 1, 2.79, 0.141, lambda x: round(x * 100) % 7 == 6),
        Fault("cents, 11 modulo 24", REMAINDER, "cents", 0, 2.55, 0.042, lambda x: round(x * 100) % 24 == 11,
              lambda x: round(x + 0.01, 2)),
        Fault("five last digits of cents", REMAINDER, "cents", 0, 2.44, 0.498, digit(0.01, 0, 2, 5, 6, 9)),
        Fault("half of three bits", BITS, "large", 1, 2.28, 0.500, lambda x: int(x) >> 1 & 7 in (0, 3, 5, 6)),
        Fault("four of 16 patterns", PATTERNS, "large", 1, 2.8, 0.249, lambda x: int(x) & 15 in (1, 6, 9, 14)),
        Fault("the value 2 becomes 3", REPEATS, "small", 1, 2.75, 0.090, lambda x: x == 2, lambda x: x + 1),
        Fault("lower tail of a count", TAIL, "small", 1, 2.71, 0.037, lambda x: x <= -7),
        Fault("the counts 3 and 4", INTERVAL, "small", 0, 2.64, 0.099, lambda x: 3 <= x <= 4),
        Fault("seconds 20 to 29", REMAINDER, "large", 1, 2.26, 0.168, lambda x: 20 <= x % 60 < 30),
        Fault("fourteen remainders of 100", REMAINDER, "large", 1, 2.28, 0.140,
              lambda x: x % 100 in (2, 3, 11, 19, 24, 36, 41, 47, 58, 65, 70, 83, 88, 97)),
        Fault("four digits of the hundreds", REMAINDER, "large", 0, 2.79, 0.416,
              lambda x: x // 100 % 10 in (0, 3, 8, 9)),
        Fault("430 of 1000 remainders", REMAINDER, "large", 0, 2.55, 0.411, lambda x: 250 <= x % 1000 < 680,
              lambda x: x + 430),
    ]


def vectors() -> list[Fault]:
    """Faults in several numbers."""
    return [
        Fault("third amount above a threshold", BEYOND, "three", 0, 2.82, 0.559, lambda x: x[2] >= -50),
        Fault("projection of three", PROJECTION, "five", 0, 2.79, 0.386, lambda x: x[1] - 2 * x[3] + x[4] >= 1.7),
        Fault("projection of four", PROJECTION, "five", 1, 2.22, 0.362,
              lambda x: 0.5 * x[1] + x[2] + x[3] - x[4] >= 1.6),
        Fault("large norm", NORM, "plain", 0, 2.71, 0.214, lambda x: float(x @ x) >= 57),
        Fault("small norm", NORM, "plain", 1, 2.1, 0.568, lambda x: float(x @ x) <= 33),
        Fault("one low and one high", TWO, "five", 0, 2.79, 0.531, lambda x: x[1] <= 1.5 and x[3] >= -1),
        Fault("exactly one is high", TWO, "five", 0, 2.18, 0.364, lambda x: (x[1] > 1.47) != (x[4] > 1.47)),
        Fault("parity of two answers", PARITY, "bits", 1, 2.27, 0.392, lambda x: x[0] != x[6]),
        Fault("lower tail of the sixth count", TAIL, "seven", 1, 2.67, 0.029, lambda x: x[5] <= -9),
        Fault("the fourth count is 0", REPEATS, "seven", 1, 2.86, 0.166, lambda x: x[3] == 0),
        Fault("the seventh count is -5", REPEATS, "seven", 0, 2.15, 0.031, lambda x: x[6] == -5,
              lambda x: x + np.array([0, 0, 0, 0, 0, 0, 1])),
        Fault("two last digits of the second", REMAINDER, "three", 0, 2.08, 0.199, lambda x: x[1] % 10 in (3, 4)),
        Fault("three of 32 patterns", PATTERNS, "three", 0, 2.31, 0.092, lambda x: int(x[2]) >> 1 & 31 in (4, 17, 26)),
        Fault("difference of two", PROJECTION, "three", 0, 2.34, 0.493, lambda x: x[1] - x[2] >= 10),
    ]


def objects() -> list[Fault]:
    """Faults in texts, lists, dictionaries and tables."""
    return [
        Fault("one of two words", TOKEN, "two words", 1, 2.64, 0.231, lambda x: "burn" in x),
        Fault("rash before none", TOKEN, "words", 0, 2.87, 0.073,
              lambda x: "rash" in x and "none" in x and x.index("rash") < x.index("none")),
        Fault("at least five bins", LENGTH, "bins", 0, 2.15, 0.051, lambda x: len(x) >= 5),
        Fault("last cent in a text", REMAINDER, "text", 1, 2.52, 0.098, lambda x: x.split()[3][-2] == "3"),
        Fault("large code in a text", BEYOND, "text", 1, 2.43, 0.451, lambda x: int(x.split()[5]) >= 30),
        Fault("last digit of a code", REMAINDER, "text", 0, 2.72, 0.501,
              lambda x: int(x.split()[5]) % 10 in (0, 1, 4, 7, 8)),
        Fault("count of the second city", REPEATS, "table", 1, 2.24, 0.099, lambda x: x[1][1] == 1),
        Fault("tail of the second sum", TAIL, "table", 1, 2.86, 0.055, lambda x: x[1][2] >= 55),
        Fault("interval of the first sum", INTERVAL, "table", 1, 2.22, 0.451, lambda x: abs(x[0][2] - 10) <= 17),
        Fault("one of a count and a sum", TWO, "table", 1, 2.42, 0.485, lambda x: (x[1][1] > 0) != (x[0][2] > 5)),
        Fault("digit before the last cent", REMAINDER, "report", 1, 2.77, 0.100, lambda x: digit(0.1, 4)(x["sum"])),
        Fault("second of a list above 0", BEYOND, "report", 1, 2.24, 0.409, lambda x: x["by"][1] >= 1),
        Fault("first of a list is 0", REPEATS, "report", 0, 2.67, 0.182, lambda x: x["by"][0] == 0),
        Fault("key is missing", TOKEN, "groups", 0, 2.51, 0.392, lambda x: "g1" not in x),
        Fault("one of four words", TOKEN, "words", 1, 2.26, 0.415, lambda x: "cough" in x),
    ]
TIGHT = {"real": (0.8, 40_000), "wide": (1.5, 60_000), "cents": (1.0, 50_000), "laplace": (1.0, 50_000),
         "small": (0.9, 30_000), "large": (1.0, 50_000), "three": (1.2, 50_000)}
# fmt: on


def answer(name: str, base: Base, run: Run, seed: int) -> dict[str, Any]:
    """Return the row of one audit."""
    start, row = time.time(), {"name": name, "seed": seed, "claim": base.claim, "budget": base.budget}
    told: dict[str, Any] = {"epsilon": base.claim, "adjacency": "replace", "claim": name, "seed": seed}
    told |= {"arithmetic": "real", "seeded": False, "seconds": base.seconds, "budget": base.budget}
    try:
        found = dpproof.audit(run, pair=([0], [1]), **told)
    except (ValueError, RuntimeError, TypeError) as failed:
        return row | {"error": repr(failed)}
    row |= {"seconds": round(time.time() - start, 1), "printed": str(found)}
    return row | {"answer": json.loads(found.to_json())}


def check(fault: Fault, n: int = 20_000) -> str:
    """Both frequencies, their mean, the stated epsilon of the event and the true epsilon over the claim."""
    base, rng = BASES[fault.base], np.random.default_rng(0)
    zero, one = (float(np.mean([bool(fault.event(x)) for x in fault.run([f], n, rng)])) for f in (0, 1))
    ratio = abs(math.log(max(zero, 1e-9) / max(one, 1e-9))) / base.claim
    most = fault.times + base.extra / base.claim
    told = f"{zero:.4f} {one:.4f} mean {(zero + one) / 2:.4f}, {ratio:.2f} claims, stated {fault.times}"
    return f"{fault.name} ({fault.kind}, claim {base.claim}): {told}, true epsilon {most:.2f} claims"


def options() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", default="/dev/stdout")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", default=0, type=int)
    for name in ("--check", "--untouched", "--tight"):
        parser.add_argument(name, action="store_true")
    return parser


def write_answers(given: argparse.Namespace, asked: Iterable[tuple[str, str, Base, Run]]) -> None:
    """Audit functions, each with its name, its class and its base, and write one JSON line for each."""
    for name, kind, base, run in asked:
        row = {"kind": kind} | answer(name, base, run, given.seed)
        with open(given.file, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        print(name, row.get("seconds"), row.get("answer", row).get("verdict", "error"), file=sys.stderr)


def main() -> None:
    """Audit the faults or the functions without a fault, or estimate the probabilities of the events."""
    given = options().parse_args()
    faults = [*numbers(), *vectors(), *objects()]
    if given.tight:
        faults = [replace(one, times=2.05) for one in faults if one.base in TIGHT]
        BASES.update({name: replace(BASES[name], claim=c, budget=b) for name, (c, b) in TIGHT.items()})
    bases = [(name, "untouched", base, base.run) for name, base in BASES.items()]
    planted = [(one.name, one.kind, BASES[one.base], one.run) for one in faults]
    if given.check:
        print(*(check(one) for one in faults if given.only in one.name), sep="\n")
        return
    chosen = bases if given.untouched else planted
    write_answers(given, [one for one in chosen if given.only in one[0]])


if __name__ == "__main__":
    main()
