"""Theorems: goals in a first-order language with functions, sets, finite sums and integrals, read from JSON data.

A theorem is {"sets": [...], "functions": {f: {"takes": [kind...], "gives": kind}}, "integrals": {I: {"takes":
[kind...], "over": kind}}, "given": {name: clause}, "goal": clause}. It says: for all sets, functions and integrals of
these kinds that satisfy the given clauses, the goal holds and its formulas are defined. A kind is the name of a set,
an interval of real numbers, or "integers" with an interval. Sets are not empty, and functions are defined for all
arguments. An integral is a positive linear functional on a class of functions that contains every function whose
absolute value is at most a function of the class.

A clause is a relation, or {"all": [[variable, kind]...], "if": [clause...], "then": relation}. Inside the kernel its
variables are "$0", "$1", ..., and the index of a sum or an integral is "#k", where k says how deeply sums and
integrals are nested in its body. So clauses and formulas that differ only in names of bound variables are equal.
Values of functions and integrals are only read here; the rules of ``deduction`` and ``integrals`` reason about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import ARITY, NAME, RESERVED, Expr, exponent, rational
from dpproof.proofs_check.kernel.goals import Range, Relation, interval, keys
from dpproof.proofs_check.kernel.terms import canonical, put

REAL = Range(ia.NEG_INF, ia.INF, (True, True))
MAX_DEPTH, MAX_SIZE = 60, 20_000
WORDS = frozenset(ARITY) | {"sum", "pi", "E", "integers", "real", "step", "abs", "lebesgue"}


class Kind(NamedTuple):
    """The values of a variable or a function: a set with a name, or the numbers of an interval, whole or not."""

    set: str = ""
    range: Range = REAL
    whole: bool = False

    @property
    def same(self) -> tuple[str, bool]:
        """The type without the interval: which arguments a function accepts."""
        return self.set, self.whole


NUMBER, WHOLE = Kind(), Kind(whole=True)


class Function(NamedTuple):
    """The kinds of the arguments of a function, and the kind of its values."""

    takes: tuple[Kind, ...]
    gives: Kind


class Integral(NamedTuple):
    """The kinds of the parameters of an integral, and the kind of the points over which it runs."""

    takes: tuple[Kind, ...]
    over: Kind


class Clause(NamedTuple):
    """For all values of the variables "$n", "$n+1", ... of these kinds: if all conditions hold, the relation holds."""

    all: tuple[Kind, ...]
    when: tuple[Clause, ...]
    then: Relation

    @property
    def ground(self) -> Relation | None:
        """The relation of a clause without variables and conditions, or None."""
        return None if self.all or self.when else self.then


def holds(x: Relation) -> Clause:
    """Return the clause that a relation alone makes."""
    return Clause((), (), x)


@dataclass(frozen=True)
class Signature:
    """The names of a theorem: its sets, functions, integrals; and variables, functions without arguments."""

    sets: frozenset[str] = frozenset()
    functions: Mapping[str, Function] = field(default_factory=dict)
    integrals: Mapping[str, Integral] = field(default_factory=dict)
    scope: Mapping[str, Kind] = field(default_factory=dict)

    def with_variables(self, new: Mapping[str, Kind]) -> Signature:
        """Return the signature with more variables. Reject a name that is taken or not allowed."""
        for name in new:
            self.free(name)
        return Signature(self.sets, self.functions, self.integrals, {**self.scope, **new})

    def free(self, name: object) -> str:
        """Return a name if it may be given to something new. Otherwise reject it."""
        taken = {*self.sets, *self.functions, *self.integrals, *self.scope, *WORDS}
        if type(name) is not str or not NAME.match(name) or name in taken or name.startswith(RESERVED):
            raise Rejected(f"a new name is not allowed or taken: {str(name)[:60]!r}")
        return name

    def kind(self, text: object) -> Kind:
        """Return the kind that a text names: a set, "real", an interval, or "integers" with an interval."""
        if type(text) is not str:
            raise Rejected("a kind must be a text")
        if text in self.sets:
            return Kind(text)
        if text in ("real", "integers"):
            return Kind(whole=text == "integers")
        whole = text.startswith("integers ")
        found = interval(text.removeprefix("integers "))
        if whole and not all(end[0] or (end[1].denominator == 1 and not out)
                             for end, out in zip(found[:2], found.open, strict=True)):  # fmt: skip
            raise Rejected("an interval of integers must begin and end with whole numbers, or have no end")
        return Kind("", found, whole)


def _declared(data: object, what: str) -> Mapping[str, Any]:
    if type(data) is not dict:
        raise Rejected(f"{what!r} must be an object")
    return data


def signature(data: Mapping[str, Any]) -> Signature:
    """Return the signature that a theorem declares."""
    sets = data.get("sets", [])
    found = Signature()
    if type(sets) is not list or len(set(map(found.free, sets))) != len(sets):
        raise Rejected("'sets' must be a list of different names")
    found = Signature(frozenset(sets))
    functions: dict[str, Function] = {}
    integrals: dict[str, Integral] = {}
    for name, row in _declared(data.get("functions", {}), "functions").items():
        kinds = keys(row, {"takes", "gives"})
        functions[found.free(name)] = Function(_kinds(found, kinds["takes"]), found.kind(kinds["gives"]))
    for name, row in _declared(data.get("integrals", {}), "integrals").items():
        kinds = keys(row, {"takes", "over"})
        integrals[found.free(name)] = Integral(_kinds(found, kinds["takes"]), found.kind(kinds["over"]))
    if functions.keys() & integrals.keys():
        raise Rejected("a function and an integral must not have the same name")
    scope = {name: f.gives for name, f in functions.items() if not f.takes}
    return Signature(found.sets, {k: f for k, f in functions.items() if f.takes}, integrals, scope)


def _kinds(known: Signature, data: object) -> tuple[Kind, ...]:
    if type(data) is not list:
        raise Rejected("'takes' must be a list of kinds")
    kinds = tuple(known.kind(x) for x in data)
    if any(not x.set and x.range != REAL for x in kinds):
        raise Rejected("a function takes all real numbers, or all integers, or all elements of a set")
    return kinds


BUILT_IN = {
    "step": Function((NUMBER,), Kind("", interval("[0, 1]"))),
    "abs": Function((NUMBER,), Kind("", interval("[0, inf)"))),
}
"""step(x) is 1 for x >= 0 and 0 for x < 0; abs(x) is the absolute value."""
MEASURES = {"lebesgue": Integral((), NUMBER)}
"""The integral over the real line."""


class Reader:
    """Reads terms and clauses. ``bound`` maps the names of bound variables to formulas and kinds."""

    def __init__(self, known: Signature) -> None:
        self.known = known
        self.functions = {**known.functions, **BUILT_IN}
        self.integrals = {**known.integrals, **MEASURES}
        self.count = 0
        self.bound: dict[str, tuple[str, Kind]] = {}

    def term(self, data: object, depth: int = MAX_DEPTH) -> tuple[Expr, Kind]:
        """Return the formula that JSON data stand for, and its kind."""
        self.count += 1
        if depth == 0 or self.count > MAX_SIZE:
            raise Rejected("a formula is too large")
        if type(data) is str:
            return self._name(data)
        if not isinstance(data, list | tuple) or not data or type(data[0]) is not str:
            raise Rejected("not a formula")
        op, args = data[0], list(data[1:])
        if op == "sum" or op in self.integrals:
            return self._binder(op, args, depth - 1)
        if op in self.functions:
            return self._value(op, args, depth - 1)
        if op == "^" and len(args) == 2:
            return (op, self.number(args[0], depth - 1), exponent(args[1])), NUMBER
        if op == "E" or (op not in ARITY and (op not in ("+", "*") or not args)):
            raise Rejected(f"unknown operation or function {op!r}")
        if op in ARITY and len(args) != ARITY[op]:
            raise Rejected(f"{op} takes {ARITY[op]} argument(s)")
        read = [self.term(x, depth - 1) for x in args]
        if any(kind.set for _, kind in read):
            raise Rejected(f"{op} takes numbers")
        whole = op in ("+", "-", "*", "neg") and all(kind.whole for _, kind in read)
        return (op, *(e for e, _ in read)), Kind(whole=whole)

    def _name(self, name: str) -> tuple[Expr, Kind]:
        if name in self.bound:
            return self.bound[name]
        if name in self.known.scope:
            return name, self.known.scope[name]
        if name == "pi":
            return ("pi",), NUMBER
        number = rational(name)
        return number, Kind(whole=number.denominator == 1)

    def number(self, data: object, depth: int = MAX_DEPTH) -> Expr:
        """Return a formula whose values are numbers."""
        e, kind = self.term(data, depth)
        if kind.set:
            raise Rejected("a number is needed here, not an element of a set")
        return e

    def _value(self, op: str, args: list[Any], depth: int) -> tuple[Expr, Kind]:
        takes, gives = self.functions[op]
        return ("@" + op, *self._arguments(op, takes, args, depth)), gives

    def _arguments(self, op: str, takes: tuple[Kind, ...], args: list[Any], depth: int) -> list[Expr]:
        if len(args) != len(takes):
            raise Rejected(f"{op} takes {len(takes)} argument(s)")
        found = []
        for need, data in zip(takes, args, strict=True):
            e, kind = self.term(data, depth)
            if need.set != kind.set or (need.whole and not kind.whole):
                raise Rejected(f"an argument of {op} has the wrong kind")
            found.append(e)
        return found

    def _binder(self, op: str, args: list[Any], depth: int) -> tuple[Expr, Kind]:
        """Read a sum, whose ends must be whole, or an integral: index, further arguments, body."""
        if len(args) < 2 or type(args[0]) is not str:
            raise Rejected(f"{op} must have an index and a body")
        takes, over = ((WHOLE, WHOLE), WHOLE) if op == "sum" else self.integrals[op]
        between = self._arguments(op, takes, args[1:-1], depth)
        index, kept = self.known.free(args[0]), dict(self.bound)
        if index in self.bound:
            raise Rejected("the index of a sum or an integral must be a new name")
        self.bound[index] = (f"?{len(self.bound)}", over)
        body, kind = self.term(args[-1], depth)
        mark = self.bound[index][0]
        self.bound = kept
        if kind.set:
            raise Rejected("a sum or an integral must be one of numbers")
        head = op if op == "sum" else "~" + op
        whole = op == "sum" and kind.whole
        return (head, mark, *between, body), Kind(whole=whole)

    def relation(self, data: object) -> Relation:
        """Return a relation between two numbers, or an equation between two elements of a set."""
        if not isinstance(data, list | tuple) or len(data) != 3 or data[0] not in (">=", ">", "=="):
            raise Rejected("not a relation")
        (left, a), (right, b) = self.term(data[1]), self.term(data[2])
        if a.set != b.set or (a.set and data[0] != "=="):
            raise Rejected(
                "the two sides of a relation must be numbers, or elements of one set that are equal"
            )
        return Relation(data[0], canonical(left), canonical(right))

    def clause(self, data: object, level: int = 0, depth: int = 6) -> Clause:
        """Return the clause that JSON data stand for. Its variables are counted from ``level`` on."""
        if depth == 0:
            raise Rejected("a clause is nested too deeply")
        if type(data) is not dict:
            return holds(self.relation(data))
        row, kept, kinds = keys(data, {"then"}, frozenset({"all", "if"})), dict(self.bound), []
        if any(type(row.get(word, [])) is not list for word in ("all", "if")):
            raise Rejected("'all' and 'if' must be lists")
        for entry in row.get("all", []):
            if type(entry) is not list or len(entry) != 2 or entry[0] in self.bound:
                raise Rejected("'all' must list pairs of a new variable and its kind")
            kinds.append(self.known.kind(entry[1]))
            self.bound[self.known.free(entry[0])] = (f"${level + len(kinds) - 1}", kinds[-1])
        inner = level + len(kinds)
        found = Clause(tuple(kinds), tuple(self.clause(x, inner, depth - 1) for x in row.get("if", [])),
                       self.relation(row["then"]))  # fmt: skip
        self.bound = kept
        return found


def mapped(c: Clause, values: Mapping[str, Expr]) -> Clause:
    """Return the clause with variables replaced, in canonical form."""
    if not values:
        return c
    then = Relation(c.then.rel, canonical(put(c.then.left, values)), canonical(put(c.then.right, values)))
    return Clause(c.all, tuple(mapped(x, values) for x in c.when), then)


def instance(c: Clause, values: tuple[Expr, ...], level: int = 0) -> tuple[tuple[Clause, ...], Relation]:
    """Return the conditions and the relation of a clause at these values of its variables."""
    at = {f"${level + i}": x for i, x in enumerate(values)}
    when = tuple(renumbered(mapped(x, at), level + len(c.all), level) for x in c.when)
    return when, mapped(holds(c.then), at).then


def renumbered(c: Clause, old: int, new: int) -> Clause:
    """Return the clause whose variables, counted from ``old`` on, are counted from ``new`` on."""
    if c.ground:
        return c
    names: dict[str, Expr] = {f"${old + i}": f"${new + i}" for i in range(len(c.all))}
    moved = mapped(Clause(c.all, (), c.then), names)
    inner = (mapped(x, names) for x in c.when)
    when = tuple(renumbered(x, old + len(c.all), new + len(c.all)) for x in inner)
    return Clause(c.all, when, moved.then)
