"""Command-line flags from parameters: one option for each field, with its help, domain and default."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def relations(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return shell completions: the neighbouring relations whose names begin with the typed text ``begun``."""
    return [CompletionItem(one.value) for one in Adjacency if one.value.startswith(begun)]


def or_file(*names: str) -> Completion:
    """Return a completion function that offers the matching names, or files if no name matches."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names if name.startswith(begun)]
        return found or [CompletionItem(begun, type="file")]

    return complete


ADJACENCY = click.option(
    "--adjacency",
    shell_complete=relations,
    help=f"Neighbouring relation: {', '.join(x.value for x in Adjacency)}.",
)
CLUSTER = "address of a Dask scheduler that shares the work, such as tcp://127.0.0.1:8786"
JOURNAL = "file that keeps finished work: what was interrupted goes on where it stopped"
SEED = "Everything random derives from it."
JSON = click.option("--json", is_flag=True, help="Print the answer as JSON.")
VERBOSE = click.option("--verbose", is_flag=True, help="Print everything that the answer rests on, too.")
PATH = click.Path(path_type=Path)


def flag_of(field: dataclasses.Field[object]) -> str:
    """Return the flag of a field: ``beta_scale`` becomes ``--beta-scale``."""
    return f"--{field.name.replace('_', '-')}"


def _reader(field: dataclasses.Field[object]) -> Callable[[object], Any]:
    """Return a function that parses a value by the field's domain."""

    def read(given: object) -> Any:
        try:
            return read_text(field, str(given))
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return read


def _option(field: dataclasses.Field[object], needed: bool) -> click.Option:
    """Return the option of one field."""
    domain, unit, flag = field.metadata["domain"], field.metadata["unit"], flag_of(field)
    text = f"{field.metadata['help']}; {domain}" + (f" [{unit}]" if unit != "1" else "")
    given: dict[str, Any] = (
        {} if field.default is dataclasses.MISSING else {"default": field.default, "show_default": True}
    )
    if domain.kind is bool:
        return click.Option([f"{flag}/--no-{flag.removeprefix('--')}"], help=text, required=needed, **given)
    kind = domain.kind.__name__
    return click.Option([flag], type=_reader(field), metavar=kind, help=text, required=needed, **given)


def read_text(field: dataclasses.Field[object], text: str) -> Any:
    """Return the value of ``text``, converted to the type of the field.

    Raises:
        ValueError: naming the field, the text and the domain.
    """
    try:
        return field.metadata["domain"].read(text)
    except ValueError as error:
        raise ValueError(f"{field.name} ({text!r}) must be {field.metadata['domain']}") from error


def check_folder(name: str, folder: Path | None) -> None:
    """Check that a folder exists or can be created, and that files can be written to it.

    Raises:
        ValueError: naming the option and the folder.
    """
    if folder is None:
        return
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not _takes_files(there):
        raise ValueError(f"{name} ({str(folder)!r}) must be a folder that can be written to")


def check_file(name: str, file: Path | None, suffixes: tuple[str, ...]) -> None:
    """Check that a file has one of the suffixes, and that its folder exists and can be written to.

    Raises:
        ValueError: naming the option, the file and the rule.
    """
    if file is None:
        return
    if file.suffix not in suffixes:
        raise ValueError(f"{name} ({str(file)!r}) must end in one of: {', '.join(suffixes)}")
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not _takes_files(folder):
        raise ValueError(
            f"{name} ({str(file)!r}) must be a file in an existing folder that can be written to"
        )


def _takes_files(folder: Path) -> bool:
    """Return whether a file can be created there.

    Permissions alone do not tell, for example as root in /proc.
    """
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


class AllMissing(click.Command):
    """A command that reports all missing required options, not only the first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            ValueError: required options are missing.
        """
        given, *_ = self.make_parser(ctx).parse_args(args=list(args))
        options = {option.name: option for option in self.params if isinstance(option, click.Option)}
        lacking = [one for name, one in options.items() if one.required and name not in given]
        helped = not given.keys() <= options.keys()  # the help is no option of the command's own
        if lacking and not helped and not ctx.resilient_parsing:
            raise ValueError(f"Missing option {', '.join(self._told(one) for one in lacking)}")
        return super().parse_args(ctx, args)

    def _told(self, option: click.Option) -> str:
        """Return an option and its help. The relations are those under which the mechanism has a guarantee."""
        if option.name == "adjacency" and self.name is not None and self.name in CATALOGUE:
            proved = ", ".join(relation.value for relation in accountant_for(self.name).relations)
            return f"{option.opts[0]!r} (Neighbouring relation: {proved})"
        return f"{option.opts[0]!r} ({(option.help or '').rstrip('.')})"


def command_for(accountant: Accountant, body: Any, searched: str | None = None) -> click.Command:
    """Return a command with one flag for each parameter of ``accountant``, followed by the flags of ``body``.

    The command calls ``body(accountant, parameters, **its own flags)``. The user may omit the parameter whose
    name is ``searched``: if it is given, the search starts at its value. The neighbouring relation is required if the
    mechanism has no default.
    """
    fields = accountant.parameters.fields()
    required = {field.name for field in fields if field.default is dataclasses.MISSING}
    start = {x.name: x.metadata["domain"].some() for x in fields if x.name in required & {searched}}

    def run(**values: Any) -> None:
        given = {field.name: values.pop(field.name) for field in fields}
        chosen = {name: start.get(name) if value is None else value for name, value in given.items()}
        body(accountant, parameters_from(accountant, chosen), **values)

    own = [_option(field, field.name in required - {searched}) for field in fields]
    shared = [copy(option) for option in reversed(body.__click_params__)]  # each command may change its own
    for option in shared:
        option.required |= option.name == "adjacency" and accountant.adjacency is None
    return AllMissing(accountant.name, callback=run, params=[*own, *shared], help=accountant.title)


def parameters_from(accountant: Accountant, values: Mapping[str, object]) -> Any:
    """Return validated parameters. Fields with value ``None`` stay unset."""
    return accountant.parameters.read({name: value for name, value in values.items() if value is not None})
