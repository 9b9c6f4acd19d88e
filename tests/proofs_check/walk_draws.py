"""Random claims that are false at a known place, and random nodes of proofs that might be tried on them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from dpproof.proofs_check.kernel.goals import Task
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


ON_A_VARIABLE = ("split", "subst", "renamed", "mono")
SUBSTITUTIONS = (
    ("^", "[0, inf)"), ("^", "(0, inf)"), ("^", "[0, 3]"), ("/", "(0, inf)"), ("/", "(0, 1]"),
    ("/", "[1, inf)"), ("/", "(0, 4)"), ("exp", "(-inf, inf)"), ("exp", "[0, inf)"),
)  # fmt: skip


class Here(NamedTuple):
    """A task, the names it speaks of, and where it is false."""

    task: Task
    scope: Scope
    at: Values
    law: Law


def renamed(e: Formula, old: str, new: Formula) -> Formula:
    """Put something in the place of a name that is nowhere an index."""
    if isinstance(e, str):
        return new if e == old else e
    fixed = 2 if e[0] == "sum" else 1
    return [*e[:fixed], *(renamed(x, old, new) for x in e[fixed:])]


def sums_in(e: Any) -> list[Any]:
    """Return the sums in a formula of the kernel."""
    if not isinstance(e, tuple):
        return []
    return [*([e] if e[0] == "sum" else []), *(s for x in e[1:] for s in sums_in(x))]


class Draw(Claims):
    """A seeded source of claims and of nodes for them."""

    def node(self, t: Task, at: Values, law: Law) -> Any:
        """Draw a node for a task; a part of it is called by the place where it stands."""
        whole = tuple(v for v in t.domain if v in t.integers)
        s = Scope(tuple(v for v in t.domain if v not in whole), whole, tuple(t.random))
        often = (9 if self.taste.moments else 3) if s.random else 0
        kind = self.choice(self.taste.kinds + ("expect",) * often)
        if (kind in ON_A_VARIABLE and not s.fixed) or (kind in ("induct", "enumerated") and not whole):
            raise Unclear
        drawn: Any = getattr(self, "_" + kind)(Here(t, s, at, law))
        return drawn

    def _split(self, h: Here) -> Any:
        at = self.choice(["1", "1/2", "2", "3/2", "1/4"])
        return {"split": [self.choice(h.scope.fixed), at, "below", "above"]}

    def _renamed(self, h: Here) -> Any:
        new = self.choice(["i", "j", "k", "t", "n"])
        old = self.choice(h.scope.fixed)
        return {"subst": {old: ["+", "0", new]}, "vars": {new: "(-inf, inf)"}, "sub": "sub"}

    def _subst(self, h: Here) -> Any:
        new = self.choice(["t", "i", "j", "q", "k"])
        op, interval = self.choice([*SUBSTITUTIONS, ("+", self.choice(REAL)), ("-", self.choice(REAL))])
        args = {"^": [new, "2"], "/": ["1", new], "exp": [new]}.get(op) or [self.number(), new]
        return {"subst": {self.choice(h.scope.fixed): [op, *args]}, "vars": {new: interval}, "sub": "sub"}

    def _have(self, h: Here) -> Any:
        draw = self.choice([self.hypothesis, self.hypothesis, self.true, self.untrue])
        relation = draw(h.scope, h.at, h.law)
        if not relation:
            raise Unclear
        return {"have": relation, "proof": "proof", "sub": "sub"}

    def _cases(self, h: Here) -> Any:
        e = self.formula(h.scope._replace(random=()), 2)
        return {"cases": e, "nonnegative": "above", "nonpositive": "below"}

    def _induct(self, h: Here) -> Any:
        return {"induct": self.choice(h.scope.whole), "base": "base", "step": "step"}

    def _enumerated(self, h: Here) -> Any:
        return {"enumerated": self.choice(h.scope.whole), "sub": "sub"}

    def _mono(self, h: Here) -> Any:
        v, up = self.choice(h.scope.fixed), self.choice([1, -1])
        return {"leaf": "mono", "var": v, "dir": up, "sub": "sub"}

    def _expect(self, h: Here) -> Any:
        facts = [[self.formula(h.scope, 2, loose=True), "proof"] for _ in range(self.random.randint(0, 2))]
        return {"expect": facts, "sub": "sub"}

    def _leaf(self, h: Here) -> Any:
        kind = self.choice(["range", "identity", "positive", "positive", "taylor", "bernstein", "sos"])
        v, free, count = self.choice([*h.task.domain, "x"]), h.scope._replace(random=()), len(h.task.given)
        node: dict[str, Any] = {"leaf": kind}
        if kind in ("identity", "positive"):
            entries = range(self.random.randint(0, 3) if count else 0)
            node["multipliers"] = [self.multiplier(free, count) for _ in entries]
        if kind == "positive" and self.chance(0.3):
            node["reflect"] = [v]
        squares = [["1", self.formula(free, 1)] for _ in range(self.random.randint(0, 2))]
        more = {
            "taylor": {"var": v, "at": self.choice(["0", "1", "2"]), "order": self.random.randint(1, 3)},
            "bernstein": {"var": v, "degree": self.random.randint(1, 6)},
            "sos": {"terms": squares, "over": "1"},
        }
        return node | more.get(kind, {})

    def multiplier(self, s: Scope, given: int) -> Any:
        factor = self.choice(["1", "1", "2", "1/2", self.formula(s, 1)])
        return [factor, *(self.random.randrange(given) for _ in range(self.choice([1, 1, 2])))]

    def _telescope(self, h: Here) -> Any:
        found = [x for r in (h.task.goal, *h.task.given) for x in sums_in(r.difference)]
        if found and self.chance(0.9):
            total = self.written(self.choice(found), {}, h.scope)
        else:
            total = self.total(h.scope._replace(random=()), 3, loose=False)
        sign, f = self.choice(["==", ">=", "<=", "=="]), self.antidifference(total, h.scope)
        return {"telescope": total, "antidifference": f, "sign": sign, "proof": "proof", "sub": "sub"}

    def antidifference(self, total: Formula, s: Scope) -> Formula:
        """Draw the sum as far as the index, that and a little more, or anything."""
        _, i, low, _, body = total
        j = next(v for v in SPARE if v != i and v not in s)
        exact = ["sum", j, low, ["-", i, "1"], renamed(body, i, j)]
        steep = ["*", str(self.choice([5, -5, 20, -20])), i]
        other = self.formula(Scope(s.real, (*s.whole, i)), 2)
        return self.choice([exact, steep, other, ["+", exact, ["*", "3", i]]])

    def written(self, e: Any, names: dict[str, str], s: Scope) -> Formula:
        """Write a formula of the kernel in JSON; an index that a sum outside has bound becomes a variable."""
        if isinstance(e, Fraction | int):
            return str(e)
        if isinstance(e, str):
            return names.get(e) or (e if e in s or not s.fixed else self.choice(s.fixed))
        if e[0] == "pi":
            return "pi"
        if e[0] != "sum":
            return [e[0], *(self.written(x, names, s) for x in e[1:])]
        taken = {*names.values(), *s.real, *s.whole, *s.random}
        free = [v for v in (*self.random.sample(INDICES, 5), *SPARE) if v not in taken]
        i = e[1] if e[1][0] != "#" and e[1] not in taken and self.chance(0.8) else free[0]
        ends = (self.written(x, names, s) for x in e[2:4])
        return ["sum", i, *ends, self.written(e[4], {**names, e[1]: i}, s)]
