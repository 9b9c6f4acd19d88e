"""Random claims on expectations: whatever the kernel accepts must hold for random finite laws."""

import random
from fractions import Fraction
from itertools import product

import pytest

from dpproof.proofs_check.hints import IDENTITY, POSITIVE, bernstein, expect, positive
from dpproof.proofs_check.kernel import Rejected, check
from dpproof.proofs_check.kernel.arithmetic import point
from dpproof.proofs_check.kernel.expressions import evaluate, substitute
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.search.provers import certificate
from dpproof.proofs_check.statement import make_goal
from tests.rows import tiered

UNIT = "[0, 1]"


def formula(draw, depth=2):
    if depth == 0:
        return draw.choice(["x", "y", "a", "1", "2", "1/3"])
    op = draw.choice(["+", "-", "*", "*", "exp"])
    left = formula(draw, depth - 1)
    return f"exp({left})" if op == "exp" else f"({left}) {op} ({formula(draw, depth - 1)})"


def accepted(claim, proof):
    try:
        check(certificate("fuzz", claim, "PROVED", proof), claim)
    except Rejected:
        return False
    return True


def atoms(draw, independent):
    """A random law of (x, y): triples of a weight and two values."""

    def marginal():
        weights = [draw.randint(1, 9) for _ in range(3)]
        values = [Fraction(draw.randint(0, 12), 12) for _ in weights]
        return [(Fraction(w, sum(weights)), v) for w, v in zip(weights, values, strict=True)]

    if independent:
        return [(p * q, x, y) for (p, x), (q, y) in product(marginal(), marginal())]
    return [(p, x, Fraction(draw.randint(0, 12), 12)) for p, x in marginal()]


def opened(e, law):
    """Write the expectations of a formula as sums over a finite law."""
    if type(e) is not tuple:
        return e
    if e[0] == "E":
        return ("+", Fraction(0), *(("*", p, substitute(e[1], {"x": x, "y": y})) for p, x, y in law))
    return (e[0], *(x if type(x) is int else opened(x, law) for x in e[1:]))


def candidates(draw):
    """A claim and proofs of the kinds that might be accepted for it."""
    f, g = formula(draw), formula(draw)
    bound = draw.choice(["0", "1", "-1", "a", "1/10", "1/2"])
    given = draw.choice([(), ("x >= y",), (f"E({g}) >= 1/2",), ("E(x) == a",)])
    split = draw.random() < 0.5
    yield (
        split,
        given,
        f"E({f}) >= {bound}",
        [(f"{f} - ({bound})", draw.choice([POSITIVE, bernstein("x", 4)]))],
    )
    yield split, given, f"E({f}) >= E({g})", [(f"{f} - ({g})", draw.choice([POSITIVE, positive(("1", 0))]))]
    yield split, given, f"E(({f})*x) == E({f})*E(x)", []
    yield split, given, f"E({f} + {g}) == E({f}) + E({g})", []
    yield split, given, f"E(a*({f})) == a*E({f})", []
    yield split, given, f"E(exp(x)*exp(y)) == E(exp({draw.choice('xy')}))*E(exp(y))", []


@pytest.mark.parametrize("seed", tiered(range(12), fast=1))
def test_whatever_is_accepted_holds_under_random_laws(seed):
    draw, count = random.Random(seed), 0
    for _ in range(12):
        for independent, given, goal, facts in candidates(draw):
            groups = ["x", "y"] if independent else []
            claim = make_goal({"a": UNIT}, goal, *given, random={"x": UNIT, "y": UNIT}, independent=groups)
            for last in (IDENTITY, positive(("1", len(given))), positive(("1", 0)), POSITIVE):
                if accepted(claim, expect(facts, last)):
                    count += 1
                    assert holds(draw, claim, independent)
    assert count > 5


def holds(draw, claim, independent):
    """Does the claim hold at some random laws that satisfy its hypotheses?"""
    t = task(claim, 120)
    for _ in range(15):
        law = atoms(draw, independent)
        mean = sum(p * x for p, x, _ in law)
        at = {"a": point(draw.choice([mean, Fraction(draw.randint(0, 8), 8)]))}
        if all(certain(x, law, at) for x in t.given):
            difference = evaluate(opened(t.goal.difference, law), at, 120)
            if difference.hi < (0, Fraction(0)) or (t.goal.rel == "==" and difference.lo > (0, Fraction(0))):
                return False
    return True


def certain(relation, law, at):
    """Is a hypothesis certainly satisfied, under the law or surely?"""
    if relation.difference == ("-", "x", "y"):
        return all(x >= y for _, x, y in law)
    return relation.holds(evaluate(opened(relation.difference, law), at, 120))


@pytest.mark.parametrize("goal", ["E(x*y) == E(x)*E(y)", "E(x) >= 1/2", "E(x)**2 >= E(x**2)"])
def test_a_false_claim_is_noticed(goal):
    claim = make_goal({"a": UNIT}, goal, random={"x": UNIT, "y": UNIT})
    assert not holds(random.Random(0), claim, independent=False)
