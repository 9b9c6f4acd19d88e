"""Claims with expectations as Coq lemmas. An expectation is a positive linear functional whose value at 1 is 1.

Random variables are functions on the points of the functional. The kernel's own expansion of expectations says which
monomials must have one, and how expectations of formulas are made of these. See docs/notes/coq.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpproof.proofs_check.coq import script
from dpproof.proofs_check.coq.compiler import Lemma
from dpproof.proofs_check.coq.export import (
    UntranslatableError,
    bounds,
    conditions,
    conjunction,
    data,
    interval,
    name,
    proved,
    relation,
    relation_data,
    term,
    whole,
)
from dpproof.proofs_check.kernel.expressions import has, read, replaced, variables
from dpproof.proofs_check.kernel.expressions import node as tree
from dpproof.proofs_check.kernel.goals import Relation, task
from dpproof.proofs_check.kernel.logic import TRIVIAL, ZERO, Opened
from dpproof.proofs_check.statement import Goal

Tree = Any
Node = Mapping[str, Any]
SOURCE = Path(__file__).with_name("expectations.v")


def lemmas(label: str, claim: Goal, certificate: Mapping[str, Any], extra: bool = False) -> list[Lemma]:
    """Return the lemmas that the proof of a claim with expectations needs, and then the lemma of the claim.

    Raises:
        UntranslatableError: if the proof does not begin with the rule about expectations, or for more than two
            independent groups.
    """
    node = certificate["proof"]
    if "expect" not in node or len(claim.get("independent", [])) not in (0, 2):
        raise UntranslatableError(
            "a claim about random variables of another kind cannot be translated to Coq"
        )
    w = _Expected(label, claim, node, certificate["prec"], extra)
    body = w.proof()
    return [*w.helpers, Lemma(label, w.statement(), body)]


class _Expected:
    """The statement and the proof of one claim. ``helpers`` are its lemmas of arithmetic."""

    def __init__(self, label: str, claim: Goal, node: Node, prec: int, extra: bool) -> None:
        self.extra = extra
        self.label, self.claim, self.node = label, claim, node
        self.helpers: list[Lemma] = []
        self.random: Mapping[str, str] = claim["random"]
        t = task(claim, prec)
        self.sure = [TRIVIAL if has(x.difference, "E") else x for x in t.given]
        inner = replace(t, domain=t.domain | t.random, random={}, groups=(), given=self.sure)
        self.opened = Opened(t, inner.field())
        self.task = t
        self.goal = self.opened.relation(t.goal)
        self.given = [self.opened.relation(x) for x in t.given]
        self.integrable = list(self.opened.names.values())
        self.formulas = [read(e, {*inner.domain}) for e, _ in node["expect"]]
        self.opened.integrable = False
        self.expanded = {e: self.opened.expression(("E", e)) for e in self._all()}

    def _all(self) -> list[Tree]:
        sides = [x for r in (self.task.goal, *self.task.given) for x in (r.left, r.right)]
        return list(dict.fromkeys([*(e for x in sides for e in _expectations(x)), *self.formulas]))

    def monomial(self, symbol: str) -> Tree:
        """Return the formula whose expectation has this name."""
        m = next(m for m, x in self.opened.names.items() if x == symbol)
        return ["*", *(["^", data(self.opened.field.formula(s)), str(k)] for s, k in m)]

    # Texts ------------------------------------------------------------------------------------------------------

    def at(self, text: str) -> str:
        """Return a text with the values of random variables at the point w."""
        for v in self.random:
            text = re.sub(rf"\b{name(v)}\b", f"({name(v)} w)", text)
        return text

    def function(self, e: Tree) -> str:
        """Return a formula as a function of the point."""
        return f"(fun w : W => {self.at(term(e))})"

    def value(self, e: Tree) -> str:
        """Return the expectation of a formula."""
        return f"(val P {self.function(e)})"

    def whole_text(self, text: str, found: Sequence[Tree]) -> str:
        """Return a text in which expectations replace the marks of formulas."""
        for i, e in enumerate(found):
            text = re.sub(rf"\bv_mark_{i}\b", self.value(data(e)), text)
        return text

    def marked(self, x: Relation) -> tuple[Tree, list[Tree]]:
        """Return a relation with marks for its expectations, and their formulas."""
        found = list(dict.fromkeys(e for side in (x.left, x.right) for e in _expectations(side)))
        for i, e in enumerate(found):
            sides = (replaced(side, ("E", e), f"mark_{i}") for side in (x.left, x.right))
            x = Relation(x.rel, *sides)
        return relation_data(x), found

    def related(self, x: Relation) -> str:
        """Return a hypothesis. One about random variables themselves holds at every point."""
        tree, found = self.marked(x)
        text = self.whole_text(relation(tree), found)
        if not found and variables(x.difference) & self.random.keys():
            return f"forall w : W, pts P w -> {self.at(text)}"
        return text

    def concluded(self) -> list[str]:
        """Return the conditions under which the goal is defined, and the goal."""
        tree, found = self.marked(self.task.goal)
        out = []
        for e in found:
            out.append(f"on P {self.function(data(e))}")
            inner = [self.at(x) for x in conditions(["==", data(e), "0"])]
            out += [f"forall w : W, pts P w -> {conjunction(inner)}"] if inner else []
        return [*out, *(self.whole_text(x, found) for x in (*conditions(tree), relation(tree)))]

    def independence(self) -> list[str]:
        """Return what independence of two groups means: products of functions of the groups have products of values."""
        if not self.claim.get("independent"):
            return []
        one, two = (" ".join(f"({name(v)} w)" for v in x) for x in self.claim["independent"])
        kinds = [" -> ".join(["R"] * (len(x) + 1)) for x in self.claim["independent"]]
        f, g, both = f"(fun w => f {one})", f"(fun w => g {two})", f"(fun w => f {one} * g {two})"
        return [
            f"forall (f : {kinds[0]}) (g : {kinds[1]}), on P {f} -> on P {g} -> "
            f"on P {both} /\\ val P {both} = val P {f} * val P {g}"
        ]

    def hypotheses(self) -> list[tuple[str, str]]:
        """Return the names and the texts of the hypotheses."""
        inside = [x for v, r in self.claim["vars"].items() for x in bounds(v, r)]
        numbers = inside + [whole(v) for v in self.claim.get("integers", [])]
        out = [(f"H{i}", x) for i, x in enumerate(numbers)]
        surely = [self.at(x) for v, r in self.random.items() for x in bounds(v, r)]
        out += [(f"U{i}", f"forall w : W, pts P w -> {x}") for i, x in enumerate(surely)]
        out += [(f"N_{x}", f"on P {self.function(self.monomial(x))}") for x in self.integrable]
        out += [("I0", x) for x in self.independence()]
        return out + [(f"G{i}", self.related(x)) for i, x in enumerate(self.task.given)]

    def statement(self) -> str:
        """Return the lemma as Coq text."""
        lines = ["forall (W : Type) (P : functional W), lawful P ->"]
        lines += ["on P (fun _ : W => 1) -> val P (fun _ : W => 1) = 1 ->"]
        if self.claim["vars"]:
            lines.append(f"forall {' '.join(map(name, self.claim['vars']))} : R,")
        lines.append(f"forall {' '.join(map(name, self.random))} : W -> R,")
        lines += [f"({x}) ->" for _, x in self.hypotheses()]
        return "\n  ".join([*lines, conjunction(self.concluded())])

    # The proof --------------------------------------------------------------------------------------------------

    def helper(self, given: Sequence[Any], goal: Tree, node: Node) -> str:
        """Add a lemma of arithmetic for all values of the variables and the random variables, and return its use."""
        claim = {
            "vars": {**self.claim["vars"], **self.random},
            "given": [relation_data(x) for x in given],
            "goal": goal,
            "integers": self.claim.get("integers", []),
        }
        return self._added(
            claim, node, [*map(name, self.claim["vars"]), *(f"({name(v)} w)" for v in self.random)]
        )

    def _added(self, claim: Any, node: Node, values: Sequence[str]) -> str:
        label = f"{self.label}__e{len(self.helpers)}"
        self.helpers.append(Lemma(label, proved(claim), script.proof(claim, node, self.extra)))
        return f"finish ({' '.join([label, *values])})"

    def everywhere(self, use: str) -> str:
        """Return the proof of a fact at every point."""
        facts = [x for x, text in self.hypotheses() if text.startswith("forall w : W, pts P w")]
        return f"intros w Hw; {''.join(f'pose proof ({x} w Hw); ' for x in facts)}{use}"

    def proof(self) -> str:
        """Return the proof."""
        names = ["W", "P", "LP", "OP", "VP", *map(name, self.claim["vars"]), *map(name, self.random)]
        out = [f"intros {' '.join([*names, *(x for x, _ in self.hypotheses())])}."]
        out += [x for symbol in self.opened.names.values() for x in self._moment(symbol)]
        out += [x for i, e in enumerate(self.expanded) for x in self._expansion(i, e)]
        for i, (e, (_, node)) in enumerate(zip(self.formulas, self.node["expect"], strict=True)):
            use = self.helper(self.sure, [">=", data(e), "0"], node)
            text = relation([">=", data(self.expanded[e]), "0"])
            at = f"L{[*self.expanded].index(e)}"
            out.append(
                f"assert (X{i} : {text}).\n{{ rewrite <- (proj2 {at}). apply (val_pos P LP _ (proj1 {at})); "
                f"cbv beta; {self.everywhere(use)}. }}"
            )
        rewriting = ", ".join(f"?(proj2 L{i})" for i in range(len(self.expanded)))
        for i, (x, y) in enumerate(zip(self.given, self.task.given, strict=True)):
            text = relation(relation_data(x))
            how = f"rewrite {rewriting} in G{i}; exact G{i}" if has(y.difference, "E") else f"exact G{i}"
            how = "lra" if x == TRIVIAL else how
            out.append(f"assert (Y{i} : {text}) by ({how}).")
        return "\n".join([*out, self._end(rewriting)])

    def _end(self, rewriting: str) -> str:
        ranges = {x: interval(r) for x, r in self.opened.ranges.items()}
        facts = [*self.given, *(Relation(">=", self.expanded[e], ZERO) for e in self.formulas)]
        claim = {
            "vars": {**self.claim["vars"], **{x: _closed(r) for x, r in ranges.items()}},
            "given": [relation_data(x) for x in facts],
            "goal": relation_data(self.goal),
            "integers": self.claim.get("integers", []),
        }
        use = self._added(
            claim,
            self.node["sub"],
            [*map(name, self.claim["vars"]), *map(name, ranges)],
        )
        found = self.marked(self.task.goal)[1]
        ends = []
        for text in self.concluded():
            if text.startswith("on P"):
                e = next(e for e in found if text == f"on P {self.function(data(e))}")
                ends.append(f"exact (proj1 L{[*self.expanded].index(e)})")
            elif text.startswith("forall w"):
                ends.append(f"first [ {' | '.join(self.defined)} ]" if self.defined else "fail")
            else:
                ends.append(f"{f'rewrite {rewriting}; ' if rewriting else ''}{use}")
        return "\n".join(
            f"{'split; [ ' + x + ' | ].' if i + 1 < len(ends) else x + '.'}" for i, x in enumerate(ends)
        )

    def _moment(self, symbol: str) -> Iterator[str]:
        """Yield the tactics that bound the expectation of a monomial, which exists."""
        m = self.monomial(symbol)
        low, high, _ = self.opened.ranges[symbol]
        least = None if low[0] else self.helper([], [">=", m, str(low[1])], {"leaf": "range"})
        most = None if high[0] else self.helper([], [">=", str(high[1]), m], {"leaf": "range"})
        if symbol not in self.integrable:
            yield (
                f"assert (N_{symbol} : on P {self.function(m)}).\n"
                f"{{ apply (on_bounded P LP OP {term(str(low[1]))} {term(str(high[1]))}); cbv beta.\n"
                f"{{ {self.everywhere(least or 'fail')}. }}\n{{ {self.everywhere(most or 'fail')}. }} }}"
            )
        v = name(symbol)
        yield f"destruct (ex_intro (fun z => {self.value(m)} = z) _ eq_refl) as [{v} Q_{symbol}]."
        for word, use, text in (
            ("least", least, f"{term(str(low[1]))} <= {v}"),
            ("most", most, f"{v} <= {term(str(high[1]))}"),
        ):
            if use:
                yield (
                    f"assert ({text}) by (rewrite <- Q_{symbol}; apply (val_{word} P LP OP VP); "
                    f"[ exact N_{symbol} | cbv beta; {self.everywhere(use)} ])."
                )

    def _expansion(self, i: int, e: Tree) -> Iterator[str]:
        """Yield the tactics that expand an expectation into those of monomials."""
        _, (_, _, *terms), below = tree(self.expanded[e])
        proof, sides = "(lin_scale P LP 0 (fun _ : W => 1) 1 (conj OP VP))", list[Tree]([["*", "0", "1"]])
        for j, (_, *factors) in enumerate(terms):
            held = [x for x in factors if x in self.opened.ranges]
            rest = ["*", *(data(x) for x in factors if x not in self.opened.ranges)]
            if len(held) == 2 and not variables(
                read(self.monomial(held[0]), {*self.random, *self.claim["vars"]})
            ) & {*self.claim["independent"][0]}:
                held.reverse()
            atom = "(conj OP VP)" if not held else f"(conj N_{held[0]} Q_{held[0]})"
            if len(held) == 2:
                atom = f"A{i}_{j}"
                yield from self._independent(atom, held)
            sides.append(["*", rest, ["*", *map(self.monomial, held)] if held else "1"])
            body = self.function(["*", *map(self.monomial, held)] if held else "1")
            value = " * ".join(map(name, held)) or "1"
            proof = f"(lin_plus P LP _ _ _ _ {proof} (lin_scale P LP {term(rest)} {body} ({value}) {atom}))"
        whole_side = ["/", ["+", *sides], data(below)]
        use = self.helper(self.sure, ["==", whole_side, data(e)], {"leaf": "identity"})
        text = term(data(self.expanded[e]))
        yield (
            f"assert (L{i} : lin P {self.function(data(e))} {text}).\n"
            f"{{ refine (lin_on P LP _ _ _ _ (lin_div P LP {term(data(below))} _ _ {proof}) _ _); cbv beta.\n"
            f"{{ {self.everywhere(use)}. }}\n{{ unfold Rdiv; ring. }} }}"
        )
        self.defined = [*getattr(self, "defined", []), self.everywhere(use)]

    def _independent(self, label: str, held: Sequence[str]) -> Iterator[str]:
        one, two = map(self.monomial, held)
        first, second = (" ".join(map(name, x)) for x in self.claim["independent"])
        yield (
            f"assert ({label} : lin P {self.function(['*', one, two])} ({' * '.join(map(name, held))})).\n"
            f"{{ destruct (I0 (fun {first} => {term(one)}) (fun {second} => {term(two)}) "
            f"N_{held[0]} N_{held[1]}) as [I1 I2]; split; "
            f"[ exact I1 | rewrite <- Q_{held[0]}, <- Q_{held[1]}; exact I2 ]. }}"
        )


def _closed(text: str) -> str:
    """Return an interval with its finite ends: an expectation of something positive may be known to be >= 0 only."""
    low, high = text[1:-1].split(", ")
    return f"{'(' if low == '-inf' else '['}{low}, {high}{')' if high == 'inf' else ']'}"


def _expectations(e: Tree) -> Iterator[Tree]:
    """Yield the formulas of which a formula contains the expectation."""
    if type(e) is tuple:
        if e[0] == "E":
            yield e[1]
        else:
            for x in e[1:]:
                yield from _expectations(x)
