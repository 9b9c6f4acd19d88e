"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
from click.exceptions import Exit

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.numbers.arithmetic import recorded
from dpproof.answers import as_json
from dpproof.answers.account import account as certified
from dpproof.cli import show
from dpproof.cli.groups import Named
from dpproof.cli.options import ADJACENCY, JSON, PATH, VERBOSE, check_file, command_for
from dpproof.first_answer import sizes

PARALLEL = "The mechanism runs on each of several disjoint groups, and a record alone decides its group."
CHECK = "Compute the answer again by a second, slower route. Exit code 3 if this does not confirm it."
DRAWN = (".svg", ".png", ".html")
PLOT = click.option(
    "--plot", type=PATH, help=f"Draw privacy profile and trade-off: a file that ends in {', '.join(DRAWN)}."
)


@ADJACENCY
@click.option("--delta", help="Answer with epsilon at this delta.")
@click.option("--epsilon", help="Answer with delta at this epsilon.")
@click.option("--parallel", is_flag=True, help=PARALLEL)
@click.option("--check", is_flag=True, help=CHECK)
@PLOT
@VERBOSE
@JSON
def _account(
    accountant: Accountant,
    parameters: Parameters,
    adjacency: str | None,
    delta: str | None,
    epsilon: str | None,
    parallel: bool,
    check: bool,
    plot: Path | None,
    verbose: bool,
    json: bool,
) -> None:
    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    found = certified(
        accountant, parameters, relation, delta=delta, epsilon=epsilon, parallel=parallel, check=check
    )
    _draw(plot, accountant, parameters, relation)
    show.answer(as_json.account(found), json, lambda console: show.account(found, console, verbose))
    confirmed = found.checked is None or found.checked.confirmed
    raise Exit(0 if found.rests is not None and found.rests.verdict.stands and confirmed else 3)


@click.option("--target-epsilon", help="The epsilon to meet, at --delta.")
@click.option("--delta", help="The delta to meet it at.")
@click.option(
    "--target-advantage", help="The largest true minus false positive rate that an attack may have."
)
@click.option(
    "--target-tpr", nargs=2, metavar="TPR FPR", help="The largest true positive rate at a false one."
)
@ADJACENCY
@click.option("--what-if", is_flag=True, help="Also the noise for other epsilon, delta and sizes.")
@PLOT
@VERBOSE
@JSON
def _calibrate(
    accountant: Accountant,
    parameters: Parameters,
    target_epsilon: str | None,
    delta: str | None,
    target_advantage: str | None,
    target_tpr: tuple[str, str] | None,
    adjacency: str | None,
    what_if: bool,
    plot: Path | None,
    verbose: bool,
    json: bool,
) -> None:
    from dpproof.answers import calibration

    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    missing = (
        [] if target_advantage or target_tpr else [("--target-epsilon", target_epsilon), ("--delta", delta)]
    )
    if lacking := [flag for flag, value in missing if value is None]:
        with contextlib.suppress(ArithmeticError, MemoryError):
            accountant.account(parameters, relation)  # with an impossible relation no target is of use
        raise ValueError(
            f"Missing option {', '.join(lacking)}. Alternatively, give --target-advantage or --target-tpr."
        )
    asked = calibration.asked_for(target_epsilon, 0 if delta is None else delta, target_advantage, target_tpr)
    if what_if and asked.quantity != "epsilon":
        raise ValueError("--what-if can be used only with --target-epsilon.")
    found = calibration.calibrate(accountant, parameters, relation, asked)
    if what_if:
        with recorded() as used:
            others = calibration.noise_for_other_targets(
                accountant, found.chosen, relation, asked.limit, asked.at
            )
        found = replace(found, alternatives=others, arithmetic=found.arithmetic | used)
    _draw(plot, accountant, found.chosen, relation)
    show.answer(as_json.calibration(found), json, lambda console: show.calibrate(found, console, verbose))


def _draw(plot: Path | None, accountant: Accountant, parameters: Parameters, relation: Adjacency) -> None:
    if plot is not None:
        from dpproof.report.plots import write_plot

        title = sizes(accountant.name, parameters.as_json(), relation)
        write_plot(plot, accountant.account(parameters, relation), title)


class _Mechanisms(Named):
    """One sub-command for each mechanism. An accountant is imported when its sub-command is used."""

    def __init__(self, name: str, body: Callable[..., None], help: str, *, searches: bool) -> None:
        super().__init__(name, CATALOGUE, help=help)
        self.body, self.searches = body, searches

    def make(self, name: str) -> click.Command:
        """Return the sub-command of one mechanism."""
        accountant = accountant_for(name)
        return command_for(accountant, self.body, accountant.noise if self.searches else None)


account = _Mechanisms(
    "account", _account, "Certified epsilon or delta, beside the published one.", searches=False
)
calibrate = _Mechanisms(
    "calibrate", _calibrate, "The smallest noise that meets a target, and why.", searches=True
)
