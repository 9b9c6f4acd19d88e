"""Many candidate pairs: find the one that gives most away and audit it, or audit each at a share of alpha.

The search spends samples of its own and only chooses; the audit of the chosen pair draws fresh ones and has
all of alpha. Proofs: docs/notes/audit_pairs.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import PrivacyCurve, curve_points
from dpproof.audits.engine.pair_search import Hunt, child_seed
from dpproof.audits.engine.runner import BUDGET, audit
from dpproof.audits.engine.sampling.callables import Auditable, as_mechanism
from dpproof.audits.engine.sampling.calls import PAIRS
from dpproof.audits.engine.scores import Score
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import call_of

__all__ = ["audit_each", "audit_worst"]

SHARE = 0.2
"""The share of the budget that a search spends."""


def audit_worst(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    pairs: Sequence[Neighbours],
    scores: Sequence[Score | str] | None = None,
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    budget: int = BUDGET,
    share: float = SHARE,
    sharpen: bool = False,
    executor: Executor | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Find the pair that gives most away, then audit it with fresh samples at the full level.

    Each round of the search spends an equal part of ``share * budget`` on the pairs left, and the half with
    the larger estimated evidence stays. "Consistent" speaks of the chosen pair, not of the others.

    Args:
        claim, curve, sampler, scores, seed, delta, alpha, sharpen, executor, replay: as for `audit`.
        pairs: the candidates, at least one.
        budget: the most samples, those of the search included.
        share: of the budget for the search, in (0, 1).

    Returns:
        Evidence whose ``samples`` include those of the search; ``replay["search"]`` says what it did.

    Raises:
        MechanismError, ValueError: as for `audit`; no pairs, or a budget too small for so many.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> from dpproof.audits.data.neighbours import Distance, vector_pairs
    >>> def careless(values, n, rng):
    ...     return values.sum() + rng.laplace(0, 2.0, n)
    >>> pairs = vector_pairs(5, Distance.ALL)
    >>> audit_worst("sum", PureDP(0.5), careless, pairs, seed=0).pair in ("all above", "all below")
    True
    """
    _check(pairs, share)
    called = {"curve": curve, "sampler": sampler, "pairs": list(pairs), "scores": scores}
    hunt = Hunt(as_mechanism(sampler), tuple(scores) if scores is not None else None, seed, executor)
    points = curve_points(curve, delta, curve.epsilon(delta).upper)
    winner, spent = hunt.best(pairs, points, int(share * budget))
    found = audit(
        claim,
        curve,
        hunt.made,
        pairs[winner],
        scores,
        seed=seed,
        delta=delta,
        alpha=alpha,
        budget=budget - spent,
        sharpen=sharpen,
        executor=executor,
        replay={
            **_call("audit_worst", replay, {**called, "share": share}),
            "budget": budget,
            "search": {"pairs": len(pairs), "winner": winner, "samples": spent, "share": share},
        },
    )
    return replace(found, samples=found.samples + spent)


def audit_each(
    claim: str,
    curve: PrivacyCurve,
    sampler: Auditable,
    pairs: Sequence[Neighbours],
    scores: Sequence[Score | str] | None = None,
    *,
    seed: int,
    delta: float = 0.0,
    alpha: float = 0.01,
    budget: int = BUDGET,
    sharpen: bool = False,
    executor: Executor | None = None,
    replay: Mapping[str, Any] | None = None,
) -> Evidence:
    """Audit every pair, each at an equal share of alpha and of the budget, until one is refuted.

    The claim is violated if it is on one pair, and consistent only if it is on all of them.

    Args:
        pairs, budget: as for `audit_worst`, as are all others: those of `audit`.

    Returns:
        The evidence on the pair that speaks loudest, with ``epsilon_lower`` the largest of all,
        ``would_have_seen`` the largest of all, ``power`` the weakest of all, ``samples`` those of all, and
        the e-value of all together.

    Raises:
        MechanismError, ValueError: as for `audit_worst`; the budget must hold a sample for each pair.
    """
    _check(pairs, SHARE)
    called = {"curve": curve, "sampler": sampler, "pairs": list(pairs), "scores": scores}
    found: list[Evidence] = []
    for place, pair in enumerate(pairs):
        found.append(
            audit(
                claim,
                curve,
                sampler,
                pair,
                scores,
                seed=child_seed(seed, PAIRS, place),
                delta=delta,
                alpha=alpha / len(pairs),
                budget=budget // len(pairs),
                sharpen=sharpen,
                executor=executor,
                replay={**_call("audit_each", replay, called), "budget": budget, "each": len(pairs)},
            )
        )
        if found[-1].unconfirmed or (found[-1].verdict is Finding.VIOLATION and not sharpen):
            break
    return _united(found, len(pairs), alpha, seed)


def _united(found: Sequence[Evidence], pairs: int, alpha: float, seed: int) -> Evidence:
    violated = any(evidence.verdict.violated for evidence in found)
    loudest = max(found, key=lambda e: (_rank(e.verdict), e.unconfirmed, e.e_value, e.epsilon_lower))
    all_consistent = all(evidence.verdict is Finding.CONSISTENT for evidence in found)
    unseen = [math.inf if e.would_have_seen is None else e.would_have_seen for e in found]
    weakest = (
        loudest
        if violated or loudest.unconfirmed
        else max(found, key=lambda e: (bool(e.weakness), e.would_have_seen or 0.0))
    )
    return replace(
        loudest,
        power=weakest.power,
        not_covered=weakest.not_covered,
        weakness=weakest.weakness,
        verdict=loudest.verdict if violated or all_consistent else Finding.INCONCLUSIVE,
        epsilon_lower=max(evidence.epsilon_lower for evidence in found),
        would_have_seen=None if violated else max(unseen),
        samples=sum(evidence.samples for evidence in found),
        e_value=loudest.e_value / pairs,
        pairs=tuple(pair for evidence in found for pair in evidence.pairs),
        alpha=alpha,
        confidence=1 - alpha,
        seed=seed,
    )


def _rank(verdict: Finding) -> int:
    """What is violated without floating-point bits comes first, then what is violated through them."""
    return 2 * (verdict is Finding.VIOLATION) + (verdict is Finding.FLOATING_POINT)


def _call(name: str, replay: Mapping[str, Any] | None, called: Mapping[str, Any]) -> dict[str, Any]:
    """What the caller says a replay needs; if that is nothing, the call itself."""
    given = dict(replay or {})
    return given if "audit" in given else {**(call_of(name, **called) or {"audit": None}), **given}


def _check(pairs: Sequence[Neighbours], share: float) -> None:
    if not pairs:
        raise ValueError("pairs: there must be at least one")
    if not 0 < share < 1:
        raise ValueError(f"share ({share!r}) must be in (0, 1)")
