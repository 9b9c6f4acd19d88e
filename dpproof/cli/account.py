"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from accountant.accounted import CATALOGUE, Accountant, accountant_for
from accountant.adjacency import Adjacency
from dpproof import answers
from dpproof.cli import show
from dpproof.cli.options import ADJACENCY, JSON, command_for

__all__ = ["account", "calibrate"]

account = typer.Typer(no_args_is_help=True)
calibrate = typer.Typer(no_args_is_help=True)


def _account(
    accountant: Accountant,
    parameters: Any,
    adjacency: ADJACENCY,
    delta: Annotated[str | None, typer.Option("--delta", help="Answer with epsilon at this delta.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Answer with delta at this epsilon.")
    ] = None,
    json: JSON = False,
) -> None:
    answer = answers.account(accountant, parameters, Adjacency.of(adjacency), delta=delta, epsilon=epsilon)
    show.either(answer, json, show.account)
    raise typer.Exit(0 if answer["verdict"].startswith("PROVED") else 3)


def _calibrate(
    accountant: Accountant,
    parameters: Any,
    adjacency: ADJACENCY,
    target_epsilon: Annotated[str, typer.Option("--target-epsilon", help="The epsilon to meet.")],
    delta: Annotated[str, typer.Option("--delta", help="The delta to meet it at.")],
    json: JSON = False,
) -> None:
    answer = answers.calibrate(accountant, parameters, Adjacency.of(adjacency), target_epsilon, delta)
    show.either(answer, json, show.calibrate)


for _name in CATALOGUE:
    _accountant = accountant_for(_name)
    account.command(_name, help=_accountant.title)(command_for(_accountant, _account))
    calibrate.command(_name, help=_accountant.title)(command_for(_accountant, _calibrate))
