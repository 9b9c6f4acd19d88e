"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from accountant.accounted import CATALOGUE, Accountant, accountant_for
from dpproof import answers
from dpproof.cli import show
from dpproof.cli.options import ADJACENCY, JSON, check_file, command_for

__all__ = ["account", "calibrate"]


def _account(
    accountant: Accountant,
    parameters: Any,
    adjacency: ADJACENCY = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Answer with epsilon at this delta.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Answer with delta at this epsilon.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw privacy profile and trade-off: a .svg, .png or .html file."),
    ] = None,
    json: JSON = False,
) -> None:
    check_file("plot", plot, (".svg", ".png", ".html"))
    relation = accountant.relation(adjacency)
    answer = answers.account(accountant, parameters, relation, delta=delta, epsilon=epsilon)
    if plot is not None:
        from dpproof.report.plots import write_plot

        write_plot(plot, accountant.guarantee(parameters, relation), show.sizes(answer))
    show.either(answer, json, show.account)
    raise typer.Exit(0 if answer["verdict"].startswith("PROVED") else 3)


def _calibrate(
    accountant: Accountant,
    parameters: Any,
    target_epsilon: Annotated[str, typer.Option("--target-epsilon", help="The epsilon to meet.")],
    delta: Annotated[str, typer.Option("--delta", help="The delta to meet it at.")],
    adjacency: ADJACENCY = None,
    json: JSON = False,
) -> None:
    relation = accountant.relation(adjacency)
    answer = answers.calibrate(accountant, parameters, relation, target_epsilon, delta)
    show.either(answer, json, show.calibrate)


class _Mechanisms(typer.core.TyperGroup):
    """One sub-command for each mechanism, made when it is asked for: accountants are imported then."""

    def list_commands(self, _context: Any) -> list[str]:
        """The names of the catalogue."""
        return list(CATALOGUE)

    def get_command(self, _context: Any, name: str) -> Any:
        """The sub-command of that name, or None."""
        return self.make(accountant_for(name)) if name in CATALOGUE else None

    def make(self, accountant: Accountant) -> Any:
        """The sub-command of one mechanism."""
        raise NotImplementedError


def _command(accountant: Accountant, body: Callable[..., None]) -> Any:
    single = typer.Typer(add_completion=False)
    single.command(accountant.name, help=accountant.title)(body)
    return typer.main.get_command(single)


class _Account(_Mechanisms):
    def make(self, accountant: Accountant) -> Any:
        return _command(accountant, command_for(accountant, _account))


class _Calibrate(_Mechanisms):
    def make(self, accountant: Accountant) -> Any:
        return _command(accountant, command_for(accountant, _calibrate, accountant.noise))


account = typer.Typer(no_args_is_help=True, cls=_Account)
calibrate = typer.Typer(no_args_is_help=True, cls=_Calibrate)
