"""Bounds at typed decimals, such as 0.1, that double precision does not hold.

Accountants compute with doubles. A typed decimal is the rational that it writes. For a parameter of which
more is known to be more private, or less private, the exact mechanism lies between two others, whose
parameters are the doubles on both sides. So the guarantee of the less private one bounds it from above and
that of the more private one from below. Fields of parameters say which way they go (``safer``). Proofs of the
directions: docs/notes/typed_decimals.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any

from dpproof.accountant.claims.parameters import EXACT
from dpproof.accountant.guarantees.bounded_loss import Enclosed
from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP, Guarantee, ends_of
from dpproof.accountant.guarantees.targets import neighbours_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Written

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import Attained, PrivacyResult, PublishedGuarantee

__all__ = ["as_typed", "at_decimals", "beyond_decimals", "doubles", "sides"]


def sides(parameters: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return parameters at least as private, ones at most as private, and notes on what was rounded.

    Both are ``parameters`` itself unless it holds decimals that are no doubles.

    >>> from dpproof.accountant.numbers.enclosures import Written
    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> more, less, notes = sides(GaussianParameters(Written("0.1"), sensitivity=Written("0.3")))
    >>> more.sigma > less.sigma, more.sensitivity < less.sensitivity, notes
    (True, True, ())
    """
    more: dict[str, Any] = {}
    less: dict[str, Any] = {}
    notes = []
    for field in parameters.fields():
        value, safer = getattr(parameters, field.name), field.metadata["safer"]
        if not isinstance(value, Written):
            continue
        ends = _around(value, safer, field.metadata["domain"])
        if ends is None:
            ends = float(value), float(value)
            notes.append(_rounded(field.name, value))
        less[field.name], more[field.name] = ends
    if not more:
        return parameters, parameters, ()
    return replace(parameters, **more), replace(parameters, **less), tuple(notes)


def _rounded(name: str, value: Written) -> str:
    """What a reader must know of a decimal that no doubles enclose."""
    return f"{name} is taken to be the double nearest to {value.text}: {Fraction(float(value))}"


def _nearest(parameters: Any) -> tuple[Any, tuple[str, ...]]:
    """The parameters at the doubles nearest to their decimals, and a note on each."""
    named = ((field.name, getattr(parameters, field.name)) for field in parameters.fields())
    typed = {name: value for name, value in named if isinstance(value, Written)}
    doubles = {name: float(value) for name, value in typed.items()}
    return replace(parameters, **doubles), tuple(_rounded(name, value) for name, value in typed.items())


def _around(value: Written, safer: int | None, domain: Any) -> tuple[Any, Any] | None:
    """The values to compute with, the less private one first; None where neither side is known."""
    if safer == EXACT:
        return value.rational, value.rational
    low, high = neighbours_of(value.rational)
    if safer is None or not (domain.admits(low) and domain.admits(high)):
        return None
    return (low, high) if safer > 0 else (high, low)


def doubles(parameters: Any) -> Any:
    """Return the parameters with which an implementation runs: of each typed decimal the nearest double."""
    values = {field.name: getattr(parameters, field.name) for field in parameters.fields()}
    changed = {name: float(value) for name, value in values.items() if isinstance(value, Written)}
    return replace(parameters, **changed) if changed else parameters


def as_typed(found: Any, given: Any, noise: str) -> Any:
    """Return parameters ``found`` by calibration, with the decimals ``given`` except for the noise."""
    typed = {field.name: getattr(given, field.name) for field in given.fields() if field.name != noise}
    return replace(found, **{name: value for name, value in typed.items() if isinstance(value, Written)})


def beyond_decimals(parameters: Any, noise: str, side: int) -> Any:
    """Return the parameters with the next double on a side, so that its shortest decimal is beyond, too.

    The decimal that calibration prints then meets the target, or misses it, as the double does.

    >>> from dpproof.accountant.noise.gaussian import GaussianParameters
    >>> Fraction(repr(beyond_decimals(GaussianParameters(0.07), "sigma", 1).sigma)) > Fraction(0.07)
    True
    """
    value = getattr(parameters, noise)
    if not isinstance(value, float) or Fraction(repr(value)) == Fraction(value):
        return parameters
    return replace(parameters, **{noise: math.nextafter(value, side * math.inf)})


def at_decimals(guarantee: Callable[..., PrivacyResult]) -> Callable[..., PrivacyResult]:
    """Wrap an accountant's function: typed decimals are enclosed by the doubles around them."""

    @wraps(guarantee)
    def asked(parameters: Any, *relation: Any, **named: Any) -> PrivacyResult:
        more, less, notes = sides(parameters)
        try:
            found = guarantee(less, *relation, **named)
        except ValueError:  # at an end of what is answered, or beyond: an error names the number typed
            less, notes = _nearest(parameters)
            more, found = less, guarantee(less, *relation, **named)
        if less is parameters:
            return found
        typed = replace(found, notes=(*found.notes, *notes), sensitivity=_sensitivity(found, parameters))
        return typed if more == less else _between(guarantee(more, *relation, **named), typed)

    return asked


def _sensitivity(found: PrivacyResult, parameters: Any) -> Any:
    """Return the sensitivity with the value that was typed."""
    given = getattr(parameters, "sensitivity", None)
    if found.sensitivity is None or not isinstance(given, Written):
        return found.sensitivity
    return replace(found.sensitivity, moved=given.rational)


def _between(more: PrivacyResult, less: PrivacyResult) -> PrivacyResult:
    return replace(
        less,
        guarantee=_enclosed(more.guarantee, less.guarantee),
        attained=_attained(more.attained, less.attained),
        published=_published(more.published, less.published),
        assumptions=more.assumptions | less.assumptions,
    )


def _enclosed(more: Guarantee, less: Guarantee) -> Guarantee:
    """Return the guarantee that two others enclose, in their notion if they share one."""
    if more == less:
        return less
    if isinstance(more, GaussianDP) and isinstance(less, GaussianDP):
        return GaussianDP(_hull(more.mu, less.mu, "mu"))
    if isinstance(more, ZCDP) and isinstance(less, ZCDP) and more.conversion == less.conversion:
        return ZCDP(_hull(more.rho, less.rho, "rho"), less.conversion)
    return Enclosed(more, less)


def _hull(low: Any, high: Any, name: str) -> Bound:
    least, most = ends_of(low, name)[0], ends_of(high, name)[1]
    below, above = neighbours_of(most)
    return Bound(neighbours_of(least)[0], below if Fraction(below) == most else above)


def _attained(more: Attained | None, less: Attained | None) -> Attained | None:
    if more is None or less is None:
        return None
    return replace(less, guarantee=_enclosed(more.guarantee, less.guarantee))


def _published(more: PublishedGuarantee | None, less: PublishedGuarantee | None) -> PublishedGuarantee | None:
    """The paper's own answer, which is shown beside ours: the hull of both."""
    if more is None or less is None:
        return None

    def epsilon(delta: Any) -> Bound:
        found = more.epsilon(delta), less.epsilon(delta)
        return Bound(min(each.lower for each in found), max(each.upper for each in found))

    return replace(less, epsilon=epsilon, exact=_enclosed(more.exact, less.exact))
