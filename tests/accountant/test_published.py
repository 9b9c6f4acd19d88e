"""Published formulas: three routes to each value, domains, sources, and the expressions they are written in.

Published formulas: double precision, Arb and sympy at 50 digits give one number for each.

Formulas: sympy's own parser, double precision and Arb are three routes to the same number.
"""

import flint
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.published import PublishedFormula, published, published_ids
from dpproof.accountant.published.formula import Formula, parse, variables_of
from dpproof.accountant.published.sources import Source
from tests.rows import rows

POINT = {
    "S": 6, "A": 2, "H": 20, "K": 1000, "k": 17, "N": 3, "alpha": "2.5", "delta": "1e-6",
    "s": 2, "sigma": "4.5", "b": 3, "T": 100, "epsilon": "0.5", "E": "0.75", "x": "0.25", "y": "0.125",
    "w": "1.5", "slack": "0.01", "m": 20, "L": 10, "beta": "0.05", "noise": "0.4", "d": 3, "g": 2,
    "tau": 1000, "X": 4, "E1": "0.75", "E2": "1.25", "n": 50,
}  # fmt: skip


@rows("name", published_ids())
def test_three_routes_agree(name):
    formula = published(name).formula
    used = {variable: POINT[variable] for variable in variables_of(formula.expression)}
    by_float = formula.float(**{variable: float(value) for variable, value in used.items()})
    with precision(200):
        by_arb = formula.arb(**{variable: flint.arb(str(value)) for variable, value in used.items()})
    exact = {sympy.Symbol(v, positive=True): sympy.Rational(str(value)) for v, value in used.items()}
    by_sympy = sympy.N(formula.sympy().subs(exact), 50)
    assert by_arb.overlaps(flint.arb(f"{by_sympy} +/- 1e-40"))
    assert by_arb.rel_accuracy_bits() > 150
    assert by_float == pytest.approx(float(by_sympy), rel=1e-14)


def test_the_printed_value_at_the_papers_sizes():
    value = published("rlsvi.corollary14").formula.float(S=6, A=2, H=20, K=1000, delta=1e-6)
    assert value == pytest.approx(11.080765, abs=1e-6)


@rows("name", published_ids())
def test_every_variable_has_a_domain_and_every_formula_a_source(name):
    entry = published(name)
    assert variables_of(entry.formula.expression) <= set(entry.domain)
    assert name.startswith("rlsvi.") is (entry.source.paper == "arXiv:2606.01952")
    assert entry.source.item
    assert entry.id == name


def test_an_unknown_id_is_refused():
    with pytest.raises(KeyError, match=r"rlsvi\.corollary15"):
        published("rlsvi.corollary15")


def test_a_variable_without_a_domain_is_refused():
    with pytest.raises(ValueError, match="no domain for y"):
        PublishedFormula("x", "x", Formula("x + y"), {"x": "[0, 1]"}, Source("p", "v1", "Item"))


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
def test_three_routes_agree_expressions(text):
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
