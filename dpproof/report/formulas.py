"""LaTeX formulas as MathML, which browsers render without a script."""

from __future__ import annotations

from latex2mathml.converter import convert


def mathml(latex: str, *, display: bool = True) -> str:
    """Return a formula of this project as MathML.

    >>> "<mi>&#x02032;</mi>" in mathml("a'")
    True
    """
    text = latex.replace("''", r"^{\prime\prime}").replace("'", r"^{\prime}")
    return str(convert(text, display="block" if display else "inline"))
