"""The experiments that can be run again, by the command-line name of their paper."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpproof import reproduction
from dpproof.accountant.claims.spelling import nearest
from dpproof.accountant.numbers.arithmetic import Assumption, listed
from dpproof.proofs_check.registry import papers
from dpproof.reproduction.first_lines import SIMULATED

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


@cache
def experiments() -> Mapping[str, Experiment]:
    """The experiments by the command-line name of their paper; each stands in its paper's folder.

    >>> list(experiments())
    ['private-ucb', 'sdp-pe', 'policy-evaluation', 'expert']
    """
    folders = {found.name for found in pkgutil.iter_modules(reproduction.__path__) if found.ispkg}
    names = (name for name in papers() if name.replace("-", "_") in folders)
    return {name: _experiment_in(name.replace("-", "_")) for name in names}


def _experiment_in(folder: str) -> Experiment:
    found: Experiment = importlib.import_module(f"{reproduction.__name__}.{folder}").EXPERIMENT
    return found


def experiment_for(paper: str) -> Experiment:
    """The experiment of a paper.

    >>> experiment_for("private-ucb").module
    'dpproof.reproduction.private_ucb.figure'

    Raises:
        ValueError: for a paper whose experiment is not here.
    """
    known = experiments()
    if paper not in known:
        raise ValueError(f"paper ({paper!r}) must be one of: {', '.join(known)}{nearest(paper, known)}")
    return known[paper]
