"""The page of the planted faults: versions, counts, and a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from benchmarks.planted.case import Case, Event
from benchmarks.planted.run import SECONDS, Answer, key
from benchmarks.timing import measured

HEAD = f"""# Planted faults

`python -m benchmarks.planted` writes this page. Two users of dpproof, who had not read the engine of the audits,
planted faults into mechanisms of other packages. Each user wrote down each fault, its true loss and the class of
[events](how-to/your-mechanism.md#what-the-answer-means) that shows it. Then the mechanisms were audited. No fault was
changed afterwards. The second user knew the answers on the faults of the first, and a review of the first version.

Each function was audited with `dpproof.audit` at its default settings, with `seeded=False` because the packages draw
their own noise, with `arithmetic="real"`, and for at most {SECONDS[True]:.0f} seconds ({SECONDS[False]:.0f} seconds
without a fault). `dpproof.compare_runs` compared it on the data and one neighbour. The packages cannot be seeded, so
another run can differ.

The first run, of 2026-11-29 at commit 17536dc1, had the faults of the first user alone. The audit found 43 of 51
faults, and 2 of its answers were wrong assurances. 5 answers were *consistent*, 2 *inconclusive*, and 1 was an error.
Of 24 untouched mechanisms, 0 were reported as a *violation*, and 3 as *violation (floating point only)*. Then three
causes were mended. The audit also changes a record to a missing value of the data, and it reads the numbers and words
in a text. `compare_runs` no longer counts the numbers of a generator with a given seed as noise. So the answers below
on these 51 faults are no test on new faults. Those on the faults of the second user are.

In the first run, 2 of the 5 *consistent* answers on faults were wrong assurances. No answer on the faults of the second
user is *consistent*, so these faults do not show how often *consistent* is wrong.

In the run of 2026-11-30 other programs left the audits about a fifth of one processor, and the time budgets are in
seconds of the clock. So the untouched mechanisms, and the two faults that the first run had found and this one had
missed because the time ended, were audited again with one processor to themselves. The page has these answers. In the
first run 16 of 24 untouched mechanisms were *consistent*, if low bits are left out.

The faults of the tables were written by three users. So the page does not show what share of the faults of other
programs would be found. The [faults of the third user](#faults-of-the-third-user) were audited with more time and on
other code. That section says on which.
"""
AUTHORS = {1: "Faults of the first user", 2: "Faults of the second user"}
CLASSES = {
    Event.TAIL: "a tail of one coordinate",
    Event.THRESHOLD: "one coordinate beyond a threshold",
    Event.WEIGHTED: "a random projection",
    Event.PARITY: "parity of two bits",
    Event.LOW: "adjacent low bits of a number",
    Event.WORD: "presence or order of a token",
    Event.NORM: "a norm",
    Event.INTERVAL: "an interval of one coordinate",
    Event.JOINT: "two coordinates beyond thresholds",
    Event.ATOM: "one value that repeats",
    Event.REMAINDER: "a remainder or decimal digit",
    Event.LENGTH: "the length of an output",
}
"""The names of the classes in the recorded answers."""


def page(cases: list[Case], versions: dict[str, str], found: dict[str, Answer]) -> Iterator[str]:
    """Generate the lines of the page, without the section of the third user."""
    cases = [case for case in cases if case.author in AUTHORS]
    yield HEAD
    yield "| package | version |\n|---|---|"
    yield from (f"| {package} | {version} |" for package, version in versions.items())
    yield f"\n{measured()} The machine has {os.cpu_count()} processors, which other programs used, too.\n"
    faults = [(case, found[key(case)]) for case in cases if case.fault]
    sound = [(case, found[key(case)]) for case in cases if not case.fault]
    for author, title in AUTHORS.items():
        yield from _faults(title, [pair for pair in faults if pair[0].author == author])
    yield f"## Faults that the audit did not find\n\n{MISSED}\n"
    yield from (_missed(*pair) for pair in faults if not refuted(pair[1]["audit"]))
    yield f"\n## Untouched mechanisms\n\n{_alarms(sound)}\n"
    yield "| mechanism | promise | audit | compare_runs | seconds |\n|---|---|---|---|---|"
    for case, answer in sound:
        cells = (f"{case.package} {case.name}", promise(case), *_verdicts(answer))
        yield f"| {' | '.join(cells)} |"


def _faults(title: str, faults: list[tuple[Case, Answer]]) -> Iterator[str]:
    yield f"## {title}\n\n{_counts(faults)}\n"
    yield "| fault | data | promise | true epsilon | class | audit | compare_runs | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (_row(*pair) for pair in faults)
    yield ""


MISSED = """*Wrong* means: the answer was *consistent*, and the fault lies in a class of events that the answer lists as
covered, and its true epsilon is at least twice the promise."""


def refuted(audit: Answer) -> bool:
    """Whether an audit refuted the promise with more than low bits."""
    return bool(audit["verdict"] == "violation")


def consistent(audit: Answer) -> bool:
    """Whether an audit says that it would have found twice the promise."""
    return "consistent" in (audit["verdict"], audit.get("without_bits"))


def wrong(case: Case, audit: Answer) -> bool:
    """Whether an answer covers the class of events that shows the fault, and did not find the fault."""
    covered = {name for name, one in audit.get("power", {}).items() if one["enough"]}
    heavy = case.loss is not None and case.loss >= 2 * case.claim[0]
    named = CLASSES.get(case.event, "-")
    begins = (named, "one of six digits") if case.event is Event.REMAINDER else (named,)
    return heavy and consistent(audit) and any(name.startswith(begins) for name in covered)


def _counts(faults: list[tuple[Case, Answer]]) -> str:
    audits = [(case, answer["audit"]) for case, answer in faults]
    missed = [(case, audit) for case, audit in audits if not refuted(audit)]
    pairs = [answer for _, answer in faults if answer["paired"]["verdict"] == "difference"]
    either = sum(refuted(answer["audit"]) or answer in pairs for _, answer in faults)
    return (
        f"Of {len(faults)} faults, the audit found {len(faults) - len(missed)}, `compare_runs` found {len(pairs)}, and"
        f" {either} were found by one of them. The audit did not find {len(missed)}"
        f" (*consistent*: {sum(consistent(audit) for _, audit in missed)},"
        f" *inconclusive*: {sum(audit['verdict'] == 'inconclusive' for _, audit in missed)},"
        f" error: {sum(audit['verdict'] == 'error' for _, audit in missed)}). The answer is a *wrong* assurance"
        f" for {sum(wrong(*pair) for pair in missed)} faults. {_ended(audit for _, audit in missed)}"
    )


def _alarms(sound: list[tuple[Case, Answer]]) -> str:
    audits = [answer["audit"] for _, answer in sound]
    return (
        f"Of {len(sound)} untouched mechanisms, {sum(map(refuted, audits))} were reported as a *violation*, and"
        f" {sum('floating' in audit['verdict'] for audit in audits)} as *violation (floating point only)*. The second"
        " answer is about low bits alone. It is not counted as a false alarm, and was not checked by other means."
        f" {sum(map(consistent, audits))} answers are *consistent*, if low bits are left out. {_ended(audits)}"
    )


def _ended(audits: Iterable[Answer]) -> str:
    """Return a sentence on the audits for which the time was too short, since other programs used it, too."""
    ended = sum("time budget" in audit.get("weakness", "") for audit in audits)
    return f"The time budget ended {ended} of these audits, or the measurement of their power."


def _row(case: Case, answer: Answer) -> str:
    loss = "not computed" if case.loss is None else f"{case.loss:.3g}"
    cells = (
        f"{case.package}: {case.fault}",
        type(case.data).__name__,
        promise(case),
        loss,
        case.event.value,
    )
    return f"| {' | '.join((*cells, *_verdicts(answer)))} |"


def promise(case: Case) -> str:
    epsilon, delta = case.claim
    return f"{case.relation}, {epsilon:g}" + (f", {delta:g}" if delta else "")


def _verdicts(answer: Answer) -> tuple[str, str, str]:
    audit = answer["audit"]
    verdict = f"at least {audit['epsilon_lower']:.2f}" if refuted(audit) else audit["verdict"]
    if "floating" in verdict:
        verdict += f", without bits {audit['without_bits']}"
    return verdict, answer["paired"]["verdict"], f"{audit['seconds']:.1f}"


def _missed(case: Case, answer: Answer) -> str:
    audit = answer["audit"]
    covered = [name for name, one in audit.get("power", {}).items() if one["enough"]]
    said = _one_line(audit["words"]) if audit["verdict"] == "error" else audit["weakness"]
    return (
        f"- `{case.name}` ({audit['verdict']}{', *wrong*' if wrong(case, audit) else ''}). Class of the fault:"
        f" {case.event.value}. Covered: {'; '.join(covered) or 'nothing'}."
        f" Not covered: {'; '.join(audit.get('not_covered', [])) or 'nothing'}. {said}".rstrip()
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
