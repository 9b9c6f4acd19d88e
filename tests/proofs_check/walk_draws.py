"""Random claims that are false at a known place.

The names are meant to collide: indices of sums are called like variables elsewhere, like operations, and like
what the kernel itself names. All formulas are JSON.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from tests.proofs_check.walk_values import CERTAIN, Formula, Law, Unclear, Undefined, Values, value

INDICES = ("i", "j", "k", "E", "sum", "exp", "x", "n", "y", "t", "q")
KERNEL_NAMES = ("sum_", "E_x", "sum__")
SPARE = tuple(f"q{k}" for k in range(40))
REAL = (
    "[0, 1]", "(0, 1]", "[1, inf)", "(0, inf)", "(-inf, inf)", "[-1, 2]", "[-2, 2)", "[1/2, 3]", "(-inf, 1]",
    "[0, 5]",
)  # fmt: skip
WHOLE = ("[1, inf)", "[0, 3]", "[1, 2]", "[0, inf)", "[2, inf)", "[1/2, inf)")
NUMBERS = tuple(Fraction(q) for q in ("0", "1", "2", "1/2", "1/4", "3", "4", "-1", "9/4", "1/3", "3/2"))
ATOMS = ("exp", "sqrt", "log", "erfc")


class Scope(NamedTuple):
    """The names that a formula may use."""

    real: tuple[str, ...]
    whole: tuple[str, ...]
    random: tuple[str, ...] = ()

    @property
    def fixed(self) -> tuple[str, ...]:
        """Return the names that are not random."""
        return self.real + self.whole

    def __contains__(self, name: object) -> bool:
        return name in self.fixed or name in self.random

    def and_index(self, i: str) -> Scope:
        return self._replace(whole=(*self.whole, i))


class Taste(NamedTuple):
    """What the formulas of a walk are made of, and how often each kind of node comes."""

    nested: bool
    moments: bool
    atoms: tuple[str, ...]
    indices: tuple[str, ...]
    kinds: tuple[str, ...]


OTHERS = ("split", "subst", "have", "have", "cases", "induct", "enumerated", "mono", "mono", "leaf", "leaf")
KINDS = {
    "sums only": ("telescope",) * 6 + ("renamed",) * 2 + ("have",),
    "nested": ("telescope",) * 12 + ("renamed",) * 3 + OTHERS,
    "mixed": ("telescope",) * 5 + OTHERS,
    "moments": OTHERS,
}


def has(e: Formula, op: str) -> bool:
    """Tell whether an operation occurs."""
    return not isinstance(e, str) and (e[0] == op or any(has(x, op) for x in e[1:]))


class Claims:
    """A seeded source of formulas and claims."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.choice = self.random.choice
        self.taste = Taste(False, False, (), INDICES, KINDS["mixed"])

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def claim(self) -> tuple[dict[str, Any], Values, Law]:
        """Draw a claim, and where it is false."""
        while True:
            try:
                return self._claim()
            except (Unclear, Undefined):
                continue

    def _claim(self) -> tuple[dict[str, Any], Values, Law]:
        kinds = self.choice(["sums only", "nested", "mixed", "moments"])
        names = self.random.sample(INDICES, len(INDICES)) if self.chance(0.8) else KERNEL_NAMES + INDICES[:3]
        nested, moments = kinds in ("sums only", "nested"), kinds == "moments"
        self.taste = Taste(nested, moments, self.choice([(), (), ATOMS]), tuple(names), KINDS[kinds])
        real = self.random.sample(["x", "y", "i"], self.random.randint(0, 2))
        whole = self.random.sample(["n", "k", "j"], self.random.randint(0, 2))
        some = self.random.sample(["X", "Y", "x", "i", "E"], 2 if moments else self.random.randint(0, 2))
        chance = [v for v in some if v not in real]
        intervals = {v: self.choice(REAL) for v in (*real, *chance)} | {v: self.choice(WHOLE) for v in whole}
        groups = [[v] for v in chance] if len(chance) > 1 and self.chance(0.6) else []
        at: Values = {v: self.inside(intervals[v], v in whole) for v in (*real, *whole)}
        law = self.law(groups or [chance], intervals)
        s = Scope(tuple(real), tuple(whole), tuple(chance))
        given = [x for _ in range(self.random.randint(0, 3)) if (x := self.hypothesis(s, at, law))]
        claim = {
            "vars": {v: intervals[v] for v in (*real, *whole)}, "integers": whole,
            "random": {v: intervals[v] for v in chance}, "independent": groups,
            "given": given, "goal": self.untrue(s, at, law),
        }  # fmt: skip
        return claim, at, law

    def inside(self, interval: str, whole: bool = False) -> Fraction:
        """Draw a value from an interval."""
        low, high = interval[1:-1].split(", ")
        ends = [Fraction(x) for x in (low, high) if "inf" not in x]
        return self.choice([
            x for x in (*NUMBERS, *ends)
            if ("inf" in low or x > Fraction(low) or (x == Fraction(low) and interval[0] == "["))
            and ("inf" in high or x < Fraction(high) or (x == Fraction(high) and interval[-1] == "]"))
            and not (whole and (x.denominator > 1 or x > 3))
        ])  # fmt: skip

    def law(self, groups: Sequence[Sequence[str]], intervals: dict[str, str]) -> Law:
        """Draw a law under which the groups are independent."""

        def marginal(names: Sequence[str]) -> Law:
            weights = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 3))]
            return tuple(
                (Fraction(w, sum(weights)), {v: self.inside(intervals[v]) for v in names}) for w in weights
            )

        def product(a: Law, b: Law) -> Law:
            return tuple((p * q, x | y) for p, x in a for q, y in b)

        return reduce(product, (marginal(names) for names in groups if names), CERTAIN)

    def number(self) -> str:
        return str(Fraction(self.choice([0, 1, 1, 2, 3, -1, 4, 5]), self.choice([1, 1, 1, 2, 3])))

    def formula(self, s: Scope, depth: int, loose: bool = False) -> Formula:
        """Draw a formula; a `loose` one may use random variables outside an expectation."""
        if self.taste.nested and not loose and self.chance(0.8):
            return self.nested(s, self.random.randint(1, 3))
        if self.taste.moments and s.random and not loose and self.chance(0.8):
            return self.moments(s)
        if depth == 0 or self.chance(0.12):
            return self.choice([*s.fixed * 2, *(s.random * 3 if loose else ()), self.number(), self.number()])
        special = ["sum"] * (0 if self.taste.moments else 3) + ["E", "E"] * (bool(s.random) and not loose)
        atom = self.choice(self.taste.atoms or ["+"])
        op = self.choice(["+", "-", "*", "*", "neg", "^", "/", *special, atom])
        if op == "sum":
            return self.total(s, depth, loose)
        if op == "^":
            return [op, self.formula(s, depth - 1, loose), self.choice(["2", "3", "-1", "0", "2"])]
        count = 1 if op in ("neg", "E", *ATOMS) else 2
        return [op, *(self.formula(s, depth - 1, loose or op == "E") for _ in range(count))]

    def total(self, s: Scope, depth: int, loose: bool) -> Formula:
        i = self.index(s)
        return ["sum", i, *self.ends(s), self.formula(s.and_index(i), depth - 1, loose)]

    def index(self, s: Scope) -> str:
        """Draw a new name for an index, the first ones more often, so that names come again."""
        free = [i for i in (*self.taste.indices, *SPARE) if i not in s]
        return self.choice(free[: self.random.randint(1, 4)])

    def ends(self, s: Scope) -> tuple[Formula, Formula]:
        if s.whole and self.chance(0.6):
            v = self.choice(s.whole)
            return self.choice([("1", v), ("0", ["-", v, "1"]), ("1", ["+", v, "1"]), (v, ["+", v, "2"]),
                                (["-", "1", v], "3"), (["-", v, "1"], v)])  # fmt: skip
        first = self.random.randint(-1, 3)
        return str(first), str(first + self.random.randint(-1, 3))

    def nested(self, s: Scope, depth: int) -> Formula:
        """Draw sums inside sums, of few terms, so that the same sum comes again."""
        if depth == 0 or self.chance(0.1):
            left, right = (self.choice([*s.whole, *s.real, *numbers]) for numbers in (("1", "2"), ("1", "3")))
            return [self.choice(["*", "*", "+"]), left, right]
        i = self.index(s)
        ends = self.choice([("1", "2"), ("1", "3"), ("1", self.choice(s.whole or ("2",))), ("1", "1")])
        total = ["sum", i, *ends, self.nested(s.and_index(i), depth - 1)]
        return total if self.chance(0.8) else ["+", total, self.choice([*s.whole, *s.real, "1"])]

    def moments(self, s: Scope) -> Formula:
        """Draw a combination of expectations of products."""
        factors = [
            self.choice([*s.random * 2, self.formula(s, 1, loose=True)])
            for _ in range(self.random.randint(1, 3))
        ]
        e = ["E", ["*", *factors]]
        if self.chance(0.3):
            e = [self.choice(["*", "+", "-"]), e, self.moments(s)]
        if self.chance(0.3):
            e = [self.choice(["*", "+", "-"]), self.choice([*s.fixed, self.number()]), e]
        return e

    def hypothesis(self, s: Scope, at: Values, law: Law) -> Formula:
        """Draw a relation that holds; none if it would hold for sure and speak of an expectation."""
        if self.taste.nested:
            e = self.nested(s, 2)
            return ["==", e, str(value(e, at, law))]
        if s.random and self.chance(0.3):
            e = self.formula(s, 2, loose=True)
            return None if has(e, "E") else [">=", e, str(min(self.below(value(e, at | x)) for _, x in law))]
        return self.true(s, at, law)

    def true(self, s: Scope, at: Values, law: Law) -> Formula:
        """Draw a relation that holds."""
        e = self.formula(s, self.random.randint(1, 3))
        x = value(e, at, law)
        if not isinstance(x, Fraction):
            return [">=", e, str(self.below(x))]
        if s.real and self.chance(0.2) and isinstance(at[s.real[0]], Fraction):
            return ["==", e, ["+", s.real[0], str(x - at[s.real[0]])]]
        return self.choice(
            [[">=", e, str(x)], ["==", e, str(x)], [">=", str(x + 1), e], [">", e, str(x - 1)]]
        )

    @staticmethod
    def below(x: Any) -> Fraction:
        return x if isinstance(x, Fraction) else Fraction(int(x) - 1)

    def untrue(self, s: Scope, at: Values, law: Law) -> Formula:
        """Draw a relation that fails, or has no value."""
        e = self.formula(s, self.random.randint(1, 4))
        try:
            x = value(e, at, law)
        except Undefined:
            return [">=", e, "-1000"]
        if not isinstance(x, Fraction):
            return [">=", e, str(int(x) + 1)]
        less, more = str(x - self.gap()), str(x + self.gap())
        return self.choice(
            [[">=", e, more], [">=", less, e], [">", e, str(x)], ["==", e, more], ["==", e, less]]
        )

    def gap(self) -> Fraction:
        """Draw by how much a relation fails: small ones notice small errors."""
        return self.choice([Fraction(1), Fraction(1, 2), Fraction(1, 100)])
