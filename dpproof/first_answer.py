"""The first lines of the answer of each command: at most ten lines in plain words.

On the terminal, tables follow. With ``--verbose``, all assumptions follow, too.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from dpproof.accountant.numbers.arithmetic import Assumption, listed
from dpproof.accountant.numbers.written import rounded
from dpproof.answers.own_page import OwnPage
from dpproof.answers.verify import Verified
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.outcome import Outcome
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import at_least, at_most, figure, many, result_words

if TYPE_CHECKING:
    from dpproof.accountant.claims.adjacency import Adjacency
    from dpproof.answers.account import Account
    from dpproof.answers.calibration import Calibration
    from dpproof.answers.claims import ClaimLedger
    from dpproof.answers.number import CheckedNumber
    from dpproof.answers.papers import PaperLedger
    from dpproof.answers.passport import CheckedPassport
    from dpproof.claim_file import Refusal

MOST = 10
"""Largest number of lines at the beginning of an answer."""
NAMED = 3
"""Largest number of statements or claims that are named in a line."""


def sizes(name: str, parameters: Mapping[str, object], adjacency: Adjacency) -> str:
    """Return what a user asked about, as text: the mechanism, its parameters and the neighbouring relation."""
    given = ", ".join(f"{field} {value}" for field, value in parameters.items())
    return f"{name} ({given}), neighbours: {adjacency.value}"


def of_account(found: Account) -> list[str]:
    """Return the first lines that ``dpproof account`` prints.

    >>> from dpproof.accountant.catalogue import accountant_for
    >>> from dpproof.accountant.claims.adjacency import Adjacency
    >>> from dpproof.answers.account import account
    >>> gaussian = accountant_for("gaussian")
    >>> asked = account(gaussian, gaussian.parameters(sigma=5), Adjacency.BY_SENSITIVITY, delta="1e-6")
    >>> of_account(asked)[1]
    'Epsilon is at most 0.8341176 at delta 1e-6.'
    """
    groups = ", on each of several disjoint groups" if found.result and found.result.parallel else ""
    lines = [
        f"{sizes(found.name, found.parameters, found.adjacency)}{groups}",
        f"{_capital(found.quantity)} is at most {at_most(found.bound.upper)} at {found.asked} {figure(found.at)}.",
    ]
    if found.released is not None:
        low = at_least(found.released.lower)
        lines.append(f"A pair of neighbours reaches at least {low}: {found.released.attained_by}.")
    elif found.result is not None and found.bound.of == "guarantee" and found.bound.lower > 0:
        lines.append(_NO_PAIR)
    if found.published is not None and found.published.printed is not None:
        lines.append(_beside(found.published.printed.upper, found.bound.upper, found.published.rests.id))
    if found.result is not None:
        lines.append(f"What is released: {found.result.released}. Trust model: {found.trust.value}.")
        if found.result.joint_statement:
            lines.append(
                f"By {found.result.joint_statement}, the users' actions are jointly differentially private "
                "at the same level."
            )
    lines.append(_bits(found.released_bits))
    rests = found.rests_on if found.rests is None else f"{found.rests.id}: {result_words(found.rests)}"
    lines.append(f"The bound rests on {rests}.")
    return [*lines, *_arithmetic(found.arithmetic)]


_NO_PAIR = (
    'No pair of neighbours is known to reach this value. The column "at least" is about the proved guarantee, and '
    "shows only how exactly it was computed."
)


def _beside(published: float, ours: float, statement: str) -> str:
    """Return the published value, and its ratio to the certified value."""
    ratio = _factor(published, ours) if 0 < ours <= published < math.inf else ""
    beside = {"": "", "1": ", which is the same"}.get(ratio, f", which is at least {ratio} times as large")
    return f"The published bound ({statement}) is {at_most(published)}{beside}."


def _bits(words: str) -> str:
    """Return a sentence that states whether the bound covers the released bits."""
    return f"The bound {words}." if words.startswith("covers") else f"The bound holds {words}."


def _arithmetic(used: Iterable[Assumption]) -> list[str]:
    """Return at most one line: the assumptions on the machine's arithmetic that the number needs."""
    named = ", ".join(entry["id"] for entry in listed(used))
    return (
        [f"The number is certified under assumptions about the machine's arithmetic: {named}."]
        if named
        else []
    )


def of_calibration(found: Calibration) -> list[str]:
    """Return the first lines that ``dpproof calibrate`` prints."""
    noise, quantity = found.accountant.noise, found.asked.quantity
    return [
        f"{noise} = {found.noise!r} is the least noise that is certified to meet {found.asked}.",
        f"With this noise, the {quantity} is at most {found.bound.upper!r}.",
        f"With slightly less noise, {found.noise_below!r}, the {quantity} is at least {found.missed!r}.",
        sizes(found.accountant.name, found.chosen.as_json(), found.adjacency),
        _bits(found.result.released_bits),
        *_arithmetic(found.arithmetic),
    ]


def of_statements(found: Verified) -> list[str]:
    """Return the first lines that ``dpproof verify`` prints: the counts of verdicts, and the worst statements."""
    entries = found.statements
    if len(entries) == 1:
        return _of_statement(entries[0])
    counted = Counter(entry.verdict for entry in entries)
    words = ", ".join(f"{counted[one]} {one.value}" for one in Verdict if counted[one])
    files = {file for entry in entries for file in entry.certificates}
    lines = [f"{many(len(entries), 'statement')}: {words}."]
    for severity in Severity:
        wrong = [entry.id for entry in entries if entry.severity is severity]
        if wrong:
            lines.append(f"Refuted, {severity.value} ({len(wrong)}, parts included): {_few(wrong)}.")
    if unknown := [entry.id for entry in entries if entry.verdict is Verdict.OPEN]:
        lines.append(f"Neither proved nor refuted: {_few(unknown)}.")
    lines.append(f"The kernel has checked {many(len(files), 'certificate')} again.")
    return [*lines, f"{taken_on_trust(found)} --verbose lists them."]


def _of_statement(entry: Result) -> list[str]:
    lines = [f"{entry.id} is {result_words(entry)}: {entry.title}."]
    if entry.point:
        lines.append(f"It fails at {', '.join(f'{name} = {value}' for name, value in entry.point.items())}.")
    if entry.judgement:
        lines.append(f"{_capital(entry.judgement.severity.value)}: {entry.judgement.why}")
    if entry.corrected_by:
        lines.append(f"{entry.corrected_by} corrects it.")
    return lines


def of_own_page(found: OwnPage, path: str) -> list[str]:
    """Return the first lines that ``dpproof verify FILE.md`` prints: the verdict, and the claims that stay open."""
    entry = found.result
    lines = [f"{path} is {result_words(entry)}: {entry.title}.", *_of_statement(entry)[1:]]
    if entry.assumptions:
        lines.append(f"It assumes: {' '.join(entry.assumptions)}")
    for x in found.claims:
        name = x.id.removeprefix(f"{entry.id}.")
        if x.text is None:
            lines.append(f"{name} is open: {path}: {x.reason}.")
        elif not entry.point and (point := json.loads(x.text)["proof"].get("point")):
            lines.append(f"{name} is refuted at {', '.join(f'{k} = {value}' for k, value in point.items())}.")
    return lines[:MOST]


def of_passport(found: CheckedPassport) -> list[str]:
    """Return the first lines that ``dpproof verify passport FILE`` prints: what follows from the file, and what not."""
    if found.passport is None:
        return [f"{found.path} is refused.", f"{found.refusal}."]
    told = found.told
    seen = f"{told['algorithm']}, {told['users']} of {told['episodes']} users seen"
    if found.passport.result is None:
        return [
            f"{found.path}: {seen}.",
            "It is a simulation: its noise came from a seed, so it has no guarantee.",
        ]
    asked = told["asked"]["delta"]
    result = found.passport.result
    lines = [
        f"{found.path}: {seen}. The policy matches its hash.",
        f"Epsilon is at most {at_most(result.epsilon(asked).upper)} at delta {asked}, as the file says.",
        f"Neighbours: {result.neighbours}. Trust model: {result.trust.value}. Mechanism: {result.asked_for}.",
        _bits(result.released_bits),
    ]
    if found.rests is not None:
        lines.append(f"The bound rests on {found.rests.id}: {result_words(found.rests)}.")
    return [*lines, *(f"Not checked: {text}." for text in found.not_checked)]


def of_number(found: CheckedNumber) -> list[str]:
    """Return the first lines that ``dpproof verify FILE.json`` prints: the number, and what it rests on."""
    number = found.number
    if number is None:
        return [f"{found.path} is rejected.", f"{found.refusal}."]
    own = "It is about no published deployment that dpproof knows."
    row = own if found.row is None else f"It is about {found.row.name}: its claim has the published facts."
    rests = ", ".join(f"{entry.id} ({result_words(entry)})" for entry in found.rests)
    return [
        f"{found.path} is accepted. The kernel computed the bound again with rational numbers.",
        f"Epsilon is at most {_rational(number.epsilon)} at delta {_rational(number.delta)}.",
        row,
        f"The step from the computation to the guarantee rests on {rests}.",
        *(f"Assumed: {text}." for text in found.assumes),
    ]


def _rational(value: Fraction) -> str:
    """Return a rational number as a decimal number if it is a short one, and otherwise as a quotient.

    >>> _rational(Fraction(164652, 10000)), _rational(Fraction(1, 10**10)), _rational(Fraction(1, 3))
    ('16.4652', '1e-10', '1/3')
    """
    short = any(10**digits % value.denominator == 0 for digits in range(20)) and value < 10**6
    return f"{Decimal(value.numerator) / Decimal(value.denominator):g}" if short else str(value)


def taken_on_trust(found: Verified, audits: Iterable[Evidence] = ()) -> str:
    """Return in words how many facts these verdicts and audits use without a proof.

    Such facts are assumptions, readings (steps that people checked), laws (known facts about distributions), and
    the conditions of audits.

    >>> taken_on_trust(Verified(()))
    'Taken on trust: nothing.'
    """
    assumed = {text for entry in found.statements for text in entry.assumptions}
    counts = (len(assumed), "assumption"), (len(found.readings), "reading"), (len(found.laws), "law")
    taken = [many(number, noun) for number, noun in counts if number]
    if conditions := {text for audit in audits for text in audit.taken_on_trust}:
        taken.append(f"{many(len(conditions), 'condition')} of the audits")
    return f"Taken on trust: {', '.join(taken) or 'nothing'}."


def of_claims(ledgers: Sequence[ClaimLedger], refusals: Sequence[Refusal], page: str | None) -> list[str]:
    """Return the first lines that ``dpproof check FILE`` prints: counts of outcomes, and failed claims.

    ``refusals`` are the claims that cannot be checked, and ``page`` is the file of the report.
    """
    counted = Counter(ledger.verdict for ledger in ledgers)
    counted[Outcome.REFUSED] += len(refusals)
    words = ", ".join(f"{counted[one]} {one.value}" for one in Outcome if counted[one])
    lines = [f"{many(len(ledgers) + len(refusals), 'claim')}: {words}."]
    worst = sorted((one for one in ledgers if one.verdict.exit_code), key=lambda one: -one.verdict.exit_code)
    wrong = [
        *(f"{one.title} is refused: {one.message} ({one.where})" for one in refusals),
        *map(_wrong, worst),
    ]
    lines += wrong[:NAMED]
    if len(wrong) > NAMED:
        lines.append(f"In all {len(wrong)} claims fail.")
    audits = [(one.claim.name, one.audit.verdict) for one in ledgers if one.audit is not None]
    if unheard := [name for name, verdict in audits if verdict is Finding.INCONCLUSIVE]:
        lines.append(f"The audit found nothing and might have missed twice the promise: {_few(unheard)}.")
    return lines if page is None else [*lines, f"Report: {page}"]


def _wrong(ledger: ClaimLedger) -> str:
    """Return one line on a failed claim: its promise, and the results."""
    if ledger.verdict is Outcome.REFUSED:
        return f"{ledger.claim.name} is refused: {'; '.join(ledger.remarks)}"
    told = [
        f"{ledger.claim.name} is {ledger.verdict.value}: it promises epsilon {figure(ledger.claim.epsilon)}"
    ]
    if ledger.audit is not None and ledger.audit.fails:
        told.append(f"an audit found at least {at_least(ledger.audit.epsilon_lower)}")
    if ledger.account is not None:
        told.append(f"certified is at most {at_most(ledger.account.bound.upper)}")
    return f"{'; '.join(told)}."


def of_papers(ledgers: Sequence[PaperLedger], page: str | None) -> list[str]:
    """Return the lines that sum up ``dpproof check papers``: what was checked, what failed, what is assumed.

    ``page`` is the file of the report.
    """
    entries = [entry for ledger in ledgers for entry in ledger.verified.statements]
    audits = [audit for ledger in ledgers for audit in ledger.audits]
    together = Verified(tuple(entries))
    departures = [line for ledger in ledgers for line in ledger.departures]
    asked = [ledger for ledger in ledgers if ledger.account is not None]
    violated = sum(audit.evidence.verdict.violated for audit in audits)
    quiet = len(audits) - violated
    lines = of_statements(together)
    lines[0] = f"{many(len(ledgers), 'paper')}, {lines[0]}"
    lines.insert(
        -1, f"{many(len(audits), 'audit')} of implementations: {violated} violations, {quiet} without."
    )
    lines[-1:-1] = _beside_published(asked)
    if departures:
        lines.insert(0, f"{many(len(departures), 'result')} not as recorded: {_few(departures)}.")
    else:
        lines.insert(0, "All verdicts and audits came out as recorded.")
    return lines if page is None else [*lines, f"Report: {page}"]


def _beside_published(asked: Sequence[PaperLedger]) -> list[str]:
    """Return the papers with a certified epsilon below the published one, and those with one above."""
    same = [
        ledger for ledger in asked if ledger.account and own_algorithm(ledger.account, ledger.paper.prefix)
    ]
    known = [(ledger.paper.name, ratio) for ledger in same if (ratio := _ratio(ledger.account)) is not None]
    smaller = [f"{rounded(ratio, up=False, digits=3)} ({name})" for name, ratio in known if ratio > 1]
    larger = [f"{rounded(1 / ratio, up=True, digits=3)} ({name})" for name, ratio in known if ratio < 1]
    told = (smaller, "smaller than the published one, by the factor"), (larger, "larger, by the factor")
    return [f"The certified epsilon is {words} {', '.join(held)}." for held, words in told if held]


def own_algorithm(found: Account, prefix: str) -> bool:
    """Return True if nothing is published, or the published epsilon belongs to the paper's own algorithm.

    Return False if the published epsilon belongs to a corrected algorithm. Then the answer does not compare it with
    the certified epsilon. The ids of the paper's statements begin with ``prefix``.
    """
    return found.published is None or found.published.rests.id.startswith(f"{prefix}.")


def times_smaller(found: Account) -> str:
    """Return as text the published epsilon divided by the certified one; empty text if this is not above 1."""
    ratio = _ratio(found)
    return rounded(ratio, up=False, digits=3) if ratio is not None and ratio > 1 else ""


def _factor(published: float, ours: float) -> str:
    return rounded(published / ours, up=False, digits=3)


def _ratio(found: Account | None) -> float | None:
    """Return the published epsilon of a paper's mechanism divided by the certified one."""
    if found is None or found.published is None or found.published.printed is None or not found.bound.upper:
        return None
    return found.published.printed.lower / found.bound.upper


def as_html(lines: Sequence[str]) -> str:
    """Return the first lines of an answer for a notebook: the first line in bold, the others as a list."""
    first, *others = map(escape, lines)
    return f"<b>{first}</b><ul>{''.join(f'<li>{line}</li>' for line in others)}</ul>"


def _few(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
