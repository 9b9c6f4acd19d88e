"""Audits with one run: a claim is tested by how many guesses about the m canaries (test records) are right.

Each canary takes part if its own fair coin decides so. From the output, the audit makes r guesses about coins, and v
of them are right. Under a claim of (epsilon, delta)-DP, with q = e^epsilon / (1 + e^epsilon) and B ~ Binomial(r, q),

    P[right >= v] <= b + m delta b (1 - b) / (v P[B = v]),   b = P[B >= v],

for every mechanism and every way to guess. The resulting lower bound on epsilon is smaller than the bound from many
runs: canaries disturb each other, and a bound for all mechanisms must allow for the worst mechanism.

A whole privacy curve leads to a stronger test, by a recursion. Let P_j = P[right >= j]. Every point (epsilon, delta)
of the curve implies, for every j (Theorem 3 of docs/notes/audit_one_run.md, which proves both results),

    (r - j) P_j >= C + m G(y),   C = P_{j+1} + P_{j+2} + ...,   m y = j P_{j+1} + C.

G(y) is the largest of 0 and, over all points, of e^-epsilon (y - delta) and 1 - delta - e^epsilon (1 - y). Both sides
increase in all P, so the recursion that starts at P_v = alpha leads to lower bounds on all P_j. If one of these
bounds exceeds 1, then P[right >= v] is less than alpha.

Source: Steinke, Nasr and Jagielski, arXiv:2305.08846 (the game and, with 2 m delta and another factor, the
tail, Theorem 5.2); Mahloujifar, Melis and Chaudhuri, arXiv:2410.22235 (privacy curves).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np

from dpproof.accountant.numbers.binomial import lower_tail, mass
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.audits.engine.betting.curves import PrivacyCurve
from dpproof.audits.engine.power.measured import simulated
from dpproof.audits.engine.sampling.callables import Auditable
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import call_of
from dpproof.audits.training.canaries import Canaries, played
from dpproof.audits.training.guesses import (
    Guesses,
    guess,
    guess_counts,
    needed_right,
    one_run_would_have_seen,
)

Points = tuple[tuple[float, float], ...]
_NODES = 64
_LARGEST = 30.0
_UNIT = 2.0**-53
_LESS = 1 - 16 * _UNIT
"""A factor that turns the rounded result of at most four operations on numbers >= 0 into a lower bound."""


def curve_lines(curve: PrivacyCurve, least: float) -> Points:
    """Return points (epsilon, delta) of a curve, from epsilon 0 to an epsilon with delta about ``least``.

    The claim implies each point, because delta is rounded up. The choice of the points affects power only.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> [point for point in curve_lines(PureDP(1.0), 1e-6)][-1]
    (1.0, 0.0)
    """
    reach = _reach(curve, least)
    nodes = np.linspace(0.0, reach, _NODES) if reach else np.zeros(1)
    return tuple((float(node), curve.delta(float(node)).upper) for node in nodes)


def _reach(curve: PrivacyCurve, least: float) -> float:
    """Return the largest epsilon to consider."""
    while least < 0.5:
        reach = curve.epsilon(least).upper
        if math.isfinite(reach):
            return min(reach, _LARGEST)
        least *= 4
    return _LARGEST


def exceeds_one(points: Points, found: Guesses, alpha: float) -> bool:
    """Return whether the claim makes ``found.right`` or more right guesses less probable than ``alpha``.

    ``points`` are points (epsilon, delta) of the claim.
    """
    m, r, v = found.canaries, found.guesses, found.right
    lines, crossings = _upper_envelope(_lines(points))
    tail, total, at = alpha, alpha, 0
    for j in range(v - 1, -1, -1):
        y = (j * tail + total) / m * _LESS
        while at < len(crossings) and y > crossings[at]:
            at += 1
        slope, height = lines[at]
        demanded = (total + m * max(slope * y + height, 0.0)) / (r - j) * _LESS
        tail = max(tail, demanded)
        if tail > 1:
            return True
        total = (total + tail) * _LESS
    return False


def _lines(points: Points) -> list[tuple[float, float]]:
    """Return slopes and heights of lines below G, with a margin for rounding slope * y + height at y <= 1.

    Rounding e^-epsilon down, or e^epsilon up, keeps the lines below G.
    """
    lines = [(0.0, 0.0)]
    for epsilon, delta in points:
        falling, rising = math.exp(-epsilon) * (1 - 1e-15), math.exp(epsilon) * (1 + 1e-15)
        for slope, height in ((falling, -falling * delta), (rising, 1 - delta - rising)):
            lines.append((slope, height - 8 * _UNIT * (1 + slope + abs(height))))
    return sorted(lines)


def _upper_envelope(lines: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], list[float]]:
    """Return the lines of the upper envelope, ordered by slope, and the places where they cross."""
    kept: list[tuple[float, float]] = []
    for line in lines:
        if kept and kept[-1][0] == line[0]:
            kept.pop()
        while len(kept) >= 2 and _crossing(kept[-1], line) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append(line)
    return kept, [_crossing(one, other) for one, other in pairwise(kept)]


def _crossing(flat: tuple[float, float], steep: tuple[float, float]) -> float:
    return (flat[1] - steep[1]) / (steep[0] - flat[0])


_BITS = 128
_FARTHEST = 40.0
_POINTS = 9
"""About this many points of a curve are also tested one by one, besides the recursion over all points."""


def one_run_tail(found: Guesses, epsilon: float, delta: float) -> float:
    """Return an upper bound on the probability of ``found.right`` or more right guesses, under (epsilon, delta)-DP.

    Args:
        found: the result of the guesses.
        epsilon: the claimed epsilon, at least 0.
        delta: the claimed delta, in [0, 1).

    Raises:
        ValueError: a number is outside its range.

    >>> one_run_tail(Guesses(1000, 100, 75), 0.0, 0.0)
    2.8e-07
    """
    if not 0 <= epsilon < float("inf"):
        raise ValueError(f"epsilon ({epsilon!r}) must be a finite number of at least 0")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    if found.right == 0:
        return 1.0
    with precision(_BITS):
        chance = Fraction(round_up(1 / (1 + (-arb_of(exact(epsilon))).exp())))
        return min(1.0, round_up(_tail(found, chance, exact(delta))))


def _tail(found: Guesses, chance: Fraction, delta: Fraction) -> flint.arb:
    """Return the bound for guesses that are right with probability ``chance``; it increases in ``chance``."""
    if chance >= 1:
        return flint.arb(1)
    tail = lower_tail(found.guesses, 1 - chance, found.wrong)
    if delta == 0:
        return tail
    at = mass(found.guesses, 1 - chance, found.wrong)
    return tail + found.canaries * arb_of(delta) * (tail / at) * (1 - tail) / found.right


def one_run_epsilon_lower(found: Guesses, delta: float, alpha: float) -> float:
    """Return a lower confidence bound on epsilon at ``delta``; it is false with probability at most ``alpha``.

    The bound of `one_run_tail` increases in epsilon (docs/notes/audit_one_run.md), so the refuted epsilons form an
    interval.

    Raises:
        ValueError: delta is outside [0, 1), or alpha is outside (0, 1).

    >>> one_run_epsilon_lower(Guesses(1000, 100, 75), 0.0, 0.05)
    0.702209
    """
    _check_level(alpha)

    def refuted(epsilon: float) -> bool:
        return one_run_tail(found, epsilon, delta) <= alpha

    return _last(refuted, _FARTHEST)


def one_run_refutes(found: Guesses, curve: PrivacyCurve, alpha: float) -> bool:
    """Return whether the guesses refute a claimed curve.

    They refute it if, under the claim, ``found.right`` or more right guesses have probability at most ``alpha``.

    Args:
        found: the result of the guesses.
        curve: the claimed guarantee; the upper bounds that ``curve.delta(epsilon)`` returns are used.
        alpha: the largest probability of a false alarm, in (0, 1).

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> one_run_refutes(Guesses(1000, 100, 75), GaussianDP(0.1), 0.01)
    True

    Raises:
        ValueError: alpha is outside (0, 1).
    """
    _check_level(alpha)
    if found.right == 0:
        return False
    points = curve_lines(curve, alpha * found.right / (20 * found.canaries))
    some = points[:: max(1, len(points) // _POINTS)] + points[-1:]
    if any(one_run_tail(found, epsilon, delta) <= alpha for epsilon, delta in some if delta < 1):
        return True
    return exceeds_one(points, found, alpha)


def refuted_scale(
    family: Callable[[float], PrivacyCurve], found: Guesses, alpha: float, most: float
) -> float:
    """Return the largest number x for which the guesses refute the guarantee ``family(x)``, such as GaussianDP(x).

    If the mechanism satisfies ``family(x)``, the result exceeds x with probability at most ``alpha``. For a mechanism
    whose curve has another shape, the result is no statement on its epsilon.

    Args:
        family: a function from a number above 0 to a privacy curve; a larger number gives a weaker guarantee.
        found: the result of the guesses.
        alpha: the largest probability that the result is false.
        most: the largest number that is tried.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> refuted_scale(GaussianDP, Guesses(1000, 100, 75), 0.01, 8.0)
    0.2...
    """
    return _last(lambda scale: scale > 0 and one_run_refutes(found, family(scale), alpha), most)


def _last(refuted: Callable[[float], bool], most: float) -> float:
    """Return a lower bound on the largest refuted number; 0 if no number is refuted."""
    low, high = 0.0, most
    while high - low > 1e-4 * (0.02 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _check_level(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in (0, 1)")


UNDISTURBED = "canaries that do not disturb each other"
"""The best case, for which the power of an audit with one run is simulated."""
METHOD = "one run"
"""The name of this method in the evidence."""


@dataclass(frozen=True)
class OneRun:
    """The settings of an audit that guesses which canaries (test records) took part in one run, or in a few runs.

    This audit finds less than audits with many runs, because canaries disturb each other and the bound holds for
    every mechanism. A false alarm, or a bound above the truth, has probability at most ``alpha``
    (docs/notes/audit_one_run.md). The verdict is about the whole curve. ``epsilon_lower`` is about epsilon at
    ``delta`` only. The audit tries several numbers of guesses and splits ``alpha`` evenly among them. It does not use
    the budget and the scores of the plan.

    Attributes:
        canaries: the canaries, and the function that scores them.
        runs: the number of independent runs; the audit guesses about the canaries of all runs together.
        shares: the shares of the canaries to guess about, fixed before the run; the default depends on the number of
            canaries.
    """

    canaries: Canaries
    runs: int = 1
    shares: tuple[float, ...] | None = None


def audit_one_run(curve: PrivacyCurve, mechanism: Auditable, one_run: OneRun, plan: AuditPlan) -> Evidence:
    """Return the evidence on a claim from one output per run, by guessing which test records took part.

    `OneRun` describes the method.

    Raises:
        InvalidNeighboursError: flipping one coin does not lead to a neighbour.
        MechanismError: the mechanism fails.
        ValueError: an argument is outside its range, or the claimed epsilon at ``delta`` is infinite.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> import numpy as np
    >>> from dpproof.audits.training.canaries import Canaries
    >>> same = OneRun(Canaries(200, lambda coins: coins, lambda x: x, "one bit", "200 bits"))
    >>> plan = AuditPlan(seed=0)
    >>> audit_one_run(PureDP(1.0), lambda bits, n, rng: bits[None] * 1.0, same, plan).verdict
    <Finding.VIOLATION: 'violation'>
    """
    canaries, runs, shares = one_run.canaries, one_run.runs, one_run.shares
    seed, delta, alpha = plan.seed, plan.stated, plan.alpha
    claimed = _checked(curve, seed, delta, alpha, runs, shares)
    called: dict[str, object] = {"curve": curve, "mechanism": mechanism, "canaries": canaries}
    told = dict(plan.replay or {})
    replay = told if "audit" in told else {**call_of("audit_one_run", **called), **told}
    drawn = [played(canaries, mechanism, seed, run) for run in range(runs)]
    coins, scores = (np.concatenate([one[part] for one in drawn]) for part in (0, 1))
    numbers = guess_counts(len(coins), shares)
    level = alpha / len(numbers)
    found = [guess(scores, coins, number) for number in numbers]

    def refuted(outcome: Guesses) -> bool:
        return one_run_tail(outcome, claimed, delta) <= level or one_run_refutes(outcome, curve, level)

    least = [one_run_epsilon_lower(outcome, delta, level) for outcome in found]
    best = max(range(len(found)), key=lambda k: (refuted(found[k]), least[k]))
    seen = None
    if not refuted(found[best]):
        needed = {number: needed_right(len(coins), number, refuted) for number in numbers}
        seen = one_run_would_have_seen(len(coins), needed, claimed, delta, seed)
    found_power = {} if seen is None else simulated(seen, claimed, UNDISTURBED).as_evidence()
    return Evidence(
        claim=plan.name,
        verdict=_verdict(seen, claimed),
        claimed_epsilon=claimed,
        epsilon_lower=max(least),
        delta=delta,
        confidence=1 - alpha,
        samples=runs,
        would_have_seen=seen,
        e_value=1 / alpha if seen is None else 0.0,
        alpha=alpha,
        seed=seed,
        pair=canaries.description,
        event={"method": METHOD, "canaries": len(coins), "guesses": found[best].guesses},
        counts={"right": found[best].right, "wrong": found[best].wrong, "abstained": found[best].abstained},
        score="canaries",
        pairs=(drawn[0][2].as_json(),),
        replay={"runs": runs, "shares": None if shares is None else list(shares), **replay},
        **found_power,
    )


def _checked(
    curve: PrivacyCurve, seed: int, delta: float, alpha: float, runs: int, shares: tuple[float, ...] | None
) -> float:
    """Check all arguments, and return the claimed epsilon."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha ({alpha!r}) must be in (0, 1)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    for name, value, least in (("seed", seed, 0), ("runs", runs, 1)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} ({value!r}) must be an integer at least {least}")
    if shares is not None and not (shares and all(0 < share <= 1 for share in shares)):
        raise ValueError(f"shares ({shares!r}) must be a non-empty list of numbers in (0, 1]")
    claimed = curve.epsilon(delta).upper
    if not claimed < float("inf"):
        such = ", such as 1e-5" if delta < 1e-5 else ""
        raise ValueError(
            f"delta ({delta!r}) must be larger{such}. The claim has no finite epsilon at this delta."
        )
    return claimed


def _verdict(seen: float | None, claimed: float) -> Finding:
    if seen is None:
        return Finding.VIOLATION
    return Finding.CONSISTENT if seen <= 2 * claimed else Finding.INCONCLUSIVE
