"""Type-I errors: how often a mechanism exactly on its claim is called a violation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from scipy import stats

from benchmarks.audits.rows import Row
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.audits.corpus.all_cases import all_cases
from dpproof.audits.corpus.case import Case, CorpusCase
from dpproof.audits.corpus.laplace_cases import counts_pair, stated
from dpproof.audits.corpus.vectors import laplace
from dpproof.audits.data.neighbours import Distance
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.recording.evidence import Evidence, Finding

SEEDS, BUDGET, CHUNK = 1000, 20_000, 10
ALPHAS = (0.05, 0.01)
QUANTILE = 0.999
DEAR = {"counts, local": BUDGET, "rlsvi on its claim": BUDGET, "counts, tree": 5_000}
"""Cases whose outputs are long, which come last, and their samples."""
EXACT = 1e-6
"""A truth so close to its claim, relatively, is on it."""
NO_TRUTH = ("rlsvi on its claim",)
"""Exactly on their claims by their own derivation; the corpus states no number for them."""


def _laplace(value: list[float], n: int, rng: Any) -> Any:
    return laplace(value, n, rng, scale=1.0)


UNIT = Case(
    name="laplace, claim 1",
    mechanism=_laplace,
    pair=counts_pair([0.0], [1.0], Distance.ONE),
    claim=PureDP(1),
    expected=Finding.CONSISTENT,
    truth=lambda: stated(1),
    reason="exactly on its claim",
)


def cases() -> dict[str, CorpusCase]:
    """The sound mechanisms whose truth is their claim, by name."""
    chosen = [UNIT, *(case for case in all_cases() if case.name in NO_TRUTH or _on_claim(case))]
    return {case.name: case for case in chosen}


def _on_claim(case: CorpusCase) -> bool:
    if (
        not isinstance(case, Case)
        or case.truth is None
        or case.requires
        or case.expected is Finding.VIOLATION
    ):
        return False
    claimed, truth = case.claim.epsilon(case.delta).upper, case.truth()
    return (1 - EXACT) * claimed <= truth.lower <= truth.upper <= claimed * (1 + 1e-12)


def allowed(runs: int, alpha: float) -> int:
    """The 99.9 % quantile of the number of alarms in so many runs of a test of level exactly alpha.

    >>> allowed(1000, 0.05), allowed(1000, 0.01)
    (73, 21)
    """
    return int(stats.binom.ppf(QUANTILE, runs, alpha))


def tasks(known: Sequence[Row], seeds: int) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """What is left to do; cheap cases in turn, so that an early end has seen them all, dear ones last."""
    left = {}
    for name in cases():
        mine = [row for row in known if row["case"] == name]
        refused = sum(row["refused"] is not None for row in mine)
        done = {row["seed"] for row in mine}
        left[name] = [seed for seed in range(seeds + refused) if seed not in done]
    for names in (left.keys() - DEAR.keys(), left.keys() & DEAR.keys()):
        for start in range(0, seeds, CHUNK):
            parts = ((name, tuple(left[name][start : start + CHUNK])) for name in sorted(names))
            yield from ((name, part, DEAR.get(name, BUDGET)) for name, part in parts if part)


def measured(name: str, seeds: tuple[int, ...], budget: int) -> list[Row]:
    """Audit a case with each seed."""
    case = cases_once()[name]
    return [{"case": name, "seed": seed, "budget": budget, **_one(case, seed, budget)} for seed in seeds]


_CASES: dict[str, CorpusCase] = {}


def cases_once() -> dict[str, CorpusCase]:
    """`cases`, whose truths are computed once a process."""
    if not _CASES:
        _CASES.update(cases())
    return _CASES


def _one(case: CorpusCase, seed: int, budget: int) -> Row:
    """The verdicts at all levels of one seed; when an audit looks depends on its level, so each is run."""
    start = time.process_time()
    try:
        found = [case.audit(seed=seed, alpha=alpha, budget=budget) for alpha in ALPHAS]
    except MechanismError as refusal:
        return {"refused": str(refusal)[:200], "violations": {}, "seconds": time.process_time() - start}
    return {
        "refused": None,
        "violations": _of_levels(found, Finding.VIOLATION),
        "bits": _of_levels(found, Finding.FLOATING_POINT),
        "e_value": found[0].e_value,
        "seconds": time.process_time() - start,
    }


def _of_levels(found: Sequence[Evidence], verdict: Finding) -> dict[str, bool]:
    """By level, whether the audit came to the verdict."""
    return {str(alpha): one.verdict is verdict for alpha, one in zip(ALPHAS, found, strict=True)}
