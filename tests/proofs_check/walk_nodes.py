"""Random nodes of proofs: what a proof might try on a task, sound steps and others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from dpproof.proofs_check.kernel.goals import Task
from tests.proofs_check.walk_draws import INDICES, REAL, SPARE, Claims, Scope
from tests.proofs_check.walk_values import Formula, Law, Unclear, Values

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
