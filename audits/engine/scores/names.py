"""The names of scores, for command lines and claim files. This module imports no other module of dpproof."""

from __future__ import annotations

from collections.abc import Mapping

SCORE_NAMES: Mapping[str, str] = {
    "identity": "the output itself, if it is one number",
    "linear": "Fisher's linear discriminants, sharp and shrunk",
    "atoms": "values that come up again and again, coordinate by coordinate",
    "tokens": "whole outputs that come up again",
    "low_bytes": "the lowest bits and bytes of whole numbers",
    "float_bits": "the lowest set bits of floating-point numbers",
    "remainders": "remainders and decimal digits of numbers",
    "logistic": "logistic regression",
    "trees": "randomised trees",
    "boosted": "a few shallow trees, each fitted to the residuals of the others",
    "kernel": "the witness of a Gaussian kernel",
    "products": "products of two coordinates: correlations, norms, covariances",
    "sparse": "a discriminant of the few coordinates whose means clearly differ",
    "parts": "the words, entries and paths of texts and nested collections",
}
"""The names of scores, with descriptions. `dpproof.audits.engine.scores.layout.Layout.named` makes the scores."""


def check_scores(names: object) -> None:
    """Raise an error unless the argument is a list of different names of scores.

    Raises:
        ValueError: the argument is not such a list; the message names the value and the rule.

    >>> check_scores(["identity", "tokens"])
    """
    if not isinstance(names, list | tuple) or not names:
        raise ValueError(f"scores ({names!r}) must be a list of at least one name")
    for name in names:
        if name not in SCORE_NAMES:
            raise ValueError(f"scores: {name!r} must be one of: {', '.join(SCORE_NAMES)}")
    if len(set(names)) < len(names):
        raise ValueError(f"scores ({', '.join(names)}) must not contain a name twice")
