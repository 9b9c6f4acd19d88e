"""Derivations by computer algebra: from a Renyi curve c * alpha to the epsilon that is printed.

The steps are sympy's, each checked by an identity that sympy reduces to zero; the proof engine holds
the certificates. What this module is for is the text: the same derivation for any curve, in LaTeX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

ALPHA = sympy.Symbol("alpha", positive=True)
LOG_DELTA = sympy.Symbol("ell", positive=True)
"""log(1/delta), positive because delta < 1."""


@dataclass(frozen=True)
class Derivation:
    """epsilon(alpha) and its minimum over alpha > 1, with the conditions that make it one."""

    curve: Any
    at_order: Any
    first_derivative: Any
    order: Any
    second_derivative: Any
    epsilon: Any

    def latex(self) -> tuple[str, ...]:
        """The steps as LaTeX: conversion, stationarity, order, second-order condition, epsilon."""
        names = (r"\varepsilon(\alpha)", r"\varepsilon'(\alpha)", r"\alpha^*", r"\varepsilon''(\alpha)")
        values = (self.at_order, self.first_derivative, self.order, self.second_derivative)
        steps = [f"{name} = {sympy.latex(value)}" for name, value in zip(names, values, strict=True)]
        return (*steps, rf"\varepsilon(\alpha^*) = {sympy.latex(self.epsilon)}")


def derive_linear(per_step: sympy.Expr, repetitions: sympy.Expr | int = 1) -> Derivation:
    """Compose ``repetitions`` of the curve per_step * alpha, convert by Mironov, minimise over alpha.

    Args:
        per_step: the coefficient of alpha in one step's curve, a positive sympy expression.
        repetitions: how many steps are composed.

    >>> c = sympy.Symbol("c", positive=True)
    >>> derive_linear(c).epsilon
    2*sqrt(c)*sqrt(ell) + c

    Raises:
        ArithmeticError: if one of the checks does not reduce to zero, or a sign is not established.
    """
    slope = sympy.simplify(per_step * repetitions)
    at_order = slope * ALPHA + LOG_DELTA / (ALPHA - 1)
    first, second = sympy.diff(at_order, ALPHA), sympy.diff(at_order, ALPHA, 2)
    order = 1 + sympy.sqrt(LOG_DELTA / slope)
    epsilon = sympy.expand(sympy.simplify(at_order.subs(ALPHA, order)))
    gap = sympy.Symbol("g", positive=True)
    square = (sympy.sqrt(slope) * gap - sympy.sqrt(LOG_DELTA)) ** 2 / gap
    _require(sympy.simplify(first.subs(ALPHA, order)) == 0, "epsilon'(alpha*) = 0")
    _require(second.subs(ALPHA, 1 + gap).is_positive, "epsilon'' > 0 for alpha > 1")
    _require(sympy.simplify(at_order.subs(ALPHA, 1 + gap) - epsilon - square) == 0, "epsilon is the minimum")
    return Derivation(slope * ALPHA, at_order, first, order, second, epsilon)


def _require(holds: object, what: str) -> None:
    if holds is not True and holds is not sympy.true:
        raise ArithmeticError(f"the derivation stops: {what} was not established")
