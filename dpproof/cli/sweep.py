"""``dpproof audit sweep``: audits of all private mechanisms of an installed package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit
from rich.console import Console

from dpproof.accountant.numbers.written import finite, write_whole
from dpproof.answers.as_json import envelope
from dpproof.audits.sweep import record as records
from dpproof.audits.sweep.coverage import answer_on
from dpproof.audits.sweep.record import Record
from dpproof.audits.sweep.sweeping import ALPHA, SECONDS, Swept, sweep
from dpproof.audits.sweep.table import package_named
from dpproof.cli import show
from dpproof.cli.corpus import progress_of
from dpproof.cli.layout import print_table, table
from dpproof.cli.options import CLUSTER, JSON, PATH, SEED
from dpproof.executors import executor_for

ALPHA_HELP = (
    "Largest probability that the whole sweep reports a false violation. All claims share it equally."
)
RECORD = "Write the answers to this record. Answers on other claims in it stay."
REPLAY = "Run the recorded violations again, from their witnesses, instead of a sweep."


@click.command("sweep")
@click.argument("package")
@click.option("--only", default="", help="Audit only mechanisms whose name contains this text.")
@click.option("--alpha", type=float, default=ALPHA, show_default=True, help=ALPHA_HELP)
@click.option("--seed", type=int, default=0, show_default=True, help=SEED)
@click.option("--seconds", type=float, default=SECONDS, show_default=True, help="Time budget of each claim.")
@click.option("--power/--no-power", default=True, help="Measure what the audits would have found.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes."
)
@click.option("--cluster", help=CLUSTER)
@click.option("--record", type=PATH, help=RECORD)
@click.option("--replay", is_flag=True, help=REPLAY)
@JSON
def audit_sweep(
    package: str, only: str, alpha: float, seed: int, seconds: float, power: bool, workers: int,
    cluster: str | None, record: Path | None, replay: bool, json: bool,
) -> None:  # fmt: skip
    """Audit the private mechanisms of an installed PACKAGE under every relation that its documentation could mean."""
    if replay:
        _check_installed(package)
        _replay(records.recorded(package) if record is None else records.read(record), only, json)
    if cluster is not None and workers > 1:
        raise ValueError(f"workers ({workers}) must be left out with --cluster.")
    claims = package_named(package).claims
    wanted = sum(only in entry.name for entry, _ in claims)
    if not wanted:
        raise ValueError(f"only ({only!r}) must be part of the name of a mechanism of {package}")
    _check_installed(package)
    found: list[Swept] = []
    kept = _begun(package, seed, alpha, record)
    with executor_for(workers, cluster) as executor, progress_of(f"sweep of {package}", wanted) as progress:
        for one in sweep(
            package, seed=seed, alpha=alpha, seconds=seconds, only=only, power=power, executor=executor
        ):
            found.append(one)
            kept = kept.with_answers([one])
            if record is not None:
                write_whole(record, kept.text())
            progress.advance(progress.task_ids[0])
    rows = kept.with_answers(found)
    body = {**rows.about, "answer": answer_on(rows), "found": [_brief(one) for one in found]}
    show.answer(envelope(body), json, lambda console: _print(rows, found, console))
    raise Exit(1 if any(one.evidence is not None and one.evidence.fails for one in found) else 0)


def _begun(package: str, seed: int, alpha: float, path: Path | None) -> Record:
    """Return the record to which answers are added, which must belong to the installed version and the same seed."""
    begun = records.begun(package, seed, alpha)
    if path is None or not path.is_file():
        return begun
    known = records.read(path)
    for name in ("package", "files", "seed", "alpha", "claims"):
        if known.about[name] != begun.about[name]:
            raise ValueError(
                f"record ({str(path)!r}) is of another sweep: {name} was {known.about[name]!r} and is "
                f"{begun.about[name]!r}. Give another file."
            )
    return known


def _brief(one: Swept) -> dict[str, Any]:
    lower = None if one.evidence is None else finite(one.evidence.epsilon_lower)
    return {
        "mechanism": one.mechanism,
        "relation": one.relation.value,
        "verdict": one.verdict,
        "claimed_epsilon": one.epsilon,
        "epsilon_lower": lower,
        "samples": one.samples,
        "seconds": round(one.seconds, 1),
        "error": one.error,
    }


def _print(record: Record, found: Sequence[Swept], console: Console) -> None:
    for sentence in answer_on(record):
        console.print(sentence, markup=False, soft_wrap=True)
    rows = table("mechanism", "relation", "verdict", "epsilon at least", "samples", "seconds")
    for one in found:
        lower = "" if one.evidence is None else f"{one.evidence.epsilon_lower:.3g}"
        rows.add_row(
            one.mechanism, one.relation.value, one.verdict, lower, str(one.samples), f"{one.seconds:.1f}"
        )
    print_table(rows, console)


def _check_installed(package: str) -> None:
    """Raise ValueError with the command that installs a package if it is not installed."""
    try:
        metadata.version(package_named(package).name)
    except ImportError as error:
        known = records.recorded(package).about
        raise ValueError(
            f"package ({package!r}) must be installed. The recorded sweep is of version {known['version']}, with Python"
            f" {known['python']}: pip install {package}=={known['version']}"
        ) from error


def _replay(record: Record, only: str, json: bool) -> None:
    """Replay the violations of a record. The exit code is 1 if a witness gives another result."""
    about = record.about
    now = records.begun(about["package"], about["seed"], about["alpha"]).about
    same = now["files"] == about["files"]
    rows = [row for row in record.violations if only in row["mechanism"]]
    found = []
    with progress_of("replay", len(rows)) as progress:
        for row in rows:
            found.append((row, records.replayed(row)))
            progress.advance(progress.task_ids[0])
    differ = [
        {"mechanism": row["mechanism"], "relation": row["relation"], "why": why} for row, why in found if why
    ]
    words = [f"{len(found) - len(differ)} of {len(found)} recorded violations gave the same result again."]
    if not same:
        words.append(f"The record is of version {about['version']}, and the installed files are others.")
    words += [f"{one['mechanism']} ({one['relation']}): {one['why']}" for one in differ]
    body = {"package": about["package"], "replayed": len(found), "differ": differ, "same_files": same}

    def render(console: Console) -> None:
        for line in words:
            console.print(line, markup=False, soft_wrap=True)

    show.answer(envelope(body), json, render)
    raise Exit(1 if differ else 0)
