"""Claims: functions that read a claim from JSON, and the tasks (goals with hypotheses) that a proof must solve.

A claim is {"vars": {name: "[lo, hi)"}, "given": [[rel, a, b], ...], "goal": [rel, a, b]}. It says: for all values in
the intervals that satisfy the hypotheses, the goal holds and its formulas are defined. Variables are real numbers,
and those listed in "integers" are whole numbers. "random" names random variables, each with an interval that contains
all its values. A formula may contain expectations ("E", formula). If a hypothesis contains a random variable outside
an expectation, it holds for all values of the variable. "independent" splits the random variables into independent
groups.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel import normal_form as nf
from dpproof.proofs_check.kernel.arithmetic import Interval, Number, Rejected
from dpproof.proofs_check.kernel.expressions import (
    NAME,
    RESERVED,
    Box,
    Expr,
    evaluate,
    has,
    outside,
    rational,
    read,
    substitute,
)  # fmt: skip

MAX_NODES = 5000
INTERVAL = re.compile(r"([\[(])([-0-9/]+|-inf), ([-0-9/]+|inf)([\])])\Z", re.ASCII)
Node = dict[str, Any]


class Range(NamedTuple):
    """The interval of a variable. `open` says for each endpoint whether it is excluded."""

    lo: Number
    hi: Number
    open: tuple[bool, bool]

    def hull(self, closed: bool = False) -> Interval:
        """Return the closed interval, and whether it counts as without zero.

        It does if 0 is outside. An endpoint 0 that is excluded also makes it count as without zero, unless `closed`.
        """
        outside = self.lo > ia.ZERO or self.hi < ia.ZERO
        at_end = (self.lo == ia.ZERO and self.open[0]) or (self.hi == ia.ZERO and self.open[1])
        return Interval(self.lo, self.hi, outside or (at_end and not closed))

    def has(self, x: Number, strictly: bool = False) -> bool:
        """Return whether x is in the interval, or with `strictly` whether x lies strictly between the endpoints."""
        low = self.lo < x if strictly or self.open[0] else self.lo <= x
        return low and (x < self.hi if strictly or self.open[1] else x <= self.hi)

    def covers(self, other: "Range") -> bool:
        """Return whether every point of `other` is in this interval."""
        low = self.lo < other.lo or (self.lo == other.lo and (other.open[0] or not self.open[0]))
        return low and (self.hi > other.hi or (self.hi == other.hi and (other.open[1] or not self.open[1])))


class Relation(NamedTuple):
    """A relation between two formulas: left >= right, left > right or left == right."""

    rel: str
    left: Expr
    right: Expr

    @property
    def difference(self) -> Expr:
        """The formula left - right."""
        return ("-", self.left, self.right)

    def holds(self, value: Interval) -> bool:
        """Return whether an interval that contains left - right proves the relation."""
        if self.rel == "==":
            return value.lo == value.hi == ia.ZERO
        return value.lo >= ia.ZERO and (value.nz or self.rel == ">=")


@dataclass
class Task:
    """What a proof node must prove: the goal, for all values in the domain that satisfy the hypotheses `given`."""

    domain: dict[str, Range]
    given: list[Relation]
    goal: Relation
    integers: set[str]
    prec: int
    budget: list[int]
    leaves: set[str]
    random: dict[str, Range]
    groups: tuple[frozenset[str], ...]

    def box(self, closed: str = "") -> Box:
        """Return the closed interval of each variable. The endpoints of the variable `closed` count as included."""
        return {v: r.hull(v == closed) for v, r in self.domain.items()}

    def value(self, e: Expr, box: Box) -> Interval:
        """Return an interval that contains the values of a formula, for variables in the intervals of `box`."""
        return evaluate(e, box, self.prec)

    def relation(self, data: object, surely: bool = False) -> Relation:
        """Return the relation that JSON data stand for.

        With `surely`, the relation may contain random variables outside expectations. Only a hypothesis may do so.
        """
        if not isinstance(data, list | tuple) or len(data) != 3 or data[0] not in (">=", ">", "=="):
            raise Rejected("not a relation")
        x = Relation(data[0], *(read(side, {*self.domain, *self.random}) for side in data[1:]))
        loose = outside(x.difference) & self.random.keys()
        if loose and (not surely or has(x.difference, "E")):
            raise Rejected(
                "only a hypothesis without expectations may contain a random variable outside an expectation"
            )
        return x

    def variable(self, name: object) -> str:
        """Return the name if it is the name of a variable. Otherwise reject it."""
        if type(name) is not str or name not in self.domain:
            raise Rejected("unknown variable in the proof")
        return name

    def fresh(self, stem: str) -> str:
        """Return a new name that begins with `stem` and that no variable has."""
        taken = self.domain.keys() | self.random.keys()
        return next(name for k in range(len(taken) + 1) if (name := stem + "_" * k) not in taken)

    def put(self, values: dict[str, Expr], **domain: Range) -> "Task":
        """Return the task in which formulas replace variables. `domain` holds the intervals of new variables."""
        rest = {v: r for v, r in self.domain.items() if v not in values} | domain

        def change(x: Relation) -> Relation:
            return Relation(x.rel, substitute(x.left, values), substitute(x.right, values))

        return replace(self, domain=rest, integers=self.integers & rest.keys(),
                       given=[change(x) for x in self.given], goal=change(self.goal))  # fmt: skip

    def under(self, *extra: Relation, goal: Relation | None = None) -> "Task":
        """Return the task with the additional hypotheses `extra`, and with another goal if one is given."""
        return replace(self, given=[*self.given, *extra], goal=goal or self.goal)

    def field(self) -> nf.Field:
        """Return an object that computes normal forms of formulas over the domain."""
        return nf.Field(lambda v: (self.domain[v].hull(), self.domain[v].open), self.prec)


def keys(data: object, needed: set[str], optional: frozenset[str] = frozenset()) -> Node:
    """Return a JSON object if it has all needed keys, and no other keys except the optional ones."""
    if type(data) is not dict or not needed <= data.keys() <= needed | optional:
        raise Rejected(f"expected an object with the keys {sorted(needed)}")
    return data


def interval(text: object) -> Range:
    """Return the interval that a text such as "[lo, hi)" stands for. Infinite endpoints must be excluded."""
    match = INTERVAL.match(text) if type(text) is str else None
    if not match:
        raise Rejected(f"not an interval: {str(text)[:60]!r}")
    left, low, high, right = match.groups()
    lo = ia.NEG_INF if low == "-inf" else (0, rational(low))
    hi = ia.INF if high == "inf" else (0, rational(high))
    ends = left == "(", right == ")"
    if lo > hi or (lo == hi and True in ends) or (lo[0] and not ends[0]) or (hi[0] and not ends[1]):
        raise Rejected(f"an empty or ill-formed interval: {text}")
    return Range(lo, hi, ends)


def ranges(data: object) -> dict[str, Range]:
    """Return the intervals of variables that a JSON object contains."""
    if type(data) is not dict or not all(
        type(v) is str and NAME.match(v) and not v.startswith(RESERVED) and v != "pi" for v in data
    ):
        raise Rejected("'vars' and 'random' must be JSON objects whose keys are allowed names of variables")
    return {v: interval(text) for v, text in data.items()}


def task(claim: object, prec: object) -> Task:
    """Return the task of proving a claim, read from JSON data. `prec` is the precision in bits."""
    data = keys(claim, {"vars", "goal"}, frozenset({"given", "integers", "random", "independent"}))
    prec = precision(prec)
    domain, random = ranges(data["vars"]), ranges(data.get("random", {}))
    integers = set(data.get("integers", []))
    if not integers <= domain.keys() or domain.keys() & random.keys():
        raise Rejected(
            "'integers' must name variables in 'vars', and no variable may be in both 'vars' and 'random'"
        )
    t = Task(domain, [], Relation(">=", ia.ZERO[1], ia.ZERO[1]), integers, prec, [MAX_NODES], set(), random,
             _groups(data.get("independent", []), set(random)))  # fmt: skip
    given = [t.relation(x, surely=True) for x in data.get("given", [])]
    return replace(t, given=given, goal=t.relation(data["goal"]))


def precision(bits: object) -> int:
    """Return the precision of a certificate in bits. Reject anything but an integer from 20 to 2000."""
    if type(bits) is not int or not 20 <= bits <= 2000:
        raise Rejected("the precision must be an integer from 20 to 2000")
    return bits


def _groups(data: object, names: set[str]) -> tuple[frozenset[str], ...]:
    """Read the independent groups; without any all random variables may depend on each other."""
    if type(data) is not list or not all(type(group) is list for group in data):
        raise Rejected("the independent groups are not lists")
    members = [v for group in data for v in group]
    if data and (len(members) != len(set(members)) or set(members) != names):
        raise Rejected("'independent' must name every random variable exactly once")
    return tuple(frozenset(group) for group in data)


Replay = Callable[[Task, object], None]
