"""Instances of theorems: sets, functions and integrals are replaced, and the given clauses are proved.

A theorem that is instantiated in another one gives a fact. An instance of a theorem that satisfies every given clause
and violates the goal refutes the theorem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.deduction import Replay, Sequent, inside_kind, value
from dpproof.proofs_check.kernel.expressions import Expr
from dpproof.proofs_check.kernel.goals import Node, Relation, keys
from dpproof.proofs_check.kernel.integrals import frame
from dpproof.proofs_check.kernel.terms import ZERO, binds, canonical, put, strictly, total
from dpproof.proofs_check.kernel.theorems import (
    Clause,
    Function,
    Integral,
    Kind,
    Reader,
    Signature,
    holds,
    instance,
    signature,
)

FIELDS = {"sets", "functions", "integrals", "given"}


@dataclass(frozen=True)
class Theorem:
    """A theorem: its names, its given clauses by name, and its goal."""

    known: Signature
    given: Mapping[str, Clause]
    goal: Clause


def theorem(data: object) -> Theorem:
    """Return the theorem that JSON data stand for. A claim of arithmetic is one without sets, functions, integrals."""
    text = json.dumps(data, allow_nan=False)
    if text not in _READ:
        _READ[text] = _theorem(data)
    return _READ[text]


_READ: dict[str, Theorem] = {}
"""Theorems by their JSON text, so that each is read once."""


def _theorem(data: object) -> Theorem:
    if type(data) is dict and "vars" in data:
        data = {"goal": _from_claim(data)}
    row = keys(data, {"goal"}, frozenset({"sets", "functions", "integrals", "given"}))
    known = signature(row)
    if type(row.get("given", {})) is not dict:
        raise Rejected("'given' must be an object of clauses")
    given = {name: Reader(known).clause(x) for name, x in row.get("given", {}).items()}
    return Theorem(known, given, Reader(known).clause(row["goal"]))


def _from_claim(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clause that a claim of arithmetic without random variables is. Its variables are sorted by name."""
    row = keys(data, {"vars", "goal"}, frozenset({"given", "integers"}))
    whole = row.get("integers", [])
    if type(whole) is not list:
        raise Rejected("'integers' must be a list")
    kinds = [[v, f"integers {x}" if v in whole else x] for v, x in sorted(row["vars"].items())]
    return {"all": kinds, "if": row.get("given", []), "then": row["goal"]}


@dataclass
class Instance:
    """What replaces the sets, functions and integrals of a theorem. ``count`` numbers the marks of open indices."""

    sets: dict[str, Kind]
    functions: dict[str, tuple[tuple[str, ...], Expr]] = field(default_factory=dict)
    integrals: dict[str, tuple[tuple[str, ...], str, Expr, tuple[Any, ...]]] = field(default_factory=dict)
    count: int = 0

    def kind(self, kind: Kind) -> Kind:
        """Return the kind in the place of a kind of the theorem."""
        return self.sets[kind.set] if kind.set else kind

    def formula(self, e: Expr) -> Expr:
        """Return the formula in the place of a formula of the theorem. It is not canonical."""
        if type(e) is str and e in self.functions:
            return self.functions[e][1]
        if type(e) is not tuple:
            return e
        if binds(e):
            return self._binder(e)
        if e[0][1:] not in self.functions or e[0][0] != "@":
            return (e[0], *(x if type(x) is int else self.formula(x) for x in e[1:]))
        names, body = self.functions[e[0][1:]]
        return put(body, _kept(names, tuple(map(self.formula, e[1:])), body))

    def _binder(self, e: tuple[Any, ...]) -> Expr:
        self.count += 1
        mark = f"?i{self.count}"
        between = tuple(map(self.formula, e[2:-1]))
        body = self.formula(put(e[-1], {e[1]: mark}))
        if e[0][1:] not in self.integrals or e[0] == "sum":
            return (e[0], mark, *between, body)
        names, index, weight, (head, *ends) = self.integrals[e[0][1:]]
        at = {**_kept(names, between, *ends), index: mark}
        return (head, mark, *(put(x, at) for x in ends), ("*", put(weight, at), body))

    def clause(self, c: Clause) -> Clause:
        """Return the clause in the place of a clause of the theorem."""
        sides = (canonical(self.formula(x)) for x in (c.then.left, c.then.right))
        kinds, when = tuple(map(self.kind, c.all)), tuple(map(self.clause, c.when))
        return Clause(kinds, when, Relation(c.then.rel, *sides))


def _kept(names: tuple[str, ...], values: tuple[Expr, ...], *bodies: Expr) -> dict[str, Expr]:
    """Return the values by name. Reject a value that may be undefined and would vanish from the bodies."""
    kept = {part for body in bodies for part in strictly(body)}
    if any(name not in kept and not total(x) for name, x in zip(names, values, strict=True)):
        raise Rejected("an instance must not drop an argument that may be undefined")
    return dict(zip(names, values, strict=True))


def _opened(s: Sequent, names: object, kinds: tuple[Kind, ...]) -> Sequent:
    """Return the sequent with a new variable for each parameter of a function or an integral."""
    if type(names) is not list or len(names) != len(kinds) or len(set(map(str, names))) != len(names):
        raise Rejected("an instance must name each parameter once")
    return replace(s, known=s.known.with_variables(dict(zip(names, kinds, strict=True))))


def _function(
    s: Sequent, made: Instance, f: Function, row: object, replay: Replay
) -> tuple[tuple[str, ...], Expr]:
    """Return the parameters and the formula of a function, after a proof that its values are of the right kind."""
    data = keys(row, {"of", "is", "in"})
    inner = _opened(s, data["of"], tuple(map(made.kind, f.takes)))
    gives = made.kind(f.gives)
    e = value(inner, data["is"], gives)
    inside_kind(inner, e, gives, data["in"], replay)
    return tuple(data["of"]), e


def _integral(s: Sequent, made: Instance, x: Integral, row: object, replay: Replay) -> Any:
    """Return what an integral becomes: a weighted integral, or a weighted sum. The weight must not be negative."""
    data = keys(row, {"of", "index", "weight", "over", "in"})
    over, names = made.kind(x.over), data["of"]
    outer = _opened(s, names, tuple(map(made.kind, x.takes)))
    inner = _opened(outer, [data["index"]], (over,))
    weight = canonical(inner.reader().number(data["weight"]))
    like, points = frame(outer, data["over"])
    if points.same != over.same or (like[0] != "sum" and points != over) or type(data["in"]) is not list:
        raise Rejected("an integral must become a sum over whole numbers, or an integral over the same kind")
    goals = [(inner, Relation(">=", weight, ZERO))]
    low, high, _ = over.range
    if like[0] == "sum":
        goals += [(outer, Relation(">=", like[2], low[1]))] if not low[0] else []
        goals += [(outer, Relation(">=", high[1], like[3]))] if not high[0] else []
    if len(goals) != len(data["in"]):
        raise Rejected(
            f"an integral needs {len(goals)} proofs: that its weight is not negative, and on its ends"
        )
    for (place, goal), proof in zip(goals, data["in"], strict=True):
        replay(place.showing(holds(goal)), proof)
    return tuple(names), data["index"], weight, (like[0], *like[2:-1])


def instantiated(s: Sequent, claim: Theorem, node: Node, replay: Replay) -> Instance:
    """Return the instance that a node describes, after a proof of the given clauses of the theorem."""
    parts = (claim.known.sets, {**claim.known.functions, **_constants(claim)}, claim.known.integrals)
    for word, names in zip(("sets", "functions", "integrals"), parts, strict=True):
        if type(node[word]) is not dict or node[word].keys() != {*names}:
            raise Rejected(f"an instance must give all {word} of the theorem: {sorted(names)}")
    made = Instance({name: s.known.kind(text) for name, text in node["sets"].items()})
    rows = {name: _function(s, made, f, node["functions"][name], replay) for name, f in parts[1].items()}
    found = {name: _integral(s, made, x, node["integrals"][name], replay) for name, x in parts[2].items()}
    made.functions, made.integrals = rows, found
    if type(node["given"]) is not dict or node["given"].keys() != claim.given.keys():
        raise Rejected(f"an instance needs a proof of each given clause: {sorted(claim.given)}")
    for name, clause in claim.given.items():
        replay(s.showing(made.clause(clause)), node["given"][name])
    return made


def _constants(claim: Theorem) -> dict[str, Function]:
    return {name: Function((), kind) for name, kind in claim.known.scope.items()}


def apply(s: Sequent, node: Node, replay: Replay) -> None:
    """Add the goal of a proved theorem or claim, for an instance of it, as a fact."""
    keys(node, {"apply", "as", "sub"} | FIELDS)
    if type(node["apply"]) is not str or node["apply"] not in s.lemmas:
        raise Rejected(f"no theorem or claim with this id may be used: {str(node['apply'])[:80]!r}")
    claim = theorem(s.lemmas[node["apply"]])
    made = instantiated(s, claim, node, replay)
    replay(s.adding(node["as"], made.clause(claim.goal)), node["sub"])


def counterexample(s: Sequent, claim: Theorem, node: object, replay: Replay) -> dict[str, Expr]:
    """Check an instance that satisfies the given clauses and the conditions of the goal, and violates its relation.

    Return its constants, and the values of the goal's variables by their places "$0", "$1", ....
    """
    data = keys(node, {"at", "in", "if", "against", "side"} | FIELDS)
    goal = (made := instantiated(s, claim, data, replay)).clause(claim.goal)
    if any(type(data[x]) is not list or len(data[x]) != len(goal.all) for x in ("at", "in")):
        raise Rejected("a counterexample must give each variable of the goal a value")
    values = tuple(value(s, x, kind) for x, kind in zip(data["at"], goal.all, strict=True))
    for e, kind, proof in zip(values, goal.all, data["in"], strict=True):
        inside_kind(s, e, kind, proof, replay)
    when, x = instance(goal, values)
    if type(data["if"]) is not list or len(when) != len(data["if"]) or made.sets.keys() != claim.known.sets:
        raise Rejected("a counterexample needs one proof for each condition of the goal")
    for condition, proof in zip(when, data["if"], strict=True):
        replay(s.showing(condition), proof)
    negations = {
        (">=", "below"): Relation(">", x.right, x.left),
        (">", "below"): Relation(">=", x.right, x.left),
        ("==", "below"): Relation(">", x.right, x.left),
        ("==", "above"): Relation(">", x.left, x.right),
    }
    if (x.rel, data["side"]) not in negations:
        raise Rejected(
            "a counterexample must violate an inequality from below, or an equation from below or above"
        )
    replay(s.showing(holds(negations[x.rel, data["side"]])), data["against"])
    constants = {name: e for name, (names, e) in made.functions.items() if not names}
    return {**constants, **{f"${place}": e for place, e in enumerate(values)}}
