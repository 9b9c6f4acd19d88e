"""Labels of results, of claims and of passports: what they say, and what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import Assumption, in_words
from dpproof.answers import events
from dpproof.answers.claims import ClaimLedger
from dpproof.answers.passport import CheckedPassport
from dpproof.answers.verify import results
from dpproof.labels.card import Label, Row, Standing
from dpproof.labels.hazards import hazards
from dpproof.labels.numbers import Asked, least, most, numbers_of
from dpproof.outcome import Outcome
from dpproof.proofs_check.verdict import Result, Verdict
from dpproof.wording import figure, result_words

RELATIONS: Mapping[Adjacency, str] = {
    Adjacency.ADD_REMOVE: "add-remove: one {unit} more or less",
    Adjacency.REPLACE: "replace: one {unit} in place of another",
    Adjacency.REWARDS_ONLY: "rewards-only: the rewards of one {unit} change; its states and actions are public",
    Adjacency.EXPERT: "expert: one expert more or less, with all trajectories",
    Adjacency.BY_SENSITIVITY: "not stated: any two inputs whose answers differ by at most the sensitivity",
}
TRUST: Mapping[TrustModel, str] = {
    TrustModel.CENTRAL: "central: a trusted curator holds the raw data",
    TrustModel.JOINT: "joint: a trusted curator; the observer sees what all other users receive",
    TrustModel.LOCAL: "local: nobody is trusted; users add the noise",
    TrustModel.SHUFFLE: "shuffle: a trusted shuffler removes names and order",
}
UNKNOWN_UNIT = "record"
"""The unit of a result if nobody names one."""


def label_of_result(result: PrivacyResult, source: str, asked: Asked, remarks: Sequence[str] = ()) -> Label:
    """Return the label of a certified result. ``remarks`` are conditions that its file adds."""
    attained = None if result.attained is None else result.attained.guarantee
    numbers = numbers_of(result.guarantee, asked, attained)
    rests = results(result.statement)[result.statement]
    conditions = [*_of_statement(rests), *_of_result(result), *remarks]
    assumed = [*rests.assumptions, *_arithmetic(numbers.assumptions | result.assumptions)]
    made = Label(
        result.asked_for,
        source,
        _standing(rests, conditions, assumed),
        f"{rests.id}: {result_words(rests)}",
        facts=_facts(result.adjacency, result.unit, result.trust, result.released),
        numbers=numbers,
        conditions=conditions,
        assumed=assumed,
        checks=(f"dpproof verify {rests.id}", f"dpproof explain {rests.id}"),
    )
    return replace(made, hazards=hazards(result, numbers))


def _of_statement(rests: Result) -> list[str]:
    """Return the conditions that the verdict on a statement leaves."""
    told = (
        []
        if rests.verdict is Verdict.PROVED
        else [f"{rests.id} is {result_words(rests)}. {rests.verdict.meaning}"]
    )
    domain = [f"The statement is proved on this domain: {rests.domain}"] if rests.domain else []
    return [*told, *domain, *(f"People must read and accept: {text}" for text in rests.readings)]


def _of_result(result: PrivacyResult) -> list[str]:
    bits = [] if result.covers_released_bits else [f"The guarantee holds {result.released_bits}."]
    if result.covers_released_bits:
        bits = [f"The guarantee {result.released_bits}. Another sampler is not covered."]
    relation = []
    if result.adjacency is Adjacency.BY_SENSITIVITY:
        relation = [
            "Underspecified: the neighbouring relation is not stated. The card does not say whom the guarantee"
            " protects. Somebody else found the sensitivity."
        ]
    return [*bits, *relation, *(_sentence(note) for note in result.notes)]


def _standing(rests: Result, conditions: Sequence[str], assumed: Sequence[str]) -> Standing:
    if not rests.verdict.stands and rests.verdict is not Verdict.ASSUMED:
        return Standing.UNPROVED
    return Standing.CONDITIONAL if conditions or assumed else Standing.PROVED


def _arithmetic(used: frozenset[Assumption]) -> list[str]:
    return [_sentence(in_words(used))] if used else []


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _facts(relation: Adjacency, unit: str, trust: TrustModel, released: str) -> tuple[Row, ...]:
    unnamed = (
        "Nobody named the unit. A person with several records is protected less."
        if unit == UNKNOWN_UNIT
        else ""
    )
    return (
        Row("unit", f"one {unit}", unnamed),
        Row("neighbouring relation", RELATIONS[relation].format(unit=unit)),
        Row("trust model", TRUST[trust]),
        Row("covers", released),
    )


_PROMISED = {
    Outcome.KEPT: "The certified guarantee implies it.",
    Outcome.BROKEN: "It is refuted.",
    Outcome.NOT_CERTIFIED: "It is not certified.",
}


def label_of_claim(ledger: ClaimLedger, source: str, asked: Asked) -> Label:
    """Return the label of a claim that was checked without audits.

    The numbers are those of the certified guarantee. If dpproof has none, they follow from the promise alone.

    Raises:
        ValueError: the claim was refused. The message is that of the refusal.
    """
    claim, account = ledger.claim, ledger.account
    if ledger.verdict is Outcome.REFUSED:
        raise ValueError(f"{claim.name} is refused: {'; '.join(ledger.remarks)}")
    promised = ", ".join(f"{name} {figure(value)}" for name, value in claim.promise.items())
    promise = f"{promised}. {_PROMISED[ledger.verdict]}"
    remarks = [_sentence(text) for text in ledger.remarks]
    if account is not None and account.result is not None:
        made = label_of_result(account.result, source, asked, remarks)
    else:
        made = _of_promise(ledger, source, asked, remarks)
    standing = made.standing
    if ledger.verdict is Outcome.BROKEN:
        standing = Standing.BROKEN
    elif ledger.verdict is Outcome.NOT_CERTIFIED and standing.exit_code == 0:
        standing = Standing.NOT_KEPT
    checks = (f"dpproof check {source.partition(' (SHA-256')[0]}", *made.checks)
    return replace(
        made, title=f"{claim.name}: {made.title}", standing=standing, promise=promise, checks=checks
    )


def _of_promise(ledger: ClaimLedger, source: str, asked: Asked, remarks: Sequence[str]) -> Label:
    """Return the label of a claim about an object of another library, or about code with a promise only."""
    claim, account = ledger.claim, ledger.account
    guarantee: Profile = claim.guarantee
    conditions = [
        "The numbers assume that the promise is true. Nobody derived it, and this card ran no audit of the code.",
        *remarks,
    ]
    standing = Standing.CLAIMED
    if account is not None:
        guarantee = events.account_event(claim)[1]
        conditions, standing = [_sentence(account.rests_on), *remarks], Standing.CONDITIONAL
        conditions.insert(0, f"The guarantee holds {account.released_bits}.")
    numbers = numbers_of(guarantee, asked)
    made = Label(
        claim.mechanism,
        source,
        standing,
        facts=_facts(claim.adjacency, UNKNOWN_UNIT, claim.trust, "what the mechanism releases"),
        numbers=numbers,
        conditions=conditions,
        assumed=_arithmetic(numbers.assumptions),
    )
    return replace(made, hazards=hazards(None, numbers))


def label_of_passport(found: CheckedPassport, source: str, asked: Asked) -> Label:
    """Return the label of an agent's passport. A refused passport and a simulation have no numbers."""
    name, checks = str(found.path), (f"dpproof verify passport {found.path}",)
    if found.passport is None:
        return Label(
            name, source, Standing.REFUSED, conditions=(_sentence(str(found.refusal)),), checks=checks
        )
    told = found.told
    title = f"{told['algorithm']}, {told['users']} of {told['episodes']} users seen"
    unchecked = [f"Not checked: {text}." for text in found.not_checked]
    if found.passport.result is None:
        return Label(title, source, Standing.NO_GUARANTEE, conditions=unchecked, checks=checks)
    promised = told["asked"]
    who, _, what = told["unit"].partition(": ")
    result = replace(found.passport.result, unit=f"{who} ({what})")
    made = label_of_result(result, source, asked, unchecked)
    promise = f"epsilon {promised['epsilon']} at delta {promised['delta']} was asked for."
    return replace(made, title=f"{title}: {made.title}", promise=promise, checks=(*checks, *made.checks))


def label_of_simulation(body: Mapping[str, object], source: str) -> Label:
    """Return the label of an answer of ``dpproof simulate --json``, which is never certified."""
    found = body["simulated"]
    assert isinstance(found, Mapping)
    at = next(
        f"at {name} {body[name]}" for name in ("delta", "epsilon") if name in body and body[name] is not None
    )
    ends = f"at most {most(float(found['upper']))} (at least {least(float(found['lower']))})"
    seed = "drawn from entropy" if found["seed_from_entropy"] else "stated by the caller"
    told = f"{found['quantity']} {at}: {ends}, with confidence 1 - {found['alpha']}"
    return Label(
        f"simulation, noise multiplier {body['noise_multiplier']}",
        source,
        Standing.SIMULATED,
        facts=(
            Row(
                "neighbouring relation", RELATIONS[Adjacency.of(str(body["adjacency"]))].format(unit="record")
            ),
        ),
        estimate=told,
        conditions=(
            f"The confidence is over the random numbers of {found['samples']} samples. The seed was {seed}.",
        ),
        assumed=[_sentence(str(text)) for text in found["assumes"]],
        checks=("dpproof simulate --seed N, with a seed that you state beforehand",),
    )
