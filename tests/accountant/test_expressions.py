"""Formulas: sympy's own parser, double precision and Arb are three routes to the same number."""

import flint
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.published.formula import Formula, parse, variables_of
from tests.rows import rows

TEXTS = (
    "x + y - 3*x/y",
    "-x**2",
    "(-x)**2",
    "x**-2*y**3",
    "x - (y - 1)",
    "x/(y/2)",
    "exp(-x)*log(1 + y)",
    "sqrt(x)*sqrt(y + 0.1)",
    "1_000*x - 2.5e-3",
    "x**0 + y**1",
)


@pytest.mark.parametrize("text", TEXTS)
def test_three_routes_agree(text):
    formula, point = Formula(text), {"x": 1.75, "y": 0.375}
    by_float = formula.float(**point)
    with precision(200):
        by_arb = formula.arb(**{name: flint.arb(value) for name, value in point.items()})
    symbols = {name: sympy.Symbol(name, positive=True) for name in "xy"}
    plain = sympy.sympify(text.replace("_", ""), locals=symbols, rational=True)
    assert sympy.simplify(plain - formula.sympy()) == 0
    exactly = plain.subs({symbols[name]: sympy.Rational(value) for name, value in point.items()})
    assert by_arb.overlaps(flint.arb(str(sympy.N(exactly, 40)) + " +/- 1e-35"))
    assert by_float == pytest.approx(float(exactly), rel=1e-14)
    assert formula.latex() == sympy.latex(formula.sympy())


LEAVES = st.sampled_from(["x", "y", "2", "0.5"])
SUMS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda left, sign, right: f"({left} {sign} {right})", inner, st.sampled_from("+-*"), inner
    ),
    max_leaves=8,
)


@given(SUMS)
def test_python_reads_the_same_polynomial(text):
    assert Formula(text).float(x=3.0, y=0.25) == eval(text, {}, {"x": 3.0, "y": 0.25})


@rows(
    "text",
    [
        "", "2*", "x**0.5", "x**2.7", "x**True", "x**y", "x**10**9", "1j", "0x10", "f(x)", "x.y", "'a'", "+x",
        "True", "None", "...", "exp(1, 2)", "log()", "exp(x=1)", "x if y else z", "x @ y", "x // y", "x < y",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r"^formula "):
        parse(text)


def test_numbers_are_the_decimals_they_print():
    assert parse("0.1") == "1/10"
    assert parse("-x**2") == ("neg", ("^", "x", "2"))
    assert parse("x**-2") == ("^", "x", "-2")


def test_variables_and_missing_values():
    assert variables_of(parse("A*log(H**2)/exp(3)")) == {"A", "H"}
    with pytest.raises(KeyError, match="H"):
        Formula("A*H").float(A=1.0)
