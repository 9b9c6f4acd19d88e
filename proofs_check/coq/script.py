"""Write Coq proofs for exported lemmas, guided by certificates. These proofs need no trust: Coq checks them.

A certificate consists of proof nodes, which are steps of a proof. For each kind of node there are Coq tactics in
``prelude.v``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpproof.proofs_check.coq.certified import Certified
from dpproof.proofs_check.coq.export import (
    NUMBER,
    UntranslatableError,
    bounds,
    conditions,
    hypotheses,
    name,
    number,
    point_values,
    relation,
    term,
)
from dpproof.proofs_check.kernel.expressions import derivative, read
from dpproof.proofs_check.statement import Goal

Tree = Any
Node = Mapping[str, Any]


@dataclass(frozen=True)
class State:
    """What a proof node must prove: the goal, under the hypotheses ``given``, for all variables in ``vars``."""

    vars: Mapping[str, str]
    given: tuple[Tree, ...]
    goal: Tree
    depth: int = 0
    extra: bool = False
    """Whether the tactics of extra.v may be used."""

    def fresh(self, stem: str) -> str:
        """Return a new name that begins with ``stem`` and that no enclosing proof node uses."""
        return f"{stem}_{self.depth}"

    def ends(self, v: str) -> tuple[str, str]:
        """Return the lower and the upper bound of a variable's interval as texts."""
        low, high = self.vars[v][1:-1].split(", ")
        return low, high

    def without(self, v: str, /, **new: str) -> dict[str, str]:
        """Return the intervals of all variables except ``v``, and the intervals ``new`` of new variables."""
        return {w: x for w, x in self.vars.items() if w != v} | new

    def put(self, v: str, e: Tree, /, **new: str) -> State:
        """Return the state in which the formula ``e`` in new variables replaces the variable ``v``."""
        return replace(
            self,
            vars=self.without(v, **new),
            given=tuple(_put(r, {v: e}) for r in self.given),
            goal=_put(self.goal, {v: e}),
        )


def _put(e: Tree, values: Mapping[str, Tree]) -> Tree:
    """Return a formula with variables replaced by formulas."""
    match e:
        case str():
            return values.get(e, e)
        case [op, *arguments]:
            return [op, *(x if op == "^" and i else _put(x, values) for i, x in enumerate(arguments))]
    return e


def _texts(e: Tree) -> set[str]:
    """Return every text in a formula or relation, including its variables."""
    match e:
        case str():
            return {e}
        case [*parts]:
            return set().union(*map(_texts, parts))
    return set()


def _difference(s: State) -> Tree:
    return ["-", s.goal[1], s.goal[2]]


def refutation(claim: Goal, node: Node) -> str:
    """Return a Coq proof that a claim is false, at the point that the certificate ``node`` holds."""
    return "".join(f"exists {x}. " for x in point_values(node["point"], claim)) + "refuted."


EXTRA_KINDS = {("leaf", "enumerated"), ("leaf", "bernstein"), ("leaf", "telescope"), ("kind", "first")}
"""What nodes say that need the tactics of extra.v. A bound that is linear in several integrals needs them, too."""


def needs_extra(node: Any) -> bool:
    """Return whether a node of a proof needs the tactics of extra.v."""
    if isinstance(node, dict):
        own = {("leaf", x) for x in node} | {
            (x, node[x]) for x in ("leaf", "kind") if type(node.get(x)) is str
        }
        linear = "dominated" in node and node["by"][0] in ("+", "-", "*", "/", "neg")
        return linear or bool(own & EXTRA_KINDS) or any(map(needs_extra, node.values()))
    return isinstance(node, list) and any(map(needs_extra, node))


def proof(claim: Goal, node: Node, extra: bool = False) -> str:
    """Return a Coq proof of a claim's lemma, made from ``node``, the proof in the claim's certificate.

    With ``extra`` the proof may use the tactics of ``extra.v``.

    Raises:
        UntranslatableError: for a kind of proof node without a counterpart.
    """
    needed = conditions(claim["goal"])
    names = [*map(name, claim["vars"]), *(f"H{i}" for i in range(len(hypotheses(claim))))]
    opening = f"intros {' '.join(names)}.\n" if names else ""
    facts = "".join(
        f"assert (D{i} : {text}) by {'(intros; repeat split; defined)' if text.startswith('forall') else 'defined'}.\n"
        for i, text in enumerate(needed)
    )
    apart = "".join(f"refine (conj D{i} _). " for i in range(len(needed)))
    state = State(claim["vars"], tuple(claim.get("given", ())), claim["goal"], extra=extra)
    return f"{opening}{facts}{apart}{_script(state, node)}"


def _script(s: State, node: Node) -> str:
    kind = node.get("leaf") or next((k for k in NODES if k in node), "")
    if kind not in NODES:
        raise UntranslatableError(f"the proof node {kind or sorted(node)} cannot be translated to Coq")
    return NODES[kind](replace(s, depth=s.depth + 1), node)


def _shifts(s: State, reflected: Sequence[str] = ()) -> str:
    """Return tactics that measure variables from a finite end, those in ``reflected`` from the upper end."""
    steps = []
    for v in s.vars:
        low, high = s.ends(v)
        if high != "inf" and (low == "-inf" or v in reflected):
            steps.append(f"reflect {name(v)} {number(Fraction(high))} t_{v}")
        elif low not in ("-inf", "0"):
            steps.append(f"shift {name(v)} {number(Fraction(low))} t_{v}")
    return "; ".join(["idtac", *steps, "tidy"])


def _identity(s: State, node: Node) -> str:
    out = ""
    for factor, *used in node.get("multipliers", []):
        head, *rest = (["-", s.given[i][1], s.given[i][2]] for i in used)
        out += f"subtract {term(['*', factor, *rest])} {term(head)}. "
    last = "by_identity"
    if s.extra:
        last = f"first [ by_identity | {Certified(s.vars).atoms(_difference(s))}evenly ]"
    return f"equation. {out}{last}." if out else f"{last}."


def _range(s: State, node: Node) -> str:
    return f"difference. {_sign(s, _difference(s))}"


def _positive(s: State, node: Node) -> str:
    weights, e = [], _difference(s)
    for factor, *used in node.get("multipliers", []):
        parts = [["-", s.given[i][1], s.given[i][2]] for i in used]
        weight = term(["*", factor, *parts])
        strictly = s.extra and s.goal[0] == ">" and all(s.given[i][0] == ">" for i in used)
        weights.append(
            f"{f'first [ weigh_strictly {weight} | weigh {weight} ]' if strictly else f'weigh {weight}'}. "
        )
        e = ["-", e, ["*", factor, *parts]]
    reflect = tuple(node.get("reflect", ()))
    usual = f"by_coefficients ({_shifts(s, reflect)})"
    return f"difference. {''.join(weights)}{_either(s, e, usual, reflect)}."


def _sos(s: State, node: Node) -> str:
    squares = [f"({term(c)} * ({term(e)} ^ 2))" for c, e in node["terms"]]
    return f"difference. by_squares {term(node['over'])} ({' + '.join(squares)})."


def _mono(s: State, node: Node) -> str:
    v, up = node["var"], node["dir"] == 1
    end, t = s.ends(v)[0 if up else 1], s.fresh(v)
    slope = derivative(read(_difference(s), set(s.vars)), v)
    step = _step(s, (_difference(s), slope if up else ["neg", slope]), (v, v, t), end, up)
    kept = replace(s, given=tuple(r for r in s.given if v not in _texts(r)))
    inner, e = replace(s, vars=s.without(v, **{t: s.vars[v]})), _put(slope if up else ["neg", slope], {v: t})
    return (
        f"difference. {step}{{ {_sign(inner, e)} }}\n"
        f"{{ undo_difference. {_script(kept.put(v, end), node['sub'])} }}"
    )


def _step(s: State, pair: tuple[Tree, Tree], names: tuple[str, str, str], end: str, up: bool) -> str:
    """Return the step from a point to an end of the interval, by the sign of a slope.

    The sign of the slope and the value at the end remain to be proved.
    """
    v, at, t = names
    lemma = ("grows" if up else "falls") + ("_lt" if s.goal[0] == ">" else "_le")
    f, slope = (f"(fun {name(t)} => {term(_put(e, {v: t}))})" for e in pair)
    r = s.vars[v]
    closed = f"[{r[1:]}" if up else f"{r[:-1]}]"
    inside = [
        "; ".join(["idtac", *(f"assert ({x}) by lra" for x in bounds(t, reach))]) for reach in (closed, r)
    ]
    return (
        f"refine ({lemma} {f} {slope} {number(Fraction(end))} {name(at)} _ _ _ _); cbv beta;\n"
        f"  [ lra | intros {name(t)} [? ?]; {inside[0]}; slope | intros {name(t)} [? ?]; {inside[1]} | ].\n"
    )


def _sign(s: State, e: Tree) -> str:
    """Return the proof of the sign of a formula."""
    return f"{_either(s, e, f'first [ by_range | by_coefficients ({_shifts(s)}) ]')}."


def _either(s: State, e: Tree, usual: str, reflect: Sequence[str] = ()) -> str:
    """Return the usual tactic for the sign of a formula, or one that follows the kernel's normal form first."""
    found = Certified(s.vars).tactic(e, reflect) if s.extra else None
    return f"first [ solve [ {found} ] | {usual} ]" if found else usual


def _taylor(s: State, node: Node) -> str:
    """Return one proof step for each derivative, on each side of the centre that the interval has."""
    v, h = node["var"], s.fresh("S")
    slopes = [read(_difference(s), set(s.vars))]
    for _ in range(node["order"]):
        slopes.append(derivative(slopes[-1], v))
    signed = [e if i % 2 == 0 else ["neg", e] for i, e in enumerate(slopes)]
    low, high = s.ends(v)
    left, right = _side(s, node, signed, up=False), _side(s, node, slopes, up=True)
    if node["at"] in (low, high):
        return f"difference. {right if low == node['at'] else left}"
    return (
        f"difference. destruct (Rle_or_lt {name(v)} {number(Fraction(node['at']))}) as [{h}|{h}].\n"
        f"{{ {left} }}\n{{ {right} }}"
    )


def _side(s: State, node: Node, slopes: Sequence[Tree], up: bool) -> str:
    v, at, out = node["var"], node["var"], ""
    for i, pair in enumerate(pairwise(slopes)):
        t = f"{s.fresh(v)}_{i}"
        out += _step(
            replace(s, goal=s.goal if i == 0 else [">=", "0", "0"]), pair, (v, at, t), node["at"], up
        )
        out += "2: { by_end. }\n"
        at = t
    return out + _sign(replace(s, vars=s.without(v, **{at: s.vars[v]})), _put(slopes[-1], {v: at}))


def _split(s: State, node: Node) -> str:
    v, at, left, right = node["split"]
    h = s.fresh("S")
    first = replace(s, vars={**s.vars, v: f"{s.vars[v][0]}{s.ends(v)[0]}, {at}]"})
    second = replace(s, vars={**s.vars, v: f"[{at}, {s.ends(v)[1]}{s.vars[v][-1]}"})
    return (
        f"destruct (Rle_or_lt {name(v)} {number(Fraction(at))}) as [{h}|{h}].\n"
        f"{{ {_script(first, left)} }}\n{{ apply Rlt_le in {h}. {_script(second, right)} }}"
    )


def _subst(s: State, node: Node) -> str:
    (old, e), (new, interval) = next(iter(node["subst"].items())), next(iter(node["vars"].items()))
    inverse, how = _inverse(e, old, new)
    h = s.fresh("B")
    inside = "".join(f"assert ({text}) by (unfold {name(new)}; reach). " for text in bounds(new, interval))
    return (
        f"pose ({name(new)} := {inverse}). "
        f"assert ({h} : {name(old)} = {term(e)}) by (unfold {name(new)}; {how}).\n"
        f"{inside}clearbody {name(new)}. subst {name(old)}.\n"
        f"{_script(s.put(old, e, **{new: interval}), node['sub'])}"
    )


def _inverse(e: Tree, old: str, new: str) -> tuple[str, str]:
    """Return the new variable in terms of the old one, and the tactic that proves that it is the inverse."""
    x = name(old)
    if e[0] == "exp":
        return f"ln {x}", "symmetry; apply exp_ln; lt0"
    if e[0] == "^":
        return f"sqrt {x}", "symmetry; apply pow2_sqrt; le0"
    if e[0] in ("+", "-") and e[2] == new:
        return (f"{x} - {term(e[1])}" if e[0] == "+" else f"{term(e[1])} - {x}"), "ring"
    if e[0] == "/" and e[2] == new:
        return f"/ {x}", "field; sides"
    if e[0] == "/" and e[1][0] == "+":  # (a + b*t)/(1 + t)
        a, b = term(e[1][1]), term(e[1][2][1])
        return f"({x} - {a}) / ({b} - {x})", "field; sides"
    raise UntranslatableError(f"the substitution {e} cannot be translated to Coq")


def _have(s: State, node: Node) -> str:
    r = node["have"]
    cut, below = replace(s, goal=r), replace(s, given=(*s.given, r))
    return (
        f"assert ({s.fresh('K')} : {relation(r)}).\n{{ {_script(cut, node['proof'])} }}\n"
        f"{_script(below, node['sub'])}"
    )


def _cases(s: State, node: Node) -> str:
    e, h = node["cases"], s.fresh("C")
    above = replace(s, given=(*s.given, [">=", e, "0"]))
    below = replace(s, given=(*s.given, [">=", ["neg", e], "0"]))
    return (
        f"destruct (either_sign {term(e)}) as [{h}|{h}].\n{{ {_script(above, node['nonnegative'])} }}\n"
        f"{{ {_script(below, node['nonpositive'])} }}"
    )


def _enumerated(s: State, node: Node) -> str:
    """Return one proof for each whole number in the interval of a variable."""
    v = node["enumerated"]
    low, high = (int(x) for x in s.ends(v))
    h, z = s.fresh("E"), s.fresh("z")
    spread = f"spread {name(v)} {z} {h} ({low})%Z ({high})%Z. "
    out = ""
    for n in range(low, high):
        out += (
            f"destruct {h} as [{h}|{h}]; [ subst {z} | ].\n{{ {_script(s.put(v, str(n)), node['sub'])} }}\n"
        )
    return f"{spread}{out}subst {z}. {_script(s.put(v, str(high)), node['sub'])}"


TELESCOPES = {">=": "telescope_most", "<=": "telescope_least", "==": "telescope_equal"}


def _telescope(s: State, node: Node) -> str:
    """Bound a sum by the growth of another function, and go on with a variable in the place of the sum."""
    total, f, sign = node["telescope"], node["antidifference"], node["sign"]
    _, i, lo, hi, body = total
    if not (isinstance(lo, str) and NUMBER.match(lo)):
        raise UntranslatableError("a telescoping sum that begins with a formula cannot be translated to Coq")
    inner = replace(
        s,
        vars={**s.vars, i: f"[{lo}, inf)"},
        given=(*s.given, [">=", i, lo], [">=", hi, i]),
        goal=_compared(sign, ["-", _put(f, {i: ["+", i, "1"]}), f], body),
    )
    growth = ["-", _put(f, {i: ["+", hi, "1"]}), _put(f, {i: lo})]
    h, v = s.fresh("T"), next(x for k in range(9) if (x := "sum_" + "_" * k) not in s.vars)
    opened = replace(
        s,
        vars={**s.vars, v: "(-inf, inf)"},
        given=(*(_replaced(r, total, v) for r in s.given), _compared(sign, growth, v)),
        goal=_replaced(s.goal, total, v),
    )
    functions = " ".join(f"(fun {name(i)} : R => {term(x)})" for x in (f, body))
    return (
        f"assert ({h} : {relation(_compared(sign, growth, total))}).\n"
        f"{{ refine ({TELESCOPES[sign]} {term(lo)} {term(hi)} {functions} _ _ _ _); cbv beta; "
        f"[ kinds | kinds | lra | intros {name(i)} ? ? ? ].\n{_script(inner, node['proof'])} }}\n"
        f"remember {term(total)} as {name(v)} eqn:{h}_ in *. clear {h}_.\n{_script(opened, node['sub'])}"
    )


def _compared(sign: str, growth: Tree, middle: Tree) -> Tree:
    return [">=", middle, growth] if sign == "<=" else [sign, growth, middle]


def _replaced(e: Tree, old: Tree, new: Tree) -> Tree:
    if e == old:
        return new
    return [_replaced(x, old, new) for x in e] if isinstance(e, list) else e


def _bernstein(s: State, node: Node) -> str:
    """Return the proof that a polynomial in a bounded variable has no negative coefficient in Bernstein's form."""
    found = Certified(s.vars).bernstein(_difference(s), node["var"], node["degree"])
    return f"difference. {found}."


NODES: dict[str, Callable[[State, Node], str]] = {
    "identity": _identity,
    "positive": _positive,
    "range": _range,
    "sos": _sos,
    "mono": _mono,
    "taylor": _taylor,
    "split": _split,
    "subst": _subst,
    "have": _have,
    "cases": _cases,
    "enumerated": _enumerated,
    "bernstein": _bernstein,
    "telescope": _telescope,
}
