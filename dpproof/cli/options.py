"""Command-line flags from parameters: one option for each field, with its help, domain and default."""

from __future__ import annotations

import dataclasses
import inspect
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
import typer.core
from rich.markup import escape

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import Accountant

ADJACENCY = Annotated[
    str | None,
    typer.Option("--adjacency", help=f"Neighbouring relation: {', '.join(x.value for x in Adjacency)}."),
]
CLUSTER = "address of a Dask scheduler that shares the work, such as tcp://127.0.0.1:8786"
JOURNAL = "file that keeps finished work: what was interrupted goes on where it stopped"
JSON = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def _option(field: dataclasses.Field[object], kind: object) -> inspect.Parameter:
    """The option of one field: ``beta_scale`` becomes ``--beta-scale``."""
    domain, unit = field.metadata["domain"], field.metadata["unit"]
    text = f"{field.metadata['help']}; {domain}" + (f" [{unit}]" if unit != "1" else "")
    text = escape(text)  # or brackets would be read as markup
    name = f"--{field.name.replace('_', '-')}"
    if domain.kind is bool:
        option = typer.Option(f"{name}/--no-{name.removeprefix('--')}", help=text)
    else:
        option = typer.Option(name, help=text, parser=partial(_parse, field), metavar=domain.kind.__name__)
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    return _keyword(field.name, default, Annotated[kind, option])


def _keyword(name: str, default: object, annotation: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def read_text(field: dataclasses.Field[object], text: str) -> Any:
    """The value that ``text`` writes, of the kind of the field.

    Raises:
        ValueError: naming the field, the text and the domain.
    """
    try:
        return field.metadata["domain"].read(text)
    except ValueError as error:
        raise ValueError(f"{field.name} ({text!r}) must be {field.metadata['domain']}") from error


def _parse(field: dataclasses.Field[object], text: str) -> Any:
    try:
        return read_text(field, str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_folder(name: str, folder: Path | None) -> None:
    """Refuse, before any work, a folder that cannot be written to or made.

    Raises:
        ValueError: naming the option and the folder.
    """
    if folder is None:
        return
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not _takes_files(there):
        raise ValueError(f"{name} ({str(folder)!r}) must be a folder that can be written to")


def check_file(name: str, file: Path | None, suffixes: tuple[str, ...]) -> None:
    """Refuse, before any work, a file of another kind, or one in a folder that cannot be written to.

    Raises:
        ValueError: naming the option, the file and the rule.
    """
    if file is None:
        return
    if file.suffix not in suffixes:
        raise ValueError(f"{name} ({str(file)!r}) must end in one of: {', '.join(suffixes)}")
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not _takes_files(folder):
        raise ValueError(f"{name} ({str(file)!r}) must be a file in a folder that can be written to")


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made there: rights alone do not tell, as for root in /proc."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


class AllMissing(typer.core.TyperCommand):
    """A command that names every required option which was left out, not only the first of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            ValueError: required options are missing.
        """
        given, *_ = self.make_parser(ctx).parse_args(args=list(args))
        lacking = [option for option in self.params if option.required and option.name not in given]
        if lacking and "help" not in given:
            raise ValueError(f"Missing option {', '.join(map(_missing, lacking))}")
        return super().parse_args(ctx, args)


def _missing(option: Any) -> str:
    told = option.help.rstrip(".").replace("\\[", "[")  # without the marks that `escape` set
    return f"{option.opts[0]!r} ({told})"


def command_for(
    accountant: Accountant, body: Callable[..., None], searched: str | None = None
) -> Callable[..., None]:
    """A command with one flag for each parameter of ``accountant``, followed by the flags of ``body``.

    ``body`` is called as ``body(accountant, parameters, **its own flags)``. A parameter that is
    ``searched`` may be left out: it only says where the search begins.
    """
    kinds = get_type_hints(accountant.parameters)
    fields = {field.name: _option(field, kinds[field.name]) for field in accountant.parameters.fields()}
    start = {}
    if searched is not None and fields[searched].default is inspect.Parameter.empty:
        domain = next(field for field in accountant.parameters.fields() if field.name == searched).metadata
        start = {searched: domain["domain"].some()}
        fields[searched] = fields[searched].replace(default=None)
    own = [_own(accountant, x) for x in list(inspect.signature(body, eval_str=True).parameters.values())[2:]]

    def command(**values: object) -> None:
        chosen = {name: values.pop(name) for name in fields}
        chosen |= {name: value for name, value in start.items() if chosen[name] is None}
        body(accountant, parameters_from(accountant, chosen), **values)

    command.__signature__ = inspect.Signature([*fields.values(), *own])  # type: ignore[attr-defined] # read by typer
    command.__annotations__ = {p.name: p.annotation for p in (*fields.values(), *own)}
    command.__doc__ = accountant.title
    return command


def _own(accountant: Accountant, option: inspect.Parameter) -> inspect.Parameter:
    """An option of the command itself; the neighbouring relation is required where there are users."""
    required = option.name == "adjacency" and accountant.adjacency is None
    default = inspect.Parameter.empty if required else option.default
    return option.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default)


def parameters_from(accountant: Accountant, values: Mapping[str, object]) -> Any:
    """Validated parameters; fields left at ``None`` stay unset."""
    return accountant.parameters.read({name: value for name, value in values.items() if value is not None})
