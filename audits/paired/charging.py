"""The privacy loss of each draw on one pair of runs, composed by the accountant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.pairs.atoms import Atoms
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.pairs.randomised_response import RandomisedResponse
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.audits.paired.trace import Draw, Family, Trace, same

ROUNDING = 1e-9
"""Relative differences of protected numbers below this come from rounding."""
SMALLEST = 1e-4
"""The smallest standard deviation for which the accountant has an answer, in units of the change."""


@dataclass
class Charge:
    """The loss of one draw.

    Attributes:
        at: the position of the draw in the trace.
        place: file name and line number.
        text: the measured change, in words.
        pairs: the laws of the draw in the first and in the second run, as dominating pairs to compose.
        spread: the change in standard deviations of Gaussian noise; such draws compose to one.
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
    pairs: Sequence[DominatingPair] = ()
    spread: float = 0.0
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
    """Return the composed loss of this pair, in both directions; None if a draw has no known loss."""
    if any(one.problem or one.unknown for one in paid):
        return None
    spread = [one.spread for one in paid if one.spread]
    pairs = [pair for one in paid for pair in one.pairs]
    pairs += [SubsampledGaussian(1.0, max(1 / math.hypot(*spread), SMALLEST))] if spread else []
    return PrivacyLoss([[(pair, 1) for pair in pairs], [(pair.reversed(), 1) for pair in pairs]])


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
    if one.family is Family.GAUSSIAN:
        found.spread = math.hypot(*moved.values())
    else:
        found.pairs = tuple(PRICES[one.family](tuple(moved.values())))
    found.weight = sum(moved.values())
    found.exact = one.family is not Family.GUMBEL
    return found


def _laplace(moved: Sequence[float]) -> Iterator[DominatingPair]:
    return (Laplace(1 / change) for change in moved)


def _unbounded(moved: Sequence[float]) -> Iterator[DominatingPair]:
    yield Laplace(1e-6)


PRICES: Mapping[Family, Callable[[Sequence[float]], Iterator[DominatingPair]]] = {
    Family.LAPLACE: _laplace,
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
    if one.family is Family.GUMBEL:
        return _chosen(found, *(softmax(scores / scale) for scores in (one.scores, other.scores)))
    change = (other.scores - one.scores) / scale
    return _pure(found, 2 * float(np.max(np.abs(change))), "a choice of the largest number")


def _pure(
    found: Charge, loss: float, what: str, laws: Sequence[tuple[Any, Any]] = (), exact: bool = False
) -> Charge:
    """Charge a mechanism with a bounded loss: by its laws in the two runs, if they are given."""
    if loss <= ROUNDING:
        return found
    found.text = f"{what} with a loss of {loss:.6g}"
    found.weight, found.exact, found.visible = loss, exact, exact
    if loss == math.inf or loss != loss:
        found.problem, found.kind = f"An outcome of {what} is possible in one run only.", "sensitivity"
        return found
    # Without laws: randomised response between two answers dominates every mechanism with this loss.
    found.pairs = [Atoms(p / np.sum(p), q / np.sum(q)) for p, q in laws] or [RandomisedResponse(loss)]
    return found


def _chances(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss of a choice with given probabilities."""
    return _chosen(Charge(at, other.place), one.scores, other.scores)


def _chosen(found: Charge, chances: Any, new: Any) -> Charge:
    """Return the privacy loss of a random choice: the largest log-ratio of its probabilities in the two runs."""
    loss = max(map(_log_ratio, chances.tolist(), new.tolist()))
    return _pure(found, loss, "a choice", [(chances, new)], exact=True)


def _coins(at: int, one: Draw, other: Draw) -> Charge:
    """Return the loss of comparisons of uniform numbers with thresholds."""
    found, total = Charge(at, other.place), 0.0
    if set(one.values) != set(other.values):
        found.problem, found.kind = "One run tosses a coin that the other run does not.", "control flow"
        return found
    laws = []
    for place, (chance, _) in one.values.items():
        sides = [(min(max(p, 0.0), 1.0)) for p in (chance, other.values[place][0])]
        parts = [(sides[0], sides[1]), (1 - sides[0], 1 - sides[1])]
        total += max(_log_ratio(*part) for part in parts)
        laws.append((np.array([parts[0][0], parts[1][0]]), np.array([parts[0][1], parts[1][1]])))
    return _pure(found, total, "a random answer", laws, len(one.values) == 1)


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
    return found if loss is None else _pure(found, loss, one.name)


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
