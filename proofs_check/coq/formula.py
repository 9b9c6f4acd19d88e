"""Write theorems as Coq statements: sets are types with a predicate, whole numbers are reals that equal a ``IZR z``.

A relation is the conjunction of the conditions under which its formulas are defined, and of the comparison. See
docs/notes/coq.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpproof.proofs_check.coq.export import Formulas, conjunction, name, number
from dpproof.proofs_check.kernel.goals import Relation
from dpproof.proofs_check.kernel.instances import Theorem, theorem
from dpproof.proofs_check.kernel.theorems import MEASURES, Clause, Kind, Reader, Signature
from dpproof.proofs_check.kernel.theory import LAWS, THEOREMS

BUILT_IN = {"step": "step", "abs": "Rabs"}
ANALYTIC = ("normal", "laplace", "interval")
LEBESGUE = (*(f"L_{x}" for x in ANALYTIC), "L_shift")
"""The names of what is assumed of the integral over the real line."""


def variable(e: str) -> str:
    """Return the Coq name of a variable of a theorem or of a bound variable."""
    if e[0] == "$":
        return f"b_{e[1:]}"
    return f"i_{e[1:]}" if e[0] == "#" else name(e)


def carrier(kind: Kind) -> str:
    """Return the Coq type of a kind."""
    return f"S_{kind.set}" if kind.set else "R"


def within(kind: Kind, x: str) -> list[str]:
    """Return the conditions under which a term lies in a kind."""
    if kind.set:
        return [f"P_{kind.set} {x}"]
    low, high, ends = kind.range
    below = [] if low[0] else [f"{number(low[1])} {'<' if ends[0] else '<='} {x}"]
    above = [] if high[0] else [f"{x} {'<' if ends[1] else '<='} {number(high[1])}"]
    return ([f"whole {x}"] if kind.whole else []) + below + above


@dataclass(frozen=True)
class Printer(Formulas):
    """Writes formulas, relations and clauses. The signature says over which points an integral runs."""

    known: Signature

    def over(self, head: str) -> Kind:
        """Return the kind of the points of an integral."""
        return {**self.known.integrals, **MEASURES}[head].over

    def variable(self, e: str) -> str:
        """Return the Coq name of a variable."""
        return variable(e)

    def value(self, op: str, args: Sequence[Any]) -> str:
        """Return an operation and its arguments as a Coq term."""
        if op[0] == "~":
            return f"(val {self.integral((op, *args))} {self.function((op, *args))})"
        if op[0] == "@":
            head = BUILT_IN.get(op[1:], f"f_{op[1:]}")
            return f"({' '.join([head, *map(self.term, args)])})"
        return super().value(op, args)

    def integral(self, e: Sequence[Any]) -> str:
        """Return an integral with its parameters as a functional."""
        return f"({' '.join([f'I_{e[0][1:]}', *map(self.term, e[2:-1])])})"

    def function(self, e: Sequence[Any]) -> str:
        """Return the body of an integral as a function."""
        return f"(fun {variable(e[1])} : {carrier(self.over(e[0][1:]))} => {self.term(e[-1])})"

    def binder(self, e: Sequence[Any]) -> tuple[list[str], str]:
        """Return when a sum or an integral is defined, and for which points its body must be."""
        if e[0] == "sum":
            return super().binder(e)
        i, integral = variable(e[1]), self.integral(e)
        own = f"on {integral} {self.function(e)}"
        return [own], f"{i} : {carrier(self.over(e[0][1:]))}, pts {integral} {i}"

    def relation(self, x: Relation) -> str:
        """Return a relation: its sides are defined and compare as it says."""
        return conjunction([*self.conditions(x), self.compared(x)])

    def clause(self, c: Clause, level: int = 0) -> str:
        """Return a clause, whose variables are numbered from ``level`` on."""
        names = [f"b_{level + i}" for i in range(len(c.all))]
        inner = level + len(c.all)
        when = "".join(f"({self.clause(x, inner)}) -> " for x in c.when)
        return quantified(zip(names, c.all, strict=True)) + when + self.relation(c.then)


def line() -> str:
    """Return "for every integral over the real line with the laws of the kernel"."""
    p = Printer(Signature())
    laws = [*(p.clause(Reader(Signature()).clause(LAWS[x])) for x in ANALYTIC)]
    laws.append(stated(theorem(THEOREMS["lebesgue.shift"]), lebesgue=False).text)
    return (
        "\n  ".join(["forall I_lebesgue : functional R, lawful I_lebesgue ->", *(f"({x}) ->" for x in laws)])
        + "\n  "
    )


def quantified(variables: Iterable[tuple[str, Kind]]) -> str:
    """Return "for all values of these variables in their kinds"."""
    parts = []
    for x, kind in variables:
        conditions = "".join(f"({text}) -> " for text in within(kind, x))
        parts.append(f"forall {x} : {carrier(kind)}, {conditions}")
    return "".join(parts)


def _arrow(takes: Iterable[Kind], gives: str) -> str:
    return " -> ".join([*map(carrier, takes), gives])


def parameters(kinds: tuple[Kind, ...]) -> list[tuple[str, Kind]]:
    """Return names for the arguments of a function."""
    return [(f"b_{i}", kind) for i, kind in enumerate(kinds)]


@dataclass(frozen=True)
class Stated:
    """A theorem as a Coq statement, and the names of its variables and hypotheses, in order."""

    text: str
    names: tuple[str, ...]
    marked: tuple[str, ...]


def functions(claim: Theorem) -> Mapping[str, Any]:
    """Return the functions of a theorem, and then its constants, with what they take and give."""
    constants = {v: ((), kind) for v, kind in claim.known.scope.items()}
    return {**{f: (x.takes, x.gives) for f, x in claim.known.functions.items()}, **constants}


def stated(claim: Theorem, lebesgue: bool) -> Stated:
    """Return the statement of a theorem. With ``lebesgue`` it is about the integral over the real line, too."""
    p, lines, names, marks = Printer(claim.known), [], [], []
    for x in sorted(claim.known.sets):
        lines += [f"forall (S_{x} : Type) (P_{x} : S_{x} -> Prop), (exists x, P_{x} x) ->"]
        names += [f"S_{x}", f"P_{x}", f"N_{x}"]
    for f, (takes, gives) in functions(claim).items():
        own = f"f_{f}" if takes else name(f)
        value = " ".join([own, *(v for v, _ in parameters(takes))])
        facts = within(gives, f"({value})" if takes else value)
        lines.append(f"forall {own} : {_arrow(takes, carrier(gives))},")
        lines += [f"({quantified(parameters(takes))}{fact}) ->" for fact in facts]
        held = [f"T_{f}_{i}" for i in range(len(facts))]
        names += [own, *held]
        marks += held
    for x, (takes, over) in claim.known.integrals.items():
        head, value = quantified(parameters(takes)), " ".join([f"I_{x}", *(v for v, _ in parameters(takes))])
        facts = [f"lawful ({value})"]
        facts += [f"forall y, pts ({value}) y -> {fact}" for fact in within(over, "y")]
        lines.append(f"forall I_{x} : {_arrow(takes, f'functional {carrier(over)}')},")
        lines += [f"({head}{fact}) ->" for fact in facts]
        held = [f"J_{x}_{i}" for i in range(len(facts))]
        names += [f"I_{x}", *held]
        marks += held
    if lebesgue:
        lines.append(line().rstrip())
        names += ["I_lebesgue", "J_lebesgue", *LEBESGUE]
        marks.append("J_lebesgue")
    lines += [f"({p.clause(x)}) ->" for x in claim.given.values()]
    names += [f"F_{x}" for x in claim.given]
    return Stated("\n  ".join([*lines, p.clause(claim.goal)]), tuple(names), tuple(marks))
