"""``dpproof explain`` and ``dpproof init``: the meaning of a name, and a claim file to start with.

``dpproof explain`` knows statements, mechanisms, notions of privacy, neighbouring relations, verdicts and
errors.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.claims.trust import TrustModel
from dpproof.answers import coverage
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.target import leaf_target
from dpproof.claim_file.schema import SCHEMA_NAME, schema_text
from dpproof.cli import show
from dpproof.cli.layout import print_table, table
from dpproof.cli.options import PATH, check_file
from dpproof.glossary import GLOSSARY
from dpproof.outcome import Outcome
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import coq_status, lookup, statement_ids, verify
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Verdict
from dpproof.wording import remarks, result_words

if TYPE_CHECKING:
    from dpproof.proofs_check.verdict import Result

NOTIONS = {
    "pure-dp": "dpproof.accountant.guarantees.notions:PureDP",
    "approximate-dp": "dpproof.accountant.guarantees.notions:ApproxDP",
    "gaussian-dp": "dpproof.accountant.guarantees.notions:GaussianDP",
    "renyi-dp": "dpproof.accountant.guarantees.notions:RenyiDP",
    "zcdp": "dpproof.accountant.guarantees.notions:ZCDP",
    "privacy-loss": "dpproof.accountant.privacy_loss.notion:PrivacyLoss",
}
"""Notions of privacy, each with the object whose docstring explains it."""
ERRORS = {
    "UnfilledError": "dpproof.proofs_check.elaborate:UnfilledError",
    "UnprovedAdjacencyError": "dpproof.accountant.claims.adjacency:UnprovedAdjacencyError",
    "UnsupportedEventError": "dpproof.accountant.interop.dp_primitives:UnsupportedEventError",
    "UnsupportedConfigurationError": "dpproof.accountant.interop.jax_privacy:UnsupportedConfigurationError",
    "BudgetExceededError": "dpproof.accountant.theorems.filters:BudgetExceededError",
    "UnreachableTargetError": "dpproof.accountant.claims.calibration:UnreachableTargetError",
    "DivergedError": "dpproof.audits.paired.trace:DivergedError",
    "NoNoiseNeededError": "dpproof.accountant.claims.calibration:NoNoiseNeededError",
    "GridTooLargeError": "dpproof.accountant.privacy_loss.planning:GridTooLargeError",
    "StepTooSmallError": "dpproof.accountant.privacy_loss.grid:StepTooSmallError",
    "UndecidedError": "dpproof.accountant.numbers.bounds:UndecidedError",
    "NoAuditError": "dpproof.audits.engine.errors:NoAuditError",
    "LoadError": "dpproof.audits.engine.errors:LoadError",
    "UncomparableError": "dpproof.audits.data.relations:UncomparableError",
    "SimulationError": "dpproof.mechanisms.randomness:SimulationError",
    "InvalidNeighboursError": "dpproof.audits.data.pairs:InvalidNeighboursError",
    "ChangedInputError": "dpproof.audits.engine.sampling.callables:ChangedInputError",
    "MechanismError": "dpproof.audits.engine.sampling.callables:MechanismError",
    "OwnSeedError": "dpproof.audits.engine.sampling.callables:OwnSeedError",
    "CommandError": "dpproof.audits.engine.sampling.commands:CommandError",
    "UnwritableError": "dpproof.audits.recording.written:UnwritableError",
    "ReplayError": "dpproof.audits.recording.replaying:ReplayError",
    "UnreadableOutputError": "dpproof.audits.data.canonical:UnreadableOutputError",
    "OutOfTimeError": "dpproof.audits.time_budget:OutOfTimeError",
    "TargetError": "dpproof.accountant.claims.calibration:TargetError",
    "TooManyTermsError": "dpproof.accountant.smooth_sensitivity.spherical:TooManyTermsError",
    "TooManyProfilesError": "dpproof.accountant.counting.laplace_tree:TooManyProfilesError",
    "EmptyActiveSetError": "dpproof.mechanisms.rl.sdp_pe.coverage:EmptyActiveSetError",
    "UnreachableStateError": "dpproof.mechanisms.rl.sdp_pe.policies:UnreachableStateError",
    "UntranslatableError": "dpproof.proofs_check.coq.export:UntranslatableError",
    "CoqError": "dpproof.proofs_check.coq.compiler:CoqError",
    "PageError": "dpproof.proofs_check.page:PageError",
    "StepError": "dpproof.proofs_check.blocks:StepError",
    "UserSeenError": "dpproof.mechanisms.agents.agent:UserSeenError",
    "BudgetSpentError": "dpproof.mechanisms.agents.agent:BudgetSpentError",
    "JournalError": "dpproof.mechanisms.agents.journal:JournalError",
    "PassportError": "dpproof.mechanisms.agents.passport:PassportError",
    "RecordedWordsError": "dpproof.mechanisms.randomness:RecordedWordsError",
}
"""Errors, each with the place of its definition."""
VERDICTS = {
    **{verdict.value: verdict.meaning for verdict in Verdict},
    **{
        severity.value: f"Severity: {severity.meaning[0].lower()}{severity.meaning[1:]}"
        for severity in Severity
    },
    **{outcome.value: outcome.meaning for outcome in Outcome},
    **{finding.value: finding.meaning for finding in Finding},
}


def _members(kind: type[Adjacency] | type[TrustModel]) -> dict[str, str]:
    """Return the text below each member. Python does not keep docstrings of enumeration members."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for above, below in zip(body.body, body.body[1:], strict=False):
        match above, below:
            case ast.Assign(value=member), ast.Expr(value=text):
                texts[str(ast.literal_eval(member))] = str(ast.literal_eval(text))
    return texts


WORDS: Mapping[str, str] = {**_members(Adjacency), **_members(TrustModel), **VERDICTS, **GLOSSARY}
"""Relations, trust models, verdicts and other words, each with its meaning."""


SHOWN = 4
"""The number of names of each kind that the error for an unknown name lists."""


def documentation(where: str) -> str:
    """Return the docstring of the object ``where``, which has the form ``module:name``."""
    module, _, name = where.partition(":")
    return inspect.getdoc(getattr(importlib.import_module(module), name)) or ""


STARTER = f"""\
#:schema {SCHEMA_NAME}
# Claims that `dpproof check dpproof.toml` holds the implementation to: one [[claim]] for each promise.

[budget]
alpha = 0.01      # probability of a false alarm in the whole file
# seconds = 300   # for all audits together

[[claim]]
name = "daily count"                # free text, unique
mechanism = "geometric"             # `dpproof account --help` lists them, `dpproof explain geometric` says more
parameters = {{ scale = 1.0, query = "count" }}
adjacency = "add-remove"            # {" | ".join(x.value for x in Adjacency)}; no default
epsilon = 1.0                       # the promise: epsilon with delta, or rho (zCDP), or mu (Gaussian DP)
# delta = 1e-6

# A function of yours, called as f(data, n, rng) for n outputs or as f(data, rng) for one:
# [[claim]]
# name = "our counter"
# mechanism = "package.module:function"
# data = "package.module:load"        # your data, or a function that loads them; neighbours are made of them
# neighbours = "package.module:pair"  # or instead: called without arguments, returns two neighbouring inputs
# adjacency = "add-remove"
# epsilon = 1.0

# A program, which is sent neighbouring inputs: command = ["./run"] in place of mechanism.
# A training: training = "package.module:engine" (Opacus) or event = "package.module:event" (dp-accounting).
"""


def _words(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the explainable names with this beginning, for the shell."""
    known = [*CATALOGUE, *NOTIONS, *WORDS, *ERRORS, *statement_ids()]
    return [name for name in known if name.startswith(begun)]


@click.command()
@click.argument("identity", metavar="ID", shell_complete=_words)
def explain(identity: str) -> None:
    """Say what a statement says and why, what a mechanism's account rests on, or what a word means.

    ID is a statement, mechanism, notion, relation, verdict or error.
    """
    console = Console(emoji=False)
    if (known := coverage.identity_of(identity)) in statement_ids():
        _statement(known, console)
    elif identity in CATALOGUE:
        _mechanism(accountant_for(identity), console)
    elif identity in NOTIONS or identity in ERRORS:
        _print_documentation(documentation({**NOTIONS, **ERRORS}[identity]), console)
    elif identity in WORDS:
        console.print(" ".join(WORDS[identity].replace("`", "").split()), markup=False)
    else:
        names = [*CATALOGUE, *NOTIONS, *WORDS, *ERRORS, *statement_ids()]
        raise ValueError(f"id ({identity!r}) is unknown{nearest(identity, names) or '. ' + _kinds()}")


def _kinds() -> str:
    """Return the kinds of names that can be explained, with the first names of each."""
    groups = {"mechanisms": CATALOGUE, "notions": NOTIONS, "words": WORDS, "errors": ERRORS}
    listed = "; ".join(f"{kind}: {', '.join([*group][:SHOWN])}, ..." for kind, group in groups.items())
    return f"Give a statement id that `dpproof verify papers` lists, or a name. {listed}"


def _print_documentation(text: str, console: Console) -> None:
    """Print a docstring as paragraphs, without its examples."""
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(">>>"):
            console.print(" ".join(paragraph.replace("``", "").split()), markup=False)


def _mechanism(accountant: Accountant, console: Console) -> None:
    """Print what a mechanism's account means and rests on, and its parameters."""
    console.print(f"[bold]{accountant.name}[/]: {escape(accountant.title)}")
    _print_documentation(inspect.getdoc(sys.modules[accountant.account.__module__]) or "", console)
    rows = table("parameter", "meaning", "domain", "default")
    for field in accountant.parameters.fields():
        default = "required" if field.default is dataclasses.MISSING else repr(field.default)
        about = field.metadata
        rows.add_row(*map(escape, (field.name, about["help"], str(about["domain"]), default)))
    print_table(rows, console)
    meant = accountant.adjacency
    console.print(f"neighbours: {'must be given' if meant is None else meant.value + ' unless given'}")
    console.print(f"calibrate searches: {accountant.noise}")
    console.print(_audit_line(accountant), markup=False, highlight=False, soft_wrap=True)


def _audit_line(accountant: Accountant) -> str:
    """Return the command that audits a mechanism, with required values in capitals, or that there is none."""
    name = accountant.name
    try:
        relations = [relation.value for relation in leaf_target(name).relations]
    except NoAuditError:
        return "audit: none by name; dpproof audit module:callable audits an implementation"
    required = (field for field in accountant.parameters.fields() if field.default is dataclasses.MISSING)
    flags = [f"--{field.name.replace('_', '-')} {field.name.upper()}" for field in required]
    where = [f"--adjacency {'|'.join(relations) or 'ADJACENCY'}"] if accountant.adjacency is None else []
    return f"audit: {' '.join(['dpproof audit', name, *flags, *where])}"


def _statement(identity: str, console: Console) -> None:
    entry, found = lookup(identity), verify([identity])[0]
    console.print(f"[bold]{identity}[/]: {escape(entry.title)}")
    console.print(escape(str(entry.source)), style="dim")
    console.print(escape(entry.says))
    console.print(f"verdict: {show.coloured(found.verdict)}{_beside(found)}")
    for line in remarks(found):
        console.print(f"  {escape(line)}")
    for obligation in entry.obligations:
        word = "goal" if obligation.name in entry.goals else "step"
        name = "" if obligation.name == word else f" {obligation.name}"
        console.print(f"  {word}{name}: {escape(obligation.note)}")
        console.print(indent(obligation.text, "    "), markup=False, highlight=False, soft_wrap=True)
    if entry.rests_on:
        console.print(f"rests on: {', '.join(entry.rests_on)}")
    if entry.sampled_by:
        console.print(f"sampled by: {', '.join(entry.sampled_by)}")
    console.print(f"Coq: {coq_status(found)}")
    console.print(f"not covered: {escape(entry.not_covered)}")
    _readings(found, console)


def _beside(result: Result) -> str:
    """Return the remarks on a verdict: its severity, and the number of readings."""
    return escape(result_words(result).removeprefix(result.verdict.value))


def _readings(found: Result, console: Console) -> None:
    """Print the readings on which a verdict rests, its own first, and the laws that it takes as known."""
    if found.readings:
        own = len(found.own_readings)
        console.print(f"readings: {own} of its own, {len(found.readings)} with all it rests on")
    for text, identity in found.readings.items():
        console.print(f"  read, {'here' if identity == found.id else f'in {identity}'}: {escape(text)}")
    for name in found.laws:
        console.print(f"  law {name}: {escape(LAWS[name])}")


@click.command()
@click.argument("file", type=PATH, default="dpproof.toml")
def init(file: Path) -> None:
    """Write a commented claim file, and its schema for editors; existing files are left alone.

    FILE is where to write it; dpproof.toml unless given.
    """
    check_file("file", file, (".toml",))
    beside = file.with_name(SCHEMA_NAME)
    for path in (file, beside):
        if path.exists():
            raise ValueError(
                f"file ({path}) already exists and was not changed. Remove it, or choose another folder."
            )
    beside.write_text(schema_text(), encoding="utf-8")
    file.write_text(STARTER, encoding="utf-8")
    click.echo(f"wrote {file} and {beside}; next: dpproof check {file}")
