"""How the claims of PRIVATE-UCB's paper are judged. The rules are those of `dpproof.reproduction.shapes`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

from dpproof.reproduction.claims import Evidence, Judge
from dpproof.reproduction.score_shapes import (
    below,
    falls,
    flattens,
    mean_of,
    nearer,
    problems_of,
    score_of,
    tenth,
)
from dpproof.reproduction.shapes import (
    LEAST,
    Mean,
    Setting,
    Shape,
    Shows,
    always,
    extra,
    less,
    mostly,
    near,
    never_refuted,
    opposite,
    ratio,
)
from dpproof.reproduction.suite.arms import EPSILONS
from dpproof.reproduction.suite.learners import sizes_of
from dpproof.reproduction.suite.problems import PROBLEMS
from dpproof.reproduction.suite.runs import POINTS

_SWIM: Final = ("river-swim",)
_LONGER: Final = ("river-swim, K = 5000", "river-swim", "river-swim, K = 80000")
_NEGLIGIBLE: Final = 0.05
"""A cost of at most this share of the regret without learning is negligible."""
_VI, _PO = "PRIVATE-UCB-VI", "PRIVATE-UCB-PO"
_FREE: Final = {
    f"{_VI}, joint": f"{_VI}, no noise, per step",
    f"{_VI}, local": f"{_VI}, no noise, per step",
    f"{_PO}, joint": f"{_PO}, no noise, per step",
    f"{_PO}, local": f"{_PO}, no noise, per step",
    f"{_VI}, joint, pooled": f"{_VI}, no noise",
    f"{_VI}, local, pooled": f"{_VI}, no noise",
}
"""The arm without privacy that has the constants and the counters of a private one."""
_PRINTED: Final = {f"{name}, joint, printed": f"{name}, no noise, printed" for name in (_VI, _PO)}
_PRINTED_NOISE: Final = tuple(
    f"{name}, {trust}, printed noise" for name in (_VI, _PO) for trust in ("joint", "local")
)
"""Arms with the printed noise, and constants that were chosen on other problems."""
_JOINT: Final = tuple(arm for arm in _FREE if "joint" in arm)
_LOCAL: Final = tuple(arm for arm in _FREE if "local" in arm)
_POOLED_JOINT, _POOLED_LOCAL, _POOLED = f"{_VI}, joint, pooled", f"{_VI}, local, pooled", f"{_VI}, no noise"


def _late(arm: str, free: str) -> Shape:
    """Return the shape: in the last tenth of RiverSwim at epsilon 1, privacy costs a negligible regret."""

    def shape(evidence: Evidence) -> Iterator[Setting]:
        found = [score_of(evidence.suite, "river-swim", name, 1.0) for name in (arm, free)]
        own, other = (None if one is None else tenth(one, POINTS) for one in found)
        most = None if other is None else replace(other, value=other.value + _NEGLIGIBLE)
        yield less(own, most, f"({arm} against {free} plus {_NEGLIGIBLE:g}) in the last tenth at epsilon 1")

    return shape


def _explored(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether a bonus for exploration lowers the regret on RiverSwim, with the shares of failed runs."""
    bonus, greedy = (
        score_of(evidence.suite, "river-swim", arm, math.inf) for arm in (f"{_VI}, no noise", "greedy")
    )
    found = less(
        Mean.of(bonus) if bonus else None,
        Mean.of(greedy) if greedy else None,
        "(with a bonus, greedy) on river-swim",
    )
    failed = (
        "" if not (bonus and greedy) else f"; {bonus.failed:.0%} against {greedy.failed:.0%} of the runs fail"
    )
    yield replace(found, figures=found.figures + failed)


def _private_above(pairs: Mapping[str, str]) -> list[Shape]:
    return [below(free, arm) for arm, free in pairs.items()]


def _proportional(*arms: str) -> list[Shape]:
    """Return the shapes: the regret above that without privacy is inversely proportional to epsilon."""
    return [_inverse(arm, _FREE[arm]) for arm in arms]


def _inverse(arm: str, free: str) -> Shape:
    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems_of(arm):
            for low, high in pairwise(EPSILONS):
                many, few = (_extra(evidence, problem, arm, free, epsilon) for epsilon in (low, high))
                yield _quotient(
                    many, few, high / low, f"({arm}) on {problem} at epsilon {low:g} and {high:g}"
                )

    return shape


def _extra(evidence: Evidence, problem: str, arm: str, free: str, epsilon: float) -> Mean | None:
    one, other = (mean_of(evidence.suite, problem, name, epsilon) for name in (arm, free))
    return None if one is None or other is None else extra(one, other)


def _quotient(many: Mean | None, few: Mean | None, target: float, where: str) -> Setting:
    """Return what a setting shows of the claim that one cost is `target` times another, within a factor 2."""
    if many is None or few is None or min(many.runs, few.runs) < LEAST:
        return Setting(Shows.MISSING, where)
    if not (Mean(0.0).clearly_below(many) and Mean(0.0).clearly_below(few)):
        return Setting(Shows.NEITHER, f"privacy has no clear cost {where}")
    return near(ratio(many, few), target, where)


def _steps(evidence: Evidence) -> Iterator[Setting]:
    """Yield whether counting each step separately costs a factor of the square root of H."""
    for pooled, single in ((f"{name}, no noise", f"{name}, no noise, per step") for name in (_VI, _PO)):
        for problem in problems_of(pooled, single):
            one, other = (mean_of(evidence.suite, problem, arm, math.inf) for arm in (single, pooled))
            share = None if one is None or other is None else ratio(one, other)
            H = PROBLEMS[problem].facts.steps
            if H > 1:
                yield near(share, math.sqrt(H), f"({single} against {pooled}, square root of H) on {problem}")


def _bounded(arm: str) -> Shape:
    """Return the shape: regret with printed constants and exact counts is below the bound with constant 1.

    A bound above the regret of never learning says nothing.
    """

    def shape(evidence: Evidence) -> Iterator[Setting]:
        for problem in problems_of(arm):
            bound = _order(arm, *sizes_of(PROBLEMS[problem]))
            H, K = PROBLEMS[problem].facts.steps, PROBLEMS[problem].episodes
            if bound >= K * H or bound >= PROBLEMS[problem].never:
                told = f"the bound of order {bound:.3g} is above the regret without learning on {problem}"
                yield Setting(Shows.NEITHER, told)
            else:
                share = bound / PROBLEMS[problem].never
                found = mean_of(evidence.suite, problem, arm, math.inf)
                yield less(found, Mean(share), f"as the bound with constant 1 ({arm}) on {problem}")

    return shape


def _order(arm: str, S: int, A: int, H: int, K: int) -> float:
    """Return the bound of Theorem 3.2 or 4.2 with constant 1, without logarithms and without noise."""
    if arm.startswith(_PO):
        return math.sqrt(S**2 * A * H**4 * K) + math.sqrt(S**3 * A**2 * H**4)
    return math.sqrt(S * A * H**4 * K) + S**2 * A * H**3


_TRUST: Final = tuple(zip(_JOINT, _LOCAL, strict=True))
_NEARER_JOINT: Final = never_refuted(nearer(_POOLED_JOINT, _POOLED, problems=_LONGER))
_NOT_NEARER_LOCAL: Final = never_refuted(opposite(nearer(_POOLED_LOCAL, _POOLED, problems=_LONGER)))

JUDGES: Final[Mapping[str, Judge]] = {
    "figure2.jdp_negligible": always(*(_late(arm, _FREE[arm]) for arm in _JOINT)),
    "figure2.ldp_high": always(opposite(*(_late(arm, _FREE[arm]) for arm in _LOCAL))),
    "figure2.epsilon_order": always(*(falls(arm, problems=_SWIM) for arm in (*_FREE, *_PRINTED_NOISE))),
    "abstract.jdp_lower_order": always(_NEARER_JOINT),
    "abstract.ldp_multiplicative": always(_NOT_NEARER_LOCAL),
    "abstract.sublinear": always(never_refuted(*(flattens(arm) for arm in (*_PRINTED, *_FREE)))),
    "introduction.ldp_worse": mostly(never_refuted(*(below(joint, local) for joint, local in _TRUST))),
    "table1.rates": always(never_refuted(*_proportional(*_FREE))),
    "theorem3_2.po_regret": always(never_refuted(_bounded(f"{_PO}, no noise, printed"))),
    "theorem4_2.vi_regret": always(never_refuted(_bounded(f"{_VI}, no noise, printed"))),
    "remark3_3.private_above_non_private": always(never_refuted(*_private_above(_FREE | _PRINTED))),
    "remark3_3.cost_order": always(_NEARER_JOINT, _NOT_NEARER_LOCAL),
    "remark4_3.lower_order_terms": always(_NEARER_JOINT),
    "remark4_4.vi_beats_po": always(
        never_refuted(
            below(f"{_VI}, no noise, per step", f"{_PO}, no noise, per step"),
            below(f"{_VI}, no noise", f"{_PO}, no noise"),
            below("UCB-VI", "OPPO"),
        )
    ),
    "footnote6.nonstationary": always(never_refuted(_steps)),
    "corollary5_2.jdp": always(never_refuted(*_proportional(*_JOINT))),
    "corollary5_5.ldp": always(never_refuted(*_proportional(*_LOCAL))),
    "remark5_7.noise_level": always(
        never_refuted(opposite(nearer(_POOLED_LOCAL, _POOLED_JOINT, problems=_LONGER)))
    ),
    "section6.exploration_needed": always(_explored),
}
"""The judges of the claims that are not out of reach."""
