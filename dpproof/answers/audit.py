"""Audits of a mechanism in the catalogue or of a claim in a claim file, and replays of earlier audits."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.accountant import check_run
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.trust import TrustModel, implies
from dpproof.accountant.numbers.enclosures import Written
from dpproof.accountant.numbers.written import json_text, write_whole
from dpproof.answers.events import guarantee_of_event, kind_of
from dpproof.audits.engine.betting.curves import LIMIT, PrivacyCurve
from dpproof.audits.engine.bracket import Bracket
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.plan import FURTHER, Asked, AuditPlan
from dpproof.audits.recording.replaying import replay as again
from dpproof.audits.target import Audited, Subject, mechanism_target
from dpproof.audits.targets.primitive import bracketed
from dpproof.audits.time_budget import OutOfTimeError
from dpproof.claim_file import claim_from, entry_of

if TYPE_CHECKING:
    from dpproof.accountant.claims.parameters import Parameters
    from dpproof.audits.recording.evidence import Evidence
__all__ = [
    "AuditOptions",
    "NoAuditError",
    "audit_claim",
    "audit_mechanism",
    "bracket_mechanism",
    "check_auditable",
    "check_ready",
    "replay",
    "write_witness",
]

PLANNED = ("seed", "alpha", "budget", "sharpen", "further", "executor")
"""Options that every audit has. Other options state how a callable or a command is run."""
DELTA = 1e-6
"""An audit states epsilon at this delta by default. If the guarantee is pure, the default is 0 instead."""
VIEWED = "selective-dpsgd"
"""The mechanism with an audit of its real training code. The option ``view`` says what of a training is observed."""
OWN = " dpproof chooses the inputs of its own mechanisms."
EVENT = " claims name no code to run, so they cannot be audited. `dpproof check` can still account for them."


class AuditOptions(TypedDict, total=False):
    """Options for the audit of a claim. They override the options that the claim itself states."""

    seed: int
    alpha: float
    budget: int
    sharpen: bool
    further: float
    view: str
    scores: Sequence[str]
    seeded: bool
    failures: str
    bounds: Sequence[float]
    vary: Mapping[str, Sequence[object]]
    timing: bool
    executor: Executor | None


def audit_mechanism(
    name: str,
    parameters: Mapping[str, object],
    adjacency: Adjacency,
    *,
    curve: PrivacyCurve | None = None,
    view: str | None = None,
    **asked: Unpack[Asked],
) -> Evidence:
    """Audit a mechanism of this project, and return the finding.

    The audit tests the mechanism's own certified guarantee, or the guarantee ``curve`` if it is given. For the
    mechanism `VIEWED`, ``view`` says what the audit observes of a real training.

    Raises:
        ValueError: the name is unknown, or the audit has no inputs that are neighbours under this relation.
    """
    accountant = accountant_for(name)
    chosen = doubles(accountant.parameters.read(parameters))
    accountant.account(chosen, adjacency)
    asked.setdefault("claim", name)
    return _target(name, chosen, adjacency, curve, view).audit(AuditPlan(**asked))


def bracket_mechanism(
    name: str,
    parameters: Mapping[str, object],
    adjacency: Adjacency,
    delta: float | None,
    *,
    alpha: float,
    seed: int,
    samples: int,
) -> Bracket:
    """Return a measured lower bound on a mechanism's epsilon, with its certified upper bound.

    Raises:
        NoAuditError: the likelihood ratio of the outputs is not known.
        ValueError: an argument is outside its range.
    """
    chosen = doubles(accountant_for(name).parameters.read(parameters))
    subject = Subject(name, chosen, adjacency)
    return bracketed(subject, delta, alpha=alpha, seed=seed, samples=samples)


def _target(
    name: str,
    parameters: Parameters,
    adjacency: Adjacency,
    curve: PrivacyCurve | None = None,
    view: str | None = None,
) -> Audited:
    return mechanism_target(Subject(name, parameters, adjacency, curve, view))


def audit_claim(claim: Claim, *, elsewhere: bool = False, **options: Unpack[AuditOptions]) -> Evidence:
    """Audit a claim of a claim file, and return the finding. The audit tests the promise in the claim.

    Args:
        claim: a claim that ``check_auditable`` accepts.
        elsewhere: whether an executor in the options also runs a user's callable or command. If so, other processes
            must be able to load the callable or command.
        options: those of `dpproof.audit`. They override the options that the claim itself states.
    """
    _check_promise(claim)
    if kind_of(claim):
        raise NoAuditError(f"{kind_of(claim)}{EVENT}")
    chosen: dict[str, Any] = {**claim.audit, **options}
    claim = _in_doubles(claim)
    if claim.outside:
        executor = chosen.pop("executor", None)
        about = {} if claim.arithmetic == ARITHMETIC[0] else {"arithmetic": claim.arithmetic}
        return _audit_outside(claim, executor=executor if elsewhere else None, **about, **chosen)
    promised: dict[str, Any] = {
        "curve": claim.guarantee,
        "delta": claim.delta,
        "claim": claim.name,
        "replay": _again(claim),
    }
    found = audit_mechanism(claim.mechanism, claim.parameters, claim.adjacency, **promised, **chosen)
    return replace(found, arithmetic=claim.arithmetic)


def _in_doubles(claim: Claim) -> Claim:
    """Return the claim with its numbers as doubles.

    The implementation uses them, and a witness stores them.
    """

    def plain(table: Mapping[str, object]) -> dict[str, Any]:
        return {key: float(value) if isinstance(value, Written) else value for key, value in table.items()}

    return replace(claim, promise=plain(claim.promise), parameters=plain(claim.parameters))


def _audit_outside(claim: Claim, **options: Any) -> Evidence:
    """Audit a user's callable or command on the pairs given by the claim's ``neighbours`` or ``data``."""
    from dpproof.audits.targets.named import Named

    target = claim.mechanism if claim.command is None else claim.command
    if options["executor"] is not None:
        _check_shared(claim)
    asked: dict[str, Any] = {"further": 0.0 if options.get("sharpen") else FURTHER}
    asked |= {name: options.pop(name) for name in PLANNED if name in options}
    with _contained(claim.name):
        named = Named(claim.promise, claim.adjacency, target, claim.neighbours or "", options, claim.data)
        return named.audit(AuditPlan(claim=claim.name, **asked))


@contextlib.contextmanager
def _contained(name: str) -> Iterator[None]:
    """Convert an exception such as SystemExit from a user's code to a ValueError.

    Other audits can then continue. Ordinary exceptions, an interrupt by the user, and the end of the time
    budget pass unchanged.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, OutOfTimeError):
        raise
    except BaseException as error:
        raise ValueError(f"{name} raised {type(error).__name__}: {error}") from error


def _check_shared(claim: Claim) -> None:
    """Refuse a callable, or inputs, that cannot be pickled and sent to other processes.

    Raises:
        ValueError: naming the callable.
    """
    from dpproof.audits.targets.named import inputs_of, load

    try:
        inputs = inputs_of(claim.neighbours or "", claim.data, claim.adjacency, claim.audit.get("bounds"))
        pickle.dumps((inputs, claim.command or load(claim.mechanism)))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        why = f"or its input cannot be sent to other processes ({error})"
        raise ValueError(
            f"mechanism ({claim.mechanism!r}) {why}. Leave out --workers and --cluster."
        ) from error


def _again(claim: Claim) -> dict[str, Any]:
    """Return the data that a witness needs for a replay of a claim's audit."""
    return {"audit": "claim", "claim": entry_of(claim)}


def replay(witness: Mapping[str, Any]) -> Evidence:
    """Repeat the audit that a witness (the JSON record of a finding) describes, and return the same finding.

    Raises:
        ValueError: the witness does not say how to repeat the audit, or the new result differs from it.
    """
    claimed = witness["replay"].get("audit") == "claim"
    return again(witness, _claim_again if claimed else None)


def _claim_again(witness: Mapping[str, Any]) -> Evidence:
    how = witness["replay"]
    claim = claim_from(how.get("claim"))
    check_auditable(claim)
    asked = {name: witness[name] for name in ("seed", "alpha")}
    return audit_claim(
        claim, **asked, budget=how["budget"], sharpen=how["sharpen"], further=how.get("further", 0.0)
    )


def check_ready(claim: Claim) -> None:
    """Check, before any work, that a claim's mechanism, parameters, neighbouring relation and callables exist.

    Raises:
        ValueError: the claim is invalid; the message names the value and the rule.
    """
    if kind_of(claim):
        with _contained(claim.mechanism), _left_to_the_account():
            _check_event(claim)
        return
    if not claim.outside:
        accountant = accountant_for(claim.mechanism)
        parameters = accountant.parameters.read(claim.parameters)
        check_run(parameters)
        with _left_to_the_account():
            accountant.account(parameters, claim.adjacency)
        _refuse_audit_keys(claim, claim.audit.keys() - {"budget"}, "for a mechanism of this project")
        for name, value in (("neighbours", claim.neighbours), ("data", claim.data)):
            if value is not None:
                raise ValueError(f"{name} ({value!r}) must be left out for {claim.mechanism}.{OWN}")
        return
    if claim.parameters:
        raise ValueError(
            f"parameters ({', '.join(claim.parameters)}) must be left out for a callable or a command"
        )
    if (claim.neighbours is None) == (claim.data is None):
        raise ValueError(
            "Give either data or neighbours, and not both. data names your data. neighbours names a callable "
            "that returns the two inputs."
        )
    if claim.data is None:
        _refuse_audit_keys(claim, ("bounds",), "unless data are given")
    if claim.command is None:
        _refuse_audit_keys(claim, ("timeout",), "for a callable")
        _check_callable(claim.mechanism, "mechanism")
    else:
        _refuse_audit_keys(claim, ("vary",), "for a command")
        if shutil.which(claim.command[0]) is None:
            raise ValueError(
                f"command ({claim.command[0]!r}) must be the path of a program, or the name of one on PATH"
            )
    if claim.neighbours is not None:
        _check_callable(claim.neighbours, "neighbours")
    if claim.data is not None:
        _loaded(claim.data, "data")


@contextlib.contextmanager
def _left_to_the_account() -> Iterator[None]:
    """Pass only a ValueError, which refuses the claim.

    The claim's account meets any other exception again. Then the claim is not certified, and others are checked.
    """
    try:
        yield
    except ValueError:
        raise
    except Exception:
        pass


def _check_event(claim: Claim) -> None:
    """Refuse an invalid event, and claim keys that have no meaning for an event."""
    if claim.parameters or claim.audit or claim.neighbours or claim.data:
        raise ValueError(f"parameters, neighbours, data and audit must be left out beside {kind_of(claim)}")
    guarantee_of_event(claim)


def _refuse_audit_keys(claim: Claim, keys: Iterable[str], where: str) -> None:
    for key in sorted(keys):
        if key in claim.audit:
            raise ValueError(f"audit: {key} ({claim.audit[key]!r}) must be left out {where}")


def _loaded(target: str, label: str) -> Any:
    from dpproof.audits.targets.named import load

    with _contained(target):
        return load(target, label)


def _check_callable(target: str, label: str) -> None:
    found = _loaded(target, label)
    if not callable(getattr(found, "sample", found)):
        raise ValueError(f"{label} ({target!r}) must name a function, or an object that can be called")


def _check_promise(claim: Claim) -> None:
    """Refuse a promise that no sample can refute, or a trust model that hides what an audit sees."""
    seen = _seen(claim)
    if not implies(claim.trust, seen):
        why = (
            f"An audit sees all that the {seen.value} model reveals, and this claim does not cover all of it."
        )
        raise NoAuditError(f"trust ({claim.trust.value!r}) must be {seen.value!r} for an audit. {why}")
    if LIMIT < claim.guarantee.epsilon(0).upper < float("inf"):
        raise NoAuditError(f"epsilon ({claim.epsilon!r}) must be at most {LIMIT:g} for an audit")


def _seen(claim: Claim) -> TrustModel:
    """Return the trust model of an adversary who sees everything that the mechanism releases.

    An audit samples exactly this.

    A user's noisy counts, or shuffled messages, are more than what a curator publishes of them. A promise
    about the published values is not refuted by an event that distinguishes two users in those counts.
    """
    if claim.outside:
        return TrustModel.CENTRAL
    accountant = accountant_for(claim.mechanism)
    return accountant.account(accountant.parameters.read(claim.parameters), claim.adjacency).trust


def check_auditable(claim: Claim) -> None:
    """Run ``check_ready``, and also check that dpproof can audit the claim.

    Raises:
        ValueError: the claim is invalid, or no audit of it exists; the message names the reason.
    """
    check_ready(claim)
    _check_promise(claim)
    if kind_of(claim):
        raise NoAuditError(f"{kind_of(claim)}{EVENT}")
    if not claim.outside:
        parameters = doubles(accountant_for(claim.mechanism).parameters.read(claim.parameters))
        _target(claim.mechanism, parameters, claim.adjacency)


def _file_name(claim: str) -> str:
    """Return a file name for a claim. If its own name is not usable, a digest makes the file name unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", claim)[:80]
    return plain if plain == claim else f"{plain}-{hashlib.sha256(claim.encode()).hexdigest()[:8]}"


def witness_file(evidence: Evidence, folder: Path) -> Path:
    """Return the path of the JSON file, in this folder, for the witness (the record) of a finding."""
    return folder / f"{_file_name(evidence.claim)}.json"


def write_witness(evidence: Evidence, folder: Path) -> Path:
    """Write the witness (the record of a finding) as a JSON file, and return its path.

    If writing fails, no partial file is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = witness_file(evidence, folder)
    write_whole(path, json_text(evidence.witness()))
    return path
