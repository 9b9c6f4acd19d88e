"""Nodes that reason: what they must accept, and the unsound steps they must refuse."""

import pytest

from dpproof.proofs_check.kernel import Rejected, check
from dpproof.proofs_check.search import certificate
from tests.proofs_check.hints import (
    IDENTITY,
    POSITIVE,
    RANGE,
    bernstein,
    cases,
    enumerated,
    expect,
    have,
    identity,
    induct,
    make_goal,
    mono,
    point,
    positive,
    split,
    subst,
    telescope,
)
from tests.rows import rows

REAL, UNIT = "(-inf, inf)", "[0, 1]"


def accepts(claim, proof, verdict="PROVED"):
    try:
        return check(certificate("test", claim, verdict, proof), claim) is not None
    except Rejected:
        return False


def indicators(names):
    return dict.fromkeys(names, UNIT)


# 1/i at i = 1 + 1/x: log(1+x), the logarithm's growth over a step, is above x/(1+x), as both are 0 at 0.
LOGARITHM = have("log(1+x) >= x/(1+x)", mono("x", 1, IDENTITY), positive(("1", 2)))
TRUE = {
    "union bound": (
        make_goal({}, "E(a)+E(b) >= E(u)", "a+b >= u", random=indicators("abu")),
        expect([("a+b-u", positive(("1", 0)))], positive(("1", 1))),
    ),
    "Markov": (
        make_goal({"t": "(0, inf)"}, "E(x)/t >= E(u)", "x >= t*u", random={"x": "[0, inf)", "u": UNIT}),
        expect([("x-t*u", positive(("1", 0)))], positive(("1/t", 1))),
    ),
    "Chernoff": (
        make_goal(
            {"l": "[0, inf)", "t": REAL}, "E(exp(l*x))/exp(l*t) >= E(u)", "exp(l*x) >= exp(l*t)*u",
            random={"x": REAL, "u": UNIT},
        ),
        expect([("exp(l*x)-exp(l*t)*u", positive(("1", 0)))], positive(("1/exp(l*t)", 1))),
    ),
    "the transform of an independent sum": (
        make_goal({"l": REAL}, "E(exp(l*x))*E(exp(l*y)) == E(exp(l*(x+y)))",
                   random={"x": REAL, "y": REAL}, independent=["x", "y"]),
        expect([], IDENTITY),
    ),
    "a transform with a negative exponent": (
        make_goal({"l": "[0, inf)"}, "E(exp(-l*x))*E(exp(-l*y)) == E(exp(-l*(x+y)))",
                   random={"x": REAL, "y": REAL}, independent=["x", "y"]),
        expect([], IDENTITY),
    ),
    "variance": (
        make_goal({"m": REAL}, "E(x**2) >= m**2", "E(x) == m", random={"x": REAL}),
        expect([("(x-m)**2", {"leaf": "sos", "terms": [["1", ["-", "x", "m"]]], "over": "1"})],
               positive(("1", 1), ("2*m", 0))),
    ),
    "post-processing": (
        make_goal({"e": "[0, inf)", "d": UNIT}, "exp(e)*E(q*t) + d >= E(p*t)", "exp(e)*E(q*t) + d >= E(p*t)",
                   random={"p": "[0, inf)", "q": "[0, inf)", "t": UNIT}),
        expect([], positive(("1", 0))),
    ),
    "harmonic sum": (
        make_goal({"K": "[1, inf)"}, "1 + log(K) >= 1 + sum(i, 2, K, 1/i)", integers=["K"]),
        telescope(
            "sum(i, 2, K, 1/i)", "log(i-1)", ">=",
            subst("i", "1+j", "j", "[1, inf)", subst("j", "1/x", "x", "(0, 1]", LOGARITHM)),
            positive(("1", 0)),
        ),
    ),
    "sum of whole numbers": (
        make_goal({"K": "[0, inf)"}, "K*(K+1)/2 == sum(i, 1, K, i)", integers=["K"]),
        telescope("sum(i, 1, K, i)", "i*(i-1)/2", "==", IDENTITY, identity(("1", 0))),
    ),
    "a geometric tail, uniformly in its length": (
        make_goal({"K": "[0, inf)"}, "2 >= sum(i, 0, K, exp(-i*log(2)))", integers=["K"]),
        telescope(
            "sum(i, 0, K, exp(-i*log(2)))", "-2*exp(-i*log(2))", "==",
            have("exp(-(i+1)*log(2)) == exp(-i*log(2))/2", IDENTITY, identity(("-2", 2))),
            positive(("1", 0), reflect=[]),
        ),
    ),
    "induction": (
        make_goal({"n": "[1, inf)"}, "exp(n*log(2)) >= n+1", integers=["n"]),
        induct("n", POSITIVE, have("exp((n+1)*log(2)) == 2*exp(n*log(2))", IDENTITY,
                                   positive(("2", 0), ("1", 1)))),
    ),
    "all whole numbers of a range": (
        make_goal({"n": "[0, 4]"}, "n*(n-1) >= 0", integers=["n"]), enumerated("n", RANGE),
    ),
    "cases": (
        make_goal({"x": REAL}, "x**2 + 1 >= x"),
        cases("x", cases("x-1", positive(("1", 0, 1)), positive(("1", 1))), positive(("1", 0))),
    ),
    "Bernstein": (make_goal({"x": UNIT}, "x**2 - x + 26/100 > 0"), bernstein("x", 60)),
    "Bernstein with a parameter": (
        make_goal({"x": UNIT, "a": "[1, inf)"}, "a*x**2 - a*x + a/2 >= 0"), bernstein("x", 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_a_sound_argument_is_accepted(name):
    assert accepts(*TRUE[name])


@pytest.mark.parametrize("name", TRUE)
def test_it_does_not_prove_the_opposite(name):
    claim, proof = TRUE[name]
    relation, left, right = claim["goal"]
    for false in ([">", right, left], [relation, ["-", left, "1000"], right]):
        assert not accepts({**claim, "goal": false}, proof)


X = {"x": REAL}
FALSE = {
    "dependent factors": (
        make_goal({}, "E(x)*E(y) == E(x*y)", random={"x": UNIT, "y": UNIT}), expect([], IDENTITY),
    ),
    "a group that holds two variables does not part them": (
        make_goal({}, "E(x)*E(y) == E(x*y)", random=indicators("xyz"), independent=["xy", "z"]),
        expect([], IDENTITY),
    ),
    "a symbol that ties two groups together": (
        make_goal({}, "E(x)*E(exp(x*y)) == E(x*exp(x*y))", random=indicators("xy"), independent=["x", "y"]),
        expect([], IDENTITY),
    ),
    "an expectation of something that may be negative": (
        make_goal({}, "E(x) >= 0", random=X), expect([("x", POSITIVE)], positive(("1", 0))),
    ),
    "a moment that may not exist": (
        make_goal({}, "E(x) + 1 >= 0", random=X),
        expect([("x**2", POSITIVE)], positive(("1", 0))),
    ),
    "a moment that may not exist, hidden in a square": (
        make_goal({}, "E(x) + 1 >= 0", "E(x) >= -1", random=X),
        expect([("(x+1)**2", {"leaf": "sos", "terms": [["1", ["+", "x", "1"]]], "over": "1"})],
               positive(("1", 0))),
    ),
    "a random denominator": (
        make_goal({}, "E(1/(1+x)) == 1/(1+E(x))", random=indicators("x")), expect([], IDENTITY),
    ),
    "a hypothesis on the random variable read as one on its mean": (
        make_goal({"m": REAL}, "E(x) >= 1", "x >= m", random=X), expect([], positive(("1", 0))),
    ),
    "a reciprocal": (
        make_goal({}, "E(1/x)*E(x) == 1", random={"x": "[1, 2]"}), expect([], IDENTITY),
    ),
    "an undefined integrand": (
        make_goal({}, "E(log(x) - log(x)) == 0", random=indicators("x")), expect([], IDENTITY),
    ),
    "a random variable in the goal": (
        make_goal({}, "1 >= 0", random=X) | {"goal": [">=", "x", "x"]}, POSITIVE,
    ),
    "nested expectations": (make_goal({}, "E(x*E(x)) >= 0", random=X), expect([], POSITIVE)),
    "a cut without proof": (make_goal(X, "x >= 0"), have("x >= 0", POSITIVE, positive(("1", 0)))),
    "a cut that needs itself": (
        make_goal(X, "x >= 0"), have("x >= 0", positive(("1", 0)), positive(("1", 0))),
    ),
    "a case left out": (make_goal(X, "x >= 0"), cases("x", positive(("1", 0)), POSITIVE)),
    "both cases at once": (make_goal(X, "x == 0"), cases("x", positive(("1", 0)), positive(("1", 0)))),
    "a case distinction on something undefined": (
        make_goal(X, "1 >= 0"), cases("1/x", POSITIVE, POSITIVE),
    ),
    "induction over real numbers": (make_goal({"n": "[0, inf)"}, "1 >= 0"), induct("n", POSITIVE, POSITIVE)),
    "induction without a base": (
        make_goal({"n": "[0, inf)"}, "n >= 1", integers=["n"]), induct("n", POSITIVE, positive(("1", 0))),
    ),
    "induction without a step": (
        make_goal({"n": "[0, inf)"}, "0 >= n", integers=["n"]), induct("n", POSITIVE, positive(("1", 0))),
    ),
    "induction without a step over two numbers": (
        make_goal({"n": "[0, 1]"}, "0 >= n", integers=["n"]), induct("n", POSITIVE, POSITIVE),
    ),
    "a range of whole numbers that ends between two": (
        make_goal({"n": "[0, 5/2]"}, "n*(n-1) >= 0", integers=["n"]), enumerated("n", RANGE),
    ),
    "induction from an open end": (
        make_goal({"n": "(0, inf)"}, "n >= 1", integers=["n"]), induct("n", POSITIVE, POSITIVE),
    ),
    "induction with a hypothesis on the variable": (
        make_goal({"n": "[0, inf)"}, "0 >= n", "1/2 >= n", integers=["n"]),
        induct("n", POSITIVE, positive(("1", 1))),
    ),
    "a number left out": (
        make_goal({"n": "[0, 5/2]"}, "0 >= n*(n-1)", integers=["n"]), enumerated("n", RANGE),
    ),
    "numbers for a real variable": (make_goal({"n": "[0, 1]"}, "n*(n-1) >= 0"), enumerated("n", RANGE)),
    "a sum with real ends": (
        make_goal({"K": "[0, inf)"}, "K >= sum(i, 1, K, 1)"),
        telescope("sum(i, 1, K, 1)", "i", "==", IDENTITY, positive(("1", 0))),
    ),
    "a sum that ends before it begins": (
        make_goal({"K": "[-5, inf)"}, "K == sum(i, 1, K, 1)", integers=["K"]),
        telescope("sum(i, 1, K, 1)", "i", "==", IDENTITY, identity(("1", 0))),
    ),
    "a bound in the wrong direction": (
        make_goal({"K": "[0, inf)"}, "0 >= sum(i, 1, K, i)", integers=["K"]),
        telescope("sum(i, 1, K, i)", "0", "<=", POSITIVE, positive(("1", 0))),
    ),
    "a term that is not below the difference": (
        make_goal({"K": "[1, inf)"}, "K - 1 >= sum(i, 1, K, 1)", integers=["K"]),
        telescope("sum(i, 1, K, 1)", "i*999/1000", ">=", IDENTITY, positive(("1", 0))),
    ),
    "a term that is undefined": (
        make_goal({"K": "[1, inf)"}, "K + 1 >= sum(i, 0, K, i/i)", integers=["K"]),
        telescope("sum(i, 0, K, i/i)", "i", "==", IDENTITY, positive(("1", 0))),
    ),
    "an index that is caught": (
        make_goal({"x": UNIT, "K": "[1, inf)"}, "K >= sum(i, 1, K, x)", integers=["K"]),
        subst("x", "1-i", "i", UNIT, telescope("sum(i, 1, K, 1-i)", "i", ">=", POSITIVE, positive(("1", 0)))),
    ),
    "a sum nobody opened": (make_goal({"K": "[0, inf)"}, "sum(i, 1, K, 1) >= 0", integers=["K"]), POSITIVE),
    "a negative Bernstein coefficient": (make_goal({"x": UNIT}, "x**2 - x + 1/4 > 0"), bernstein("x", 2)),
    "a degree that is too small": (make_goal({"x": UNIT}, "0 >= x**2 - x"), bernstein("x", 1)),
    "Bernstein on a half line": (make_goal({"x": "[0, inf)"}, "1 - x >= 0"), bernstein("x", 1)),
    "a multiple of an inequality as an equation": (
        make_goal(X, "x == 0", "x >= 0"), {"leaf": "identity", "multipliers": [["1", 0]]},
    ),
    "pi as a variable": ({"vars": {"pi": UNIT}, "goal": [">=", "1", "pi"]}, RANGE),
    "pi is not 22/7": (make_goal({}, "22/7 == pi"), IDENTITY),
    "erfc is not zero": (make_goal({"x": "[20, 30]"}, "0 >= erfc(x)"), RANGE),
    "groups that overlap": (
        {"vars": {}, "random": indicators("xy"), "independent": [["x", "y"], ["y"]],
         "goal": [">=", "1", "0"]}, POSITIVE,
    ),
    "a name that the kernel makes itself": ({"vars": {"E_x": UNIT}, "goal": [">=", "E_x", "0"]}, POSITIVE),
}  # fmt: skip


@rows("name", FALSE)
def test_an_unsound_step_is_refused(name):
    assert not accepts(*FALSE[name])


def test_a_sum_is_added_up_at_a_refuting_point():
    claim = make_goal({"K": "[0, inf)"}, "10 >= sum(i, 1, K, i)", integers=["K"])
    assert accepts(claim, point(K="5"), "REFUTED")
    assert not accepts(claim, point(K="4"), "REFUTED")
    assert not accepts(make_goal({}, "0 >= E(x)", random={"x": UNIT}), point(), "REFUTED")


def test_splitting_keeps_whole_variables_whole():
    claim = make_goal({"n": "[0, 4]"}, "n*(n-1) >= 0", integers=["n"])
    assert accepts(claim, split("n", "2", enumerated("n", RANGE), POSITIVE))
    assert not accepts(claim, split("n", "3/2", enumerated("n", RANGE), enumerated("n", RANGE)))


SIX = "sum({0}, 1, 2, sum(j, 1, 3, 1))"
PRODUCTS = "sum(i, 1, 2, sum(j, 1, 3, i*j))"


@pytest.mark.parametrize("index", ["sum_", "i"])
def test_a_new_name_is_never_captured_by_the_index_of_a_sum(index):
    """The inner sum becomes a variable; were it called like the outer index, 6 would become 3."""
    inner = telescope("sum(j, 1, 3, 1)", "j", "==", IDENTITY, RANGE)
    assert not accepts(make_goal({}, f"3 >= {SIX.format(index)}"), inner)
    assert accepts(make_goal({}, f"6 >= {SIX.format('i')}"), RANGE)


def test_a_sum_inside_another_is_not_taken_for_one_with_a_free_variable():
    """Under the index i of another sum, the inner sum of PRODUCTS is not one number."""
    last = positive(("10", 3), ("10/6", 4), ("10/12", 5), ("10/12", 0))
    third = telescope("sum(i, 1, 2, sum_)", "sum_*i", "==", IDENTITY, last)
    second = telescope(
        "sum(j, 1, 3, i*j)", "i*j*(j-1)/2", "==", IDENTITY, subst("i", "0+t", "t", "[1, inf)", third)
    )
    first = telescope("sum(i, 1, 1, 5)", "0", ">=", second, positive(("1", 2), ("1", 1)))
    proof = have(f"{PRODUCTS} == 18", RANGE, have("sum(i, 1, 1, 5) == 5", RANGE, first))
    assert not accepts(make_goal({}, "0 >= 1"), proof)


@pytest.mark.parametrize("index", ["E_x", "k"])
def test_the_index_of_a_sum_is_not_taken_for_an_expectation(index):
    claim = make_goal({}, "0 >= 1", "E(x) == 1/2", random={"x": UNIT})
    total = f"sum({index}, 1, 1, 5)"
    inside = expect([], positive(("-10", 0), ("10", 2)))
    five = telescope(total, "0", ">=", inside, expect([], positive(("1", 2), ("1", 1))))
    assert not accepts(claim, have(f"{total} == 5", RANGE, five))


@pytest.mark.parametrize("index", ["sum_", "E_x", "pi", "x"])
def test_the_index_of_a_sum_is_a_new_and_ordinary_name(index):
    assert accepts(make_goal({"x": UNIT}, "sum(k, 1, 2, k) >= 3"), RANGE)
    assert not accepts(make_goal({"x": UNIT}, f"sum({index}, 1, 2, {index}) >= 3"), RANGE)


def test_sums_alike_but_for_their_index_are_one():
    claim = make_goal({"n": "[1, inf)"}, "n*(n+1)/2 == sum(k, 1, n, k)", integers=["n"])
    total, antidifference = "sum(other, 1, n, other)", "other*(other-1)/2"
    assert accepts(claim, telescope(total, antidifference, "==", IDENTITY, identity(("1", 0))))


@pytest.mark.parametrize(
    ("goal", "proof"),
    [
        ("((((3**64)**64)**64)**64) >= 1", POSITIVE),
        ("sum(i, 1, 20000, sum(j, 1, 20000, 1)) >= 1", RANGE),
    ],
)
def test_a_claim_too_large_to_check_is_refused_at_once(goal, proof):
    assert not accepts(make_goal({}, goal), proof)
