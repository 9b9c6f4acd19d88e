"""Search for what a derivation leaves out: proofs of arithmetic, of intervals and of conditions.

A hole is an empty node. The search need not be trusted, because the kernel checks the completed derivation.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpproof.proofs_check.kernel import Rejected
from dpproof.proofs_check.kernel.certificate import DERIVATIONS, replay
from dpproof.proofs_check.kernel.deduction import Sequent
from dpproof.proofs_check.kernel.goals import Task
from dpproof.proofs_check.kernel.instances import counterexample, theorem
from dpproof.proofs_check.kernel.terms import KNOWN, shown, strictly, total
from dpproof.proofs_check.kernel.theorems import REAL, Clause, Kind, Signature
from dpproof.proofs_check.kernel.theory import THEOREMS

Node = dict[str, Any]
TRIES = 400


class _Lemmas(dict[str, Any]):
    """The claims that a derivation may use; and the order in which pages list the variables of those in use.

    ``orders`` gives, for the name of a fact, its clause and its variables in the order of their page.
    """

    def __init__(self, claims: Mapping[str, Any]) -> None:
        super().__init__(claims)
        self.orders: dict[str, tuple[Clause, list[str]]] = {}


class UnfilledError(ValueError):
    """An error: a hole of a derivation, or a node of it, that the search cannot fill or the kernel rejects."""


def _simple(facts: list[Any]) -> Iterator[Node]:
    """Generate proofs of arithmetic: the difference of the sides minus facts has a sign, or is zero."""
    yield {"leaf": "positive"}
    yield {"leaf": "identity"}
    yield {"leaf": "range"}
    equations = [x.rel == "==" for x in facts]
    for signs in product(*(("1", "-1") if equal else ("1",) for equal in equations)):
        weights = [[sign, i] for i, sign in enumerate(signs)]
        if weights and all(equations):
            yield {"leaf": "identity", "multipliers": weights}
        if weights:
            yield {"leaf": "positive", "multipliers": weights}


def close(t: Task) -> Node | None:
    """Return a proof of a claim of arithmetic that the kernel accepts, or None if the search finds none."""
    for node in _simple(t.given):
        if _accepts(t, node):
            return node
    for v, r in t.domain.items():
        for direction, end in ((1, r.lo), (-1, r.hi)):
            node = {"leaf": "mono", "var": v, "dir": direction, "sub": {"leaf": "positive"}}
            if not end[0] and _accepts(t, node):
                return node
    return None


def _accepts(t: Task, node: Node) -> bool:
    try:
        replay(replace(t, budget=[200], leaves=set()), node)
    except (Rejected, ValueError, KeyError, TypeError, RecursionError, ZeroDivisionError):
        return False
    return True


def _arithmetic(t: Task, proof: object) -> None:
    """Check a proof of arithmetic; fill it first if it is a hole."""
    if type(proof) is dict and not proof:
        found = close(t)
        if found is None:
            raise UnfilledError(
                f"no proof of {_relation(t.goal)} from {'; '.join(map(_relation, t.given)) or 'nothing'}"
            )
        proof.update(found)
    replay(t, proof)


def fill(s: Sequent, node: object) -> None:
    """Fill the holes of a node in place, and check it by the kernel's rules."""
    if type(node) is not dict:
        raise UnfilledError("a derivation must be made of nodes")
    if not node:
        _fill_hole(s, node)
    else:
        place = f"line {line}: " if (line := node.pop("line", None)) else ""
        kind = next((k for k in DERIVATIONS if k in node), "")
        if not kind:
            raise UnfilledError(f"no rule of a derivation: {sorted(node)}")
        try:
            _pad(s, node)
            DERIVATIONS[kind](s, node, fill)
        except Rejected as refused:
            raise UnfilledError(f"{place}{refused}. The goal is {_clause(s.goal)}") from None
        except UnfilledError as found:
            raise found if str(found).startswith("line") else UnfilledError(f"{place}{found}") from None


def _fill_hole(s: Sequent, node: Node) -> None:
    """Fill a hole: with a fact that is the goal, or by arithmetic from at most two facts."""
    for candidate in _guesses(s):
        attempt = copy.deepcopy(candidate)
        try:
            fill(s, attempt)
        except (Rejected, UnfilledError):
            continue
        node.update(attempt)
        return
    raise UnfilledError(f"nothing found for the goal {_clause(s.goal)}; facts: {', '.join(s.facts)}")


def _guesses(s: Sequent) -> Iterator[Node]:
    yield from ({"exact": name} for name, fact in s.facts.items() if fact == s.goal)
    if s.goal.ground is None:
        stem = [f"v{i}" for i in range(len(s.goal.all))]
        yield {"fix": stem, "assume": [f"if{i}" for i in range(len(s.goal.when))], "sub": {}}
        return
    yield {"same": ""}
    if step := _computed(s):
        yield step
        return
    facts = [name for name, fact in s.facts.items() if fact.ground]
    for count in (0, 1, 2):
        for chosen in list(combinations(reversed(facts), count))[:TRIES]:
            yield {"arith": list(chosen), "proof": {}}


def _computed(s: Sequent) -> Node | None:
    """Return a step that replaces a sum or an absolute value of known numbers in the goal; None if there is none.

    A sum loses its last term. The steps after it are a hole.
    """
    sides = (s.goal.then.left, s.goal.then.right)
    known = {
        name: fact.then.left for name, fact in s.facts.items() if fact.ground and name.startswith("value")
    }
    name = f"value{len(known) + 1}"
    rest: Node = {"rewrite": name, "in": None, "as": None, "sub": {}}
    for e in (part for side in sides for part in strictly(side) if type(part) is tuple):
        if e[0] == "sum" and type(e[2]) is type(e[3]) is Fraction:
            empty = e[2] > e[3]
            return {"sum": written(e), "kind": "empty" if empty else "last", "as": name,
                    "proofs": [{}] if empty else [{}, {}], "sub": rest}  # fmt: skip
        if e[0] == "@abs" and type(e[1]) is Fraction:
            law = "abs.up" if e[1] >= 0 else "abs.down"
            use = {"use": f"{name}_law", "at": [written(e[1])], "in": [], "if": [], "as": name, "sub": rest}
            return {"law": law, "as": f"{name}_law", "sub": use}
    return None


def written(e: Any) -> Any:
    """Return a formula in the kernel's format. The index "#2" is written as "index2"."""
    if type(e) is not tuple:
        return str(e).replace("#", "index")
    if e == ("pi",):
        return "pi"
    return [e[0].lstrip("@~"), *map(written, e[1:])]


def _ends(kind: Kind, e: Any) -> list[Node]:
    """Return a hole for each end of the interval of a kind that must be proved."""
    if kind.set or (kind.range == REAL and total(e)):
        return []
    low, high, _ = kind.range
    return [{} for end in (low, high) if not end[0]] or [{}]


def _pad(s: Sequent, node: Node) -> None:
    """Add holes for the proofs that a node leaves out, and rename a sum's conditions where a name is taken."""
    if "integrate" in node:
        node["conditions"] = [x if x not in s.facts else f"{x}_{node['index']}" for x in node["conditions"]]
    if "use" in node and node["use"] in s.facts:
        fact: Clause = s.facts[node["use"]]
        order = _order(s, node["use"], fact)
        values = [s.reader().term(x)[0] for x in node["at"]]
        proofs = iter(node["in"])
        needed = [_ends(fact.all[place], e) for place, e in zip(order, values, strict=False)]
        inside = [[next(proofs, hole) for hole in holes] for holes in needed]
        if len(values) == len(order):
            node["at"] = [node["at"][order.index(place)] for place in range(len(order))]
            node["in"] = [inside[order.index(place)] for place in range(len(order))]
        node["if"] += [{} for _ in range(len(fact.when) - len(node["if"]))]
    if "apply" in node and node["apply"] in s.lemmas:
        claim = theorem(s.lemmas[node["apply"]])
        pad_instance(s, claim, node)
        if isinstance(s.lemmas, _Lemmas) and "vars" in s.lemmas[node["apply"]]:
            s.lemmas.orders[node["as"]] = (claim.goal, list(s.lemmas[node["apply"]]["vars"]))


def _order(s: Sequent, name: str, fact: Clause) -> list[int]:
    """Return the place in the kernel's order of each variable that a page lists. The kernel sorts those of a step."""
    clause, listed = s.lemmas.orders.get(name, (None, [])) if isinstance(s.lemmas, _Lemmas) else (None, [])
    if clause != fact:
        return list(range(len(fact.all)))
    return [sorted(listed).index(v) for v in listed]


def pad_instance(s: Sequent, claim: Any, node: Node) -> None:
    """Complete an instance: what it does not name stays itself; holes for the proofs that it leaves out."""
    made = {name: s.known.kind(text) for name, text in node["sets"].items()}
    for name in claim.known.sets - made.keys():
        node["sets"][name], made[name] = name, s.known.kind(name)

    def kind(x: Kind) -> Kind:
        return made[x.set] if x.set else x

    every = {**claim.known.functions, **{name: ((), gives) for name, gives in claim.known.scope.items()}}
    for name, (takes, gives) in every.items():
        params = [f"{name}_{i}" for i in range(len(takes))]
        row = node["functions"].setdefault(
            name, {"of": params, "is": [name, *params] if params else name, "in": []}
        )
        inner = s.known.with_variables(dict(zip(row["of"], map(kind, takes), strict=True)))
        if not row["in"]:
            row["in"] += _ends(kind(gives), replace(s, known=inner).reader().term(row["is"])[0])
    for name, (takes, over) in claim.known.integrals.items():
        params = [f"{name}_{i}" for i in range(len(takes))]
        row = node["integrals"].setdefault(
            name, {"of": params, "index": f"{name}_at", "weight": "1", "over": [name, *params], "in": []}
        )
        ends = sum(not end[0] for end in kind(over).range[:2]) if row["over"][0] == "sum" else 0
        row["in"] += [{} for _ in range(1 + ends - len(row["in"]))]
    if strange := node["given"].keys() - claim.given.keys():
        raise UnfilledError(f"the theorem has no given clause {sorted(strange)}, only {sorted(claim.given)}")
    node["given"] |= {name: {} for name in claim.given if name not in node["given"]}


def derivation(
    claim: Mapping[str, Any], hint: Node, lemmas: Mapping[str, Any], verdict: str = "PROVED"
) -> Node:
    """Return the derivation of a theorem without holes, or an instance that refutes it.

    Raises:
        UnfilledError: if a hole cannot be filled, with the goal of this hole.
        Rejected: if the kernel rejects a node.
    """
    KNOWN.clear()
    found, node = theorem(claim), copy.deepcopy(hint)
    lemmas = _Lemmas({**THEOREMS, **lemmas})
    s = Sequent(found.known, found.given, found.goal, lemmas, _arithmetic, 80, [5000], set())
    if verdict == "PROVED":
        fill(s, node)
        return node
    s = replace(s, known=Signature(), facts={})
    pad_instance(s, found, node)
    goal = found.goal
    sets = {name: s.known.kind(text) for name, text in node["sets"].items()}
    node["in"] = [_ends(sets.get(kind.set, kind), "x") for kind in goal.all]
    node["if"] += [{} for _ in range(len(goal.when) - len(node["if"]))]
    counterexample(s, found, node, fill)
    return node


def _relation(x: Any) -> str:
    return f"{shown(x.left)} {x.rel} {shown(x.right)}"


def _clause(c: Clause) -> str:
    head = f"for {len(c.all)} variables, " if c.all else ""
    when = f"if {' and '.join(map(_clause, c.when))}: " if c.when else ""
    return f"{head}{when}{_relation(c.then)}"
