"""What the recorded runs say of each claim of Sharma et al. (2024) on returns.

The paper's method is the one with calibrated noise here: its certified epsilon is that of DP-SGD with which it is
compared. Fewer than ten runs decide nothing on returns. An arm learns if it closes more than a tenth of the gap
between random actions and no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from scipy import stats

from dpproof.reproduction.claims import Evidence, Judge, Judgement, Outcome
from dpproof.reproduction.expert.settings import ALONE, CHOICES
from dpproof.reproduction.shapes import (
    LEARNT,
    LEAST,
    Mean,
    Setting,
    Shape,
    Shows,
    always,
    each,
    fact,
    less,
    somewhere,
)
from dpproof.reproduction.tables import Row, where

_OWN, _PLAIN, _FREE = "calibrated", "DP-SGD", "no privacy"
_NEAR, _FAR = 0.9, 0.5
"""Shares of the way from random actions to no privacy. Above the first is near, below the second far."""
Budget = tuple[str, float]
"""A problem and an epsilon."""
_TEN: Final = [(name, 10.0) for name in CHOICES]


def _row(evidence: Evidence, problem: str, method: str, epsilon: float | None) -> Row | None:
    found = where(evidence.own["returns"], problem=problem, method=method, epsilon=epsilon)
    return next(iter(found), None)


def _mean(evidence: Evidence, problem: str, method: str, epsilon: float | None) -> Mean | None:
    """Return the mean return of a method; None if it was not run."""
    row, free = _row(evidence, problem, method, epsilon), _row(evidence, problem, _FREE, None)
    if row is None or free is None:
        return None
    learns = row["return"] > _on_the_way(_random(evidence, problem), free["return"], 1 - LEARNT)
    runs = evidence.more.get("runs", LEAST)
    error = row["interval"] / float(stats.t.ppf(0.975, runs - 1))
    return Mean(row["return"], error, learns, runs if runs >= LEAST else math.inf)


def _random(evidence: Evidence, problem: str) -> float:
    (row,) = where(evidence.own["experts"], problem=problem)
    found: float = row["random"]
    return found


def _on_the_way(start: float, end: float, share: float) -> float:
    return start + share * (end - start)


def _above(one: Mean | None, other: Mean | None, told: str) -> Setting:
    """Return what a setting shows of the claim that one mean return is above another."""
    found = less(other, one, told)
    return found if one is None or other is None else replace(found, figures=f"{one} against {other} {told}")


def _better(budgets: Iterable[Budget], than: str = _PLAIN) -> Shape:
    """Return the shape: the method has a larger mean return than DP-SGD, or another arm, at each budget."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for name, epsilon in budgets:
            own, plain = (_mean(evidence, name, method, epsilon) for method in (_OWN, than))
            yield _above(own, plain, f"(method, {than}) on {name} at epsilon {epsilon:g}")

    return shape


def _close(budgets: Iterable[Budget]) -> Shape:
    """Return the shape: the method has at least the share `_NEAR` of the way from random actions to no privacy.

    It shows the opposite if it has less than the share `_FAR`.
    """

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for name, epsilon in budgets:
            own, free = _mean(evidence, name, _OWN, epsilon), _mean(evidence, name, _FREE, None)
            told = f"(method, no privacy) on {name} at epsilon {epsilon:g}"
            if own is None or free is None:
                yield Setting(Shows.MISSING, told)
                continue
            start = _random(evidence, name)
            near, far = (_part(start, free, share) for share in (_NEAR, _FAR))
            shows = _within(own, near, far)
            apart = min(own.apart(near), own.apart(far))
            yield Setting(shows, f"{own} against {free} {told}, random actions {start:.4g}", apart)

    return shape


def _part(start: float, end: Mean, share: float) -> Mean:
    return replace(end, value=_on_the_way(start, end.value, share), error=share * end.error)


def _within(own: Mean, near: Mean, far: Mean) -> Shows:
    if near.clearly_below(own):
        return Shows.CLAIM
    return Shows.OPPOSITE if own.clearly_below(far) else Shows.NEITHER


def _bounded(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether training without privacy has a larger mean return than each private arm."""
    for row in evidence.own["returns"]:
        if row["epsilon"] is not None:
            name, method, epsilon = row["problem"], row["method"], row["epsilon"]
            free, private = _mean(evidence, name, _FREE, None), _mean(evidence, name, method, epsilon)
            yield _above(free, private, f"(no privacy, {method}) on {name} at epsilon {epsilon:g}")


def _recovered(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether DP-SGD loses return at epsilon 10, and the method recovers more than half of the loss."""
    for name, epsilon in _TEN:
        free = _mean(evidence, name, _FREE, None)
        own, plain = (_mean(evidence, name, method, epsilon) for method in (_OWN, _PLAIN))
        loss = _above(free, plain, f"(no privacy, DP-SGD) on {name}")
        if loss.shows is not Shows.CLAIM or free is None or plain is None:
            yield loss if loss.shows is Shows.MISSING else replace(loss, shows=Shows.NEITHER)
            continue
        half = Mean((free.value + plain.value) / 2, math.hypot(free.error, plain.error) / 2)
        yield _above(own, half, f"(method, half of the loss) on {name}")


def _released(budgets: Iterable[Budget], holds: Callable[[Row, str], bool], *kinds: str) -> Shape:
    """Return the shape: the expected number of released transitions has a property at each budget."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for name, epsilon in budgets:
            told = f"on {name} at epsilon {epsilon:g}"
            for row in where(evidence.own["releases"], problem=name, epsilon=epsilon):
                for kind in kinds:
                    count = f"{row[f'{kind}_released']:.3g} transitions of {row['rounds']} trajectories"
                    yield fact(holds=holds(row, kind), figures=f"{count} ({kind} noise) {told}")

    return shape


def _budgets(*names: str, printed: bool) -> list[Budget]:
    """Return the budgets at which the paper uses its method, or DP-SGD alone, in increasing order."""
    return [
        (name, epsilon)
        for name in names
        for epsilon, choice in sorted(CHOICES[name].items())
        if choice.printed is printed
    ]


_FIGURE_4: Final = ("lunarlander", "acrobot", "cartpole")
_SEVERAL: Final = somewhere(_better(_TEN), least=2)
_CONSISTENT: Final = always(_better(_budgets(*_FIGURE_4, printed=True)))


def _on_returns(judge: Judge) -> Judge:
    """Return a judge of mean returns, which decides nothing if there are fewer than `LEAST` runs."""

    def judged(evidence: Evidence) -> Judgement:
        found, runs = judge(evidence), evidence.more.get("runs", LEAST)
        if runs >= LEAST or found.outcome is Outcome.UNDECIDED:
            return found
        return Judgement(Outcome.UNDECIDED, f"{runs} runs are too few to decide. {found.figures}")

    return judged


_OF_RETURNS: Final[Mapping[str, Judge]] = {
    "abstract.strong_performance": always(_close(_TEN)),
    "abstract.substantial_improvements": _SEVERAL,
    "introduction.significantly_improves": _SEVERAL,
    "introduction.both_steps_needed": always(
        _better(_budgets("lunarlander", "cartpole", printed=True)),
        _better(_budgets("lunarlander", "cartpole", printed=True), ALONE),
    ),
    "section6_3.nonprivate_upper_bound": always(_bounded),
    "figure3.favourable": _SEVERAL,
    "section6_4.superior": _SEVERAL,
    "section6_4.recovers_loss": always(_recovered),
    "section6_4.stable_enough": always(_close([("acrobot", 10.0), ("hiv", 10.0)])),
    "figure4.consistent": _CONSISTENT,
    "conclusion.convincing": each(_SEVERAL, _CONSISTENT),
}
JUDGES: Final[Mapping[str, Judge]] = {
    **{name: _on_returns(judge) for name, judge in _OF_RETURNS.items()},
    "introduction.no_noise_subset": always(
        _released(_TEN, lambda row, kind: row[f"{kind}_released"] >= 1, "printed", "calibrated")
    ),
    "figure4.low_epsilon": always(
        _released(
            _budgets(*_FIGURE_4, printed=False),
            lambda row, kind: row[f"{kind}_released"] < row["rounds"],
            "printed",
        )
    ),
}
"""The judge of each claim that is not out of reach."""
