"""``dpproof audit``: evidence from running implementations on neighbouring data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit
from rich.console import Console
from rich.markup import escape

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.answers import as_json
from dpproof.answers import audit as auditing
from dpproof.answers.audit import AuditOptions
from dpproof.answers.replay import replayed_file
from dpproof.audits.engine.sampling.progress import watched
from dpproof.audits.engine.scores.names import SCORE_NAMES, check_scores
from dpproof.audits.plan import FURTHER
from dpproof.audits.time_budget import OutOfTimeError, check_time, ending_at
from dpproof.claim_file import read_all
from dpproof.cli import show
from dpproof.cli.corpus import audit_corpus, kept, progress_of
from dpproof.cli.importing import import_from
from dpproof.cli.mechanism_flags import TakesFlags, values_of
from dpproof.cli.options import (
    CLUSTER,
    JOURNAL,
    JSON,
    PATH,
    SEED,
    check_folder,
    or_file,
    relations,
)
from dpproof.executors import executor_for, journal_at

if TYPE_CHECKING:
    from dpproof.audits.plan import Asked
    from dpproof.audits.recording.evidence import Evidence

ALPHA = "probability of a false alarm or a false bound"
STATED = (
    f"where epsilon is stated; unless given {auditing.DELTA:g}, or 0 for a pure guarantee; not for a file"
)
VIEW = (
    "of selective-dpsgd: what is seen of the training as it is run, with torch: step, trace, final, canaries;"
    " the pair that attains its guarantee without it"
)
DATA = (
    "Your data, package.module:name, or a callable that gives them; dpproof makes extreme neighbours of them."
)
PLOT = "Write the picture of the first violation to this file: the histograms on both inputs, and the event."
SHARPEN = "spend the whole budget also after a violation, for a larger epsilon"
SCORES = f"what is looked at, instead of the scores that suit the outputs: {', '.join(SCORE_NAMES)}"
SEEDED = (
    "whether all randomness of a callable or a command comes from the seed it is given; it does unless told"
)
FAILURES = "a call that raises ends the audit (error), or its exception's type is an output (token)"
REAL = "real: what only floating-point bits refute ends with 0; for a callable"
WORKERS = "processes to share the work; unless given one for each core for the corpus, otherwise this one"


@dataclass(frozen=True)
class _Promise:
    """What the command line says of a promise; None where it says nothing."""

    epsilon: float | None
    delta: float | None
    adjacency: str | None
    neighbours: str | None
    arithmetic: str | None
    data: str | None


Job = tuple[str, Callable[..., "Evidence"]]
"""A claim's name, and its audit."""
NO_PROMISE = "--epsilon is missing: a callable is audited against a promise"
NO_NEIGHBOURS = (
    "--data is missing: data must name your data; or neighbours a callable that gives the two inputs"
)


@click.command(cls=TakesFlags, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@click.argument("target", required=False, shell_complete=or_file(*CATALOGUE, "corpus"))
@click.option("--adjacency", shell_complete=relations, help="Neighbouring relation; not for a file.")
@click.option("--delta", type=float, help=STATED)
@click.option("--epsilon", type=float, help="The promise; a mechanism's own guarantee without it.")
@click.option("--data", help=DATA)
@click.option("--neighbours", help="Callable that gives the two inputs.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help=ALPHA)
@click.option("--budget", type=int, help="The most samples to draw.")
@click.option("--seed", type=int, default=0, show_default=True, help=SEED)
@click.option("--sharpen", is_flag=True, help=SHARPEN)
@click.option("--view", help=VIEW)
@click.option("--only", help="Of the corpus, the cases whose names hold this.")
@click.option("--workers", type=int, help=WORKERS)
@click.option("--cluster", help=CLUSTER)
@click.option("--journal", type=PATH, help=JOURNAL)
@click.option("--witnesses", type=PATH, help="Folder to write witnesses of violations to.")
@click.option("--plot", type=PATH, help=PLOT)
@click.option("--replay", type=PATH, help="Run a finding again from its witness.")
@click.option("--scores", help=SCORES, metavar="NAME[,NAME]")
@click.option("--seeded/--not-seeded", default=None, help=SEEDED)
@click.option("--failures", help=FAILURES, metavar="error|token")
@click.option("--arithmetic", help=REAL, metavar="|".join(ARITHMETIC))
@JSON
@click.pass_context
def audit(
    context: click.Context,
    target: str | None,
    adjacency: str | None,
    delta: float | None,
    epsilon: float | None,
    data: str | None,
    neighbours: str | None,
    alpha: float,
    budget: int | None,
    seed: int,
    sharpen: bool,
    view: str | None,
    only: str | None,
    workers: int | None,
    cluster: str | None,
    journal: Path | None,
    witnesses: Path | None,
    plot: Path | None,
    replay: Path | None,
    scores: str | None,
    seeded: bool | None,
    failures: str | None,
    arithmetic: str | None,
    json: bool,
) -> None:
    """Run an implementation on neighbouring data and look for a violation of its claim.

    TARGET is a claim file, a mechanism's name (then its flags, as in account), package.module:callable, or corpus.
    """
    check_folder("witnesses", witnesses)
    options: AuditOptions = {"alpha": alpha, "seed": seed}
    if budget is not None:
        options["budget"] = budget
    promise = _Promise(epsilon, delta, adjacency, neighbours, arithmetic, data)
    told = _told(scores, seeded, failures)
    if cluster is not None:
        _refuse({"workers": workers}, [], "with --cluster")
    if replay is not None:
        own = {"target": target, "budget": budget, "sharpen": sharpen or None, "only": only, "view": view}
        shared = {"journal": journal, "workers": workers, "cluster": cluster}
        _refuse({**own, **shared, **vars(promise), **told}, context.args, "with --replay")
        _replay(replay, witnesses, json)
    if target != auditing.VIEWED or epsilon is not None:
        _refuse({"view": view}, [], f"for anything but {auditing.VIEWED} against its own guarantee")
    if target == "corpus":
        _refuse({**vars(promise), **told, "sharpen": sharpen or None}, context.args, "for the corpus")
        with journal_at(journal):
            asked: Asked = {"seed": seed, "alpha": alpha}
            if budget is not None:
                asked["budget"] = budget
            audit_corpus(asked, only, workers, cluster, witnesses, json)
    _refuse({"only": only}, [], "for anything but the corpus")
    if target is None:
        raise ValueError("target: give a claim file, a mechanism's name, corpus, or --replay WITNESS")
    if sharpen:
        options["sharpen"] = True
    if view is not None:
        options["view"] = view
    stated = context.get_parameter_source("alpha")
    own_alpha = None if stated is None or stated.name == "DEFAULT" else alpha
    jobs, seconds = _jobs(target, context.args, promise, options, told, own_alpha)
    with journal_at(journal), executor_for(1 if workers is None else workers, cluster) as executor:
        _finish(_run(jobs, seconds, executor, witnesses), json, plot, witnesses)


def _finish(found: Iterable[Evidence | str], json: bool, plot: Path | None, witnesses: Path | None) -> None:
    """Print what was found, and what claimed epsilons assume of arithmetic; then exit.

    The exit code is 1 if a claim is violated, and 3 if time was too short for one.
    """
    with recorded() as used:
        every = list(found)
    late = [one for one in every if isinstance(one, str)]
    audits = [one for one in every if not isinstance(one, str)]
    body = as_json.audits(audits, used, late)
    pictured = [one for one in audits if one.shown is not None]
    if plot is not None and pictured:
        pictured[0].plot().savefig(plot)

    def render(console: Console) -> None:
        show.audits(audits, used, console)
        _again(audits, witnesses, console)

    show.answer(body, json, render)
    violated = any(evidence.fails for evidence in audits)
    unfinished = late or any(evidence.unconfirmed for evidence in audits)
    raise Exit(1 if violated else 3 if unfinished else 0)


def _again(found: Sequence[Evidence], witnesses: Path | None, console: Console) -> None:
    """The commands that run the violations again, or how to have them."""
    for one in found:
        if one.verdict.violated and witnesses is not None:
            command = f"dpproof audit --replay {auditing.witness_file(one, witnesses)}"
            console.print(f"to run it again: {command}", markup=False, highlight=False, soft_wrap=True)
    if witnesses is None and any(one.verdict.violated for one in found):
        console.print("to be able to run it again, add --witnesses FOLDER", highlight=False, soft_wrap=True)


def _replay(path: Path, witnesses: Path | None, json: bool) -> None:
    """Run a finding again and end with what is found now: 1 for a violation, 0 if there is none (any more)."""
    with recorded() as used:
        found = replayed_file(path)
    if found.evidence.fails and witnesses is not None:
        auditing.write_witness(found.evidence, witnesses)

    def render(console: Console) -> None:
        show.audits([found.evidence], used, console)
        if found.news is not None:
            console.print(f"{path}: {found.news}", markup=False, soft_wrap=True)

    show.answer(as_json.replayed(found, used), json, render)
    raise Exit(1 if found.evidence.fails else 0)


def _refuse(given: Mapping[str, object], flags: list[str], where: str) -> None:
    """Refuse options that would say nothing, rather than leave them unread."""
    if flags:
        raise ValueError(f"option ({flags[0]!r}) must be left out {where}")
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} ({value!r}) must be left out {where}")


def _jobs(
    target: str,
    flags: list[str],
    promise: _Promise,
    options: AuditOptions,
    told: AuditOptions,
    alpha: float | None,
) -> tuple[list[Job], float | None]:
    """What to run, by name, and the seconds there are for it; everything is checked before anything runs."""
    if target in CATALOGUE:
        given = {"neighbours": promise.neighbours, "data": promise.data}
        _refuse(given, [], f"for {target}: it has hard inputs of its own")
        _refuse({**told, "arithmetic": promise.arithmetic}, [], f"for {target}, a mechanism of this project")
        values = values_of(target, flags)
        meant = accountant_for(target).adjacency
        _check_complete(_parameters_missing(target, values), _missing(promise, meant))
        relation = _relation(promise, target)
        stated = {} if promise.delta is None else {"delta": promise.delta}
        if promise.epsilon is not None:
            return [
                _promised(target, values, relation, {"epsilon": promise.epsilon, **stated}, options)
            ], None
        asked: dict[str, Any] = {**stated, **options}
        own = partial(auditing.audit_mechanism, target, values, relation, **asked)
        return [(target, own)], None
    if flags and (":" in target or Path(target).is_file()):
        raise ValueError(f"option ({flags[0]!r}) is unknown")
    if Path(target).is_file():
        _refuse(vars(promise), [], "for a claim file, which has its own")
        return _of_file(Path(target), options, told, alpha)
    if ":" not in target:
        known = (*CATALOGUE, "corpus")
        listed = f"{', '.join(known)}{nearest(target, known)}"
        rule = f"must be a claim file, package.module:callable, or one of: {listed}"
        raise ValueError(f"target ({target!r}) {rule}")
    claim = _callable_claim(target, promise)
    auditing.check_auditable(claim)
    further: AuditOptions = {} if "sharpen" in options else {"further": FURTHER}
    return [_of_claim(claim, {**options, **told, **further})], None


def _told(scores: str | None, seeded: bool | None, failures: str | None) -> AuditOptions:
    """What the command line says of the audit of callables and commands, checked."""
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
    return told


def _of_claim(claim: Claim, options: AuditOptions) -> Job:
    return claim.name, partial(auditing.audit_claim, claim, elsewhere=True, **options)


def _of_file(
    path: Path, options: AuditOptions, told: AuditOptions, alpha: float | None
) -> tuple[list[Job], float | None]:
    """The audits of a file under its budget, as `answers.claims.check_claims` splits it.

    What is told of callables and commands goes before what the file says of them. An ``alpha`` that was given
    on the command line takes the place of the file's: it is that of them all.
    """
    import_from(path.parent)
    reading = read_all(path, auditing.check_auditable)
    if reading.refusals:
        raise ValueError("\ndpproof: ".join(map(str, reading.refusals)))
    whole = reading.budget.alpha if alpha is None else alpha
    shared: AuditOptions = {**options, "alpha": whole / len(reading.claims)}
    outside: dict[bool, AuditOptions] = {True: {**shared, **told}, False: shared}
    if not any(claim.outside for claim in reading.claims):
        _refuse(told, [], "for a claim file without a callable or a command")
    return [_of_claim(claim, outside[claim.outside]) for claim in reading.claims], reading.budget.seconds


def _promised(
    name: str,
    values: Mapping[str, object],
    relation: Adjacency,
    stated: Mapping[str, float],
    options: AuditOptions,
) -> Job:
    """The audit of a mechanism against a promise, in the trust model of its own guarantee.

    At delta 0 unless told, if its own guarantee is pure.
    """
    accountant = accountant_for(name)
    own = accountant.account(accountant.parameters.read(values), relation)
    delta = 0.0 if own.guarantee.epsilon(0).upper < math.inf else auditing.DELTA
    claim = Claim(name, name, values, relation, {"delta": delta, **stated}, trust=own.trust)
    auditing.check_auditable(claim)
    return name, partial(auditing.audit_claim, claim, elsewhere=True, **options)


def _relation(promise: _Promise, name: str | None = None) -> Adjacency:
    """The relation that is given, or the one that a noise primitive is meant under."""
    meant = None if name is None else accountant_for(name).adjacency
    if promise.adjacency is not None:
        return Adjacency.of(promise.adjacency)
    assert meant is not None  # checked before
    return meant


def _missing(promise: _Promise, meant: Adjacency | None) -> list[str]:
    """The relation, where it is missing."""
    if promise.adjacency is not None or meant is not None:
        return []
    known = ", ".join(relation.value for relation in Adjacency)
    return [f"--adjacency is missing; there is no default: {known}"]


def _parameters_missing(name: str, values: Mapping[str, object]) -> list[str]:
    """A line for each parameter of a mechanism that is missing."""
    fields = accountant_for(name).parameters.fields()
    required = (field for field in fields if field.default is MISSING and field.name not in values)
    return [f"parameter ({field.name!r}) is missing: {field.metadata['domain']}" for field in required]


def _check_complete(*missing: list[str]) -> None:
    """Refuse what is incomplete, naming everything that is missing at once."""
    if any(missing):
        raise ValueError("; ".join(chain.from_iterable(missing)))


def _callable_claim(target: str, promise: _Promise) -> Claim:
    lacking = [*([] if promise.epsilon is not None else [NO_PROMISE]), *_missing(promise, None)]
    if lacking and promise.neighbours is promise.data is None:
        lacking.append(NO_NEIGHBOURS)
    _check_complete(lacking)
    delta = auditing.DELTA if promise.delta is None else promise.delta
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


def _run(
    jobs: list[Job], seconds: float | None, executor: Executor | None, witnesses: Path | None
) -> Iterator[Evidence | str]:
    """Run one job after the other; witnesses are written as violations come.

    Of a job that there is no time for, or that was cut off, the name comes out.
    """
    until = None if seconds is None else time.monotonic() + seconds

    with progress_of("auditing", len(jobs)) as progress:
        samples = progress.add_task("samples", total=None)

        def tell(drawn: int, budget: int) -> None:
            progress.update(samples, completed=drawn, total=budget)

        for name, job in jobs:
            progress.update(progress.task_ids[0], description=f"auditing {escape(name)}")
            try:
                with watched(tell), ending_at(until):
                    check_time()
                    found = job(executor=executor)
            except OutOfTimeError as error:
                click.echo(f"dpproof: {name}: not audited: {error}", err=True)
                yield name
            else:
                yield from kept([found], witnesses)
            progress.advance(progress.task_ids[0])
