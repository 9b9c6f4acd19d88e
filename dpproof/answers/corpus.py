"""Runs of the audit corpus, a list of mechanisms whose correct audit results are known."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpproof.audits.corpus.case import CorpusCase
    from dpproof.audits.plan import Asked
    from dpproof.audits.recording.evidence import Evidence

SKIPPED = "skipped"
"""Result of a case whose package is not installed."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one case of the audit corpus.

    Attributes:
        name, reason: the name of the case, and the reason for the expected result.
        expected: the expected finding of the audit, or the name of the expected exception.
        found: the finding or the exception that occurred, or `SKIPPED`.
        evidence: the finding of the audit in detail; None if an exception ended it.
        error: the message of that exception, or the missing package.
        seconds: duration of the audit.
    """

    name: str
    reason: str
    expected: str
    found: str
    evidence: Evidence | None
    error: str | None
    seconds: float

    @property
    def missed(self) -> bool:
        """Whether the case was run and its result differs from the expected one."""
        return self.found not in (self.expected, SKIPPED)


def cases_with(text: str | None = None) -> tuple[CorpusCase, ...]:
    """Return the cases of the audit corpus whose names contain a text, ignoring case. Without a text, return all.

    Raises:
        ValueError: no name contains it.
    """
    from dpproof.audits.corpus.all_cases import all_cases

    chosen = tuple(case for case in all_cases() if text is None or text.lower() in case.name.lower())
    if not chosen:
        known = (
            f"such as {all_cases()[0].name!r}. To run all {len(all_cases())} cases, leave out this option."
        )
        raise ValueError(f"only ({text!r}) must be part of the name of a case, {known}")
    return chosen


def run_cases(
    cases: Sequence[CorpusCase], options: Asked, executor: Executor | None = None
) -> Iterator[CaseResult]:
    """Audit the given cases of the corpus, and yield the results in order, each as soon as possible.

    With an executor each case is one task. The worker process finds the case by its name.

    Args:
        cases: the cases to audit.
        options: ``seed``, ``alpha`` and ``budget`` of the audits.
        executor: runs several cases at the same time.
    """
    if executor is None:
        yield from (_outcome(case, options) for case in cases)
        return
    waiting = [executor.submit(_named_outcome, case.name, options) for case in cases]
    try:
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for future in waiting:
            future.cancel()


def _named_outcome(name: str, options: Asked) -> CaseResult:
    from dpproof.audits.corpus.all_cases import case_named

    return _outcome(case_named(name), options)


def _outcome(case: CorpusCase, options: Asked) -> CaseResult:
    """Audit one case. An exception of its mechanism is also a result."""
    expected, started = case.expected, time.perf_counter()
    said = str(getattr(expected, "value", getattr(expected, "__name__", expected)))
    evidence, error, found = None, None, SKIPPED
    if case.requires is not None and importlib.util.find_spec(case.requires) is None:
        error = f"the package {case.requires} is not installed"
    else:
        try:
            evidence = case.audit(**options)
            found = evidence.verdict.value
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            meant = isinstance(expected, type) and isinstance(raised, expected)
            found = said if meant else type(raised).__name__
    seconds = time.perf_counter() - started
    return CaseResult(case.name, case.reason, said, found, evidence, error, seconds)
