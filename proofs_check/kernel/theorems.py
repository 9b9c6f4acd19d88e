"""Theorems: goals in a first-order language with functions, sets, finite sums and integrals, read from JSON data.

A theorem is {"sets": [...], "functions": {f: {"takes": [kind...], "gives": kind}},
"integrals": {I: {"takes": [kind...], "over": kind}}, "given": {name: clause}, "goal": clause}. It says: for all sets, functions and integrals of these kinds
that satisfy the given clauses, the goal holds and its formulas are defined. A kind is the name of a set, an interval
of real numbers, or "integers" with an interval. An integral is a positive linear functional on a class of functions
that contains every function whose absolute value is at most another one of the class.

A clause is a relation, or {"all": [[variable, kind]...], "if": [clause...], "then": relation}. Inside the kernel its
variables are "$0", "$1", ..., and the index of a sum or an integral is "#k", where k says how deeply sums and
integrals are nested in its body. So clauses and formulas that differ only in names of bound variables are equal.
("@f", x...) is a function's value, ("~I", index, x..., body) an integral. Both are only read here, and the rules
of ``deduction`` reason about them. Arithmetic sees them as variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import ARITY, NAME, RESERVED, Expr, exponent, rational
from dpproof.proofs_check.kernel.goals import Range, Relation, interval, keys

ONE, ZERO = Fraction(1), Fraction(0)
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


# Canonical formulas ---------------------------------------------------------------------------------------------


def binds(e: Expr) -> bool:
    """Return whether a formula is a sum or an integral."""
    return type(e) is tuple and (e[0] == "sum" or e[0][0] == "~")


def parts(e: Expr) -> tuple[Expr, ...]:
    """Return the direct parts of a formula, without the index of a sum or an integral and without exponents."""
    if type(e) is not tuple:
        return ()
    return tuple(x for x in e[2 if binds(e) else 1 :] if type(x) is not int)


def inside(e: Expr) -> Iterable[Expr]:
    """Yield a formula and all its parts."""
    yield e
    for x in parts(e):
        yield from inside(x)


def strictly(e: Expr) -> Iterable[Expr]:
    """Yield a formula and those parts that must be defined for the formula to be defined: no bodies of sums."""
    yield e
    for x in parts(e)[: -1 if binds(e) else None]:
        yield from strictly(x)


def nesting(e: Expr) -> int:
    """Return how many sums and integrals stand inside each other."""
    return max((nesting(x) for x in parts(e)), default=0) + int(binds(e))


def put(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return the formula with free variables replaced. The new formulas must not contain an index "#k" freely."""
    if type(e) is not tuple:
        return values.get(e, e) if type(e) is str else e
    if binds(e):
        free = {name: x for name, x in values.items() if name != e[1]}
        return (e[0], e[1], *(put(x, values) for x in e[2:-1]), put(e[-1], free))
    return (e[0], *(x if type(x) is int else put(x, values) for x in e[1:]))


def opened(e: tuple[Any, ...], x: Expr) -> Expr:
    """Return the body of a sum or an integral at the point x, which must not contain an index freely."""
    return canonical(put(e[-1], {e[1]: x}))


def canonical(e: Expr, level: int = 0) -> Expr:
    """Return the formula with canonical names of indices and with arguments of functions in linear normal form.

    While the formula is rebuilt, the index of each sum or integral has a name of its own, "?!k". So no index captures
    another one.
    """
    if type(e) is not tuple:
        return e
    if binds(e):
        mark = f"?!{level}"
        body = canonical(put(e[-1], {e[1]: mark}), level + 1)
        index = f"#{nesting(body)}"
        between = (_linear(canonical(x, level)) for x in e[2:-1])
        return (e[0], index, *between, put(body, {mark: index}))
    if e[0][0] == "@":
        return (e[0], *(_linear(canonical(x, level)) for x in e[1:]))
    return (e[0], *(x if type(x) is int else canonical(x, level) for x in e[1:]))


def total(e: Expr) -> bool:
    """Return whether a formula is defined for all values of its variables, by its form alone."""
    if type(e) is not tuple:
        return True
    if e[0][0] == "~" or e[0] in ("/", "log", "sqrt", "E") or (e[0] == "^" and e[2] < 0):
        return False
    return all(map(total, parts(e)))


def _linear(e: Expr) -> Expr:
    """Return a formula in the normal form of a linear combination: k + 1 - 1 becomes k.

    A formula that may be undefined stays as it is, because its terms must not vanish.
    """
    if not total(e):
        return e
    terms = {x: c for x, c in _combination(e).items() if c}
    rest = sorted((x for x in terms if x != ONE), key=repr)
    written: list[Expr] = [x if terms[x] == 1 else ("*", terms[x], x) for x in rest]
    if ONE in terms:
        written.append(terms[ONE])
    return ("+", *written) if len(written) > 1 else (written[0] if written else ZERO)


def _combination(e: Expr) -> dict[Expr, Fraction]:
    if type(e) is Fraction:
        return {ONE: e}
    if type(e) is not tuple:
        return {e: ONE}
    op = e[0]
    if op == "neg":
        return {x: -c for x, c in _combination(e[1]).items()}
    if op in ("+", "-"):
        added: dict[Expr, Fraction] = {}
        for place, part in enumerate(e[1:]):
            sign = -1 if op == "-" and place else 1
            for x, c in _combination(part).items():
                added[x] = added.get(x, ZERO) + sign * c
        return added
    if op == "*" and len(e) == 3 and Fraction in (type(e[1]), type(e[2])):
        c, x = (e[1], e[2]) if type(e[1]) is Fraction else (e[2], e[1])
        return {y: c * d for y, d in _combination(x).items()}
    return {e: ONE}


def mapped(c: Clause, values: Mapping[str, Expr]) -> Clause:
    """Return the clause with variables replaced, in canonical form."""
    then = Relation(c.then.rel, canonical(put(c.then.left, values)), canonical(put(c.then.right, values)))
    return Clause(c.all, tuple(mapped(x, values) for x in c.when), then)


def instance(c: Clause, values: tuple[Expr, ...], level: int = 0) -> tuple[tuple[Clause, ...], Relation]:
    """Return the conditions and the relation of a clause at these values of its variables."""
    at = {f"${level + i}": x for i, x in enumerate(values)}
    when = tuple(renumbered(mapped(x, at), level + len(c.all), level) for x in c.when)
    return when, mapped(holds(c.then), at).then


def renumbered(c: Clause, old: int, new: int) -> Clause:
    """Return the clause whose variables, counted from ``old`` on, are counted from ``new`` on."""
    names: dict[str, Expr] = {f"${old + i}": f"${new + i}" for i in range(len(c.all))}
    moved = mapped(Clause(c.all, (), c.then), names)
    inner = (mapped(x, names) for x in c.when)
    when = tuple(renumbered(x, old + len(c.all), new + len(c.all)) for x in inner)
    return Clause(c.all, when, moved.then)
