"""``dpproof simulate``: epsilon or delta of private training by simulation, with a stated confidence."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.simulated.allocation import Allocation
from dpproof.accountant.simulated.participation import MinSeparation
from dpproof.accountant.simulated.simulate import simulate as simulated
from dpproof.accountant.simulated.training import TrainingRun
from dpproof.answers.as_json import envelope
from dpproof.cli import show
from dpproof.cli.options import JSON, relations

_COVERS = (
    "The pair of laws dominates the run (docs/notes/simulated.md), in real arithmetic. "
    "The released doubles are not covered."
)
_NEVER = "A simulated answer is never a certified one, and no claim file counts it as one."


def _numbers(_context: click.Context, parameter: click.Parameter, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in text.split(","))
    except ValueError as error:
        raise click.BadParameter(
            f"{parameter.name} ({text!r}) must be numbers with commas between"
        ) from error


def _law(
    steps: int, separation: int | None, uses: int | None, rate: float, warm: bool
) -> MinSeparation | Allocation:
    if separation is not None and uses is None:
        return MinSeparation(steps, separation, rate, warm)
    if separation is not None or uses is None:
        raise ValueError("--separation or --uses must be given, and not both")
    return Allocation(steps, uses) if uses > 1 else MinSeparation(steps, steps)


@click.command()
@click.option("--steps", type=int, required=True, help="Number of steps of the run.")
@click.option(
    "--separation",
    type=int,
    help="After each use a record rests for this number of steps minus 1. With --rate 1: the number of bins.",
)
@click.option("--uses", type=int, help="Instead: each record is used in this many steps, chosen at random.")
@click.option(
    "--rate", type=float, default=1.0, show_default=True,
    help="Probability of a step to use a record that does not rest. 1 is balls in bins.",
)  # fmt: skip
@click.option(
    "--warm/--cold", default=True, show_default=True,
    help="Start in the state of a run that started long ago, or with no record at rest.",
)  # fmt: skip
@click.option(
    "--noise-multiplier", type=float, required=True, help="Noise scale in units of the clipping norm."
)
@click.option(
    "--strategy", default="1", show_default=True, callback=_numbers,
    help="First column of the Toeplitz strategy matrix, such as 1,0.5,0.25. 1 is independent noise.",
)  # fmt: skip
@click.option("--adjacency", required=True, shell_complete=relations, help="add-remove or replace.")
@click.option("--delta", help="Answer with epsilon at this delta.")
@click.option("--epsilon", help="Answer with delta at this epsilon.")
@click.option(
    "--alpha", default="1e-9", show_default=True, help="The interval misses with at most this probability."
)
@click.option(
    "--samples",
    type=int,
    default=1_000_000,
    show_default=True,
    help="The most samples for each pair of laws.",
)
@click.option("--tolerance", type=float, help="Stop when the interval is at most this wide.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="A seed that you state beforehand; from entropy by default."
)
@JSON
def simulate(
    steps: int,
    separation: int | None,
    uses: int | None,
    rate: float,
    warm: bool,
    noise_multiplier: float,
    strategy: tuple[float, ...],
    adjacency: str,
    delta: str | None,
    epsilon: str | None,
    alpha: str,
    samples: int,
    tolerance: float | None,
    seed: int | None,
    json: bool,
) -> None:
    """Simulate epsilon or delta of private training, where no certified route exists.

    Each record is used in random steps with a minimum separation, or in a fixed number of random steps. Special
    cases of the separation are Poisson sampling (separation 1) and balls in bins (rate 1).
    """
    law = _law(steps, separation, uses, rate, warm)
    run = TrainingRun(law, noise_multiplier, strategy)
    relation = Adjacency.of(adjacency)
    found = simulated(
        run,
        relation,
        delta=delta,
        epsilon=epsilon,
        alpha=alpha,
        samples=samples,
        tolerance=tolerance,
        seed=seed,
    )
    asked = {"delta": delta} if epsilon is None else {"epsilon": epsilon}
    body = {
        "adjacency": relation.value,
        "participation": {"law": type(law).__name__, **asdict(law)},
        "noise_multiplier": noise_multiplier,
        "strategy": list(strategy),
        **asked,
        **found.as_json(),
    }

    def told(console: Console) -> None:
        for line in (str(found), _COVERS, _NEVER):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    show.answer(envelope(body), json, told)
