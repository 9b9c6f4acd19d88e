"""One row for each thing that was checked: how it came out and where it stands."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.report.claims import heard_in, rests_on, tolerated

if TYPE_CHECKING:
    from dpproof.claim_file import Refusal
    from dpproof.report.claims import ClaimLedger
    from dpproof.report.ledger import PaperLedger

__all__ = ["RULES", "Level", "Reported", "findings_of_claims", "findings_of_papers"]


class Level(enum.Enum):
    """How one thing came out: kept, refuted, neither, or not checked."""

    PASS = "pass"
    """A certified guarantee implies the promise."""
    TOLERATED = "tolerated"
    """Only floating-point bits refute a promise that is about real arithmetic."""
    NOTHING = "nothing found"
    """An audit found nothing against the promise, which is no proof of it."""
    RECORDED = "as recorded"
    """What is known of a paper came out again. This says nothing of whether the paper is right."""
    FAILURE = "failure"
    """A promise is refuted."""
    ERROR = "error"
    """It could not be checked, or not be certified."""


RULES = {
    "kept": (Level.PASS, "A certified guarantee implies the promise; the message says what it rests on."),
    "consistent": (
        Level.NOTHING,
        "An audit found nothing on its pair; it sees twice the promise there, in the classes it names.",
    ),
    "inconclusive": (Level.NOTHING, "An audit found nothing; it might not have seen twice the promise."),
    "broken": (Level.FAILURE, "A promise must hold: no pair of neighbours and no audit may refute it."),
    "broken (floating point only)": (
        Level.FAILURE,
        "Released floating-point numbers must keep a promise, unless it is about real arithmetic.",
    ),
    "tolerated (floating point only)": (
        Level.TOLERATED,
        "Only floating-point bits refute the promise, which is about real arithmetic.",
    ),
    "too weak": (Level.FAILURE, "Under --strict an audit must be able to see twice the promise."),
    "not certified": (
        Level.ERROR,
        "A promise about a mechanism of this project must follow from its certified guarantee.",
    ),
    "out of time": (Level.ERROR, "The time budget must suffice for claims that only an audit speaks for."),
    "refused": (Level.ERROR, "A claim must be one that can be checked."),
    "as recorded": (Level.RECORDED, "The recorded verdicts came out again, refuted ones included."),
    "not as recorded": (Level.FAILURE, "The recorded verdicts must come out again."),
}
"""How something came out -> its level, and the rule behind it."""


@dataclass(frozen=True)
class Reported:
    """One thing that was checked.

    Attributes:
        name: the claim, or the paper.
        rule: a key of ``RULES``: how it came out.
        message: what there is to say, on as many lines as it needs.
        file: where it is written, as the user named it; None for what this project brings along.
        line: the line there, from 1; None where unknown.
    """

    name: str
    rule: str
    message: str
    file: str | None = None
    line: int | None = None

    @property
    def level(self) -> Level:
        """The level of its rule."""
        return RULES[self.rule][0]


def findings_of_claims(
    ledgers: Sequence[ClaimLedger],
    lines: Sequence[int | None],
    refusals: Sequence[Refusal],
    file: str,
    *,
    strict: bool,
) -> list[Reported]:
    """The claims of a file in the order of their lines, those that were refused among them."""
    found = [
        Reported(ledger.claim.name, _rule(ledger, strict), _message(ledger), file, line)
        for ledger, line in zip(ledgers, lines, strict=True)
    ]
    found += [Reported(x.called, "refused", x.message, file, x.line) for x in refusals]
    return sorted(found, key=lambda finding: finding.line or 0)


def _rule(ledger: ClaimLedger, strict: bool) -> str:
    vague = heard_in(ledger.audit) == "inconclusive"
    if strict and vague and ledger.verdict in ("kept", "inconclusive"):
        return "too weak"
    stands = ledger.verdict in ("kept", "consistent", "inconclusive")
    return "tolerated (floating point only)" if stands and tolerated(ledger.audit) else ledger.verdict


def _message(ledger: ClaimLedger) -> str:
    claim = ledger.claim
    promised = ", ".join(f"{name} = {value}" for name, value in claim.promise.items())
    lines = [f"promised: {promised} ({claim.adjacency.value})", f"verdict: {ledger.verdict}"]
    if ledger.account is not None:
        epsilon = ledger.account["epsilon"]
        lines.append(f"certified: epsilon at most {epsilon['upper']} at delta {claim.delta}")
        lines.append(rests_on(ledger.account))
        lines.append(f"released bits: {ledger.account['released_bits']}")
        lines.append(in_words(ledger.account["arithmetic_assumptions"]))
    if ledger.audit is not None:
        seen = ledger.audit
        lines.append(
            f"audit: {seen['verdict']}; epsilon at least {seen['epsilon_lower']} at delta {seen['delta']}, "
            f"confidence {seen['confidence']}, {seen['samples']} samples, seed {seen['witness']['seed']}"
        )
    return "\n".join([*lines, *ledger.remarks])


def findings_of_papers(ledgers: Iterable[PaperLedger]) -> list[Reported]:
    """One row for each paper, and one for each thing that departs from the record."""
    return [finding for ledger in ledgers for finding in _of_paper(ledger)]


def _of_paper(ledger: PaperLedger) -> Iterator[Reported]:
    for text in ledger.departures:
        yield Reported(ledger.paper.name, "not as recorded", text)
    if not ledger.departures:
        audits = f"{len(ledger.audits)} audits as recorded"
        yield Reported(ledger.paper.name, "as recorded", f"{_verdicts(ledger)}; {audits}")


def _verdicts(ledger: PaperLedger) -> str:
    """How many of a paper's statements have which verdict."""
    found = Counter(str(entry["verdict"]) for entry in ledger.statements)
    return f"{len(ledger.statements)} statements: " + ", ".join(f"{n} {word}" for word, n in found.items())
