"""The audits that ``dpproof audit`` runs: of a mechanism, a claim file or a callable.

The functions here check all input before the first audit begins.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.decimals import doubles
from dpproof.accountant.claims.parameters import Ranges
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.answers import audit as auditing
from dpproof.answers.audit import AuditOptions
from dpproof.audits.data.schema import Between
from dpproof.audits.engine.scores.names import check_scores
from dpproof.audits.plan import AuditPlan
from dpproof.audits.target import leaf_target
from dpproof.audits.training.audited import Attack
from dpproof.audits.training.named_training import NamedTraining
from dpproof.claim_file import read_all
from dpproof.cli.importing import import_from
from dpproof.cli.mechanism_flags import values_of

if TYPE_CHECKING:
    from dpproof.audits.recording.evidence import Evidence


@dataclass(frozen=True)
class Promise:
    """The privacy promise that options state, and what it is about. An option that is not given is None."""

    epsilon: float | None
    delta: float | None
    adjacency: str | None
    neighbours: str | None
    arithmetic: str | None
    data: str | None
    training: str | None


Job = tuple[str, Callable[..., "Evidence"]]
"""A claim's name, and the function that audits it."""
NO_TARGET = (
    "target is missing. Give a claim file, a mechanism, package.module:callable, corpus, or --replay WITNESS."
)
NO_PROMISE = "--epsilon is missing. Give the epsilon that your function claims."
NO_NEIGHBOURS = (
    "--data is missing. Give --data with the name of your data, or --neighbours with the name of a callable "
    "that returns the two inputs."
)


def refuse(given: Mapping[str, object], flags: list[str], where: str) -> None:
    """Raise a ValueError if options are given that have no effect. ``where`` says for which target."""
    if flags:
        raise ValueError(f"option ({flags[0]!r}) must be left out {where}.")
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} ({value!r}) must be left out {where}.")


def jobs_of(
    target: str | None,
    flags: list[str],
    promise: Promise,
    options: AuditOptions,
    told: AuditOptions,
    alpha: float | None,
) -> tuple[list[Job], float | None]:
    """Return the audits to run, and the seconds for all of them (None: no limit), after checking all input."""
    if target is None:
        raise ValueError(NO_TARGET)
    if promise.training is not None:
        return [_of_training(target, flags, promise, options, told, promise.training)], None
    if target in CATALOGUE:
        values, relation = mechanism_of(target, flags, promise, told)
        stated = {} if promise.delta is None else {"delta": promise.delta}
        if promise.epsilon is not None:
            return [
                _promised(target, values, relation, {"epsilon": promise.epsilon, **stated}, options)
            ], None
        asked: dict[str, Any] = {**stated, **options}
        own = partial(auditing.audit_mechanism, target, values, relation, **asked)
        return [(target, own)], None
    if flags and (":" in target or Path(target).is_file()):
        raise ValueError(
            f"option ({flags[0]!r}) is unknown. Functions and claim files take no parameters on the command line."
        )
    if Path(target).suffix == ".py":
        raise ValueError(
            f"target ({target!r}) is a Python file. Name a function in it: {Path(target).stem}:FUNCTION"
        )
    if Path(target).is_file():
        refuse(vars(promise), [], "for a claim file. Set it in the file")
        return _of_file(Path(target), options, told, alpha)
    if ":" not in target:
        known = (*CATALOGUE, "corpus")
        rule = "must be an existing claim file, package.module:callable, or a mechanism. A mechanism"
        raise ValueError(f"target ({target!r}) {rule} {one_of(target, known)}")
    claim = _callable_claim(target, promise)
    auditing.check_auditable(claim)
    return [_of_claim(claim, {**options, **told})], None


def mechanism_of(
    name: str, flags: list[str], promise: Promise, told: AuditOptions
) -> tuple[Mapping[str, object], Adjacency]:
    """Return the parameters and the relation of a mechanism, after checking that nothing else is given.

    Raises:
        ValueError: an option is missing, or has no effect for mechanisms of dpproof.
    """
    given = {"neighbours": promise.neighbours, "data": promise.data}
    refuse(given, [], f"for {name}. dpproof chooses the inputs of its own mechanisms")
    own = {**told, "arithmetic": promise.arithmetic}
    refuse(own, [], f"for {name}. It applies only to your own functions and programs")
    values = values_of(name, flags)
    accountant = accountant_for(name)
    audited = leaf_target(name).relations or accountant.relations
    _check_complete(
        _parameters_missing(name, values), [] if accountant.adjacency else _missing(promise, audited)
    )
    return values, _relation(promise, name)


def told_of(
    scores: str | None,
    seeded: bool | None,
    failures: str | None,
    bounds: tuple[float, float] | None,
    vary: Sequence[str] = (),
    timing: bool = False,
) -> AuditOptions:
    """Return the checked command-line options for audits of callables and commands."""
    told: AuditOptions = {}
    if scores is not None:
        told["scores"] = scores.split(",")
        check_scores(told["scores"])
    if seeded is not None:
        told["seeded"] = seeded
    if failures not in (None, "error", "token"):
        raise ValueError(f"failures ({failures!r}) must be one of: error, token")
    if failures is not None:
        told["failures"] = failures
    if bounds is not None:
        if not Ranges().admits(bounds):
            raise ValueError(f"bounds ({bounds!r}) must be two finite numbers, low below high")
        told["bounds"] = list(bounds)
    if vary:
        told["vary"] = dict(map(_values_of, vary))
    if timing:
        told["timing"] = True
    return told


def _values_of(text: str) -> tuple[str, list[Any]]:
    """Return the name of a parameter and its values, from a text such as "bins=2,8" or "clip=0.5..4"."""
    name, equals, values = text.partition("=")
    low, dots, high = values.partition("..")
    try:
        found = list(Between(_typed(low), _typed(high)).grid) if dots else [*map(_typed, values.split(","))]
    except ValueError as wrong:
        raise ValueError(f"vary ({text!r}) must give a range LOW..HIGH of two numbers: {wrong}") from wrong
    if not name.isidentifier() or not equals or not values:
        raise ValueError(f"vary ({text!r}) must have the form NAME=VALUE[,VALUE] or NAME=LOW..HIGH")
    return name, found


def _typed(text: str) -> Any:
    """Return a text as a whole number, or as another number, if it is one."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _of_claim(claim: Claim, options: AuditOptions) -> Job:
    return claim.name, partial(auditing.audit_claim, claim, elsewhere=True, **options)


def _of_file(
    path: Path, options: AuditOptions, told: AuditOptions, alpha: float | None
) -> tuple[list[Job], float | None]:
    """Return the audits of a file under its budget, which is split as in `answers.claims.check_claims`.

    Options on the command line override those in the file, for callables and commands. An ``alpha`` on the
    command line replaces the file's alpha, and it is also shared by all audits.
    """
    import_from(path.parent)
    reading = read_all(path, auditing.check_auditable)
    if reading.refusals:
        raise ValueError("\ndpproof: ".join(map(str, reading.refusals)))
    whole = reading.budget.alpha if alpha is None else alpha
    shared: AuditOptions = {**options, "alpha": whole / len(reading.claims)}
    outside: dict[bool, AuditOptions] = {True: {**shared, **told}, False: shared}
    if not any(claim.outside for claim in reading.claims):
        refuse(told, [], "for a claim file without a callable or a command")
    return [_of_claim(claim, outside[claim.outside]) for claim in reading.claims], reading.budget.seconds


def _of_training(
    target: str, flags: list[str], promise: Promise, options: AuditOptions, told: AuditOptions, name: str
) -> Job:
    """Return the audit of a named training function against the claim of DP-SGD that the flags state.

    Raises:
        ValueError: the target is another mechanism, or an option is missing or has no effect.
    """
    if target not in CATALOGUE or accountant_for(target).parameters is not DPSGDParameters:
        raise ValueError(
            f"target ({target!r}) must be dp-sgd with --training. Its parameters state the claim."
        )
    values, relation = mechanism_of(target, flags, promise, told)
    refuse({"epsilon": promise.epsilon}, [], "with --training. The parameters of dp-sgd state the claim")
    if relation is not Adjacency.ADD_REMOVE or options.get("sharpen"):
        raise ValueError("--training audits under --adjacency add-remove, and without --sharpen.")
    attack = Attack(options.get("view", Attack.ONE_RUN))
    if attack is Attack.ONE_RUN:
        refuse({"budget": options.get("budget")}, [], "with --training and one run")
    audited = NamedTraining(name, attack, doubles(DPSGDParameters.read(values)))
    plan = AuditPlan(
        seed=options["seed"],
        alpha=options["alpha"],
        delta=promise.delta,
        budget=options.get("budget"),
        claim=name,
    )
    return name, lambda executor: audited.audit(plan)


def _promised(
    name: str,
    values: Mapping[str, object],
    relation: Adjacency,
    stated: Mapping[str, float],
    options: AuditOptions,
) -> Job:
    """Return the audit of a mechanism against a promise, in the trust model of its own guarantee.

    If no delta is given and the mechanism's own guarantee is pure, delta is 0.
    """
    accountant = accountant_for(name)
    own = accountant.account(accountant.parameters.read(values), relation)
    delta = 0.0 if own.guarantee.epsilon(0).upper < math.inf else auditing.DELTA
    claim = Claim(name, name, values, relation, {"delta": delta, **stated}, trust=own.trust)
    auditing.check_auditable(claim)
    return name, partial(auditing.audit_claim, claim, elsewhere=True, **options)


def _relation(promise: Promise, name: str | None = None) -> Adjacency:
    """Return the given relation, or the default relation of the mechanism."""
    meant = None if name is None else accountant_for(name).adjacency
    if promise.adjacency is not None:
        return Adjacency.of(promise.adjacency)
    assert meant is not None  # checked before
    return meant


def _missing(promise: Promise, known: Iterable[Adjacency]) -> list[str]:
    """Return a message if the relation, which has no default, is missing. ``known`` are those to choose from."""
    if promise.adjacency is not None:
        return []
    listed = ", ".join(relation.value for relation in known)
    return [f"--adjacency is missing and has no default. Choose one of: {listed}."]


def _parameters_missing(name: str, values: Mapping[str, object]) -> list[str]:
    """Return a line for each missing parameter of a mechanism."""
    fields = accountant_for(name).parameters.fields()
    required = (field for field in fields if field.default is MISSING and field.name not in values)
    return [f"parameter ({field.name!r}) is missing. Give {field.metadata['domain']}." for field in required]


def _check_complete(*missing: list[str]) -> None:
    """Refuse incomplete input with one message that names everything missing."""
    if any(missing):
        raise ValueError(" ".join(chain.from_iterable(missing)))


def _callable_claim(target: str, promise: Promise) -> Claim:
    lacking = [*([] if promise.epsilon is not None else [NO_PROMISE]), *_missing(promise, Adjacency)]
    if promise.neighbours is promise.data is None:
        lacking.append(NO_NEIGHBOURS)
    _check_complete(lacking)
    delta = 0.0 if promise.delta is None else promise.delta
    assert promise.epsilon is not None  # checked above
    return Claim(
        target,
        target,
        {},
        _relation(promise),
        {"epsilon": promise.epsilon, "delta": delta},
        promise.neighbours,
        arithmetic=ARITHMETIC[0] if promise.arithmetic is None else promise.arithmetic,
        data=promise.data,
    )
