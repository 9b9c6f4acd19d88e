"""Shapes of claims about the scores of the benchmark: which regret is below which, where, and at which epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dpproof.reproduction.claims import Evidence
from dpproof.reproduction.shapes import (
    LEARNT,
    LEAST,
    Mean,
    Setting,
    Shape,
    Shows,
    less,
    ratio,
)
from dpproof.reproduction.suite.arms import ARMS, EPSILONS
from dpproof.reproduction.suite.problems import PROBLEMS
from dpproof.reproduction.suite.runs import POINTS
from dpproof.reproduction.suite.summary import Score, Table


def score_of(suite: Table, problem: str, arm: str, epsilon: float) -> Score | None:
    """Return the score of an arm of the benchmark; None if it was not run.

    An arm without privacy, or with fixed noise, has the same score at every promised epsilon.
    """
    return suite.one(problem, arm, ARMS[arm].epsilons((epsilon,))[0])


def mean_of(suite: Table, problem: str, arm: str, epsilon: float) -> Mean | None:
    """Return the mean relative regret of an arm of the benchmark; None if it was not run."""
    found = score_of(suite, problem, arm, epsilon)
    return None if found is None else Mean.of(found)


def problems_of(*arms: str) -> list[str]:
    """Return the problems on which all these arms run, without those that serve one question only.

    >>> problems_of("Thompson", "RLSVI")
    ['bandit']
    """
    return _shared(*((arm,) for arm in arms))


def _shared(*groups: Sequence[str]) -> list[str]:
    """Return the problems on which at least one arm of each group runs."""
    return [
        name
        for name, problem in PROBLEMS.items()
        if problem.arms is None and all(any(ARMS[arm].fits(problem) for arm in group) for group in groups)
    ]


def below(
    one: str,
    other: str,
    *,
    factor: float = 1.0,
    problems: Sequence[str] = (),
    epsilons: Sequence[float] = EPSILONS,
) -> Shape:
    """Return the shape: at equal promised epsilon, an arm has less regret than a factor times that of another.

    Args:
        one, other: the arms.
        factor: the factor.
        problems: the problems; all on which both arms run if it is empty.
        epsilons: the promised epsilons.
    """
    return best_below((one,), (other,), factor=factor, problems=problems, epsilons=epsilons)


def best_below(
    ones: Sequence[str],
    others: Sequence[str],
    *,
    factor: float = 1.0,
    problems: Sequence[str] = (),
    epsilons: Sequence[float] = EPSILONS,
) -> Shape:
    """Return the shape: the best of some arms has less regret than a factor times that of the best of others."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems or _shared(ones, others):
            for epsilon in _promised(epsilons, *ones, *others):
                first, one = _best(evidence.suite, problem, ones, epsilon)
                second, other = _best(evidence.suite, problem, others, epsilon)
                than = "" if factor == 1 else f"{factor:g} times "
                where = f"({one} against {than}{other}) {_at(problem, epsilon)}"
                found = less(first, second and second.times(factor), where)
                yield replace(found, tried=len(ones) * len(others))

    return shape


def _best(suite: Table, problem: str, arms: Sequence[str], epsilon: float) -> tuple[Mean | None, str]:
    """Return the least mean of some arms and its arm; None and the arm if one that runs there was not run."""
    known = {arm: mean_of(suite, problem, arm, epsilon) for arm in arms if ARMS[arm].fits(PROBLEMS[problem])}
    for arm, found in known.items():
        if found is None or found.runs < LEAST:
            return None, arm
    return min(((one, arm) for arm, one in known.items() if one), key=lambda pair: pair[0].value)


def _promised(epsilons: Sequence[float], *arms: str) -> Sequence[float]:
    """Return the promised epsilons at which the arms differ: a single one if all have the same noise at each."""
    fixed = all(math.isinf(ARMS[arm].epsilons(epsilons)[0]) for arm in arms)
    return (math.inf,) if fixed else epsilons


def _at(problem: str, epsilon: float) -> str:
    return f"on {problem}{'' if math.isinf(epsilon) else f' at epsilon {epsilon:g}'}"


def falling(known: Mapping[float, Mean | None], where: str) -> Iterator[Setting]:
    """Yield what means at several epsilons show of the claim that they fall while epsilon grows.

    The two ends show it if they differ. A pair of neighbouring epsilons that is inverted shows the opposite. Any other
    pair of neighbours shows nothing, but counts as a setting.

    Args:
        known: the mean at each epsilon, the least epsilon first; None if it was not run.
        where: the setting in words.
    """
    epsilons = list(known)
    for low, high in [*pairwise(epsilons), (epsilons[0], epsilons[-1])]:
        found = less(known[high], known[low], f"at epsilon {high:g} and {low:g} {where}")
        ends = (low, high) == (epsilons[0], epsilons[-1])
        counts = ends or found.shows in (Shows.OPPOSITE, Shows.MISSING)
        yield found if counts else replace(found, shows=Shows.TRIED)


def falls(arm: str, *, problems: Sequence[str] = (), epsilons: Sequence[float] = EPSILONS) -> Shape:
    """Return the shape: the regret of an arm falls while epsilon grows, on each problem."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems or problems_of(arm):
            known = {epsilon: mean_of(evidence.suite, problem, arm, epsilon) for epsilon in epsilons}
            yield from falling(known, f"({arm}) on {problem}")

    return shape


def learns(
    arm: str, *, share: float = LEARNT, problems: Sequence[str] = (), epsilons: Sequence[float] = EPSILONS
) -> Shape:
    """Return the shape: the regret of an arm is below a share of the regret without learning."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems or problems_of(arm):
            for epsilon in _promised(epsilons, arm):
                found = mean_of(evidence.suite, problem, arm, epsilon)
                yield less(found, Mean(share), f"of never learning ({arm}) {_at(problem, epsilon)}")

    return shape


def nearer(arm: str, free: str, *, problems: Sequence[str], epsilons: Sequence[float] = EPSILONS) -> Shape:
    """Return the shape: the regret of an arm, divided by that without privacy, is less on the last problem.

    Args:
        arm: the arm.
        free: the arm without privacy.
        problems: the problems, which differ in the number of episodes, the fewest first.
        epsilons: the promised epsilons. Those at which the arm does not learn show nothing.
    """

    def shape(evidence: Evidence) -> Iterator[Setting]:
        first, last = problems[0], problems[-1]
        for epsilon in epsilons:
            early, late = (_share(evidence.suite, arm, free, name, epsilon) for name in (first, last))
            where = f"times no privacy ({arm}) {_at(last, epsilon)}, and on {first}"
            found = less(late, early, where)
            idle = early and late and not (early.learns and late.learns)
            yield replace(found, shows=Shows.IDLE) if idle else found

    return shape


def _share(suite: Table, arm: str, free: str, problem: str, epsilon: float) -> Mean | None:
    one, other = mean_of(suite, problem, arm, epsilon), mean_of(suite, problem, free, epsilon)
    return None if one is None or other is None else ratio(one, other)


def tenth(score: Score, number: int) -> Mean:
    """Return the regret of a tenth of the episodes, relative to that without learning in these episodes.

    Args:
        score: the score.
        number: 1 for the first tenth, 10 for the last.
    """
    curve = (0.0, *score.curve)
    whole = Mean.of(score)
    error = score.tenth_errors[number - 1] if score.tenth_errors else math.inf
    return replace(whole, value=POINTS * (curve[number] - curve[number - 1]), error=POINTS * error)


def flattens(
    arm: str, *, share: float = LEARNT, problems: Sequence[str] = (), epsilons: Sequence[float] = EPSILONS
) -> Shape:
    """Return the shape: the regret of the last tenth of the episodes is below a share of that of the first tenth."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems or problems_of(arm):
            for epsilon in _promised(epsilons, arm):
                found = score_of(evidence.suite, problem, arm, epsilon)
                last, first = (tenth(found, number) if found else None for number in (POINTS, 1))
                where = f"in the last tenth, and {share:g} times the first ({arm}) {_at(problem, epsilon)}"
                yield less(last, first and first.times(share), where)

    return shape
