"""The kernel against walks from false claims (walk.py), and the walks against kernels with a fault."""

from fractions import Fraction
from unittest import mock

import pytest

from dpproof.proofs_check.kernel import Rejected, check, expressions, logic
from dpproof.proofs_check.kernel import certificate as checking
from dpproof.proofs_check.kernel.arithmetic import INF, NEG_INF, Interval
from dpproof.proofs_check.kernel.expressions import NAME, RESERVED, read
from dpproof.proofs_check.kernel.goals import Range
from dpproof.proofs_check.search import certificate
from tests.proofs_check.hints import expect, have, make_goal, positive
from tests.proofs_check.walk import walked
from tests.proofs_check.walk_values import Unclear, Undefined, value
from tests.rows import tiered

SEEDS, WALKS = (0, 1, 2, 3), 100
SLOW_SEEDS, SLOW_WALKS = (100, 101, 102, 103), 800


def holds_out(seed, walks):
    seen = walked(seed, walks)
    assert not seen.faults, seen.faults[0]
    assert seen.walks == walks
    assert {*checking.TREES, "mono"} <= seen.kinds.keys(), "a kind of node has not been tried"
    assert seen.kinds["expect"] > walks / 4
    assert seen.kinds["telescope"] > walks


@pytest.mark.slow
@pytest.mark.parametrize("seed", tiered(SEEDS, fast=1))
def test_no_node_loses_what_is_false(seed):
    holds_out(seed, WALKS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_no_node_loses_what_is_false_in_long_walks(seed):
    holds_out(seed, SLOW_WALKS)


def index_kept(args, names, depth):
    """Read a sum as the kernel once did: the index is called what the proof calls it."""
    if len(args) != 4 or type(args[0]) is not str or not NAME.match(args[0]) or args[0] in names | {"pi"}:
        raise Rejected('a sum must be ["sum", index, first, last, formula], and its index must be a new name')
    return (
        "sum",
        args[0],
        *(read(x, names, depth) for x in args[1:3]),
        read(args[3], names | {args[0]}, depth),
    )


def ordinary_index_kept(args, names, depth):
    """Refuse the names that the kernel gives, but nothing else."""
    if str(args[0]).startswith(RESERVED):
        raise Rejected("a reserved name")
    return index_kept(args, names, depth)


FAULTS = {
    "an index keeps its name": (expressions, "_read_sum", index_kept),
    "an ordinary index keeps its name": (expressions, "_read_sum", ordinary_index_kept),
    "all random variables are independent": (logic.Opened, "_group", lambda self, v: frozenset({v})),
    "a substitution reaches everything": (logic, "_image", lambda *_: Range(NEG_INF, INF, (True, True))),
    "an induction under hypotheses": (logic, "variables", lambda e: set()),
    "a sum with real ends": (logic, "_is_whole", lambda t, e: True),
    "no value is zero": (Range, "hull", lambda self, closed=False: Interval(self.lo, self.hi, True)),
}


@pytest.mark.parametrize("fault", tiered(FAULTS, fast=1))
def test_a_fault_in_the_kernel_is_found_by_the_same_walks(fault):
    with mock.patch.object(*FAULTS[fault]):
        found = next((seen.faults[0] for seed in SEEDS if (seen := walked(seed, WALKS)).faults), "nothing")
    # where an index keeps its name, a telescope captures something: the fault that the kernel once had
    assert found.startswith("telescope shows" if "index" in fault else ""), found
    assert "shows what is false" in found


X = Fraction(1, 2)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (["sum", "i", "1", "3", ["sum", "j", "1", "i", ["*", "i", "x"]]], 7),
        (["sum", "i", "2", "1", ["/", "1", "0"]], 0),
        (["E", ["*", "y", ["^", "y", "2"]]], Fraction(9, 2)),
        (["-", ["^", "x", "-2"], ["sqrt", ["/", "1", "4"]]], Fraction(7, 2)),
        (["exp", ["log", ["+", "x", "x"]]], 1),
        (("sum", "#0", Fraction(1), Fraction(2), ("^", "#0", 2)), 5),
    ],
)
def test_formulas_are_worked_out_exactly(formula, expected):
    law = tuple((Fraction(1, 2), {"y": Fraction(k)}) for k in (1, 2))
    assert value(formula, {"x": X}, law) == expected


@pytest.mark.parametrize(
    "formula", [["/", "1", ["-", "x", "1/2"]], ["log", "0"], ["sqrt", "-1"], ["sum", "i", "0", "x", "1"]]
)
def test_a_formula_without_a_value_has_none(formula):
    with pytest.raises(Undefined):
        value(formula, {"x": X})


def test_a_number_too_close_to_zero_is_not_judged():
    almost = ["-", ["*", ["sqrt", "2"], ["sqrt", "2"]], "2"]
    with pytest.raises(Unclear):
        value(["/", "1", almost], {})


def rejection(claim, proof):
    with pytest.raises(Rejected) as found:
        check(certificate("test", claim, "PROVED", proof), claim)
    return str(found.value)


def test_a_sure_hypothesis_is_no_multiplier_outside_expect():
    claim = make_goal({"a": "[0, 1]"}, "E(x) >= -a", "x >= 0", random={"x": "[0, 1]"})
    assert "which only expect can use" in rejection(claim, positive(("1", 0)))
    assert rejection(claim, have("a >= 0", positive(("1", 0)), positive())).startswith("a multiplier names a")
    inside = expect([("x", positive(("1", 0)))], positive(("1", 1)))
    assert check(certificate("test", claim, "PROVED", inside), claim).verdict == "PROVED"


def test_a_sum_of_squares_has_terms():
    claim = make_goal({"a": "[0, 1]"}, "a >= a")
    assert "non-empty" in rejection(claim, {"leaf": "sos", "terms": [], "over": "1"})
