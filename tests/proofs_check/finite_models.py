"""Random theorems in a fixed signature, finite models in which they are true or false, and random derivations.

A model evaluates formulas with exact rationals. Variables run over a few points, so that a false theorem is certainly
false, and hypotheses are certainly true at the points that are tried.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction

POINTS = {
    "H": [0, 1],
    "integers [0, 1]": [0, 1],
    "integers [0, inf)": [0, 1, 2, 3, 4],
    "real": [Fraction(x) for x in ("-1", "0", "1/2", "1", "2")],
}
SIGNATURE = {
    "sets": ["H"],
    "functions": {
        "a": {"takes": [], "gives": "H"},
        "t1": {"takes": [], "gives": "H"},
        "n": {"takes": [], "gives": "integers [0, inf)"},
        "t3": {"takes": [], "gives": "real"},
        "f": {"takes": ["H"], "gives": "real"},
        "g": {"takes": ["integers"], "gives": "[0, 1]"},
        "r": {"takes": ["real"], "gives": "real"},
        "s": {"takes": ["H"], "gives": "H"},
        "w": {"takes": ["integers", "H"], "gives": "integers"},
    },
    "integrals": {
        "I": {"takes": [], "over": "H"},
        "J": {"takes": ["integers"], "over": "integers [0, 1]"},
    },
}
OPERATIONS = {
    "+": lambda *x: sum(x, Fraction(0)),
    "*": lambda *x: math.prod(x, start=Fraction(1)),
    "-": operator.sub,
    "neg": operator.neg,
    "/": operator.truediv,
    "abs": abs,
    "step": lambda x: Fraction(x >= 0),
}
COMPARED = {"==": operator.eq, ">=": operator.ge, ">": operator.gt}


def value(e, model, at):
    """The value of a formula. Where it is undefined, ZeroDivisionError."""
    if isinstance(e, str):
        return at[e] if e in at else model[e] if e in model else Fraction(e)
    op, *parts = e
    if op == "sum":
        low, high = (int(value(x, model, at)) for x in parts[1:3])
        terms = (value(parts[3], model, at | {parts[0]: Fraction(i)}) for i in range(low, high + 1))
        return sum(terms, Fraction(0))
    if op in ("I", "J"):
        ends = [value(x, model, at) for x in parts[1:-1]]
        points = ((y, value(parts[-1], model, at | {parts[0]: Fraction(y)})) for y in (0, 1))
        return sum((model[op](y, *ends) * x for y, x in points), Fraction(0))
    if op == "^":
        return value(parts[0], model, at) ** int(parts[1])
    return (OPERATIONS.get(op) or model[op])(*(value(x, model, at) for x in parts))


def holds(c, model, at=None):
    """Is a clause true in a model, at the points that are tried?"""
    at = at or {}
    if isinstance(c, list):
        try:
            return COMPARED[c[0]](value(c[1], model, at), value(c[2], model, at))
        except ZeroDivisionError:
            return False
    if c.get("all"):
        (name, kind), *rest = c["all"]
        return all(holds({**c, "all": rest}, model, at | {name: Fraction(x)}) for x in POINTS[kind])
    return not all(holds(x, model, at) for x in c.get("if", [])) or holds(c["then"], model, at)


def model(draw):
    """A random model of the signature."""

    def table(*values):
        return [Fraction(draw.choice(values)) for _ in "ab"]

    f, s, g, i = table(-1, 0, 1, 2), table(0, 1), table(0, 1), table(0, 1, 2)
    w, j = [table(-1, 0, 1), table(-1, 0, 1)], [table(0, 1), table(0, 1)]
    slope, start, power = (
        Fraction(draw.choice([-1, 0, 1])),
        Fraction(draw.choice([0, 1])),
        draw.choice([1, 2]),
    )
    return {
        "a": table(0, 1)[0], "t1": table(0, 1)[0], "n": table(0, 1, 2)[0], "t3": table(-1, 0, 2)[0],
        "f": lambda h: f[int(h)], "s": lambda h: s[int(h)], "g": lambda k: g[int(k) % 2],
        "w": lambda k, h: w[int(k) % 2][int(h)], "r": lambda x: slope * x**power + start,
        "I": lambda y: i[int(y)], "J": lambda y, k: j[int(k) % 2][int(y)],
    }  # fmt: skip


class Writer:
    """Random formulas, clauses and derivations. ``variables`` are pairs of a name and a kind."""

    def __init__(self, draw):
        self.draw, self.count = draw, 0

    def new(self):
        self.count += 1
        return f"{self.draw.choice('xyzv')}{self.count}"

    def element(self, variables):
        names = [v for v, kind in variables if kind == "H"] + ["a", "t1"]
        chosen = self.draw.choice(names)
        return ["s", chosen] if self.draw.random() < 0.2 else chosen

    def whole(self, variables):
        names = [v for v, kind in variables if kind.startswith("int")] + ["n"]
        forms = ["0", "1", "2", self.draw.choice(names), ["+", self.draw.choice(names), "1"]]
        return self.draw.choice([*forms, ["w", self.draw.choice(names), self.element(variables)]])

    def number(self, variables, depth=3):
        """A formula whose values are numbers."""
        if depth == 0 or self.draw.random() < 0.2:
            leaves = [
                "0",
                "1",
                "2",
                "-1",
                "t3",
                "n",
                ["f", self.element(variables)],
                ["g", self.whole(variables)],
            ]
            return self.draw.choice([*leaves, *(v for v, kind in variables if kind != "H")])
        return self.draw.choice([self._operation, self._operation, self._bound])(variables, depth - 1)

    def _operation(self, variables, depth):
        op = self.draw.choice(["+", "-", "*", "*", "/", "^", "abs", "step", "neg", "r"])
        first = self.number(variables, depth)
        if op == "^":
            return [op, first, self.draw.choice(["-1", "2", "0"])]
        return [op, first, self.number(variables, depth)] if op in "+-*/" else [op, first]

    def _bound(self, variables, depth):
        frame, kind = self.frame(variables)
        return self.over(frame, kind, variables, depth)

    def frame(self, variables):
        """The head and the parameters of a sum or an integral, and the kind of its points."""
        frames = [
            (["I"], "H"),
            (["J", self.whole(variables)], "integers [0, 1]"),
            (["sum", self.whole(variables), self.whole(variables)], "integers [0, inf)"),
        ]
        return self.draw.choice(frames)

    def over(self, frame, kind, variables, depth=2):
        index = self.new()
        return [frame[0], index, *frame[1:], self.number([*variables, (index, kind)], depth)]

    def relation(self, variables=(), depth=2):
        if self.draw.random() < 0.1:
            return ["==", self.element(variables), self.element(variables)]
        sides = self.number(variables, depth), self.number(variables, depth)
        return [self.draw.choice(["==", ">=", ">"]), *sides]

    def clause(self, depth=2):
        if self.draw.random() < 0.5:
            return self.relation((), depth)
        variables = [(self.new(), self.draw.choice(list(POINTS))) for _ in range(self.draw.choice([1, 1, 2]))]
        when = [self.relation(variables, 1) for _ in range(self.draw.choice([0, 0, 1]))]
        return {"all": [list(v) for v in variables], "if": when, "then": self.relation(variables, depth)}

    def derivation(self, facts, goal, size):
        """A random derivation with holes, from facts by name."""
        if size == 0:
            some = self.draw.sample(sorted(facts), min(len(facts), 3))
            return self.draw.choice([{}, {}, {"arith": some, "proof": {}}])
        step = self.draw.choice(
            [self._have, self._use, self._cases, self._sum, self._integrate, self._rewrite, self._absurd]
        )
        return step(facts, goal, size) or self.derivation(facts, goal, size - 1)

    def _more(self, facts, goal, size, fact):
        name = f"fact{len(facts)}"
        return {"as": name, "sub": self.derivation({**facts, name: fact}, goal, size - 1)}

    def _have(self, facts, goal, size):
        fact = self.clause(1)
        proof = self.derivation(facts, fact, size // 2)
        return {"have": fact, "proof": proof, **self._more(facts, goal, size, fact)}

    def _use(self, facts, goal, size):
        quantified = [name for name, c in facts.items() if isinstance(c, dict)]
        if not quantified:
            return None
        name = self.draw.choice(quantified)
        at = [self._of_kind(kind) for _, kind in facts[name].get("all", [])]
        return {"use": name, "at": at, "in": [], "if": [], **self._more(facts, goal, size, ["==", "0", "0"])}

    def _of_kind(self, kind):
        if kind == "H":
            return self.element(())
        return self.whole(()) if kind.startswith("int") else self.number((), 1)

    def _cases(self, facts, goal, size):
        x = [">=", self.number((), 1), self.number((), 1)]
        more = self._more(facts, goal, size, x)
        other = self.derivation(facts, goal, size - 1)
        return {"cases": x, "as": more["as"], "defined": {}, "then": more["sub"], "else": other}

    def _sum(self, facts, goal, size):
        sums = [e for e in parts([goal, *facts.values()]) if e[0] == "sum"]
        if not sums:
            return None
        e, kind = self.draw.choice(sums), self.draw.choice(["empty", "first", "last"])
        proofs = [{}] if kind == "empty" else [{}, {}]
        return {"sum": e, "kind": kind, "proofs": proofs, **self._more(facts, goal, size, ["==", e, e])}

    def _integrate(self, facts, goal, size):
        frame, kind = self.frame(())
        known = [e for e in parts([goal, *facts.values()]) if e[0] == frame[0]]
        if known:
            frame = [known[0][0], *known[0][2:-1]]
        sides = [self.draw.choice([*known[:1], self.over(frame, kind, ()), "0"]) for _ in "ab"]
        fact = [self.draw.choice([">=", "=="]), *sides]
        ends = [f"low{size}", f"high{size}"] if frame[0] == "sum" else []
        return {"integrate": fact, "over": frame, "index": f"p{size}", "conditions": ends, "proof": {},
                **self._more(facts, goal, size, fact)}  # fmt: skip

    def _absurd(self, facts, goal, size):
        return {"absurd": self.derivation(facts, [">", "0", "0"], size - 1)}

    def _rewrite(self, facts, goal, size):
        equations = [name for name, c in facts.items() if isinstance(c, list) and c[0] == "=="]
        if not equations:
            return None
        sub = self.derivation(facts, goal, size - 1)
        return {"rewrite": self.draw.choice(equations), "in": None, "as": None, "sub": sub}


def parts(x):
    """All formulas in claims."""
    if isinstance(x, dict):
        yield from (e for part in x.values() for e in parts(part))
    elif isinstance(x, list):
        if x and isinstance(x[0], str):
            yield x
        yield from (e for part in x for e in parts(part))
