"""Random claims: whatever a leaf accepts must hold, and be defined, at random points of the domain."""

import random
from fractions import Fraction

import pytest

from dpproof.proofs_check.kernel import Rejected, check
from dpproof.proofs_check.kernel.arithmetic import point
from dpproof.proofs_check.kernel.expressions import evaluate
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.search.provers import certificate
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
