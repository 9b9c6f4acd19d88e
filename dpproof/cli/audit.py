"""``dpproof audit``: evidence from running implementations on neighbouring data."""

from __future__ import annotations

import json as json_module
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from accountant.accounted import CATALOGUE, accountant_for
from accountant.adjacency import Adjacency
from accountant.claims import Claim
from dpproof import answers, auditing
from dpproof.claim_file import read_claims
from dpproof.cli import show
from dpproof.cli.options import JSON, check_folder, read_text

if TYPE_CHECKING:
    from audits.evidence import Evidence

__all__ = ["audit"]


TARGET = "a claim file, a mechanism's name (then its flags, as in account), package.module:callable, corpus"


def audit(
    context: typer.Context,
    target: Annotated[str | None, typer.Argument(help=TARGET)] = None,
    adjacency: Annotated[str | None, typer.Option(help="neighbouring relation; not for a file")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help=f"where epsilon is stated; {auditing.DELTA:g} unless given, not for a file"),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="the promise, for a callable")] = None,
    neighbours: Annotated[str | None, typer.Option(help="callable that gives the two inputs")] = None,
    alpha: Annotated[float, typer.Option(help="probability of a false alarm or a false bound")] = 0.01,
    budget: Annotated[int | None, typer.Option(help="the most samples to draw")] = None,
    seed: Annotated[int, typer.Option(help="everything random derives from it")] = 0,
    witnesses: Annotated[Path | None, typer.Option(help="folder to write witnesses of violations to")] = None,
    replay: Annotated[Path | None, typer.Option(help="run a finding again from its witness")] = None,
    json: JSON = False,
) -> None:
    """Run an implementation on neighbouring data and look for a violation of its claim."""
    check_folder("witnesses", witnesses)
    options: dict[str, Any] = {"alpha": alpha, "seed": seed}
    if budget is not None:
        options["budget"] = budget
    promise = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "neighbours": neighbours}
    if replay is not None:
        _refuse({"target": target, "budget": budget, **promise}, context.args, "with --replay")
        found, failed = [_replayed(replay)], None
    elif target is None:
        raise ValueError("target: give a claim file, a mechanism's name, corpus, or --replay WITNESS")
    elif target == "corpus":
        _refuse(promise, context.args, "for the corpus")
        found, failed = _corpus(options)
    else:
        found, failed = list(_run(_jobs(target, context.args, promise, options))), None
    if witnesses is not None:
        for evidence in (found_one for found_one in found if found_one.verdict.value == "violation"):
            auditing.write_witness(evidence, witnesses)
    show.either(answers.envelope({"audits": [e.as_json() for e in found]}), json, show.audits)
    violated = any(evidence.verdict.value == "violation" for evidence in found)
    raise typer.Exit(1 if (violated if failed is None else failed) else 0)


def _refuse(given: Mapping[str, Any], flags: list[str], where: str) -> None:
    """Refuse options that would say nothing, rather than leave them unread."""
    if flags:
        raise ValueError(f"option ({flags[0]!r}) must be left out {where}")
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} ({value!r}) must be left out {where}")


def _jobs(
    target: str, flags: list[str], promise: Mapping[str, Any], options: dict[str, Any]
) -> list[tuple[str, Callable[[], Evidence]]]:
    """What to run, by name; everything is checked before anything runs."""
    if target in CATALOGUE:
        without = {name: promise[name] for name in ("epsilon", "neighbours")}
        _refuse(without, [], f"for {target}: it is audited against its own guarantee")
        values, relation = _values(target, flags), _relation(promise)
        run = {"delta": auditing.DELTA if promise["delta"] is None else promise["delta"], **options}
        return [(target, lambda: auditing.audit_mechanism(target, values, relation, **run))]
    if flags:
        raise ValueError(f"option ({flags[0]!r}) is unknown")
    if Path(target).is_file():
        _refuse(promise, [], "for a claim file, which has its own")
        claims = read_claims(Path(target), auditing.check_auditable)
        return [(claim.name, partial(auditing.audit_claim, claim, **options)) for claim in claims]
    if ":" in target:
        claim = _callable_claim(target, promise)
        auditing.check_auditable(claim)
        return [(target, lambda: auditing.audit_callable(claim, **options))]
    known = ", ".join((*CATALOGUE, "corpus"))
    raise ValueError(f"target ({target!r}) must be a claim file, package.module:callable, or one of: {known}")


def _relation(promise: Mapping[str, Any]) -> Adjacency:
    if promise["adjacency"] is None:
        raise ValueError("--adjacency is missing; there is no default")
    return Adjacency.of(promise["adjacency"])


def _callable_claim(target: str, promise: Mapping[str, Any]) -> Claim:
    if promise["epsilon"] is None:
        raise ValueError("--epsilon is missing: a callable is audited against a promise")
    delta = auditing.DELTA if promise["delta"] is None else promise["delta"]
    stated = {"epsilon": promise["epsilon"], "delta": delta}
    return Claim(target, target, {}, _relation(promise), stated, promise["neighbours"])


def _values(name: str, flags: list[str]) -> dict[str, Any]:
    """``--name value`` and ``--name=value``, read by the kind of the mechanism's field."""
    known = {f"--{field.name.replace('_', '-')}": field for field in accountant_for(name).parameters.fields()}
    values: dict[str, Any] = {}
    words = [word for flag in flags for word in (flag.split("=", 1) if flag.startswith("--") else [flag])]
    while words:
        flag = words.pop(0)
        if flag not in known:
            raise ValueError(f"option ({flag!r}) must be one of: {', '.join(known)}")
        if not words:
            raise ValueError(f"option ({flag!r}) must have a value: {known[flag].metadata['domain']}")
        values[known[flag].name] = read_text(known[flag], words.pop(0))
    return values


def _run(jobs: list[tuple[str, Callable[[], Evidence]]]) -> Iterable[Evidence]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("auditing", total=len(jobs))
        for name, job in jobs:
            progress.update(task, description=f"auditing {escape(name)}")
            yield job()
            progress.advance(task)


def _corpus(options: Mapping[str, Any]) -> tuple[list[Evidence], bool]:
    """All cases, and whether one of them missed the verdict it must reach."""
    cases = auditing.corpus_cases()
    found = list(_run([(case.name, partial(case.audit, **options)) for case in cases]))
    missed = [
        case for case, evidence in zip(cases, found, strict=True) if evidence.verdict is not case.expected
    ]
    for case in missed:
        typer.echo(f"dpproof: {case.name}: expected {case.expected.value}", err=True)
    return found, bool(missed)


def _replayed(path: Path) -> Evidence:
    try:
        witness = json_module.loads(path.read_text(encoding="utf-8"))
        return auditing.replay(_checked(witness))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a witness that replays: {error}") from error


_WITNESS = {"seed": int, "alpha": float, "delta": float, "replay": dict}
_REPLAY = {
    "rlsvi": {"parameters": dict, "noise_rule": str, "budget": int, "sharpen": bool},
    "claim": {"claim": dict, "budget": int, "sharpen": bool},
}
"""What is audited -> the fields its replay reads, each with its type."""


def _checked(witness: Any) -> Mapping[str, Any]:
    """A witness with the fields that a replay reads, each of its type."""
    if not isinstance(witness, dict):
        raise ValueError("it must be a table")
    _check_types(witness, _WITNESS)
    kind = witness["replay"].get("audit")
    if not isinstance(kind, str) or kind not in _REPLAY:
        raise ValueError(f"audit ({kind!r}) must be one of: {', '.join(_REPLAY)}")
    _check_types(witness["replay"], _REPLAY[kind])
    return witness


def _check_types(table: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        if type(table.get(name)) is not kind:
            raise ValueError(f"{name} ({table.get(name)!r}) must be of type {kind.__name__}")
