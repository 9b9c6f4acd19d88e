"""Audits of several pairs: a search for the pair with the largest violation, or an audit of each pair in turn.

If each pair is audited in turn, each audit has an equal share of the error probability alpha. The search drops half
of the pairs in each round (successive halving). It uses samples of its own and only chooses a pair, so a bad choice
costs power but never raises a false alarm. The audit of the chosen pair draws fresh samples and has all of alpha.
Proofs: docs/notes/audit_pairs.md (Theorem 4 for the search).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve, curve_points
from dpproof.audits.engine.betting.trial import run_trial
from dpproof.audits.engine.checks.kept_state import unless_alike
from dpproof.audits.engine.checks.probing import look
from dpproof.audits.engine.runner import audit_pair
from dpproof.audits.engine.sampling.blocks import draw_blocks
from dpproof.audits.engine.sampling.callables import (
    PAIRS,
    SEARCH,
    Auditable,
    Mechanism,
    MechanismError,
    as_mechanism,
    check_unchanged,
)
from dpproof.audits.engine.sampling.speed import fitted
from dpproof.audits.engine.scores.atoms import only_bits
from dpproof.audits.engine.scores.protocol import Score
from dpproof.audits.engine.scores.tails import LEVELS
from dpproof.audits.plan import AuditPlan
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.written import call_of
from dpproof.audits.time_budget import during, one_of

FEWEST = 64
"""The smallest number of samples for each pair of inputs in a round of the search, besides those for fitting scores."""


def child_seed(seed: int, *place: int) -> int:
    """Return a 128-bit seed that is derived from the audit's seed and from the numbers ``place``."""
    state = np.random.SeedSequence(seed, spawn_key=place).generate_state(2, np.uint64)
    return (int(state[0]) << 64) | int(state[1])


@dataclass(frozen=True)
class Hunt:
    """A search for the pair with the strongest evidence against a claim, with the settings of the search."""

    made: Mechanism
    scores: tuple[Score | str, ...] | None
    seed: int
    executor: Executor | None

    def best(
        self, pairs: Sequence[Neighbours], points: tuple[CurvePoint, ...], budget: int
    ) -> tuple[int, int]:
        """Return the place of the best pair in ``pairs``, and the number of samples that the search spent."""
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
                f"budget leaves {budget} samples for a search over {len(pairs)} pairs of inputs, which needs {needed}. "
                "Use a larger budget."
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
        self.training = min(score.training for score in self._scores)
        self.counts: NDArray[np.int64] = np.zeros((len(self._scores), LEVELS.size, 3, 3), np.int64)

    def extend(self, step: int, size: int) -> None:
        """Bet on ``size`` fresh samples and add their counts."""
        hunt, seed = self._hunt, child_seed(self._seed, step)
        blocks = draw_blocks(hunt.made, self._pair, seed, size, hunt.executor, self._layout)
        with self._naming():
            self.counts += run_trial(self._points, blocks, self._scores, 0.5, further=math.inf).counts

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except MechanismError as failure:
            raise MechanismError(f"{failure} (pair: {self._pair.description})") from failure


def _evidence(counts: NDArray[np.int64], points: tuple[CurvePoint, ...]) -> float:
    """Return the largest excess of any tail over what the claim allows, in estimated standard deviations.

    Pairs may have different numbers of scores. This is no problem, because the maximum over all scores is used.
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


@dataclass(frozen=True)
class WorstOf:
    """Several pairs of neighbouring inputs, among which an audit searches for the one with the strongest evidence.

    Each round of the search spends an equal part of ``share * budget`` on the remaining pairs, and keeps the half of
    them with the stronger evidence against the claim. The last pair is audited with fresh samples and all of alpha.
    The verdict "consistent" applies to this pair, not to the others.

    Attributes:
        pairs: the candidates, at least one.
        share: the share of the budget that the search spends, in (0, 1).

    Raises:
        ValueError: there are no pairs, or the share is outside its range.
    """

    pairs: Sequence[Neighbours]
    share: float = SHARE

    def __post_init__(self) -> None:
        """Check that there is a pair, and that the share is in (0, 1)."""
        _check(self.pairs, self.share)


@dataclass(frozen=True)
class EachOf:
    """Several pairs of neighbouring inputs that an audit tests in turn, each with an equal share of the budget.

    Each pair also has an equal share of the error probability alpha. The verdict is a violation if one pair shows a
    violation, and "consistent" only if it is "consistent" for all pairs.

    Raises:
        ValueError: there are no pairs.
    """

    pairs: Sequence[Neighbours]

    def __post_init__(self) -> None:
        """Check that there is a pair."""
        _check(self.pairs, SHARE)


def audit_worst(curve: PrivacyCurve, sampler: Auditable, several: WorstOf, plan: AuditPlan) -> Evidence:
    """Return the evidence on the pair of inputs that a search chooses; ``replay["search"]`` records the search.

    Raises:
        MechanismError, ValueError: as for `dpproof.audit`, or if the budget is too small for so many pairs.
    """
    every, share, scores = several.pairs, several.share, plan.scores
    called = {"curve": curve, "sampler": sampler, "pairs": list(every), "scores": scores, "share": share}
    made, plan = fitted(as_mechanism(sampler), every[0], plan)
    pairs = every[: room(plan, share)] if made.sparing else every
    budget, several = plan.drawn, WorstOf(pairs, share)
    winner, spent = _recorded(plan, several) or _found(curve, made, several, plan)
    how = {
        **called_with("audit_worst", plan.replay, called | plan.measuring),
        "budget": budget,
        "search": {"pairs": len(pairs), "winner": winner, "samples": spent, "share": share},
    }
    found = audit_pair(curve, made, pairs[winner], replace(plan, budget=budget - spent, replay=how))
    found = unless_alike(found, made, [pairs[winner], *pairs[:winner], *pairs[winner + 1 :]], plan)
    check_unchanged(*pairs)
    more = len(every) - len(pairs)
    left = [f"{more} more pairs of inputs, for which the time budget is too small"] if more else []
    return replace(found, samples=found.samples + spent, not_covered=(*found.not_covered, *left))


TRAINING = 64
"""The default number of samples on which a score is fitted before it is used."""


def room(plan: AuditPlan, share: float) -> int:
    """Return the number of pairs that a search with this share of the budget allows, at least one."""
    training = max(
        (int(getattr(score, "training", TRAINING)) for score in plan.scores or ()), default=TRAINING
    )
    here = share * plan.drawn / (FEWEST + max(training, TRAINING))
    return next((n for n in range(64, 1, -1) if n * math.ceil(math.log2(n)) <= here), 1)


def _found(curve: PrivacyCurve, made: Mechanism, several: WorstOf, plan: AuditPlan) -> tuple[int, int]:
    """Return the place of the pair that a search finds, and the number of samples spent."""
    scores = None if plan.scores is None else tuple(plan.scores)
    hunt = Hunt(made, scores, plan.seed, plan.executor)
    points = curve_points(curve, plan.stated, curve.epsilon(plan.stated).upper)
    with during(f"the search among {len(several.pairs)} pairs", "the audit of the pair that reveals most"):
        return hunt.best(several.pairs, points, int(several.share * plan.drawn))


def _recorded(plan: AuditPlan, several: WorstOf) -> tuple[int, int] | None:
    """Return the result of a recorded search, if the plan is that of a replay."""
    if plan.searched is None:
        return None
    place, samples = plan.searched
    most = int(several.share * plan.drawn)
    if place >= len(several.pairs) or samples > most:
        raise ValueError(
            f"search: winner ({place}) must be below the number of pairs of inputs ({len(several.pairs)}), "
            f"and samples ({samples}) must be at most {most}."
        )
    return plan.searched


def audit_each(curve: PrivacyCurve, sampler: Auditable, several: EachOf, plan: AuditPlan) -> Evidence:
    """Return the evidence from audits of the pairs, one after the other.

    The audits end at the first violation, unless ``plan.sharpen`` is true.

    Returns:
        The evidence on the pair with the strongest evidence against the claim. Its ``epsilon_lower`` and
        ``would_have_seen`` are the largest of all pairs, its ``power`` is the weakest, its ``samples`` are the total,
        and its e-value is that of all pairs together.

    Raises:
        MechanismError, ValueError: as for `dpproof.audit`, or if the budget has no sample for each pair.
    """
    pairs = several.pairs
    called = {"curve": curve, "sampler": sampler, "pairs": list(pairs), "scores": plan.scores}
    made, plan = fitted(as_mechanism(sampler), pairs[0], plan, len(pairs))
    how = {
        **called_with("audit_each", plan.replay, called | plan.measuring),
        "budget": plan.drawn,
        "each": len(pairs),
    }
    found = shared([partial(audit_pair, curve, made, pair) for pair in pairs], plan, how)
    return unless_alike(found, sampler, pairs, plan)


def shared(
    audits: Sequence[Callable[[AuditPlan], Evidence]], plan: AuditPlan, replay: Mapping[str, object]
) -> Evidence:
    """Return the united evidence from several audits, each with an equal share of alpha and of the budget.

    The audits end at the first violation, unless ``plan.sharpen`` is true.

    Args:
        audits: functions that run one audit each.
        plan: the settings of all audits together.
        replay: the data for a replay of all audits.
    """
    count = len(audits)
    here = replace(plan, alpha=plan.alpha / count, budget=plan.drawn // count, replay=replay)
    found: list[Evidence] = []
    for place, run in enumerate(audits):
        with one_of(count - place):
            found.append(run(replace(here, seed=child_seed(plan.seed, PAIRS, place))))
        if found[-1].unconfirmed or (found[-1].verdict is Finding.VIOLATION and not plan.sharpen):
            break
    return _united(found, count, plan.alpha, plan.seed)


def _united(found: Sequence[Evidence], pairs: int, alpha: float, seed: int) -> Evidence:
    violated = any(evidence.verdict.violated for evidence in found)
    loudest = max(found, key=lambda e: (_rank(e.verdict), e.unconfirmed, e.e_value, e.epsilon_lower))
    all_consistent = all(evidence.verdict is Finding.CONSISTENT for evidence in found)
    unseen = [math.inf if e.would_have_seen is None else e.would_have_seen for e in found]
    weakest = (
        loudest
        if loudest.verdict is Finding.VIOLATION or loudest.unconfirmed
        else max(found, key=lambda e: (bool(e.weakness), e.would_have_seen or 0.0))
    )
    power, some = _everywhere(weakest, found)
    return replace(
        loudest,
        power=power,
        not_covered=(*some, *weakest.not_covered),
        weakness=weakest.weakness,
        verdict=loudest.verdict if violated or all_consistent else Finding.INCONCLUSIVE,
        without_bits=_without_bits(found) if loudest.verdict is Finding.FLOATING_POINT else None,
        epsilon_lower=max(evidence.epsilon_lower for evidence in found),
        would_have_seen=None if violated else max(unseen),
        samples=sum(evidence.samples for evidence in found),
        e_value=loudest.e_value / pairs,
        pairs=tuple(pair for evidence in found for pair in evidence.pairs),
        alpha=alpha,
        confidence=1 - alpha,
        seed=seed,
    )


def _everywhere(weakest: Evidence, found: Sequence[Evidence]) -> tuple[dict[str, Any], list[str]]:
    """Return the power of the weakest audit without classes that another audit does not cover, and texts on these."""
    others = [one.power for one in found if one is not weakest]
    some = [
        name
        for name, measured in weakest.power.items()
        if measured.get("enough") and not all(power.get(name, {}).get("enough") for power in others)
    ]
    kept = {name: measured for name, measured in weakest.power.items() if name not in some}
    return kept, [f"{name} (covered for some of the pairs only)" for name in some]


def _without_bits(found: Sequence[Evidence]) -> Finding:
    """Return the verdict of several pairs without floating-point bits: consistent if every pair is."""
    alone = {evidence.without_bits or evidence.verdict for evidence in found}
    return Finding.CONSISTENT if alone == {Finding.CONSISTENT} else Finding.INCONCLUSIVE


def _rank(verdict: Finding) -> int:
    """Return a sort key: 2 for a violation without floating-point bits, 1 for one in the bits only, otherwise 0."""
    return 2 * (verdict is Finding.VIOLATION) + (verdict is Finding.FLOATING_POINT)


def called_with(
    name: str, replay: Mapping[str, object] | None, called: Mapping[str, object]
) -> dict[str, object]:
    """Return the caller's data for a replay; without them, a description of the call itself."""
    given = dict(replay or {})
    return given if "audit" in given else {**(call_of(name, **called) or {"audit": None}), **given}


def _check(pairs: Sequence[Neighbours], share: float) -> None:
    if not pairs:
        raise ValueError("pairs must contain at least one pair")
    if not 0 < share < 1:
        raise ValueError(f"share ({share!r}) must be in (0, 1)")
