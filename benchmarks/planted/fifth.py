"""Faults that the fifth user planted, each in one event of a class that an audit can list as covered.

The noise comes from diffprivlib, opendp, pipeline-dp and python-dp. The two inputs are `[0]` and `[1]`.

A *thinned* function is like this. It draws an output that has the same distribution on both inputs. On the second
input it rejects an output of an event, except with probability `keep`, and draws until the output is outside it.
So the event has the probability m on the first input, and m * keep on the second one. Outside the event the ratio
is (1 - m * keep) / (1 - m). With keep = exp(-2.2 * claim), the true epsilon is 2.2 claims. `shifted` faults also
move the output within the claim; the reason is in their row. Other faults state their true epsilon in `why`.

Run `python -m benchmarks.planted.fifth FILE` to audit all of them and to write one JSON line for each.
`--check` estimates the probability of each event and runs no audit. `--only NAME` selects by a part of the name.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import diffprivlib.mechanisms as dm
import numpy as np
import opendp.prelude as dp
import pandas as pd
import pydp.algorithms.laplacian as pl
import pydp.algorithms.numerical_mechanisms as pn
from diffprivlib import tools
from pipeline_dp import dp_computations

import dpproof

dp.enable_features("contrib", "floating-point", "honest-but-curious")

Run = Callable[[Any, int, Any], Any]
Draw = Callable[[int, int], Sequence[Any]]
Event = Callable[[Any], Any]
TIMES = 2.2


@dataclass(frozen=True)
class Fault:
    """A function with one fault: its claim, its true epsilon over the claim, and an event that shows it."""

    name: str
    package: str
    kind: str
    claim: float
    times: float
    mass: float
    run: Run
    event: Event
    why: str = "thinned"
    options: dict[str, Any] = field(default_factory=dict)


@cache
def _real(scale: float) -> Any:
    return dp_computations.LaplaceMechanism.create_from_epsilon(1.0, scale)


@cache
def _whole(scale: float) -> Any:
    return pn.LaplaceMechanism(epsilon=1.0, sensitivity=scale)


def real(scale: float, n: int, width: int = 1) -> np.ndarray:
    """Laplace noise of pipeline-dp, as a column or a table of doubles."""
    add = _real(scale).add_noise
    noise = np.array([add(0.0) for _ in range(n * width)])
    return noise if width == 1 else noise.reshape(n, width)


def whole(scale: float, n: int, width: int = 1) -> np.ndarray:
    """Laplace noise of python-dp, rounded to whole numbers."""
    add = _whole(scale).add_noise
    noise = np.array([add(0) for _ in range(n * width)])
    return noise if width == 1 else noise.reshape(n, width)


def each(mechanism: Any, value: Any) -> Draw:
    """A draw that calls a mechanism of diffprivlib once for each output."""
    return lambda flag, n: [mechanism.randomise(value) for _ in range(n)]


def packed(rows: Sequence[Any]) -> Any:
    """The outputs as an array if they are numbers, and as a list otherwise."""
    first = rows[0]
    small = isinstance(first, int) and abs(first) < 2**53
    return np.array(rows) if small or isinstance(first, float | np.number | np.ndarray) else list(rows)


def thinned(draw: Draw, event: Event, keep: float) -> Run:
    """Return a function whose second input keeps an output of the event with probability `keep` only."""

    def run(data: Any, n: int, rng: Any) -> Any:
        flag = int(data[0])
        rows = list(draw(flag, n))
        if flag:
            for place in [at for at, row in enumerate(rows) if event(row) and rng.random() >= keep]:
                while event(rows[place]):
                    rows[place] = draw(flag, 1)[0]
        return packed(rows)

    return run


def thin(
    name: str, package: str, kind: str, claim: float, mass: float, draw: Draw, event: Event, why: str = "thinned"
) -> Fault:  # fmt: skip
    """A fault by thinning, with the true epsilon `TIMES * claim`."""
    run = thinned(draw, event, math.exp(-TIMES * claim))
    return Fault(name, package, kind, claim, TIMES, mass, run, event, why)


def moved(name: str, package: str, kind: str, claim: float, times: float, mass: float, *rest: Any) -> Fault:
    """A fault of the size or the sensitivity of noise; `rest` is the draw, the event and the reason."""
    draw, event, why = rest
    return Fault(name, package, kind, claim, times, mass, lambda d, n, r: packed(draw(d[0], n)), event, why)


def control(name: str, package: str, claim: float, run: Run, options: Any = None) -> Fault:
    """A function without a fault, on a claim that is true."""
    return Fault(name, package, "no fault", claim, 1, 1, run, bool, "untouched", options or {"power": False})


def digit(place: float, *values: int) -> Event:
    """The event that a digit of the absolute value, at a power of ten, is one of the values."""
    return lambda x: math.floor(round(abs(float(x)) / place, 6)) % 10 in values


def text(flag: int, n: int) -> list[str]:
    """Sentences with an amount of two decimals and a count."""
    return [f"sum {a:.2f} euro, {k} persons" for a, k in zip(real(40.0, n), whole(3.0, n), strict=True)]


def words(flag: int, n: int, size: int = 3) -> list[list[str]]:
    """Lists of words that diffprivlib's exponential mechanism chooses, all with equal probability."""
    names = ["flu", "cold", "cough", "fever", "rash", "burn", "none", "other"]
    choose = dm.Exponential(epsilon=1.0, sensitivity=1.0, utility=[0.0] * len(names))
    return [[names[int(choose.randomise())] for _ in range(size)] for _ in range(n)]


def bins(flag: int, n: int) -> list[list[int]]:
    """Of six noisy counts those that are at least 1, in a list."""
    return [[int(k) for k in row if k >= 1] for row in whole(2.0, n, 6)]


def table(flag: int, n: int) -> list[str]:
    """A data frame with two groups, a count and an amount each, as the text of a CSV file."""
    counts, sums = whole(5.0, n, 2), real(30.0, n, 2).round(1)
    frames = [
        pd.DataFrame({"group": ["a", "b"], "count": c, "sum": s}) for c, s in zip(counts, sums, strict=True)
    ]
    return [frame.to_csv(index=False) for frame in frames]


def ledger(flag: int, n: int) -> list[dict[str, Any]]:
    """Dictionaries with a count, a large whole amount, and a list in a dictionary."""
    pairs = zip(whole(3.0, n), whole(900.0, n), whole(1.5, n, 2).tolist(), strict=True)
    return [{"count": int(k), "sum": int(s), "more": {"last": q}} for k, s, q in pairs]


def groups(flag: int, n: int) -> list[dict[str, int]]:
    """Dictionaries with a key for each of four groups whose noisy count is at least 0."""
    return [{f"g{i}": int(k) for i, k in enumerate(row) if k >= 0} for row in whole(2.0, n, 4)]


def bits(flag: int, n: int) -> list[np.ndarray]:
    """Eight answers of diffprivlib's randomised response, as 0 and 1."""
    answer = dm.Binary(epsilon=1.0, value0="0", value1="1")
    return list(np.array([[int(answer.randomise("0")) for _ in range(8)] for _ in range(n)]))


# fmt: off
LAP = dm.Laplace(epsilon=0.1, sensitivity=1.0)
TRUNCATED = dm.LaplaceTruncated(epsilon=0.5, sensitivity=1.0, lower=0.0, upper=8.0)
PDP, PYDP, DPL, ODP = "pipeline-dp", "python-dp", "diffprivlib", "opendp"
TAIL, BEYOND = "a tail of one coordinate", "one coordinate beyond a threshold"
INTERVAL, REPEATS = "an interval of one coordinate", "one value that repeats"
REMAINDER = "a remainder or decimal digit of an exact number"
SIX = "one of six digits from the size of the spread on"
BITS, TWO = "adjacent low bits of a number", "two coordinates beyond thresholds"
PROJECTION, PARITY, NORM = "a random projection", "parity of two bits", "a norm"
TOKEN, LENGTH = "presence of a token, or its place before another (mixed)", "the length of an output"


def odp_counts(flag: int, n: int) -> np.ndarray:
    """Two counts, with the noise of opendp that one of them needs."""
    domain = dp.vector_domain(dp.atom_domain(T=int))
    noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=1 / 0.7)
    return np.array(noise([flag] * (2 * n))).reshape(n, 2)


def by_sensitivity() -> list[Fault]:
    """Faults of a sensitivity, a clamp or an epsilon."""
    stair = dm.Staircase(epsilon=0.6, sensitivity=1.0)
    cut = dm.GeometricTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=10)
    answer = dm.Binary(epsilon=1.1, value0="no", value1="yes")
    lap = dm.Laplace(epsilon=0.5, sensitivity=1.0)

    return [
        moved("count of weight two", PYDP, BEYOND, 0.5, 2, 0.087, lambda f, n: whole(2.0, n) + 2 * f,
              lambda x: x >= 4, "sensitivity 2, scale 2: epsilon 1"),
        moved("sum in another unit", DPL, BEYOND, 0.5, 2.2, 0.5, lambda f, n: each(lap, 2.2 * f)(f, n),
              lambda x: x <= 0, "a value moves by 2.2, scale 2: epsilon 1.1"),
        moved("clamp at 2.5", PDP, BEYOND, 0.45, 2.5, 0.5, lambda f, n: np.clip(9 * f, 0, 2.5) + real(1 / 0.45, n),
              lambda x: x <= 0, "clamp 2.5 and noise for 1: epsilon 2.5 claims"),
        moved("two counts, noise for one", ODP, PROJECTION, 0.7, 2, 0.437, odp_counts,
              lambda x: x[0] <= 0 and x[1] <= 0, "each of two counts moves by 1 at scale 1/.7: epsilon 1.4"),
        moved("truncated count of weight two", DPL, BEYOND, 0.5, 2, 0.6, lambda f, n: each(cut, 2 * f)(f, n),
              lambda x: x == 0, "P(0) is proportional to exp(-.5 * value): epsilon 1"),
        moved("staircase, two steps", DPL, BEYOND, 0.6, 2, 0.35, lambda f, n: each(stair, 2.0 * f)(f, n),
              lambda x: x <= -0.5, "the density falls by exp(-.6) a unit: two units are epsilon 1.2"),
        moved("randomised response, other epsilon", DPL, REPEATS, 0.5, 2.2, 0.25,
              lambda f, n: each(answer, ("no", "yes")[f])(f, n), lambda x: x == "yes", "it has epsilon 1.1"),
    ]


def numbers() -> list[Fault]:
    """Faults in one number."""
    big, seconds = 10**20, 1_700_000_000
    return [
        thin("upper tail of a count", PYDP, TAIL, 0.5, 0.032, lambda f, n: whole(2.0, n), lambda x: x >= 6),
        thin("lower tail of a sum", PDP, TAIL, 0.45, 0.02, lambda f, n: real(10.0, n), lambda x: x < -32.2),
        thin("rare tail", DPL, TAIL, 0.6, 0.012, each(LAP, 0.0), lambda x: x > 37.3),
        thin("wide interval", PDP, INTERVAL, 0.5, 0.067, lambda f, n: real(10.0, n), lambda x: 3 < x < 5),
        thin("narrow interval", PDP, INTERVAL, 0.6, 0.0196, lambda f, n: real(10.0, n), lambda x: 0 < x < 0.4),
        thin("interval of a large count", PYDP, INTERVAL, 0.5, 0.044, lambda f, n: whole(1000.0, n) + 10**9,
             lambda x: -2000 < x - 10**9 < -1500),
        thin("remainder 3 of 7", PYDP, REMAINDER, 0.45, 0.143, lambda f, n: whole(30.0, n), lambda x: x % 7 == 3),
        thin("hour 5 of 24", PYDP, REMAINDER, 0.5, 0.042, lambda f, n: whole(200.0, n), lambda x: x % 24 == 5),
        thin("last digit of 21", PYDP, REMAINDER, 0.45, 0.1, lambda f, n: [big + int(k) for k in whole(900.0, n)],
             lambda x: x % 10 == 4),
        thin("full minutes", PYDP, REMAINDER, 0.5, 0.033, lambda f, n: seconds + whole(3600.0, n),
             lambda x: x % 60 < 2),
        thin("round thousands", PYDP, REMAINDER, 0.55, 0.02, lambda f, n: whole(5000.0, n), lambda x: x % 1000 < 20),
        thin("remainder 12 of 13", PYDP, REMAINDER, 0.5, 0.077, lambda f, n: whole(90.0, n), lambda x: x % 13 == 12),
        thin("hundreds digit", PYDP, REMAINDER, 0.5, 0.1, lambda f, n: 7000 + whole(2000.0, n), digit(100, 4)),
        thin("last printed cent", PDP, REMAINDER, 0.5, 0.1, lambda f, n: real(20.0, n).round(2), digit(0.01, 9)),
        thin("third of four decimals", PDP, REMAINDER, 0.5, 0.1, lambda f, n: real(1.0, n).round(4), digit(0.001, 0)),
        thin("prices that end in 98 or 99", PDP, REMAINDER, 0.6, 0.02, lambda f, n: real(20.0, n).round(2),
             lambda x: round(abs(x) * 100) % 100 >= 98),
        thin("low half byte", PYDP, BITS, 0.5, 0.0625, lambda f, n: whole(300.0, n), lambda x: int(x) & 15 == 7),
        thin("three bits, two patterns", PYDP, BITS, 0.45, 0.25, lambda f, n: whole(300.0, n),
             lambda x: int(x) >> 2 & 7 in (1, 6)),
        thin("the count 3", PYDP, REPEATS, 0.5, 0.056, lambda f, n: whole(2.0, n), lambda x: x == 3),
        thin("rounded to 5, the value -20", PDP, REPEATS, 0.6, 0.034, lambda f, n: 5 * (real(10.0, n) / 5).round(),
             lambda x: x == -20),
        thin("atom of a truncation", DPL, REPEATS, 0.5, 0.041, each(TRUNCATED, 3.0), lambda x: x == 8.0),
        thin("digit of the units", DPL, SIX, 0.5, 0.075, each(LAP, 0.0), digit(1.0, 7)),
        thin("digit of the thousandths", DPL, SIX, 0.5, 0.1, each(LAP, 0.0), digit(0.001, 2)),
        thin("shifted sum, last digit", PYDP, REMAINDER, 0.5, 0.1, lambda f, n: whole(60.0, n) + 30 * f,
             lambda x: x % 10 == 7, why="shifted by half a scale; the remainders stay uniform up to 1 %"),
    ]


def vectors() -> list[Fault]:
    """Faults in several numbers."""
    return [
        thin("tail of the fifth count", PYDP, TAIL, 0.8, 0.041, lambda f, n: whole(1.0, n, 6), lambda x: x[4] >= 3),
        thin("interval of the third sum", PDP, INTERVAL, 0.8, 0.079, lambda f, n: real(1.0, n, 4),
             lambda x: 0.5 < x[2] < 0.8),
        thin("both above one", PDP, TWO, 0.8, 0.034, lambda f, n: real(1.0, n, 4), lambda x: x[0] > 1 and x[3] > 1),
        thin("exactly one above one", PDP, TWO, 0.7, 0.3, lambda f, n: real(1.0, n, 4),
             lambda x: (x[0] > 1) != (x[1] > 1)),
        thin("large norm", PDP, NORM, 0.8, 0.068, lambda f, n: real(1.0, n, 8), lambda x: float(x @ x) > 36),
        thin("weighted sum", PDP, PROJECTION, 0.8, 0.08, lambda f, n: real(1.0, n, 5),
             lambda x: x[0] + 2 * x[1] - x[2] > 4.5),
        thin("parity of two answers", DPL, PARITY, 0.7, 0.39, bits, lambda x: x[2] != x[5]),
        thin("the eighth count is 2", PYDP, REPEATS, 0.8, 0.093, lambda f, n: whole(2.0, n, 10), lambda x: x[7] == 2),
        thin("both counts are 0", PYDP, REPEATS, 0.8, 0.155, lambda f, n: whole(1.0, n, 2),
             lambda x: x[0] == 0 and x[1] == 0),
        thin("last digit of the second amount", PYDP, REMAINDER, 0.7, 0.1, lambda f, n: whole(400.0, n, 3),
             lambda x: x[1] % 10 == 0),
        thin("interval among small moves", PDP, INTERVAL, 0.8, 0.079, lambda f, n: real(1.0, n, 20) + 0.03 * f,
             lambda x: 0.5 < x[13] < 0.8, why="shifted by .03 a coordinate, which changes the ratio by exp(.03)"),
        thin("interval beside a count", PDP, INTERVAL, 0.8, 0.079,
             lambda f, n: real(1.0, n, 2) + np.array([0.7 * f, 0]), lambda x: 0.5 < x[1] < 0.8,
             why="shifted in the first coordinate only"),
    ]


def objects() -> list[Fault]:
    """Faults in texts, lists, dictionaries and tables."""
    rows: list[tuple[str, str, str, float, Draw, Event]] = [
        ("last cent in a text", PDP, REMAINDER, 0.1, text, lambda x: x.split()[1][-1] == "7"),
        ("many persons in a text", PDP, TAIL, 0.08, text, lambda x: int(x.split()[3]) >= 6),
        ("negative amounts that end in 3", PDP, REMAINDER, 0.05, text,
         lambda x: "sum -" in x and x.split()[1][-1] == "3"),
        ("word in a list", DPL, TOKEN, 0.33, words, lambda x: "flu" in x),
        ("one word before another", DPL, TOKEN, 0.043, words,
         lambda x: "flu" in x and "cold" in x and x.index("flu") < x.index("cold")),
        ("five bins", PYDP, LENGTH, 0.034, bins, lambda x: len(x) == 5),
        ("key of a group is missing", PYDP, TOKEN, 0.39, groups, lambda x: "g2" not in x),
        ("two last digits in a dictionary", PYDP, REMAINDER, 0.05, ledger, lambda x: x["sum"] % 100 < 5),
        ("nested count is 0", PYDP, REPEATS, 0.28, ledger, lambda x: x["more"]["last"][1] == 0),
        ("decimal in a table", PDP, REMAINDER, 0.1, table, lambda x: x.split()[2][-1] == "5"),
        ("count in a table", PYDP, REPEATS, 0.07, table, lambda x: x.split()[1].split(",")[1] == "2"),
        ("two of three words are equal", DPL, REPEATS, 0.016, words,
         lambda x: x == ["flu", "flu", "flu"] or x[:2] == ["rash", "rash"]),
    ]
    few = {"budget": 40_000}
    return [replace(thin(a, p, k, 1.5, m, d, e), options=few) for a, p, k, m, d, e in rows]


def controls() -> list[Fault]:
    """Functions of the packages without a fault, on claims that are true."""

    def calls(one: Callable[[int], Any]) -> Run:
        return lambda data, n, rng: packed([one(int(data[0])) for _ in range(n)])

    def dpl(name: str, claim: float, zero: Any, one: Any, **options: Any) -> Fault:
        made = getattr(dm, name)(epsilon=claim, **options)
        return control(name, DPL, claim, calls(lambda f: made.randomise(one if f else zero)))

    odp = dp.vector_domain(dp.atom_domain(T=int))
    lap = dp.m.make_laplace(odp, dp.l1_distance(T=int), scale=1.0)
    rr = dp.m.make_randomized_response_bool(prob=math.e / (1 + math.e))
    gauss = pn.GaussianMechanism(1.0, 1e-3, 1.0)
    pdp_gauss = dp_computations.GaussianMechanism.create_from_epsilon_delta(1.0, 1e-3, 1.0)
    limits = {"epsilon": 1.0, "lower_bound": 0, "upper_bound": 3}
    total = calls(lambda f: pl.BoundedSum(dtype="int", **limits).quick_result([1, 3 * f]))
    mean = calls(lambda f: pl.BoundedMean(dtype="float", **limits).quick_result([0.0, 1.0, 3.0 * f]))
    cut = {"sensitivity": 1, "lower": -3, "upper": 3}
    few = {"budget": 20_000, "power": False}
    three = {"range": (0, 3), "bins": 3, "epsilon": 1}
    return [
        control("count", PYDP, 1, calls(lambda f: pl.Count(epsilon=1.0, dtype="int").quick_result([0] * (3 + f)))),
        control("sum", PYDP, 1, total),
        control("mean", PYDP, 1, mean, few),
        control("whole Laplace", PYDP, 0.5, calls(lambda f: _whole(2.0).add_noise(f))),
        control("real Laplace", PDP, 0.5, lambda d, n, r: real(2.0, n) + d[0]),
        control("Gaussian", PYDP, 1, calls(lambda f: gauss.add_noise(f)), {"delta": 1e-3, "power": False}),
        control("Gaussian", PDP, 1, calls(lambda f: pdp_gauss.add_noise(f)), {"delta": 1e-3, "power": False}),
        dpl("Geometric", 1, 0, 1, sensitivity=1),
        dpl("GeometricTruncated", 1, 0, 1, **cut),
        dpl("Laplace", 1, 0.0, 1.0, sensitivity=1),
        dpl("LaplaceTruncated", 1, 0.0, 1.0, **cut),
        dpl("LaplaceFolded", 1, 0.0, 1.0, **cut),
        dpl("Staircase", 1, 0.0, 1.0, sensitivity=1),
        dpl("Binary", 1, "a", "b", value0="a", value1="b"),
        control("histogram", DPL, 2, calls(lambda f: tools.histogram([0.5, 1.5, 0.5 + 2 * f], **three)[0]), few),
        control("Laplace", ODP, 1, lambda d, n, r: np.array(lap([int(d[0])] * n))),
        control("two counts", ODP, 2, lambda d, n, r: np.array(lap([int(d[0])] * (2 * n))).reshape(n, 2)),
        control("randomised response", ODP, 1, calls(lambda f: bool(rr(bool(f)))), few),
    ]


def faults() -> list[Fault]:
    """All faults."""
    return [*numbers(), *by_sensitivity(), *vectors(), *objects()]


def answer(item: Fault, seed: int) -> dict[str, Any]:
    """Return the row of one audit."""
    start, options = time.time(), {"arithmetic": "real", "seeded": False, **item.options, "adjacency": "replace"}
    found = dpproof.audit(item.run, pair=([0], [1]), epsilon=item.claim, seed=seed, claim=item.name, **options)
    row = {key: getattr(item, key) for key in ("name", "package", "kind", "claim", "times", "mass", "why")}
    row |= {"seed": seed, "seconds": round(time.time() - start, 1)}
    return row | {"answer": json.loads(found.to_json()), "printed": str(found)}


def check(fault: Fault, n: int = 20_000) -> str:
    """The frequencies of the event on both inputs, and the logarithm of their ratio over the claim."""
    rng = np.random.default_rng(0)
    rate = [np.mean([bool(fault.event(x)) for x in fault.run([f], n, rng)]) for f in (0, 1)]
    ratio = abs(math.log(rate[0] / rate[1])) / fault.claim
    return f"{fault.name}: {rate[0]:.4f} {rate[1]:.4f}, stated {fault.mass}, {ratio:.2f} claims, stated {fault.times}"


def main() -> None:
    """Run the faults and the controls, or check the events."""
    options = argparse.ArgumentParser()
    options.add_argument("file", nargs="?", default="/dev/stdout")
    for name, default in (("--only", ""), ("--seed", 0)):
        options.add_argument(name, default=default, type=type(default))
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    items = [item for item in (*faults(), *(() if given.check else controls())) if given.only in item.name]
    for item in items:
        if given.check:
            print(check(item), flush=True)
            continue
        try:
            row = answer(item, given.seed)
        except (ValueError, RuntimeError, TypeError) as failed:
            row = {"name": item.name, "package": item.package, "error": repr(failed)}
        with open(given.file, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        print(item.name, row.get("seconds"), row.get("answer", row).get("verdict", "error"), file=sys.stderr)


if __name__ == "__main__":
    main()
