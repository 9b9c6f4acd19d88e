"""Walks through proofs of false claims: no node may lose what is false, and no leaf may accept it.

A task is false at a place (values of its variables, and a finite law of its random variables) if its
hypotheses hold there and its goal does not, or is not defined. A node is sound at that place only if one of
the tasks that it hands out is false at a place that belongs to the first: the same values, the index of the
sum at a term, the moments of the law. The walk goes on there with another node.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple
from unittest import mock

from dpproof.proofs_check.kernel import certificate as checking
from dpproof.proofs_check.kernel import logic
from dpproof.proofs_check.kernel.arithmetic import Rejected
from dpproof.proofs_check.kernel.expressions import outside
from dpproof.proofs_check.kernel.goals import Relation, Task, task
from tests.proofs_check.walk_draws import Draw
from tests.proofs_check.walk_values import (
    CERTAIN,
    Law,
    Number,
    Unclear,
    Undefined,
    Values,
    indices,
    inverse,
    log,
    plus,
    sign,
    sqrt,
    value,
)

PRECISION, LONGEST, MISSES = 120, 14, 40


class Place(NamedTuple):
    """Where a task may be false."""

    at: Values
    law: Law = CERTAIN


def _holds(x: Relation, at: Values, law: Law) -> bool:
    difference = value(x.difference, at, law)
    found = sign(difference)
    if x.rel == ">" and found == 0 and not isinstance(difference, Fraction):
        raise Unclear
    return found == 0 if x.rel == "==" else found > 0 or (x.rel == ">=" and found == 0)


def _given(t: Task, x: Relation, place: Place) -> bool:
    """Does a hypothesis hold? One without a value says nothing, and so it excludes nothing."""
    sure = outside(x.difference) & t.random.keys()
    try:
        return all(_holds(x, place.at | values, place.law) for _, values in (place.law if sure else CERTAIN))
    except Undefined:
        return True


def _inside(t: Task, at: Values) -> bool:
    for v, (low, high, ends) in t.domain.items():
        distances = [(plus(at[v], -low[1]), low, ends[0]), (plus(high[1], -at[v]), high, ends[1])]
        if not all(end[0] or _within(x, strictly) for x, end, strictly in distances):
            return False
        if v in t.integers and not (isinstance(at[v], Fraction) and at[v].denominator == 1):
            return False
    return True


def _within(distance: Number, strictly: bool) -> bool:
    if strictly and sign(distance) == 0 and not isinstance(distance, Fraction):
        raise Unclear
    return sign(distance) >= strictly


def false(t: Task, place: Place) -> bool:
    """Is a task false at a place?"""
    if not (t.domain.keys() <= place.at.keys() and _inside(t, place.at)):
        return False
    if not all(_given(t, x, place) for x in t.given):
        return False
    try:
        return not _holds(t.goal, *place)
    except Undefined:
        return True


class Step(NamedTuple):
    """A node that the kernel went through: the tasks it handed out, and what it opened."""

    task: Task
    place: Place
    node: Any
    parts: list[tuple[str, Task]]
    opened: list[logic.Opened]


def _kind(node: Any) -> str:
    return node.get("leaf") or next(k for k in checking.TREES if k in node)


def taken(t: Task, place: Place, node: Any) -> Step:
    """Let the kernel take one node apart; its parts are names in this node."""
    parts: list[tuple[str, Task]] = []
    opened: list[logic.Opened] = []

    class Recorded(logic.Opened):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            opened.append(self)

    with mock.patch.object(logic, "Opened", Recorded):
        handler = (checking.LEAVES if "leaf" in node else checking.TREES)[_kind(node)]
        handler(t, node, lambda part, name: parts.append((str(name), part)))
    return Step(t, place, node, parts, opened)


Parts = Iterator[tuple[Task, Place]]


def _here(s: Step) -> Parts:
    return ((t, s.place) for _, t in s.parts)


def _substituted(s: Step) -> Parts:
    """The new variable takes the value that gives the old one; a value that is no fraction is left aside."""
    ((old, (op, *args)),), (new,) = s.node["subst"].items(), s.node["vars"]
    x = s.place.at[old]
    back: dict[str, Callable[[], Number]] = {
        "+": lambda: plus(x, -Fraction(args[0])),
        "-": lambda: plus(Fraction(args[0]), -x),
        "/": lambda: inverse(x),
        "^": lambda: sqrt(x),
        "exp": lambda: log(x),
    }
    found = back[op]()
    if not isinstance(found, Fraction):
        raise Unclear
    yield s.parts[0][1], s.place._replace(at=s.place.at | {new: found})


def _induced(s: Step) -> Parts:
    """The goal fails at a first number: the base there, or the step from the number before."""
    v, parts = s.node["induct"], dict(s.parts)
    first = Fraction(s.task.domain[v].lo[1])
    for n in indices(first, s.place.at[v], s.place.at, s.place.law):
        here = s.place._replace(at=s.place.at | {v: n})
        if false(s.task, here):
            before = here._replace(at=here.at | {v: n - 1})
            yield (parts["base"], here) if n == first else (parts["step"], before)
            return


def _telescoped(s: Step) -> Parts:
    """The comparison fails at some index, or else the new variable is the sum."""
    total, (at, law) = s.node["telescope"], s.place
    (_, compared), (_, rest) = s.parts
    for n in indices(*total[2:4], at, law):
        yield compared, Place(at | {total[1]: n}, law)
    (name,) = rest.domain.keys() - s.task.domain.keys()
    try:
        yield rest, Place(at | {name: value(total, at, law)}, law)
    except Undefined:
        return


def _expected(s: Step) -> Parts:
    """A formula is negative somewhere under the law, or else the new variables are its moments."""
    *sure, (_, rest) = s.parts
    for _, t in sure:
        yield from ((t, Place(s.place.at | x)) for _, x in s.place.law)
    moments = {name: _moment(s.opened[0], m, s.place) for m, name in s.opened[0].names.items()}
    yield rest, Place(s.place.at | moments)


def _moment(opened: logic.Opened, monomial: Any, place: Place) -> Number:
    factors = [("^", opened.field.formula(symbol), k) for symbol, k in monomial]
    return value(("E", ("*", *factors)), *place)


PLACES: dict[str, Callable[[Step], Parts]] = {
    **dict.fromkeys(("split", "have", "cases", "enumerated", "mono"), _here),
    "subst": _substituted,
    "induct": _induced,
    "telescope": _telescoped,
    "expect": _expected,
}


def still_false(s: Step) -> list[tuple[Task, Place]]:
    """Return the parts that are false at a place that belongs to the step's; a leaf has none."""
    if _kind(s.node) not in PLACES:
        return []
    try:
        return [(t, _restricted(t, x)) for t, x in PLACES[_kind(s.node)](s) if false(t, x)]
    except Undefined:  # no value of a new variable gives the old one, or a moment does not exist
        return []


def _restricted(t: Task, place: Place) -> Place:
    return Place({v: place.at[v] for v in t.domain}, place.law)


@dataclass
class Seen:
    """What walks have come to: how many nodes of each kind the kernel let pass, and what should not be."""

    walks: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def walked(seed: int, walks: int, faults: int = 1) -> Seen:
    """Walk through so many proofs, or until so many faults are found."""
    seen, draw = Seen(), Draw(seed)
    while seen.walks < walks and len(seen.faults) < faults:
        claim, at, law = draw.claim()
        try:
            t = task(claim, PRECISION)
            lost = not false(t, Place(at, law))
        except (Rejected, Unclear):
            continue
        seen.walks += 1
        trace: list[Any] = []
        fault = "reading changes the claim" if lost else _walk(draw, (t, Place(at, law)), trace, seen.kinds)
        if fault:
            seen.faults.append(f"{fault}: {json.dumps(claim)} at {at} under {law} by {json.dumps(trace)}")
    return seen


def _walk(draw: Draw, here: tuple[Task, Place], trace: list[Any], kinds: Counter[str]) -> str:
    """Go on from a false task as far as it goes; return what is wrong, if anything is."""
    misses = 0
    while misses < MISSES and len(trace) < LONGEST:
        try:
            node = draw.node(here[0], *here[1])
            step = taken(*here, node)
            left = still_false(step)
        except (Rejected, Unclear, Undefined):
            misses += 1
            continue
        except Exception as error:  # the kernel would call it malformed, which says too little
            return f"{error!r} at {json.dumps(node)}"
        trace.append(node)
        kinds[_kind(node)] += 1
        if not left:
            return f"{_kind(node)} shows what is false"
        here = draw.choice(left)
    return ""
