"""The derivation of the printed epsilon in the report, by computer algebra."""

from __future__ import annotations

import pytest
import sympy

from dpproof.accountant.published import published
from dpproof.report.html import ALPHA, LOG_DELTA, derive_linear

DELTA = sympy.Symbol("delta", positive=True)
SIZES = {name: sympy.Symbol(name, positive=True) for name in "SAHK"}


def of_lemma_11():
    per_step = published("rlsvi.lemma11").formula.sympy() / sympy.Symbol("alpha", positive=True)
    # 2HSA >= 2, so its logarithm is positive; sympy needs a name that says so.
    logarithm = sympy.log(2 * SIZES["H"] * SIZES["S"] * SIZES["A"])
    size = sympy.Symbol("L", positive=True)
    derived = derive_linear(sympy.simplify(per_step).subs(logarithm, size), SIZES["K"] * SIZES["H"])
    return derived, {size: logarithm, LOG_DELTA: sympy.log(1 / DELTA)}


def same(derived, printed, names):
    """Whether both agree as expressions in L = log(2HSA) and ell = log(1/delta)."""
    back = {value: key for key, value in names.items()}
    return sympy.simplify(derived - printed.subs(back)) == 0


def test_corollary_14_follows_from_lemma_11():
    derived, names = of_lemma_11()
    assert same(derived.epsilon, published("rlsvi.corollary14").formula.sympy(), names)
    assert same(derived.order, published("rlsvi.corollary14.order").formula.sympy(), names)
    assert same(derived.at_order.subs(ALPHA, sympy.Symbol("alpha", positive=True)),
                published("rlsvi.theorem13").formula.sympy(), names)  # fmt: skip


def test_another_constant_does_not_follow():
    derived, names = of_lemma_11()
    assert not same(2 * derived.epsilon, published("rlsvi.corollary14").formula.sympy(), names)


def test_the_order_is_the_minimum_numerically():
    c = sympy.Symbol("c", positive=True)
    derived = derive_linear(c)
    values = {c: sympy.Rational(1, 3), LOG_DELTA: 5}
    best = derived.epsilon.subs(values)
    for step in range(1, 200):
        assert derived.at_order.subs(values).subs(ALPHA, 1 + sympy.Rational(step, 20)) >= best


def test_the_text_has_all_five_steps():
    steps = derive_linear(sympy.Symbol("c", positive=True)).latex()
    assert len(steps) == 5
    assert r"\alpha^*" in steps[2]


def test_a_slope_of_unknown_sign_is_refused():
    with pytest.raises(ArithmeticError, match="was not established"):
        derive_linear(sympy.Symbol("c", real=True))
