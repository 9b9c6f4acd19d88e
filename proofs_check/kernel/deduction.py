"""Rules that derive the goal of a theorem: each replaces a sequent by others, which further nodes must prove.

A sequent has variables, known clauses ("facts", with names) and a goal. A relation that holds also says that its
formulas are defined. So a sum or an integral is used only if it is certainly defined: it occurs in a fact, or
``integrate`` or ``dominated`` proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import Expr
from dpproof.proofs_check.kernel.goals import Node, Range, Relation, Task, keys
from dpproof.proofs_check.kernel.terms import (
    LINEAR,
    ONE,
    ZERO,
    binds,
    canonical,
    parts,
    rebuilt,
    shown,
    strictly,
    total,
)
from dpproof.proofs_check.kernel.theorems import (
    BUILT_IN,
    NUMBER,
    REAL,
    Clause,
    Kind,
    Reader,
    Signature,
    holds,
    instance,
    mapped,
    renumbered,
)
from dpproof.proofs_check.kernel.theory import LAWS

Arithmetic = Callable[[Task, object], None]
"""Proves a claim of arithmetic, or rejects the proof."""


@dataclass(frozen=True)
class Sequent:
    """What a node must prove: the goal, from the facts, for all values of the variables in the signature."""

    known: Signature
    facts: Mapping[str, Clause]
    goal: Clause
    lemmas: Mapping[str, Any]
    arithmetic: Arithmetic
    prec: int
    budget: list[int]
    leaves: set[str]

    def reader(self) -> Reader:
        """Return a reader of terms that may contain the variables."""
        return Reader(self.known)

    def fact(self, name: object) -> Clause:
        """Return a fact by its name."""
        if type(name) is not str or name not in self.facts:
            raise Rejected(f"unknown fact {str(name)[:60]!r}")
        return self.facts[name]

    def adding(self, name: object, fact: Clause) -> Sequent:
        """Return the sequent with one more fact. Its name must be new."""
        if type(name) is not str or not name or name in self.facts:
            raise Rejected(f"the name of a fact is taken or not a text: {str(name)[:60]!r}")
        return replace(self, facts={**self.facts, name: fact})

    def showing(self, goal: Clause) -> Sequent:
        """Return the sequent with another goal."""
        return replace(self, goal=goal)

    def relation(self) -> Relation:
        """Return the goal, which must be a relation alone."""
        if self.goal.ground is None:
            raise Rejected("the goal has variables or conditions, which a node 'fix' must introduce first")
        return self.goal.ground

    def surely_defined(self, e: Expr) -> bool:
        """Return whether a formula that arithmetic sees as a variable is certainly defined."""
        if total(e):
            return True
        held = (x for c in self.facts.values() if c.ground for x in (c.ground.left, c.ground.right))
        return any(e == part for side in held for part in strictly(side))


Replay = Callable[[Sequent, object], None]
Handler = Callable[[Sequent, Node, Replay], None]


# Arithmetic -----------------------------------------------------------------------------------------------------


class Abstraction:
    """Replaces values of functions, sums and integrals by variables, the same formula by the same variable."""

    def __init__(self, s: Sequent, names: Mapping[str, Expr]) -> None:
        self.sequent = s
        self.names = {e: name for name, e in names.items()}
        self.domain: dict[str, Kind] = {v: k for v, k in s.known.scope.items() if not k.set}

    def formula(self, e: Expr) -> Expr:
        """Return the formula of arithmetic."""
        if type(e) is not tuple:
            return e
        if e[0][0] != "@" and not binds(e):
            return (e[0], *(x if type(x) is int else self.formula(x) for x in e[1:]))
        if e not in self.names:
            taken = {*self.sequent.known.scope, *self.names.values()}
            self.names[e] = next(name for k in range(len(taken) + 1) if (name := f"t{k + 1}") not in taken)
        name = self.names[e]
        if name not in self.domain:
            if not self.sequent.surely_defined(e):
                raise Rejected(f"a formula occurs in no fact, so that it may be undefined: {shown(e)}")
            self.domain[name] = _gives(self.sequent.known, e)
        return name

    def relation(self, x: Relation) -> Relation:
        """Return the relation of arithmetic."""
        return Relation(x.rel, self.formula(x.left), self.formula(x.right))


def _gives(known: Signature, e: tuple[Any, ...]) -> Kind:
    """Return the kind of a value of a function, a sum or an integral."""
    if e[0][0] == "@":
        return {**known.functions, **BUILT_IN}[e[0][1:]].gives
    return NUMBER


def _names(s: Sequent, data: object) -> dict[str, Expr]:
    """Read names that a node gives to formulas."""
    if type(data) is not dict:
        raise Rejected("'names' must be an object")
    return {s.known.free(name): canonical(s.reader().number(e)) for name, e in data.items()}


def arith(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove a relation by arithmetic from the listed facts. Values of functions and integrals become variables."""
    keys(node, {"arith", "proof"}, frozenset({"names"}))
    if type(node["arith"]) is not list:
        raise Rejected("arith: the facts must be a list of names")
    facts = [s.fact(name).ground for name in node["arith"]]
    goal = s.relation()
    used = [x for x in facts if x is not None]
    if len(used) != len(facts) or any(_set_of(s, x.left) for x in (goal, *used)):
        raise Rejected("arith: the goal and the listed facts must be relations between numbers")
    view = Abstraction(s, _names(s, node.get("names", {})))
    given = [view.relation(x) for x in used]
    target = view.relation(goal)
    domain: dict[str, Range] = {v: k.range for v, k in view.domain.items()}
    whole = {v for v, k in view.domain.items() if k.whole}
    s.arithmetic(Task(domain, given, target, whole, s.prec, s.budget, s.leaves, {}, ()), node["proof"])


def _set_of(s: Sequent, e: Expr) -> str:
    """Return the set of which a formula is an element; an empty text for a number."""
    if type(e) is str:
        return s.known.scope[e].set
    return _gives(s.known, e).set if type(e) is tuple and e[0][0] == "@" else ""


def is_whole(s: Sequent, e: Expr, indices: frozenset[str] = frozenset()) -> bool:
    """Return whether a formula is certainly a whole number, for whole values of the indices of sums around it."""
    if type(e) is str:
        return e in indices or s.known.scope[e].whole
    if type(e) is Fraction:
        return e.denominator == 1
    if type(e) is tuple and e[0][0] == "@":
        return _gives(s.known, e).whole
    if type(e) is tuple and e[0] == "sum":
        return is_whole(s, e[-1], indices | {e[1]})
    return type(e) is tuple and e[0] in LINEAR and all(is_whole(s, x, indices) for x in parts(e))


# Logic ----------------------------------------------------------------------------------------------------------


def fix(s: Sequent, node: Node, replay: Replay) -> None:
    """Take the variables of the goal as fixed, and assume its conditions under the given names."""
    keys(node, {"fix", "assume", "sub"})
    names, assumed = node["fix"], node["assume"]
    if type(names) is not list or type(assumed) is not list or len(names) != len(s.goal.all):
        raise Rejected("fix: there must be one new name for each variable of the goal")
    known = s.known.with_variables(dict(zip(names, s.goal.all, strict=True)))
    if len(set(names)) != len(names):
        raise Rejected("fix: the names must differ")
    when, then = instance(s.goal, tuple(names))
    if len(when) != len(assumed):
        raise Rejected("fix: there must be one name for each condition of the goal")
    inner = replace(s, known=known, goal=holds(then))
    for name, fact in zip(assumed, when, strict=True):
        inner = inner.adding(name, fact)
    replay(inner, node["sub"])


def have(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove a clause, and then the goal with this clause as a fact."""
    keys(node, {"have", "as", "proof", "sub"})
    fact = s.reader().clause(node["have"])
    replay(s.showing(fact), node["proof"])
    replay(s.adding(node["as"], fact), node["sub"])


def absurd(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove any goal, because the facts contradict each other: they imply 0 > 0."""
    replay(s.showing(holds(Relation(">", ZERO, ZERO))), keys(node, {"absurd"})["absurd"])


def exact(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove the goal, because it is a fact."""
    if s.fact(keys(node, {"exact"})["exact"]) != s.goal:
        raise Rejected("exact: the fact is not the goal")


def inside_kind(s: Sequent, e: Expr, kind: Kind, proof: object, replay: Replay) -> None:
    """Prove that a number lies in the interval of a kind. An unbounded interval needs no proof if e is total."""
    if kind.set and not s.surely_defined(e):
        raise Rejected("a term is not known to be defined")
    if kind.set or (kind.range == REAL and total(e)):
        return
    if type(proof) is not list:
        raise Rejected("a proof must show that a value lies in its interval")
    low, high, ends = kind.range
    goals = [Relation(">" if ends[0] else ">=", e, low[1])] if not low[0] else []
    goals += [Relation(">" if ends[1] else ">=", high[1], e)] if not high[0] else []
    goals = goals or [Relation("==", e, e)]
    if len(goals) != len(proof):
        raise Rejected("one proof is needed for each end of an interval")
    for goal, part in zip(goals, proof, strict=True):
        replay(s.showing(holds(goal)), part)


def value(s: Sequent, data: object, kind: Kind) -> Expr:
    """Read a term of a kind. Whether it lies in the interval of the kind must be proved."""
    e, found = s.reader().term(data)
    e = canonical(e)
    if found.set != kind.set or (kind.whole and not is_whole(s, e)):
        raise Rejected("a term has the wrong kind")
    return e


def equal(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove an equation between numbers by two inequalities."""
    proofs, x = keys(node, {"equal"})["equal"], s.relation()
    if x.rel != "==" or _set_of(s, x.left) or type(proofs) is not list or len(proofs) != 2:
        raise Rejected("equal: the goal must be an equation between numbers, with two proofs")
    for (left, right), proof in zip(((x.left, x.right), (x.right, x.left)), proofs, strict=True):
        replay(s.showing(holds(Relation(">=", left, right))), proof)


def use(s: Sequent, node: Node, replay: Replay) -> None:
    """Add the relation of a fact at given values of its variables, after a proof of its conditions."""
    keys(node, {"use", "at", "in", "if", "as", "sub"})
    fact, data = s.fact(node["use"]), node["at"]
    if type(data) is not list or len(data) != len(fact.all) or len(node["in"]) != len(data):
        raise Rejected("use: there must be one value and one proof of its interval for each variable")
    values = tuple(value(s, x, kind) for x, kind in zip(data, fact.all, strict=True))
    for e, kind, proof in zip(values, fact.all, node["in"], strict=True):
        inside_kind(s, e, kind, proof, replay)
    when, then = instance(fact, values)
    if len(when) != len(node["if"]):
        raise Rejected("use: there must be one proof for each condition")
    for goal, proof in zip(when, node["if"], strict=True):
        replay(s.showing(goal), proof)
    replay(s.adding(node["as"], holds(then)), node["sub"])


def cases(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove the goal twice: if a >= b, and if b > a. Both formulas must be defined."""
    keys(node, {"cases", "as", "defined", "then", "else"})
    x = s.reader().relation(node["cases"])
    if x.rel != ">=" or _set_of(s, x.left):
        raise Rejected("cases: the relation must be >= between numbers")
    replay(s.showing(holds(Relation("==", x.difference, x.difference))), node["defined"])
    replay(s.adding(node["as"], holds(x)), node["then"])
    replay(s.adding(node["as"], holds(Relation(">", x.right, x.left))), node["else"])


def whole(s: Sequent, node: Node, replay: Replay) -> None:
    """Conclude a >= b + 1 from the fact a > b between whole numbers."""
    keys(node, {"whole", "as", "sub"})
    x = s.fact(node["whole"]).ground
    if x is None or x.rel != ">" or not (is_whole(s, x.left) and is_whole(s, x.right)):
        raise Rejected("whole: the fact must be a > b between whole numbers")
    replay(s.adding(node["as"], holds(Relation(">=", x.left, ("+", x.right, ONE)))), node["sub"])


def induct(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove a goal whose first variable is whole, by induction over this variable."""
    keys(node, {"induct", "as", "base", "step"})
    kind = s.goal.all[0] if s.goal.all else NUMBER
    low, high, _ = kind.range
    if not kind.whole or low[0] or not high[0]:
        raise Rejected(
            "induct: the first variable of the goal must be whole, with a first value and no last one"
        )
    rest = Clause(s.goal.all[1:], s.goal.when, s.goal.then)
    name = s.known.free(node["induct"])
    replay(s.showing(_at(rest, low[1])), node["base"])
    inner = replace(s, known=s.known.with_variables({name: kind})).adding(node["as"], _at(rest, name))
    replay(inner.showing(_at(rest, ("+", name, ONE))), node["step"])


def _at(rest: Clause, value: Expr) -> Clause:
    """Return a clause without its first variable, "$0", at a value of this variable."""
    return renumbered(mapped(rest, {"$0": value}), 1, 0)


def same(s: Sequent, node: Node, replay: Replay) -> None:
    """Prove an equation whose two sides are the same formula, if it is certainly defined."""
    keys(node, {"same"})
    x = s.relation()
    if x.rel != "==" or x.left != x.right or not s.surely_defined(x.left):
        raise Rejected("same: the goal must be an equation with equal sides that are defined")


def rewrite(s: Sequent, node: Node, replay: Replay) -> None:
    """Replace the left side of an equation that is a fact by its right side, in another fact or in the goal."""
    keys(node, {"rewrite", "in", "as", "sub"})
    x = s.fact(node["rewrite"]).ground
    if x is None or x.rel != "==":
        raise Rejected("rewrite: the fact must be an equation")
    target = s.goal if node["in"] is None else s.fact(node["in"])
    changed = _rewritten(target, canonical(x.left), canonical(x.right))
    replay(s.showing(changed) if node["in"] is None else s.adding(node["as"], changed), node["sub"])


def _rewritten(c: Clause, old: Expr, new: Expr) -> Clause:
    if c.ground is None:
        raise Rejected("rewrite: only a relation without variables and conditions can be rewritten")
    left, right = (canonical(_exchanged(e, old, new)) for e in (c.then.left, c.then.right))
    return holds(Relation(c.then.rel, left, right))


def _exchanged(e: Expr, old: Expr, new: Expr) -> Expr:
    if e == old:
        return new
    if type(e) is not tuple:
        return e
    at = 2 if binds(e) else 1
    return rebuilt(e, at, [x if type(x) is int else _exchanged(x, old, new) for x in e[at:]])


def law(s: Sequent, node: Node, replay: Replay) -> None:
    """Add one of the facts that every theorem may use."""
    keys(node, {"law", "as", "sub"})
    if type(node["law"]) is not str or node["law"] not in LAWS:
        raise Rejected(f"a law must be one of {sorted(LAWS)}")
    replay(s.adding(node["as"], _law(node["law"])), node["sub"])


@cache
def _law(name: str) -> Clause:
    return Reader(Signature()).clause(LAWS[name])


RULES: Mapping[str, Handler] = {
    "arith": arith, "fix": fix, "have": have, "exact": exact, "same": same, "equal": equal, "use": use,
    "cases": cases, "whole": whole, "induct": induct, "rewrite": rewrite, "law": law,
    "absurd": absurd,
}  # fmt: skip
