"""``dpproof account`` and ``dpproof calibrate``: one sub-command for each mechanism in the catalogue."""

from __future__ import annotations

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
from dpproof.cli.options import ADJACENCY, JSON, PATH, check_file, command_for

DRAWN = (".svg", ".png", ".html")
PLOT = click.option(
    "--plot", type=PATH, help=f"Draw privacy profile and trade-off: a file that ends in {', '.join(DRAWN)}."
)


@ADJACENCY
@click.option("--delta", help="Answer with epsilon at this delta.")
@click.option("--epsilon", help="Answer with delta at this epsilon.")
@PLOT
@JSON
def _account(
    accountant: Accountant,
    parameters: Parameters,
    adjacency: str | None,
    delta: str | None,
    epsilon: str | None,
    plot: Path | None,
    json: bool,
) -> None:
    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    found = certified(accountant, parameters, relation, delta=delta, epsilon=epsilon)
    _draw(plot, accountant, parameters, relation)
    show.answer(as_json.account(found), json, lambda console: show.account(found, console))
    raise Exit(0 if found.rests is not None and found.rests.verdict.stands else 3)


@click.option("--target-epsilon", required=True, help="The epsilon to meet.")
@click.option("--delta", required=True, help="The delta to meet it at.")
@ADJACENCY
@click.option("--what-if", is_flag=True, help="Also the noise for other epsilon, delta and sizes.")
@PLOT
@JSON
def _calibrate(
    accountant: Accountant,
    parameters: Parameters,
    target_epsilon: str,
    delta: str,
    adjacency: str | None,
    what_if: bool,
    plot: Path | None,
    json: bool,
) -> None:
    from dpproof.answers.calibration import Asked, noise_for_other_targets
    from dpproof.answers.calibration import calibrate as calibrated

    check_file("plot", plot, DRAWN)
    relation = accountant.relation(adjacency)
    found = calibrated(accountant, parameters, relation, Asked.epsilon(target_epsilon, delta))
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


class _Mechanisms(Named):
    """One sub-command for each mechanism, made when it is asked for: accountants are imported then."""

    def __init__(self, name: str, body: Callable[..., None], help: str, *, searches: bool) -> None:
        super().__init__(name, CATALOGUE, help=help)
        self.body, self.searches = body, searches

    def make(self, name: str) -> click.Command:
        """The sub-command of one mechanism."""
        accountant = accountant_for(name)
        return command_for(accountant, self.body, accountant.noise if self.searches else None)


account = _Mechanisms(
    "account", _account, "Certified epsilon or delta, beside the published one.", searches=False
)
calibrate = _Mechanisms(
    "calibrate", _calibrate, "The smallest noise that meets a target, and why.", searches=True
)
