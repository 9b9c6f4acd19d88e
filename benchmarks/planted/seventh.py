"""Faults that the seventh user planted, most of them in remainders, orders of words, and patterns of low bits.

The noise comes from diffprivlib, opendp, pipeline-dp and python-dp. The two inputs are `[0]` and `[1]`. `DRAWN` has
the class of each fault, its true epsilon over the claim, the mean probability of its event over both inputs, and the
input on which the event is rare. They were drawn before the events were written down. The event is the nearest one of
its class that was thought of and that the outputs allow. The functions work as in `sixth.py`, and the options of the
command line are the same. `TIGHT` and `HARD` are a second set (`--tight`), written after the answers on the first
set: events in the three classes above, with small probabilities and a true epsilon just above twice the claim.
`--rare RUNS SAMPLES` counts how many audits find three rare events of remainders.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
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
    REPEATS,
    TAIL,
    TOKEN,
    TWO,
    Event,
    real,
    whole,
    words,
)
from benchmarks.planted.sixth import (
    BASES,
    DPL,
    ODP,
    PATTERNS,
    PDP,
    PYDP,
    Base,
    Fault,
    check,
    first_moves,
    options,
    write_answers,
)

DECIMAL = "a decimal digit, or a remainder modulo 3, 7, 10, 24 or 60, of an exact number"
HUNDRED = "a remainder modulo 100 or 1000 of an exact number"
ORDER = "two tokens in an order"
OTHERS = [TAIL, BEYOND, PROJECTION, NORM, INTERVAL, TWO, REPEATS, LENGTH, TOKEN, BITS, PARITY, DECIMAL]


def drawn(
    seed: int, most: tuple[float, float], kinds: list[str], others: bool
) -> list[tuple[str, float, float, int]]:
    """The class, the true epsilon over the claim, the mean probability and the rare input of each fault."""
    rng = np.random.default_rng(seed)
    if others:
        kinds = [*kinds, *(OTHERS[i] for i in rng.permutation(12)), OTHERS[int(rng.integers(12))]]
    times = np.exp(rng.uniform(math.log(2.05), math.log(most[0]), len(kinds)))
    means = np.exp(rng.uniform(math.log(0.0125), math.log(most[1]), len(kinds)))
    return list(
        zip(kinds, times.tolist(), means.tolist(), rng.integers(2, size=len(kinds)).tolist(), strict=True)
    )


DRAWN = drawn(20261201, (4, 0.3), [HUNDRED] * 12 + [ORDER] * 12 + [PATTERNS] * 9, True)
TIGHT = drawn(20261202, (2.3, 0.06), [HUNDRED] * 10 + [PATTERNS] * 4 + [ORDER] * 8, False)


@cache
def _opendp(scale: float) -> Any:
    domain = dp.vector_domain(dp.atom_domain(T=int))
    return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale), []


def exact(scale: float, n: int, width: int = 1) -> np.ndarray:
    """Whole numbers with the noise of opendp, as a column or a table. Each draw of noise is used once."""
    make, stock = _opendp(scale)
    while len(stock) < n * width:
        stock.extend(make([0] * 20_000))
    taken = np.array([stock.pop() for _ in range(n * width)])
    return taken if width == 1 else taken.reshape(n, width)


NAMES = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey", "ice", "jam"]


def ranked(counts: list[float], scale: float, n: int, top: int) -> list[list[str]]:
    """The words with the largest noisy counts, the largest first, with the noise of pipeline-dp."""
    noisy = real(scale, n, len(counts)) + np.array(counts)
    return [[NAMES[i] for i in row] for row in np.argsort(-noisy, axis=1)[:, :top].tolist()]


def sentences(n: int) -> list[str]:
    """Sentences with the three words of the largest noisy counts."""
    rows = ranked([5, 4, 4, 3, 2, 2, 1, 0], 3.0, n, 3)
    return [f"Most sold: {a}, followed by {b} and {c}." for a, b, c in rows]


def diary(n: int) -> list[str]:
    """Texts of six words. Each word is the one of five that has the largest noisy count."""
    choice = np.argmax(real(2.0, 6 * n, 5) + np.array([2.0, 1.5, 1.0, 0.5, 0.0]), axis=1).reshape(n, 6)
    return [" ".join(NAMES[i] for i in row) for row in choice.tolist()]


def basket(n: int) -> list[list[str]]:
    """Lists of the words whose noisy counts are at least 1, the largest count first."""
    noisy = exact(3.0, n, 6) + np.array([3, 2, 2, 1, 0, 0])
    return [[NAMES[i] for i in np.argsort(-row, kind="stable") if row[i] >= 1] for row in noisy]


def queue(scale: float, counts: list[int], n: int) -> list[str]:
    """Texts that list words with their places, the word with the largest noisy count first."""
    noisy = exact(scale, n, len(counts)) + np.array(counts)
    return [
        " ".join(f"{at}. {NAMES[i]}" for at, i in enumerate(np.argsort(-row, kind="stable"), 1))
        for row in noisy
    ]


def medals(n: int) -> list[str]:
    """Texts with all of five words in the order of their noisy counts."""
    return [" > ".join(row) for row in ranked([12.3, 10.2, 1.2, 0.6, 0], 3.0, n, 5)]


def receipt(flag: int, n: int) -> list[str]:
    """Texts with a number of visits and a total of whole euros."""
    return [
        f"{v + flag} visits, {k} euros in total" for v, k in zip(whole(3.0, n), whole(2500.0, n), strict=True)
    ]


def record(n: int) -> list[dict[str, int]]:
    """Dictionaries with two large counts."""
    return [{"steps": a, "metres": b} for a, b in exact(3000.0, n, 2).tolist()]


def answers(epsilon: float, n: int) -> list[np.ndarray]:
    """Six answers of diffprivlib's randomised response, as 0 and 1."""
    answer = dm.Binary(epsilon=epsilon, value0="0", value1="1")
    return list(np.array([[int(answer.randomise("0")) for _ in range(6)] for _ in range(n)]))


def geometric(n: int) -> np.ndarray:
    """Whole numbers with diffprivlib's geometric noise."""
    noise = dm.Geometric(epsilon=0.002, sensitivity=1)
    return np.array([noise.randomise(40_000) for _ in range(n)])


def bins(n: int) -> list[list[int]]:
    """Of eight noisy counts those that are at least 3, in a list."""
    return [row[row >= 3].tolist() for row in exact(3.0, n, 8)]


# fmt: off
OWN = {
    "euros": Base(lambda f, n: whole(900.0, n) + 5000, 1.0, 64_000, 0, PYDP),
    "steps": Base(lambda f, n: exact(2000.0, n), 1.0, 64_000, 0, ODP),
    "metres": Base(lambda f, n: exact(5000.0, n) + 10**7, 1.2, 64_000, 0, ODP),
    "price": Base(lambda f, n: real(60.0, n).round(2), 1.2, 64_000, 0, PDP),
    "geometric": Base(lambda f, n: geometric(n), 1.5, 40_000, 0, DPL),
    "pair": Base(lambda f, n: first_moves(whole(700.0, n, 2), 140 * f), 1.2, 128_000, 0.2, PYDP),
    "receipt": Base(receipt, 2.0, 24_000, 1 / 3, PYDP),
    "record": Base(lambda f, n: record(n), 2.0, 24_000, 0, ODP),
    "top four": Base(lambda f, n: ranked([6, 5, 4, 3, 2, 1, 0], 3.0, n, 4), 1.5, 16_000, 0, PDP),
    "ranking": Base(lambda f, n: ranked([5, 4, 3, 2, 1, 0], 6.0, n, 6), 1.2, 16_000, 0, PDP),
    "ten": Base(lambda f, n: ranked([0.0] * 10, 1.0, n, 5), 2.0, 16_000, 0, PDP),
    "queue": Base(lambda f, n: queue(7.0, [3, 2, 1, 0], n), 1.2, 16_000, 0, ODP),
    "ranks": Base(lambda f, n: queue(3.0, [12, 10, 7, 2, 0], n), 1.5, 16_000, 0, ODP),
    "medals": Base(lambda f, n: medals(n), 1.5, 16_000, 0, PDP),
    "sentence": Base(lambda f, n: sentences(n), 1.5, 16_000, 0, PDP),
    "diary": Base(lambda f, n: diary(n), 1.5, 16_000, 0, PDP),
    "basket": Base(lambda f, n: basket(n), 1.5, 16_000, 0, ODP),
    "five words": Base(lambda f, n: words(f, n, 5), 2.0, 12_000, 0, DPL),
    "few": Base(lambda f, n: whole(0.61, n) + 64, 1.0, 30_000, 0, PYDP),
    "visits": Base(lambda f, n: whole(2.6, n) + 40, 1.0, 40_000, 0, PYDP),
    "mean": Base(lambda f, n: real(10.0, n), 1.0, 60_000, 0, PDP),
    "sums": Base(lambda f, n: real(2.0, n, 4), 1.5, 40_000, 0, PDP),
    "moving": Base(lambda f, n: first_moves(real(2.0, n, 4), 0.4 * f), 1.5, 60_000, 0.2, PDP),
    "answers": Base(lambda f, n: answers(2.33, n), 1.0, 16_000, 0, DPL),
    "list": Base(lambda f, n: bins(n), 1.5, 30_000, 0, ODP),
}
# fmt: on
BASES.update(OWN)


def scattered(share: int, size: int, by: int) -> frozenset[int]:
    """A set of remainders without a visible order: the first ones of a shuffled list."""
    order = sorted(range(size), key=lambda r: (r * r * r * 31 + r * by) % 10_007)
    return frozenset(order[:share])


def among(chosen: Any, size: int) -> Event:
    """The event that the remainder of a whole number is in a set."""
    return lambda x: int(x) % size in chosen


def pattern(low: int, width: int, *chosen: int) -> Event:
    """The event that some adjacent low bits have one of the patterns."""
    return lambda x: int(x) >> low & (1 << width) - 1 in chosen


def before(first: str, second: str) -> Event:
    """The event that a word of a list or a text comes before another word."""

    def event(x: Any) -> bool:
        row = x.replace(",", " ").replace(".", " ").split() if isinstance(x, str) else x
        return first in row and second in row and row.index(first) < row.index(second)

    return event


def cents(x: float) -> int:
    """The number in units of its last decimal place."""
    return round(x * 100)


def total(x: str) -> int:
    """The euros of a receipt."""
    return int(x.split()[2])


# fmt: off
Row = tuple[str, str, Event]
SPREAD, HALF, MINUTES = scattered(342, 1000, 5), scattered(132, 256, 41), scattered(28, 60, 13)
REMAINDERS: list[Row] = [
    ("squares below 27", "steps", among({k * k for k in range(27)}, 1000)),
    ("5 modulo 27 of three digits", "metres", lambda x: x % 1000 % 27 == 5),
    ("sum of two digits from 12 on", "geometric", lambda x: x % 10 + x // 10 % 10 >= 12),
    ("cents 37 to 45", "price", lambda x: 37 <= cents(x) % 100 <= 45),
    ("487 to 512", "euros", lambda x: 487 <= x % 1000 <= 512),
    ("eight of a hundred", "pair", lambda x: x[1] % 100 in (4, 17, 18, 40, 53, 61, 79, 92)),
    ("three digits 2, 7 or 9", "euros", lambda x: set(f"{x % 1000:03d}") <= set("279")),
    ("3 modulo 8 of two digits", "receipt", lambda x: total(x) % 100 % 8 == 3),
    ("480 of a thousand", "steps", among(scattered(480, 1000, 77), 1000)),
    ("52 after 12", "record", lambda x: 12 <= x["metres"] % 100 < 64),
    ("three of a hundred", "geometric", among((7, 58, 83), 100)),
    ("342 of a thousand, cents", "price", lambda x: cents(x) % 1000 in SPREAD),
]
ORDERS: list[Row] = [
    ("bread, then apple", "sentence", before("bread", "apple")),
    ("grapes, then cheese", "top four", before("grapes", "cheese")),
    ("eggs, then bread", "basket", before("eggs", "bread")),
    ("bread, then cheese", "top four", before("bread", "cheese")),
    ("bread above cheese", "ranking", before("bread", "cheese")),
    ("figs, then apple", "top four", before("figs", "apple")),
    ("fever, then rash", "five words", before("fever", "rash")),
    ("eggs, then cheese", "sentence", before("eggs", "cheese")),
    ("cheese above dates", "queue", before("cheese", "dates")),
    ("dates, then bread", "diary", before("dates", "bread")),
    ("figs, then ice", "ten", before("figs", "ice")),
    ("bread above apple", "ranking", before("bread", "apple")),
]
LOW: list[Row] = [
    ("two of 16 patterns", "steps", pattern(1, 4, 3, 10)),
    ("19 of 64 patterns", "euros", among(scattered(19, 64, 3), 64)),
    ("nine of 32 patterns", "geometric", pattern(2, 5, 1, 6, 8, 11, 13, 20, 23, 26, 29)),
    ("one of 32 patterns", "metres", pattern(3, 5, 22)),
    ("132 of 256 patterns", "record", lambda x: x["steps"] & 255 in HALF),
    ("three of the high half", "pair", lambda x: int(x[1]) >> 4 & 15 in (2, 9, 15)),
    ("six of 256 patterns", "euros", pattern(0, 8, 19, 77, 102, 154, 203, 240)),
    ("five of 64 patterns", "metres", pattern(1, 6, 2, 17, 31, 40, 59)),
    ("15 of 128 patterns", "steps", among(scattered(15, 128, 9), 128)),
]
REST: list[Row] = [
    ("patterns 2 to 5", "few", pattern(0, 3, 2, 3, 4, 5)),
    ("one high, one low", "sums", lambda x: x[1] > 2.1 and x[2] < -1.6),
    ("above 28.5", "mean", lambda x: x >= 28.5),
    ("from 1 to 8.89", "mean", lambda x: 1 <= x <= 8.89),
    ("answers 2 and 5 differ", "answers", lambda x: x[1] != x[4]),
    ("a weighted sum", "sums", lambda x: x[1] - 0.7 * x[2] + 1.6 * x[3] >= 5.23),
    ("no apple", "top four", lambda x: "apple" not in x),
    ("28 of 60 minutes", "receipt", lambda x: total(x) % 60 in MINUTES),
    ("large norm", "sums", lambda x: float(x @ x) >= 85.3),
    ("at least four bins", "list", lambda x: len(x) >= 4),
    ("the count 41", "visits", lambda x: x == 41),
    ("low price", "price", lambda x: x <= -146.6),
    ("low second, high fourth", "moving", lambda x: x[1] < -0.95 and x[3] > 2.47),
]
HARD: list[Row] = [
    ("27 of a thousand", "steps", among(scattered(27, 1000, 19), 1000)),
    ("900 to 924", "metres", lambda x: 900 <= x % 1000 < 925),
    ("seven of a hundred", "metres", among((9, 22, 35, 46, 51, 68, 97), 100)),
    ("sum of three digits is 6", "steps", lambda x: sum(map(int, str(x % 1000))) == 6),
    ("sum of three digits is 7", "metres", lambda x: sum(map(int, str(x % 1000))) == 7),
    ("70 of a thousand", "steps", among(scattered(70, 1000, 23), 1000)),
    ("14 modulo 27 of three digits", "metres", lambda x: x % 1000 % 27 == 14),
    ("multiples of 36 in three digits", "steps", lambda x: x % 1000 % 36 == 0),
    ("49 of a thousand", "metres", among(scattered(49, 1000, 29), 1000)),
    ("another seven of a hundred", "steps", among((1, 12, 30, 44, 57, 73, 86), 100)),
    ("11 of 128 patterns", "steps", among(scattered(11, 128, 7), 128)),
    ("pattern 9 of 32", "metres", pattern(2, 5, 9)),
    ("12 of 256 patterns", "steps", among(scattered(12, 256, 17), 256)),
    ("nine of 256 patterns", "metres", among(scattered(9, 256, 37), 256)),
    ("eggs above apple", "ranks", before("eggs", "apple")),
    ("dates above apple", "ranks", before("dates", "apple")),
    ("eggs above bread", "ranks", before("eggs", "bread")),
    ("eggs > apple", "medals", before("eggs", "apple")),
    ("dates > apple", "medals", before("dates", "apple")),
    ("eggs > bread", "medals", before("eggs", "bread")),
    ("eggs above cheese", "ranks", before("eggs", "cheese")),
    ("cheese > bread", "medals", before("cheese", "bread")),
]
# fmt: on


def faults(tight: bool) -> list[Fault]:
    """All faults of the first set, or of the tight one."""
    rows, made = HARD if tight else [*REMAINDERS, *ORDERS, *LOW, *REST], []
    for (name, base, event), (kind, times, mean, side) in zip(rows, TIGHT if tight else DRAWN, strict=True):
        mass = 2 * mean / (1 + math.exp(-times * BASES[base].claim))
        made.append(Fault(name, kind, base, side, times, mass, event))
    return made


def rare(runs: int, budget: int) -> None:
    """Print for three rare events, each of a mean probability of about 1.6 %, how many of ``runs`` audits find it."""
    (first,) = (one for one in faults(True) if one.name == "multiples of 36 in three digits")
    events = {
        "multiples of 36": [first.event] * runs,
        "28 random remainders": [among(scattered(28, 1000, 200 + k), 1000) for k in range(runs)],
        "an interval of 28": [among({(37 * k + i) % 1000 for i in range(28)}, 1000) for k in range(runs)],
    }
    asked = {"adjacency": "replace", "arithmetic": "real", "seeded": False, "power": False, "budget": budget}
    for name, each in events.items():
        faulty = [replace(first, event=event).run for event in each]
        found = [dpproof.audit(one, pair=([0], [1]), epsilon=1.0, **asked).fails for one in faulty]
        print(f"{name}: {sum(found)} of {runs} found in {budget:,} samples", flush=True)


def main() -> None:
    """Audit the faults or the functions without a fault, or estimate the probabilities of the events."""
    parser = options()
    parser.add_argument("--rare", nargs=2, type=int, metavar=("RUNS", "SAMPLES"))
    given = parser.parse_args()
    if given.rare:
        rare(*given.rare)
        return
    planted = [one for one in faults(given.tight) if given.only in one.name]
    if given.check:
        for one in planted:
            print(
                check(one),
                f"drawn mean {one.mass * (1 + math.exp(-one.times * BASES[one.base].claim)) / 2:.4f}",
            )
        return
    runs = [(one.name, one.kind, BASES[one.base], one.run) for one in planted]
    bases = [(name, "untouched", base, base.run) for name, base in OWN.items() if given.only in name]
    write_answers(given, bases if given.untouched else runs)


if __name__ == "__main__":
    main()
