"""Formal claims as readable text, written from the same data that the kernel (the proof checker) reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SUM, _PRODUCT, _POWER = 1, 2, 3


def infix(formula: Any, binding: int = 0) -> str:
    """Return a formula in the kernel's format as text, with brackets where they are needed.

    ``binding`` is the precedence of the operation that contains the formula.

    >>> infix(["/", ["+", "x", "1"], ["^", "y", "2"]])
    '(x + 1)/y^2'
    """
    if isinstance(formula, str):
        return f"({formula})" if formula.startswith("-") and binding else formula
    op, *args = formula
    if op in ("+", "-"):
        text = f" {op} ".join(infix(x, _SUM + (op == "-" and i > 0)) for i, x in enumerate(args))
        return _bracketed(text, binding > _SUM)
    if op == "neg":
        return _bracketed(f"-{infix(args[0], _PRODUCT)}", binding > 0)
    if op in ("*", "/"):
        text = op.join(infix(x, _PRODUCT + (op == "/" and i > 0)) for i, x in enumerate(args))
        return _bracketed(text, binding > _PRODUCT)
    if op == "^":
        return _bracketed(f"{infix(args[0], _POWER + 1)}^{infix(args[1], _POWER)}", binding > _POWER)
    if op == "sum":
        return f"sum({args[0]} = {infix(args[1])}..{infix(args[2])}, {infix(args[3])})"
    return f"{op}({', '.join(map(infix, args))})"


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _relation(relation: Any) -> str:
    rel, left, right = relation
    return f"{infix(left)} {'=' if rel == '==' else rel} {infix(right)}"


def goal_text(claim: Mapping[str, Any]) -> str:
    """Return a formal claim as text: its goal, its hypotheses, and its variables with their intervals.

    >>> goal_text({"vars": {"x": "[0, 1]"}, "goal": [">=", "1", "x"]})
    '1 >= x; for x in [0, 1]'
    """
    given = [_relation(x) for x in claim.get("given", [])]
    lines = [_relation(claim["goal"])] + ([f"if {', '.join(given)}"] if given else [])
    whole = claim.get("integers", [])
    for word, names in (("for", claim["vars"]), ("random", claim.get("random", {}))):
        if names:
            lines.append(f"{word} {_ranges(names, whole)}")
    if claim.get("independent"):
        groups = ("{" + ", ".join(group) + "}" for group in claim["independent"])
        lines.append(f"independent {', '.join(groups)}")
    return "; ".join(lines)


def _ranges(names: Mapping[str, str], whole: Any) -> str:
    """Return the variables as text, grouped by interval. Whole numbers are marked."""
    same: dict[str, list[str]] = {}
    for name, interval in names.items():
        same.setdefault(f"{interval}{' (whole)' if name in whole else ''}", []).append(name)
    return ", ".join(f"{', '.join(some)} in {interval}" for interval, some in same.items())
