"""The first screen of the report: one row for each paper or claim, with its epsilons on a common scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.numbers.written import rounded
from dpproof.answers import coverage
from dpproof.answers.account import Account
from dpproof.answers.claims import ClaimLedger, heard_in, tolerated
from dpproof.answers.papers import PaperLedger
from dpproof.claim_file import Refusal
from dpproof.first_answer import own_algorithm, times_smaller
from dpproof.outcome import Level, Outcome
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import figure, many, noticed, plain_words

NEXT: Mapping[Outcome, str] = {
    Outcome.KEPT: "Nothing to do. The details list what the guarantee rests on.",
    Outcome.CONSISTENT: "This is no proof. A certified mechanism of the catalogue would give one.",
    Outcome.INCONCLUSIVE: "This is neither a proof nor a refutation. Give the audit a larger budget.",
    Outcome.BROKEN: "Do not rely on this claim. Add noise or repair the code, then check again.",
    Outcome.FLOATING_POINT: "Do not release these numbers. Use a sampler of dpproof.mechanisms.release.",
    Outcome.TOLERATED: "The claim is about real arithmetic only. The released numbers do not keep it.",
    Outcome.TOO_WEAK: "Give the audit a larger budget.",
    Outcome.NOT_CERTIFIED: "Do not rely on this claim yet. Promise what is certified, or add noise.",
    Outcome.OUT_OF_TIME: "Give the claim file more seconds, and check again.",
    Outcome.REFUSED: "Correct the claim file. Nothing was checked here.",
}
"""What the user should do about a claim, by its outcome."""
DIGITS = 4
"""Number of digits on the first screen. The details show all digits."""
WIDEST = 12
"""The scale extends at most from ten to the power of minus this number to ten to the power of this number."""


@dataclass(frozen=True)
class Mark:
    """One epsilon that a row of the report's first screen shows, with its meaning, value and text."""

    kind: str
    """``promised`` (or published), ``most`` (upper bound), ``pair`` (reached by neighbours) or ``audit`` (found)."""
    words: str
    value: float
    text: str


@dataclass(frozen=True)
class Row:
    """One row of the report's first screen: the summary of a paper or claim."""

    anchor: str
    """The HTML id of the section on the paper or claim; empty if the report has no such section."""
    name: str
    word: str
    colour: str
    marks: tuple[Mark, ...]
    sentences: tuple[str, ...]
    """Sentences on the results, and on what to do."""
    severities: Mapping[Severity, int]
    """Number of a paper's refuted statements by severity. If the paper numbers statements, only these count."""
    worst: Result | None = None
    counted: str = "numbered statements"
    """Words for what ``severities`` counts."""
    terms: str = ""
    """The delta and the neighbours to which the numbers refer."""
    beside: tuple[str, ...] = ()
    """Remarks that stand beside ``word``, the verdict."""


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of epsilon from ``low`` to ``high`` that all rows share."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value on the axis, in per cent of the width.

        A value beyond the scale is placed at its end.

        >>> Scale(0.1, 10).place(1), Scale(0.1, 10).place(0), Scale(0.1, 10).place(math.inf)
        (50.0, 0.0, 100.0)
        """
        if value <= self.low or value >= self.high:
            return 0.0 if value <= self.low else 100.0
        return round(100 * math.log(value / self.low) / math.log(self.high / self.low), 3)

    @property
    def ticks(self) -> list[float]:
        """Return the powers of ten at which the axis has a mark, at most seven.

        >>> Scale(0.1, 10).ticks
        [0.1, 1.0, 10.0]
        """
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1, 1 + (last - first) // 7)]


def scale_of(rows: Iterable[Row]) -> Scale | None:
    """Return an axis for the epsilons of all rows, or None if there is nothing to draw.

    >>> scale_of([]) is None
    True
    """
    values = [mark.value for row in rows for mark in row.marks if 0 < mark.value < math.inf]
    if not values:
        return None
    low, high = math.floor(math.log10(min(values)) - 0.1), math.ceil(math.log10(max(values)) + 0.1)
    return Scale(10.0 ** max(low, -WIDEST), 10.0 ** min(high, WIDEST))


def of_paper(ledger: PaperLedger) -> Row:
    """Return the report's row on a paper: published and certified epsilon, and the worst refuted statement."""
    share = coverage.coverage(ledger.verified.statements, f"{ledger.paper.prefix}.")
    wrong = sorted(refuted_of(ledger), key=lambda entry: (_rank(entry), entry.id not in NUMBERED))
    refuted = {one: share.verdicts.get(f"{Verdict.REFUTED.value} {one.value}", 0) for one in Severity}
    if not share.statements:
        refuted = Counter(entry.severity for entry in wrong if entry.severity)
    word, colour = _published(ledger)
    account = ledger.account
    return Row(
        f"paper-{ledger.paper.name}",
        ledger.paper.title,
        word,
        colour,
        _marks_of_paper(account, ledger.paper.prefix),
        _to_do(account, word),
        {one: refuted[one] for one in Severity if refuted[one]},
        wrong[0] if wrong else None,
        "numbered statements" if share.statements else "findings",
        "" if account is None else _terms(account.at, account.adjacency),
    )


NUMBERED = frozenset(item.id for item in coverage.items())


def _terms(delta: float, adjacency: Adjacency) -> str:
    return f"delta {figure(delta)}; neighbours: {adjacency.value}"


def refuted_of(ledger: PaperLedger) -> list[Result]:
    """Return the refuted statements of a paper, the most severe first.

    Parts of a refuted statement are left out.
    """
    entries = ledger.verified.statements
    wrong = [entry for entry in entries if entry.severity is not None]
    inside = {part for entry in wrong for part in entry.parts}
    return sorted((entry for entry in wrong if entry.id not in inside), key=_rank)


def _rank(entry: Result) -> int:
    return list(Severity).index(entry.severity) if entry.severity else len(Severity)


HOLDS, FALSE, UNSETTLED = (
    "published epsilon holds",
    "published epsilon is refuted",
    "published epsilon is not settled",
)
CORRECTED, NOT_PRIVATE = "as printed: refuted; corrected: holds", "as printed: not private; corrected: holds"
MANY = {
    HOLDS: ("holds", "hold"),
    CORRECTED: ("holds only as corrected", "hold only as corrected"),
    NOT_PRIVATE: ("holds only for a corrected algorithm", "hold only for a corrected algorithm"),
    FALSE: ("is refuted", "are refuted"),
    UNSETTLED: ("is not settled", "are not settled"),
}
"""For each status of a published epsilon, the words for one epsilon, and for several."""
NO_EPSILON = "no epsilon is published"


def _published(ledger: PaperLedger) -> tuple[str, str]:
    """Return the status of the published epsilon, and its colour.

    It holds if it rests on a numbered statement of the paper. If it rests on another statement of the paper, it
    holds for that correction. If it rests on a statement of another page, it is that of a corrected algorithm.
    """
    account = ledger.account
    if account is None or account.published is None or account.published.printed is None:
        return NO_EPSILON, "cyan"
    rests = account.published.rests
    if rests.verdict is Verdict.REFUTED:
        return FALSE, "red"
    if not rests.verdict.stands or account.bound.upper > account.published.printed.upper:
        return UNSETTLED, "yellow"
    if own_algorithm(account, ledger.paper.prefix):
        return (HOLDS, "green") if rests.id in NUMBERED else (CORRECTED, "yellow")
    return NOT_PRIVATE, "red"


def _to_do(account: Account | None, word: str) -> tuple[str, ...]:
    """Return what to do about a published epsilon, in one sentence."""
    if (
        account is None
        or account.rests is None
        or account.published is None
        or account.published.printed is None
    ):
        return ()
    ours, rests = account.bound.upper, account.rests.id
    if word == NOT_PRIVATE:
        return (f"Do not run the algorithm as printed. Run the corrected algorithm: {rests}.",)
    if 0 < account.published.printed.upper < ours < math.inf:
        times = rounded(ours / account.published.printed.upper, up=True, digits=3)
        return (f"Count on at most {times} times the printed epsilon: use {rests}.",)
    smaller = times_smaller(account)
    instead = f"Use {account.published.rests.id}, not the printed statement. " if word == CORRECTED else ""
    return (
        (f"{instead}The certified epsilon is at least {smaller} times smaller: use {rests}.",)
        if smaller
        else ()
    )


def headline(rows: Sequence[Row]) -> str:
    """Return in words how many published epsilons hold. If there is none, the text is empty.

    >>> headline([])
    ''
    """
    counted = Counter(row.word for row in rows)
    words = [
        f"{counted[word]} {one if counted[word] == 1 else more}"
        for word, (one, more) in MANY.items()
        if counted[word]
    ]
    total = sum(counted[one] for one in MANY)
    return f"{many(total, 'published epsilon')}: {', '.join(words)}." if words else ""


def _marks_of_paper(account: Account | None, prefix: str) -> tuple[Mark, ...]:
    if account is None:
        return ()
    known = _marks_of_account(account)
    if account.published is None or account.published.printed is None:
        return known
    printed, own = account.published.printed.upper, own_algorithm(account, prefix)
    marks = (Mark("promised", "published", printed, _most(printed)), *known)
    return (
        marks if own else tuple(replace(mark, words=f"corrected algorithm, {mark.words}") for mark in marks)
    )


def _most(value: float) -> str:
    return rounded(value, up=True, digits=DIGITS)


def _least(value: float) -> str:
    return rounded(value, up=False, digits=DIGITS)


def _marks_of_account(account: Account) -> tuple[Mark, ...]:
    """Return marks for the certified epsilon, and for the epsilon that a pair of neighbours reaches."""
    marks = [Mark("most", "certified at most", account.bound.upper, _most(account.bound.upper))]
    if account.released is not None and account.released.lower > 0:
        low = account.released.lower
        marks.append(Mark("pair", "a pair of neighbours reaches", low, _least(low)))
    return tuple(marks)


def of_claim(ledger: ClaimLedger, place: int) -> Row:
    """Return the report's row on a claim: promise, certified epsilon, finding of an audit, and what to do.

    ``place`` is the number of the claim in its file.
    """
    claim, audit = ledger.claim, ledger.audit
    marks = (
        [] if claim.epsilon == math.inf else [Mark("promised", "promised", claim.epsilon, _promised(claim))]
    )
    if ledger.account is not None:
        marks += _marks_of_account(ledger.account)
    if audit is not None and audit.fails and audit.delta == claim.delta:
        low, more = audit.epsilon_lower, audit.epsilon_lower <= claim.epsilon
        marks.append(Mark("audit", f"an audit found {'more than' if more else 'at least'}", low, _least(low)))
    return Row(
        f"claim-{place}",
        claim.name,
        word_of(ledger),
        ledger.verdict.colour,
        tuple(marks),
        (*_known(ledger), _next(ledger)),
        {},
        terms=_terms(claim.delta, claim.adjacency),
        beside=("audit inconclusive",) if _unheard(ledger) else (),
    )


def _promised(claim: Claim) -> str:
    """Return the promised epsilon as it is written, or the one that follows from rho or mu, rounded up."""
    return figure(claim.epsilon) if "epsilon" in claim.promise else _most(claim.epsilon)


def _assumed(ledger: ClaimLedger) -> int:
    """Return the number of assumptions under which a claim is kept."""
    rests = ledger.account.rests if ledger.account is not None else None
    return len(rests.assumptions) if rests is not None and ledger.verdict is Outcome.KEPT else 0


def word_of(ledger: ClaimLedger) -> str:
    """Return the verdict on a claim in words, with the number of assumptions if the claim is kept under any."""
    assumed = _assumed(ledger)
    given = f", under {many(assumed, 'assumption')}" if assumed else ""
    return f"{ledger.verdict.value}{given}"


def _unheard(ledger: ClaimLedger) -> bool:
    """Return whether a claim is kept by its account, while its audit is inconclusive."""
    return ledger.verdict is Outcome.KEPT and heard_in(ledger.audit) is Outcome.INCONCLUSIVE


def _next(ledger: ClaimLedger) -> str:
    """Return what to do about a claim."""
    if assumed := _assumed(ledger):
        what, them = ("the assumption", "it") if assumed == 1 else (f"the {assumed} assumptions", "them")
        return f"Check {what} in the details. Without {them} the guarantee is not proved."
    if _unheard(ledger):
        return "The guarantee is certified. The audit could not see twice the promise: it tests the code too little."
    return NEXT[ledger.verdict]


def _known(ledger: ClaimLedger) -> Iterator[str]:
    """Yield sentences on what decides the verdict on a claim."""
    claim, account, audit = ledger.claim, ledger.account, ledger.audit
    if audit is not None and audit.fails:
        yield audit.words[0]
        if audit.shown is not None and audit.shown.looks_like:
            yield audit.shown.looks_like
    if account is not None and account.rests is not None and account.bound.upper <= claim.epsilon:
        yield f"The certified guarantee rests on {plain_words(account.rests)}."
    elif account is not None and 0 < claim.epsilon < account.bound.upper < math.inf:
        yield _beyond(account, claim.epsilon)
    if tolerated(audit):
        yield "Floating-point bits alone refute it, and the claim is about real arithmetic."
    elif audit is not None and ledger.verdict.level is Level.NOTHING:
        yield f"An audit of {audit.samples} samples found nothing. {noticed(audit.would_have_seen)}"
    if account is None and audit is None:
        yield from ledger.remarks


def _beyond(account: Account, promised: float) -> str:
    """Return how far the certified epsilon, or that of a pair of neighbours, exceeds the promise."""
    if account.released is not None and account.released.lower > promised:
        times = rounded(account.released.lower / promised, up=False, digits=3)
        return f"A pair of neighbours reaches {times} times the promised epsilon."
    times = rounded(account.bound.upper / promised, up=True, digits=3)
    return f"The certified epsilon is at most {times} times the promise."


def of_refusal(refusal: Refusal, place: int) -> Row:
    """Return the report's row on a claim that cannot be checked."""
    outcome = Outcome.REFUSED
    said = (f"{refusal.where}: {refusal.message}", NEXT[outcome])
    return Row(f"refused-{place}", refusal.title, outcome.value, outcome.colour, (), said, {})


def rows_of(
    papers: Sequence[PaperLedger], claims: Sequence[ClaimLedger], refusals: Sequence[Refusal]
) -> list[Row]:
    """Return the rows of the first screen: papers with the worst first, then claims with the worst first."""
    of_claims = [(_urgent(ledger.verdict), of_claim(ledger, place)) for place, ledger in enumerate(claims, 1)]
    refused = _urgent(Outcome.REFUSED)
    of_claims += [(refused, of_refusal(refusal, place)) for place, refusal in enumerate(refusals, 1)]
    order = ("red", "yellow", "green", "cyan")
    return [
        *sorted(map(of_paper, papers), key=lambda row: order.index(row.colour)),
        *(row for _, row in sorted(of_claims, key=lambda one: -one[0])),
    ]


def _urgent(outcome: Outcome) -> int:
    """Return the urgency of an outcome: broken before not certified before refused before fine."""
    return {1: 3, 3: 2, 2: 1}.get(outcome.exit_code, 0)
