"""Write the page of the comparison of runs: ``python -m benchmarks.paired_runs > docs/paired-runs.md``.

The columns of dp-recorder are filled if its folder ``src`` is on the path.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from benchmarks.paired_runs import recorder
from benchmarks.paired_runs.case import Case
from benchmarks.paired_runs.cases import CASES
from benchmarks.paired_runs.libraries.__main__ import PAGE, kept
from benchmarks.paired_runs.words import AFTER, BEFORE, NOT_INSTALLED
from dpproof import Compared
from dpproof.audits.paired.finding import Answer


def _row(case: Case, found: Compared, other: str) -> str:
    kind = f" ({found.seen[0].kind})" if found.seen else ""
    return f"| {case.what} | {found.answer.value}{kind} | {other} |"


def page(others: dict[str, str]) -> Iterator[str]:
    """Generate the lines of the page; ``others`` are dp-recorder's answers by the names of the cases."""
    begun = time.process_time()
    found = {case.name: case.compare() for case in CASES}
    seconds = time.process_time() - begun
    faults, sound = ([case for case in CASES if case.sound is kind] for kind in (False, True))
    yield BEFORE
    yield f"## Faults\n\n{_counts(faults, found, others)}\n"
    yield from _table(faults, found, others)
    yield f"\n## Sound mechanisms\n\n{_counts(sound, found, others)}\n"
    yield from _table(sound, found, others)
    yield f"\nAll {len(CASES)} comparisons of dpproof took {seconds:.1f} processor seconds.\n"
    yield AFTER
    if section := kept(PAGE.read_text(encoding="utf-8"))[1]:
        yield f"\n{section.rstrip()}"


def _counts(cases: list[Case], found: dict[str, Compared], others: dict[str, str]) -> str:
    ours = [found[case.name].answer for case in cases]
    said = ", ".join(f"*{answer.value}* for {ours.count(answer)}" for answer in Answer)
    text = f"dpproof answers {said} of {len(cases)} cases."
    if not others:
        return f"{text} {NOT_INSTALLED}"
    theirs = [others[case.name] for case in cases]
    seen = sum(one.startswith(("found", "raised")) for one in theirs)
    none = sum(one.startswith("no annotated") for one in theirs)
    return f"{text} dp-recorder reports {seen}. Cases without an annotated primitive: {none}."


def _table(cases: list[Case], found: dict[str, Compared], others: dict[str, str]) -> Iterator[str]:
    yield "| mechanism | dpproof | dp-recorder |"
    yield "|---|---|---|"
    for case in cases:
        yield _row(case, found[case.name], others.get(case.name, "not run"))


if __name__ == "__main__":
    answers: dict[str, str] = {}
    for one in CASES if recorder.installed() else ():
        answers[one.name] = recorder.answer(one)
        print(one.name, answers[one.name], file=sys.stderr, flush=True)
    print("\n".join(page(answers)))
