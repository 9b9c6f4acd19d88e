"""Run a sweep: audit every claim of a package's table, and make each finding as small as possible.

One error probability ``alpha`` covers the whole sweep. Each of its K claims has the share alpha / K. Half of this
share is for the audit of the claim. The other half is split among the audits that try smaller data sets. The table
limits their number (``steps``). So with probability at least 1 - alpha, no violation that a sweep reports is false,
in any of its witnesses.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.engine.sampling.callables import MechanismError
from dpproof.audits.engine.worst_pair import WorstOf
from dpproof.audits.front import audit
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.sweep.table import Entry, package_named

ALPHA = 0.01
SECONDS = 300.0
"""The default time budget of one claim."""
SHARE = 0.4
"""The share of the samples that the search among the pairs of an entry spends."""


@dataclass(frozen=True)
class Swept:
    """The answer of a sweep on one claim.

    Attributes:
        mechanism: the name in the package's table.
        relation: the neighbouring relation of the claim.
        epsilon, delta: the claim.
        evidence: the result of the audit; of the smallest pair after a violation. None if the audit failed.
        samples, seconds: the cost of the audit of the claim, and of the audits that try smaller data sets. Samples
            that measure the power are not counted. Seconds are processor seconds.
        error: the reason why the audit failed; otherwise an empty text.
    """

    mechanism: str
    relation: Adjacency
    epsilon: float
    delta: float
    evidence: Evidence | None
    samples: int
    seconds: float
    error: str = ""

    @property
    def verdict(self) -> str:
        """The finding of the audit in words, or "not audited"."""
        return "not audited" if self.evidence is None else self.evidence.verdict.value


def sweep(
    package: str,
    *,
    seed: int = 0,
    alpha: float = ALPHA,
    seconds: float = SECONDS,
    only: str = "",
    power: bool = True,
    executor: Executor | None = None,
) -> Iterator[Swept]:
    """Audit the claims of a package's table, and yield the answers in the order of the table.

    Args:
        package: the name of the package; the package must be installed.
        seed: the source of all randomness.
        alpha: the largest probability that the whole sweep reports a false violation.
        seconds: the time budget of each claim.
        only: audit only mechanisms whose name contains this text. The share of each claim stays the same.
        power: whether to measure what the audits would have found. Without it, no answer is "consistent".
        executor: runs several claims at the same time, in processes or on a cluster. It does not change the answers,
            except that slow mechanisms get as many samples as fit into ``seconds``.

    Raises:
        ValueError: dpproof has no table of this package.
    """
    claims = package_named(package).claims
    places = [place for place, (entry, _) in enumerate(claims) if only in entry.name]
    tasks = [(package, place, seed, alpha / len(claims), seconds, power) for place in places]
    if executor is None:
        yield from (_swept(*task) for task in tasks)
        return
    waiting = [executor.submit(_swept, *task) for task in tasks]
    try:
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for future in waiting:
            future.cancel()


def _swept(package: str, place: int, seed: int, alpha: float, seconds: float, power: bool) -> Swept:
    """Audit one claim. An exception of its mechanism is an answer, too."""
    entry, relation = package_named(package).claims[place]
    started = time.process_time()
    run = _Run(entry, relation, _seed(seed, entry.name, relation), alpha, seconds, f"{package}: {entry.name}")
    try:
        found = run.first(power and entry.power)
        error = ""
        if found is not None and found.verdict is Finding.VIOLATION:
            found = run.smaller(found)
    except (MechanismError, ValueError, ImportError) as failure:
        found, error = None, f"{type(failure).__name__}: {failure}"
    return Swept(
        entry.name,
        relation,
        entry.epsilon,
        entry.delta,
        found,
        run.samples,
        time.process_time() - started,
        error,
    )


def _seed(seed: int, name: str, relation: Adjacency) -> int:
    """Return a seed for a claim that does not depend on the other claims of the table."""
    digest = hashlib.sha256(f"{seed} {name} {relation.value}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


class _Run:
    """The audits of one claim, with the samples that they have spent."""

    def __init__(
        self, entry: Entry, relation: Adjacency, seed: int, alpha: float, seconds: float, claim: str
    ) -> None:
        self._entry, self._relation, self._seed, self._claim = entry, relation, seed, claim
        self._alpha, self._until = alpha / 2, time.monotonic() + seconds
        self.samples = 0

    def first(self, power: bool) -> Evidence:
        """Audit the pair that reveals most in a search among the pairs of the entry."""
        pairs = self._entry.neighbours(self._relation)
        return self._audit(
            pairs[0] if len(pairs) == 1 else WorstOf(pairs, SHARE), self._seed, self._alpha, power=power
        )

    def smaller(self, found: Evidence) -> Evidence:
        """Return a violation on a smaller pair, after at most ``steps`` audits, or the given violation."""
        pair = _pair_of(found, self._entry.neighbours(self._relation))
        step, steps = 0, self._entry.steps
        while step < steps:
            candidates = list(_without_a_part(pair))[: steps - step]
            for candidate in candidates:
                step += 1
                tried = self._smaller(candidate, step)
                if tried is not None and tried.verdict is Finding.VIOLATION:
                    pair, found = candidate, tried
                    break
            else:
                return found
        return found

    def _smaller(self, pair: Neighbours, step: int) -> Evidence | None:
        try:
            return self._audit(pair, self._seed + step, self._alpha / self._entry.steps, power=False)
        except MechanismError:  # the mechanism needs more records
            return None

    def _audit(self, pair: Neighbours | WorstOf, seed: int, alpha: float, *, power: bool) -> Evidence:
        entry = self._entry
        told: dict[str, Any] = (
            {} if entry.failures == "error" else {"failures": entry.failures, "nan": "token"}
        )
        told |= {} if entry.seeded else {"seeded": False}
        found = audit(
            entry.sampler, pair=pair, epsilon=entry.epsilon, delta=entry.delta, seed=seed, alpha=alpha,
            budget=entry.budget, claim=self._claim, power=power, scores=entry.scores,
            seconds=max(self._until - time.monotonic(), 1.0), **told,
        )  # fmt: skip
        self.samples += found.samples
        return found


def _pair_of(found: Evidence, pairs: Sequence[Neighbours]) -> Neighbours:
    """Return the pair of an audit by its description, which is unique in the table."""
    return next(pair for pair in pairs if pair.description == found.pair)


def _without_a_part(pair: Neighbours) -> Iterator[Neighbours]:
    """Generate pairs without some of the records that both data sets have at the same place: half of them, then one."""
    first, second = pair.first, pair.second
    if not (isinstance(first, list) and pair.adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE)):
        return
    shared = [place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a is b or a == b]
    halves = [shared[len(shared) // 2 :], shared[: len(shared) // 2]] if len(shared) > 2 else []
    for gone in [*halves, *([place] for place in reversed(shared))]:
        left = [[one for place, one in enumerate(data) if place not in gone] for data in (first, second)]
        if all(left):
            try:
                yield Neighbours(left[0], left[1], pair.adjacency, f"{left[0]!r} and {left[1]!r}")
            except InvalidNeighboursError:
                continue
