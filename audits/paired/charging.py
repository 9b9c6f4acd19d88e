"""The privacy loss of each draw on one pair of runs, composed by the accountant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpproof.accountant.asking import account
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.composing import compose
from dpproof.accountant.guarantees.profile import Profile
from dpproof.audits.paired.trace import Draw, Family, Trace, same

ROUNDING = 1e-9
"""Relative differences of protected numbers below this come from rounding."""


@dataclass
class Charge:
    """The loss of one draw.

    Attributes:
        at: the position of the draw in the trace.
        place: file name and line number.
        text: the measured change, in words.
        results: the guarantees to compose.
        weight: the size of the loss, for the choice of the line to report.
        exact: whether this pair attains the loss if the whole draw is published.
        ids: the released numbers that differ.
        visible: whether the output moves with the release.
        problem, kind: a fault of this draw alone, in words.
        always: whether the fault is one at every delta.
        doubtful: whether sound mechanisms do this, too.
        unknown: why the loss of a library's mechanism is not known though its input differs, in words.
    """

    at: int
    place: str
    text: str = ""
    results: Sequence[PrivacyResult] = ()
    weight: float = 0.0
    exact: bool = True
    ids: Sequence[int] = ()
    visible: bool = False
    problem: str = ""
    kind: str = "noise scale"
    always: bool = False
    doubtful: bool = False
    unknown: str = ""


def charges(first: Trace, second: Trace) -> list[Charge]:
    """Return the losses of all draws that both runs made."""
    pairs = zip(first.draws, second.draws, strict=False)
    return [CHARGED[one.family](at, one, other) for at, (one, other) in enumerate(pairs)]


def composed(paid: Sequence[Charge]) -> Profile | None:
    """Return the composed loss of this pair; None if a draw has no known loss."""
    if any(one.problem or one.unknown for one in paid):
        return None
    results = [result for one in paid for result in one.results]
    return compose(*(results or [_asked("laplace", scale=1.0, sensitivity=0.0)])).guarantee


def _asked(name: str, **given: Any) -> PrivacyResult:
    return account(name, adjacency=Adjacency.BY_SENSITIVITY.value, **given)


def _noise(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss of noise that was added to numbers."""
    found = Charge(at, other.place)
    if one.scores is not None and other.scores is not None:
        return _selection(found, one, other)
    if set(one.values) != set(other.values):
        found.problem, found.kind = "One run releases numbers that the other run does not.", "control flow"
        return found
    moved: dict[int, float] = {}
    for place, (value, factor) in one.values.items():
        new, scaled = other.values[place]
        if not math.isclose(abs(factor), abs(scaled), rel_tol=ROUNDING):
            scales = f"{abs(factor):.6g} and {abs(scaled):.6g}"
            found.problem = f"The scale of the {one.family.value} depends on the data: {scales}."
            return found
        change = abs(new - value)
        if not change <= math.inf or not math.isfinite(change):
            found.problem, found.kind, found.always = _infinite(value, new), "sensitivity", True
            return found
        if change > ROUNDING * max(abs(value), abs(new)):
            if not factor:
                found.problem, found.kind = "A number that differs has noise of scale 0.", "noise scale"
                found.always = True
                return found
            moved[place] = change / abs(factor)
    return _priced(found, one, other, moved)


def _infinite(value: float, new: float) -> str:
    return f"A number with noise is not finite: {value:g} and {new:g}."


def _priced(found: Charge, one: Draw, other: Draw, moved: Mapping[int, float]) -> Charge:
    if not moved:
        return found
    at = next(iter(moved))
    value, new, scale = one.values[at][0], other.values[at][0], abs(one.values[at][1])
    more = f" and {len(moved) - 1} more numbers" if len(moved) > 1 else ""
    found.text = f"a change of {abs(new - value):.6g} under {one.family.value} of scale {scale:.6g}{more}"
    found.ids = tuple(moved)
    found.results = tuple(PRICES[one.family](tuple(moved.values())))
    found.weight = sum(moved.values())
    found.exact = one.family is not Family.GUMBEL
    return found


def _laplace(moved: Sequence[float]) -> Iterator[PrivacyResult]:
    for change in moved:
        yield _asked("laplace", scale=1.0, sensitivity=change)


def _gaussian(moved: Sequence[float]) -> Iterator[PrivacyResult]:
    yield _asked("gaussian", sigma=1.0, sensitivity=math.hypot(*moved))


def _unbounded(moved: Sequence[float]) -> Iterator[PrivacyResult]:
    yield _asked("laplace", scale=1.0, sensitivity=1e6)


PRICES: Mapping[Family, Callable[[Sequence[float]], Iterator[PrivacyResult]]] = {
    Family.LAPLACE: _laplace,
    Family.GAUSSIAN: _gaussian,
    Family.GUMBEL: _unbounded,
}


def _selection(found: Charge, one: Draw, other: Draw) -> Charge:
    """Return the loss of the place of the largest number with noise."""
    if one.scores.shape != other.scores.shape:
        return Charge(
            found.at,
            found.place,
            problem="The number of candidates depends on the data.",
            kind="control flow",
            doubtful=True,
        )
    if not np.all(np.isfinite([one.scores, other.scores])):
        found.problem, found.kind, found.always = "A score is not finite.", "sensitivity", True
        return found
    scale, scaled = abs(one.values[0][1]), abs(other.values[0][1])
    if not math.isclose(scale, scaled, rel_tol=ROUNDING) or not scale:
        found.problem = (
            f"The scale of the {one.family.value} depends on the data: {scale:.6g} and {scaled:.6g}."
        )
        return found
    change = (other.scores - one.scores) / scale
    loss = 2 * float(np.max(np.abs(change)))
    if one.family is Family.GUMBEL:
        logs = [scores / scale - _log_sum(scores / scale) for scores in (one.scores, other.scores)]
        loss = float(np.max(np.abs(logs[1] - logs[0])))
    exact = one.family is Family.GUMBEL
    return _pure(found, loss, "a choice of the largest number", exact)


def _log_sum(scores: Any) -> float:
    top = float(np.max(scores))
    return top + math.log(float(np.sum(np.exp(scores - top))))


def _pure(found: Charge, loss: float, what: str, exact: bool) -> Charge:
    """Charge a mechanism with a bounded loss."""
    if loss <= ROUNDING:
        return found
    found.text, found.weight, found.exact, found.visible = (
        f"{what} with a loss of {loss:.6g}",
        loss,
        exact,
        exact,
    )
    if loss == math.inf or loss != loss:
        found.problem, found.kind = f"An outcome of {what} is possible in one run only.", "sensitivity"
        return found
    # Randomised response between two answers dominates every mechanism with this loss.
    lied = Fraction(2) / (1 + Fraction(math.exp(loss) * (1 + 1e-12)))
    found.results = (_asked("randomised-response", randomness=lied),)
    return found


def _chances(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss of a choice with given probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(one.scores) - np.log(other.scores))
    both = (one.scores == 0) & (other.scores == 0)
    return _pure(Charge(at, other.place), float(np.max(np.where(both, 0, ratio))), "a choice", True)


def _coins(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss of comparisons of uniform numbers with thresholds."""
    found, total = Charge(at, other.place), 0.0
    if set(one.values) != set(other.values):
        found.problem, found.kind = "One run tosses a coin that the other run does not.", "control flow"
        return found
    for place, (chance, _) in one.values.items():
        sides = [(min(max(p, 0.0), 1.0)) for p in (chance, other.values[place][0])]
        parts = [(sides[0], sides[1]), (1 - sides[0], 1 - sides[1])]
        total += max(_log_ratio(*part) for part in parts)
    return _pure(found, total, "a random answer", len(one.values) == 1)


def _log_ratio(p: float, q: float) -> float:
    if p == q:
        return 0.0
    return math.inf if min(p, q) == 0 else abs(math.log(p / q))


def _declared(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss that a library declares, after a check of the sensitivity that it was given."""
    found = Charge(at, other.place, exact=False)
    if same(one.scores, other.scores):
        return found
    try:
        left, right = (np.asarray(draw.scores, float).ravel() for draw in (one, other))
        moved = right - left if left.shape == right.shape else np.array([math.nan])
        change = float(np.linalg.norm(moved, one.order))
    except (TypeError, ValueError):
        moved, change = np.array([math.nan]), math.nan
    if one.one_way and moved.min() < 0 < moved.max():
        found.problem = "The utilities are called monotonic, but one falls and another rises."
        found.kind, found.always = "declared sensitivity", True
        return found
    if one.declared is not None and not change <= one.declared * (1 + ROUNDING):
        words = (
            f"The input of {one.name} changes by {change:.6g}, more than its sensitivity {one.declared:.6g}."
        )
        found.problem, found.kind, found.always = words, "declared sensitivity", True
        return found
    loss = one.priced(change) if one.priced is not None else None
    if loss is None:
        found.unknown = f"{one.name} states it as {one.stated}"
    return found if loss is None else _pure(found, loss, one.name, False)


def _free(at: int, one: Draw, other: Draw) -> Charge:
    return Charge(at, other.place)


CHARGED: Mapping[Family, Callable[[int, Draw, Draw], Charge]] = {
    Family.LAPLACE: _noise,
    Family.GAUSSIAN: _noise,
    Family.GUMBEL: _noise,
    Family.UNIFORM: _coins,
    Family.CHOICE: _chances,
    Family.DECLARED: _declared,
    Family.OTHER: _free,
}
