"""Command-line flags from parameters: one option for each field, with its help, domain and default."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from accountant.accounted import Accountant

__all__ = ["ADJACENCY", "JSON", "command_for", "parameters_from"]

ADJACENCY = Annotated[
    str, typer.Option("--adjacency", help="Neighbouring relation: add-remove, replace, rewards-only, expert.")
]
JSON = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def _option(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    """The option of one field: ``beta_scale`` becomes ``--beta-scale``."""
    domain, unit = field.metadata["domain"], field.metadata["unit"]
    text = f"{field.metadata['help']}; {domain}" + (f" [{unit}]" if unit != "1" else "")
    option = typer.Option(f"--{field.name.replace('_', '-')}", help=text)
    required = field.default is dataclasses.MISSING
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else field.default,
        annotation=Annotated[kind, option],
    )


def command_for(accountant: Accountant, body: Callable[..., None]) -> Callable[..., None]:
    """A command with one flag for each parameter of ``accountant``, followed by the flags of ``body``.

    ``body`` is called as ``body(accountant, parameters, **its own flags)``.
    """
    kinds = get_type_hints(accountant.parameters)
    fields = {field.name: _option(field, kinds[field.name]) for field in accountant.parameters.fields()}
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in list(inspect.signature(body, eval_str=True).parameters.values())[2:]
    ]

    def command(**values: Any) -> None:
        chosen = {name: values.pop(name) for name in fields}
        body(accountant, parameters_from(accountant, chosen), **values)

    command.__signature__ = inspect.Signature([*fields.values(), *own])  # type: ignore[attr-defined] # read by typer
    command.__annotations__ = {p.name: p.annotation for p in (*fields.values(), *own)}
    command.__doc__ = accountant.title
    return command


def parameters_from(accountant: Accountant, values: dict[str, Any]) -> Any:
    """Validated parameters; fields left at ``None`` stay unset."""
    return accountant.parameters.read({name: value for name, value in values.items() if value is not None})
