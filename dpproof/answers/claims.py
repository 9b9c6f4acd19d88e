"""Results for the claims of a claim file: for each claim, what is proved and what an audit found."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Unpack

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.trust import implies
from dpproof.accountant.guarantees.implied import gaussian_to_zcdp
from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP
from dpproof.accountant.guarantees.profile import Profile, ends_of
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.accountant.numbers.enclosures import exact
from dpproof.answers import account as accounts
from dpproof.answers import audit as auditing
from dpproof.answers import events
from dpproof.answers.account import Account
from dpproof.answers.audit import AuditOptions
from dpproof.audits.engine.sampling.progress import watched
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.time_budget import OutOfTimeError, check_time, ending_at, one_of
from dpproof.claim_file import Budget
from dpproof.outcome import Level, Outcome
from dpproof.proofs_check.verdict import Verdict
from dpproof.wording import worth

Stage = Callable[[str], None]
_NOT_AUDITED = "not audited:"


@dataclass(frozen=True)
class ClaimLedger:
    """All results for one claim of a claim file: outcome, certified guarantee, finding of the audit, and remarks."""

    claim: Claim
    verdict: Outcome
    account: Account | None
    audit: Evidence | None
    remarks: Sequence[str] = field(default=())


def check_claims(
    claims: Sequence[Claim],
    budget: Budget,
    stage: Stage = lambda _text: None,
    *,
    audited: bool = True,
    seed: int = 0,
    executor: Executor | None = None,
) -> list[ClaimLedger]:
    """Check the claims of a file in order, and return their results.

    The probability that an audit calls any true claim broken is at most ``budget.alpha``: each claim's audit gets an
    equal share of this probability (union bound). ``budget.seconds`` is the time for all audits together. The function
    ``stage`` is called with texts on the progress.
    """
    until = None if budget.seconds is None else time.monotonic() + budget.seconds
    options: AuditOptions = {"seed": seed, "alpha": budget.alpha / len(claims), "executor": executor}
    found = []
    for place, claim in enumerate(claims):
        with ending_at(until), one_of(len(claims) - place):
            found.append(_contained(claim, stage, audited, until, options))
    return found


def _contained(
    claim: Claim, stage: Stage, audited: bool, until: float | None, options: AuditOptions
) -> ClaimLedger:
    """Run `check_claim`, and turn its errors into a result, so that the other claims are still checked."""
    try:
        return check_claim(claim, stage, audited=audited, until=until, **options)
    except ValueError as error:
        return _refused(claim, error)
    except Exception as error:  # a fault of this project: said here, and the claim is not certified
        if os.environ.get("DPPROOF_TRACEBACK"):
            raise
        said = f"not certified: internal error: {type(error).__name__}: {error}"
        return ClaimLedger(claim, Outcome.NOT_CERTIFIED, None, None, [said])


def _refused(claim: Claim, error: ValueError) -> ClaimLedger:
    return ClaimLedger(claim, Outcome.REFUSED, None, None, [str(error)])


def check_claim(
    claim: Claim,
    stage: Stage = lambda _text: None,
    *,
    audited: bool = True,
    until: float | None = None,
    **options: Unpack[AuditOptions],
) -> ClaimLedger:
    """Check one claim, and return the results: a guarantee if dpproof knows the mechanism, and an audit.

    Args:
        claim: a claim that ``dpproof.answers.audit.check_ready`` accepts.
        stage: function that is called with a text on what is being done.
        audited: whether the claim is also audited.
        until: the time at which audits end, on the clock of ``time.monotonic``; see `dpproof.audits.time_budget`.
        options: the options of the audit.

    Raises:
        ValueError: for parameters or an adjacency that the mechanism refuses.
    """
    stage(f"{claim.name}: accounting")
    known = _account_or_reason(claim)
    stage(f"{claim.name}: auditing")
    return _decided(claim, known, _audited(claim, until, options) if audited else (None, None, []))


def recalled(claim: Claim, verdict: Outcome, audit: Evidence | None, remarks: Sequence[str]) -> ClaimLedger:
    """Return the results for a claim from a stored audit. This computes the guarantee and the outcome again.

    Args:
        claim: the claim, which must not name an event, because events import the user's code.
        verdict: the stored verdict.
        audit: the stored finding of the audit.
        remarks: the stored remarks.

    Raises:
        ValueError: the stored verdict does not follow from the account and the finding.
    """
    if events.kind_of(claim):
        raise ValueError(
            f"claim {claim.name!r} is about an event, so it cannot be read without running code. "
            "Call dpproof.check on the claim file."
        )
    if audit is not None and (wrong := _disagreement(claim, audit)):
        raise ValueError(f"claim {claim.name!r}: {wrong} of the stored audit contradicts the claim")
    without = [text for text in remarks if text.startswith(_NOT_AUDITED)]
    ended = verdict if audit is None and verdict in (Outcome.REFUSED, Outcome.OUT_OF_TIME) else None
    if audit is not None and audit.unconfirmed:
        ended = Outcome.OUT_OF_TIME
    try:
        found = _decided(claim, _account_or_reason(claim), (audit, ended, without))
    except ValueError as error:
        found = _refused(claim, error)
    if found.verdict is not verdict:
        raise ValueError(
            f"claim {claim.name!r}: the stored verdict is {verdict.value!r}, but it should be {found.verdict.value!r}"
        )
    return found


def _disagreement(claim: Claim, audit: Evidence) -> str | None:
    """Return what of a stored finding contradicts the claim, if anything does."""
    agree = {
        f"the name ({audit.claim!r})": audit.claim == claim.name,
        f"delta ({audit.delta!r})": math.isclose(audit.delta, claim.delta, rel_tol=1e-9),
        f"the claimed epsilon ({audit.claimed_epsilon!r})": math.isclose(
            audit.claimed_epsilon, claim.epsilon, rel_tol=1e-6
        ),
        f"the arithmetic ({audit.arithmetic!r})": audit.arithmetic == claim.arithmetic,
        f"the verdict ({audit.verdict.value!r})": audit.verdict.violated
        or audit.epsilon_lower <= audit.claimed_epsilon * (1 + 1e-9),
    }
    return next((name for name, right in agree.items() if not right), None)


_Known = tuple[Account | None, bool, bool, list[str]]
_Heard = tuple[Evidence | None, Outcome | None, list[str]]


def _account_or_reason(claim: Claim) -> _Known:
    """Return the account, whether it proves or refutes the promise, and the reason why there is none."""
    try:
        return _accounted(claim)
    except (ArithmeticError, MemoryError) as error:
        return None, False, False, [f"not certified: {_cause(error)}"]


def _cause(error: ArithmeticError | MemoryError) -> str:
    """Return why an account has no answer, and what to do if the question is too large."""
    if isinstance(error, MemoryError):
        return f"{error} Claims with fewer steps or compositions, or with more noise, need less memory."
    kind = type(error)
    if kind in (OverflowError, ZeroDivisionError, FloatingPointError):
        return f"a number is too large or too small for double precision ({kind.__name__}: {error})"
    return str(error)


def _decided(claim: Claim, known: _Known, after: _Heard) -> ClaimLedger:
    """Return the result that follows from the account and from the audit."""
    account, proved, refuted, remarks = known
    audit, ended, said = after
    remarks = [*remarks, *said]
    if refuted and account is not None:
        remarks.append(
            f"a pair of neighbours exceeds it: {account.released and account.released.attained_by}"
        )
    heard = heard_in(audit)
    if refuted or heard in (Outcome.BROKEN, Outcome.FLOATING_POINT):
        verdict = Outcome.BROKEN if refuted or heard is None else heard
    elif ended is Outcome.REFUSED:
        verdict = ended
    elif proved:
        verdict = Outcome.KEPT
    elif ended is not None and claim.outside and not events.kind_of(claim):
        verdict = ended
    else:  # what we have an account of can be certified; of somebody's code only an audit can speak
        verdict = heard if account is None and heard is not None else Outcome.NOT_CERTIFIED
    return ClaimLedger(claim, verdict, account, audit, [*remarks, *_advice(claim, verdict, account, audit)])


_HEARD = {
    Finding.VIOLATION: Outcome.BROKEN,
    Finding.FLOATING_POINT: Outcome.FLOATING_POINT,
    Finding.CONSISTENT: Outcome.CONSISTENT,
    Finding.INCONCLUSIVE: Outcome.INCONCLUSIVE,
}


def exit_code(ledgers: Sequence[ClaimLedger], strict: bool = False) -> int:
    """Return the exit code for several claims: the code of the claim with the worst outcome.

    From worst to best, the outcomes are refused (code 2), broken (1), not certified (3) and kept (0). With ``strict``
    an inconclusive audit counts as broken.
    """
    codes = {ledger.verdict.exit_code for ledger in ledgers}
    if strict and any(heard_in(ledger.audit) is Outcome.INCONCLUSIVE for ledger in ledgers):
        codes.add(1)
    return next((code for code in (2, 1, 3) if code in codes), 0)


def heard_in(audit: Evidence | None) -> Outcome | None:
    """Return the outcome that follows from an audit alone, or None without an audit.

    If the promise is about real arithmetic, violations that only floating-point bits show do not count.
    """
    if audit is None:
        return None
    return _HEARD[audit.without_bits if audit.without_bits and tolerated(audit) else audit.verdict]


def rests_on(account: Account) -> str:
    """Return a text on the statement that proves a guarantee: id, verdict, and the number of assumptions."""
    rests = account.rests
    if rests is None:
        return f"rests on: {account.rests_on}"
    counts = {"assumptions": rests.assumptions, "readings": rests.readings, "laws": rests.laws}
    taken = ", ".join(f"{name}: {len(held)}" for name, held in counts.items())
    return f"rests on: {rests.id}, {rests.verdict.value}; {taken}"


def tolerated(audit: Evidence | None) -> bool:
    """Return whether only floating-point bits refute a promise that is about real arithmetic."""
    return audit is not None and audit.arithmetic == "real" and audit.without_bits is not None


def _advice(claim: Claim, verdict: Outcome, account: Account | None, audit: Evidence | None) -> list[str]:
    """Return advice on what to do next, if the verdict alone does not tell."""
    if verdict.level is Level.FAILURE and audit is not None and audit.verdict.violated:
        after = f"after {audit.samples} samples"
        return [*audit.words, f"{audit.verdict.value} {after}: dpproof audit FILE --witnesses DIR keeps it"]
    if tolerated(audit):
        reason = audit.weakness if audit is not None and audit.weakness else "nothing was found there"
        return [f"floating-point bits refute it; the claim is about real arithmetic: {reason}"]
    if verdict is Outcome.NOT_CERTIFIED and account is not None and (why := _unproved(claim, account)):
        return [why]
    if audit is not None and (audit.verdict is Finding.INCONCLUSIVE or verdict is Outcome.CONSISTENT):
        return [worth(audit)]
    return []


def _unproved(claim: Claim, account: Account) -> str | None:
    """Return the reason why an account does not prove a claim, if the number is not the reason."""
    if not _covers(account, claim):
        return f"the guarantee is proved in the {account.trust.value} model, not in the {claim.trust.value} model"
    if account.rests is not None and _undecided(account):
        name = account.rests.id
        return f"the guarantee rests on {name}, which is {account.rests.verdict.value}; see dpproof verify {name}"
    if account.bound.upper == math.inf:
        return "no finite epsilon is proved at this delta" + ("; give delta" if claim.delta == 0 else "")
    return None


def _covers(account: Account, claim: Claim) -> bool:
    """Return whether a proof in the account's trust model is also one in the claim's trust model."""
    return implies(account.trust, claim.trust)


def _undecided(account: Account) -> bool:
    """Return whether the statement of a guarantee lacks a proof: a step or a certificate is missing."""
    return account.rests is not None and account.rests.verdict in (Verdict.OPEN, Verdict.REFUTED)


def _accounted(claim: Claim) -> _Known:
    """Return the account, whether it proves the promise, and whether an attained pair refutes the promise.

    Also return the reason if the promise could not be compared with the whole guarantee.
    """
    if claim.outside and not events.kind_of(claim):
        return None, False, False, []
    with recorded() as used:
        account, proved, broken, said = _event(claim) if events.kind_of(claim) else _mechanism(claim)
    account = replace(account, arithmetic=frozenset(used))
    exposed = implies(claim.trust, account.trust)
    return account, proved and _covers(account, claim) and not _undecided(account), broken and exposed, said


_Compared = tuple[Account, bool, bool, list[str]]


def _event(claim: Claim) -> _Compared:
    account, guarantee = events.account_event(claim)
    return _compared(claim, account, guarantee, guarantee if account.released else None)


def _mechanism(claim: Claim) -> _Compared:
    accountant = accountant_for(claim.mechanism)
    parameters = accountant.parameters.read(claim.parameters)
    account = accounts.account(accountant, parameters, claim.adjacency, delta=claim.delta)
    assert account.result is not None  # as of every mechanism of the catalogue
    attained = account.result.attained.guarantee if account.result.attained else None
    return _compared(claim, account, account.result.guarantee, attained)


def _compared(claim: Claim, account: Account, guarantee: Profile, attained: Profile | None) -> _Compared:
    """Return the account, and whether it proves or refutes the promise.

    The certified epsilon and the epsilon that a pair of neighbours attains are compared with the promise first.
    """
    promised = claim.promise.get("epsilon")
    if promised is not None:
        if account.bound.upper <= exact(promised):
            return account, True, False, []
        if account.released is not None and account.released.lower > exact(promised):
            return account, False, True, []
    try:
        return account, *_settled(claim, guarantee, attained), []
    except (ArithmeticError, MemoryError) as error:
        return account, False, False, [f"not certified: {_cause(error)}"]


def _audited(claim: Claim, until: float | None, options: AuditOptions) -> _Heard:
    """Return the audit's finding.

    Without one, return the outcome that follows from this, if any, and remarks.
    """
    drawn = [0]

    def count(samples: int, _budget: int) -> None:
        drawn[0] = samples

    try:
        with ending_at(until), watched(count):
            check_time()
            found = auditing.audit_claim(claim, **options)
            return found, Outcome.OUT_OF_TIME if found.unconfirmed else None, []
    except OutOfTimeError as error:
        return None, Outcome.OUT_OF_TIME, [f"{_NOT_AUDITED} {error} {drawn[0]} samples were drawn."]
    except (auditing.NoAuditError, ArithmeticError) as error:
        return None, None, [f"{_NOT_AUDITED} {error}"]
    except MemoryError as error:
        return None, None, [f"{_NOT_AUDITED} the audit needs more memory than there is. {error}"]
    except ValueError as error:
        return None, Outcome.REFUSED, [f"{_NOT_AUDITED} {error}"]


def _settled(claim: Claim, guarantee: Profile, attained: Profile | None) -> tuple[bool, bool]:
    """Return whether the proved guarantee implies the promise, and whether an attained pair refutes it.

    A promised curve is compared in its own parameter, because one point of it would not prove the others. For
    an epsilon, delta at that epsilon decides if possible, because the inverse may be slightly off.
    """
    kind = next(name for name in ("epsilon", "rho", "mu") if name in claim.promise)
    promised, delta = exact(claim.promise[kind]), exact(claim.delta)
    if kind == "epsilon" and delta > 0:
        below = guarantee.delta(promised).upper <= delta
        return below, attained is not None and attained.delta(promised).lower > delta
    least = None if attained is None else _cost(attained, kind)
    most = _cost(guarantee, kind)
    proved = most is not None and most[1] <= promised
    return proved, least is not None and least[0] > promised


def _cost(guarantee: Profile, kind: str) -> tuple[float | Fraction, float | Fraction] | None:
    """Return bounds on the least epsilon at delta 0, rho or mu that the guarantee implies, if any."""
    match kind, guarantee:
        case "epsilon", _:
            bound = guarantee.epsilon(0)
            return bound.lower, bound.upper
        case "rho", GaussianDP():
            return ends_of(gaussian_to_zcdp(guarantee).rho, kind)
        case "rho", ZCDP():
            return ends_of(guarantee.rho, kind)
        case "mu", GaussianDP():
            return ends_of(guarantee.mu, kind)
    return None
