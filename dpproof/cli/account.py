"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import Accountant
from dpproof.accountant.claims.spelling import nearest
from dpproof.answers import account as answers
from dpproof.answers.calibration import code
from dpproof.answers.calibration import what_if as noise_for_other_goals
from dpproof.cli import show
from dpproof.cli.options import ADJACENCY, JSON, AllMissing, check_file, command_for
from dpproof.proofs_check.verdict import Verdict

__all__ = ["account", "calibrate"]

DRAWN = (".svg", ".png", ".html")
PLOT = Annotated[
    Path | None,
    typer.Option(
        "--plot", help=f"Draw privacy profile and trade-off: a file that ends in {', '.join(DRAWN)}."
    ),
]


def _account(
    accountant: Accountant,
    parameters: Any,
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
    answer = answers.account(accountant, parameters, relation, delta=delta, epsilon=epsilon)
    _draw(plot, accountant, parameters, relation, answer)
    show.either(answer, json, show.account)
    raise typer.Exit(0 if Verdict(answer["verdict"]).stands else 3)


def _calibrate(
    accountant: Accountant,
    parameters: Any,
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
    answer = answers.calibrate(accountant, parameters, relation, target_epsilon, delta)
    found = accountant.parameters.read(answer["parameters"])
    if what_if:
        with answers.resting(answer):
            answer["what_if"] = noise_for_other_goals(accountant, found, relation, target_epsilon, delta)
    _draw(plot, accountant, found, relation, answer)
    answer["code"] = code(accountant, found, relation, target_epsilon, delta)
    show.either(answer, json, show.calibrate)


def _draw(
    plot: Path | None, accountant: Accountant, parameters: Any, relation: Adjacency, answer: dict[str, Any]
) -> None:
    if plot is not None:
        from dpproof.report.plots import write_plot

        write_plot(plot, accountant.account(parameters, relation), show.sizes(answer))


class _Mechanisms(typer.core.TyperGroup):
    """One sub-command for each mechanism, made when it is asked for: accountants are imported then."""

    def list_commands(self, _context: Any) -> list[str]:
        """The names of the catalogue."""
        return list(CATALOGUE)

    def get_command(self, _context: Any, name: str) -> Any:
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
