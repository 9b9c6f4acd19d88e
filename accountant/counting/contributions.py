"""What one user may add to a leaf, [-s, s] or [0, s]: only replacing a user asks.

A user who leaves with -s and enters with +s moves one leaf by 2s. That is the worst case: replacing is then
as bad as changing the worst leaves by twice the sensitivity (docs/notes/counting.md). With values in [0, s]
no leaf moves by more than s, and leaving and entering overlap.
"""

from __future__ import annotations

from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Choice, Integers, Reals, parameter

__all__ = ["NONNEGATIVE", "SIGNED", "assumed", "contributions", "restarts", "sensitivity"]

SIGNED, NONNEGATIVE = "signed", "nonnegative"
_MOST_RESTARTS = 10**12


def contributions() -> Any:
    """The field of the values that a user may add to a leaf.

    >>> contributions().default
    'signed'
    """
    text = (
        "what a user adds to a leaf: signed, within [-s, s], s the sensitivity; or nonnegative, in [0, s] "
        "(only replace asks; what nonnegative promises is false for data of either sign)"
    )
    return parameter(Choice(SIGNED, NONNEGATIVE), "1", text, SIGNED)


def sensitivity() -> Any:
    """The field of the largest absolute value that a user adds to a leaf.

    >>> sensitivity().default is None
    True
    """
    text = "largest size of what one user adds to a leaf (by-sensitivity: of a leaf's change)"
    return parameter(Reals(0, lower_open=True), "count", text, None, safer=-1)


def restarts(runs: str) -> Any:
    """The field of the number of fresh ``runs`` after the first.

    >>> restarts("trees").metadata["unit"]
    'trees'
    """
    text = f"fresh {runs} after the first; a user may be in all, with these limits in each"
    return parameter(Integers(0, _MOST_RESTARTS), runs, text, 0)


def assumed(values: str, adjacency: Adjacency) -> tuple[str, ...]:
    """What the guarantee takes the user's contributions to be, to be read beside it.

    >>> assumed("signed", Adjacency.ADD_REMOVE)
    ()
    """
    return (_ASSUMED[values],) if adjacency is Adjacency.REPLACE else ()


_ASSUMED = {
    SIGNED: "a user may add anything within [-sensitivity, sensitivity] to a leaf, before and after",
    NONNEGATIVE: "holds only where a user adds between 0 and the sensitivity to a leaf, never less than 0",
}
