"""Scores by name, for command lines and claim files. This module imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping

SCORE_NAMES: Mapping[str, str] = {
    "identity": "the output itself, if it is one number",
    "linear": "Fisher's linear discriminants, sharp and shrunk",
    "atoms": "values that come up again and again, coordinate by coordinate",
    "tokens": "whole outputs that come up again",
    "low_bytes": "the lowest bits and bytes of whole numbers",
    "float_bits": "the lowest set bits of floating-point numbers",
    "logistic": "logistic regression",
    "trees": "randomised trees",
}
"""Name of a score -> what it looks at. `dpproof.audits.engine.scores.layout.Layout.named` makes them."""


def check_scores(names: object) -> None:
    """Refuse what is no list of names of scores.

    Raises:
        ValueError: naming the value and the rule.

    >>> check_scores(["identity", "tokens"])
    """
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"scores ({names!r}) must be a list of at least one name")
    for name in names:
        if name not in SCORE_NAMES:
            raise ValueError(f"scores: {name!r} must be one of: {', '.join(SCORE_NAMES)}")
    if len(set(names)) < len(names):
        raise ValueError(f"scores ({', '.join(names)}) must differ from each other")
