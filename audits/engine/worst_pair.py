"""Many candidate pairs: find the one that gives most away and audit it, or audit each at a share of alpha.

The search spends samples of its own and only chooses; the audit of the chosen pair draws fresh ones and has
all of alpha. Proofs: docs/notes/audit_pairs.md.

The search among candidate pairs: successive halving on samples of its own.

A bad search costs power, never soundness: it only chooses (docs/notes/audit_pairs.md, Theorem 4).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve, curve_points
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.checks.probing import look
from dpproof.audits.engine.runner import BUDGET, audit
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import Auditable, Mechanism, MechanismError, as_mechanism
from dpproof.audits.engine.sampling.calls import PAIRS, SEARCH
from dpproof.audits.engine.scores import Score, only_bits
from dpproof.audits.engine.scores.tails import LEVELS
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import call_of

__all__ = ["Hunt", "audit_each", "audit_worst", "child_seed"]

FEWEST = 64
"""A round draws at least so many samples on each pair left, besides those that scores learn from."""


def child_seed(seed: int, *place: int) -> int:
    """A seed of 128 bits for a place in the tree of the audit's seed."""
    state = np.random.SeedSequence(seed, spawn_key=place).generate_state(2, np.uint64)
    return (int(state[0]) << 64) | int(state[1])


@dataclass(frozen=True)
class Hunt:
    """What all rounds of a search share."""

    made: Mechanism
    scores: tuple[Score | str, ...] | None
    seed: int
    executor: Executor | None

    def best(
        self, pairs: Sequence[Neighbours], points: tuple[CurvePoint, ...], budget: int
    ) -> tuple[int, int]:
        """The place of the pair that is left in the end, and how many samples that took."""
        left = list(range(len(pairs)))
        rounds, spent = math.ceil(math.log2(len(pairs))), 0
        if not rounds:
            return 0, 0
        streams = [
            _Stream(self, pair, points, child_seed(self.seed, SEARCH, i)) for i, pair in enumerate(pairs)
        ]
        needed = rounds * len(pairs) * (FEWEST + max(stream.training for stream in streams))
        if budget < needed:
            raise ValueError(
                f"budget: the search's share ({budget}) must be at least {needed} for {len(pairs)} pairs"
            )
        for step in range(rounds):
            size = budget // (rounds * len(left))
            for place in left:
                streams[place].extend(step, size)
                spent += size
            ranked = sorted(left, key=lambda place: -_evidence(streams[place].counts, points))
            left = ranked[: (len(left) + 1) // 2]
        return left[0], spent


class _Stream:
    """The samples that a search has spent on one pair."""

    def __init__(self, hunt: Hunt, pair: Neighbours, points: tuple[CurvePoint, ...], seed: int) -> None:
        self._hunt, self._pair, self._points, self._seed = hunt, pair, points, seed
        with self._naming():
            self._layout = look(hunt.made, pair, seed)
        scores = self._layout.chosen(hunt.scores)
        self._scores = tuple(score for score in scores if not only_bits(score))
        self.training = max(score.training for score in self._scores)
        self.counts: NDArray[np.int64] = np.zeros((len(self._scores), LEVELS.size, 3, 3), np.int64)

    def extend(self, step: int, size: int) -> None:
        """Bet on ``size`` fresh samples and add up the counts."""
        hunt, seed = self._hunt, child_seed(self._seed, step)
        blocks = draw_blocks(hunt.made, self._pair, seed, size, hunt.executor, self._layout)
        with self._naming():
            self.counts += run_trial(self._points, blocks, self._scores, 0.5, sharpen=True).counts

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except MechanismError as failure:
            raise MechanismError(f"{failure} (pair: {self._pair.description})") from failure


def _evidence(counts: NDArray[np.int64], points: tuple[CurvePoint, ...]) -> float:
    """The largest excess of any tail over what the claim allows, in estimated standard deviations.

    Scores may differ in number between pairs, not in meaning: the largest over all of them is taken.
    """
    won, lost = counts[..., 0].astype(float), counts[..., 1].astype(float)
    sampled = counts.sum(axis=-1)
    paid = np.array([0.5, 0.5, 1.0]) * sampled
    excess = [
        (won - math.exp(p.epsilon) * lost - p.delta * paid)
        / np.sqrt(won + math.exp(2 * p.epsilon) * lost + 1)
        for p in points
    ]
    return float(np.max(excess))


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
