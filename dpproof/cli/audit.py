"""``dpproof audit``: evidence from running implementations on neighbouring data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from click.core import ParameterSource
from click.exceptions import Exit
from rich.console import Console
from rich.markup import escape

from dpproof.accountant.catalogue import CATALOGUE
from dpproof.accountant.claims.claim import ARITHMETIC
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.answers import as_json
from dpproof.answers import audit as auditing
from dpproof.answers.audit import AuditOptions
from dpproof.answers.replay import replayed_file
from dpproof.audits.engine.bracket import SAMPLES
from dpproof.audits.engine.sampling.progress import watched
from dpproof.audits.engine.scores.names import SCORE_NAMES
from dpproof.audits.time_budget import OutOfTimeError, check_time, ending_at, one_of
from dpproof.cli import show
from dpproof.cli.audit_jobs import Job, Promise, jobs_of, mechanism_of, refuse, told_of
from dpproof.cli.corpus import audit_corpus, kept, progress_of
from dpproof.cli.mechanism_flags import TakesFlags
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
    from dpproof.audits.recording.evidence import Evidence

ALPHA = "probability of a false alarm or a false bound"
STATED = (
    f"delta of the claim; unless given 0, or {auditing.DELTA:g} for a mechanism of dpproof without a pure guarantee; "
    "not for a file"
)
VIEW = (
    "of selective-dpsgd: what is seen of the training as it is run, with torch: step, trace, final, canaries;"
    " the pair that attains its guarantee without it; with --training: one run (unless given), black box, sizes"
)
TRAINING = (
    "of dp-sgd: audit your own training function in torch or JAX, package.module:name, against the claim of these"
    " parameters; the name is that of functools.partial(dpproof.audit_training, train, model, records)"
)
DATA = (
    "Your data, package.module:name, or a callable that gives them; dpproof makes extreme neighbours of them."
)
BOUNDS = (
    "The smallest and the largest number of a record; unless given, only the records of --data are tried."
)
PLOT = "Write the picture of the first violation to this file: the histograms on both inputs, and the event."
SHARPEN = "spend the whole budget also after a violation, for a larger epsilon"
BRACKET = (
    "of a mechanism: draw the whole budget (100,000 samples unless given), and print a measured lower bound on epsilon"
    " beside the certified upper bound"
)
SCORES = f"what is looked at, instead of the scores that suit the outputs: {', '.join(SCORE_NAMES)}"
SEEDED = (
    "whether all randomness of a callable or a command comes from the seed it is given; it does unless told"
)
FAILURES = "a call that raises ends the audit (error), or its exception's type is an output (token)"
VARY = (
    "Values of a parameter that the function takes as a keyword, such as bins=2,8, or a range such as clip=0.5..4;"
    " may be given several times. Every combination is audited."
)
TIMING = "count the running time of each call as a part of its output; for a callable or a command"
REAL = "real: what only floating-point bits refute ends with 0; for a callable"
SECONDS = "time for all audits, instead of that of a claim file; a slow function gets as many samples as fit into it"
WORKERS = "processes to share the work; unless given one for each core for the corpus, otherwise this one"


@click.command(cls=TakesFlags, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@click.argument("target", required=False, shell_complete=or_file(*CATALOGUE, "corpus"))
@click.option("--adjacency", shell_complete=relations, help="Neighbouring relation; not for a file.")
@click.option("--delta", type=float, help=STATED)
@click.option("--epsilon", type=float, help="The promise; a mechanism's own guarantee without it.")
@click.option("--data", help=DATA)
@click.option("--neighbours", help="Callable that gives the two inputs.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help=ALPHA)
@click.option("--budget", type=int, help="The most samples to draw.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help=SECONDS)
@click.option("--seed", type=int, default=0, show_default=True, help=SEED)
@click.option("--sharpen", is_flag=True, help=SHARPEN)
@click.option("--bracket", is_flag=True, help=BRACKET)
@click.option("--view", help=VIEW)
@click.option("--training", help=TRAINING)
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
@click.option("--bounds", type=float, nargs=2, help=BOUNDS, metavar="LOW HIGH")
@click.option("--vary", multiple=True, help=VARY, metavar="NAME=VALUE[,VALUE]")
@click.option("--timing", is_flag=True, help=TIMING)
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
    seconds: float | None,
    seed: int,
    sharpen: bool,
    bracket: bool,
    view: str | None,
    training: str | None,
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
    bounds: tuple[float, float] | None,
    vary: tuple[str, ...],
    timing: bool,
    arithmetic: str | None,
    json: bool,
) -> None:
    """Run an implementation on neighbouring data and look for a violation of its claim.

    TARGET is a claim file, a mechanism's name (then its flags, as in account), package.module:callable, or corpus.
    """
    check_folder("witnesses", witnesses)
    options = _options(alpha, seed, budget, sharpen, view)
    promise = Promise(epsilon, delta, adjacency, neighbours, arithmetic, data, training)
    told = told_of(scores, seeded, failures, bounds, vary, timing)
    if bracket:
        _bracket(context, promise, told, options)
    refuse({"workers": None if cluster is None else workers}, [], "with --cluster")
    late = {"sharpen": sharpen or None, "seconds": seconds}
    if replay is not None:
        own = {"target": target, "budget": budget, **late, "only": only, "view": view}
        shared = {"journal": journal, "workers": workers, "cluster": cluster}
        refuse({**own, **shared, **vars(promise), **told}, context.args, "with --replay")
        _replay(replay, witnesses, json)
    if training is None and (target != auditing.VIEWED or epsilon is not None):
        refuse({"view": view}, [], f"with --epsilon, and for any target except {auditing.VIEWED}")
    if target == "corpus":
        refuse({**vars(promise), **told, **late}, context.args, "if the target is corpus")
        audit_corpus({"seed": seed, "alpha": alpha}, budget, journal, only, workers, cluster, witnesses, json)
    refuse({"only": only}, [], "unless the target is corpus")
    if training is not None:
        refuse({"seconds": seconds, "workers": workers, "cluster": cluster}, [], "with --training")
    own_alpha = alpha if _is_stated(context, "alpha") else None
    jobs, of_file = jobs_of(target, context.args, promise, options, told, own_alpha)
    limit = of_file if seconds is None else seconds
    with journal_at(journal), executor_for(1 if workers is None else workers, cluster) as executor:
        _finish(_run(jobs, limit, executor, witnesses), json, plot, witnesses)


def _options(alpha: float, seed: int, budget: int | None, sharpen: bool, view: str | None) -> AuditOptions:
    """Return the options of an audit without those that were not given."""
    options: AuditOptions = {"alpha": alpha, "seed": seed}
    if budget is not None:
        options["budget"] = budget
    if sharpen:
        options["sharpen"] = True
    if view is not None:
        options["view"] = view
    return options


def _is_stated(context: click.Context, name: str) -> bool:
    """Return whether an option was given, and does not have its default."""
    return context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)


_NOT_WITH_BRACKET = (
    "epsilon", "sharpen", "view", "only", "plot", "seconds", "workers", "cluster", "journal", "witnesses", "replay"
)  # fmt: skip


def _bracket(context: click.Context, promise: Promise, told: AuditOptions, options: AuditOptions) -> NoReturn:
    """Print both bounds on epsilon. Exit with 1 if the measured lower bound is above the certified upper one."""
    refuse({name: context.params[name] or None for name in _NOT_WITH_BRACKET}, [], "with --bracket")
    target = context.params["target"]
    if target not in CATALOGUE:
        raise ValueError(f"target ({target!r}) must be the name of a mechanism with --bracket")
    values, relation = mechanism_of(target, context.args, promise, told)
    samples = options.get("budget", SAMPLES)
    with recorded() as used:
        found = auditing.bracket_mechanism(
            target, values, relation, promise.delta,
            alpha=options["alpha"], seed=options["seed"], samples=samples,
        )  # fmt: skip

    def render(console: Console) -> None:
        console.print(str(found), markup=False, highlight=False, soft_wrap=True)

    show.answer(as_json.bracketed(found, used), context.params["json"], render)
    raise Exit(1 if found.violated else 0)


def _finish(found: Iterable[Evidence | str], json: bool, plot: Path | None, witnesses: Path | None) -> None:
    """Print the findings, and the assumptions of claimed epsilons on the arithmetic. Then exit.

    The exit code is 1 if a claim is violated, and 3 if the time was too short for an audit.
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
    """Print the commands that repeat the audits with a violation, or how to get such commands."""
    for one in found:
        if one.verdict.violated and witnesses is not None:
            command = f"dpproof audit --replay {auditing.witness_file(one, witnesses)}"
            console.print(f"to run it again: {command}", markup=False, highlight=False, soft_wrap=True)
    if witnesses is None and any(one.verdict.violated for one in found):
        console.print("to be able to run it again, add --witnesses FOLDER", highlight=False, soft_wrap=True)


def _replay(path: Path, witnesses: Path | None, json: bool) -> None:
    """Run the audit of a finding again. Exit with 1 if it finds a violation now, and with 0 otherwise."""
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


def _run(
    jobs: list[Job], seconds: float | None, executor: Executor | None, witnesses: Path | None
) -> Iterator[Evidence | str]:
    """Run one job after the other. The witness of a violation is written as soon as it is found.

    If the time ends before or during a job, its name is yielded instead of its evidence.
    """
    until = None if seconds is None else time.monotonic() + seconds

    with progress_of("auditing", len(jobs)) as progress:
        samples = progress.add_task("samples", total=None)

        def tell(drawn: int, budget: int) -> None:
            progress.update(samples, completed=drawn, total=budget)

        for place, (name, job) in enumerate(jobs):
            progress.update(progress.task_ids[0], description=f"auditing {escape(name)}")
            try:
                with watched(tell), ending_at(until), one_of(len(jobs) - place):
                    check_time()
                    found = job(executor=executor)
            except OutOfTimeError as error:
                click.echo(f"dpproof: {name}: not audited: {error}", err=True)
                yield name
            else:
                yield from kept([found], witnesses)
            progress.advance(progress.task_ids[0])
