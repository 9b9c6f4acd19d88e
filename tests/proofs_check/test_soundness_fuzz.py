"""Random claims: whatever the kernel accepts must hold, at random points and for random finite laws."""

import random
from fractions import Fraction
from itertools import product

import pytest

from dpproof.proofs_check.kernel import Rejected, check
from dpproof.proofs_check.kernel.arithmetic import point
from dpproof.proofs_check.kernel.expressions import evaluate, substitute
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.search import certificate
from tests.proofs_check.hints import IDENTITY, POSITIVE, bernstein, expect, make_goal, positive
from tests.rows import tiered

DOMAINS = [
    "[0, 1]",
    "(0, 1)",
    "[1, inf)",
    "(0, inf)",
    "[-1, 1]",
    "(-inf, 0]",
    "(1, 2)",
    "(-2, -1]",
    "(-inf, inf)",
]
NUMBERS = ["0", "1", "2", "-1", "1/2", "3"]
LEAVES = [
    {"leaf": "positive"},
    {"leaf": "identity"},
    {"leaf": "range"},
    {"leaf": "positive", "reflect": ["x", "y"]},
    *(
        {"leaf": "mono", "var": "x", "dir": d, "sub": {"leaf": s}}
        for d in (1, -1)
        for s in ("positive", "range")
    ),
    *({"leaf": "taylor", "var": "x", "at": c, "order": n} for c in ("0", "1", "-1") for n in (1, 2)),
]


def expression(draw, depth):
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(["x", "y", "x", "y", draw.choice(NUMBERS)])
    op = draw.choice(["+", "-", "*", "/", "^", "exp", "log", "sqrt", "neg", "+", "*"])
    if op == "^":
        return [op, expression(draw, depth - 1), draw.choice(["2", "-1", "3", "-2", "0"])]
    count = 1 if op in ("exp", "log", "sqrt", "neg") else 2
    return [op, *(expression(draw, depth - 1) for _ in range(count))]


def goal(draw):
    """A random relation; often between two things that are close to equal."""
    left = expression(draw, 3)
    mirrored = [left[0], *left[:0:-1]] if isinstance(left, list) and left[0] in "+*-/" else left
    right = draw.choice([mirrored, "0", expression(draw, 2), expression(draw, 1)])
    return [draw.choice([">=", ">=", ">", "=="]), left, right]


def sample(draw, r):
    low = r.lo[1] if not r.lo[0] else (r.hi[1] if not r.hi[0] else Fraction(0)) - 20
    high = r.hi[1] if not r.hi[0] else low + 20
    steps = [Fraction(draw.randint(0, 1000), 1000), Fraction(0), Fraction(1), Fraction(1, 10**6)]
    x = low + (high - low) * draw.choice(steps)
    return x if r.has((0, x)) else (low + high) / 2


def holds(claim, values):
    """Is the goal certainly not broken at a point? Undefined counts as broken."""
    t = task(claim, 200)
    box = {v: point(q) for v, q in values.items()}
    low, high, _ = evaluate(t.goal.difference, box, 200)
    tiny = (0, Fraction(1, 10**40))
    if t.goal.rel == "==":
        return low <= tiny and high >= (0, -tiny[1])
    return high > (0, Fraction(0)) or (t.goal.rel == ">=" and high >= (0, Fraction(0)))


@pytest.mark.parametrize("seed", tiered(range(8), fast=1))
def test_accepted_claims_hold_at_random_points(seed):
    draw, accepted = random.Random(seed), 0
    for _ in range(250):
        claim = {"vars": {v: draw.choice(DOMAINS) for v in "xy"}, "goal": goal(draw)}
        for leaf in LEAVES:
            try:
                check(certificate("fuzz", claim, "PROVED", leaf), claim)
            except Rejected:
                continue
            accepted += 1
            domain = task(claim, 80).domain
            for _ in range(6):
                values = {v: sample(draw, r) for v, r in domain.items()}
                assert holds(claim, values), (claim, leaf, values)
    assert accepted > 20


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
                    assert holds_in_law(draw, claim, independent)
    assert count > 5


def holds_in_law(draw, claim, independent):
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
    assert not holds_in_law(random.Random(0), claim, independent=False)
