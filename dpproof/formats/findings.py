"""One row for each claim or paper that was checked: its result, and its place in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpproof.accountant.numbers.arithmetic import in_words
from dpproof.accountant.numbers.written import finite
from dpproof.answers.claims import heard_in, rests_on, tolerated
from dpproof.outcome import Outcome

if TYPE_CHECKING:
    from dpproof.answers.claims import ClaimLedger
    from dpproof.answers.papers import PaperLedger
    from dpproof.claim_file import Refusal


@dataclass(frozen=True)
class Reported:
    """The result of the check of one claim or paper.

    Attributes:
        name: the name of the claim or of the paper.
        rule: the outcome.
        message: a text, which may have several lines.
        file: the file that contains the claim, as the user named it; None for a paper.
        line: the line of the claim in the file, from 1; None if it is unknown.
    """

    name: str
    rule: Outcome
    message: str
    file: str | None = None
    line: int | None = None


def findings_of_claims(
    ledgers: Sequence[ClaimLedger],
    lines: Sequence[int | None],
    refusals: Sequence[Refusal],
    file: str,
    *,
    strict: bool,
) -> list[Reported]:
    """Return the results for the claims of a file in the order of their lines, including refused claims.

    ``lines`` are the lines of the claims in ``ledgers``. With ``strict`` an inconclusive audit is a failure.
    """
    found = [
        Reported(ledger.claim.name, _rule(ledger, strict), _message(ledger), file, line)
        for ledger, line in zip(ledgers, lines, strict=True)
    ]
    found += [Reported(x.called, Outcome.REFUSED, x.message, file, x.line) for x in refusals]
    return sorted(found, key=lambda finding: finding.line or 0)


def _rule(ledger: ClaimLedger, strict: bool) -> Outcome:
    vague = heard_in(ledger.audit) is Outcome.INCONCLUSIVE
    if strict and vague and ledger.verdict in (Outcome.KEPT, Outcome.INCONCLUSIVE):
        return Outcome.TOO_WEAK
    return Outcome.TOLERATED if not ledger.verdict.exit_code and tolerated(ledger.audit) else ledger.verdict


def _message(ledger: ClaimLedger) -> str:
    claim = ledger.claim
    promised = ", ".join(f"{name} = {value}" for name, value in claim.promise.items())
    lines = [f"promised: {promised} ({claim.adjacency.value})", f"verdict: {ledger.verdict.value}"]
    if ledger.account is not None:
        lines.append(
            f"certified: epsilon at most {finite(ledger.account.bound.upper)} at delta {claim.delta}"
        )
        lines.append(rests_on(ledger.account))
        lines.append(f"released bits: {ledger.account.released_bits}")
        lines.append(in_words(ledger.account.arithmetic))
    if ledger.audit is not None:
        seen = ledger.audit
        lines.append(
            f"audit: {seen.verdict.value}; epsilon at least {finite(seen.epsilon_lower)} at delta {seen.delta}, "
            f"confidence {seen.confidence}, {seen.samples} samples, seed {seen.seed}"
        )
    return "\n".join([*lines, *ledger.remarks])


def findings_of_papers(ledgers: Iterable[PaperLedger]) -> list[Reported]:
    """Return the results for papers. A paper has one result if all its verdicts and audits are as recorded.

    Otherwise the paper has one result for each difference from the record.
    """
    return [finding for ledger in ledgers for finding in _of_paper(ledger)]


def _of_paper(ledger: PaperLedger) -> Iterator[Reported]:
    for text in ledger.departures:
        yield Reported(ledger.paper.name, Outcome.NOT_RECORDED, text)
    if not ledger.departures:
        audits = f"{len(ledger.audits)} audits as recorded"
        yield Reported(ledger.paper.name, Outcome.RECORDED, f"{_verdicts(ledger)}; {audits}")


def _verdicts(ledger: PaperLedger) -> str:
    """Return how many of a paper's statements have which verdict."""
    statements = ledger.verified.statements
    found = Counter(result.verdict.value for result in statements)
    return f"{len(statements)} statements: " + ", ".join(f"{n} {word}" for word, n in found.items())
