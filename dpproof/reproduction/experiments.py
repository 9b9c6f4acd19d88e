"""The experiments that can be run again, by the command-line name of their paper."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.arithmetic import Assumption, listed
from dpproof.reproduction.first_lines import SIMULATED

__all__ = ["EXPERIMENTS", "Experiment", "experiment_for"]

ARITHMETIC = (
    "Certified figures of this page were computed in several processes, or found in a journal. They are "
    "taken to rest on everything that is assumed of the machine's arithmetic: "
    f"{'; '.join(assumption.text for assumption in Assumption)} "
    "([explained](../explanation/trust.md#arithmetic))."
)
"""The last line of a page of figures: their routes are not followed, so that they may assume everything."""

Run = Callable[[Path, bool, int], Mapping[str, Any]]
"""(folder, quick, seed) -> the answer; writes its files into the folder."""


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it is, and the module whose `run` makes it."""

    title: str
    module: str
    columns: tuple[str, ...]
    """The keys of a row that are printed."""
    table: str = "rows"
    """The key of the answer whose rows are printed as a table."""
    figures: tuple[str, ...] = ()
    """The figures that the report of all papers shows."""

    def run(self, folder: Path, *, quick: bool, seed: int) -> Mapping[str, Any]:
        """Run it, write its files into `folder`, which exists, and return what was found."""
        run: Run = importlib.import_module(self.module).run
        answer = run(folder, quick, seed)
        page = folder / f"{self.module.split('.')[-2]}.md"
        if page.is_file():
            page.write_text(_ended(page.read_text(encoding="utf-8")), encoding="utf-8")
        first = [*answer["first_lines"], SIMULATED]
        return {**answer, "first_lines": first, "arithmetic_assumptions": listed(Assumption)}

    def page(self, folder: Path) -> str:
        """Return its page, written again from the tables that a run left in `folder`."""
        return _ended(importlib.import_module(self.module).page_again(folder))


def _ended(text: str) -> str:
    """The page with what its figures assume below it."""
    return f"{text}\n{ARITHMETIC}\n"


EXPERIMENTS: Final = {
    "private-ucb": Experiment(
        "Figure 2 of Chowdhury and Zhou (AAAI 2022): PRIVATE-UCB on RiverSwim",
        "dpproof.reproduction.private_ucb.figure",
        ("algorithm", "counts", "group", "epsilon", "certified_epsilon", "regret", "deviation"),
        figures=("printed", "honest", "best"),
    ),
    "policy-evaluation": Experiment(
        "Figure 1 of Balle, Gomrokchi and Precup (ICML 2016): DP-LSW and DP-LSL on the chain",
        "dpproof.reproduction.policy_evaluation.figure",
        ("algorithm", "features", "kind", "trajectories"),
        "needed",
        ("tabular", "small_delta"),
    ),
    "sdp-pe": Experiment(
        "Figures 6 to 8 of Bai et al. (2026): SDP-PE on RiverSwim and a bandit",
        "dpproof.reproduction.sdp_pe.figure",
        ("problem", "algorithm", "epsilon", "certified_epsilon", "noise", "regret", "deviation", "switches"),
        figures=("epsilon", "bandit"),
    ),
    "expert": Experiment(
        "Figures 3 and 4 of Sharma et al. (2024): selective DP-SGD on four control problems",
        "dpproof.reproduction.expert.figure",
        ("problem", "method", "epsilon", "certified_epsilon", "released", "return", "interval"),
        figures=("returns", "released"),
    ),
}


def experiment_for(paper: str) -> Experiment:
    """The experiment of a paper.

    >>> experiment_for("private-ucb").module
    'dpproof.reproduction.private_ucb.figure'

    Raises:
        ValueError: for a paper whose experiment is not here.
    """
    if paper not in EXPERIMENTS:
        raise ValueError(
            f"paper ({paper!r}) must be one of: {', '.join(EXPERIMENTS)}{nearest(paper, EXPERIMENTS)}"
        )
    return EXPERIMENTS[paper]
