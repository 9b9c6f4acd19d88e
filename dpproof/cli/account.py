"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.claims.result import Accountant
from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.answers import as_json
from dpproof.answers.account import account as certified
from dpproof.answers.calibration import calibrate as calibrated
from dpproof.answers.calibration import noise_for_other_targets
from dpproof.cli import show
from dpproof.cli.options import ADJACENCY, JSON, AllMissing, check_file, command_for

DRAWN = (".svg", ".png", ".html")
PLOT = Annotated[
    Path | None,
    typer.Option(
        "--plot", help=f"Draw privacy profile and trade-off: a file that ends in {', '.join(DRAWN)}."
    ),
]


def _account(
    accountant: Accountant,
    parameters: Parameters,
    adjacency: ADJACENCY = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Answer with epsilon at this delta.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Answer with delta at this epsilon.")
    ] = None,
    plot: PLOT = None,
    json: JSON = False,
) -> None:
    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    found = certified(accountant, parameters, relation, delta=delta, epsilon=epsilon)
    _draw(plot, accountant, parameters, relation)
    show.answer(as_json.account(found), json, lambda console: show.account(found, console))
    raise typer.Exit(0 if found.rests is not None and found.rests.verdict.stands else 3)


def _calibrate(
    accountant: Accountant,
    parameters: Parameters,
    target_epsilon: Annotated[str, typer.Option("--target-epsilon", help="The epsilon to meet.")],
    delta: Annotated[str, typer.Option("--delta", help="The delta to meet it at.")],
    adjacency: ADJACENCY = None,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Also the noise for other epsilon, delta and sizes.")
    ] = False,
    plot: PLOT = None,
    json: JSON = False,
) -> None:
    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    found = calibrated(accountant, parameters, relation, target_epsilon, delta)
    if what_if:
        with recorded() as used:
            others = noise_for_other_targets(accountant, found.chosen, relation, target_epsilon, delta)
        found = replace(found, alternatives=others, arithmetic=found.arithmetic | used)
    _draw(plot, accountant, found.chosen, relation)
    show.answer(as_json.calibration(found), json, lambda console: show.calibrate(found, console))


def _draw(plot: Path | None, accountant: Accountant, parameters: Parameters, relation: Adjacency) -> None:
    if plot is not None:
        from dpproof.report.plots import write_plot

        title = show.sizes(accountant.name, parameters.as_json(), relation)
        write_plot(plot, accountant.account(parameters, relation), title)


class _Mechanisms(typer.core.TyperGroup):
    """One sub-command for each mechanism, made when it is asked for: accountants are imported then."""

    def list_commands(self, _context: object) -> list[str]:
        """The names of the catalogue."""
        return list(CATALOGUE)

    def get_command(self, _context: object, name: str) -> Any:
        """The sub-command of that name, or None."""
        return self.make(accountant_for(name)) if name in CATALOGUE else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The sub-command that the arguments begin with.

        Raises:
            ValueError: for an unknown name, with the one that may be meant.
        """
        if not args[0].startswith("-") and args[0] not in CATALOGUE:
            known = f"{', '.join(CATALOGUE)}{nearest(args[0], CATALOGUE)}"
            raise ValueError(f"No such command {args[0]!r}; mechanisms are {known}")
        return super().resolve_command(ctx, args)

    def make(self, accountant: Accountant) -> Any:
        """The sub-command of one mechanism."""
        raise NotImplementedError


def _command(accountant: Accountant, body: Callable[..., None]) -> Any:
    single = typer.Typer(add_completion=False)
    single.command(accountant.name, cls=AllMissing, help=accountant.title)(body)
    return typer.main.get_command(single)


class _Account(_Mechanisms):
    def make(self, accountant: Accountant) -> Any:
        return _command(accountant, command_for(accountant, _account))


class _Calibrate(_Mechanisms):
    def make(self, accountant: Accountant) -> Any:
        return _command(accountant, command_for(accountant, _calibrate, accountant.noise))


account = typer.Typer(no_args_is_help=True, cls=_Account)
calibrate = typer.Typer(no_args_is_help=True, cls=_Calibrate)
