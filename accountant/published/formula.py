"""Published formulas as data: text, variables with domains, and source. Values and LaTeX follow from the text."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dpproof.accountant.published.sources import Source

if TYPE_CHECKING:
    import flint

Expression = str | tuple[Any, ...]
T = TypeVar("T")

_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FUNCTIONS: Mapping[str, int] = {"exp": 1, "log": 1, "sqrt": 1}


def parse(text: str, functions: Mapping[str, int] = FUNCTIONS) -> Expression:
    """Return the formula in ``text`` as a nested tuple of operators and operands.

    The text is Python syntax with ``+ - * /``, integer powers, calls and names. ``functions`` gives the
    functions that may be called (by default ``exp log sqrt``), and how many arguments each takes.

    >>> parse("2*A/log(H**2)")
    ('/', ('*', '2', 'A'), ('log', ('^', 'H', '2')))

    Raises:
        ValueError: for any other syntax. A float literal means the exact decimal.
    """
    try:
        return _read(ast.parse(text, mode="eval").body, text, functions)
    except SyntaxError as error:
        raise ValueError(f"formula {text!r}: {error.msg}") from error


def _read(node: ast.expr, text: str, functions: Mapping[str, int]) -> Expression:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float()):
            return str(_literal(node, text))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ("neg", _read(operand, text, functions))
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            return ("^", _read(base, text, functions), str(_integer(exponent, text)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return (_BINARY[type(op)], _read(left, text, functions), _read(right, text, functions))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if functions.get(name) == len(
            arguments
        ):
            return (name, *(_read(argument, text, functions) for argument in arguments))
    names = ", ".join(functions)
    raise ValueError(
        f"formula {text!r}: {ast.unparse(node)!r} must be one of +, -, *, /, ** with an integer, or {names}"
    )


def _literal(node: ast.Constant, text: str) -> Fraction:
    plain = text.isascii() and text.isprintable()  # one line, one byte for each character
    written = (
        text[node.col_offset : node.end_col_offset] if plain else ast.get_source_segment(text, node) or ""
    )
    try:
        return Fraction(written)
    except ValueError as error:
        raise ValueError(f"formula {text!r}: {written!r} is not a decimal number") from error


def _integer(node: ast.expr, text: str) -> int:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_integer(operand, text)
    raise ValueError(f"formula {text!r}: the exponent {ast.unparse(node)!r} must be an integer")


@dataclass(frozen=True)
class Algebra(Generic[T]):
    """A number system in which a formula is evaluated, such as doubles or enclosures.

    ``rational`` converts a rational number to this system. ``exp``, ``log`` and ``sqrt`` are its functions.
    """

    rational: Callable[[Fraction], T]
    exp: Callable[[T], T]
    log: Callable[[T], T]
    sqrt: Callable[[T], T]


def evaluate(expression: Expression, algebra: Algebra[T], values: Mapping[str, T]) -> T:
    """Return the value of ``expression`` in ``algebra``, with its variables replaced by ``values``.

    Raises:
        KeyError: for a variable without a value.
    """
    if isinstance(expression, str):
        return values[expression] if expression.isidentifier() else algebra.rational(Fraction(expression))
    operator, *arguments = expression
    if operator == "^":
        powered: T = _power(evaluate(arguments[0], algebra, values), int(arguments[1]), algebra)
        return powered
    parts = (evaluate(argument, algebra, values) for argument in arguments)
    result: T = _OPERATORS[operator](algebra, *parts)
    return result


def _power(base: Any, exponent: int, algebra: Algebra[Any]) -> Any:
    return base**exponent if exponent >= 0 else algebra.rational(Fraction(1)) / base**-exponent


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda _, *terms: sum(terms[1:], terms[0]),
    "*": lambda _, *factors: math.prod(factors[1:], start=factors[0]),
    "-": lambda _, left, right: left - right,
    "/": lambda _, left, right: left / right,
    "neg": lambda _, value: -value,
    "exp": lambda algebra, value: algebra.exp(value),
    "log": lambda algebra, value: algebra.log(value),
    "sqrt": lambda algebra, value: algebra.sqrt(value),
}


def variables_of(expression: Expression) -> frozenset[str]:
    """Return the names of the variables in ``expression``.

    >>> sorted(variables_of(parse("2*A/log(H**2)")))
    ['A', 'H']
    """
    if isinstance(expression, str):
        return frozenset({expression} if expression.isidentifier() else ())
    parts = expression[1:2] if expression[0] == "^" else expression[1:]
    return frozenset().union(*(variables_of(part) for part in parts))


@dataclass(frozen=True)
class Formula:
    r"""A formula given by its text. Values, LaTeX and other forms follow from the text.

    >>> rho = Formula("2*A*K/(H**2*log(2*H*S*A))")
    >>> rho.float(S=6, A=2, H=20, K=1000)
    1.619752
    >>> rho.latex()
    '\\frac{2 A K}{H^{2} \\log{\\left(2 A H S \\right)}}'
    """

    text: str

    @property
    def expression(self) -> Expression:
        """The formula as a nested tuple of operators and operands; the proof kernel uses this form."""
        return parse(self.text)

    def float(self, **values: float) -> float:
        """Return the value in double precision, for plots and printing. It is not certified."""
        return evaluate(self.expression, _FLOAT, values)

    def arb(self, **values: flint.arb) -> flint.arb:
        """Return an enclosure of the value at the current working precision."""
        return evaluate(self.expression, _arb_algebra(), values)

    def sympy(self) -> Any:
        """Return the formula as a sympy expression in positive symbols."""
        import sympy

        names = {name: sympy.Symbol(name, positive=True) for name in variables_of(self.expression)}
        algebra = Algebra(
            lambda q: sympy.Rational(q.numerator, q.denominator), sympy.exp, sympy.log, sympy.sqrt
        )
        return evaluate(self.expression, algebra, names)

    def latex(self) -> str:
        """Return the formula as LaTeX."""
        import sympy

        return str(sympy.latex(self.sympy()))


_FLOAT = Algebra(float, math.exp, math.log, math.sqrt)


def _arb_algebra() -> Algebra[Any]:
    import flint

    return Algebra(
        lambda q: flint.arb(flint.fmpq(q.numerator, q.denominator)),
        flint.arb.exp,
        flint.arb.log,
        flint.arb.sqrt,
    )


@dataclass(frozen=True)
class PublishedFormula:
    """A formula printed in a paper: the quantity ``name`` equals ``formula`` for all variables in ``domain``.

    ``domain`` maps each variable to an interval written as text, for example ``"[1, inf)"``. For an integer
    variable it is the real interval that contains the integers.
    """

    id: str
    name: str
    formula: Formula
    domain: Mapping[str, str]
    source: Source

    def __post_init__(self) -> None:
        missing = variables_of(self.formula.expression) - set(self.domain)
        if missing:
            raise ValueError(f"published formula {self.id}: no domain for {', '.join(sorted(missing))}")
