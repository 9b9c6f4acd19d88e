"""Translate a claim to a Coq lemma over the reals. Coq proves the claim itself; it does not check our proof.

Coq's division, logarithm and square root are total (1/0 is a number). So a lemma also states that every
divisor in the goal is nonzero, every argument of a logarithm is positive, and every argument of a root is not
negative. See docs/notes/coq.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpproof.proofs_check.kernel.goals import Range, Relation
from dpproof.proofs_check.statement import Goal

Tree = Any  # a formula as JSON lists, or as the kernel's tuples
FUNCTIONS = {"exp": "exp", "log": "ln", "sqrt": "sqrt", "erfc": "erfc"}
SIGNS = {">=": "<=", ">": "<", "==": "="}
NUMBER = re.compile(r"-?[0-9]+(/[0-9]+)?\Z", re.ASCII)
INTERVAL = re.compile(r"([\[(])(\S+), (\S+)([\])])\Z", re.ASCII)


class UntranslatableError(ValueError):
    """Raised for a claim that uses something this export does not support."""


def name(variable: str) -> str:
    """Return the Coq name of a variable, with a prefix that distinguishes it from Coq's own names.

    >>> name("S")
    'v_S'
    """
    return f"v_{variable}"


def number(value: Fraction) -> str:
    """Return a rational number as a Coq term.

    >>> number(Fraction(-1, 2))
    '(- 1 / 2)'
    """
    text = str(abs(value.numerator)) + (f" / {value.denominator}" if value.denominator > 1 else "")
    return f"(- {text})" if value < 0 else f"({text})" if value.denominator > 1 else text


class Formulas:
    """Writes formulas, which are JSON lists or tuples of the kernel, and when they are defined."""

    def variable(self, e: str) -> str:
        """Return the Coq name of a variable."""
        return name(e)

    def term(self, e: Tree) -> str:
        """Return a formula as a Coq term."""
        if isinstance(e, Fraction | int):
            return number(Fraction(e))
        if isinstance(e, str):
            return "PI" if e == "pi" else number(Fraction(e)) if NUMBER.match(e) else self.variable(e)
        return self.value(e[0], e[1:])

    def value(self, op: str, args: Sequence[Any]) -> str:
        """Return an operation and its arguments as a Coq term."""
        if op == "pi":
            return "PI"
        if op == "sum":
            lo, hi, body = map(self.term, args[1:])
            return f"(sumR {lo} {hi} (fun {self.variable(args[0])} : R => {body}))"
        if op == "^":
            power = f"({self.term(args[0])} ^ {abs(int(args[1]))})"
            return power if int(args[1]) >= 0 else f"(/ {power})"
        if op == "neg" or op in FUNCTIONS:
            return f"({FUNCTIONS.get(op, '-')} {self.term(args[0])})"
        if op not in ("+", "-", "*", "/"):
            raise UntranslatableError(f"the operation {op} cannot be translated to Coq")
        text = self.term(args[0])
        for x in args[1:]:
            text = f"({text} {op} {self.term(x)})"
        return text

    def binder(self, e: Sequence[Any]) -> tuple[list[str], str]:
        """Return when a sum is defined, beside its body and its ends, and for which points its body must be."""
        i = self.variable(e[1])
        return [], f"{i} : R, whole {i} -> {self.term(e[2])} <= {i} -> {i} <= {self.term(e[3])}"

    def defined(self, e: Tree) -> Iterator[str]:
        """Yield the conditions under which a formula is defined, innermost first."""
        if isinstance(e, str | Fraction | int):
            return
        op, args = e[0], e[1:]
        if op == "sum" or op[0] == "~":
            for x in args[1:-1]:
                yield from self.defined(x)
            own, points = self.binder(e)
            yield from own
            if body := list(dict.fromkeys(self.defined(args[-1]))):
                yield f"forall {points} -> {conjunction(body)}"
            return
        for x in args[:1] if op == "^" else args:
            yield from self.defined(x)
        if op == "/":
            yield from (f"{self.term(x)} <> 0" for x in args[1:] if not _nonzero_literal(x))
        elif op == "^" and int(args[1]) < 0:
            yield f"{self.term(args[0])} <> 0"
        elif op == "log":
            yield f"0 < {self.term(args[0])}"
        elif op == "sqrt":
            yield f"0 <= {self.term(args[0])}"

    def conditions(self, *relations: Tree) -> list[str]:
        """Return the conditions under which the formulas in these relations are defined."""
        return list(dict.fromkeys(c for r in relations for side in r[1:] for c in self.defined(side)))

    def compared(self, r: Tree) -> str:
        """Return a relation alone, with the smaller side first."""
        return f"{self.term(r[2])} {SIGNS[r[0]]} {self.term(r[1])}"


def _nonzero_literal(x: Tree) -> bool:
    return (isinstance(x, Fraction) or (isinstance(x, str) and bool(NUMBER.match(x)))) and Fraction(x) != 0


def term(e: Tree) -> str:
    """Return a formula as a Coq term.

    >>> term(["+", ["^", "x", "-2"], ["log", "1/2"]])
    '((/ (v_x ^ 2)) + (ln (1 / 2)))'

    Raises:
        UntranslatableError: for an operation that the export does not know.
    """
    return Formulas().term(e)


def relation(r: Tree) -> str:
    """Return a relation as Coq text, with the smaller side first.

    >>> relation([">", "1", "x"])
    'v_x < 1'
    """
    return Formulas().compared(r)


def conditions(*relations: Tree) -> list[str]:
    """Return, as Coq texts, the conditions under which the formulas in these relations are defined."""
    return Formulas().conditions(*relations)


def bounds(variable: str, interval: str) -> list[str]:
    """Return the Coq hypotheses, as texts, that a variable lies in an interval.

    >>> bounds("x", "[0, 1)")
    ['0 <= v_x', 'v_x < 1']

    Raises:
        UntranslatableError: if the interval cannot be read.
    """
    match = INTERVAL.match(interval)
    if match is None:
        raise UntranslatableError(f"the interval {interval} cannot be translated to Coq")
    left, low, high, right = match.groups()
    x, low_sign, high_sign = name(variable), "<=" if left == "[" else "<", "<=" if right == "]" else "<"
    below = [] if low == "-inf" else [f"{number(Fraction(low))} {low_sign} {x}"]
    above = [] if high == "inf" else [f"{x} {high_sign} {number(Fraction(high))}"]
    return below + above


def hypotheses(claim: Goal) -> list[str]:
    """Return the hypotheses of a claim as Coq texts.

    They say in which interval each variable lies, which variables are whole numbers, and which relations hold.

    Raises:
        UntranslatableError: for a claim about random variables.
    """
    if claim.get("random"):
        raise UntranslatableError("a claim about random variables cannot be translated to Coq")
    inside = [text for v, interval in claim["vars"].items() for text in bounds(v, interval)]
    return (
        inside + [whole(v) for v in claim.get("integers", [])] + [relation(r) for r in claim.get("given", [])]
    )


def whole(variable: str) -> str:
    """Return, as a Coq text, that a variable is a whole number."""
    return f"exists z : Z, {name(variable)} = IZR z"


def data(e: Tree) -> Tree:
    """Return a formula of the kernel as JSON data.

    >>> data(("+", Fraction(1, 2), ("^", "x", 2)))
    ['+', '1/2', ['^', 'x', '2']]
    """
    if type(e) is Fraction:
        return str(e)
    if type(e) is not tuple:
        return e
    return "pi" if e == ("pi",) else [e[0], *(str(x) if type(x) is int else data(x) for x in e[1:])]


def relation_data(x: Relation) -> Tree:
    """Return a relation of the kernel as JSON data."""
    return [x.rel, data(x.left), data(x.right)]


def interval(r: Range) -> str:
    """Return an interval of the kernel as text."""
    low = "-inf" if r.lo[0] else str(r.lo[1])
    high = "inf" if r.hi[0] else str(r.hi[1])
    return f"{'(' if r.open[0] else '['}{low}, {high}{')' if r.open[1] else ']'}"


def _over(quantifier: str, claim: Goal) -> str:
    return f"{quantifier} {' '.join(map(name, claim['vars']))} : R,\n  " if claim["vars"] else ""


def proved(claim: Goal) -> str:
    r"""Return the text of the Coq lemma of a claim: its formulas are defined and its goal holds.

    >>> proved({"vars": {"x": "(0, 1]"}, "goal": [">=", ["/", "1", "x"], "1"]})
    'forall v_x : R,\n  (0 < v_x) ->\n  (v_x <= 1) ->\n  (v_x <> 0) /\\ (1 <= (1 / v_x))'
    """
    given = "".join(f"({text}) ->\n  " for text in hypotheses(claim))
    return _over("forall", claim) + given + conjunction([*conditions(claim["goal"]), relation(claim["goal"])])


def refuted(claim: Goal) -> str:
    """Return the text of the Coq lemma that refutes a claim: at some point its goal is defined and false."""
    needed = conditions(*claim.get("given", []), claim["goal"])
    return _over("exists", claim) + conjunction(
        [*hypotheses(claim), *needed, f"~ ({relation(claim['goal'])})"]
    )


def conjunction(texts: Iterable[str]) -> str:
    """Return the conjunction of statements."""
    return " /\\ ".join(f"({text})" for text in texts)


def lemma_name(certificate: str) -> str:
    """Return the name of the Coq lemma for the id of a stored proof: each dot becomes a double underscore.

    >>> lemma_name("rlsvi.lemma6.specifically.printed")
    'rlsvi__lemma6__specifically__printed'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", certificate.replace(".", "__"))


def point_values(point: Mapping[str, str], claim: Goal) -> list[str]:
    """Return the coordinates of a point as Coq terms, in the order of the claim's variables."""
    return [number(Fraction(point[v])) for v in claim["vars"]]
